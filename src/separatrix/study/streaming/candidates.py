"""Candidates of a stream: fitted without each fold, and penalty paths over its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.arrays import Floats, Ints
from separatrix.discriminant.regularized_discriminant import (
    ClassFold,
    ShrinkageFold,
    grid_within,
    shrinkage_grid,
    tune_folds,
)
from separatrix.geometry.class_scores import softmax
from separatrix.logistic.logistic_regression import LogisticRegression
from separatrix.logistic.tuning import (
    LIKELIHOOD,
    MAX_HESSIAN,
    BlockPreconditioner,
    HessianPreconditioner,
    RidgeRows,
    ridge_path,
)
from separatrix.messages import InputError
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.optimize.newton import LimitedMemory, LinearSolver, cholesky_solver
from separatrix.probability.loops import binary_loss, softmax_by_class
from separatrix.rows.parts import Parts
from separatrix.rows.rows import EncodedRows, InMemory, MappedRows, Rows, S, SelectedParts, chunks
from separatrix.rows.schema import Block, Encoding, Schema, Term, Terms
from separatrix.selection.tuning import Tuning, best_by_fold
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_preparation import (
    ClassMomentRows,
    MomentsByClass,
    joint_moments,
    prepare_classes,
    without_part,
)
from separatrix.statistics.moments import (
    FieldStatistic,
    Grouped,
    Moments,
    Standardizer,
    design_moments,
)
from separatrix.study.candidates import BASELINE, CS, Candidate
from separatrix.study.comparison import muted
from separatrix.study.design import TEST, thinned
from separatrix.study.progress import Step
from separatrix.svm.linear import LinearSVC

# -------------------------------------------------------------------------------------------------
# Candidates of a stream, fitted without each fold: from moments by class, or by passes.
#
# Naive Bayes, discriminants and least squares follow from the moments of one pass. Logistic
# regression and the linear SVM take further passes, shared by all penalties and folds.


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
        jobs["logistic"] = PathJob(LogisticPathLoss(k), np.array(penalties), _weights(data))
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
    groups: Grouped[MomentsByClass]
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
        return without_part(self.groups, TEST)

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
        return joint_moments(self.training)

    @cached_property
    def test(self) -> Moments:
        """Moments of all test rows."""
        return joint_moments(self.groups.parts.get(TEST, MomentsByClass()).parts)

    @cached_property
    def encoding(self) -> Encoding:
        """The design of all training rows, which models that tune share over the folds."""
        return prepare_classes(self.class_rows()).encoding

    @cached_property
    def design(self) -> Moments:
        """Moments of the design of all training rows."""
        return design_moments(self.encoding, self.total)

    def class_rows(self, left_out: int = TEST) -> ClassMomentRows:
        """Training rows without a fold, as moments of their classes."""
        return ClassMomentRows(self.schema, without_part(self.groups, TEST, left_out))

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
        return self.rows.count if isinstance(self.rows, CountedRows) else 0

    def require_classes(self) -> None:
        """Refuse folds whose training rows lack a class: nothing could be learned about it."""
        for fold in self.folds:
            known = without_part(self.groups, TEST, fold)
            for term in self.targets:
                if term not in known or not known[term].weight:
                    raise InputError(
                        f"The training rows of fold {fold} have no row of class {term.level}.",
                        remedy="Use fewer folds, or more rows of the class.",
                    )

    def codes(self, block: Block) -> Ints:
        """Class codes among ``classes``; −1 for a class that training does not have."""
        found = block.indicators(self.targets)
        codes = np.asarray(found.argmax(axis=1), dtype=np.int64)
        return np.where(found.max(axis=1, initial=0.0) > 0.5, codes, -1)


def folds_in(block: Block, schema: Schema) -> Iterator[tuple[int, Ints, InMemory]]:
    """The folds that occur in a raw block: label, positions, rows."""
    assert block.parts is not None, "the rows have no parts"
    for fold in np.unique(block.parts):
        if fold != TEST:
            at = np.flatnonzero(block.parts == fold)
            yield int(fold), at, InMemory(schema, block.take(at))


def fold_weights(data: ClassData) -> Floats:
    """The weights of the folds, in their order."""
    return np.array([data.weight(fold) for fold in data.folds])


# -------------------------------------------------------------------------------------------------
# Passes over a stream: counted, and announced while they run.


#: Passes of the closed forms: moments, comparison, test; and about so many more of a descent.
CLOSED_FORM_PASSES, DESCENT_PASSES = 3, 6


class CountedRows(Rows):
    """Rows of which every pass is counted, and announced by what it is for."""

    def __init__(self, rows: Rows, step: Step, planned: int) -> None:
        self.rows, self.step, self.planned = rows, step, planned
        self.schema, self.ignored = rows.schema, rows.ignored
        self.notes, self.left_out = rows.notes, rows.left_out
        self.count, self.purpose = 0, "reading"

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
        self.count += 1
        if self.count <= self.planned:
            self.step(f"pass {self.count}: {self.purpose}")


# -------------------------------------------------------------------------------------------------
# Penalty paths of linear scores over a stream: all penalties and all folds in the same passes.
#
#     F_cf(θ) = Σ_{rows not of fold f} w ℓ(θᵀz) + ½ λ_c ‖θ‖²,     z = (standardized columns, 1)
#
# Every problem starts at the solution of a sample of the rows, weighted to stand for all of them,
# and takes L-BFGS steps that the Hessian of the sample preconditions: each pass over the rows
# evaluates the next point of every problem that has not converged, and its loss on the rows of fold
# f.


#: The fold of a problem that leaves none out.
ALL = -2
#: Decrease of the mean loss that a further step must promise.
TOLERANCE = 1e-10
#: Passes at most, and the fraction of a promised decrease that a step must achieve (Armijo).
MAX_PASSES, SUFFICIENT = 15, 1e-4
#: Scores of a chunk of rows, for all problems together.
CHUNK_SCORES = 400_000


@dataclass(frozen=True)
class LinearDesign:
    """z = ((x − mean)/σ, 1) of encoded rows, and the classes of their target."""

    encoding: Encoding
    standardizer: Standardizer
    targets: Terms

    @classmethod
    def of(cls, encoding: Encoding, design: Moments, targets: Terms) -> LinearDesign:
        """Standardized by the moments of all training rows."""
        return cls(encoding, Standardizer.from_moments(design), targets)

    @property
    def width(self) -> int:
        """Length of z."""
        return len(self.standardizer.mean) + 1

    def z(self, block: Block) -> Floats:
        """The design rows of a raw block."""
        x = self.encoding.apply(block).dense()
        z = np.empty((len(x), self.width))
        np.subtract(x, self.standardizer.mean, out=z[:, :-1])
        z[:, :-1] *= self.standardizer.inverse_scale
        z[:, -1] = 1.0
        return z

    def sample(self, block: Block, weight: float, left_out: int) -> RidgeRows:
        """Rows of a sample but those of a fold, weighted to stand for rows of ``weight``."""
        assert block.parts is not None
        rows = block.take(np.flatnonzero(block.parts != left_out))
        w = rows.weights * (weight / rows.weight)
        codes = rows.codes(self.targets)
        return RidgeRows(self.z(rows), codes, w, len(self.targets), intercept=True)


class PathGradients(FieldStatistic):
    """Values and gradients of many problems at their ``points`` (P x D x scores), in one pass.

    ``losses`` are those of the problems. ``left_out`` is the fold whose rows a problem is not
    fitted to; of those rows ``validation`` sums weight, loss and errors (P x 3).
    """

    sums: ClassVar[tuple[str, ...]] = ("value", "gradient", "validation")

    def __init__(
        self, design: LinearDesign, losses: list[PathLoss], points: Floats, left_out: Ints
    ) -> None:
        self.design, self.losses, self.points, self.left_out = design, losses, points, left_out
        self.value = np.zeros(len(points))
        self.gradient = np.zeros_like(points)
        self.validation = np.zeros((len(points), 3))

    def update(self, block: Block) -> None:
        """Add the rows of a block that are not of the test part."""
        assert block.parts is not None
        block = block.take(np.flatnonzero(block.parts != TEST))
        p, _, k = self.points.shape
        for chunk in chunks(block, int(np.clip(CHUNK_SCORES // (p * k), 256, 8192))):
            self._add(chunk)

    def _add(self, block: Block) -> None:
        z, codes = self.design.z(block), block.codes(self.design.targets)
        w, parts = block.weights, block.parts
        p, width, k = self.points.shape
        flat = self.points.transpose(0, 2, 1).reshape(p * k, width)
        scores, residual = flat @ z.T, np.empty((p * k, block.n))
        folds = {int(f): np.flatnonzero(parts == f) for f in np.unique(self.left_out)}
        weights = {f: np.where(parts == f, 0.0, w) for f in folds}
        for i, (loss, f) in enumerate(zip(self.losses, self.left_out.tolist(), strict=True)):
            own, validation = slice(i * k, (i + 1) * k), folds[f]
            if len(validation):
                losses, wrong = loss.validate(scores[own, validation], codes[validation])
                self.validation[i] += (
                    w[validation].sum(),
                    w[validation] @ losses,
                    w[validation] @ wrong,
                )
            value, residual[own] = loss.evaluate(scores[own], codes, weights[f])
            self.value[i] += value
        self.gradient += (residual @ z).reshape(p, k, width).transpose(0, 2, 1)


@dataclass
class Descent:
    """One problem on its way: loss, penalty, fold left out, and the state of L-BFGS."""

    loss: PathLoss
    penalty: Floats
    left_out: int
    weight: float
    theta: Floats
    solve: LinearSolver
    value: float = np.inf
    gradient: Floats | None = None
    validation: Floats = field(default_factory=lambda: np.zeros(3))
    memory: LimitedMemory = field(default_factory=LimitedMemory)
    step: Floats | None = None
    size: float = 1.0
    promised: float = np.inf
    done: bool = False

    @property
    def trial(self) -> Floats:
        """Where the next pass evaluates it."""
        return self.theta if self.step is None else self.theta - self.size * self.step

    def accept(self, value: float, gradient: Floats, validation: Floats) -> None:
        """What a pass found at the trial point: go there, or try half of the step."""
        point = self.trial
        shrunk = self.penalty * point
        value += 0.5 * float(np.sum(point * shrunk))
        gradient = gradient + shrunk
        if self.step is not None and not value <= self.value - SUFFICIENT * self.size * (
            self.promised
        ):
            rounding = self.promised <= 1e-13 * max(abs(self.value), 1.0)
            self.size *= 0.5
            self.done = self.size < 1e-4 or rounding
            return
        if self.gradient is not None:
            self.memory.add(point - self.theta, gradient - self.gradient)
        self.theta, self.value, self.gradient, self.validation = point, value, gradient, validation
        self.step, self.size = self.memory.direction(gradient, self.solve), 1.0
        self.promised = float(np.sum(self.step * gradient))
        self.done = self.promised <= TOLERANCE * self.weight

    @property
    def residual(self) -> float:
        """The largest derivative, relative to the weight of the rows."""
        assert self.gradient is not None
        return float(np.abs(self.gradient).max()) / self.weight


@dataclass(frozen=True)
class LinearPaths:
    """Solutions by penalty (in decreasing order) and fold left out (``ALL``: none)."""

    design: LinearDesign
    penalties: Floats
    folds: list[int]
    descents: dict[tuple[int, int], Descent]
    n_passes: int

    def losses(self, kind: str) -> Floats:
        """Mean loss, or error rate, of the rows of every fold (points x folds)."""
        validation = np.array(
            [
                [self.descents[c, f].validation for f in self.folds]
                for c in range(len(self.penalties))
            ]
        )
        column = 2 if kind == "error" else 1
        return np.asarray(validation[:, :, column] / np.maximum(validation[:, :, 0], 1e-300))

    def unscaled(self, point: int, fold: int) -> tuple[Floats, Floats]:
        """Coefficients (scores x d) and intercepts for encoded rows."""
        theta = self.descents[point, fold].theta
        coef, intercept = self.design.standardizer.unscale(theta[:-1].T, theta[-1])
        return np.asarray(coef), np.asarray(intercept)


@dataclass(frozen=True)
class PathJob:
    """A loss, its penalties in decreasing order, and the weights of the rows of each problem.

    Those are by the fold that a problem leaves out; ``ALL`` leaves out none.
    """

    loss: PathLoss
    penalties: Floats
    weights: dict[int, float]

    def start(self, sample: Block, design: LinearDesign) -> dict[tuple[int, int], Descent]:
        """Every problem at the solution of its sample, by penalty and fold."""
        mean = sum(self.weights.values()) / len(self.weights)
        whole = design.sample(sample, mean, ALL)
        centers = self.loss.warm_starts(whole, self.penalties)
        pairs = list(zip(centers, self.penalties.tolist(), strict=True))
        solvers = [self.loss.solver(whole, theta, penalty) for theta, penalty in pairs]
        found = {}
        for f, weight in self.weights.items():
            starts = self.loss.warm_starts(design.sample(sample, weight, f), self.penalties)
            for c, (start, penalty) in enumerate(zip(starts, self.penalties, strict=True)):
                ridge = whole.penalized(float(penalty))
                found[c, f] = Descent(self.loss, ridge, f, weight, start, solvers[c])
        return found


def solve_paths(
    rows: Rows, sample: Block, design: LinearDesign, jobs: list[PathJob]
) -> list[LinearPaths]:
    """Solve all problems of all jobs together: a pass evaluates those that have not converged."""
    started = [job.start(sample, design) for job in jobs]
    every = [descent for found in started for descent in found.values()]
    passes = 0
    while passes < MAX_PASSES and any(not d.done for d in every):
        active = [d for d in every if not d.done]
        points = np.array([d.trial for d in active])
        left_out = np.array([d.left_out for d in active], dtype=np.int64)
        losses = [d.loss for d in active]
        found = rows.reduce(PathGradients(design, losses, points, left_out))
        for i, descent in enumerate(active):
            descent.accept(float(found.value[i]), found.gradient[i], found.validation[i])
        passes += 1
    return [
        LinearPaths(design, job.penalties, [f for f in job.weights if f != ALL], found, passes)
        for job, found in zip(jobs, started, strict=True)
    ]


# -------------------------------------------------------------------------------------------------
# Losses of linear scores that passes over a stream minimize: logistic, and squared hinge.
#
#     logistic:       Σ w (log Σₖ e^sₖ − s_y)               of two classes log(1 + e^∓s)
#     squared hinge:  Σ w Σₖ max(0, 1 ∓ sₖ)²                each class against the rest
#
# Scores are (scores x rows): one for the second of two classes, else one for each class.


#: Decrease of the mean loss of the sample that a step towards a warm start must promise.
WARM_TOLERANCE = 1e-8
#: Newton steps of a squared hinge on the sample, at most.
NEWTON_STEPS = 40


class PathLoss(Protocol):
    """A loss of scores, and what a sample of the rows tells of its minimum."""

    def evaluate(self, scores: Floats, codes: Ints, w: Floats) -> tuple[float, Floats]:
        """Σ w loss, and its derivative by every score; ``scores`` may be overwritten."""

    def validate(self, scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
        """The loss of every row, and whether another class is predicted."""

    def warm_starts(self, sample: RidgeRows, penalties: Floats) -> list[Floats]:
        """θ for penalties in decreasing order, from the sample alone."""

    def solver(self, sample: RidgeRows, theta: Floats, penalty: float) -> LinearSolver:
        """g ↦ H⁻¹g, H the Hessian of the sample at θ with the penalty."""


@dataclass(frozen=True)
class LogisticPathLoss:
    """The negative log-likelihood."""

    n_classes: int

    def evaluate(self, scores: Floats, codes: Ints, w: Floats) -> tuple[float, Floats]:
        """Σ w loss, and its derivative by every score; ``scores`` may be overwritten."""
        residual = np.empty_like(scores)
        if len(scores) > 1:
            return float(softmax_by_class(scores, codes, w, residual)), residual
        positive, second = codes.astype(np.float64), np.empty(scores.shape[1])
        return float(binary_loss(scores[0], positive, w, residual[0], second)[0]), residual

    def validate(self, scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
        """−log p of the true class, and whether another is more probable."""
        if len(scores) == 1:
            scores = np.vstack([np.zeros(scores.shape[1]), scores])
        at = np.arange(scores.shape[1])
        loss = np.logaddexp.reduce(scores, axis=0) - scores[codes, at]
        return loss, (scores.argmax(axis=0) != codes).astype(float)

    def warm_starts(self, sample: RidgeRows, penalties: Floats) -> list[Floats]:
        """θ for penalties in decreasing order, from the sample alone."""
        return list(ridge_path(sample, penalties, WARM_TOLERANCE))

    def solver(self, sample: RidgeRows, theta: Floats, penalty: float) -> LinearSolver:
        """g ↦ H⁻¹g, H the Hessian of the sample at θ with the penalty."""
        kind = HessianPreconditioner if theta.size <= MAX_HESSIAN else BlockPreconditioner
        return kind(sample, theta).with_penalty(sample.penalized(penalty))


@dataclass(frozen=True)
class SquaredHingeLoss:
    """Squared slacks of the margins of each class against the rest."""

    n_classes: int

    def signs(self, codes: Ints) -> Floats:
        """±1 for every score and row."""
        own = np.array([1]) if self.n_classes == 2 else np.arange(self.n_classes)
        return np.where(codes == own[:, None], 1.0, -1.0)

    def evaluate(self, scores: Floats, codes: Ints, w: Floats) -> tuple[float, Floats]:
        """Σ w loss, and its derivative by every score."""
        signs = self.signs(codes)
        slack = np.maximum(1.0 - signs * scores, 0.0)
        return float(np.sum((slack * slack) @ w)), -2.0 * w * signs * slack

    def validate(self, scores: Floats, codes: Ints) -> tuple[Floats, Floats]:
        """The squared slacks of every row, and whether another class has the largest score."""
        slack = np.maximum(1.0 - self.signs(codes) * scores, 0.0)
        predicted = (scores[0] > 0).astype(int) if len(scores) == 1 else scores.argmax(axis=0)
        return np.sum(slack * slack, axis=0), (predicted != codes).astype(float)

    def warm_starts(self, sample: RidgeRows, penalties: Floats) -> list[Floats]:
        """θ for penalties in decreasing order, from the sample alone, by Newton's method."""
        theta, found = np.zeros((sample.z.shape[1], sample.n_scores)), []
        for penalty in penalties:
            theta = self._newton(sample, theta, float(penalty))
            found.append(theta)
        return found

    def solver(self, sample: RidgeRows, theta: Floats, penalty: float) -> LinearSolver:
        """g ↦ H⁻¹g with H = 2 Σ w z zᵀ over the rows of positive slack, score by score."""
        scores, signs = theta.T @ sample.z.T, self.signs(sample.codes)
        ridge = sample.penalized(penalty)[:, 0] + 1e-9 * sample.weight
        solvers = []
        for own, sign in zip(scores, signs, strict=True):
            root = sample.z * np.sqrt(2.0 * sample.w * (sign * own < 1.0))[:, None]
            solvers.append(cholesky_solver(root.T @ root + np.diag(ridge)))
        return lambda g: np.column_stack([solve(g[:, j]) for j, solve in enumerate(solvers)])

    def _newton(self, sample: RidgeRows, theta: Floats, penalty: float) -> Floats:
        """Full steps while they decrease the objective: it is piecewise quadratic."""
        ridge = sample.penalized(penalty)

        def at(point: Floats) -> tuple[float, Floats]:
            value, residual = self.evaluate(point.T @ sample.z.T, sample.codes, sample.w)
            shrunk = ridge * point
            return value + 0.5 * float(np.sum(point * shrunk)), (residual @ sample.z).T + shrunk

        value, gradient = at(theta)
        for _ in range(NEWTON_STEPS):
            step = self.solver(sample, theta, penalty)(gradient)
            promised, size = float(np.sum(step * gradient)), 1.0
            if promised <= WARM_TOLERANCE * sample.weight:
                break
            there = at(theta - step)
            while there[0] > value - 1e-4 * size * promised and size > 1e-3:
                size *= 0.5
                there = at(theta - size * step)
            if there[0] >= value:
                break
            theta, (value, gradient) = theta - size * step, there
        return theta
