"""The data of a study, split once: a test part that stays closed, and folds to compare on.

Both benches answer the same question, the error of a candidate on a fold that it did not see: one
from moments kept by fold (the rows are not read again), one from the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import PredefinedSplit

from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind
from separatrix.selection.rules import validation_error
from separatrix.statistics.grouped import Grouped
from separatrix.statistics.moment_rows import MomentRows
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import design_moments, learn_encoding
from separatrix.study.candidates import Candidate
from separatrix.study.tasks import REGRESSION

TEST = -1
#: With fewer rows on either side nothing can be told.
FEWEST_HELD, FEWEST_TRAINING = 2, 4


@dataclass(frozen=True)
class MomentFolds:
    """Moments by fold, and those of the test part."""

    folds: MomentRows
    test: Moments | None

    @classmethod
    def of(cls, schema: Any, groups: Grouped[Moments]) -> MomentFolds:
        """From moments grouped by part; refuses a split with too little on either side."""
        folds = {part: m for part, m in groups.parts.items() if part != TEST}
        test = groups.parts.get(TEST)
        if len(folds) < 2:
            raise too_small(groups.total().count)
        return cls(MomentRows(schema, folds), test)

    @property
    def k(self) -> int:
        """Number of folds."""
        return len(self.folds.parts)

    def fold_error(self, candidate: Candidate, fold: int) -> tuple[float, Any]:
        """RMSE on one fold of the candidate fitted to the others; and the fitted model."""
        model = _fit(candidate, self.folds.without(fold))
        return mse(model, self.folds.parts[fold]) ** 0.5, model

    def fit(self, candidate: Candidate) -> Any:
        """The candidate fitted to all folds."""
        return _fit(candidate, self.folds)


def _fit(candidate: Candidate, kept: MomentRows) -> Any:
    """One that tunes finds its folds among the parts; any other needs the total alone."""
    model = candidate.make(len(kept.parts))
    if candidate.folds:
        return model.fit(kept)
    raw = kept.reduce(Moments())
    encoding = learn_encoding(kept.schema, raw)
    return model.fit(design_moments(encoding, raw)).with_encoding(encoding)


def mse(model: Any, raw: Moments) -> float:
    """Mean squared error on rows of which only raw moments are left."""
    design = design_moments(model.encoding_, raw)
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    return float(validation_error(design, coef, intercept)[0])


@dataclass(frozen=True)
class RowFolds:
    """The rows of the table and the part of each."""

    table: InMemory
    labels: NDArray[np.int64]

    @cached_property
    def given(self) -> InMemory:
        """The rows as models are given them."""
        return as_matrix(self.table)

    def source(self, candidate: Candidate) -> InMemory:
        """The rows as this candidate is given them."""
        return self.table if candidate.raw else self.given

    @property
    def k(self) -> int:
        """Number of folds that hold rows."""
        return len(self.fold_labels)

    @property
    def fold_labels(self) -> list[int]:
        """Labels of the folds that hold rows."""
        return [int(v) for v in np.unique(self.labels) if v != TEST]

    @property
    def training(self) -> NDArray[np.intp]:
        """Positions of the rows of all folds."""
        return np.flatnonzero(self.labels != TEST)

    @property
    def held(self) -> NDArray[np.intp]:
        """Positions of the rows of the test part."""
        return np.flatnonzero(self.labels == TEST)

    def fold_error(self, candidate: Candidate, fold: int) -> tuple[float, Any]:
        """Error on one fold of the candidate fitted to the others; and the fitted model."""
        inside, outside = self.sides(fold)
        model = self.fitted(candidate, inside)
        return error_on(model, self.source(candidate).take(outside)), model

    def sides(self, fold: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Positions of the rows of the other folds, and of the rows of this one."""
        label = self.fold_labels[fold]
        inside = np.flatnonzero((self.labels != TEST) & (self.labels != label))
        return inside, np.flatnonzero(self.labels == label)

    def error(
        self, candidate: Candidate, inside: NDArray[np.intp], outside: NDArray[np.intp]
    ) -> tuple[float, float]:
        """Error of the candidate fitted to ``inside`` on those rows, and on ``outside``."""
        model, rows = self.fitted(candidate, inside), self.source(candidate)
        return error_on(model, rows.take(inside)), error_on(model, rows.take(outside))

    def fit(self, candidate: Candidate) -> Any:
        """The candidate fitted to all folds, ready for tables like this one."""
        model = self.fitted(candidate, self.training)
        if self.source(candidate) is self.table:
            return model
        return by_name(model, self.table.take(self.training))

    def fitted(self, candidate: Candidate, inside: NDArray[np.intp]) -> Any:
        """The candidate fitted to some of the rows.

        One that tunes a penalty of numbers on a matrix is given the folds of the study to do it on
        (of classes each must be in every fold, so those make folds of their own).
        The model remembers their number alone: a list of row numbers means nothing later.
        """
        rows = self.source(candidate)
        labels = self.labels[inside]
        folds = len(np.unique(labels))
        model = candidate.make(max(2, folds))
        shared = candidate.folds and candidate.task == REGRESSION and folds > 1
        if shared and isinstance(rows, ArrayRows):
            model.set_params(cv=PredefinedSplit(np.unique(labels, return_inverse=True)[1]))
            return model.fit(rows.take(inside)).set_params(cv=folds)
        return model.fit(rows.take(inside))


def as_matrix(table: InMemory) -> InMemory:
    """A table with more columns than rows as a plain matrix, if it has neither gaps nor levels.

    Moments of d columns are d² numbers; with few rows, solvers do better on the rows themselves.
    """
    block = table.block
    plain = all(term.level is None and not term.missing for term in block.terms)
    if not plain or len(block.terms) < block.n:
        return table
    return ArrayRows(
        block.x, block.y, block.w, names=table.schema.names, targets=block.targets.items
    )


def by_name(model: Any, rows: InMemory) -> Any:
    """A model of a matrix, made to read tables like the one that the matrix came from."""
    means = rows.block.x.mean(axis=0)
    names = rows.schema.names
    model.encoding_ = Encoding(
        rows.schema,
        rows.block.terms,
        targets=rows.block.targets,
        fill_values=dict(zip(names, np.asarray(means, dtype=float).tolist(), strict=True)),
    )
    return model


def truth_of(rows: InMemory) -> NDArray[Any]:
    """The target as a column of numbers, or of class names."""
    block = rows.block
    if rows.schema.targets[0].kind is Kind.NUMERIC:
        return np.asarray(block.y[:, 0])
    names = np.array([str(term.level) for term in block.targets])
    return np.asarray(names[np.argmax(block.y, axis=1)])


def error_on(model: Any, rows: InMemory) -> float:
    """RMSE for numbers, the share of wrong answers for classes; weighted."""
    truth, predicted = truth_of(rows), model.predict(rows)
    w: Floats = unit_weights(rows.block.w, len(truth))
    if truth.dtype.kind == "f":
        return float(np.sqrt(np.average((truth - predicted) ** 2, weights=w)))
    return float(np.average(truth != predicted, weights=w))


def too_small(n: int) -> InputError:
    """The refusal of a table that cannot be split."""
    return InputError(
        f"{n} row{' is' if n == 1 else 's are'} too few to hold a test part back and compare "
        "models on the rest.",
        remedy="Give more rows, or fit one model in Python: LinearRegression().fit(rows).",
    )
