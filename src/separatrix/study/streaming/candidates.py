"""Candidates of a stream: fitted without each fold, and penalty paths over its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.catalogue import CS
from separatrix.discriminant import regularized_discriminant
from separatrix.geometry.class_scores import softmax
from separatrix.logistic.logistic_regression import LogisticRegression
from separatrix.logistic.tuning import LIKELIHOOD, LogisticPathLoss
from separatrix.messages import InputError
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.optimize.linear_paths import ALL, LinearDesign, LinearPaths, PathJob, solve_paths
from separatrix.rows.parts import Parts
from separatrix.rows.rows import EncodedRows, InMemory, MappedRows, Rows, S, SelectedParts
from separatrix.rows.schema import Block, Encoding, Schema, Term, Terms
from separatrix.rows.split import TEST
from separatrix.selection.tuning import Tuning, best_by_fold
from separatrix.statistics import class_preparation
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.moments import (
    Grouped,
    Moments,
    design_moments,
)
from separatrix.study.candidates import BASELINE, Candidate
from separatrix.study.comparison import mute_warnings
from separatrix.study.design import thin
from separatrix.study.progress import Step
from separatrix.svm.linear import LinearSVC
from separatrix.svm.squared import SquaredHingeLoss

# -------------------------------------------------------------------------------------------------
# Candidates of a stream, fitted without each fold: from moments by class, or by passes.
#
# Naive Bayes, discriminants and least squares follow from the moments of one pass. Logistic
# regression and the linear SVM take further passes, shared by all penalties and folds.


#: Work of a path over a stream, in multiples of what is allowed in memory; typical passes.
STREAM_FACTOR, TYPICAL_PASSES = 100.0, 6
#: Largest derivative, per unit weight, of a linear SVM that counts as solved.
KKT_TOLERANCE = 1e-5


@dataclass(frozen=True)
class FoldFits:
    """A candidate with its model of each fold, fitted to all others, and how to fit the whole."""

    candidate: Candidate
    models: dict[int, Any]
    fit: Callable[[], Any]
    hyperparameters: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class MarginModel:
    """Linear scores of raw rows, encoded as training was."""

    classes_: NDArray[Any]
    encoding: Encoding
    coef: Floats
    intercept: Floats

    def decision_function(self, rows: InMemory) -> Floats:
        """Scores (n) of the second of two classes, or (n x K)."""
        scores = np.asarray(self.encoding.apply(rows.block).x @ self.coef.T) + self.intercept
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, rows: InMemory) -> NDArray[Any]:
        """The class of the largest score."""
        scores = self.decision_function(rows)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])


@dataclass(frozen=True)
class LogisticModel(MarginModel):
    """Linear log odds."""

    def predict_proba(self, rows: InMemory) -> Floats:
        """A column for each class."""
        scores = self.decision_function(rows)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        return np.asarray(softmax(scores))


# -- from moments ------------------------------------------------------------------------------


def closed_form(candidate: Candidate, data: ClassData, loss: str, work: float) -> FoldFits:
    """A candidate that follows from moments by class."""
    if candidate.name == "rda":
        return _fit_regularized(candidate, data, loss, work)
    if candidate.name == "naive_bayes" and data.simulated:
        _refuse_indicators(data)
    k, constant = len(data.folds), candidate.name == BASELINE  # of all folds, as in memory
    with mute_warnings():
        models = {
            f: candidate.make(k).fit(data.class_rows(TEST if constant else f)) for f in data.folds
        }
    return FoldFits(candidate, models, lambda: candidate.make(k).fit(data.class_rows()))


def _refuse_indicators(data: ClassData) -> None:
    """Levels and missing values are not normal variables: they cannot be drawn from moments."""
    term = next((t for t in data.total.terms if t.level is not None or t.missing), None)
    if term is not None:
        raise InputError(
            f"column {term.column!r} has levels or missing values: how well naive Bayes predicts "
            "with them does not follow from moments."
        )


def _fit_regularized(candidate: Candidate, data: ClassData, loss: str, work: float) -> FoldFits:
    """RDA: training moments of all rows, shrinkage chosen on the sample of each fold."""
    data.require_classes()
    sample, codes = data.sample, data.codes(data.sample)
    design, w = data.encoding.apply(sample), sample.weights
    parts = np.asarray(sample.parts)
    tested = [np.flatnonzero((parts == f) & (w > 0.0)) for f in data.folds]
    blank = candidate.make(len(data.folds))
    sizes = sample.n, design.x.shape[1], len(data.targets), len(data.folds)
    grid, note = regularized_discriminant.grid_within(
        work, sizes, regularized_discriminant.shrinkage_grid(blank.alphas, blank.betas)
    )
    labeled = replace(design, parts=codes)
    tests = [
        regularized_discriminant.ShrinkageFold.of(
            regularized_discriminant.ClassFold(_class_moments(data, f), labeled.take(at)), None
        )
        for f, at in zip(data.folds, tested, strict=True)
    ]
    weight = np.array([w[at].sum() for at in tested])
    tuning = regularized_discriminant.tune_folds(tests, tested, weight, grid, loss, note)

    def fit(tuned: Tuning, left_out: int | None = None) -> Any:
        rows = data.class_rows() if left_out is None else data.class_rows(left_out)
        return candidate.make(len(data.folds)).fit_tuned(EncodedRows(rows, data.encoding), tuned)

    with mute_warnings():
        models = {
            f: fit(replace(tuning, parameters=tuning.grid[i]), f)
            for f, i in zip(data.folds, tuning.by_fold, strict=True)
        }
    return FoldFits(candidate, models, lambda: fit(tuning), tuning.parameters_by_fold, note)


def _class_moments(data: ClassData, left_out: int) -> ClassMoments:
    """Class moments of the training rows of a fold, in the design of all."""
    prepared = class_preparation.prepare_classes(
        EncodedRows(data.class_rows(left_out), data.encoding)
    )
    return ClassMoments.from_moments("full", [prepared.of(term) for term in data.targets])


# -- by passes ---------------------------------------------------------------------------------


def path_points(data: ClassData, work: float) -> list[float]:
    """Values of C: all, or as many as the work allows."""
    scores = 1 if len(data.targets) == 2 else len(data.targets)
    each = data.total.count * len(data.folds) * (data.design.d + 1.0) * scores
    most = int(STREAM_FACTOR * work / (4 * TYPICAL_PASSES * each))
    return list(thin(np.array(CS), max(1, most))) if most < len(CS) else list(CS)


def fits_by_passes(
    compared: Sequence[Candidate], data: ClassData, loss: str, work: float
) -> list[FoldFits]:
    """Maximum likelihood, the ridge path and the linear SVM in the same passes."""
    data.require_classes()
    names, k = [candidate.name for candidate in compared], len(data.targets)
    Cs = path_points(data, work)
    penalties = np.array([1.0 / C for C in Cs])
    likelihood = min(LIKELIHOOD * data.total.weight, 0.5 * penalties.min())
    jobs: dict[str, PathJob] = {}
    if "logistic" in names:
        jobs["logistic"] = PathJob(LogisticPathLoss(k), np.array([likelihood]), _weights(data))
    if "logistic_ridge" in names:
        jobs["logistic_ridge"] = PathJob(LogisticPathLoss(k), penalties, _weights(data))
    if "linear_svm" in names:
        jobs["linear_svm"] = PathJob(SquaredHingeLoss(k), penalties, _weights(data))
    design = LinearDesign.of(data.encoding, data.design, data.targets)
    sampled = []
    for job in jobs.values():
        paths = job.on_sample(data.sample, design)
        sampled.append(paths.take(paths.find_competing()))
    solved = dict(zip(jobs, solve_paths(data.rows, design, sampled), strict=True))
    fits = []
    for candidate in compared:
        found = solved[candidate.name]
        if candidate.name == "logistic":
            fits.append(_likelihood(candidate, data, found))
        else:
            fit = _svm if candidate.name == "linear_svm" else _fit_penalized
            best, by_fold = best_by_fold(found.losses(loss), fold_weights(data))
            fits.append(
                fit(candidate, data, found, int(best), by_fold, _describe_screened(Cs, found))
            )
    return fits


def _describe_screened(Cs: list[float], found: LinearPaths) -> str:
    """A note on the values of C that the sample left."""
    left = len(found.penalties)
    if left == len(Cs):
        return ""
    return f"{left} of {len(Cs)} values of C: the others lose, or do not differ, on a sample"


def _weights(data: ClassData) -> dict[int, float]:
    """Of the training rows of each fold, by its label, and of all of them."""
    return {**{f: data.total.weight - data.weight(f) for f in data.folds}, ALL: data.total.weight}


def _likelihood(candidate: Candidate, data: ClassData, paths: LinearPaths) -> FoldFits:
    points = np.zeros(len(data.folds), dtype=np.int64)
    models = _fold_models(LogisticModel, data, paths, points)

    def fit() -> Any:
        model = candidate.make(len(data.folds)).set_params(tol=1e-8)
        return _finish_logistic(model, data, paths, 0)

    return FoldFits(candidate, models, fit, note=_describe_unsolved(paths, points))


def _fit_penalized(
    candidate: Candidate,
    data: ClassData,
    paths: LinearPaths,
    best: int,
    by_fold: Ints,
    note: str,
) -> FoldFits:
    models = _fold_models(LogisticModel, data, paths, by_fold)
    Cs = 1.0 / paths.penalties

    def fit() -> Any:
        model = LogisticRegression(C=float(Cs[best]), standardize=True, tol=1e-8)
        return _finish_logistic(model, data, paths, best)

    chosen = {"C": tuple(Cs[by_fold].tolist())}
    note = "; ".join(filter(None, [note, _describe_unsolved(paths, by_fold)]))
    return FoldFits(candidate, models, fit, chosen, note)


def _finish_logistic(model: Any, data: ClassData, paths: LinearPaths, point: int) -> Any:
    """The model of all rows, from where the passes over all folds left it."""
    model.coef_, model.intercept_ = paths.undo_scaling(point, ALL)
    fitted = model.set_params(warm_start=True).fit(data.training_rows())
    return fitted.set_params(warm_start=False)


def _svm(
    candidate: Candidate,
    data: ClassData,
    paths: LinearPaths,
    best: int,
    by_fold: Ints,
    note: str,
) -> FoldFits:
    """The linear SVM with squared slacks, which passes can minimize; C by its loss out of fold."""
    models = _fold_models(MarginModel, data, paths, by_fold)
    Cs = 1.0 / paths.penalties
    notes = ["squared slacks", note, _describe_unsolved(paths, by_fold)]
    return FoldFits(
        candidate,
        models,
        lambda: _linear_svc(data, paths, best, float(Cs[best])),
        {"C": tuple(Cs[by_fold].tolist())},
        "; ".join(filter(None, notes)),
    )


def _fold_models(
    kind: type[MarginModel], data: ClassData, paths: LinearPaths, points: NDArray[Any]
) -> dict[int, Any]:
    pairs = zip(data.folds, points.tolist(), strict=True)
    return {
        f: kind(data.classes, data.encoding, *paths.undo_scaling(point, f)) for f, point in pairs
    }


def _describe_unsolved(paths: LinearPaths, points: NDArray[Any]) -> str:
    """A note where passes ended before the minimum."""
    pairs = zip(paths.folds, points.tolist(), strict=True)
    left = [str(f) for f, point in pairs if not paths.descents[point, f].done]
    if not left:
        return ""
    return f"stopped after {paths.n_passes} passes, before the minimum, in fold {', '.join(left)}"


def _linear_svc(data: ClassData, paths: LinearPaths, point: int, C: float) -> LinearSVC:
    """The hyperplanes of all training rows as a fitted model."""
    passes = paths.n_passes + paths.finish(data.rows, point)
    descent, (coef, intercept) = paths.descents[point, ALL], paths.undo_scaling(point, ALL)
    model = LinearSVC(C=C, standardize=True)
    model._name_columns(data.training_rows())
    model.classes_ = data.classes.astype(str)
    certificate = Certificate(
        "No hyperplane has a smaller sum of ½‖w‖² and C times the squared slacks",
        primal=C * descent.value,
        kkt=descent.residual,
        tolerance=KKT_TOLERANCE,
        statistic="gradients of all rows",
        promised=("kkt",),
    )
    status = Status.SOLVED if descent.done else Status.LIMIT
    solution = Solution(coef.T, intercept, certificate, status, passes)
    model._accept(solution, data.encoding, flat=False)
    model.certificates_, model.n_samples_fit_ = [certificate], data.total.count
    return model


# -------------------------------------------------------------------------------------------------
# What a study of a stream starts from: class moments by part, and a sample of the rows.


@dataclass(frozen=True)
class ClassData:
    """Labeled ``rows`` that can be read again, their moments by part and class, and samples.

    ``sample`` are rows of the folds, ``test_sample`` of the test part; ``simulated`` says that rows
    were drawn from the moments, which are all that is left of a table.
    """

    rows: Rows
    schema: Schema
    parts: Parts
    groups: Grouped[class_preparation.MomentsByClass]
    sample: Block
    test_sample: Block
    simulated: bool = False

    @cached_property
    def folds(self) -> list[int]:
        """Labels of the folds."""
        return sorted(part for part in self.groups.parts if part != TEST)

    @cached_property
    def training(self) -> dict[Term, Moments]:
        """Moments of every class over all folds."""
        return class_preparation.without_part(self.groups, TEST)

    @cached_property
    def targets(self) -> Terms:
        """The classes of the training rows, in order."""
        return Terms(tuple(term for term, m in self.training.items() if m.count))

    @property
    def classes(self) -> NDArray[Any]:
        """Names of the classes, in order."""
        return np.array([str(term.level) for term in self.targets], dtype=object)

    @cached_property
    def total(self) -> Moments:
        """Moments of all training rows."""
        return class_preparation.joint_moments(self.training)

    @cached_property
    def test(self) -> Moments:
        """Moments of all test rows."""
        return class_preparation.joint_moments(
            self.groups.parts.get(TEST, class_preparation.MomentsByClass()).parts
        )

    @cached_property
    def encoding(self) -> Encoding:
        """The design of all training rows, which models that tune share over the folds."""
        return class_preparation.prepare_classes(self.class_rows()).encoding

    @cached_property
    def design(self) -> Moments:
        """Moments of the design of all training rows."""
        return design_moments(self.encoding, self.total)

    def class_rows(self, left_out: int = TEST) -> class_preparation.ClassMomentRows:
        """Training rows without a fold, as moments of their classes."""
        return class_preparation.ClassMomentRows(
            self.schema, class_preparation.without_part(self.groups, TEST, left_out)
        )

    def weight(self, fold: int) -> float:
        """The weight of a fold."""
        return float(sum(m.weight for m in self.groups.parts[fold].parts.values()))

    def training_rows(self) -> EncodedRows:
        """The encoded rows of all folds, read again at every pass."""
        selected = MappedRows(self.rows, SelectedParts(frozenset(self.folds)))
        return EncodedRows(selected, self.encoding)

    def announce(self, purpose: str) -> None:
        """Say what the next passes over a stream are for."""
        if isinstance(self.rows, CountedRows):
            self.rows.named(purpose)

    @property
    def n_passes(self) -> int:
        """Passes over the rows so far."""
        return self.rows.passes if isinstance(self.rows, CountedRows) else 0

    def require_classes(self) -> None:
        """Refuse folds whose training rows lack a class: nothing could be learned about it."""
        for fold in self.folds:
            known = class_preparation.without_part(self.groups, TEST, fold)
            for term in self.targets:
                if term not in known or not known[term].weight:
                    raise InputError(
                        f"The training rows of fold {fold} have no row of class {term.level}.",
                        remedy="Use fewer folds, or more rows of the class.",
                    )

    def codes(self, block: Block) -> Ints:
        """Class codes among ``classes``; −1 for a class that training does not have."""
        indicators = block.indicators(self.targets)
        codes = np.asarray(indicators.argmax(axis=1), dtype=np.int64)
        return np.where(indicators.max(axis=1, initial=0.0) > 0.5, codes, -1)


def folds_in(block: Block, schema: Schema) -> Iterator[tuple[int, Ints, InMemory]]:
    """The folds that occur in a raw block: label, positions, rows."""
    assert block.parts is not None, "the rows have no parts"
    for fold in np.unique(block.parts):
        if fold != TEST:
            indices = np.flatnonzero(block.parts == fold)
            yield int(fold), indices, InMemory(schema, block.take(indices))


def fold_weights(data: ClassData) -> Floats:
    """The weights of the folds, in their order."""
    return np.array([data.weight(fold) for fold in data.folds])


# -------------------------------------------------------------------------------------------------
# Passes over a stream: counted, and announced while they run.


def work_of_passes(compared: Sequence[Candidate]) -> list[float]:
    """Typical work of the passes, in readings of the table: for the time left alone.

    They are that of the moments, the descents of linear models, the losses out of fold, the fit of
    the chosen model, and the test part.
    """
    by_passes = any(candidate.stream == "passes" for candidate in compared)
    descents, fit = ([3.0] * 4, [1.0] * 4) if by_passes else ([], [])
    return [4.0, *descents, 1.0 + len(compared), *fit, 2.0]


class CountedRows(Rows):
    """Rows of which every pass is counted, and announced by what it is for."""

    def __init__(self, rows: Rows, step: Step, planned: int) -> None:
        self.rows, self.step, self.planned = rows, step, planned
        self.schema, self.ignored = rows.schema, rows.ignored
        self.notes, self.left_out = rows.notes, rows.left_out
        self.passes, self.purpose = 0, "reading"

    def reduce(self, statistic: S) -> S:
        """Compute a statistic of all rows in one pass."""
        self._begin()
        return self.rows.reduce(statistic)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order: a pass as well."""
        self._begin()
        yield from self.rows.blocks()

    def with_parts(self, parts: Any) -> Rows:
        """Label each row with its part; the passes of those rows are counted here."""
        return CountedRows(self.rows.with_parts(parts), self.step, self.planned)

    def named(self, purpose: str) -> CountedRows:
        """These rows, whose next passes are for ``purpose``."""
        self.purpose = purpose
        return self

    def _begin(self) -> None:
        self.passes += 1
        if self.passes <= self.planned:
            self.step(f"pass {self.passes}: {self.purpose}")
