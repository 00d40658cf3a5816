"""Half-spaces w·x + t ≥ 0, either side of a hyperplane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
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
    radon_partition,
    signed,
    widest_margin,
)
from separatrix.rows.block import Floats, Ints


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
        found = confirmed(guesses, lambda coef: self._with_normal(coef, exact, labels))
        if found is not None:
            return found
        z, _ = strict_solution(signed([[*x, ONE] for x in exact], labels))
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
        _, weights = strict_solution(signed([[*x, ONE] for x in exact], labels))
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
    through = interpolated(near, np.where(labels, 1.0, -1.0))
    if through is not None:
        yield through / scale
    widest = widest_margin(near, labels)
    if widest is not None:
        yield widest / scale
