"""Fits without each row in closed form: those a model knows itself, and scikit-learn's lines."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge

from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.rows import Rows
from separatrix.selection.leave_one_out import LeaveOneOutFits, affine_fits, leave_one_out_fits

#: Solvers of scikit-learn's ridge regression whose answers are exact.
EXACT = ("auto", "svd", "cholesky")
#: Numbers of a table up to which its fits, as large as the table, are formed.
MAX_NUMBERS = 50_000_000


def closed_form(model: Any, X: Any, y: Floats, w: Floats | None) -> LeaveOneOutFits | None:
    """The fits of a model without each of its rows; None where only refits give them."""
    if type(model) not in (LinearRegression, Ridge):
        return leave_one_out_fits(model, X, y, w)
    penalty = getattr(model, "alpha", 0.0)
    refused = model.positive or np.ndim(penalty) or np.ndim(model.coef_) != 1
    if refused or getattr(model, "solver", "auto") not in EXACT:
        return None
    if isinstance(X, Rows) or sparse.issparse(X) or len(y) < 2:
        return None
    x = np.asarray(X, dtype=float)
    if x.size > MAX_NUMBERS:
        return None
    weights = unit_weights(w, len(y))
    if (weights < 1.0).any():  # less than one row, so that none can be left out of it
        return None

    def refit(i: int) -> tuple[Floats, float]:
        less = weights.copy()
        less[i] = max(less[i] - 1.0, 0.0)
        at = less > 0.0
        other = clone(model).fit(x[at], y[at], sample_weight=less[at])
        return other.coef_ - model.coef_, float(other.intercept_ - model.intercept_)

    fitted = np.asarray(x @ model.coef_ + model.intercept_, dtype=float)
    return affine_fits(
        x, y, fitted, weights, float(penalty), fit_intercept=bool(model.fit_intercept), refit=refit
    )
