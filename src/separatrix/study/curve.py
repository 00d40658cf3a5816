"""The learning curve: error against the amount of training data, on the training part alone."""

from __future__ import annotations

import warnings

import numpy as np

from separatrix.messages import InputError, SeparatrixWarning
from separatrix.study.candidates import Candidate
from separatrix.study.data import TEST, RowFolds
from separatrix.study.result import LearningCurve

#: Shares of the training rows of a fold.
SHARES = (0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
FEWEST_ROWS = 5
#: Terms, and terms times rows times classes, from which fits take so long that every other point
#: and two folds must do.
MANY_TERMS = 300
MUCH = 3e7


def learning_curve(
    candidate: Candidate, bench: RowFolds, metric: str, seed: int
) -> LearningCurve | None:
    """Error on the rows used and on the fold left out, by size; a row for each size.

    Each size is a prefix of one random order, so that a larger set contains the smaller ones.
    """
    order = np.random.default_rng(seed).permutation(len(bench.labels))
    terms = len(bench.table.block.terms)
    work = terms * len(bench.training) * bench.table.block.y.shape[1]
    slow = candidate.slow or terms > MANY_TERMS or work > MUCH
    folds = bench.fold_labels[:2] if slow else bench.fold_labels
    inside = [
        order[(bench.labels[order] != TEST) & (bench.labels[order] != fold)] for fold in folds
    ]
    outside = [np.flatnonzero(bench.labels == fold) for fold in folds]
    fewest = min(len(rows) for rows in inside)
    shares = SHARES[1::2] if slow else SHARES
    sizes = sorted({max(FEWEST_ROWS, int(share * fewest)) for share in shares})
    train, validation, kept = [], [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparatrixWarning)
        for size in sizes:
            try:
                pairs = [
                    bench.error(candidate, rows[:size], out)
                    for rows, out in zip(inside, outside, strict=True)
                ]
            except InputError:  # too few rows for this model: the curve starts further right
                continue
            kept.append(size)
            train.append([a for a, _ in pairs])
            validation.append([b for _, b in pairs])
    if len(kept) < 2:
        return None
    return LearningCurve(tuple(kept), np.array(train), np.array(validation), metric)
