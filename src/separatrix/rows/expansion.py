"""Polynomial features in the Chebyshev basis, block by block.

    column of the exponents e = Πⱼ T_eⱼ(tⱼ),    tⱼ = (xⱼ − centerⱼ) / scaleⱼ

with T the Chebyshev polynomials, so that columns of any degree stay between −1 and 1 and are nearly
orthogonal over the range of the data; the monomials, which span the same space, are neither.
``to_powers`` is the change of basis to monomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from math import comb

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from scipy import sparse

from separatrix.arrays import Floats, NDArray
from separatrix.messages import InputError
from separatrix.rows.schema import Block, Term, Terms

Exponents = NDArray[np.int64]


def exponents_of(
    columns: Sequence[Term], highest: Sequence[int], degree: int, *, interaction_only: bool
) -> Exponents:
    """One row per term of degree 1 to ``degree``, one entry per column, by degree.

    ``highest`` caps the power of each column: an indicator is its own square. Products of two
    indicators of the same column, which are zero everywhere, are left out.
    """
    d = len(columns)
    count = comb(d + degree, degree) - 1
    if interaction_only:
        count = sum(comb(d, k) for k in range(1, degree + 1))
    # Expansions with more terms than this are refused: their moments would not fit in memory.
    if count > 20_000:
        raise InputError(
            f"degree={degree} of {d} columns has {count} terms.",
            remedy="Choose a lower degree or fewer columns.",
        )
    choose = combinations if interaction_only else combinations_with_replacement
    products = (pick for k in range(1, degree + 1) for pick in choose(range(d), k))
    exponents = [np.bincount(p, minlength=d) for p in products if _is_nonzero(p, columns, highest)]
    return np.array(exponents, dtype=np.int64).reshape(-1, d)


def _is_nonzero(factors: tuple[int, ...], columns: Sequence[Term], highest: Sequence[int]) -> bool:
    if any(factors.count(j) > highest[j] for j in set(factors)):
        return False
    levels = [columns[j].column for j in set(factors) if columns[j].level is not None]
    return len(levels) == len(set(levels))


def name_of(exponent: NDArray[np.int64], columns: Sequence[Term]) -> str:
    """The name of a term, such as ``x``, ``x^2``, ``x z``."""
    return " ".join(
        str(columns[j]) if exponent[j] == 1 else f"{columns[j]}^{exponent[j]}"
        for j in np.flatnonzero(exponent).tolist()
    )


@dataclass(frozen=True)
class Expansion:
    """Map from d columns to m polynomial terms, in the Chebyshev basis if ``chebyshev``.

    Otherwise the terms are monomials in t (a fit without intercept may not shift x).
    """

    exponents: Exponents
    center: Floats
    scale: Floats
    names: tuple[str, ...]
    chebyshev: bool = True

    def apply(self, block: Block) -> Block:
        """Expand a block."""
        terms = Terms(tuple(Term(name) for name in self.names))
        return replace(block, x=self.transform(block.dense()), terms=terms)

    def transform(self, x: Floats) -> Floats:
        """All terms of the rows ``x``: each is an earlier one times a polynomial in one column."""
        t = (x - self.center) / self.scale
        powers = [self._powers(t[:, j], int(k)) for j, k in enumerate(self._degrees())]
        out = np.empty((len(self.exponents), len(x)))
        position = {tuple(e): i for i, e in enumerate(self.exponents.tolist())}
        for i, exponent in enumerate(self.exponents):
            last = int(np.flatnonzero(exponent)[-1])
            rest = exponent.copy()
            rest[last] = 0
            factor = powers[last][exponent[last]]
            out[i] = factor if not rest.any() else out[position[tuple(rest.tolist())]] * factor
        return out.T

    def _degrees(self) -> NDArray[np.int64]:
        """The highest exponent of each column."""
        return np.asarray(self.exponents.max(axis=0, initial=0))

    def _powers(self, t: Floats, degree: int) -> list[Floats]:
        """T₀ … T_degree of one column (or its powers), by the three-term recurrence."""
        powers = [np.ones_like(t), t]
        for _ in range(2, degree + 1):
            powers.append(2.0 * t * powers[-1] - powers[-2] if self.chebyshev else t * powers[-1])
        return powers

    def to_powers(self) -> sparse.csr_array:
        """A with (a, b in powers of x) = A·(a, b in these terms); the constant comes first."""
        position = {tuple(e): i + 1 for i, e in enumerate(self.exponents.tolist())}
        position[(0,) * self.exponents.shape[1]] = 0
        table = [
            [self._in_powers(j, k) for k in range(int(degree) + 1)]
            for j, degree in enumerate(self._degrees())
        ]
        entries = [(0, 0, 1.0)]
        for i, exponent in enumerate(self.exponents):
            used = np.flatnonzero(exponent)
            for lower in product(*(range(exponent[j] + 1) for j in used)):
                parts = [table[j][exponent[j]][k] for j, k in zip(used, lower, strict=True)]
                value = float(np.prod(parts))
                if value != 0.0:
                    target = np.zeros_like(exponent)
                    target[used] = lower
                    entries.append((position[tuple(target.tolist())], i + 1, value))
        at, to, values = zip(*entries, strict=True)
        size = len(self.exponents) + 1
        return sparse.csr_array((values, (at, to)), shape=(size, size))

    def _in_powers(self, j: int, k: int) -> Floats:
        """Coefficients of T_k((x − c)/s), or of ((x − c)/s)^k, in powers of x."""
        unit = np.zeros(k + 1)
        unit[k] = 1.0
        inner = chebyshev.cheb2poly(unit) if self.chebyshev else unit
        total = np.zeros(k + 1)
        power = np.ones(1)
        line = np.array([-self.center[j], 1.0]) / self.scale[j]
        for c in inner:
            total[: len(power)] += c * power
            power = polynomial.polymul(power, line)
        return total
