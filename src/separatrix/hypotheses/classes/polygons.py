"""Convex polygons of k sides in the plane; triangles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from separatrix.hypotheses.classes.base import (
    Hypothesis,
    HypothesisClass,
    Labels,
    check_count,
    integers,
    positive_side,
)
from separatrix.hypotheses.classes.directions import (
    Vector,
    covering,
    dot,
    spans_plane,
    wedge,
)
from separatrix.rows.block import Floats

#: Outer normals of a triangle, for labels that need no particular one.
ANY_TRIANGLE: tuple[Vector, ...] = ((-1, -1), (1, 0), (0, 1))


@dataclass(frozen=True)
class Polygon(Hypothesis):
    """The points x with normalᵢ · x ≤ offsetᵢ for every side i; whole numbers and fractions."""

    normals: tuple[Vector, ...]
    offsets: tuple[Fraction, ...]

    def contains(self, points: Any) -> Labels:
        """Which of the points lie in the polygon."""
        x = np.asarray(points, dtype=np.float64)
        inside = np.ones(len(x), dtype=bool)
        for (u, v), offset in zip(self.normals, self.offsets, strict=True):
            inside &= positive_side(x, list(x.T), (Fraction(-u), Fraction(-v)), offset)
        return inside

    @property
    def vertices(self) -> Floats:
        """The vertices in order, as floats."""
        order = sorted(
            range(len(self.normals)), key=lambda i: float(np.arctan2(*_unit(self.normals[i])[::-1]))
        )
        found = []
        for i, j in zip(order, order[1:] + order[:1], strict=True):
            (a, b), (c, d) = self.normals[i], self.normals[j]
            e, f, scale = self.offsets[i], self.offsets[j], a * d - b * c
            if scale:
                found.append((float((e * d - f * b) / scale), float((f * a - e * c) / scale)))
        return np.array(found)


class ConvexPolygons(HypothesisClass):
    """Convex polygons with at most k sides in the plane.

        consistent ⇔ k directions cut every negative point off the convex hull of the positive ones
                     and leave no gap of a half-turn between them

    Parameters
    ----------
    sides : int, default=3
        Number of sides k.

    Attributes
    ----------
    bound : int
        2k + 1, which the VC dimension does not exceed.

    See Also
    --------
    Triangles : Three sides.
    vc_dimension : The largest number of points that a class shatters.

    Notes
    -----
    A side may as well touch the hull of the positive points, so that its direction is all there is
    to choose. A negative point is cut off by the directions of one open arc. Which directions meet
    all arcs is decided in whole numbers.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.vc_dimension(sx.ConvexPolygons(4)).dimension
    9
    """

    dimension = 2
    name: ClassVar[str] = "convex polygons"

    def __init__(self, sides: int = 3) -> None:
        self.sides = check_count(sides, "sides", 3)
        self.bound = 2 * self.sides + 1
        self.argument = (
            f"Of {self.bound + 1} points, one lies in the convex hull of the others, which no "
            "convex set then holds alone; or all are vertices of their hull, and with alternating "
            f"labels each of the {self.sides + 1} negative points needs a side of its own."
        )

    def consistent(self, points: Floats, labels: Labels) -> Polygon | None:
        """A polygon with no point on its sides."""
        whole, unit = integers(points)
        flat = [(x, y) for x, y in whole]
        positive = [p for p, y in zip(flat, labels, strict=True) if y]
        negative = [p for p, y in zip(flat, labels, strict=True) if not y]
        if not positive:  # a small triangle beyond all points
            vertex = (max(x for x, _ in flat) + 2, max(y for _, y in flat) + 2)
            return _around([vertex], negative, ANY_TRIANGLE, unit)
        wedges = []
        for n in negative:
            extreme = wedge(n, positive)
            if extreme is None:
                return None
            wedges.append(extreme)
        normals = covering(wedges, self.sides)
        return None if normals is None else _around(positive, negative, normals, unit)

    def hard_labels(self, points: Floats) -> Iterator[Labels]:
        """All but one positive for a point inside the hull; else alternating around it."""
        flat = [(x, y) for x, y in integers(points)[0]]
        for i, point in enumerate(flat):
            others = flat[:i] + flat[i + 1 :]
            if others and wedge(point, others) is None:
                yield np.arange(len(flat)) != i
                return
        center = points.mean(axis=0)
        order = np.argsort(np.arctan2(*(points - center).T[::-1]), kind="stable")
        labels = np.zeros(len(points), dtype=bool)
        labels[order[::2]] = True
        yield labels
        yield ~labels

    def why_none(self, points: Floats, labels: Labels) -> str:
        """A negative point in the hull of the positive ones, or how many sides would do."""
        flat = [(x, y) for x, y in integers(points)[0]]
        positive = [p for p, y in zip(flat, labels, strict=True) if y]
        for i in np.flatnonzero(~labels):
            if wedge(flat[i], positive) is None:
                return f"Point {i + 1} lies in the convex hull of the positive points."
        k = self.sides + 1
        while ConvexPolygons(k).consistent(points, labels) is None:
            k += 1
        return f"{k} sides are needed to cut off every negative point."

    def truth(self, rng: np.random.Generator) -> Polygon:
        """Sides that touch a disk in the unit square, in random directions."""
        while True:
            drawn = np.round(1000 * rng.standard_normal((self.sides, 2))).astype(int).tolist()
            normals = tuple((int(u), int(v)) for u, v in drawn)
            if spans_plane(normals):
                break
        center, radius = rng.uniform(0.3, 0.7, 2), rng.uniform(0.1, 0.3)
        reach = [float(np.array(u) @ center + radius * np.hypot(*u)) for u in normals]
        return Polygon(normals, tuple(map(Fraction, reach)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.sides})"


class Triangles(ConvexPolygons):
    """Triangles in the plane.

        consistent ⇔ three directions cut every negative point off the convex hull of the positive
                     ones and leave no gap of a half-turn between them

    Attributes
    ----------
    bound : int
        7, which the VC dimension does not exceed.

    See Also
    --------
    ConvexPolygons : Any number of sides.
    Boxes : Rectangles with sides parallel to the axes.

    Notes
    -----
    Seven points on a whole circle are shattered, and seven points on a short arc of it are not:
    the triangle has to be closed.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.vc_dimension(sx.Triangles())
    >>> found.dimension, len(found.shattered.hypotheses)
    (7, 128)
    """

    name: ClassVar[str] = "triangles"

    def __init__(self) -> None:
        super().__init__(3)

    def __repr__(self) -> str:
        return "Triangles()"


def _around(
    positive: Sequence[Vector], negative: Sequence[Vector], normals: Sequence[Vector], unit: int
) -> Polygon:
    """Each side halfway between the hull and the nearest negative point that it cuts off."""
    offsets = []
    for u in normals:
        touching = max(dot(u, p) for p in positive)
        beyond = [dot(u, n) for n in negative if dot(u, n) > touching]
        outer = min(beyond) if beyond else touching + sum(map(abs, u))
        offsets.append(Fraction(touching + outer, 2 * unit))
    return Polygon(tuple(normals), tuple(offsets))


def _unit(vector: Vector) -> tuple[float, float]:
    """The direction in floats, whatever its length."""
    size = max(map(abs, vector))
    return vector[0] / size, vector[1] / size
