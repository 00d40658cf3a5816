"""The version space of boxes: all boxes that contain some rows and leave others out.

S, the most specific box, is the bounding box of the positive rows. A box is consistent if it
contains S and none of the negative rows, so it has, for each of these, one face between S and the
row. Boxes that cannot grow without taking a negative row in are most general. They are many: with
m negative rows in d columns G can have as many members as there are ways to choose a face for each
row. So G is represented by the negative rows themselves, those that no nearer one implies, from
which follow exactly

- whether a point is in some member of G: the box around S and the point contains no negative row;
- the box common to all members of G, which is consistent as well;
- the members one by one, up to a stated number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.hypotheses.loops import (
    ascend,
    common_faces,
    filter_dominated,
    free_of_rows,
    largest_gain,
)
from separatrix.threads import parallel_map, pieces


@dataclass(frozen=True)
class VersionSpace:
    """The boxes between S and G, of one class.

    Parameters
    ----------
    specific : Box
        S, closed: in every consistent box.
    negatives : ndarray of shape (m, d)
        The negative rows that bound G, NaN in columns where S contains their value.
    common : Box
        The box common to all members of G, open.

    See Also
    --------
    BoxClassifier : A version space for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.hypotheses.version_space import version_space
    >>> inside, outside = np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([[4.0, 5.0]])
    >>> space = version_space(inside, outside)
    >>> [box.upper.tolist() for box in space.general()]
    [[4.0, inf], [inf, 5.0]]
    >>> space.common.upper.tolist(), space.average.upper.tolist()
    ([4.0, 5.0], [3.0, 3.5])
    >>> space.possible(np.array([[3.0, 9.0], [9.0, 9.0]])).tolist()
    [True, False]
    """

    specific: Box
    negatives: Floats
    common: Box

    @property
    def average(self) -> Box:
        """The box halfway between S and the one common to G; free where that is."""
        if self.specific.empty:
            return self.specific
        lower = (self.specific.lower + self.common.lower) / 2
        return Box(lower, (self.specific.upper + self.common.upper) / 2)

    @property
    def short(self) -> Box:
        """The average without the faces that others make needless: a rule of few conditions.

        Faces are chosen one by one, each for the most negative rows that none before leaves out.
        """
        average = self.average
        if average.empty:
            return average
        below, above = self.negatives < average.lower, self.negatives > average.upper
        out = np.concatenate([below, above], axis=1)
        d = len(average.lower)
        faces = np.repeat([-np.inf, np.inf], d)
        every = np.concatenate([average.lower, average.upper])
        left = np.ones(len(out), dtype=bool)
        while left.any():
            face = int(out[left].sum(axis=0).argmax())
            if not out[left, face].any():  # a row within rounding errors of S
                return average
            faces[face] = every[face]
            left &= ~out[:, face]
        return Box(faces[:d], faces[d:])

    def certain(self, x: Floats) -> NDArray[np.bool_]:
        """Whether each row is in every consistent box: in S."""
        return self.specific.contains(x)

    def possible(self, x: Floats) -> NDArray[np.bool_]:
        """Whether each row is in some consistent box: in a member of G."""
        result = np.zeros(len(x), dtype=bool)
        if self.specific.empty:  # any point alone is a box
            known = {row.tobytes() for row in self.negatives + 0.0}
            return np.array([row.tobytes() not in known for row in x + 0.0], dtype=bool)
        lower, upper = self.specific.lower, self.specific.upper
        x = np.ascontiguousarray(x)

        def of_piece(rows: slice) -> None:
            free_of_rows(x[rows], self.negatives, lower, upper, result[rows])

        parallel_map(of_piece, pieces(len(x), 256))
        return result

    def general(self, most: int = 1000) -> list[Box] | None:
        """The members of G, each once; None if they are more than ``most`` or hard to list.

        Boxes are specialized one negative row at a time, by each of the faces that can leave it
        out, and those inside another are dropped; None also where this has more than four times
        ``most`` boxes on the way.
        """
        d = self.negatives.shape[1]
        faces = np.full((1, 2, d), np.inf) * np.array([-1.0, 1.0])[:, None]
        for row in self.negatives:
            split = self._specialize(faces, row)
            if split is None:
                continue
            faces = _largest(*split)
            # Boxes on the way to a list of G, for each that the list may have.
            if len(faces) > 4 * most:
                return None
        if len(faces) > most:
            return None
        flat = faces.reshape(len(faces), -1)
        return [Box(faces[i, 0], faces[i, 1], open=True) for i in np.lexsort(flat.T[::-1])]

    def _specialize(self, faces: Floats, row: Floats) -> tuple[Floats, Floats] | None:
        """Boxes without the row, and those that had to be specialized; None if none had to."""
        free = np.isnan(row)
        inside = ((faces[:, 0] < row) & (row < faces[:, 1]) | free).all(axis=1)
        if not inside.any():
            return None
        new = []
        for j in np.flatnonzero(~free):
            cut = faces[inside].copy()
            cut[:, 0 if row[j] < self.specific.lower[j] else 1, j] = row[j]
            new.append(cut)
        return faces[~inside], np.concatenate(new) if new else faces[:0]


def version_space(positive: Floats, negative: Floats) -> VersionSpace:
    """The version space of rows, none of the negative ones inside the box of the positive ones."""
    d = positive.shape[1]
    if not len(positive):
        return VersionSpace(nothing(d), np.unique(negative, axis=0), nothing(d))
    lower, upper = positive.min(axis=0), positive.max(axis=0)
    return within_bounds(np.stack([lower, upper]), bounding(negative, lower, upper))


def within_bounds(faces: Floats, negatives: Floats) -> VersionSpace:
    """The version space of S, by its lower and upper faces, and the negative rows that bound G."""
    common = np.empty(faces.shape)
    common_faces(negatives, faces[0], faces[1], common)
    return VersionSpace(Box(faces[0], faces[1]), negatives, Box(common[0], common[1], open=True))


def bounding(negative: Floats, lower: Floats, upper: Floats) -> Floats:
    """The negative rows that no nearer one implies, in one order whatever the order given.

    They are NaN where the box contains their value, so that one inside is NaN throughout. What is
    implied stays so when the box grows: rows can be added and bounded again.
    """
    rows = np.where((negative < lower) | (negative > upper), negative, np.nan)
    if not len(rows):
        return rows
    rows = np.ascontiguousarray(rows[np.argsort(_excess(rows, lower, upper), kind="stable")])
    chosen = np.empty(len(rows), dtype=np.int64)
    # Comparisons of negative rows after which those left are stored without any.
    count = filter_dominated(rows, lower, upper, chosen, 200_000_000)
    rows = rows[chosen[:count]]
    # in units of the rows that are left: their order does not depend on the others
    order = np.lexsort((*rows.T, _excess(rows, lower, upper)))
    return np.ascontiguousarray(rows[order])


def _excess(rows: Floats, lower: Floats, upper: Floats) -> Floats:
    """How far each row is from the box, columns in units of the farthest row."""
    unit = np.nanmax(np.abs(rows - (lower / 2 + upper / 2)), axis=0, initial=0.0)
    excess = np.fmax(lower - rows, rows - upper) / np.where(unit > 0.0, unit, 1.0)
    return np.asarray(np.nansum(excess, axis=1))


def _largest(others: Floats, new: Floats) -> Floats:
    """All ``others``, and the new boxes that lie in none of them and in no other new one."""
    if not len(new):
        return others
    new = np.unique(new, axis=0)
    every = np.concatenate([others, new])
    alone = []
    for i, box in enumerate(new):
        holds = ((every[:, 0] <= box[0]) & (every[:, 1] >= box[1])).all(axis=1)
        holds[len(others) + i] = False
        alone.append(not holds.any())
    return np.concatenate([others, new[np.array(alone)]])


# -------------------------------------------------------------------------------------------------
# Perturbed rows: the true place of a row is within δ of the recorded one, in every column.
#
# A box is consistent if rows in some of these places make it so: it meets the cell x ± δ of every
# positive row, and contains no cell of a negative one. In terms of L = l − δ and U = u + δ, for the
# faces l and u of a column,
#
#     L ≤ x ≤ U for all positive rows;      L > z − 2δ or U < z + 2δ in a column, for negative rows
#
# so that a negative row bounds either face at another place. With a column for each of the faces,
# both are a version space of rows that are known exactly: of the points (x, x) of positive and
# (z − 2δ, z + 2δ) of negative rows. A new row is in a box if (x − δ, x + δ) is.


@dataclass(frozen=True)
class PerturbedSpace(VersionSpace):
    """The boxes that are consistent with rows moved by at most ``perturbation``, of one class.

    S, ``specific``, is in every such box; it is empty where one point may be the true place of all
    positive rows in a column. ``doubled`` is the version space with a column for each face.
    """

    doubled: VersionSpace
    perturbation: Floats

    @property
    def average(self) -> Box:
        """The box halfway between S and the one common to G."""
        return shrink(self.doubled.average, self.perturbation)

    @property
    def short(self) -> Box:
        """The average without the faces that others make needless."""
        return shrink(self.doubled.short, self.perturbation)

    def certain(self, x: Floats) -> NDArray[np.bool_]:
        """Whether each row is in every consistent box: in S."""
        return self.doubled.certain(self._ends(x))

    def possible(self, x: Floats) -> NDArray[np.bool_]:
        """Whether each row is in some consistent box."""
        return self.doubled.possible(self._ends(x))

    def _ends(self, x: Floats) -> Floats:
        return np.concatenate([x - self.perturbation, x + self.perturbation], axis=1)

    def general(self, most: int = 1000) -> list[Box] | None:
        """The members of G, each once; None if they are more than ``most`` or hard to list."""
        members = self.doubled.general(most)
        if members is None:
            return None
        d = len(self.perturbation)
        faces = [
            (b.lower[:d] + self.perturbation, b.upper[d:] - self.perturbation) for b in members
        ]
        return [Box(low, high, open=True) for low, high in faces if (low < high).all()]


def both_faces(x: Floats, positive: NDArray[np.bool_], perturbation: Floats) -> Floats:
    """A column for each face: where a row bounds the lower ones, and the upper ones."""
    shift = np.where(positive[:, None], 0.0, 2.0 * perturbation)
    return np.concatenate([x - shift, x + shift], axis=1)


def perturbed_space(positive: Floats, negative: Floats, perturbation: Floats) -> PerturbedSpace:
    """The version space of rows with a column for each face, as :func:`both_faces` has them."""
    d = len(perturbation)
    if not len(positive):
        faces = np.stack([np.full(2 * d, np.inf), np.full(2 * d, -np.inf)])
    else:
        faces = np.stack([positive.min(axis=0), positive.max(axis=0)])
    return within_perturbed(faces, bounding(one_sided(negative, faces), *faces), perturbation)


def one_sided(negative: Floats, faces: Floats) -> Floats:
    """Negative rows, NaN where they do not bound the face that their column is for."""
    d = negative.shape[1] // 2
    bounds = np.concatenate(
        [negative[:, :d] < faces[0, :d], negative[:, d:] > faces[1, d:]], axis=1
    )
    return np.where(bounds, negative, np.nan)


def within_perturbed(faces: Floats, negatives: Floats, perturbation: Floats) -> PerturbedSpace:
    """The version space of S and the negative rows that bound G, in a column for each face."""
    d = len(perturbation)
    if (faces[0] > faces[1]).any():  # no positive rows: any point alone is a box
        doubled = VersionSpace(nothing(2 * d), negatives, nothing(2 * d))
    else:
        doubled = within_bounds(faces, negatives)
    lower = doubled.specific.lower[:d] + perturbation
    specific = Box(lower, doubled.specific.upper[d:] - perturbation)
    common = shrink(doubled.common, perturbation)
    return PerturbedSpace(specific, negatives, common, doubled, perturbation)


def shrink(box: Box, perturbation: Floats) -> Box:
    """The box of faces l = L + δ and u = U − δ; in a column where they cross, the middle of them.

    A box without width in a column contains no cell, so that no negative row is in its way.
    """
    if box.empty:
        return nothing(len(perturbation))
    d = len(perturbation)
    lower, upper = box.lower[:d] + perturbation, box.upper[d:] - perturbation
    crossed = lower >= upper if box.open else lower > upper
    with np.errstate(invalid="ignore"):  # infinite faces do not cross
        middle = (lower + upper) / 2
    # an open box without width would have no points
    return Box(
        np.where(crossed, middle, lower),
        np.where(crossed, middle, upper),
        open=box.open and not crossed.any(),
    )


# -------------------------------------------------------------------------------------------------
# A box: one interval for each column.


@dataclass(frozen=True)
class Box:
    """The points with lower ≤ x ≤ upper in every column, or lower < x < upper if ``open``.

    A face that is infinite leaves its side free. A box of no points has lower > upper.
    """

    lower: Floats
    upper: Floats
    open: bool = False

    @property
    def empty(self) -> bool:
        """Whether it contains no points."""
        return bool((self.lower > self.upper).any())

    def contains(self, x: Floats) -> NDArray[np.bool_]:
        """Whether each row is inside."""
        if self.open:
            inside = (x > self.lower) & (x < self.upper)
        else:
            inside = (x >= self.lower) & (x <= self.upper)
        return np.asarray(inside.all(axis=1))

    def margins(self, x: Floats, scale: Floats) -> Floats:
        """The distance to the nearest face inside, at most 1, and minus the total excess outside.

        Distances are in units of ``scale``, one for each column; where it is 0, a column without
        any spread, all that is outside exceeds by 1.
        """
        if self.empty:
            return np.full(len(x), -np.inf)
        depth = np.ones(len(x))
        excess = np.zeros(len(x))
        for j, unit in enumerate(scale.tolist()):
            inner = np.minimum(x[:, j] - self.lower[j], self.upper[j] - x[:, j])
            inner = inner / unit if unit > 0.0 else np.where(inner < 0.0, -1.0, 1.0)
            np.minimum(depth, inner, out=depth)
            excess += np.maximum(-inner, 0.0)
        least = np.finfo(float).tiny  # a point on a face is inside or outside, not undecided
        inside = np.maximum(depth, least)
        return np.where(self.contains(x), inside, np.minimum(-excess, -least))


def nothing(d: int) -> Box:
    """The box of no points."""
    return Box(np.full(d, np.inf), np.full(d, -np.inf))


# -------------------------------------------------------------------------------------------------
# The box with the fewest errors: rows of a class outside of it, and others inside.
#
#     minimize over boxes B with a positive row   Σ w [x ∉ B, positive] + Σ w [x ∈ B, negative]
#
# A box without any positive row would be no description of them: it is not a candidate even where
# it makes fewer errors, as with rows outweighed by others at the same place. The errors are the
# weight of all positive rows minus the gain of B, the weight of its positive rows less that of its
# negative ones. An optimal box is tight: each face is at a positive row. So only the order of
# values counts, and no unit does. In one column the largest gain is that of a range, found in one
# pass; in several, branch and bound (:mod:`separatrix.hypotheses.loops`) starts from a box that no
# change of one column improves.


Codes = NDArray[np.int32]


@dataclass(frozen=True)
class FewestErrors:
    """A tight closed box, its weight of errors, and the fewest of any box with a positive row."""

    lower: Floats
    upper: Floats
    errors: float
    bound: float
    nodes: int = 0

    @property
    def exact(self) -> bool:
        """Whether no box with a positive row has fewer errors."""
        return self.bound >= self.errors - 1e-9 * max(self.errors, 1.0)


def fewest_errors(
    x: Floats, positive: NDArray[np.bool_], w: Floats, max_nodes: int
) -> FewestErrors:
    """The box with the fewest errors on weighted rows, some of which are positive."""
    largest_gain = box_of_largest_gain(x, np.where(positive, w, -w), max_nodes)
    total = float(w[positive].sum())
    errors, bound = total - largest_gain.gain, max(total - largest_gain.bound, 0.0)
    return FewestErrors(
        largest_gain.lower, largest_gain.upper, errors, min(bound, errors), largest_gain.nodes
    )


@dataclass(frozen=True)
class LargestGain:
    """A tight closed box, its gain, and the largest gain that any box can have."""

    lower: Floats
    upper: Floats
    gain: float
    bound: float
    nodes: int = 0

    @property
    def exact(self) -> bool:
        """Whether no box gains more."""
        return self.bound <= self.gain + 1e-9 * max(abs(self.gain), 1.0)

    def contains(self, x: Floats) -> NDArray[np.bool_]:
        """Whether each row is inside."""
        return np.asarray(((x >= self.lower) & (x <= self.upper)).all(axis=1))


def box_of_largest_gain(x: Floats, signed: Floats, max_nodes: int) -> LargestGain:
    """The box with the largest sum of signed weights inside, of those with a positive row."""
    positive = signed > 0.0
    members = x[positive]
    lower, upper = members.min(axis=0), members.max(axis=0)
    within = signed < 0.0
    within[within] = ((x[within] >= lower) & (x[within] <= upper)).all(axis=1)
    if not within.any():
        total = float(signed[positive].sum())
        return LargestGain(lower, upper, total, total)
    rows = np.flatnonzero(positive | within)
    values, codes = _positions(x[rows], positive[rows])
    codes, gains = _distinct(codes, signed[rows])
    sizes = np.array([len(v) for v in values])
    box, best = _start(codes, gains, sizes)
    gain, bound, nodes = _search(codes, gains, sizes, box, best, max_nodes)
    faces = zip(values, box.T.tolist(), strict=True)
    ends = np.array([[v[low], v[high]] for v, (low, high) in faces]).T
    inside = positive & ((x >= ends[0]) & (x <= ends[1])).all(axis=1)
    if gain <= 0.0 or not inside.any():
        point, net = _best_point(x, signed)
        if net <= 0.0:  # every positive row is outweighed where it is: more rows lose more
            return LargestGain(point, point, net, net, nodes)
        if net > gain or not inside.any():
            return LargestGain(point, point, net, max(bound, net), nodes)
    members = x[inside]
    return LargestGain(members.min(axis=0), members.max(axis=0), gain, bound, nodes)


def _best_point(x: Floats, signed: Floats) -> tuple[Floats, float]:
    """The point of a positive row with the largest gain of rows there."""
    points, at = np.unique(x, axis=0, return_inverse=True)
    net = np.bincount(at.ravel(), signed)
    net[np.bincount(at.ravel(), signed > 0.0) == 0] = -np.inf
    return points[net.argmax()], float(net.max())


def _search(
    codes: Codes, gains: Floats, sizes: Ints, box: Ints, best: float, max_nodes: int
) -> tuple[float, float, int]:
    """The largest gain, a bound on it and the nodes visited; ``box`` becomes the best one."""
    d = codes.shape[1]
    # Rows times columns times nodes that a search may take: about a second.
    most = max(1, int(min(max_nodes, 1e8 / codes.size)))
    # Fewer nodes than this improve neither box nor bound.
    if most < min(32, max_nodes):  # too many rows: only the bound of the first node
        most = 1
    nodes = np.zeros((most, 4, d), dtype=np.int64)
    nodes[0, 1] = nodes[0, 3] = sizes - 1
    sums = np.zeros((d, 2 * int(sizes.max())))
    lowest, spread = np.zeros((2, 2, d), dtype=np.int64)
    slack = 1e-12 * float(np.abs(gains).sum())
    order, bounds = np.zeros(most, dtype=np.int64), np.zeros(most)
    gain, bound, used = largest_gain(
        codes, gains, slack, box, best, nodes, bounds, order, sums, lowest, spread
    )
    gain = max(gain, ascend(codes, gains, sizes, box, sums, np.zeros(len(codes), dtype=np.int64)))
    return float(gain), max(float(bound), float(gain)), int(used)


def _positions(x: Floats, positive: NDArray[np.bool_]) -> tuple[list[Floats], Codes]:
    """The distinct values of positive rows in every column, and the codes of all rows."""
    codes = np.empty(x.shape, dtype=np.int32)

    def of_column(j: int) -> Floats:
        order = np.argsort(x[:, j])
        values, positive_here = x[order, j], positive[order]
        first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        has_own = np.logical_or.reduceat(positive_here, first)
        code = 2 * np.cumsum(has_own) - np.where(has_own, 2, 1)
        codes[order, j] = np.repeat(code, np.diff(np.concatenate([first, [len(values)]])))
        return np.asarray(values[first[has_own]])

    return parallel_map(of_column, range(x.shape[1])), codes


def _distinct(codes: Codes, signed: Floats) -> tuple[Codes, Floats]:
    """Rows in one order whatever the order given, those alike added up by the sign of theirs.

    Sums of whole weights do not depend on the order: many rows are left in theirs.
    """
    # Rows that are not sorted without need.
    if len(codes) > 50_000 and (signed == np.rint(signed)).all():
        return codes, signed
    order = np.lexsort((signed > 0.0, *codes.T))
    codes, signed = codes[order], signed[order]
    same = (codes[1:] == codes[:-1]).all(axis=1) & ((signed[1:] > 0) == (signed[:-1] > 0))
    first = np.flatnonzero(np.concatenate([[True], ~same]))
    order = np.lexsort((signed, np.repeat(np.arange(len(first)), np.diff([*first, len(codes)]))))
    return np.ascontiguousarray(codes[first]), np.add.reduceat(signed[order], first)


def _start(codes: Codes, gains: Floats, sizes: Ints) -> tuple[Ints, float]:
    """The best of two boxes that no change of one column improves.

    One starts from the box around all positive rows, the other from that of the middle four fifths
    of their values in every column: both whatever the order of rows.
    """
    d = codes.shape[1]
    sums, misses = np.zeros((d, 2 * int(sizes.max()))), np.zeros(len(codes), dtype=np.int64)
    with_gain = codes[gains > 0.0] // 2
    ends = np.quantile(with_gain, [0.1, 0.9], axis=0, method="nearest").astype(np.int64)
    starts = [np.stack([np.zeros_like(sizes), sizes - 1]), ends]
    gained = [float(ascend(codes, gains, sizes, box, sums, misses)) for box in starts]
    best = int(np.argmax(gained))
    return starts[best], gained[best]


# -------------------------------------------------------------------------------------------------
# Several boxes for one class: greedy, then each box exactly for the others as they are.
#
# A box added to others gains the rows that none of them contains. The first boxes are chosen one by
# one, each with the largest gain; then every box in turn is replaced by the best one while the
# others stay, until none gains. The errors fall with every replacement, so this ends: at a union
# that no change of one box improves, though another union may still be better. Another start has
# boxes without any row of other classes, which one large box would hide; the better end is taken.


@dataclass(frozen=True)
class ClassUnion:
    """Version spaces of the boxes of a class, and the errors of the union.

    ``exact`` says that no other single box would make fewer errors beside the others, rather than
    that none was found. ``covered``, ``others`` and ``weight`` are weights of rows of the class
    inside, of other classes inside, and of the class.
    """

    spaces: list[VersionSpace]
    errors: float
    exact: bool
    covered: float
    others: float
    weight: float


def class_union(
    x: Floats,
    codes: Ints,
    w: Floats,
    label: int,
    n_boxes: int,
    max_nodes: int,
    moves: int = 0,
    seed: int = 0,
) -> ClassUnion:
    """At most ``n_boxes`` boxes for one class against all others.

    With ``moves`` of simulated annealing, the better of two unions: that and the greedy one.
    """
    members = codes == label
    signed = np.where(members, w, -w)
    boxes = _best(x, signed, n_boxes, max_nodes)
    if moves and n_boxes > 1 and (signed > 0.0).any():
        other = _refine(x, signed, anneal(x, signed, boxes, n_boxes, moves, seed), max_nodes)
        gains = [float(signed[_is_covered(x, union)].sum()) for union in (boxes, other)]
        boxes = other if gains[1] > gains[0] else boxes
    inside = np.array([box.contains(x) for box in boxes])
    union = np.asarray(inside.any(axis=0))
    wrong = ~members & ~union
    spaces = [version_space(x[members & one], x[wrong]) for one in inside]
    spaces.sort(key=lambda space: (*space.specific.lower, *space.specific.upper))
    covered, others = float(w[members & union].sum()), float(w[~members & union].sum())
    weight = float(w[members].sum())
    exact = all(box.exact for box in boxes) and _nothing_to_add(
        x, signed, union, boxes, n_boxes, max_nodes
    )
    return ClassUnion(spaces, weight - covered + others, exact, covered, others, weight)


def _best(x: Floats, signed: Floats, n_boxes: int, max_nodes: int) -> list[LargestGain]:
    """The better of two unions: from boxes of the largest gain, and from boxes without errors."""
    boxes = _greedy(x, signed, n_boxes, max_nodes)
    if len(boxes) > 1:
        boxes = _refine(x, signed, boxes, max_nodes)
    if n_boxes == 1 or not (signed[_is_covered(x, boxes)] < 0.0).any():
        return boxes
    pure = np.where(signed < 0.0, -2.0 * float(signed[signed > 0.0].sum()), signed)
    others = _refine(x, signed, _greedy(x, pure, n_boxes, max_nodes), max_nodes)
    gains = [float(signed[_is_covered(x, union)].sum()) for union in (boxes, others)]
    return boxes if gains[0] >= gains[1] else others


def anneal(
    x: Floats, signed: Floats, boxes: list[LargestGain], n_boxes: int, moves: int, seed: int
) -> list[LargestGain]:
    """The best union that random moves pass through, from one that is given.

    A move puts one face of a box to a row of the class, or the whole box around two such rows. It
    is taken if the union gains, and else with a probability that falls with the temperature.
    """
    rng = np.random.default_rng(seed)
    members = np.unique(x[signed > 0.0], axis=0)
    faces = np.array([[box.lower, box.upper] for box in boxes])
    more = rng.integers(0, len(members), n_boxes - len(boxes))
    faces = np.concatenate([faces, np.repeat(members[more][:, None], 2, axis=1)])
    inside = np.array([((x >= low) & (x <= high)).all(axis=1) for low, high in faces])
    gain = float(signed @ inside.any(axis=0))
    best, highest = faces.copy(), gain
    total = float(signed[signed > 0.0].sum())
    # Shares of the weight of a class: a move that loses a twentieth is taken often at first, one
    # that loses a thousandth hardly ever at the end.
    hot, cold = 0.05, 0.0002
    for step in range(moves):
        k, row = int(rng.integers(n_boxes)), members[rng.integers(len(members))]
        new = faces[k].copy()
        if rng.random() < 0.25:  # whole boxes: one move leads out of a local maximum of faces
            other = members[rng.integers(len(members))]
            new = np.stack([np.minimum(row, other), np.maximum(row, other)])
        else:
            side, j = int(rng.integers(2)), int(rng.integers(x.shape[1]))
            new[side, j] = row[j]
            new[1 - side, j] = (
                max(new[1 - side, j], row[j]) if side == 0 else min(new[1 - side, j], row[j])
            )
        moved = inside.copy()
        moved[k] = ((x >= new[0]) & (x <= new[1])).all(axis=1)
        after = float(signed @ moved.any(axis=0))
        temperature = total * hot * (cold / hot) ** (step / moves)
        if after >= gain or rng.random() < np.exp((after - gain) / temperature):
            faces[k], inside, gain = new, moved, after
            if gain > highest:
                best, highest = faces.copy(), gain
    return [LargestGain(low, high, 0.0, np.inf) for low, high in best]


def _is_covered(x: Floats, boxes: list[LargestGain]) -> NDArray[np.bool_]:
    """Whether each row is in some box."""
    covered = np.zeros(len(x), dtype=bool)
    for box in boxes:
        covered |= box.contains(x)
    return covered


def _greedy(x: Floats, signed: Floats, n_boxes: int, max_nodes: int) -> list[LargestGain]:
    """Boxes of the largest gain one after the other, while they gain; at least one."""
    left = signed.copy()
    boxes: list[LargestGain] = []
    while len(boxes) < n_boxes and (left > 0.0).any():
        box = box_of_largest_gain(x, left, max_nodes)
        if boxes and box.gain <= 0.0:
            break
        boxes.append(box)
        left[box.contains(x)] = 0.0
    return boxes


def _refine(
    x: Floats, signed: Floats, boxes: list[LargestGain], max_nodes: int
) -> list[LargestGain]:
    """Boxes of which none can be replaced with a gain while the others stay."""
    slack = 1e-12 * float(np.abs(signed).sum())
    # Rounds of replacements; each is a gain of a row at least, and few are ever needed.
    for _ in range(50):
        better = False
        for k in reversed(range(len(boxes))):
            left = np.where(_is_covered(x, boxes[:k] + boxes[k + 1 :]), 0.0, signed)
            if not (left > 0.0).any():  # the others have all rows of the class
                if len(boxes) > 1:
                    del boxes[k]
                    better = True
                continue
            gain = float(left[boxes[k].contains(x)].sum())
            box = box_of_largest_gain(x, left, max_nodes)
            if len(boxes) > 1 and max(box.gain, gain) <= 0.0:
                del boxes[k]
                better = True
            elif box.gain > gain + slack:
                boxes[k], better = box, True
            else:  # the same gain, and what is known of the largest one
                boxes[k] = LargestGain(boxes[k].lower, boxes[k].upper, gain, box.bound)
        if not better:
            break
    return boxes


def _nothing_to_add(
    x: Floats,
    signed: Floats,
    union: NDArray[np.bool_],
    boxes: list[LargestGain],
    n_boxes: int,
    max_nodes: int,
) -> bool:
    """Whether no further box is allowed, or none can gain among the rows that are left."""
    left = np.where(union, 0.0, signed)
    if len(boxes) == n_boxes or not (left > 0.0).any():
        return True
    return box_of_largest_gain(x, left, max_nodes).bound <= 1e-12 * float(np.abs(signed).sum())
