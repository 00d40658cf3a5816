"""Lasso and elastic net: least squares with coefficients drawn to zero, some all the way."""

from __future__ import annotations

from typing import Any

from scipy import sparse
from sklearn.base import RegressorMixin

from separatrix.estimators.additive import MomentEstimator, PartialFitMixin, TrainingData
from separatrix.linear.elastic_net.problem import Settings
from separatrix.linear.elastic_net.solve import solve_elastic_net
from separatrix.optimize.solution import Solution
from separatrix.rows.arrays import ArrayRows

SELECTED = (
    "the lasso chose which coefficients are zero by looking at the same rows, and shrank the "
    "others; the theory of standard errors and p values does not hold after such a choice. Fit "
    "LinearRegression to the chosen columns on rows that were not used to choose them."
)


class ElasticNet(RegressorMixin, PartialFitMixin, MomentEstimator):
    """min over b, a of (1/2Σw) Σ w (y − a − b·x)² + α ρ ‖b‖₁ + ½ α (1 − ρ) ‖b‖².

    Parameters
    ----------
    alpha : float, default=1.0
        α, the weight of the penalty; 0 is least squares.
    l1_ratio : float, default=0.5
        ρ, the share of the ℓ₁ part: 1 is the lasso, 0 is ridge.
    fit_intercept : bool, default=True
        Whether the map has a constant ``a``, which is never penalised.
    max_iter : int, default=10000
        Sweeps of coordinate descent at most.
    tol : float, default=1e-8
        Duality gap at which to stop, as a share of the objective without coefficients.
    positive : bool, default=False
        Allow no negative coefficient.
    standardize : bool, default=False
        Measure the penalty on columns of unit variance, so that the fit does not depend on units.
        Coefficients are in the units of the table either way.
    precompute, copy_X, warm_start, random_state, selection
        Taken so that code written for scikit-learn runs; the answer does not depend on them.

    Attributes
    ----------
    coef_, intercept_ : the map; shapes as in scikit-learn.
    certificate_ : duality gap and distance to the optimality conditions.
    n_iter_ : sweeps of coordinate descent.
    """

    _multi_output = True
    _column_is_vector = True
    _no_inference = SELECTED

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-8,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        standardize: bool = False,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.standardize = standardize

    def _solve(self, given: TrainingData) -> Solution:
        return solve_elastic_net(
            given.moments, float(self.alpha), settings_of(self), rows=given.rows
        )

    def _solve_wide(self, rows: ArrayRows) -> Solution:
        source = rows.block if self.moments_ is None or not self.alpha else self.moments_
        return solve_elastic_net(source, float(self.alpha), settings_of(self))

    @property
    def dual_gap_(self) -> float:
        """The duality gap on the certificate."""
        return self.certificate_.gap

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a sparse matrix."""
        return sparse.csr_matrix(self.coef_)


class Lasso(ElasticNet):
    """min over b, a of (1/2Σw) Σ w (y − a − b·x)² + α ‖b‖₁: the elastic net without ℓ₂ part.

    Parameters
    ----------
    alpha : float, default=1.0
        α, the weight of the penalty; 0 is least squares.
    fit_intercept, max_iter, tol, positive, standardize, and those without effect
        As in :class:`ElasticNet`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import Lasso
    >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> model = Lasso(alpha=0.25).fit(x, [0.0, 1.0, 2.0, 3.0])
    >>> model.coef_.round(2)
    array([0.8, 0. ])
    """

    l1_ratio = 1.0

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-8,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        standardize: bool = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.standardize = standardize


def settings_of(model: Any) -> Settings:
    """The elastic net that an estimator's parameters ask for."""
    return Settings(
        l1_ratio=float(model.l1_ratio),
        fit_intercept=bool(model.fit_intercept),
        positive=bool(model.positive),
        standardize=bool(model.standardize),
        tol=float(model.tol),
        max_iter=int(model.max_iter),
    )
