"""Least squares: the affine map with the smallest sum of squared residuals."""

from __future__ import annotations

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.estimators.additive import MomentEstimator, PartialFitMixin, TrainingData
from separatrix.linear.elastic_net.problem import Settings
from separatrix.linear.elastic_net.solve import Source, claiming, solve_elastic_net
from separatrix.linear.least_squares.minimum_norm import solve_wide
from separatrix.linear.least_squares.solve import fit_least_squares, say
from separatrix.linear.least_squares.sparse import solve_sparse, too_many_columns
from separatrix.linear.summary import Evidence, InferenceMixin
from separatrix.optimize.solution import Solution
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.block import Block, Floats


class LinearRegression(InferenceMixin, PartialFitMixin, RegressorMixin, MomentEstimator):
    """min over b, a of Σ w (y − a − b·x)².

    The answer does not depend on the units of the columns. Where columns depend on each other the
    fitted values are still unique; of the coefficients the shortest set is returned, and the
    dependent columns are named on ``certificate_``.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether the map has a constant ``a``.
    positive : bool, default=False
        Allow no negative coefficient.
    copy_X, tol, n_jobs
        Taken so that code written for scikit-learn runs; the answer does not depend on them.

    Attributes
    ----------
    coef_, intercept_ : the map; shapes as in scikit-learn.
    certificate_ : how good the answer is, and how many of its digits can be trusted.
    marginal_coef_ : the slope of every column on its own, as if columns were uncorrelated.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import LinearRegression
    >>> x = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> model = LinearRegression().fit(x, [3.1, 4.9, 7.0, 9.0])
    >>> model.coef_.round(2), round(model.intercept_, 2)
    (array([1.98]), 1.05)
    """

    _multi_output = True

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        tol: float = 1e-6,
        n_jobs: int | None = None,
        positive: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.tol = tol
        self.n_jobs = n_jobs
        self.positive = positive

    def _solve(self, given: TrainingData) -> Solution:
        if self.positive:
            return self._not_negative(given.moments)
        solution = fit_least_squares(given.rows, given.moments, fit_intercept=self.fit_intercept)
        self.evidence_ = Evidence.of(solution, given.moments, fit_intercept=self.fit_intercept)
        return solution

    def _not_negative(self, source: Source) -> Solution:
        self.evidence_ = None  # a coefficient held at zero has no normal law
        settings = Settings(fit_intercept=self.fit_intercept, positive=True)
        claim = "Least squares: no other coefficients ≥ 0 fit these rows better"
        return claiming(claim, solve_elastic_net(source, 0.0, settings))

    def _solve_wide(self, rows: ArrayRows) -> Solution:
        if self.positive:
            return self._not_negative(rows.block)
        self.evidence_ = None  # (XᵀX)⁻¹ does not exist, or is too large to form
        if too_many_columns(rows.block):
            none = np.zeros(rows.block.y.shape[1])
            return solve_sparse(rows.block, none, fit_intercept=self.fit_intercept)
        solution = solve_wide(rows.block, fit_intercept=self.fit_intercept)
        say(solution.certificate)
        return solution

    def _wide(self, block: Block) -> bool:
        return super()._wide(block) or too_many_columns(block)

    @property
    def rank_(self) -> int:
        """The number of independent columns (about their means, where there is an intercept)."""
        assert self.certificate_.rank is not None
        return self.certificate_.rank

    @property
    def marginal_coef_(self) -> Floats:
        """σ_xy / σ_xx column by column: what d separate one-column fits would give.

        Equal to ``coef_`` where columns are uncorrelated; the difference shows the harm otherwise.
        """
        assert self.moments_ is not None
        m = self.moments_ if self.fit_intercept else self.moments_.about_origin()
        variance = np.diag(m.xx)[:, None]
        slope = np.divide(m.xy, variance, out=np.zeros_like(m.xy), where=variance > 0)
        return slope[:, 0] if np.ndim(self.coef_) == 1 else slope.T
