"""A Gaussian process of classes on the folds of a comparison, within a number of operations.

    θ̂_f = argmax Σ over classes of log p(y_S | θ),   S a sample of the training rows of fold f

As for numbers (:mod:`separatrix.bayes.process.tuning.folds`), hyperparameters are learned from a
sample and more rows are taken in. One length scale in standard deviations serves all columns, and
one kernel all classes, each against the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.bayes.process.classification.binary import BinaryProcess
from separatrix.bayes.process.classification.search import LaplaceEvidence
from separatrix.bayes.process.trust_region import Box, Maximum, maximize
from separatrix.bayes.process.tuning.folds import Sizes, predicted_folds
from separatrix.estimators.class_labels import outputs_of
from separatrix.kernels import Constant, Gaussian, Kernel
from separatrix.rows.block import Floats, Ints, to_array
from separatrix.selection.tuning import Tuning, TuningData, require_classes
from separatrix.threads import parallel_map

#: Evaluations of the evidence in the first fold, and in each other one.
FIRST, NEXT = 14, 5
#: Operations of one evaluation, and of taking rows in, times n³: several Newton steps each.
EVALUATION, TAKEN = 16.0, 8.0
#: Part of the work that is spent on learning.
LEARNING = 0.6
#: Rows that are learned from, at least and at most; rows that are taken in, at most.
LEAST_ROWS, MOST_ROWS, MOST_TAKEN = 60, 300, 2_000
#: Gain in nats that the last step may leave; half width of the box about the start, as a logarithm.
TOLERANCE, WIDTH = 0.1, 6.0


def class_sizes(data: TuningData) -> Sizes:
    """As many rows as the work allows, for all classes together."""
    folds, classes = len(data.folds.pairs), len(outputs_of(data.n_classes))
    evaluations = classes * (FIRST + NEXT * folds)
    learned = (LEARNING * data.work / (EVALUATION * evaluations)) ** (1.0 / 3.0)
    taken = ((1.0 - LEARNING) * data.work / (TAKEN * classes * folds)) ** (1.0 / 3.0)
    size = int(np.clip(learned, LEAST_ROWS, MOST_ROWS))
    return Sizes(size, int(np.clip(taken, size, MOST_TAKEN)))


@dataclass(frozen=True)
class TunedClasses:
    """The kernel of a sample of all rows, in standard units, and how many rows a fit may take."""

    kernel: Kernel
    most_rows: int


def spread_over_classes(codes: Ints, at: Ints, count: int) -> Ints:
    """About ``count`` of the rows, of each class by its share and one at least."""
    if len(at) <= count:
        return at
    order = at[np.random.default_rng(0).permutation(len(at))]
    chosen = []
    for code in np.unique(codes[at]):
        own = order[codes[order] == code]
        chosen.append(own[: max(2, round(count * len(own) / len(at)))])
    return np.sort(np.concatenate(chosen))


def learned_kernel(data: TuningData, z: Floats, at: Ints, near: Maximum | None) -> Maximum:
    """The maximum of the evidence of all classes together, each against the rest."""
    codes, kernel = np.asarray(data.y), _kernel()
    parts = [
        LaplaceEvidence(kernel, z[at], (codes[at] == c).astype(float), data.w[at], 100)
        for c in outputs_of(data.n_classes)
    ]

    def objective(theta: Floats) -> tuple[float, Floats]:
        found = [part(theta) for part in parts]
        return sum(value for value, _ in found), np.sum([slope for _, slope in found], axis=0)

    # distances of standardized rows grow with the root of the columns
    start = np.log([10.0, np.sqrt(max(1, z.shape[1]))])
    box = Box.of(start - WIDTH, start + WIDTH)
    if near is None:
        return maximize(objective, start, box, tolerance=TOLERANCE, max_evaluations=FIRST)
    return maximize(
        objective,
        near.theta,
        box,
        curvature=near.curvature,
        tolerance=TOLERANCE,
        max_evaluations=NEXT,
    )


def _kernel() -> Kernel:
    return Constant(1.0) * Gaussian(1.0)


def predicted(data: TuningData, z: Floats, kernel: Kernel, train: Ints, test: Ints) -> Floats:
    """Probabilities of rows by processes of each class against the rest."""
    codes = np.asarray(data.y)
    found = [
        BinaryProcess.of(
            kernel, z[train], (codes[train] == c).astype(float), data.w[train], max_steps=100
        ).probabilities(z[test])
        for c in outputs_of(data.n_classes)
    ]
    if data.n_classes == 2:
        return np.column_stack([1.0 - found[0], found[0]])
    p = np.stack(found, axis=1)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def tune_classes(data: TuningData) -> Tuning:
    """Probabilities out of fold, and the kernel of a sample of all rows for a fit to them."""
    require_classes(data)
    z, sizes = np.ascontiguousarray(to_array(data.z), dtype=float), class_sizes(data)
    codes, pairs = np.asarray(data.y), data.folds.pairs
    known = [(train[data.w[train] > 0.0], test) for train, test in pairs]

    def fold(pair: tuple[Ints, Ints], near: Maximum | None) -> tuple[Maximum, Floats]:
        train, test = pair
        end = learned_kernel(data, z, spread_over_classes(codes, train, sizes.learned), near)
        some = spread_over_classes(codes, train, sizes.taken)
        return end, predicted(data, z, _kernel().with_theta(end.theta), some, test)

    first = fold(known[0], None)
    rest = parallel_map(lambda pair: fold(pair, first[0]), known[1:])
    every = np.flatnonzero(data.w > 0.0)
    whole = learned_kernel(data, z, spread_over_classes(codes, every, sizes.learned), first[0])
    start, *starts = (
        TunedClasses(_kernel().with_theta(end.theta), MOST_TAKEN)
        for end in (whole, first[0], *(end for end, _ in rest))
    )
    found = [p for _, p in (first, *rest)]
    return predicted_folds(known, found, "probabilities", sizes.taken, start, starts)
