"""What criteria of complexity read of a path of logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from separatrix.matrices.products import multiply
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.selection.criteria.figures import PathFigures

#: Parameters of a path that its fits to folds share.
SHARED = ("l1_ratio", "fit_intercept", "standardize", "class_weight", "tol", "max_iter")
NO_LEAST_SQUARES = "its closed form is that of least squares."
NO_EVIDENCE = "it has no closed form here; BayesianLogisticRegression approximates it."
NO_LIKELIHOOD = "this path was tuned on the folds of a study, and has no likelihoods."
NO_ROWS = "fractions of errors need the training rows: criteria(path, X, y)."
SEVERAL = "the bound is that of two classes."
FREEDOM = "degrees of freedom stand for the VC dimension."


def logistic_figures(
    model: Any, X: Any, y: Any, sample_weight: Any, fold_losses: Floats | None
) -> PathFigures:
    """Figures of a fitted path."""
    known = hasattr(model, "log_likelihoods_")
    reasons = {"MDL": NO_LEAST_SQUARES, "evidence": NO_EVIDENCE}
    errors = None
    if len(model.classes_) > 2:
        reasons["structural risk"] = SEVERAL
    elif X is None or y is None or isinstance(X, Rows):
        reasons["structural risk"] = NO_ROWS
    else:
        reasons["structural risk"] = FREEDOM
        errors = error_rates(model, X, y, sample_weight)
    if not known:
        reasons |= dict.fromkeys(("AIC", "AICc", "BIC", "structural risk"), NO_LIKELIHOOD)
    return PathFigures(
        "C",
        tuple(model.Cs_.tolist()),
        1.0 / model.Cs_,
        float(model.weight_) if known else np.nan,
        freedom=model.degrees_of_freedom_ if known else None,
        log_likelihood=model.log_likelihoods_ if known else None,
        errors=errors if known else None,
        fold_losses=fold_losses,
        loss="log loss",
        reasons=reasons,
    )


def error_rates(model: Any, X: Any, y: Any, sample_weight: Any) -> Floats:
    """Weighted fraction of rows that each point of a path of two classes gets wrong."""
    x = model._design(X)
    scores = np.asarray(multiply(x, model.coefs_[:, 0].T)) + model.intercepts_[:, 0]
    positive = column_or_1d(y) == model.classes_[1]
    wrong = (scores > 0.0) != positive[:, None]
    return np.asarray(np.average(wrong, axis=0, weights=sample_weight))
