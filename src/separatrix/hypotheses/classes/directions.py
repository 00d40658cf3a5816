"""Directions around the circle that separate points from a convex hull, in whole numbers.

A line with outer normal u that touches the hull of P from outside cuts off the points n with

    u·(n − p) > 0     for all p in P

which for every n outside the hull is an open arc of directions, shorter than a half-turn. A convex
polygon of k sides holds P and no point of N where k directions meet all arcs and leave no gap of a
half-turn, so that the polygon is bounded. Ends of the arcs and their opposites cut the circle into
cells; all directions of a cell meet the same arcs. Cells are opposite in pairs, and two cells that
are not are in the same order around the circle whatever directions they stand for: which cells are
taken decides everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import product
from math import atan2, gcd

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
            return _bounded(chosen) if len(taken) == k else _closed(chosen)
        if len(taken) == k:
            return None
        missing = ~covered & everything
        first = (missing & -missing).bit_length() - 1
        for c in cells_of[first]:
            found = search(covered | masks[c], [*taken, c])
            if found is not None:
                return found
        return None

    return search(0, [])


def _cells(wedges: Sequence[Wedge]) -> list[Cell]:
    """The cells, with the axes as further ends, so that none spans a half-turn."""
    ends = {(1, 0), (0, 1)}
    for right, left in wedges:
        ends |= {_shortest(left[1], -left[0]), _shortest(-right[1], right[0])}
    ordered = sorted(ends | {(-x, -y) for x, y in ends}, key=cmp_to_key(_by_angle))
    cells = []
    for one, other in zip(ordered, ordered[1:] + ordered[:1], strict=True):
        a, b = _about_as_long(one, other), _about_as_long(other, one)
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


def _bounded(cells: list[Cell]) -> list[Vector] | None:
    """One direction of each cell, such that no half-turn is without one; None if there are none."""
    middles = [middle for middle, _, _ in cells]
    if spans_plane(middles):
        return middles
    if not _has_opposites(middles):
        return None
    # opposite cells: their directions can be tilted to either side of the half-turn
    return next((list(c) for c in product(*cells) if spans_plane(c)), None)


def _closed(cells: list[Cell]) -> list[Vector]:
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
