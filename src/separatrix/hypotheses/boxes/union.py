"""Several boxes for one class: greedy, then each box exactly for the others as they are.

A box added to others gains the rows that none of them contains. The first boxes are chosen one by
one, each with the largest gain; then every box in turn is replaced by the best one while the others
stay, until none gains. The errors fall with every replacement, so this ends: at a union that no
change of one box improves, though another union may still be better. Another start has boxes
without any row of other classes, which one large box would hide; the better end is taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.hypotheses.boxes.fewest_errors import LargestGain, box_of_largest_gain
from separatrix.hypotheses.boxes.version_space import VersionSpace, version_space
from separatrix.rows.block import Floats, Ints

#: Rounds of replacements; each is a gain of a row at least, and few are ever needed.
MOST_ROUNDS = 50


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
    x: Floats, codes: Ints, w: Floats, label: int, n_boxes: int, max_nodes: int
) -> ClassUnion:
    """At most ``n_boxes`` boxes for one class against all others."""
    own = codes == label
    signed = np.where(own, w, -w)
    boxes = _best(x, signed, n_boxes, max_nodes)
    inside = np.array([box.contains(x) for box in boxes])
    union = np.asarray(inside.any(axis=0))
    wrong = ~own & ~union
    spaces = [version_space(x[own & one], x[wrong]) for one in inside]
    spaces.sort(key=lambda space: (*space.specific.lower, *space.specific.upper))
    covered, others = float(w[own & union].sum()), float(w[~own & union].sum())
    weight = float(w[own].sum())
    exact = all(box.exact for box in boxes) and _nothing_to_add(
        x, signed, union, boxes, n_boxes, max_nodes
    )
    return ClassUnion(spaces, weight - covered + others, exact, covered, others, weight)


def _best(x: Floats, signed: Floats, n_boxes: int, max_nodes: int) -> list[LargestGain]:
    """The better of two unions: from boxes of the largest gain, and from boxes without errors."""
    boxes = _greedy(x, signed, n_boxes, max_nodes)
    if len(boxes) > 1:
        boxes = _refined(x, signed, boxes, max_nodes)
    if n_boxes == 1 or not (signed[_covered(x, boxes)] < 0.0).any():
        return boxes
    pure = np.where(signed < 0.0, -2.0 * float(signed[signed > 0.0].sum()), signed)
    others = _refined(x, signed, _greedy(x, pure, n_boxes, max_nodes), max_nodes)
    gains = [float(signed[_covered(x, union)].sum()) for union in (boxes, others)]
    return boxes if gains[0] >= gains[1] else others


def _covered(x: Floats, boxes: list[LargestGain]) -> NDArray[np.bool_]:
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


def _refined(
    x: Floats, signed: Floats, boxes: list[LargestGain], max_nodes: int
) -> list[LargestGain]:
    """Boxes of which none can be replaced with a gain while the others stay."""
    slack = 1e-12 * float(np.abs(signed).sum())
    for _ in range(MOST_ROUNDS):
        better = False
        for k in reversed(range(len(boxes))):
            left = np.where(_covered(x, boxes[:k] + boxes[k + 1 :]), 0.0, signed)
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
