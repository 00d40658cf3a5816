"""Candidates of a stream, fitted without each fold: from moments by class, or by passes.

Naive Bayes, discriminants and least squares follow from the moments of one pass. Logistic
regression and the linear SVM take further passes, shared by all penalties and folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.discriminant.regularization_search import ClassFold, ShrinkageFold
from separatrix.discriminant.regularized_discriminant import shrinkage_grid
from separatrix.discriminant.tuning import grid_within, tune_folds
from separatrix.geometry.class_scores import softmax
from separatrix.logistic.logistic_regression import LogisticRegression
from separatrix.logistic.tuning import LIKELIHOOD
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate, Solution, Status
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.rows import InMemory
from separatrix.selection.tuning import Tuning, best_by_fold
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import prepare_classes
from separatrix.study.candidates import BASELINE, CS, Candidate
from separatrix.study.classes.streaming.data import ClassData, fold_weights
from separatrix.study.classes.streaming.linear_paths import (
    ALL,
    LinearDesign,
    LinearPaths,
    PathJob,
    solve_paths,
)
from separatrix.study.classes.streaming.path_losses import LogisticLoss, SquaredHingeLoss
from separatrix.study.comparison.cross_validation import muted
from separatrix.study.folds import TEST, thinned
from separatrix.svm.linear_svc import LinearSVC

#: Candidates that follow from class moments, and those that need further passes.
CLOSED_FORMS = (
    "baseline", "lda", "naive_bayes", "nearest_centroid", "least_squares", "qda", "rda",
)  # fmt: skip
BY_PASSES = ("logistic", "logistic_ridge", "linear_svm")
#: Compared only if named, beyond memory too.
ON_REQUEST = ("least_squares",)
#: Work of a path over a stream, in multiples of what is allowed in memory; typical passes.
STREAM_FACTOR, TYPICAL_PASSES = 100.0, 6
#: Largest derivative, per unit weight, of a linear SVM that counts as solved.
KKT_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Contender:
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
        at = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[at])


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


def closed_form(candidate: Candidate, data: ClassData, loss: str, work: float) -> Contender:
    """A candidate that follows from moments by class."""
    if candidate.name == "rda":
        return _regularized(candidate, data, loss, work)
    if candidate.name == "naive_bayes" and data.simulated:
        _refuse_indicators(data)
    k, constant = len(data.folds), candidate.name == BASELINE  # of all folds, as in memory
    with muted():
        models = {
            f: candidate.make(k).fit(data.class_rows(TEST if constant else f)) for f in data.folds
        }
    return Contender(candidate, models, lambda: candidate.make(k).fit(data.class_rows()))


def _refuse_indicators(data: ClassData) -> None:
    """Levels and missing values are no normal variables: they cannot be drawn from moments."""
    term = next((t for t in data.total.terms if t.level is not None or t.missing), None)
    if term is not None:
        raise InputError(
            f"column {term.column!r} has levels or missing values: how well naive Bayes predicts "
            "with them does not follow from moments."
        )


def _regularized(candidate: Candidate, data: ClassData, loss: str, work: float) -> Contender:
    """RDA: training moments of all rows, shrinkage chosen on the sample of each fold."""
    data.require_classes()
    sample, codes = data.sample, data.codes(data.sample)
    design, w = data.encoding.apply(sample), sample.weights
    parts = np.asarray(sample.parts)
    tested = [np.flatnonzero((parts == f) & (w > 0.0)) for f in data.folds]
    blank = candidate.make(len(data.folds))
    sizes = sample.n, design.x.shape[1], len(data.targets), len(data.folds)
    grid, note = grid_within(work, sizes, shrinkage_grid(blank.alphas, blank.betas))
    labeled = replace(design, parts=codes)
    tests = [
        ShrinkageFold.of(ClassFold(_class_moments(data, f), labeled.take(at)), None)
        for f, at in zip(data.folds, tested, strict=True)
    ]
    weight = np.array([w[at].sum() for at in tested])
    tuning = tune_folds(tests, tested, weight, grid, loss, note)

    def fit(tuned: Tuning, left_out: int | None = None) -> Any:
        rows = data.class_rows() if left_out is None else data.class_rows(left_out)
        return candidate.make(len(data.folds)).fit_tuned(EncodedRows(rows, data.encoding), tuned)

    with muted():
        models = {
            f: fit(replace(tuning, parameters=tuning.grid[i]), f)
            for f, i in zip(data.folds, tuning.by_fold, strict=True)
        }
    return Contender(candidate, models, lambda: fit(tuning), tuning.parameters_by_fold, note)


def _class_moments(data: ClassData, left_out: int) -> ClassMoments:
    """Class moments of the training rows of a fold, in the design of all."""
    prepared = prepare_classes(EncodedRows(data.class_rows(left_out), data.encoding))
    return ClassMoments.from_moments("full", [prepared.of(term) for term in data.targets])


# -- by passes ---------------------------------------------------------------------------------


def path_points(data: ClassData, work: float) -> list[float]:
    """Values of C: all, or as many as the work allows."""
    scores = 1 if len(data.targets) == 2 else len(data.targets)
    each = data.total.count * len(data.folds) * (data.design.d + 1.0) * scores
    most = int(STREAM_FACTOR * work / (4 * TYPICAL_PASSES * each))
    return list(thinned(np.array(CS), max(1, most))) if most < len(CS) else list(CS)


def iterative_contenders(
    compared: Sequence[Candidate], data: ClassData, loss: str, work: float
) -> list[Contender]:
    """Maximum likelihood, the ridge path and the linear SVM in the same passes."""
    data.require_classes()
    names, k = [candidate.name for candidate in compared], len(data.targets)
    Cs = path_points(data, work)
    ridge = Cs if "logistic_ridge" in names else []
    penalties = [1.0 / C for C in ridge]
    if "logistic" in names:
        penalties.append(min([LIKELIHOOD * data.total.weight, *(0.5 * p for p in penalties)]))
    jobs = {}
    if penalties:
        jobs["logistic"] = PathJob(LogisticLoss(k), np.array(penalties), _weights(data))
    if "linear_svm" in names:
        weights = {**_weights(data), ALL: data.total.weight}
        jobs["svm"] = PathJob(SquaredHingeLoss(k), np.array([1.0 / C for C in Cs]), weights)
    design = LinearDesign.of(data.encoding, data.design, data.targets)
    solved = solve_paths(data.rows, data.sample, design, list(jobs.values()))
    paths = dict(zip(jobs, solved, strict=True))
    found = []
    for candidate in compared:
        if candidate.name == "linear_svm":
            found.append(_svm(candidate, data, paths["svm"], Cs, loss))
        elif candidate.name == "logistic":
            last = np.full(len(data.folds), len(penalties) - 1)
            found.append(_likelihood(candidate, data, paths["logistic"], last))
        else:
            losses = paths["logistic"].losses(loss)[: len(ridge)]
            best, by_fold = best_by_fold(losses, fold_weights(data))
            found.append(_penalized(candidate, data, paths["logistic"], Cs, int(best), by_fold))
    return found


def _weights(data: ClassData) -> dict[int, float]:
    """Of the training rows of each fold, by its label."""
    return {f: data.total.weight - data.weight(f) for f in data.folds}


def _likelihood(
    candidate: Candidate, data: ClassData, paths: LinearPaths, last: NDArray[Any]
) -> Contender:
    models = _fold_models(LogisticModel, data, paths, last)

    def fit() -> Any:
        model = candidate.make(len(data.folds)).set_params(tol=1e-8)
        return model.fit(data.training_rows())

    return Contender(candidate, models, fit, note=_unsolved(paths, last))


def _penalized(
    candidate: Candidate,
    data: ClassData,
    paths: LinearPaths,
    Cs: list[float],
    best: int,
    by_fold: NDArray[Any],
) -> Contender:
    models = _fold_models(LogisticModel, data, paths, by_fold)

    def fit() -> Any:
        model = LogisticRegression(C=Cs[best], standardize=True, tol=1e-8)
        return model.fit(data.training_rows())

    chosen = {"C": tuple(float(Cs[i]) for i in by_fold)}
    return Contender(candidate, models, fit, chosen, _unsolved(paths, by_fold))


def _svm(
    candidate: Candidate, data: ClassData, paths: LinearPaths, Cs: list[float], loss: str
) -> Contender:
    """The linear SVM with squared slacks, which passes can minimize; C by its loss out of fold."""
    best, by_fold = best_by_fold(paths.losses(loss), fold_weights(data))
    models = _fold_models(MarginModel, data, paths, by_fold)
    note = "; ".join(filter(None, ["squared slacks", _unsolved(paths, by_fold)]))
    return Contender(
        candidate,
        models,
        lambda: _linear_svc(data, paths, int(best), float(Cs[best])),
        {"C": tuple(float(Cs[i]) for i in by_fold)},
        note,
    )


def _fold_models(
    kind: type[MarginModel], data: ClassData, paths: LinearPaths, points: NDArray[Any]
) -> dict[int, Any]:
    pairs = zip(data.folds, points.tolist(), strict=True)
    return {f: kind(data.classes, data.encoding, *paths.unscaled(point, f)) for f, point in pairs}


def _unsolved(paths: LinearPaths, points: NDArray[Any]) -> str:
    """A note where passes ended before the minimum."""
    pairs = zip(paths.folds, points.tolist(), strict=True)
    left = [str(f) for f, point in pairs if not paths.descents[point, f].done]
    if not left:
        return ""
    return f"stopped after {paths.n_passes} passes, before the minimum, in fold {', '.join(left)}"


def _linear_svc(data: ClassData, paths: LinearPaths, point: int, C: float) -> LinearSVC:
    """The hyperplanes of all training rows as a fitted model."""
    descent, (coef, intercept) = paths.descents[point, ALL], paths.unscaled(point, ALL)
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
    solution = Solution(coef.T, intercept, certificate, status, paths.n_passes)
    model._accept(solution, data.encoding, flat=False)
    model.certificates_, model.n_samples_fit_ = [certificate], data.total.count
    return model
