"""What a search of SVMs found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from separatrix.rows.block import Floats
from separatrix.selection.tuning import Tuning, best_by_fold
from separatrix.svm.tuning.sample import Sample
from separatrix.svm.tuning.search import simplest_first
from separatrix.svm.tuning.validation import Point


@dataclass(frozen=True)
class SVMTuning(Tuning):
    """:class:`Tuning` with the number of support vectors of every combination.

    A row of the search counts by the share of the folds' SVMs, of those that it trains, in which it
    is a support vector. ``n_search_rows`` is the number of rows that were compared; SMO took
    ``row_iterations`` (iterations times rows) in one fold up to the chosen C. The model is fitted
    to ``fit_rows`` evenly spaced rows, 0 for all.
    """

    n_support: Floats = field(default_factory=lambda: np.zeros(0))
    n_search_rows: int = 0
    row_iterations: float = 0.0
    fit_rows: int = 0


def tuning_of(sample: Sample, points: Sequence[Point]) -> SVMTuning:
    """The choice among the points, for all rows and for each fold, and predictions by it."""
    ordered, tested = simplest_first(points), sample.tested
    losses = np.stack([point.losses for point in ordered])
    fold = sample.fold[tested]
    weights = np.bincount(fold, sample.w[tested], losses.shape[1]).astype(float)
    best, by_fold = best_by_fold(losses, weights)
    predictions = np.empty_like(ordered[0].scores)
    for f, chosen in enumerate(by_fold):
        predictions[fold == f] = ordered[chosen].scores[fold == f]
    return SVMTuning(
        parameters=ordered[best].parameters,
        grid=tuple(point.parameters for point in ordered),
        losses=losses,
        by_fold=by_fold,
        rows=sample.rows[tested],
        predictions=predictions,
        kind="scores" if sample.data.n_classes else "values",
        n_support=np.array([point.n_support for point in ordered]),
        n_search_rows=sample.n,
        row_iterations=ordered[best].row_iterations,
    )
