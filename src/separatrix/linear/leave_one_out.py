"""Least squares and ridge regression without each of their rows, from the one fit.

    b₋ᵢ = b − (ZᵀWZ + αI)⁻¹ zᵢ eᵢ / (1 − hᵢ)

with z the rows about their mean, e the residuals and h the leverage of one copy of a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.rows.block import Floats, to_array, unit_weights
from separatrix.rows.rows import Rows
from separatrix.selection.leave_one_out import AffineFits, affine_fits

#: Numbers of a table up to which its fits, as large as the table, are formed.
MAX_NUMBERS = 50_000_000


def lines_without_each_row(
    model: Any, X: Any, y: Any, sample_weight: Any, penalty: float
) -> AffineFits | None:
    """The fits without each row; None where columns are encoded from the rows, or too large."""
    if not model.encoding_.is_identity or np.ndim(model.coef_) != 1:
        return None
    if isinstance(X, Rows):
        block = X.collect()
        design, y, sample_weight = block.x, block.y[:, 0], block.w
    else:
        design = model._design(X)
    n, d = design.shape
    if n * d > MAX_NUMBERS or n < 2:
        return None
    x, y = np.asarray(to_array(design), dtype=float), np.asarray(y, dtype=float).ravel()
    w = unit_weights(None if sample_weight is None else np.asarray(sample_weight, float), n)
    if (w < 1.0).any():  # less than one row, so that none can be left out of it
        return None

    def refit(i: int) -> tuple[Floats, float]:
        less = w.copy()
        less[i] = max(less[i] - 1.0, 0.0)
        other = clone(model).fit(x[less > 0], y[less > 0], sample_weight=less[less > 0])
        return other.coef_ - model.coef_, float(other.intercept_ - model.intercept_)

    fitted = np.asarray(x @ model.coef_ + model.intercept_, dtype=float)
    intercept = bool(model.fit_intercept)
    return affine_fits(x, y, fitted, w, penalty, fit_intercept=intercept, refit=refit)
