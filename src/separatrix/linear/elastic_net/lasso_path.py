"""The path of the lasso, and the point of it with the best criterion."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.additive import PartialFitMixin, Source, TrainingData
from separatrix.linear.elastic_net.columns import elastic_net_problem
from separatrix.linear.elastic_net.figures import elastic_net_figures
from separatrix.linear.elastic_net.lasso import ElasticNetBase
from separatrix.linear.elastic_net.path import StoppingRule
from separatrix.linear.elastic_net.problem import ElasticNetPath
from separatrix.linear.elastic_net.solve import solve_elastic_net, solve_penalized
from separatrix.messages import InputError, check_option, warn
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding
from separatrix.selection import rules
from separatrix.selection.criteria.figures import PathFigures

#: Relative duality gap of the selected point, to which it is solved once more.
FINAL = 1e-8


class LassoPathBase(ElasticNetBase):
    """Base class of models that compute the path and select a point of it."""

    alphas: Any
    eps: float
    _accuracy = 1e-6
    _column_is_vector = True

    def coef_at(self, alpha: float) -> tuple[Floats, float]:
        """Coefficients and intercept at any penalty, from the nearest solution on the path."""
        check_is_fitted(self)
        source, options = self._source(), self._options()
        if alpha > 0.0:
            nearest = int(np.argmin(np.abs(np.log(self.alphas_ / alpha))))
            near = self.coefs_[nearest][:, None]
            found: Solution = solve_penalized(source, float(alpha), options, near)
        else:
            block = source if isinstance(source, Block) else None
            data = TrainingData(self.moments_, block=block)
            found = solve_elastic_net(data, float(alpha), options)
        return found.coef[:, 0], float(found.intercept[0])

    def path_figures(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, cv: Any = None
    ) -> PathFigures:
        """What :func:`criteria` reads of the path; losses of folds where rows are given."""
        check_is_fitted(self)
        errors = getattr(self, "mse_path_", None)
        if X is not None and (errors is None or cv is not None):
            errors = self._cross_validated(X, y, sample_weight, cv)
        return elastic_net_figures(self, self._source().weight, errors)

    def _cross_validated(self, X: Any, y: Any, sample_weight: Any, cv: Any) -> Floats:
        """Mean squared errors of folds (m x folds) at the penalties of the path."""
        from separatrix.linear.elastic_net.lasso_cv import LassoCV

        names = ("fit_intercept", "max_iter", "tol", "positive", "l1_ratio", "standardize")
        shared = {name: getattr(self, name) for name in names}
        model = LassoCV(alphas=self.alphas_, cv=cv, **shared)
        return model.fit(X, y, sample_weight).mse_path_

    def _source(self) -> Source:
        if self.moments_ is not None:
            return self.moments_
        if self._rows is None:
            raise InputError(
                "This model was stored without its training rows, and with more columns than rows "
                "it has no moments either.",
                remedy="Use coefs_ at the stored alphas_, or fit again.",
            )
        return self._rows.collect()

    @abstractmethod
    def _best(self, path: ElasticNetPath, data: TrainingData) -> int:
        """Index of the penalty to predict with."""

    def _accept(self, solution: Solution, encoding: Encoding, *, flat: bool) -> None:
        super()._accept(solution, encoding, flat=flat)
        self._accept_sweeps(solution)

    def _solve(self, data: TrainingData) -> Solution:
        """The path over all rows, and its selected point solved to the KKT tolerance as well."""
        source, options = data.source, self._options()
        problem = elastic_net_problem(source, options)
        grid = rules.number_or_values(
            "alphas",
            100 if self.alphas is None else self.alphas,
            "For a fit without penalty use LinearRegression.",
        )
        grid = problem.grid(grid, float(self.eps)) if isinstance(grid, int) else grid[::-1]
        path = problem.path(grid, StoppingRule(options.tol, sweeps=options.max_iter))
        if not path.converged.all():
            warn(
                "SEP003",
                f"{np.count_nonzero(~path.converged)} of {len(grid)} points of the path stopped "
                f"after {options.max_iter} sweeps with a gap above tol; see gaps_. Raise max_iter "
                "or eps.",
            )
        self.alphas_, self.coefs_, self.intercepts_ = path.alphas, path.coefs, path.intercepts
        self.gaps_, self.degrees_of_freedom_ = path.gaps, path.freedom
        self.log_likelihoods_ = rules.gaussian_log_likelihood(path.rss, source.weight)
        best = self._best(path, data)
        self.alpha_ = float(path.alphas[best])
        finer = replace(options, tol=min(options.tol, FINAL))
        again = replace(problem, options=finer)
        return solve_penalized(source, self.alpha_, finer, path.coefs[best][:, None], again)


class LassoPath(PartialFitMixin, LassoPathBase):
    """The path of the lasso or elastic net, with the best point by AIC or BIC.

        b(α) = argmin (1/2Σw) Σ w (y − a − b·x)² + α ρ ‖b‖₁ + ½ α (1 − ρ) ‖b‖²    for every α

    Parameters
    ----------
    alphas : int or array, default=100
        Penalties, or how many to place on a log scale below the smallest one that sets all
        coefficients to zero.
    eps : float, default=1e-3
        Ratio of the last penalty to the first.
    l1_ratio : float, default=1.0
        Mixing parameter ρ: 1 is the lasso.
    criterion : {"bic", "aic"}, default="bic"
        Selects ``alpha_``.
    fit_intercept : bool, default=True
        Whether the model has an intercept, which is not penalized.
    max_iter : int, default=10000
        Limit of sweeps of coordinate descent at each penalty.
    tol : float, default=1e-6
        Duality gap at which to stop, relative to the objective at b = 0.
    positive : bool, default=False
        Whether coefficients are constrained to be ≥ 0.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns.

    Attributes
    ----------
    alphas_ : ndarray of shape (m,)
        The penalties, the largest first.
    coefs_ : ndarray of shape (m, d)
        Coefficients for every penalty.
    intercepts_ : ndarray of shape (m,)
        Intercepts for every penalty.
    gaps_ : ndarray of shape (m,)
        Duality gap at every penalty.
    degrees_of_freedom_ : ndarray of shape (m,)
        Effective degrees of freedom, without the intercept.
    log_likelihoods_ : ndarray of shape (m,)
        Gaussian log-likelihood for every penalty, at the variance of its residuals.
    aic_ : ndarray of shape (m,)
        Akaike's criterion for every penalty.
    bic_ : ndarray of shape (m,)
        The Bayesian information criterion for every penalty.
    alpha_ : float
        The selected penalty.
    coef_ : ndarray of shape (d,)
        Coefficients at ``alpha_``.
    intercept_ : float
        Intercept at ``alpha_``.
    certificate_ : Certificate
        Duality gap and KKT residual at ``alpha_``.

    See Also
    --------
    Lasso : One penalty.
    LassoCV : Selection by cross-validation.
    RidgePath : The path of ridge regression.

    References
    ----------
    Tibshirani et al., Strong rules for discarding predictors in lasso-type problems, 2012.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]
    >>> path = sx.LassoPath([1.5, 0.5]).fit(x, [-2.0, 2.0, -2.0, 2.0])
    >>> path.coefs_.round(6)
    array([[0.5, 0. ],
           [1.5, 0. ]])
    """

    def __init__(
        self,
        alphas: Any = 100,
        *,
        eps: float = 1e-3,
        l1_ratio: float = 1.0,
        criterion: str = "bic",
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-6,
        positive: bool = False,
        standardize: bool = False,
    ) -> None:
        self.alphas = alphas
        self.eps = eps
        self.l1_ratio = l1_ratio
        self.criterion = criterion
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.positive = positive
        self.standardize = standardize

    def _best(self, path: ElasticNetPath, data: TrainingData) -> int:
        check_option("criterion", self.criterion, ("aic", "bic"))
        freedom, weight = path.freedom + float(self.fit_intercept), data.source.weight
        self.aic_ = rules.aic(path.rss, freedom, weight)
        self.bic_ = rules.bic(path.rss, freedom, weight)
        return rules.minimum(path.alphas, self.aic_ if self.criterion == "aic" else self.bic_)
