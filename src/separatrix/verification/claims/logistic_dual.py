"""The logistic likelihood and its dual, enclosed in fixed point.

    P(θ) = C Σ w (log Σₖ e^sₖ − s_y) + Σ pen(θ),           s = θ·(x, 1)
    D(p) = C Σ w H(p) − Σ pen*(v),      v = C Σ w (y − p) (x, 1),     H(p) = −Σ pₖ log pₖ

for any probabilities p with v = 0 wherever θ has no penalty. The probabilities of the model have
that up to rounding. They are moved by p − M z·δ, M = diag(p) − ppᵀ, with the δ that solves
Σ w M z zᵀ δ = Σ w (p − y) z exactly: what is left is zero, not small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

from separatrix.verification.arithmetic.dyadic import dot, fraction, scaled
from separatrix.verification.arithmetic.exponentials import LOG_ERROR, ONE, POINT, exp_minus, log
from separatrix.verification.arithmetic.systems import solve_symmetric
from separatrix.verification.design import Blocks

ZERO = Fraction(0)
#: Binary digits of the probabilities in M: any will do, as they only say how p is moved.
_COARSE = 40
#: Units of 2⁻⁹⁶ by which a loss or an entropy of one row may be wrong.
ROW_ERROR = 1 << 12


@dataclass(frozen=True)
class Likelihood:
    """Rows (x, 1) by column as integers, the class of each, and weights as integers.

    ``planes`` are the classes with coefficients of their own: all, or the second of two.
    """

    columns: list[list[int]]
    shifts: list[int]
    codes: list[int]
    weights: list[int]
    weight_shift: int
    planes: list[int]
    classes: int

    @classmethod
    def of(
        cls, columns: Sequence[Sequence[float]], codes: list[int], weights: list[float], k: int
    ) -> Likelihood:
        """From doubles; the last column is the constant."""
        found = [*map(scaled, columns), ([1] * len(codes), 0)]
        w, shift = scaled(weights)
        planes = [1] if k == 2 else list(range(k))
        return cls([c for c, _ in found], [s for _, s in found], codes, w, shift, planes, k)

    def evaluate(
        self, theta: list[list[float]], blocks: Blocks
    ) -> tuple[Fraction, list[list[int]]]:
        """Σ w loss from above, and the probabilities of every class, adding up to one."""
        scores = [self._scores(plane) for plane in theta]
        total, probabilities = 0, []
        for i, code in enumerate(self.codes):
            s = [0] * self.classes
            for k, own in zip(self.planes, scores, strict=True):
                s[k] = own[i]
            top = max(s)
            e = [exp_minus(top - value) for value in s]
            norm = sum(e)
            total += self.weights[i] * (log(norm) + top - s[code] + ROW_ERROR)
            p = [(value << POINT) // norm for value in e]
            p[p.index(max(p))] += ONE - sum(p)
            probabilities.append(p)
            if i % 512 == 0:
                blocks.tell("likelihood of rows", i, len(self.codes))
        return fraction(total, POINT + self.weight_shift), probabilities

    def _scores(self, theta: list[float]) -> list[int]:
        """θ·(x, 1) of every row in units of 2⁻⁹⁶, rounded down."""
        b, shift = scaled(theta)
        common = max(self.shifts) + shift
        factors = [v << (common - s - shift) for v, s in zip(b, self.shifts, strict=True)]
        rows = zip(*self.columns, strict=True)
        up = POINT - common
        sums = [sum(map(mul, row, factors)) for row in rows]
        return [v << up if up >= 0 else v >> -up for v in sums]

    def pull(self, probabilities: list[list[int]]) -> list[list[Fraction]]:
        """Σ w (y − p) (x, 1) for every plane, exactly."""
        found = []
        for k in self.planes:
            r = [
                w * ((ONE if code == k else 0) - p[k])
                for w, code, p in zip(self.weights, self.codes, probabilities, strict=True)
            ]
            found.append(
                [
                    fraction(dot(column, r), s + POINT + self.weight_shift)
                    for column, s in zip(self.columns, self.shifts, strict=True)
                ]
            )
        return found

    def repaired(
        self, probabilities: list[list[int]], pull: list[list[Fraction]], free: list[int]
    ) -> tuple[list[list[int]], list[list[Fraction]]] | None:
        """Probabilities with v = 0 in the free columns, to the nearest unit, and their exact v.

        None where a probability would be negative.
        """
        if not free or not any(pull[a][j] for a in range(len(pull)) for j in free):
            return probabilities, pull
        coarse = [self._coarse(p) for p in probabilities]
        size, planes = len(free), len(self.planes)
        gram = self._gram(coarse, free, free)
        right = [-pull[a][j] for a in range(planes) for j in free]
        delta = solve_symmetric(gram, [right]).x[0]
        own = [delta[a * size : (a + 1) * size] for a in range(planes)]
        cross = self._gram(coarse, list(range(len(self.columns))), free)
        width = len(self.columns)
        v = [
            [
                pull[a][j]
                + sum((g * d for g, d in zip(cross[a * width + j], delta, strict=True)), ZERO)
                for j in range(width)
            ]
            for a in range(planes)
        ]
        moved = self._moved(probabilities, coarse, own, free)
        return None if moved is None else (moved, v)

    def _moved(
        self,
        probabilities: list[list[int]],
        coarse: list[list[int]],
        delta: list[list[Fraction]],
        free: list[int],
    ) -> list[list[int]] | None:
        """p − M z·δ to the nearest unit."""
        steps = []
        for own in delta:
            fixed = [
                round(d * (1 << 200) / (1 << self.shifts[j]))
                for d, j in zip(own, free, strict=True)
            ]
            rows = zip(*(self.columns[j] for j in free), strict=True)
            steps.append([sum(map(mul, row, fixed)) >> (200 - POINT) for row in rows])
        moved = []
        for i, p in enumerate(probabilities):
            q = coarse[i]
            mean = sum(q[k] * steps[a][i] for a, k in enumerate(self.planes)) >> _COARSE
            change = [-mean] * self.classes
            for a, k in enumerate(self.planes):
                change[k] += steps[a][i]
            new = [value - (q[k] * change[k] >> _COARSE) for k, value in enumerate(p)]
            if min(new) < 0:
                return None
            moved.append(new)
        return moved

    def _coarse(self, p: list[int]) -> list[int]:
        q = [value >> (POINT - _COARSE) for value in p]
        q[q.index(max(q))] += (1 << _COARSE) - sum(q)
        return q

    def _gram(self, q: list[list[int]], left: list[int], free: list[int]) -> list[list[Fraction]]:
        """Σ w M z zᵀ, planes times columns."""
        rows: list[list[Fraction]] = [[] for _ in range(len(self.planes) * len(left))]
        for a, k in enumerate(self.planes):
            for m in self.planes:
                weights = [
                    w * ((p[k] << _COARSE if k == m else 0) - p[k] * p[m])
                    for w, p in zip(self.weights, q, strict=True)
                ]
                for at, i in enumerate(left):
                    weighted = list(map(mul, weights, self.columns[i]))
                    rows[a * len(left) + at] += [
                        fraction(
                            dot(weighted, self.columns[j]),
                            2 * _COARSE + self.weight_shift + self.shifts[i] + self.shifts[j],
                        )
                        for j in free
                    ]
        return rows

    def entropy(self, probabilities: list[list[int]]) -> Fraction:
        """Σ w H(p) from below."""
        total = 0
        for w, p in zip(self.weights, probabilities, strict=True):
            own = 0
            for value in p:
                if (
                    value > 1 << 4
                ):  # smaller ones count for less than a row's error: every term is positive
                    own += (value - 2) * max(0, -log(value + 2) - LOG_ERROR - POINT) >> POINT
            total += w * max(0, own - ROW_ERROR)
        return fraction(total, POINT + self.weight_shift)

    @property
    def error(self) -> Fraction:
        """What fixed point may lose of the loss and of the entropy together."""
        return 4 * self.total * Fraction(ROW_ERROR, ONE)

    @cached_property
    def total(self) -> Fraction:
        """Σ w."""
        return fraction(sum(self.weights), self.weight_shift)
