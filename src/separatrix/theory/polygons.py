"""Boxes, triangles and convex polygons as hypothesis classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cmp_to_key
from itertools import permutations, product
from math import atan2, factorial, gcd
from typing import Any, ClassVar

import numpy as np

from separatrix.arrays import Floats
from separatrix.theory import hypothesis_class

# -------------------------------------------------------------------------------------------------
# Boxes with sides parallel to the axes; in one dimension, intervals.


@dataclass(frozen=True)
class BoxHypothesis(hypothesis_class.Hypothesis):
    """The points x with low ≤ x ≤ high in every coordinate; empty where low > high."""

    low: Floats
    high: Floats

    def contains(self, points: Any) -> hypothesis_class.Labels:
        """Which of the points lie in the box."""
        x = np.asarray(points, dtype=np.float64)
        return np.asarray(((x >= self.low) & (x <= self.high)).all(axis=1))


class Boxes(hypothesis_class.HypothesisClass):
    """Boxes with sides parallel to the axes: lⱼ ≤ xⱼ ≤ uⱼ for every column j.

        consistent ⇔ the tightest box around the positive points holds no negative one

    Parameters
    ----------
    dimension : int, default=2
        Number of columns.

    Attributes
    ----------
    bound : int
        2d, which the VC dimension does not exceed.

    See Also
    --------
    Intervals : Boxes in one dimension.
    vc_dimension : The largest number of points that a class shatters.
    pac_sample_size : Rows enough for the tightest box.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler and M. K. Warmuth, Learnability and the
    Vapnik–Chervonenkis dimension, Journal of the ACM 36, 1989.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.vc_dimension(sx.Boxes(2))
    >>> found.dimension, found.shattered.points.tolist()
    (4, [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    """

    name: ClassVar[str] = "boxes"

    dimension: int

    def __init__(self, dimension: int = 2) -> None:
        self.dimension = hypothesis_class.check_count(dimension, "dimension")
        self.bound = 2 * self.dimension
        self.argument = (
            f"Of {self.bound + 1} points, one that is lowest and one that is highest in each "
            f"column are {self.bound} at most; every box that contains those contains the others."
        )

    @property
    def n_strips(self) -> int:
        """Sides of a box: the strips between the tightest box and the true one."""
        return 2 * self.dimension

    def tightest(self, points: Floats, labels: hypothesis_class.Labels) -> BoxHypothesis:
        """The smallest box around the positive points; empty if there are none."""
        positive = points[labels]
        return BoxHypothesis(
            positive.min(axis=0, initial=np.inf), positive.max(axis=0, initial=-np.inf)
        )

    def consistent(self, points: Floats, labels: hypothesis_class.Labels) -> BoxHypothesis | None:
        """The tightest box around the positive points, unless it holds a negative one."""
        box = self.tightest(points, labels)
        return None if box.contains(points[~labels]).any() else box

    def hard_labels(self, points: Floats) -> Iterator[hypothesis_class.Labels]:
        """The lowest and highest point of every column positive, the others negative."""
        labels = np.zeros(len(points), dtype=bool)
        labels[points.argmin(axis=0)] = labels[points.argmax(axis=0)] = True
        yield labels

    def why_none(self, points: Floats, labels: hypothesis_class.Labels) -> str:
        """The negative point that every box around the positive ones contains."""
        twice = hypothesis_class.repeated_point(points, labels)
        if twice is not None:
            return f"Point {twice + 1} is given twice, with both labels."
        inside = self.tightest(points, labels).contains(points) & ~labels
        return (
            f"Every box that contains the positive points contains point "
            f"{int(np.flatnonzero(inside)[0]) + 1} too."
        )

    def configurations(self, n: int) -> Iterable[Floats] | None:
        """Every order of n points along the axes; only orders matter, and ties never help."""
        # Relative orders of the points along the axes that are enumerated at most.
        if factorial(n) ** (self.dimension - 1) > 20_000:
            return None
        first = tuple(range(n))
        orders = product(permutations(first), repeat=self.dimension - 1)
        return (np.array([first, *others], dtype=float).T for others in orders)

    def truth(self, rng: np.random.Generator) -> BoxHypothesis:  # noqa: ARG002
        """The box in the middle of the unit cube that has half of its volume."""
        half = 0.5 ** (1.0 + 1.0 / self.dimension)
        return BoxHypothesis(
            np.full(self.dimension, 0.5 - half), np.full(self.dimension, 0.5 + half)
        )

    def uniform_error(self, truth: BoxHypothesis, box_hypothesis: BoxHypothesis) -> float:
        """Probability of their difference for points that are uniform in the unit cube."""
        return (
            _volume(truth)
            + _volume(box_hypothesis)
            - 2.0
            * _volume(
                BoxHypothesis(
                    np.maximum(truth.low, box_hypothesis.low),
                    np.minimum(truth.high, box_hypothesis.high),
                )
            )
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dimension})"


class Intervals(Boxes):
    """Intervals l ≤ x ≤ u of numbers.

    Attributes
    ----------
    bound : int
        2, which the VC dimension does not exceed.

    See Also
    --------
    UnionsOfIntervals : Several intervals.
    Boxes : Intervals in every column.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.shatters(sx.Intervals(), [1.0, 2.0, 3.0])
    >>> found.shattered, found.failing.tolist()
    (False, [True, False, True])
    >>> print(found.reason)
    Every box that contains the positive points contains point 2 too.
    """

    name: ClassVar[str] = "intervals"

    def __init__(self) -> None:
        super().__init__(1)

    def __repr__(self) -> str:
        return "Intervals()"


def _volume(box: BoxHypothesis) -> float:
    sides = np.minimum(box.high, 1.0) - np.maximum(box.low, 0.0)
    return float(np.prod(np.maximum(sides, 0.0)))


# -------------------------------------------------------------------------------------------------
# Convex polygons of k sides in the plane; triangles.


@dataclass(frozen=True)
class Polygon(hypothesis_class.Hypothesis):
    """The points x with normalᵢ · x ≤ offsetᵢ for every side i; whole numbers and fractions."""

    normals: tuple[Vector, ...]
    offsets: tuple[Fraction, ...]

    def contains(self, points: Any) -> hypothesis_class.Labels:
        """Which of the points lie in the polygon."""
        x = np.asarray(points, dtype=np.float64)
        inside = np.ones(len(x), dtype=bool)
        for (u, v), offset in zip(self.normals, self.offsets, strict=True):
            inside &= hypothesis_class.positive_side(
                x, list(x.T), (Fraction(-u), Fraction(-v)), offset
            )
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


class ConvexPolygons(hypothesis_class.HypothesisClass):
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
        self.sides = hypothesis_class.check_count(sides, "sides", 3)
        self.bound = 2 * self.sides + 1
        self.argument = (
            f"Of {self.bound + 1} points, one lies in the convex hull of the others, which no "
            "convex set then holds alone; or all are vertices of their hull, and with alternating "
            f"labels each of the {self.sides + 1} negative points needs a side of its own."
        )

    def consistent(self, points: Floats, labels: hypothesis_class.Labels) -> Polygon | None:
        """A polygon with no point on its sides."""
        whole, unit = hypothesis_class.integers(points)
        flat = [(x, y) for x, y in whole]
        positive = [p for p, y in zip(flat, labels, strict=True) if y]
        negative = [p for p, y in zip(flat, labels, strict=True) if not y]
        if not positive:  # a small triangle beyond all points
            vertex = (max(x for x, _ in flat) + 2, max(y for _, y in flat) + 2)
            # Outer normals of a triangle, for labels that need no particular one.
            return _around([vertex], negative, ((-1, -1), (1, 0), (0, 1)), unit)
        wedges = []
        for n in negative:
            extreme = wedge(n, positive)
            if extreme is None:
                return None
            wedges.append(extreme)
        normals = covering(wedges, self.sides)
        return None if normals is None else _around(positive, negative, normals, unit)

    def hard_labels(self, points: Floats) -> Iterator[hypothesis_class.Labels]:
        """All but one positive for a point inside the hull; else alternating around it."""
        flat = [(x, y) for x, y in hypothesis_class.integers(points)[0]]
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

    def why_none(self, points: Floats, labels: hypothesis_class.Labels) -> str:
        """A negative point in the hull of the positive ones, or how many sides would do."""
        flat = [(x, y) for x, y in hypothesis_class.integers(points)[0]]
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


# -------------------------------------------------------------------------------------------------
# Directions around the circle that separate points from a convex hull, in whole numbers.
#
# A line with outer normal u that touches the hull of P from outside cuts off the points n with
#
#     u·(n − p) > 0     for all p in P
#
# which for every n outside the hull is an open arc of directions, shorter than a half-turn. A
# convex polygon of k sides holds P and no point of N where k directions meet all arcs and leave no
# gap of a half-turn, so that the polygon is bounded. Ends of the arcs and their opposites cut the
# circle into cells; all directions of a cell meet the same arcs. Cells are opposite in pairs, and
# two cells that are not are in the same order around the circle whatever directions they stand for:
# which cells are taken decides everything.


Vector = tuple[int, int]
#: Three directions inside a cell: in its middle, near its start, near its end.
Cell = tuple[Vector, Vector, Vector]
#: Two directions that span less than a half-turn: the extreme differences n − p, clockwise first.
Wedge = tuple[Vector, Vector]


def cross(a: Vector, b: Vector) -> int:
    """a × b: positive if b is to the left of a."""
    return a[0] * b[1] - a[1] * b[0]


def dot(a: Vector, b: Vector) -> int:
    """a · b."""
    return a[0] * b[0] + a[1] * b[1]


def wedge(n: Vector, hull: Sequence[Vector]) -> Wedge | None:
    """The extreme differences n − p over the points p; None if n is in their convex hull."""
    right = left = (n[0] - hull[0][0], n[1] - hull[0][1])
    for p in hull:
        v = (n[0] - p[0], n[1] - p[1])
        from_right, from_left = cross(right, v), cross(left, v)
        if from_right < 0 and from_left < 0:
            right = v
        elif from_right > 0 and from_left > 0:
            left = v
        elif from_right < 0 or from_left > 0:
            return None  # opposite one of them, or between their opposites
        elif from_right == from_left == 0 and dot(right, v) <= 0:
            return None  # opposite both, or zero
    return right, left


def covering(wedges: Sequence[Wedge], k: int) -> list[Vector] | None:
    """At most k ≥ 3 outer normals of a bounded polygon that meet the arcs of all wedges, or None.

    Fewer than k need not bound it: one more side always does (two more beside a single one).
    """
    cells = _cells(wedges)
    masks = [
        sum(1 << i for i, (a, b) in enumerate(wedges) if dot(m, a) > 0 and dot(m, b) > 0)
        for m, _, _ in cells
    ]
    everything = (1 << len(wedges)) - 1
    cells_of = [[c for c in range(len(cells)) if masks[c] >> i & 1] for i in range(len(wedges))]

    def search(covered: int, taken: list[int]) -> list[Vector] | None:
        if covered == everything:
            chosen = [cells[c] for c in taken]
            return _bound_cells(chosen) if len(taken) == k else _close_cells(chosen)
        if len(taken) == k:
            return None
        missing = ~covered & everything
        first = (missing & -missing).bit_length() - 1
        for c in cells_of[first]:
            cover = search(covered | masks[c], [*taken, c])
            if cover is not None:
                return cover
        return None

    return search(0, [])


def _cells(wedges: Sequence[Wedge]) -> list[Cell]:
    """The cells, with the axes as further ends, so that none spans a half-turn."""
    ends = {(1, 0), (0, 1)}
    for right, left in wedges:
        ends |= {_shortest(left[1], -left[0]), _shortest(-right[1], right[0])}
    ordered = sorted(ends | {(-x, -y) for x, y in ends}, key=cmp_to_key(_by_angle))
    cells = []
    for first, other in zip(ordered, ordered[1:] + ordered[:1], strict=True):
        a, b = _about_as_long(first, other), _about_as_long(other, first)
        x, y = a[0] + b[0], a[1] + b[1]
        cells.append(((x, y), (x + a[0], y + a[1]), (x + b[0], y + b[1])))
    # wide cells are tried first, for polygons of moderate size: any other order is as right
    return sorted(cells, key=_width, reverse=True)


def _about_as_long(v: Vector, other: Vector) -> Vector:
    """A multiple of v: the sum of two of about one length is in the middle between them."""
    times = max(1, max(map(abs, other)) // max(map(abs, v)))
    return times * v[0], times * v[1]


def _width(cell: Cell) -> float:
    """The angle between the outer two directions of a cell, about."""
    (a, b), (c, d) = ((x / max(abs(x), abs(y)), y / max(abs(x), abs(y))) for x, y in cell[1:])
    return atan2(a * d - b * c, a * c + b * d)


def _shortest(x: int, y: int) -> Vector:
    """The shortest vector of whole numbers in this direction."""
    divisor = gcd(x, y)
    return x // divisor, y // divisor


def _by_angle(a: Vector, b: Vector) -> int:
    """Order by the angle from the first axis; 0 for the same direction."""
    lower_a, lower_b = (v[1] < 0 or (v[1] == 0 and v[0] < 0) for v in (a, b))
    if lower_a != lower_b:
        return 1 if lower_a else -1
    turn = cross(a, b)
    return -1 if turn > 0 else int(turn < 0)


def _bound_cells(cells: list[Cell]) -> list[Vector] | None:
    """One direction of each cell, such that no half-turn is without one; None if there are none."""
    middles = [middle for middle, _, _ in cells]
    if spans_plane(middles):
        return middles
    if not _has_opposites(middles):
        return None
    # opposite cells: their directions can be tilted to either side of the half-turn
    return next((list(c) for c in product(*cells) if spans_plane(c)), None)


def _close_cells(cells: list[Cell]) -> list[Vector]:
    """One direction of each cell, and further ones if these leave a gap of a half-turn."""
    normals = next(list(c) for c in product(*cells) if not _has_opposites(c))
    if not normals:
        return [(1, 0), (0, 1), (-1, -1)]
    if spans_plane(normals):
        return normals
    if len(normals) == 1:
        x, y = normals[0]
        return [(x, y), (-x - y, x - y), (y - x, -x - y)]  # turned by 135°
    right = next(a for a in normals if all(cross(a, b) >= 0 for b in normals))
    left = next(a for a in normals if all(cross(a, b) <= 0 for b in normals))
    return [*normals, (-right[0] - left[0], -right[1] - left[1])]


def _has_opposites(directions: Sequence[Vector]) -> bool:
    return any(cross(a, b) == 0 and dot(a, b) < 0 for a in directions for b in directions)


def spans_plane(directions: Sequence[Vector]) -> bool:
    """Whether half-planes with these outer normals have a bounded intersection: no gap ≥ π."""
    ordered = sorted(directions, key=cmp_to_key(_by_angle))
    turns = [
        (cross(a, b), dot(a, b)) for a, b in zip(ordered, [*ordered[1:], ordered[0]], strict=True)
    ]
    return all(s > 0 or (s == 0 and c > 0) for s, c in turns) and any(s > 0 for s, _ in turns)
