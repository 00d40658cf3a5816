"""A Gaussian process in a comparison: tuned on folds, then fitted to all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats, Ints
from separatrix.bayes.gaussian_process import evidence
from separatrix.bayes.gaussian_process.fitting import least_jitter
from separatrix.bayes.gaussian_process.laplace import BinaryProcess, LaplaceEvidence
from separatrix.bayes.gaussian_process.learning import (
    AscentEnd,
    Bounds,
    box_around,
    data_starts,
    maximize,
    natural_kernel,
)
from separatrix.bayes.gaussian_process.model import TrendBasis
from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.estimators.class_labels import outputs_of
from separatrix.kernels import Constant, Fixed, Gaussian, Kernel, White
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import to_array
from separatrix.selection.tuning import Tuning, TuningData, require_classes
from separatrix.statistics.moments import Standardizer, prepare
from separatrix.threads import on_one_blas_thread, parallel_map


class TunableProcess:
    """Tunes on the folds of a comparison; see :class:`separatrix.selection.tuning.Tunable`."""

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Predictions out of fold, from hyperparameters of samples of the training rows."""

        return tune_process(data)

    @on_one_blas_thread
    def fit_tuned(self, rows: InMemory, tuning: Tuning) -> Self:
        """Fit to all rows, learning from where the comparison ended.

        On fewer rows than were tuned on (a learning curve), and on many, the hyperparameters stay;
        inducing points stand for very many rows.
        """
        model: Any = self
        start: LearnedKernel = tuning.start
        # Rows up to which hyperparameters are learned once more from all of them.
        learn = start.learned and len(rows) == start.n_rows <= 1_000
        exact = len(rows) <= 3_000  # rows beyond which inducing points stand for them
        # Inducing points.
        model.set_params(
            kernel=in_units(start.kernel, _spreads(rows)),
            normalize_y=True,
            trend="constant",
            optimizer="fmin_l_bfgs_b" if learn else None,
            n_inducing=None if exact else 400,
        )
        fitted: Self = model.fit(rows)
        return fitted


class TunableClasses:
    """The same for classes."""

    @on_one_blas_thread
    def tune(self, data: TuningData) -> Tuning:
        """Probabilities out of fold, from hyperparameters of samples of the training rows."""

        return tune_classes(data)

    @on_one_blas_thread
    def fit_tuned(self, rows: InMemory, tuning: Tuning) -> Self:
        """Fit to all rows, or to as many as a process can take, with the learned kernel."""
        model: Any = self
        start: TunedClasses = tuning.start
        if len(rows) > start.most_rows:
            chosen = np.random.default_rng(0).permutation(len(rows))[: start.most_rows]
            rows = rows.take(np.sort(chosen))
        model.set_params(kernel=class_kernel(start.kernel, _spreads(rows)), optimizer=None)
        fitted: Self = model.fit(rows)
        return fitted


def class_kernel(kernel: Kernel, spreads: Floats) -> Kernel:
    """One length scale of standardized columns, in the units of each."""
    variance, length = np.exp(kernel.theta).tolist()
    return Constant(variance) * Fixed(Gaussian(tuple((length * spreads).tolist())))


def in_units(kernel: Kernel, spreads: Floats) -> Kernel:
    """A kernel of standardized columns as one of the columns themselves.

    One length scale for all columns becomes one for each, in proportion to their spreads, which are
    then not learned one by one.
    """
    variance, *lengths, noise = np.exp(kernel.theta).tolist()
    shared = len(lengths) == 1 < len(spreads)
    bandwidth = tuple((np.array(lengths) * spreads).tolist())
    gaussian: Kernel = Gaussian(bandwidth)
    return Constant(variance) * (Fixed(gaussian) if shared else gaussian) + White(noise)


def _spreads(rows: InMemory) -> Floats:
    """Standard deviations of the encoded columns; 1 for those that are constant."""
    block = prepare(rows).rows.collect()
    scale = Standardizer.from_rows(to_array(block.x), block.weights).scale
    return np.where(scale > 0.0, scale, 1.0)


# -------------------------------------------------------------------------------------------------
# A Gaussian process on the folds of a comparison, within a number of operations.
#
#     θ̂_f = argmax log p(y_S | θ),   S a sample of the training rows of fold f
#
# Learning is cubic in the rows and takes many evaluations, taking rows in takes one factorization:
# so hyperparameters are learned from a sample, and the process then takes in all training rows, or
# as many as the work allows. Kernels with one length scale and with one for each column are
# learned, and the one is taken that gives higher density to training rows which it was not learned
# from. Ascents of the other folds start where that of the first one ended, and are short; the
# targets of a fold are nowhere in what its predictions come from.


#: Evaluations of the evidence in the first fold, and in each other one.
FIRST, NEXT = 40, 16
#: Rows that are learned from, at least and at most; columns with a length scale each, at most.
LEAST_ROWS, MOST_ROWS, MOST_SCALES = 60, 400, 20


def evaluation_work(n: int, d: int) -> float:
    """Operations of the evidence of n rows and its gradient."""
    # Operations of one evaluation of n rows: times n³, and times n² for a column and beside.
    return 4.0 * n**3 + (12.0 * d + 120.0) * n**2


@dataclass(frozen=True)
class Sizes:
    """Rows of a sample to learn from, and training rows that are taken in."""

    learned: int
    taken: int

    @classmethod
    def of(cls, data: TuningData) -> Sizes:
        """As many as the work allows."""
        folds, d = len(data.folds.pairs), min(data.x.shape[1], MOST_SCALES)
        learning = 0.7  # part of the work that is spent on learning
        each = learning * data.work / (FIRST + NEXT * folds)
        learned = MOST_ROWS
        while learned > LEAST_ROWS and evaluation_work(learned, d) > each:
            learned -= 10
        taken = int((3.0 * (1.0 - learning) * data.work / folds) ** (1.0 / 3.0))
        return cls(learned, max(taken, learned))


@dataclass(frozen=True)
class ScaledRows:
    """Training rows in standard units: columns as given, targets about their mean.

    They are in an order drawn by a fixed seed, so that the first ones are a sample.
    """

    rows: evidence.ProcessRows
    center: float
    scale: float
    n_rows: int

    @classmethod
    def of(cls, data: TuningData, z: Floats, at: Ints) -> ScaledRows:
        """Those of the rows at these places that have weight."""
        n_rows = len(at)
        at = at[data.w[at] > 0.0]
        at = at[np.random.default_rng(0).permutation(len(at))]
        y, w = np.asarray(data.y, dtype=float)[at], data.w[at]
        center = float(np.average(y, weights=w))
        scale = float(np.sqrt(np.average((y - center) ** 2, weights=w))) or 1.0
        target = ((y - center) / scale)[:, None]
        rows = evidence.ProcessRows(z[at], target, w, np.zeros(len(at)), np.ones((len(at), 1)))
        return cls(rows, center, scale, n_rows)

    def first(self, count: int) -> evidence.ProcessRows:
        """The first rows."""
        return self.rows if self.rows.n <= count else self.rows.take(slice(count))

    def next(self, count: int, after: int) -> evidence.ProcessRows | None:
        """Rows after those; None if there are few."""
        if self.rows.n < after + 60:  # of fewer rows, those left out one at a time
            return None
        return self.rows.take(slice(after, after + count))


@dataclass(frozen=True)
class Ends:
    """Where ascents ended: with one length scale for all columns, and with one for each."""

    shared: AscentEnd
    own: AscentEnd | None


@dataclass(frozen=True)
class LearnedKernel:
    """The kernel that was chosen, in standard units, and where the ascents ended.

    ``learned`` is false where learning only made the kernel worse, and the data's scales stayed;
    ``n_rows`` are the rows that the sample was drawn from, those of weight zero among them.
    """

    kernel: Kernel
    ends: Ends
    learned: bool
    n_rows: int


def shared_kernel() -> Kernel:
    """One length scale for all columns."""
    return Constant(1.0) * Gaussian(1.0) + White(1.0)


def own_kernel(d: int) -> Kernel:
    """A length scale for each column."""
    return Constant(1.0) * Gaussian((1.0,) * d) + White(1.0)


def learn_kernels(scaled: ScaledRows, count: int, near: Ends | None) -> LearnedKernel:
    """Learn both kernels from a sample, and choose by rows that it does not contain."""
    # Rows beyond the sample by which kernels are compared.
    rows, further = scaled.first(count), scaled.next(300, count)
    d = rows.x.shape[1]
    natural = natural_kernel(shared_kernel(), rows)
    start = data_starts(natural)[0]
    shared = _ascent(shared_kernel(), rows, start, None if near is None else near.shared)
    kernels = [shared_kernel().with_theta(data_starts(natural)[2])]
    if np.isfinite(shared.value):
        kernels.append(shared_kernel().with_theta(shared.theta))
    near_kernel = None
    if 1 < d <= MOST_SCALES and np.isfinite(shared.value):
        variance, length, noise = shared.theta
        wide = np.array([variance, *[length] * d, noise])
        near_kernel = _ascent(own_kernel(d), rows, wide, None if near is None else near.own)
        if np.isfinite(near_kernel.value):
            kernels.append(own_kernel(d).with_theta(near_kernel.theta))
    scores = [_score(kernel, rows, further) for kernel in kernels]
    best = int(np.argmax(scores))
    return LearnedKernel(kernels[best], Ends(shared, near_kernel), best > 0, scaled.n_rows)


def _ascent(
    kernel: Kernel, rows: evidence.ProcessRows, start: Floats, near: AscentEnd | None
) -> AscentEnd:
    """From a start, or from the end of another ascent and with its curvature."""
    objective, natural = evidence.LogEvidence(kernel, rows), natural_kernel(kernel, rows)
    tolerance = 0.1  # gain in nats that the last step may leave
    if near is not None and np.isfinite(objective.value(near.theta)):
        return maximize(
            objective,
            near.theta,
            box_around(natural, near.theta),
            curvature=near.curvature,
            tolerance=tolerance,
            max_evaluations=NEXT // 2,
        )
    box = box_around(natural, start)
    return maximize(objective, start, box, tolerance=tolerance, max_evaluations=FIRST // 2)


def _score(
    kernel: Kernel, rows: evidence.ProcessRows, further: evidence.ProcessRows | None
) -> float:
    """Mean log density of rows beyond the sample, or of each row of it given the others."""
    factored = evidence.factorize(kernel, rows)
    if factored is None:
        return -np.inf
    if further is None:
        left = evidence.leave_one_out(factored, rows, np.zeros(1), np.ones(1))
        return left.log_score / float(rows.w.sum())
    density = _predictive(factored, rows, further.x).log_density(further.y[:, 0])
    return float(np.average(density, weights=further.w))


def _predictive(
    factored: evidence.Factored, rows: evidence.ProcessRows, new: Floats
) -> PredictiveDistribution:
    """New rows in standard units."""
    basis = TrendBasis.of("constant", rows.x, rows.w)
    mean = evidence.posterior_mean(
        factored.split, rows.x, factored.alpha, basis, factored.coef, new
    )[:, 0]
    variance = evidence.ProcessPosterior(rows.x, factored, basis).variance(new, noise=True)
    return PredictiveDistribution(mean, np.sqrt(variance))


@dataclass(frozen=True)
class FoldFit:
    """The kernel learned without the rows of a fold, and predictions of them."""

    learned: LearnedKernel
    mean: Floats
    deviation: Floats


def fit_fold(
    data: TuningData, z: Floats, pair: tuple[Ints, Ints], sizes: Sizes, near: Ends | None
) -> FoldFit:
    """Learn from a sample of the training rows, take them in, predict the others."""
    train, test = pair
    scaled = ScaledRows.of(data, z, train)
    chosen = learn_kernels(scaled, sizes.learned, near)
    rows = scaled.first(sizes.taken)
    factored = evidence.factorize(chosen.kernel, rows)
    if factored is None:
        rows = rows.with_noise(least_jitter(chosen.kernel, rows))
        factored = evidence.factorize(chosen.kernel, rows)
        assert factored is not None
    answer = _predictive(factored, rows, z[test])
    mean = scaled.center + scaled.scale * answer.mean
    return FoldFit(chosen, mean, scaled.scale * answer.scale)


def tune_process(data: TuningData) -> Tuning:
    """Predictions out of fold, and the kernel of a sample of all rows to start a fit from."""
    z, sizes = np.ascontiguousarray(to_array(data.z), dtype=float), Sizes.of(data)
    pairs = data.folds.pairs
    first = fit_fold(data, z, pairs[0], sizes, None)
    rest = parallel_map(lambda pair: fit_fold(data, z, pair, sizes, first.learned.ends), pairs[1:])
    fits = [first, *rest]
    scaled = ScaledRows.of(data, z, np.arange(data.n))
    start = learn_kernels(scaled, sizes.learned, first.learned.ends)
    deviation = np.concatenate([fit.deviation for fit in fits])
    means, starts = [fit.mean for fit in fits], [fit.learned for fit in fits]
    tuning = predicted_folds(pairs, means, "values", sizes.taken, start, starts)
    return replace(tuning, deviations=deviation)


def predicted_folds(
    pairs: Sequence[tuple[Ints, Ints]],
    predictions: Sequence[Floats],
    kind: str,
    taken: int,
    start: Any,
    starts: Sequence[Any],
) -> Tuning:
    """Predictions of the test rows of every fold, nothing else tuned.

    ``start`` is for a fit to all rows, and ``starts`` for fits that leave out rows of a fold.
    """
    largest, note = max(len(train) for train, _ in pairs), ""
    if largest > taken:
        note = f"each fold was predicted from {taken} of {largest} rows"
    return Tuning(
        {},
        ({},),
        np.zeros((1, len(pairs))),
        np.zeros(len(pairs), dtype=np.int64),
        np.concatenate([test for _, test in pairs]),
        np.concatenate(predictions),
        kind,
        note,
        start=start,
        starts=tuple(starts),
    )


# -------------------------------------------------------------------------------------------------
# A Gaussian process of classes on the folds of a comparison, within a number of operations.
#
#     θ̂_f = argmax Σ over classes of log p(y_S | θ),   S a sample of the training rows of fold f
#
# As for numbers (:mod:`separatrix.bayes.gaussian_process.tuning`), hyperparameters are learned from
# a sample and more rows are taken in. One length scale in standard deviations serves all columns,
# and one kernel all classes, each against the rest.


#: Evaluations of the evidence in the first fold, and in each other one.
FIRST_CLASSES, NEXT_CLASSES = 14, 5
#: Rows that are learned from, at least and at most; rows that are taken in, at most.
LEAST_ROWS_CLASSES, MOST_ROWS_CLASSES, MOST_TAKEN = 60, 300, 2_000


def class_sizes(data: TuningData) -> Sizes:
    """As many rows as the work allows, for all classes together."""
    folds, classes = len(data.folds.pairs), len(outputs_of(data.n_classes))
    evaluations = classes * (FIRST_CLASSES + NEXT_CLASSES * folds)
    # Operations of one evaluation, times n³: several Newton steps.
    learning_classes = 0.6  # part of the work that is spent on learning
    learned = (learning_classes * data.work / (16.0 * evaluations)) ** (1.0 / 3.0)
    # Operations of taking rows in, times n³: several Newton steps.
    taken = ((1.0 - learning_classes) * data.work / (8.0 * classes * folds)) ** (1.0 / 3.0)
    size = int(np.clip(learned, LEAST_ROWS_CLASSES, MOST_ROWS_CLASSES))
    return Sizes(size, int(np.clip(taken, size, MOST_TAKEN)))


@dataclass(frozen=True)
class TunedClasses:
    """The kernel of a sample of all rows, in standard units, and how many rows a fit may take."""

    kernel: Kernel
    most_rows: int


def spread_over_classes(codes: Ints, indices: Ints, count: int) -> Ints:
    """About ``count`` of the rows, of each class by its share and one at least."""
    if len(indices) <= count:
        return indices
    order = indices[np.random.default_rng(0).permutation(len(indices))]
    chosen = []
    for code in np.unique(codes[indices]):
        of_class = order[codes[order] == code]
        chosen.append(of_class[: max(2, round(count * len(of_class) / len(indices)))])
    return np.sort(np.concatenate(chosen))


def learned_kernel(data: TuningData, z: Floats, indices: Ints, near: AscentEnd | None) -> AscentEnd:
    """The maximum of the evidence of all classes together, each against the rest."""
    codes, kernel = np.asarray(data.y), _kernel()
    parts = [
        LaplaceEvidence(
            kernel, z[indices], (codes[indices] == c).astype(float), data.w[indices], 100
        )
        for c in outputs_of(data.n_classes)
    ]

    def objective(theta: Floats) -> tuple[float, Floats]:
        values = [part(theta) for part in parts]
        return sum(value for value, _ in values), np.sum([slope for _, slope in values], axis=0)

    # distances of standardized rows grow with the root of the columns
    start = np.log([10.0, np.sqrt(max(1, z.shape[1]))])
    width = 6.0  # half width of the box about the start, as a logarithm
    box = Bounds.of(start - width, start + width)
    tolerance_classes = 0.1  # gain in nats that the last step may leave
    if near is None:
        return maximize(
            objective, start, box, tolerance=tolerance_classes, max_evaluations=FIRST_CLASSES
        )
    return maximize(
        objective,
        near.theta,
        box,
        curvature=near.curvature,
        tolerance=tolerance_classes,
        max_evaluations=NEXT_CLASSES,
    )


def _kernel() -> Kernel:
    return Constant(1.0) * Gaussian(1.0)


def predict_fold(data: TuningData, z: Floats, kernel: Kernel, train: Ints, test: Ints) -> Floats:
    """Probabilities of rows by processes of each class against the rest."""
    codes = np.asarray(data.y)
    processes = [
        BinaryProcess.of(
            kernel, z[train], (codes[train] == c).astype(float), data.w[train], max_steps=100
        ).probabilities(z[test])
        for c in outputs_of(data.n_classes)
    ]
    if data.n_classes == 2:
        return np.column_stack([1.0 - processes[0], processes[0]])
    p = np.stack(processes, axis=1)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def tune_classes(data: TuningData) -> Tuning:
    """Probabilities out of fold, and the kernel of a sample of all rows for a fit to them."""
    require_classes(data)
    z, sizes = np.ascontiguousarray(to_array(data.z), dtype=float), class_sizes(data)
    codes, pairs = np.asarray(data.y), data.folds.pairs
    known = [(train[data.w[train] > 0.0], test) for train, test in pairs]

    def fold(pair: tuple[Ints, Ints], near: AscentEnd | None) -> tuple[AscentEnd, Floats]:
        train, test = pair
        end = learned_kernel(data, z, spread_over_classes(codes, train, sizes.learned), near)
        some = spread_over_classes(codes, train, sizes.taken)
        return end, predict_fold(data, z, _kernel().with_theta(end.theta), some, test)

    first = fold(known[0], None)
    rest = parallel_map(lambda pair: fold(pair, first[0]), known[1:])
    every = np.flatnonzero(data.w > 0.0)
    whole = learned_kernel(data, z, spread_over_classes(codes, every, sizes.learned), first[0])
    start, *starts = (
        TunedClasses(_kernel().with_theta(end.theta), MOST_TAKEN)
        for end in (whole, first[0], *(end for end, _ in rest))
    )
    probabilities = [p for _, p in (first, *rest)]
    return predicted_folds(known, probabilities, "probabilities", sizes.taken, start, starts)
