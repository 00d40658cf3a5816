"""The learning curve of the chosen model: error against the number of training rows."""

from __future__ import annotations

import numpy as np

from separatrix.messages import InputError
from separatrix.selection.tuning import Tuning
from separatrix.study.candidates import Candidate
from separatrix.study.comparison.cross_validation import muted
from separatrix.study.folds import RowFolds, error_on, thinned
from separatrix.study.result import LearningCurve

#: Fractions of the training rows of a fold.
FRACTIONS, SLOW_FRACTIONS = (0.1, 0.2, 0.4, 0.7, 1.0), (0.2, 0.5, 1.0)
MIN_ROWS = 5
#: Folds that the curve is averaged over.
MOST_FOLDS = 3
#: Terms, and terms times rows times classes, from which fits take so long that every other point
#: and two folds must do.
MANY_TERMS = 300
MUCH_WORK = 3e7
#: Rows that a slow model is fitted to, and rows that any is scored on, at most.
MAX_SLOW_ROWS, MAX_SCORED = 3_000, 2_000


def learning_curve(
    candidate: Candidate,
    folds: RowFolds,
    metric: str,
    seed: int,
    tuning: Tuning | None = None,
) -> LearningCurve | None:
    """Training and validation error by number of training rows, on the folds alone.

    Each size is a prefix of one random order, so that a larger set contains the smaller ones.
    Tuned parameters stay those that were chosen: nothing is tuned again.
    """
    order = np.random.default_rng(seed).permutation(len(folds.labels))
    terms = len(folds.table.block.terms)
    work = terms * len(folds.training) * folds.table.block.y.shape[1]
    slow = candidate.slow or terms > MANY_TERMS or work > MUCH_WORK
    splits = []
    many = slow and len(folds.training) > MAX_SLOW_ROWS
    for fold in range(folds.k)[: 1 if many else 2 if slow else MOST_FOLDS]:
        training, outside = folds.split(fold)
        member = np.zeros(len(order), dtype=bool)
        member[training] = True
        splits.append((order[member[order]], outside))
    smallest = min(len(training) for training, _ in splits)
    if many:
        smallest = min(smallest, MAX_SLOW_ROWS)
    fractions = SLOW_FRACTIONS if slow else FRACTIONS
    sizes, train, validation = [], [], []
    source = folds.source(candidate)
    for size in sorted({max(MIN_ROWS, int(fraction * smallest)) for fraction in fractions}):
        errors = []
        try:
            with muted():
                for training, outside in splits:
                    model = folds.fitted(candidate, training[:size], tuning)
                    sides = (thinned(training[:size], MAX_SCORED), thinned(outside, MAX_SCORED))
                    errors.append([error_on(model, source.take(rows)) for rows in sides])
        except InputError:  # too few rows for this model: the curve starts further right
            continue
        sizes.append(size)
        train.append([a for a, _ in errors])
        validation.append([b for _, b in errors])
    if len(sizes) < 2:
        return None
    return LearningCurve(tuple(sizes), np.array(train), np.array(validation), metric)
