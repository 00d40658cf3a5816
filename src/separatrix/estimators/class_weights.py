"""The one reader of ``class_weight``: a factor for every class, multiplied into the row weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d

from separatrix.estimators.base import check_sample_weight
from separatrix.estimators.class_tables import labels_in_order
from separatrix.estimators.targets import classes, codes_of
from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats, unit_weights
from separatrix.rows.mapped import EncodedRows, MappedRows
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Term
from separatrix.statistics.moments import Moments


def weights_by_class(given: Any, labels: list[Any], total: Floats) -> Floats:
    """One positive factor for each class; ``total`` holds the class weights Wₖ before.

    "balanced" is W / (K Wₖ): afterwards every class weighs W / K. Classes that a mapping leaves out
    have the factor 1. A factor of zero would remove a class from ``classes_`` silently: refused.
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
    if not factor.all():
        raise InputError(
            f"class_weight is zero for class {labels[int(np.argmin(factor))]!r}.",
            remedy="Leave its rows out instead.",
        )
    return factor


def weighted_samples(y: Any, sample_weight: Any, given: Any) -> Floats:
    """Sample weights times the weights of their classes, for labels in an array."""
    labels = column_or_1d(y)
    w = unit_weights(check_sample_weight(sample_weight, len(labels)), len(labels))
    known = np.unique(labels[w > 0])
    codes = codes_of(labels, known)
    total = np.bincount(codes[w > 0], w[w > 0], len(known)).astype(np.float64)
    factor = weights_by_class(given, known.tolist(), total)
    return w * np.where(codes < 0, 0.0, factor[codes])


@dataclass(frozen=True)
class ClassFactors:
    """Multiplies the weights of rows by the factor of their class, block by block."""

    factor: dict[Term, float]

    def apply(self, block: Block) -> Block:
        """The block with its new weights."""
        by_row = block.y @ np.array([self.factor.get(term, 0.0) for term in block.targets])
        return replace(block, w=by_row if block.w is None else by_row * block.w)


def weighted_rows(rows: Rows, given: Any) -> Rows:
    """A table whose weights are multiplied by those of the classes; balancing costs one pass."""
    if isinstance(rows, EncodedRows):
        return EncodedRows(weighted_rows(rows.rows, given), rows.encoding)
    moments = rows.reduce(Moments())
    present = moments.y_mean > 0.0
    targets = [term for term, there in zip(moments.targets, present, strict=True) if there]
    total = moments.weight * moments.y_mean[present]
    labels = labels_in_order(rows.schema.targets[0], classes(targets)).tolist()
    factors = weights_by_class(given, labels, total)
    through = ClassFactors(dict(zip(targets, factors.tolist(), strict=True)))
    if not isinstance(rows, InMemory):
        return MappedRows(rows, through)
    copy = rows.take(slice(None))
    copy.block = through.apply(rows.block)
    return copy
