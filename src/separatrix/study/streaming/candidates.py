"""Candidates of a stream: fitted without each fold, and penalty paths over its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.catalogue import CS
from separatrix.discriminant import gaussian_discriminant
from separatrix.geometry.class_scores import softmax
from separatrix.logistic.logistic_regression import LogisticRegression
from separatrix.logistic.tuning import LIKELIHOOD, LogisticPathLoss
from separatrix.messages import InputError
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.optimize.linear_paths import (
    ALL,
    MAX_PASSES,
    Descent,
    LinearDesign,
    LinearPaths,
    PathGradients,
    PathJob,
    accept,
    approach,
    start_paths,
)
from separatrix.rows.parts import Parts
from separatrix.rows.rows import (
    EncodedRows,
    InMemory,
    MappedRows,
    MappedStatistic,
    Rows,
    S,
    SelectedParts,
)
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
    grid, note = gaussian_discriminant.grid_within(
        work, sizes, gaussian_discriminant.shrinkage_grid(blank.alphas, blank.betas)
    )
    labeled = replace(design, parts=codes)
    tests = [
        gaussian_discriminant.ShrinkageFold.of(
            gaussian_discriminant.ClassFold(_class_moments(data, f), labeled.take(at)), None
        )
        for f, at in zip(data.folds, tested, strict=True)
    ]
    weight = np.array([w[at].sum() for at in tested])
    tuning = gaussian_discriminant.tune_folds(tests, tested, weight, grid, loss, note)

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
    # A path over a stream may do a hundred times the work of one in memory; its points take three
    # passes at most, as a rule, of four products with each row.
    most = int(100.0 * work / (4 * 3 * each))
    return list(thin(np.array(CS), max(1, most))) if most < len(CS) else list(CS)


@dataclass
class LinearCandidates:
    """Maximum likelihood, the ridge path and the linear SVM, on their way in the same passes.

    ``choices`` are, by name, the point of the path for all rows and for each fold. The points that
    the next pass evaluates are good enough, as far as is known: it certifies them, and may find
    further statistics of their models at the same time.
    """

    compared: Sequence[Candidate]
    data: ClassData
    Cs: list[float]
    paths: dict[str, LinearPaths]
    choices: dict[str, tuple[int, Ints]]
    n_passes: int
    questions: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, compared: Sequence[Candidate], data: ClassData, loss: str, work: float
    ) -> LinearCandidates:
        """Passes until the next one would do."""
        data.require_classes()
        k, Cs, weights = len(data.targets), path_points(data, work), _weights(data)
        penalties = np.array([1.0 / C for C in Cs])
        likelihood = np.array([min(LIKELIHOOD * data.total.weight, 0.5 * penalties.min())])
        jobs = {
            "logistic": PathJob(LogisticPathLoss(k), likelihood, weights),
            "logistic_ridge": PathJob(LogisticPathLoss(k), penalties, weights),
            "linear_svm": PathJob(SquaredHingeLoss(k), penalties, weights),
        }
        design = LinearDesign.of(data.encoding, data.design, data.targets)
        sampled = []
        for candidate in compared:
            whole_path = jobs[candidate.name].on_sample(data.sample, design)
            sampled.append(whole_path.take(whole_path.find_competing()))
        started = start_paths(design, sampled)
        every = [descent for paths in started for descent in paths.descents.values()]
        n_passes = approach(data.rows, design, every)
        choices = {}
        for candidate, paths in zip(compared, started, strict=True):
            best, by_fold = best_by_fold(paths.losses(loss), fold_weights(data))
            choices[candidate.name] = int(best), by_fold
        known = dict(zip(choices, started, strict=True))
        return cls(compared, data, Cs, known, choices, n_passes)

    def active(self) -> list[Descent]:
        """The problems of chosen penalties that are not certified yet."""
        chosen = [
            d for name, paths in self.paths.items() for d in paths.chosen(*self.choices[name])
        ]
        return [descent for descent in chosen if not descent.done]

    def statistics(self) -> list[Any]:
        """What the next pass shall find: gradients, and what fits to all rows ask for first."""
        self.questions = {
            candidate.name: question
            for candidate in self.compared
            if candidate.name != "linear_svm"  # its gradients are all that it needs
            and (question := first_question(partial(self._fit, candidate), self.data)) is not None
        }
        active = self.active()
        design = next(iter(self.paths.values())).design
        gradients = [PathGradients.of(design, active)] if active else []
        return [*gradients, *self.questions.values()]

    def accept(self, found: Sequence[Any]) -> bool:
        """Take what the pass found; whether its points were good enough."""
        active, found = self.active(), list(found)
        if active:
            self.n_passes += 1
            accept(active, found.pop(0))
        self.answers = {name: [answer] for name, answer in zip(self.questions, found, strict=True)}
        active = self.active()
        if not active or self.n_passes >= MAX_PASSES:
            return True
        design = next(iter(self.paths.values())).design
        self.n_passes += approach(self.data.rows, design, active)
        return False

    def fits(self) -> list[FoldFits]:
        """Models of the points that the next pass evaluates."""
        return [self._fold_fits(candidate) for candidate in self.compared]

    def _fold_fits(self, candidate: Candidate) -> FoldFits:
        name, data = candidate.name, self.data
        paths, (_, by_fold) = self.paths[name], self.choices[name]
        kind = MarginModel if name == "linear_svm" else LogisticModel
        pairs = zip(data.folds, by_fold.tolist(), strict=True)
        models = {
            f: kind(data.classes, data.encoding, *paths.undo_scaling(point, f))
            for f, point in pairs
        }
        chosen, notes = {}, ["squared slacks"] if name == "linear_svm" else []
        if name != "logistic":
            chosen = {"C": tuple((1.0 / paths.penalties[by_fold]).tolist())}
            notes.append(_describe_screened(self.Cs, paths))

        def fit() -> Any:
            return self._fit(candidate, ReplayedRows(data.rows, self.answers.get(name, [])))

        return FoldFits(candidate, models, fit, chosen, "; ".join(filter(None, notes)))

    def note_unsolved(self, fits: FoldFits) -> FoldFits:
        """The same with a note where passes ended before the minimum."""
        paths, (_, by_fold) = self.paths[fits.candidate.name], self.choices[fits.candidate.name]
        pairs = zip(paths.folds, by_fold.tolist(), strict=True)
        left = [str(f) for f, point in pairs if not paths.descents[point, f].done]
        if not left:
            return fits
        note = (
            f"stopped after {self.n_passes} passes, before the minimum, in fold {', '.join(left)}"
        )
        return replace(fits, note="; ".join(filter(None, [fits.note, note])))

    def _fit(self, candidate: Candidate, rows: Rows) -> Any:
        """The model of all training rows, from where the passes over all folds left it."""
        name, data = candidate.name, self.data
        paths, (best, _) = self.paths[name], self.choices[name]
        C = float(1.0 / paths.penalties[best])
        if name == "linear_svm":
            return _linear_svc(data, paths, best, C, self.n_passes)
        model: Any = LogisticRegression(C=C, standardize=True, tol=1e-8)
        if name == "logistic":
            model = candidate.make(len(data.folds)).set_params(tol=1e-8)
        model.coef_, model.intercept_ = paths.undo_scaling(best, ALL)
        fitted = model.set_params(warm_start=True).fit(data.training_rows(rows))
        return fitted.set_params(warm_start=False)


class StatisticRequest(Exception):
    """A pass is needed for ``statistic``, which may be shared with others."""

    def __init__(self, statistic: Any) -> None:
        super().__init__("a pass is needed")
        self.statistic = statistic


class ReplayedRows(Rows):
    """Rows of which the first ``answers`` are known: no pass is made for them.

    A fit that is begun again asks for the same sums in the same order. What it asks for first can
    so be found in a pass that other computations need as well. Without ``rows``, what is asked for
    beyond the answers ends the computation.
    """

    def __init__(self, rows: Rows, answers: Sequence[Any], *, ends: bool = False) -> None:
        self.rows, self.answers, self.ends = rows, list(answers), ends
        self.schema, self.ignored = rows.schema, rows.ignored
        self.notes, self.left_out = rows.notes, rows.left_out

    def reduce(self, statistic: S) -> S:
        """The next answer, or a pass."""
        if self.answers:
            return cast(S, self.answers.pop(0))
        if self.ends:
            raise StatisticRequest(statistic)
        return self.rows.reduce(statistic)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        return self.rows.blocks()


def first_question(fit: Callable[[Rows], Any], data: ClassData) -> Any:
    """The statistic that a fit asks for first; None if it needs no pass."""
    try:
        with mute_warnings():
            fit(ReplayedRows(data.rows, [], ends=True))
    except StatisticRequest as request:
        return request.statistic
    return None


class RowsWithMoments(Rows):
    """Rows whose moments are known; other statistics read them."""

    def __init__(self, rows: Rows, moments: class_preparation.ClassMomentRows) -> None:
        self.rows, self.moments = rows, moments
        self.schema, self.ignored = rows.schema, rows.ignored
        self.notes, self.left_out = rows.notes, rows.left_out

    def reduce(self, statistic: S) -> S:
        """Moments without a pass, anything else in one."""
        inner = statistic.inner if isinstance(statistic, MappedStatistic) else statistic
        return (self.moments if isinstance(inner, Moments) else self.rows).reduce(statistic)

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks in order."""
        return self.rows.blocks()


def _describe_screened(Cs: list[float], found: LinearPaths) -> str:
    """A note on the values of C that the sample left."""
    left = len(found.penalties)
    if left == len(Cs):
        return ""
    return f"{left} of {len(Cs)} values of C: the others lose, or do not differ, on a sample"


def _weights(data: ClassData) -> dict[int, float]:
    """Of the training rows of each fold, by its label, and of all of them."""
    return {**{f: data.total.weight - data.weight(f) for f in data.folds}, ALL: data.total.weight}


def _linear_svc(
    data: ClassData, paths: LinearPaths, point: int, C: float, passes: int
) -> LinearSVC:
    """The hyperplanes of all training rows as a fitted model."""
    passes += paths.finish(data.rows, point)
    descent, (coef, intercept) = paths.descents[point, ALL], paths.undo_scaling(point, ALL)
    model = LinearSVC(C=C, standardize=True)
    model._name_columns(data.training_rows())
    model.classes_ = data.classes.astype(str)
    certificate = Certificate(
        "No hyperplane has a smaller sum of ½‖w‖² and C times the squared slacks",
        primal=C * descent.value,
        kkt=descent.residual,
        tolerance=1e-5,  # the largest derivative, per unit weight
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

    def training_rows(self, rows: Rows | None = None) -> EncodedRows:
        """The encoded rows of all folds, read again at every pass but for their moments."""
        selected = MappedRows(rows or self.rows, SelectedParts(frozenset(self.folds)))
        return EncodedRows(RowsWithMoments(selected, self.class_rows()), self.encoding)

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
    descents, fit = ([5.0, 5.0], [1.0]) if by_passes else ([], [])
    return [4.0, *descents, 1.8 * len(compared), *fit, 2.0]


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
