"""A table in memory, split, with its candidates: what every study of rows starts from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.linear.inference import InferenceMixin
from separatrix.messages import InputError, SeparatrixWarning
from separatrix.rows.parts import Hashes, Parts
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.schema import Encoding, unit_weights
from separatrix.rows.sources.source import FileSource
from separatrix.rows.sources.stream import TableRows
from separatrix.rows.split import TEST, class_codes, cut_again, deal_again, unit_keys
from separatrix.selection.folds import Folds
from separatrix.selection.rules import validation_error
from separatrix.selection.tuning import Tuning
from separatrix.statistics.moments import (
    Grouped,
    MomentRows,
    Moments,
    design_moments,
    learn_encoding,
)
from separatrix.study.candidates import BASELINE, Candidate, Size
from separatrix.study.result import TrainingRows
from separatrix.study.tasks import REGRESSION
from separatrix.threads import memory_budget

M = TypeVar("M")


@dataclass(frozen=True)
class Metadata:
    """Where a study comes from: the name of the table, and the command that was typed."""

    source: str = ""
    command: str = ""


@dataclass(frozen=True)
class StudyDesign:
    """The split table, the candidates, and ``messages`` on what has been inferred so far.

    ``warnings`` are those on the table itself.
    """

    table: InMemory
    parts: Parts
    folds: RowFolds
    columns: tuple[ColumnProfile, ...]
    candidates: list[Candidate]
    messages: list[str]
    metadata: Metadata
    size: Size
    progress: Any = None
    warnings: tuple[str, ...] = ()

    @property
    def announced(self) -> list[str]:
        """What is known before any model is fitted: messages, then warnings."""
        return [*self.messages, *self.warnings]

    @property
    def target(self) -> str:
        """The name of the target."""
        return self.table.schema.targets[0].name

    @property
    def baseline(self) -> Candidate:
        """The candidate that uses no column."""
        return self.named(BASELINE)

    def named(self, name: str) -> Candidate:
        """A candidate by name."""
        return next(c for c in self.candidates if c.name == name)


def with_warnings(fit: Callable[[], M]) -> tuple[M, tuple[str, ...]]:
    """What ``fit`` returns, and the warnings it gave, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SeparatrixWarning)
        model = fit()
    texts = [str(w.message) for w in caught if issubclass(w.category, SeparatrixWarning)]
    return model, tuple(dict.fromkeys(texts))


def scores_for(model: Any, rows: InMemory) -> Floats | None:
    """Decision function values; None where the estimator has none, which scikit-learn allows."""
    return model.decision_function(rows) if hasattr(model, "decision_function") else None


def probabilities_for(model: Any, rows: InMemory) -> Floats | None:
    """Class probabilities; None where the estimator has none, which scikit-learn allows."""
    return model.predict_proba(rows) if hasattr(model, "predict_proba") else None


def training_rows(
    core: Any, model: Any, folds: RowFolds, encoding: Encoding | None, classes: int = 1
) -> TrainingRows:
    """The training rows for pictures: all of them, or an even selection of many.

    ``core`` was fitted to the columns, encoded by ``encoding``; ``model`` is the one that predicts.
    """
    n = len(folds.training)
    # Scores of the rows that a picture shows, at most.
    some = thin(np.arange(n), min(SHOWN_ROWS, max(1, 400_000 // classes)))
    rows = folds.table.take(folds.training[some])
    w = rows.block.w
    names: tuple[str, ...] = ()
    scale = None
    if encoding is not None:
        x = encoding.apply(rows.block).dense()
        names = encoding.names
        scale = np.sqrt(np.average((x - np.average(x, axis=0, weights=w)) ** 2, axis=0, weights=w))
    leverage = _leverage(core)
    return TrainingRows(
        truth_of(rows),
        w,
        names,
        model.predict(rows),
        scores_for(core, rows),
        rows.row_ids,
        scale,
        None if leverage is None or len(leverage) != n else leverage[some],
        probabilities_for(model, rows),
    )


def _leverage(core: Any) -> Floats | None:
    """Leverage of each training row, where the theory of least squares applies."""
    if not isinstance(core, InferenceMixin):
        return None
    try:
        return core.summary().leverage
    except InputError:
        return None


# -------------------------------------------------------------------------------------------------
# The data of a study, split once: a held-out test set, and folds for cross-validation.
#
# Two kinds of folds fit a candidate without one of them and give its error there: one from moments
# by fold (the rows are not read again), one from the rows themselves.


A = TypeVar("A", Ints, Floats)

#: With fewer rows on either side nothing can be estimated.
MIN_TEST_ROWS, MIN_TRAINING_ROWS = 2, 4
#: Rows of one part that a picture shows at most.
SHOWN_ROWS = 20_000


@dataclass(frozen=True)
class MomentFolds:
    """Moments by fold, and those of the test set."""

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

    def fit_without(self, candidate: Candidate, fold: int) -> Any:
        """The candidate fitted to all folds but one."""
        return _fit(candidate, self.folds.without(fold))

    def squared_error(self, model: Any, fold: int) -> float:
        """Mean squared error of a fitted model on one fold."""
        return mse(model, self.folds.parts[fold])

    def fit(self, candidate: Candidate) -> Any:
        """The candidate fitted to all folds."""
        return _fit(candidate, self.folds)


def _fit(candidate: Candidate, rows: MomentRows) -> Any:
    """One that tunes finds its folds among the parts; any other needs the total alone."""
    model = candidate.make(len(rows.parts))
    if candidate.folds:
        return model.fit(rows)
    raw = rows.reduce(Moments())
    encoding = learn_encoding(rows.schema, raw)
    return model.fit(design_moments(encoding, raw)).with_encoding(encoding)


def mse(model: Any, raw: Moments) -> float:
    """Mean squared error on rows of which there are only raw moments."""
    design = design_moments(model.encoding_, raw)
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    return float(validation_error(design, coef, intercept)[0])


@dataclass(frozen=True)
class RowFolds:
    """The rows of the table and the part of each.

    ``ordered`` folds follow one another in time: each is predicted from the earlier ones, and the
    first of all is never predicted. With ``leave_one_out`` every row (or group) is predicted by
    models of all others; the folds then serve to tune and to calibrate.
    """

    table: InMemory
    labels: NDArray[np.int64]
    ordered: bool = False
    leave_one_out: bool = False

    @cached_property
    def design(self) -> InMemory:
        """The rows as models are given them."""
        return as_matrix(self.table)

    def source(self, candidate: Candidate) -> InMemory:
        """The rows as this candidate is given them."""
        return self.table if candidate.raw else self.design

    @property
    def scheme(self) -> str:
        """How rows are validated: "leave_one_out", in order of "time", or in "folds"."""
        return "leave_one_out" if self.leave_one_out else "time" if self.ordered else "folds"

    @property
    def k(self) -> int:
        """Number of folds that are predicted."""
        return len(self.fold_labels)

    @property
    def fold_labels(self) -> list[int]:
        """Labels of the folds that are predicted: all, or all but the first in time."""
        present = [int(v) for v in np.unique(self.labels) if v != TEST]
        return present[1:] if self.ordered else present

    @property
    def training(self) -> Ints:
        """Positions of the rows of all folds."""
        return np.flatnonzero(self.labels != TEST)

    @property
    def test(self) -> Ints:
        """Positions of the rows of the test set."""
        return np.flatnonzero(self.labels == TEST)

    @cached_property
    def units(self) -> Ints | None:
        """The number of the group of each row, or of its copies; None if every row is its own.

        Rows of one unit are not independent evidence: standard errors count units.
        """
        keys, units = np.unique(self.unit_keys, return_inverse=True)
        return None if len(keys) == len(self.unit_keys) else np.asarray(units)

    @cached_property
    def unit_keys(self) -> Hashes:
        """The hash of the unit of each row."""
        return unit_keys(self.table.block, self.table.hashes, self.table.keys)

    def again(self, parts: Parts, repeat: int, repeats: int) -> RowFolds:
        """The same test set, and other folds: dealt in another order, or cut at other times.

        Cuts in time are moved by up to half a fold, the r-th of R by r/R of one.
        """
        labels = self.labels.copy()
        if self.table.keys.times is not None:
            shift = (repeat / repeats + 0.5) % 1.0 - 0.5
            labels = cut_again(parts, self.table.keys.times, shift)
        else:
            training = self.training
            labels[training] = self._dealt(parts, f"repeat {repeat}", training)
        return replace(self, labels=labels)

    def within(self, parts: Parts, fold: int) -> RowFolds:
        """The rows that predict a fold as a table of their own, in folds of their own."""
        at = self.split(fold)[0]
        table = self.table.take(at)
        if table.keys.times is not None:
            labels = cut_again(replace(parts, test=0.0), table.keys.times)
        else:
            labels = self._dealt(parts, f"within fold {fold}", at)
        return replace(self, table=table, labels=labels)

    def _dealt(self, parts: Parts, draw: str, indices: Ints) -> Ints:
        classes = class_codes(self.table.block)
        own = None if classes is None else classes[indices]
        return deal_again(parts, draw, self.unit_keys[indices], own)

    def fit_without(self, candidate: Candidate, fold: int) -> Any:
        """The candidate fitted to the rows that predict a fold."""
        return self.fitted(candidate, self.split(fold)[0])

    def split(self, fold: int) -> tuple[Ints, Ints]:
        """Positions of the rows that predict a fold, and of the rows of the fold.

        These are the rows of all other folds, or of the earlier ones.
        """
        label = self.fold_labels[fold]
        others = self.labels < label if self.ordered else self.labels != label
        training = np.flatnonzero((self.labels != TEST) & others)
        return training, np.flatnonzero(self.labels == label)

    def pairs(self) -> Folds:
        """Training and validation rows of every fold, as positions among ``training``.

        Folds that partition the training rows have labels; ordered ones have none.
        """
        if not self.ordered:
            return Folds.from_labels(np.unique(self.labels[self.training], return_inverse=True)[1])
        place = np.cumsum(self.labels != TEST) - 1
        splits = (self.split(fold) for fold in range(self.k))
        return Folds(tuple((place[train], place[test]) for train, test in splits), None)

    def fit(self, candidate: Candidate, tuning: Tuning | None = None) -> Any:
        """The candidate fitted to all folds, ready for tables like this one."""
        model = self.fitted(candidate, self.training, tuning)
        if self.source(candidate) is self.table:
            return model
        return by_name(model, self.table.take(self.training))

    def fitted(self, candidate: Candidate, training: Ints, tuning: Tuning | None = None) -> Any:
        """The candidate fitted to some of the rows, with parameters that were tuned before.

        A regression model that tunes a penalty on a matrix is given the folds of the study to do it
        on (a classifier needs every class in every fold, and makes its own). The model stores their
        number alone: a list of row numbers means nothing later.
        """
        rows = self.source(candidate)
        row_folds = RowFolds(self.table, self.labels[training], self.ordered)
        model = candidate.make(max(2, row_folds.k))
        if tuning is not None:
            return model.fit_tuned(rows.take(training), tuning)
        shared = candidate.folds and candidate.task == REGRESSION and row_folds.k > 1
        if shared and isinstance(rows, ArrayRows):
            name = candidate.folds_parameter
            model.set_params(**{name: list(row_folds.pairs().pairs)})
            return model.fit(rows.take(training)).set_params(**{name: row_folds.k})
        return model.fit(rows.take(training))


def as_matrix(table: InMemory) -> InMemory:
    """A table with more columns than rows as a matrix, if it has no missing values nor levels.

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
    return rows.truth()


def error_on(model: Any, rows: InMemory) -> float:
    """Weighted RMSE for regression, error rate for classification."""
    truth, predicted = truth_of(rows), model.predict(rows)
    w: Floats = unit_weights(rows.block.w, len(truth))
    if truth.dtype.kind == "f":
        return float(np.sqrt(np.average((truth - predicted) ** 2, weights=w)))
    return float(np.average(truth != predicted, weights=w))


def thin(values: A, most: int) -> A:
    """The values, or ``most`` of them at even steps."""
    if len(values) <= most:
        return values
    return cast(A, values[np.linspace(0, len(values) - 1, most).astype(int)])


def too_small(n: int) -> InputError:
    """The refusal of a table that cannot be split."""
    return InputError(
        f"{n} row{' is' if n == 1 else 's are'} too few to hold out a test set and cross-validate "
        "models on the rest.",
        remedy="Give more rows, or fit one model in Python: LinearRegression().fit(rows).",
    )


# -------------------------------------------------------------------------------------------------
# Whether a table can be read into memory whole, or must be studied from one pass.


def reason_to_stream(rows: Rows) -> str:
    """Why the rows are not read into memory; empty if they are."""
    if isinstance(rows, InMemory):
        return ""
    # the rows of a cluster are not ours to fetch
    if not isinstance(rows, TableRows) or rows.travel is not None:
        return "spread over a cluster"
    if not isinstance(rows.source, FileSource):  # a data frame is in memory already
        return ""
    needed = rows.source.size(len(rows.schema.by_name))
    return "too large for memory" if needed >= memory_budget() else ""


def in_small_blocks(rows: Rows) -> Rows:
    """The same table in blocks that leave room for what models make of them."""
    if not isinstance(rows, TableRows) or rows.travel is not None:
        return rows
    smaller = copy(rows)
    # Rows of a block where many models predict each of them.
    smaller.block_rows = min(rows.block_rows, 16_384)
    return smaller


def study_memory(rows: int, columns: int) -> float:
    """Bytes that a study of a table in memory may take beside the table and the libraries."""
    # A study in memory takes three times the table as numbers at most, and a gigabyte beside: half
    # of that is the interpreter with its libraries and compiled loops.
    return (3.0 - 1.0) * 8.0 * rows * columns + (1e9 - 0.5e9)
