"""Least squares: the affine map with the smallest sum of squared residuals."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import RegressorMixin

from separatrix.models.base import LinearModel
from separatrix.solvers.least_squares import solve_least_squares
from separatrix.statistics.preparation import prepare


class LinearRegression(RegressorMixin, LinearModel):  # type: ignore[misc]
    """min over b, a of Σ w (y − a − b·x)².

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the map has a constant ``a``.
    """

    _multi_output = True

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        rows = self._training_rows(X, y, sample_weight)
        prepared = prepare(rows)
        solution = solve_least_squares(prepared.moments, fit_intercept=self.fit_intercept)
        self._accept(solution, prepared.encoding, flat=getattr(y, "ndim", 1) == 1)
        return self
