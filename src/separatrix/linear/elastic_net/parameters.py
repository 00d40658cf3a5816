"""Checks of the parameters that lasso and elastic net share."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from separatrix.estimators.additive import TrainingData
from separatrix.messages import InputError, check_option, warn_as

#: Difference of two Gram matrices, relative to the lengths of the columns, that is rounding.
SAME_GRAM = 1e-4


def check_parameters(model: Any) -> None:
    """Refuse parameters of the wrong kind, whether or not they have an effect."""
    check_option("selection", getattr(model, "selection", "cyclic"), ("cyclic", "random"))
    precompute = getattr(model, "precompute", False)
    if isinstance(precompute, str):
        check_option("precompute", precompute, ("auto",), "True, False or a Gram matrix")
    for name, least in (("tol", 0.0), ("max_iter", 1), ("l1_ratio", 0.0)):
        value = getattr(model, name)
        if not isinstance(value, Real) or not float(value) >= least:
            raise InputError(f"{name}={value!r} must be a number, at least {least:g}.")


def refuse_other_gram(precompute: Any, data: TrainingData, fit_intercept: bool) -> None:
    """Refuse a Gram matrix in ``precompute`` that is not that of the columns."""
    if precompute is None or isinstance(precompute, bool | np.bool_ | str):
        return
    gram, m = np.asarray(precompute, dtype=float), data.moments
    d = len(data.source.terms)
    if gram.shape != (d, d):
        raise InputError(f"precompute is a matrix of shape {gram.shape}, not {(d, d)}.")
    if m is None:
        return
    for centered in (True, False) if fit_intercept else (False,):
        about = m if centered else m.about_origin()
        length = np.sqrt(np.maximum(np.diag(about.xx), np.finfo(float).tiny))
        for factor in (1.0, m.count / m.weight):  # scikit-learn scales weights to a mean of one
            error = np.abs(factor * about.xx - gram) / (factor * np.outer(length, length))
            if error.max(initial=0.0) > SAME_GRAM:
                continue
            if fit_intercept and not centered:
                warn_as(
                    UserWarning,
                    "Gram matrix was provided but X was centered to fit intercept: recomputing "
                    "Gram matrix.",
                )
            return
    raise InputError(
        "Gram matrix passed in via 'precompute' did not pass validation: it is not that of the "
        "columns of X.",
        remedy="Leave precompute away: inner products are computed once in any case.",
    )
