"""Total least squares: errors in the columns as well as in the target."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.estimators.additive import is_flat, numeric_rows
from separatrix.estimators.base import LinearModel
from separatrix.estimators.targets import numeric
from separatrix.linear.least_squares.total import fit_total_least_squares
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding, identity
from separatrix.statistics.moments import Moments
from separatrix.statistics.preparation import prepare
from separatrix.statistics.triangular import TriangularFactor


class TotalLeastSquares(RegressorMixin, LinearModel):
    """min over b, a of Σ w (y − a − b·x)² / (1 + ‖b‖²): squared distances at right angles.

    Least squares blames the target for every error; this model blames the columns as well, each in
    proportion. An orthogonal distance adds squares of all columns, so it depends on their units by
    definition: give columns and target units in which their errors are about equal.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the plane may miss the origin; it then goes through the means.

    Notes
    -----
    Says so (SEP004) where several planes are equally near; refuses where the nearest plane is
    parallel to the direction of the target. Several targets are fitted together: one flat of lower
    dimension, not one plane each.
    """

    _multi_output = True

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        rows = self._training_rows(X, y, sample_weight)
        prepared = prepare(rows)
        numeric(prepared.moments.targets)
        self.moments_ = prepared.moments
        self.factor_ = prepared.rows.reduce(TriangularFactor(shift=self._origin()))
        return self._learn(prepared.encoding, flat=is_flat(rows, y))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to these rows together with all rows given before: triangular factors add up."""
        if not hasattr(self, "factor_"):
            return self.fit(X, y, sample_weight)
        rows = numeric_rows(self._training_rows(X, y, sample_weight, reset=False))
        self.moments_ = self.moments_ + rows.reduce(Moments())
        self.factor_ = self.factor_ + rows.reduce(self.factor_)
        return self._learn(identity(rows.schema), flat=is_flat(rows, y))

    def _origin(self) -> Floats:
        """The point about which the factor is formed: near the middle of the first rows."""
        return self.moments_.mean if self.fit_intercept else np.zeros_like(self.moments_.mean)

    def _learn(self, encoding: Encoding, *, flat: bool) -> Self:
        solution = fit_total_least_squares(
            self.factor_, self.moments_, fit_intercept=self.fit_intercept
        )
        self._accept(solution, encoding, flat=flat)
        return self
