"""The box with the fewest errors: rows of a class outside of it, and others inside.

    minimize over boxes B with a positive row   Σ w [x ∉ B, positive] + Σ w [x ∈ B, negative]

A box without any positive row would be no description of them: it is not a candidate even where it
makes fewer errors, as with rows outweighed by others at the same place. The errors are the weight
of all positive rows minus the gain of B, the weight of its positive rows less that of its negative
ones. An optimal box is tight: each face is at a positive row. So only the order of values counts,
and no unit does. In one column the largest gain is that of a range, found in one pass; in several,
branch and bound (:mod:`separatrix.hypotheses.boxes.loops.search`) starts from a box that no change
of one column improves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.hypotheses.boxes.loops.search import ascend, largest_gain
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map

Codes = NDArray[np.int32]

#: Rows times columns times nodes that a search may take: about a second.
MOST_WORK = 1e8
#: Fewer nodes than this improve neither box nor bound.
FEW_NODES = 32
#: Rows that are not sorted without need.
MANY = 50_000


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
    found = box_of_largest_gain(x, np.where(positive, w, -w), max_nodes)
    total = float(w[positive].sum())
    errors, bound = total - found.gain, max(total - found.bound, 0.0)
    return FewestErrors(found.lower, found.upper, errors, min(bound, errors), found.nodes)


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
    own = x[positive]
    lower, upper = own.min(axis=0), own.max(axis=0)
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
    own = x[inside]
    return LargestGain(own.min(axis=0), own.max(axis=0), gain, bound, nodes)


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
    most = max(1, int(min(max_nodes, MOST_WORK / codes.size)))
    if most < min(FEW_NODES, max_nodes):  # too many rows: only the bound of the first node
        most = 1
    nodes = np.zeros((most, 4, d), dtype=np.int64)
    nodes[0, 1] = nodes[0, 3] = sizes - 1
    sums = np.zeros((d, 2 * int(sizes.max())))
    found, spread = np.zeros((2, 2, d), dtype=np.int64)
    slack = 1e-12 * float(np.abs(gains).sum())
    order, bounds = np.zeros(most, dtype=np.int64), np.zeros(most)
    gain, bound, used = largest_gain(
        codes, gains, slack, box, best, nodes, bounds, order, sums, found, spread
    )
    gain = max(gain, ascend(codes, gains, sizes, box, sums, np.zeros(len(codes), dtype=np.int64)))
    return float(gain), max(float(bound), float(gain)), int(used)


def _positions(x: Floats, positive: NDArray[np.bool_]) -> tuple[list[Floats], Codes]:
    """The distinct values of positive rows in every column, and the codes of all rows."""
    codes = np.empty(x.shape, dtype=np.int32)

    def of_column(j: int) -> Floats:
        order = np.argsort(x[:, j])
        values, own = x[order, j], positive[order]
        first = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        has_own = np.logical_or.reduceat(own, first)
        code = 2 * np.cumsum(has_own) - np.where(has_own, 2, 1)
        codes[order, j] = np.repeat(code, np.diff(np.concatenate([first, [len(values)]])))
        return np.asarray(values[first[has_own]])

    return parallel_map(of_column, range(x.shape[1])), codes


def _distinct(codes: Codes, signed: Floats) -> tuple[Codes, Floats]:
    """Rows in one order whatever the order given, those alike added up by the sign of theirs.

    Sums of whole weights do not depend on the order: many rows are left in theirs.
    """
    if len(codes) > MANY and (signed == np.rint(signed)).all():
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
    own = codes[gains > 0.0] // 2
    ends = np.quantile(own, [0.1, 0.9], axis=0, method="nearest").astype(np.int64)
    starts = [np.stack([np.zeros_like(sizes), sizes - 1]), ends]
    gained = [float(ascend(codes, gains, sizes, box, sums, misses)) for box in starts]
    best = int(np.argmax(gained))
    return starts[best], gained[best]
