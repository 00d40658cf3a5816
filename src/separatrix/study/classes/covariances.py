"""Tests of the assumptions of LDA and QDA on the training rows.

Mardia's tests: is each class normal? Box's M test: do the classes share one covariance matrix? They
are advice: the choice among models is by cross-validation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.discriminant.covariance_tests import BoxTest, MardiaTest, box_m, mardia
from separatrix.estimators.inference import p_phrase
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.study.classes.planes import NumericColumns
from separatrix.study.folds import RowFolds, thinned, truth_of
from separatrix.study.result import CovarianceTests

LEVEL = 0.05
#: An even selection of so many rows of a class is tested: with more, every hypothesis is rejected.
MAX_ROWS = 5_000
MAX_COLUMNS, MAX_CLASSES = 50, 30


def covariance_tests(folds: RowFolds, classes: NDArray[Any]) -> CovarianceTests | None:
    """The tests on the numeric columns that vary; None if there are none, or too many.

    Rows with missing values, and weights, are ignored: the tests know neither.
    """
    if len(classes) > MAX_CLASSES:
        return None
    x, names, truth = numeric_rows(folds)
    if not 0 < len(names) <= MAX_COLUMNS:
        return None
    parts = {str(c): x[thinned(np.flatnonzero(truth == c), MAX_ROWS)] for c in classes}
    normal: dict[str, MardiaTest] = {}
    not_tested: dict[str, str] = {}
    for name, rows in parts.items():
        try:
            normal[name] = mardia(rows)
        except InputError as refusal:
            not_tested[name] = refusal.what
    equal, why = _box(list(parts.values()))
    favored, summary = _verdict(normal, not_tested, equal, why)
    return CovarianceTests(normal, not_tested, equal, favored, summary, names)


def numeric_rows(folds: RowFolds) -> tuple[Floats, tuple[str, ...], NDArray[Any]]:
    """Complete training rows of the numeric columns that vary; their names; the classes."""
    rows = folds.table.take(folds.training)
    numeric = NumericColumns(rows)
    x, missing = numeric.values(rows.block)
    complete = ~missing.any(axis=1)
    if rows.block.w is not None:
        complete &= rows.block.w > 0
    x = x[complete]
    varies = np.ptp(x, axis=0) > 0 if len(x) else np.zeros(x.shape[1], dtype=bool)
    names = tuple(name for name, moves in zip(numeric.names, varies, strict=True) if moves)
    return x[:, varies], names, truth_of(rows)[complete]


def _box(parts: list[Floats]) -> tuple[BoxTest | None, str]:
    try:
        return box_m(parts), ""
    except InputError as refusal:
        return None, refusal.what


def _verdict(
    normal: dict[str, MardiaTest], not_tested: dict[str, str], equal: BoxTest | None, why: str
) -> tuple[str, str]:
    """The favored case, and a sentence; each class is tested at level/classes (Bonferroni)."""
    level = LEVEL / max(1, len(normal))
    not_normal = [name for name, test in normal.items() if test.p_value < level]
    if not_normal:
        named = ", ".join(not_normal[:4]) + (
            f" and {len(not_normal) - 4} more" if len(not_normal) > 4 else ""
        )
        which = f"Class {named} is" if len(not_normal) == 1 else f"Classes {named} are"
        return "none", (
            f"{which} not normal in the numeric columns (Mardia's test, {LEVEL:.0%} over all "
            "classes), which both LDA and QDA assume; logistic regression assumes less."
        )
    if not_tested or equal is None:
        reason = next(iter(not_tested.values()), why)
        return "none", f"Normality and equal covariances cannot be tested: {reason}"
    if equal.p_value < LEVEL:
        return "full", (
            "The classes are compatible with normal distributions of different covariances "
            f"(Box's M test, {p_phrase(equal.p_value)}), the assumption of QDA."
        )
    return "shared", (
        "The classes are compatible with normal distributions of one covariance (Box's M test, "
        f"{p_phrase(equal.p_value)}), the assumption of LDA."
    )
