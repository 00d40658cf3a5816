"""Weights of classes: given by label, or such that every class weighs the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.estimators.targets import classes
from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoded import EncodedRows
from separatrix.rows.mapped import MappedRows
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Term
from separatrix.statistics.moments import Moments


def weights_by_class(given: Any, labels: list[Any], total: Floats) -> Floats:
    """One factor for each class; ``total`` is what the rows of each weigh already.

    Balanced is W / (K Wₖ): afterwards every class weighs W / K. Classes that a mapping leaves out
    keep their weight.
    """
    if isinstance(given, str) and given == "balanced":
        return np.asarray(total.sum() / (len(total) * total))
    if not isinstance(given, Mapping):
        raise InputError(f"class_weight={given!r} is no mapping.", remedy="Use 'balanced' or {…}.")
    unknown = [key for key in given if key not in labels]
    if unknown:
        raise InputError(
            f"class_weight names {unknown[0]!r}, and the classes are {labels[:12]}.",
            remedy="Write the labels as they are in the target.",
        )
    factor = np.array([float(given.get(label, 1.0)) for label in labels])
    if not (np.isfinite(factor) & (factor >= 0.0)).all():
        raise InputError("class_weight must be finite and not negative.")
    return factor


@dataclass(frozen=True)
class ClassFactors:
    """Multiplies the weights of rows by the factor of their class, wherever the rows are."""

    factor: dict[Term, float]

    def apply(self, block: Block) -> Block:
        """The block with its new weights."""
        by_row = block.y @ np.array([self.factor.get(term, 0.0) for term in block.targets])
        return replace(block, w=by_row if block.w is None else by_row * block.w)


def weigh_classes(rows: Rows, given: Any) -> Rows:
    """The rows of a table with weights times those of their classes; balancing costs one pass."""
    if isinstance(rows, EncodedRows):
        return EncodedRows(weigh_classes(rows.rows, given), rows.encoding)
    moments = rows.reduce(Moments())
    met = moments.y_mean > 0.0
    targets = [term for term, there in zip(moments.targets, met, strict=True) if there]
    total = moments.weight * moments.y_mean[met]
    factors = weights_by_class(given, list(classes(targets)), total)
    through = ClassFactors(dict(zip(targets, factors.tolist(), strict=True)))
    if not isinstance(rows, InMemory):
        return MappedRows(rows, through)
    copy = rows.take(slice(None))
    copy.block = through.apply(rows.block)
    return copy
