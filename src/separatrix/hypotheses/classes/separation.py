"""What half-spaces and balls share: both are sides of a hyperplane, a ball in (x, ‖x‖²).

Normals are guessed in floats and confirmed by exact scores; what is left, linear programs in
fractions decide. Radon's theorem bounds the VC dimension of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from separatrix.geometry.strict_inequalities import null_vector
from separatrix.hypotheses.classes.base import HypothesisClass, Labels, check_count, fractions
from separatrix.rows.block import Floats, Ints

ONE, ZERO = Fraction(1), Fraction(0)
Exact = tuple[Fraction, ...]
T = TypeVar("T")


class Separated(HypothesisClass):
    """What half-spaces and balls share: Radon's theorem bounds both."""

    dimension: int

    def __init__(self, dimension: int = 2) -> None:
        self.dimension = check_count(dimension, "dimension")
        self.bound = self.dimension + 1

    def hard_labels(self, points: Floats) -> Iterator[Labels]:
        """Radon's partition of the first d + 2 points, both ways; any label for the others."""
        partition = radon_partition(points)
        if partition is not None:
            yield partition > 0
            yield partition <= 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dimension})"


def radon_partition(points: Floats) -> Ints | None:
    """Two parts of the first d + 2 points whose convex hulls have a common point (Radon).

    Signs of λ with Σ λ x = 0 and Σλ = 0: points of positive λ are one part, of negative the other,
    and those of zero λ are in neither. None if there is no such λ.
    """
    some = fractions(points[: points.shape[1] + 2])
    weights = null_vector([[*x, ONE] for x in some])
    if weights is None:
        return None
    signs = np.zeros(len(points), dtype=np.int64)
    signs[: len(weights)] = [(w > 0) - (w < 0) for w in weights]
    return signs


def signed(rows: list[list[Fraction]], labels: Labels) -> list[list[Fraction]]:
    """The rows of positive points, and the negative of the others."""
    return [row if y else [-v for v in row] for row, y in zip(rows, labels, strict=True)]


def interpolated(features: Floats, wanted: Floats) -> Floats | None:
    """Coefficients of a linear function that takes these values, about; for up to d + 1 points."""
    n, k = features.shape
    if n > k + 1 or not np.isfinite(features).all():
        return None
    design = np.column_stack([features, np.ones(n)])
    return np.asarray(np.linalg.lstsq(design, wanted, rcond=None)[0][:-1])


def widest_margin(features: Floats, labels: Labels, *, convex: bool = False) -> Floats | None:
    """Coefficients of the widest margin with entries up to 1, in floats; the last one positive.

    A guess that exact scores confirm: what a linear program in fractions returns may leave no room.
    """
    from scipy.optimize import linprog  # not before it is needed: pictures import this module

    sign = np.where(labels, 1.0, -1.0)[:, None]
    n, k = features.shape
    if not np.isfinite(features).all():  # ranges beyond floats are left to fractions
        return None
    rows = np.column_stack([-sign * features, -sign, np.ones(n)])
    if convex:
        rows = np.vstack([rows, [*np.zeros(k - 1), -1.0, 0.0, 1.0]])
    bounds = [(-1.0, 1.0)] * k + [(None, None), (0.0, 1.0)]
    found = linprog([*np.zeros(k + 1), -1.0], rows, np.zeros(len(rows)), bounds=bounds)
    return found.x[:k] if found.status == 0 and found.x[-1] > 1e-9 else None


def confirmed(guesses: Iterable[Floats], confirm: Callable[[Exact], T | None]) -> T | None:
    """The first hypothesis that a guess in floats, taken as fractions, leads to."""
    with np.errstate(over="ignore", invalid="ignore"):
        for guess in guesses:
            found = confirm(exactly(guess)) if np.isfinite(guess).all() else None
            if found is not None:
                return found
    return None


def middle(scores: list[Fraction], labels: Labels) -> Fraction | None:
    """The constant halfway between both sides, beyond the points if there is one side alone.

    None if the scores of both sides are not apart.
    """
    positive = [s for s, y in zip(scores, labels, strict=True) if y]
    negative = [s for s, y in zip(scores, labels, strict=True) if not y]
    room = max(max(scores) - min(scores), abs(scores[0])) / 2 or ONE
    low = max(negative) if negative else min(positive) - room
    high = min(positive) if positive else max(negative) + room
    return -(low + high) / 2 if low < high else None


def exactly(values: Floats) -> tuple[Fraction, ...]:
    """Floats as the fractions that they are."""
    return tuple(map(Fraction, values.tolist()))


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """a · b."""
    return sum((u * v for u, v in zip(a, b, strict=True)), ZERO)
