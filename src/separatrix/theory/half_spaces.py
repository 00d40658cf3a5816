"""Half-spaces and balls: both are sides of a hyperplane."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar, TypeVar

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.geometry.separability import ONE, ZERO, null_vector, strict_solution
from separatrix.theory.hypothesis_class import (
    Hypothesis,
    HypothesisClass,
    Labels,
    check_count,
    fractions,
    positive_side,
)

# -------------------------------------------------------------------------------------------------
# What half-spaces and balls share: both are sides of a hyperplane, a ball in (x, ‖x‖²).
#
# Normals are guessed in floats and confirmed by exact scores; what is left, linear programs in
# fractions decide. Radon's theorem bounds the VC dimension of both.


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


def sign_rows(rows: list[list[Fraction]], labels: Labels) -> list[list[Fraction]]:
    """The rows of positive points, and the negative of the others."""
    return [row if y else [-v for v in row] for row, y in zip(rows, labels, strict=True)]


def interpolate(features: Floats, wanted: Floats) -> Floats | None:
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
    solution = linprog([*np.zeros(k + 1), -1.0], rows, np.zeros(len(rows)), bounds=bounds)
    return solution.x[:k] if solution.status == 0 and solution.x[-1] > 1e-9 else None


def first_confirmed(guesses: Iterable[Floats], confirm: Callable[[Exact], T | None]) -> T | None:
    """The first hypothesis that a guess in floats, taken as fractions, leads to."""
    with np.errstate(over="ignore", invalid="ignore"):
        for guess in guesses:
            confirmed = confirm(exactly(guess)) if np.isfinite(guess).all() else None
            if confirmed is not None:
                return confirmed
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


# -------------------------------------------------------------------------------------------------
# Half-spaces w·x + t ≥ 0, either side of a hyperplane.


@dataclass(frozen=True)
class HalfSpace(Hypothesis):
    """The points x with coef · x + intercept ≥ 0, in fractions."""

    coef: tuple[Fraction, ...]
    intercept: Fraction

    def contains(self, points: Any) -> Labels:
        """Which of the points lie on the positive side of the hyperplane, or on it."""
        x = np.asarray(points, dtype=np.float64)
        return positive_side(x, list(x.T), self.coef, self.intercept)


class Hyperplanes(Separated):
    """Half-spaces w·x + t ≥ 0, either side of a hyperplane; lines in the plane.

        consistent ⇔ w·x + t > 0 for the positive points and < 0 for the negative ones

    Parameters
    ----------
    dimension : int, default=2
        Number of columns.

    Attributes
    ----------
    bound : int
        d + 1, which the VC dimension does not exceed.

    See Also
    --------
    linear_separability : The same question for many rows.
    Balls : Spheres in place of hyperplanes.

    Notes
    -----
    A linear program in fractions decides each labeling. Where no hyperplane separates, the convex
    hulls of both sides have a point in common, which is named.

    References
    ----------
    T. M. Cover, Geometrical and statistical properties of systems of linear inequalities with
    applications in pattern recognition, IEEE Transactions on Electronic Computers 14, 1965.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.shatters(sx.Hyperplanes(2), [[0, 0], [1, 1], [0, 1], [1, 0]])
    >>> found.failing.tolist()
    [False, False, True, True]
    >>> print(found.reason)
    (0.5, 0.5) lies in the convex hulls of the positive and of the negative points.
    >>> sx.vc_dimension(sx.Hyperplanes(2)).dimension
    3
    """

    name: ClassVar[str] = "half-spaces"

    def __init__(self, dimension: int = 2) -> None:
        super().__init__(dimension)
        self.argument = (
            f"Any {self.dimension + 2} points fall into two parts whose convex hulls have a point "
            "in common (Radon), and no hyperplane has one part on each side."
        )

    def consistent(self, points: Floats, labels: Labels) -> HalfSpace | None:
        """A half-space with every point strictly on its side of the hyperplane."""
        partition = radon_partition(points)
        if partition is not None and _refutes(partition, labels):
            return None
        exact = fractions(points)
        guesses = _guesses(points, labels)
        hypothesis = first_confirmed(guesses, lambda coef: self._with_normal(coef, exact, labels))
        if hypothesis is not None:
            return hypothesis
        z, _ = strict_solution(sign_rows([[*x, ONE] for x in exact], labels))
        return None if z is None else self._with_normal(tuple(z[:-1]), exact, labels)

    def _with_normal(
        self, coef: tuple[Fraction, ...], points: list[list[Fraction]], labels: Labels
    ) -> HalfSpace | None:
        """The half-space halfway between both sides; None if this normal does not separate them."""
        constant = middle([dot(coef, x) for x in points], labels)
        return None if constant is None else HalfSpace(coef, constant)

    def why_none(self, points: Floats, labels: Labels) -> str:
        """A common point of the convex hulls of both sides."""
        exact = fractions(points)
        _, weights = strict_solution(sign_rows([[*x, ONE] for x in exact], labels))
        if weights is None:
            return ""
        total = sum((w for w, y in zip(weights, labels, strict=True) if y), ZERO)
        common = [
            sum((w * x[j] for w, x, y in zip(weights, exact, labels, strict=True) if y), ZERO)
            / total
            for j in range(self.dimension)
        ]
        where = ", ".join(f"{float(v):.4g}" for v in common)
        return f"({where}) lies in the convex hulls of the positive and of the negative points."

    def truth(self, rng: np.random.Generator) -> HalfSpace:
        """A random direction, with the hyperplane through a random point of the unit cube."""
        w, x = rng.standard_normal(self.dimension), rng.random(self.dimension)
        return HalfSpace(tuple(map(Fraction, w)), Fraction(-float(w @ x)))


def _refutes(partition: Ints, labels: Labels) -> bool:
    """Whether all points of one part are positive and all of the other negative."""
    side = np.where(labels, 1, -1)[partition != 0] * partition[partition != 0]
    return bool((side > 0).all() or (side < 0).all())


def _guesses(points: Floats, labels: Labels) -> Iterator[Floats]:
    """Normals in floats: through the labels of few points, then of the widest margin."""
    scale = np.ptp(points, axis=0)
    scale[scale == 0.0] = 1.0
    near = (points - points[0]) / scale
    through = interpolate(near, np.where(labels, 1.0, -1.0))
    if through is not None:
        yield through / scale
    widest = widest_margin(near, labels)
    if widest is not None:
        yield widest / scale


# -------------------------------------------------------------------------------------------------
# Balls ‖x − c‖ ≤ r: in the coordinates (x, ‖x‖²), the side of a hyperplane below it.


@dataclass(frozen=True)
class Ball(Hypothesis):
    """The points x with ‖x − c‖² ≤ r², in fractions; empty where r² < 0."""

    center: tuple[Fraction, ...]
    squared_radius: Fraction

    @property
    def radius(self) -> float:
        """The radius r as a float."""
        return sqrt(max(self.squared_radius, ZERO))

    def contains(self, points: Any) -> Labels:
        """Which of the points lie in the ball."""
        x = np.asarray(points, dtype=np.float64)
        coef = (*(2 * c for c in self.center), -ONE)
        constant = self.squared_radius - dot(self.center, self.center)
        with np.errstate(over="ignore"):
            square = (x * x).sum(axis=1)
        return positive_side(x, [*x.T, square], coef, constant)


class Balls(Separated):
    """Balls ‖x − c‖ ≤ r; disks in the plane.

        consistent ⇔ w·x + t − v‖x‖² > 0 for positive points, < 0 for negative ones, v > 0

    Parameters
    ----------
    dimension : int, default=2
        Number of columns.

    Attributes
    ----------
    bound : int
        d + 1, which the VC dimension does not exceed.

    See Also
    --------
    Hyperplanes : The limit of large balls.
    vc_dimension : The largest number of points that a class shatters.

    Notes
    -----
    In the coordinates (x, ‖x‖²) a ball is the side of a hyperplane below it: a linear program in
    fractions decides each labeling.

    References
    ----------
    R. M. Dudley, Balls in Rᵏ do not cut all subsets of k + 2 points, Advances in Mathematics
    31, 1979.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.shatters(sx.Balls(2), [[0, 0], [1, 0], [0, 1], [0.4, 0.4]])
    >>> found.failing.tolist()
    [True, True, True, False]
    >>> sx.vc_dimension(sx.Balls(3)).dimension
    4
    """

    name: ClassVar[str] = "balls"

    def __init__(self, dimension: int = 2) -> None:
        super().__init__(dimension)
        self.argument = (
            f"Any {self.dimension + 2} points fall into two parts whose convex hulls have a point "
            "in common (Radon). If one ball held the first part alone and another the second, the "
            "hyperplane through the intersection of their spheres would separate the parts."
        )

    def consistent(self, points: Floats, labels: Labels) -> Ball | None:
        """A ball with no point on its sphere."""
        exact = fractions(points)
        if not labels.any():  # a small one beyond all points
            beyond = tuple(max(column) + 1 for column in zip(*exact, strict=True))
            return Ball(beyond, Fraction(1, 4))
        guesses = _ball_guesses(points, labels)
        hypothesis = first_confirmed(
            guesses, lambda center: self._with_center(center, exact, labels)
        )
        if hypothesis is not None:
            return hypothesis
        z, _ = strict_solution([*sign_rows(_lift(exact), labels), self._convex])
        if z is None:
            return None
        return self._with_center(tuple(w / (2 * z[-2]) for w in z[:-2]), exact, labels)

    def _with_center(
        self, center: tuple[Fraction, ...], points: list[list[Fraction]], labels: Labels
    ) -> Ball | None:
        """The sphere halfway between both sides; None if none of this center separates them."""
        away = ([u - v for u, v in zip(x, center, strict=True)] for x in points)
        constant = middle([-dot(v, v) for v in away], labels)
        return None if constant is None else Ball(center, constant)

    @property
    def _convex(self) -> list[Fraction]:
        """The inequality v > 0."""
        return [*[ZERO] * self.dimension, ONE, ZERO]

    def why_none(self, points: Floats, labels: Labels) -> str:
        """Which points the proof weighs."""
        lifted = _lift(fractions(points))
        _, weights = strict_solution([*sign_rows(lifted, labels), self._convex])
        if weights is None:
            return ""
        used = [i for i in range(len(points)) if weights[i]]
        positive = ", ".join(str(i + 1) for i in used if labels[i])
        negative = ", ".join(str(i + 1) for i in used if not labels[i])
        return (
            f"No ball contains the positive points {positive} and none of the negative points "
            f"{negative}."
        )

    def truth(self, rng: np.random.Generator) -> Ball:
        """A center in the unit cube, and a radius up to 1/2."""
        center = tuple(map(Fraction, rng.random(self.dimension)))
        return Ball(center, Fraction(0.5 * float(rng.random())) ** 2)


def _ball_guesses(points: Floats, labels: Labels) -> Iterator[Floats]:
    """Centers in floats: through the labels of few points, then of the widest margin."""
    origin, scale = points.mean(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    near = (points - origin) / scale
    square = (near * near).sum(axis=1)
    through = interpolate(near, np.where(labels, 1.0, -1.0) + square)
    if through is not None:
        yield origin + scale * through / 2.0
    widest = widest_margin(np.column_stack([near, -square]), labels, convex=True)
    if widest is not None:
        yield origin + scale * widest[:-1] / (2.0 * widest[-1])


def _lift(points: list[list[Fraction]]) -> list[list[Fraction]]:
    return [[*x, -dot(x, x), ONE] for x in points]
