"""Version spaces of classes from rows: consistent where boxes are, with the fewest errors else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.hypotheses.boxes.box import nothing
from separatrix.hypotheses.boxes.fewest_errors import fewest_errors
from separatrix.hypotheses.boxes.version_space import VersionSpace, version_space
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints

#: Rounding error of a pairwise sum of up to 2⁶⁴ weights, relative to the sum.
ROUNDING = 64.0 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class ClassSpace:
    """The version space of a class, its errors, and the fewest errors that a box can have.

    ``covered`` and ``others`` are the weights of the rows of the class and of others in the boxes,
    ``weight`` is the weight of all rows of the class.
    """

    space: VersionSpace
    errors: float
    bound: float
    covered: float
    others: float
    weight: float


def class_space(x: Floats, codes: Ints, w: Floats, label: int, max_nodes: int) -> ClassSpace:
    """The version space of one class against all others.

    Rows that the box with the fewest errors has on its wrong side are errors; the version space is
    that of the other rows.
    """
    own = codes == label
    weight = float(w[own].sum())
    if not own.any():
        d = x.shape[1]
        empty = VersionSpace(nothing(d), np.unique(x, axis=0), nothing(d))
        return ClassSpace(empty, 0.0, 0.0, 0.0, 0.0, 0.0)
    found = fewest_errors(x, own, w, max_nodes)
    inside = ((x >= found.lower) & (x <= found.upper)).all(axis=1)
    space = version_space(x[own & inside], x[~own & ~inside])
    covered, others = float(w[own & inside].sum()), float(w[~own & inside].sum())
    return ClassSpace(space, weight - covered + others, found.bound, covered, others, weight)


def certificate(spaces: list[ClassSpace]) -> Certificate:
    """The errors of the boxes, and the fewest that boxes can have."""
    errors = sum(found.errors for found in spaces)
    bound = min(errors, sum(found.bound for found in spaces))
    gap = errors - bound
    total = sum(found.weight for found in spaces)
    rounding = ROUNDING * total
    exact = gap <= rounding
    if errors == 0.0:
        claim = "Each box contains all rows of its class and no other row"
    elif exact:
        claim = (
            "No boxes with a row of their class make fewer errors (rows of a class outside of its "
            "box, others inside)" + without_a_box([(one.errors, one.weight) for one in spaces])
        )
    else:
        claim = (
            "No change of a box in one column makes fewer errors (rows of a class outside of its "
            "box, others inside), and whether another box does is open"
        )
    return Certificate(
        claim,
        primal=errors,
        dual=errors if exact else bound,
        gap=0.0 if exact else gap,
        tolerance=1e-9,
        rounding=rounding,
        promised=("gap",),
    )


def without_a_box(classes: Sequence[tuple[float, float]]) -> str:
    """What to add where classes, given by their errors and weight, do better without any box."""
    fewer = [weight < errors for errors, weight in classes]
    if not any(fewer):
        return ""
    least = sum(min(pair) for pair in classes)
    return (
        f"; {sum(fewer)} of {len(fewer)} classes had better have no box, as other rows outweigh "
        f"theirs: that makes {least:g}"
    )
