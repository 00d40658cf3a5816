"""A Gaussian process on the folds of a comparison, within a number of operations.

    θ̂_f = argmax log p(y_S | θ),   S a sample of the training rows of fold f

Learning is cubic in the rows and takes many evaluations, taking rows in takes one factorization: so
hyperparameters are learned from a sample, and the process then takes in all training rows, or as
many as the work allows. Kernels with one length scale and with one for each column are learned, and
the one is taken that gives higher density to training rows which it was not learned from. Ascents
of the other folds start where that of the first one ended, and are short; the targets of a fold are
nowhere in what its predictions come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.bayes.process.evidence import Evidence, Factored, TrainingRows, factorize
from separatrix.bayes.process.fitting import least_jitter
from separatrix.bayes.process.leave_one_out import leave_one_out
from separatrix.bayes.process.posterior import Posterior, posterior_mean
from separatrix.bayes.process.starts import box_around, data_starts, natural_kernel
from separatrix.bayes.process.trend import TrendBasis
from separatrix.bayes.process.trust_region import Maximum, maximize
from separatrix.kernels import Constant, Gaussian, Kernel, White
from separatrix.rows.block import Floats, Ints, to_array
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.threads import parallel_map

#: Evaluations of the evidence in the first fold, and in each other one.
FIRST, NEXT = 40, 16
#: Operations of one evaluation of n rows: times n³, and times n² for a column and beside.
CUBIC, COLUMN, ENTRY = 4.0, 12.0, 120.0
#: Part of the work that is spent on learning.
LEARNING = 0.7
#: Rows that are learned from, at least and at most; columns with a length scale each, at most.
LEAST_ROWS, MOST_ROWS, MOST_SCALES = 60, 400, 20
#: Rows beyond the sample by which kernels are compared; of fewer, those left out one at a time.
MOST_FURTHER, LEAST_FURTHER = 300, 60
#: Gain in nats that the last step may leave.
TOLERANCE = 0.1


def evaluation_work(n: int, d: int) -> float:
    """Operations of the evidence of n rows and its gradient."""
    return CUBIC * n**3 + (COLUMN * d + ENTRY) * n**2


@dataclass(frozen=True)
class Sizes:
    """Rows of a sample to learn from, and training rows that are taken in."""

    learned: int
    taken: int

    @classmethod
    def of(cls, data: TuningData) -> Sizes:
        """As many as the work allows."""
        folds, d = len(data.folds.pairs), min(data.x.shape[1], MOST_SCALES)
        each = LEARNING * data.work / (FIRST + NEXT * folds)
        learned = MOST_ROWS
        while learned > LEAST_ROWS and evaluation_work(learned, d) > each:
            learned -= 10
        taken = int((3.0 * (1.0 - LEARNING) * data.work / folds) ** (1.0 / 3.0))
        return cls(learned, max(taken, learned))


@dataclass(frozen=True)
class ScaledRows:
    """Training rows in standard units: columns as given, targets about their mean.

    They are in an order drawn by a fixed seed, so that the first ones are a sample.
    """

    rows: TrainingRows
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
        rows = TrainingRows(z[at], target, w, np.zeros(len(at)), np.ones((len(at), 1)))
        return cls(rows, center, scale, n_rows)

    def first(self, count: int) -> TrainingRows:
        """The first rows."""
        return self.rows if self.rows.n <= count else self.rows.take(slice(count))

    def next(self, count: int, after: int) -> TrainingRows | None:
        """Rows after those; None if there are few."""
        if self.rows.n < after + LEAST_FURTHER:
            return None
        return self.rows.take(slice(after, after + count))


@dataclass(frozen=True)
class Ends:
    """Where ascents ended: with one length scale for all columns, and with one for each."""

    shared: Maximum
    own: Maximum | None


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
    rows, further = scaled.first(count), scaled.next(MOST_FURTHER, count)
    d = rows.x.shape[1]
    natural = natural_kernel(shared_kernel(), rows)
    start = data_starts(natural)[0]
    shared = _ascent(shared_kernel(), rows, start, None if near is None else near.shared)
    kernels = [shared_kernel().with_theta(data_starts(natural)[2])]
    if np.isfinite(shared.value):
        kernels.append(shared_kernel().with_theta(shared.theta))
    own = None
    if 1 < d <= MOST_SCALES and np.isfinite(shared.value):
        variance, length, noise = shared.theta
        wide = np.array([variance, *[length] * d, noise])
        own = _ascent(own_kernel(d), rows, wide, None if near is None else near.own)
        if np.isfinite(own.value):
            kernels.append(own_kernel(d).with_theta(own.theta))
    scores = [_score(kernel, rows, further) for kernel in kernels]
    best = int(np.argmax(scores))
    return LearnedKernel(kernels[best], Ends(shared, own), best > 0, scaled.n_rows)


def _ascent(kernel: Kernel, rows: TrainingRows, start: Floats, near: Maximum | None) -> Maximum:
    """From a start, or from the end of another ascent and with its curvature."""
    objective, natural = Evidence(kernel, rows), natural_kernel(kernel, rows)
    if near is not None and np.isfinite(objective.value(near.theta)):
        return maximize(
            objective,
            near.theta,
            box_around(natural, near.theta),
            curvature=near.curvature,
            tolerance=TOLERANCE,
            max_evaluations=NEXT // 2,
        )
    box = box_around(natural, start)
    return maximize(objective, start, box, tolerance=TOLERANCE, max_evaluations=FIRST // 2)


def _score(kernel: Kernel, rows: TrainingRows, further: TrainingRows | None) -> float:
    """Mean log density of rows beyond the sample, or of each row of it given the others."""
    found = factorize(kernel, rows)
    if found is None:
        return -np.inf
    if further is None:
        left = leave_one_out(found, rows, np.zeros(1), np.ones(1))
        return left.log_score / float(rows.w.sum())
    density = _predictive(found, rows, further.x).log_density(further.y[:, 0])
    return float(np.average(density, weights=further.w))


def _predictive(found: Factored, rows: TrainingRows, new: Floats) -> PredictiveDistribution:
    """New rows in standard units."""
    basis = TrendBasis.of("constant", rows.x, rows.w)
    mean = posterior_mean(found.split, rows.x, found.alpha, basis, found.coef, new)[:, 0]
    variance = Posterior(rows.x, found, basis).variance(new, noise=True)
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
    found = factorize(chosen.kernel, rows)
    if found is None:
        rows = rows.with_noise(least_jitter(chosen.kernel, rows))
        found = factorize(chosen.kernel, rows)
        assert found is not None
    answer = _predictive(found, rows, z[test])
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
    found = predicted_folds(pairs, means, "values", sizes.taken, start, starts)
    return replace(found, deviations=deviation)


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
