"""Predictive distributions of rows: given, or those of a fitted model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats

if TYPE_CHECKING:
    from separatrix.bayes.predictive import PredictiveDistribution


def predictive_of(model: Any, X: Any) -> PredictiveDistribution:
    """The predictive distribution of each row: ``predictive``, or scikit-learn's ``return_std``."""
    from separatrix.bayes.predictive import PredictiveDistribution

    if hasattr(model, "predictive"):
        found: PredictiveDistribution = model.predictive(X)
        return found
    try:
        mean, deviation = model.predict(X, return_std=True)
    except TypeError:
        raise InputError(
            f"{type(model).__name__} predicts numbers without a distribution.",
            remedy="Use BayesianRidge or GaussianProcessRegressor, say.",
        ) from None
    return PredictiveDistribution(np.asarray(mean, float), np.asarray(deviation, float))


def observed(y: Any, predictive: PredictiveDistribution) -> Floats:
    """The targets as numbers, one for each distribution."""
    found = np.asarray(y, dtype=float)
    if found.ndim != 1 or found.shape != np.shape(predictive.mean) or not found.size:
        raise InputError(
            f"y has shape {found.shape}, the predictive distributions {predictive.mean.shape}."
        )
    return found


def level_text(level: float) -> str:
    """0.95 as 95 %."""
    return f"{100 * level:.4g} %"
