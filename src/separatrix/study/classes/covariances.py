"""Which covariance case the training rows favour: one for all classes, one for each, or neither.

Mardia's tests ask of each class whether it is normal, Box's whether normal classes share one
covariance. The answer is advice: the choice among models is by cross-validation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.discriminant.covariance_tests import BoxTest, MardiaTest, box_m, mardia
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.schema import Kind, Term
from separatrix.study.data import RowFolds, truth_of
from separatrix.study.result import CovarianceTests
from separatrix.study.test_predictions import thinned

LEVEL = 0.05
#: An even selection of so many rows of a class is tested: with more, every law is rejected.
MOST_ROWS = 5_000
MOST_COLUMNS, MOST_CLASSES = 50, 30


def covariance_tests(bench: RowFolds, classes: NDArray[Any]) -> CovarianceTests | None:
    """The tests on the numeric columns that vary; None if there are none, or too many to look at.

    Rows with a gap, and weights, are left aside: the tests know neither.
    """
    if len(classes) > MOST_CLASSES:
        return None
    x, names, truth = numeric_rows(bench)
    if not 0 < len(names) <= MOST_COLUMNS:
        return None
    parts = {str(c): x[thinned(np.flatnonzero(truth == c), MOST_ROWS)] for c in classes}
    normal: dict[str, MardiaTest] = {}
    not_tested: dict[str, str] = {}
    for name, rows in parts.items():
        try:
            normal[name] = mardia(rows)
        except InputError as refusal:
            not_tested[name] = refusal.what
    equal, why = _box(list(parts.values()))
    favoured, words = _verdict(normal, not_tested, equal, why)
    return CovarianceTests(normal, not_tested, equal, favoured, words, names)


def numeric_rows(bench: RowFolds) -> tuple[Floats, tuple[str, ...], NDArray[Any]]:
    """Training rows without gaps in the numeric columns that vary; their names; the classes."""
    rows = bench.table.take(bench.training)
    block = rows.block
    place = block.terms.position
    wanted = [c.name for c in rows.schema.columns if c.kind is Kind.NUMERIC]
    at = [place[Term(name)] for name in wanted]
    gaps = [place[t] for t in (Term(name, missing=True) for name in wanted) if t in place]
    dense = block.dense()
    whole = np.ones(block.n, dtype=bool) if not gaps else ~dense[:, gaps].any(axis=1)
    if block.w is not None:
        whole &= block.w > 0
    x = dense[whole][:, at]
    varies = np.ptp(x, axis=0) > 0 if len(x) else np.zeros(len(at), dtype=bool)
    names = tuple(name for name, moves in zip(wanted, varies, strict=True) if moves)
    return x[:, varies], names, truth_of(rows)[whole]


def _box(parts: list[Floats]) -> tuple[BoxTest | None, str]:
    try:
        return box_m(parts), ""
    except InputError as refusal:
        return None, refusal.what


def _verdict(
    normal: dict[str, MardiaTest], not_tested: dict[str, str], equal: BoxTest | None, why: str
) -> tuple[str, str]:
    """The case, and the sentence for it; each class is tested at its share of the level."""
    level = LEVEL / max(1, len(normal))
    bent = [name for name, test in normal.items() if test.p_value < level]
    if bent:
        named = ", ".join(bent[:4]) + (f" and {len(bent) - 4} more" if len(bent) > 4 else "")
        which = f"Class {named} is" if len(bent) == 1 else f"Classes {named} are"
        return "none", (
            f"{which} not normal in the numeric columns (Mardia, at {LEVEL:.0%} for all classes "
            "together), which both covariance cases take for granted; logistic regression asks "
            "for less."
        )
    if not_tested or equal is None:
        reason = next(iter(not_tested.values()), why)
        return "none", f"Which covariance case fits cannot be told: {reason}"
    if equal.p_value < LEVEL:
        return "full", (
            f"The classes look normal, and their covariances differ (Box, p = {equal.p_value:.2g}):"
            " the case of qda, a covariance for each class."
        )
    return "shared", (
        f"The classes look normal with one covariance (Box, p = {equal.p_value:.2g}): the case of "
        "lda."
    )
