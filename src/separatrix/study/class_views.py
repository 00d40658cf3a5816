"""The classes of a study in the plane, and whether their covariances agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.discriminant.covariance_tests import BoxTest, MardiaTest, box_m, mardia
from separatrix.estimators.inference import p_phrase
from separatrix.messages import InputError
from separatrix.probability.decision_surface import (
    MOST_DOTS,
    DecisionFunctionSurface,
    DecisionSurface,
    decision_function_surface,
    decision_surface,
    utilities,
)
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Block, Kind, Term, to_array, unit_weights
from separatrix.study.design import SHOWN_ROWS, RowFolds, thin, truth_of
from separatrix.study.result import CovarianceTests, Margins, Predictions
from separatrix.svm.search import ClassifierSearch

# -------------------------------------------------------------------------------------------------
# The winner on the plane that separates the class means most: decision regions, and SVM margins.
#
# Numeric columns vary along the plane; all others are fixed at their most frequent level.


def surface_of(model: Any, folds: RowFolds, test: Predictions) -> DecisionSurface | None:
    """Predictions of ``model`` on the plane, with the test rows; None where there is none."""
    classes = tuple(str(c) for c in model.classes_)
    training = folds.table.take(thin(folds.training, SHOWN_ROWS))
    points = thin(np.arange(len(folds.test)), MOST_DOTS)
    shown = folds.table.take(folds.test[points])
    numeric = NumericColumns(training)
    try:
        return decision_surface(
            (numeric.of(training.block), _codes(truth_of(training), classes), training.block.w),
            (numeric.of(shown.block), _codes(np.asarray(test.truth)[points], classes)),
            lambda values: utilities(model, numeric.rows(values)),
            _codes(np.asarray(test.predicted)[points], classes),
            classes,
            names=numeric.names,
            fixed=numeric.fixed,
        )
    except InputError:
        return None


def _codes(labels: NDArray[Any], classes: tuple[str, ...]) -> NDArray[np.intp]:
    """Positions among the classes; their number for any other label, such as a rejection."""
    place = {label: i for i, label in enumerate(classes)}
    return np.array([place.get(str(v), len(classes)) for v in labels], dtype=np.intp)


def margins_of(core: Any, folds: RowFolds) -> Margins | None:
    """Dual coefficients of the training rows; None unless ``core`` is one binary SVM."""
    if not isinstance(core, ClassifierSearch) or len(core.classes_) != 2:
        return None
    some = thin(np.arange(len(folds.training)), SHOWN_ROWS)
    rows = folds.table.take(folds.training[some])
    w = unit_weights(rows.block.w, len(some))
    labels = np.array([str(v) for v in truth_of(rows)])
    scores = np.asarray(core.decision_function(rows), dtype=float)
    alpha = np.abs(core.alpha_)[some]
    return Margins(alpha, float(core.C_) * w, labels, scores, _surface(core, rows, labels))


def _surface(core: Any, rows: InMemory, labels: NDArray[Any]) -> DecisionFunctionSurface | None:
    """The decision function on a plane with the rows; None unless two columns vary."""
    numeric = NumericColumns(rows)
    try:
        return decision_function_surface(
            numeric.of(rows.block),
            (labels == str(core.classes_[1])).astype(np.intp),
            lambda values: np.asarray(core.decision_function(numeric.rows(values)), dtype=float),
            w=rows.block.w,
            names=numeric.names,
            fixed=numeric.fixed,
        )
    except InputError:
        return None


@dataclass(frozen=True)
class NumericColumns:
    """The numeric columns of a table, apart from the rest of it."""

    table: InMemory

    @property
    def names(self) -> tuple[str, ...]:
        """The numeric columns, in order."""
        return tuple(c.name for c in self.table.schema.columns if c.kind is Kind.NUMERIC)

    @cached_property
    def _at(self) -> list[int]:
        return [self.table.block.terms.position[Term(name)] for name in self.names]

    @cached_property
    def _means(self) -> Floats:
        """The mean of each column over the rows that have it."""
        x, missing = self.values(self.table.block)
        present = np.where(missing, 0.0, 1.0)
        if self.table.block.w is not None:
            present = present * self.table.block.w[:, None]
        return np.asarray((x * present).sum(axis=0) / np.maximum(present.sum(axis=0), 1e-300))

    def values(self, block: Block) -> tuple[Floats, NDArray[np.bool_]]:
        """The numeric values of a block, and which of them are missing."""
        x = to_array(block.x[:, self._at])
        missing = np.zeros((block.n, len(self._at)), dtype=bool)
        for i, name in enumerate(self.names):
            at = block.terms.position.get(Term(name, missing=True))
            if at is not None:
                missing[:, i] = np.ravel(to_array(block.x[:, [at]])) > 0
        return x, missing

    def of(self, block: Block) -> Floats:
        """The numeric values of a block, missing ones at the mean of their column."""
        x, missing = self.values(block)
        return np.where(missing, self._means, x)

    @cached_property
    def _fixed_row(self) -> tuple[Floats, tuple[str, ...]]:
        """A row with each other column at its most frequent value; and in words."""
        terms = self.table.block.terms
        row, texts = np.zeros(len(terms)), []
        totals = np.ravel(self.table.block.x.mean(axis=0))
        others: dict[str, list[int]] = {}
        numeric = frozenset(self._at)
        for j, term in enumerate(terms):
            if not term.missing and j not in numeric:
                others.setdefault(term.column, []).append(j)
        for column in self.table.schema.columns:
            levels = others.get(column.name)
            if levels is None:
                continue
            if terms.items[levels[0]].level is None:
                row[levels[0]] = float(totals[levels[0]] >= 0.5)
                texts.append(f"{column.name} at {'true' if row[levels[0]] else 'false'}")
                continue
            most = levels[int(np.argmax(totals[levels]))]
            row[most] = 1.0
            texts.append(f"{column.name} at {terms.items[most].level}")
        return row, tuple(texts)

    @property
    def fixed(self) -> tuple[str, ...]:
        """What the other columns are fixed at, a phrase each."""
        return self._fixed_row[1]

    def rows(self, values: Floats) -> InMemory:
        """A table of these values in the numeric columns."""
        block = self.table.block
        x = np.tile(self._fixed_row[0], (len(values), 1))
        x[:, self._at] = values
        empty = np.zeros((len(values), block.y.shape[1]))
        return InMemory(self.table.schema, replace(block, x=x, y=empty, w=None, parts=None))


# -------------------------------------------------------------------------------------------------
# Tests of the assumptions of LDA and QDA on the training rows.
#
# Mardia's tests: is each class normal? Box's M test: do the classes share one covariance matrix?
# They are advice: the choice among models is by cross-validation.


LEVEL = 0.05
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
    # An even selection of so many rows of a class is tested: with more, every hypothesis is
    # rejected.
    parts = {str(c): x[thin(np.flatnonzero(truth == c), 5_000)] for c in classes}
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
