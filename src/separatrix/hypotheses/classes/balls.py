"""Balls ‖x − c‖ ≤ r: in the coordinates (x, ‖x‖²), the side of a hyperplane below it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from separatrix.geometry.strict_inequalities import strict_solution
from separatrix.hypotheses.classes.base import Hypothesis, Labels, fractions, positive_side
from separatrix.hypotheses.classes.separation import (
    ONE,
    ZERO,
    Separated,
    confirmed,
    dot,
    interpolated,
    middle,
    signed,
    widest_margin,
)
from separatrix.rows.block import Floats


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
        guesses = _guesses(points, labels)
        found = confirmed(guesses, lambda center: self._with_center(center, exact, labels))
        if found is not None:
            return found
        z, _ = strict_solution([*signed(_lifted(exact), labels), self._convex])
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
        lifted = _lifted(fractions(points))
        _, weights = strict_solution([*signed(lifted, labels), self._convex])
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


def _guesses(points: Floats, labels: Labels) -> Iterator[Floats]:
    """Centers in floats: through the labels of few points, then of the widest margin."""
    origin, scale = points.mean(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    near = (points - origin) / scale
    square = (near * near).sum(axis=1)
    through = interpolated(near, np.where(labels, 1.0, -1.0) + square)
    if through is not None:
        yield origin + scale * through / 2.0
    widest = widest_margin(np.column_stack([near, -square]), labels, convex=True)
    if widest is not None:
        yield origin + scale * widest[:-1] / (2.0 * widest[-1])


def _lifted(points: list[list[Fraction]]) -> list[list[Fraction]]:
    return [[*x, -dot(x, x), ONE] for x in points]
