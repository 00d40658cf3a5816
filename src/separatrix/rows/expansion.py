"""Products and powers of columns, block by block: the design of a polynomial.

    column of the term e = Πⱼ T_eⱼ(tⱼ),    tⱼ = (xⱼ − centreⱼ) / scaleⱼ

with T the Chebyshev polynomials, so that columns of any degree stay between −1 and 1 and nearly
independent over the range of the data. Powers of x itself, which they span, do neither.
``to_powers`` states a fit in these columns in terms of the powers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement, product
from math import comb

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from numpy.typing import NDArray
from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats
from separatrix.rows.schema import Term, Terms

Exponents = NDArray[np.int64]
#: Terms beyond which an expansion is refused: its moments alone would fill the memory.
MOST_TERMS = 20_000


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
    if count > MOST_TERMS:
        raise InputError(
            f"degree={degree} of {d} columns has {count} terms.",
            remedy="Choose a lower degree or fewer columns.",
        )
    choose = combinations if interaction_only else combinations_with_replacement
    picks = (pick for k in range(1, degree + 1) for pick in choose(range(d), k))
    found = [np.bincount(pick, minlength=d) for pick in picks if _possible(pick, columns, highest)]
    return np.array(found, dtype=np.int64).reshape(-1, d)


def _possible(pick: tuple[int, ...], columns: Sequence[Term], highest: Sequence[int]) -> bool:
    if any(pick.count(j) > highest[j] for j in set(pick)):
        return False
    levels = [columns[j].column for j in set(pick) if columns[j].level is not None]
    return len(levels) == len(set(levels))


def name_of(exponent: NDArray[np.int64], columns: Sequence[Term]) -> str:
    """Such as ``x``, ``x^2``, ``x z``."""
    return " ".join(
        str(columns[j]) if exponent[j] == 1 else f"{columns[j]}^{exponent[j]}"
        for j in np.flatnonzero(exponent).tolist()
    )


@dataclass(frozen=True)
class Expansion:
    """Maps rows of d columns to rows of m terms. ``rounded`` takes Chebyshev polynomials.

    Without it the columns are plain powers of t (a fit without intercept may not shift x).
    """

    exponents: Exponents
    centre: Floats
    scale: Floats
    names: tuple[str, ...]
    rounded: bool = True

    def apply(self, block: Block) -> Block:
        """The expanded block."""
        terms = Terms(tuple(Term(name) for name in self.names))
        return replace(block, x=self.of(block.dense()), terms=terms)

    def of(self, x: Floats) -> Floats:
        """All terms of the rows ``x``: each is an earlier one times a power of one more column."""
        t = (x - self.centre) / self.scale
        powers = [self._powers(t[:, j], int(top)) for j, top in enumerate(self._tops())]
        out = np.empty((len(self.exponents), len(x)))
        place = {tuple(e): i for i, e in enumerate(self.exponents.tolist())}
        for i, exponent in enumerate(self.exponents):
            last = int(np.flatnonzero(exponent)[-1])
            rest = exponent.copy()
            rest[last] = 0
            factor = powers[last][exponent[last]]
            out[i] = factor if not rest.any() else out[place[tuple(rest.tolist())]] * factor
        return out.T

    def _tops(self) -> NDArray[np.int64]:
        """The highest power of each column."""
        return np.asarray(self.exponents.max(axis=0, initial=0))

    def _powers(self, t: Floats, top: int) -> list[Floats]:
        """T₀ … T_top of one column (or its plain powers), by the three-term recurrence."""
        found = [np.ones_like(t), t]
        for _ in range(2, top + 1):
            found.append(2.0 * t * found[-1] - found[-2] if self.rounded else t * found[-1])
        return found

    def to_powers(self) -> sparse.csr_array:
        """A with (a, b in powers of x) = A·(a, b in these columns); the constant comes first."""
        place = {tuple(e): i + 1 for i, e in enumerate(self.exponents.tolist())}
        place[(0,) * self.exponents.shape[1]] = 0
        table = [
            [self._in_powers(j, k) for k in range(int(top) + 1)]
            for j, top in enumerate(self._tops())
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
                    entries.append((place[tuple(target.tolist())], i + 1, value))
        at, to, values = zip(*entries, strict=True)
        size = len(self.exponents) + 1
        return sparse.csr_array((values, (at, to)), shape=(size, size))

    def _in_powers(self, j: int, k: int) -> Floats:
        """Coefficients of T_k((x − c)/s), or of ((x − c)/s)^k, in powers of x."""
        unit = np.zeros(k + 1)
        unit[k] = 1.0
        inner = chebyshev.cheb2poly(unit) if self.rounded else unit
        total = np.zeros(k + 1)
        power = np.ones(1)
        line = np.array([-self.centre[j], 1.0]) / self.scale[j]
        for c in inner:
            total[: len(power)] += c * power
            power = polynomial.polymul(power, line)
        return total
