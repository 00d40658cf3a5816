"""Pictures of columns: as they are, how much each matters, and what the model makes of it."""

from __future__ import annotations

import numpy as np

from separatrix.pictures import (
    ColumnDistributionDisplay,
    CorrelationDisplay,
    Display,
    PartialDependenceDisplay,
    PermutationImportanceDisplay,
)
from separatrix.report.figures.gallery import Gallery
from separatrix.study.explanation.records import (
    ColumnDistribution,
    ColumnImportance,
    PartialDependence,
)
from separatrix.study.result import Study

#: The score that a loss of rows is drawn as.
_METRICS = {
    "squared_error": "rmse",
    "absolute_error": "mae",
    "log_loss": "log_loss",
    "error": "error",
    "balanced_error": "balanced_error",
    "cost": "cost",
}


def columns(study: Study) -> Gallery:
    """Histogram of the target, and correlations; of other columns where no model makes use of them.

    Those that the model uses are drawn beside their partial dependence.
    """
    gallery = Gallery()
    drawn = {curve.column for curve in study.dependence}
    for found in study.distributions:
        if found.column == study.target or (not drawn and study.importance is None):
            gallery.pictures.append(_distribution(found, study.target))
    pairs = study.correlations
    if pairs is not None:
        gallery.add(
            lambda: CorrelationDisplay(
                pairs.columns, pairs.matrix, pairs.n_columns + (study.target in pairs.columns)
            )
        )
    return gallery


def importance(study: Study) -> Gallery:
    """Permutation importance of the columns."""
    gallery, found = Gallery(), study.importance
    if found is not None:
        gallery.pictures.append(_importance(found))
    return gallery


def dependence(study: Study) -> Gallery:
    """The leading columns: each in the data, and beside it what the model makes of it."""
    gallery = Gallery()
    known = {d.column: d for d in study.distributions if d.column != study.target}
    for curve in study.dependence:
        if curve.column in known:
            gallery.pictures += [
                _distribution(known[curve.column], study.target),
                _dependence(curve),
            ]
    return gallery


def _importance(found: ColumnImportance) -> Display:
    return PermutationImportanceDisplay.from_losses(
        found.columns,
        found.increase,
        np.stack([found.low, found.high], axis=1),
        found.base,
        squared=found.loss == "squared_error",
        metric=_METRICS[found.loss],
        n_columns=found.n_columns,
    )


def _dependence(found: PartialDependence) -> Display:
    return PartialDependenceDisplay(
        found.column,
        found.levels or found.values,
        found.average,
        found.outputs,
        found.individual,
        found.deciles,
        found.scale,
        found.display,
    )


def _distribution(found: ColumnDistribution, target: str) -> Display:
    return ColumnDistributionDisplay(
        found.column,
        found.counts,
        None if found.levels else found.edges,
        found.levels,
        found.classes,
        found.mean,
        found.deviation,
        target,
        found.missing,
        found.outside,
        found.display,
    )
