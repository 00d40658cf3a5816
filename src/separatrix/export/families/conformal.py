"""Conformal predictions: the model inside, and intervals where one quantile gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.conformal.base import checked_level, upper_quantile
from separatrix.export.families.wrappers import Translate
from separatrix.export.program import Builder, ClassAnswer, NumberAnswer, shifted
from separatrix.messages import InputError

NO_INTERVALS = (
    "Conformal intervals and sets are not part of the export, but for intervals by method='split' "
    "with absolute residuals."
)


def conformal_regressor(model: Any, b: Builder, translate: Translate, level: float) -> NumberAnswer:
    """ŷ ± q, q being a quantile of absolute residuals."""
    found = translate(model.estimator_, b)
    if not isinstance(found, NumberAnswer):
        raise InputError(f"{type(model).__name__} wraps no regression model.")
    plain = NumberAnswer(found.targets, found.predictions)
    split = model.method == "split" and model.categories_ is None
    q = np.inf
    if split and model.conformity == "absolute":
        q = float(upper_quantile(model.scores_, model.weights_, checked_level(level)))
    if not np.isfinite(q):
        b.notes.append(NO_INTERVALS)
        return plain
    (mean,) = found.predictions
    return NumberAnswer(found.targets, (mean,), (shifted(mean, q), shifted(mean, -q)))


def conformal_classifier(model: Any, b: Builder, translate: Translate) -> ClassAnswer:
    """The predictions of the model inside."""
    found = translate(model.estimator_, b)
    if not isinstance(found, ClassAnswer):
        raise InputError(f"{type(model).__name__} wraps no classifier.")
    b.notes.append(NO_INTERVALS)
    probabilities = found.probabilities if hasattr(model, "predict_proba") else ()
    return ClassAnswer(found.labels, found.choice, (), probabilities)
