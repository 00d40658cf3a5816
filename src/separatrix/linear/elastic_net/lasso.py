"""Lasso and elastic net at one penalty."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import RegressorMixin

from separatrix.estimators.additive import MomentEstimator, PartialFitMixin, TrainingData
from separatrix.linear.elastic_net.parameters import check_parameters, refuse_other_gram
from separatrix.linear.elastic_net.penalty_path import elastic_net_path, lasso_path
from separatrix.linear.elastic_net.problem import ElasticNetOptions
from separatrix.linear.elastic_net.solve import ElasticNetSolution, solve_elastic_net
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Floats
from separatrix.rows.encoding import Encoding

SELECTED = (
    "the lasso selects coefficients on the same rows and shrinks the others, and standard errors "
    "and p values are not valid after such a selection. Fit LinearRegression to the selected "
    "columns on rows that were not used to select them."
)


class ElasticNetBase(RegressorMixin, MomentEstimator):
    """Base class of lasso and elastic net: options, and why there is no inference."""

    _no_inference = SELECTED
    l1_ratio: float
    fit_intercept: bool
    positive: bool
    standardize: bool
    tol: float
    max_iter: int
    _accuracy = 1e-8  # relative duality gap of every fit; a finer ``tol`` is followed
    _keeps_float32 = True

    def _accept_sweeps(self, solution: Solution, *, at_least: int = 1) -> None:
        """Set ``n_iter_`` and ``dual_gap_``: numbers for one target, else one for each."""
        sweeps = [max(at_least, solution.iterations)]
        gaps: Any = [solution.certificate.gap]
        if isinstance(solution, ElasticNetSolution):
            sweeps = [max(at_least, n) for n in solution.sweeps]
            gaps = solution.gaps
        one = solution.coef.shape[1] == 1
        self.n_iter_: Any = sweeps[0] if one else sweeps * (solution.coef.shape[1] // len(sweeps))
        self.dual_gap_: Any = float(gaps[0]) if one else np.resize(gaps, solution.coef.shape[1])

    def _options(self) -> ElasticNetOptions:
        check_parameters(self)
        return ElasticNetOptions(
            l1_ratio=float(self.l1_ratio),
            fit_intercept=bool(self.fit_intercept),
            positive=bool(self.positive),
            standardize=bool(self.standardize),
            tol=min(float(self.tol), self._accuracy) or self._accuracy,
            max_iter=int(self.max_iter),
        )


class ElasticNet(PartialFitMixin, ElasticNetBase):
    """Linear regression with an ℓ₁ and an ℓ₂ penalty.

        min over b, a of (1/2Σw) Σ w (y − a − b·x)² + α ρ ‖b‖₁ + ½ α (1 − ρ) ‖b‖²

    The intercept is not penalized.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight α of the penalty; 0 is least squares.
    l1_ratio : float, default=0.5
        Mixing parameter ρ: 1 is the lasso, 0 is ridge.
    fit_intercept : bool, default=True
        Whether the model has an intercept ``a``.
    precompute : bool or array, default=False
        Inner products of the columns are always used; a Gram matrix given here is compared with
        them.
    max_iter : int, default=1000
        Limit of sweeps of coordinate descent.
    copy_X : bool, default=True
        Accepted for compatibility with scikit-learn; it has no effect.
    tol : float, default=1e-4
        Duality gap at which to stop, relative to the objective at b = 0; the fit goes on to 1e-8
        if that is less.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    positive : bool, default=False
        Whether coefficients are constrained to be ≥ 0.
    random_state : int or None, default=None
        Accepted for compatibility with scikit-learn; it has no effect.
    selection : str, default="cyclic"
        Accepted for compatibility with scikit-learn; it has no effect.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns, so that the fit does not
        depend on units. Coefficients are in the units of the table either way.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (k, d)
        Coefficients b, one row per target if there are several.
    intercept_ : float or ndarray of shape (k,)
        Intercept a.
    certificate_ : Certificate
        Duality gap and KKT residual.
    n_iter_ : int or list of int
        Number of sweeps of coordinate descent, for each target if there are several.
    dual_gap_ : float or ndarray of shape (k,)
        The duality gap, for each target if there are several.
    sparse_coef_ : sparse matrix of shape (1, d) or (k, d)
        The coefficients as a sparse matrix.

    See Also
    --------
    Lasso : The ℓ₁ penalty alone.
    Ridge : The ℓ₂ penalty alone.
    LassoPath : All penalties, selected by AIC or BIC.
    LassoCV : The penalty with the least cross-validated error.

    References
    ----------
    Zou and Hastie, Regularization and variable selection via the elastic net, 2005.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]
    >>> model = sx.ElasticNet(alpha=1.0).fit(x, [-2.0, 2.0, -2.0, 2.0])
    >>> model.coef_.round(6)
    array([1., 0.])
    >>> model.certificate_.holds
    True
    """

    _multi_output = True
    _column_is_vector = True
    _column_keeps_intercept = True

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int = 1000,
        copy_X: bool = True,
        tol: float = 1e-4,
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
        self.max_iter = max_iter
        self.copy_X = copy_X
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.standardize = standardize

    #: Coefficients at every penalty of a grid, without intercept: :func:`elastic_net_path`.
    path = staticmethod(elastic_net_path)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        check_input: bool = True,  # noqa: ARG002
    ) -> Self:
        """Fit to ``X, y``, to :class:`~separatrix.rows.rows.Rows`, or to moments alone.

        ``check_input`` is accepted for compatibility with scikit-learn; the input is checked.
        """
        return super().fit(X, y, sample_weight)

    def _solve(self, data: TrainingData) -> Solution:
        options, start = self._options(), self._warm_start(data)
        refuse_other_gram(self.precompute, data, bool(self.fit_intercept))
        return solve_elastic_net(data, float(self.alpha), options, start)

    def _warm_start(self, data: TrainingData) -> Floats | None:
        """The coefficients of the last fit (d x k), if it is to start from them."""
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        coef = np.atleast_2d(self.coef_).T.astype(float)
        return coef if coef.shape == (len(data.source.terms), len(data.source.targets)) else None

    def _accept(self, solution: Solution, encoding: Encoding, *, flat: bool) -> None:
        again = bool(self.warm_start) and hasattr(self, "coef_")
        super()._accept(solution, encoding, flat=flat)
        self._accept_sweeps(solution, at_least=0 if again else 1)

    @property
    def sparse_coef_(self) -> Any:
        """``coef_`` as a sparse matrix."""
        return sparse.csr_matrix(np.atleast_2d(self.coef_))


class Lasso(ElasticNet):
    """Linear regression with an ℓ₁ penalty, which sets coefficients to zero.

        min over b, a of (1/2Σw) Σ w (y − a − b·x)² + α ‖b‖₁

    Parameters
    ----------
    alpha : float, default=1.0
        Weight α of the penalty; 0 is least squares.
    fit_intercept : bool, default=True
        Whether the model has an intercept ``a``.
    precompute : bool or array, default=False
        Inner products of the columns are always used; a Gram matrix given here is compared with
        them.
    copy_X : bool, default=True
        Accepted for compatibility with scikit-learn; it has no effect.
    max_iter : int, default=1000
        Limit of sweeps of coordinate descent.
    tol : float, default=1e-4
        Duality gap at which to stop, relative to the objective at b = 0; the fit goes on to 1e-8
        if that is less.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    positive : bool, default=False
        Whether coefficients are constrained to be ≥ 0.
    random_state : int or None, default=None
        Accepted for compatibility with scikit-learn; it has no effect.
    selection : str, default="cyclic"
        Accepted for compatibility with scikit-learn; it has no effect.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (k, d)
        Coefficients b, one row per target if there are several.
    intercept_ : float or ndarray of shape (k,)
        Intercept a.
    certificate_ : Certificate
        Duality gap and KKT residual.
    n_iter_ : int or list of int
        Number of sweeps of coordinate descent, for each target if there are several.
    dual_gap_ : float or ndarray of shape (k,)
        The duality gap, for each target if there are several.
    sparse_coef_ : sparse matrix of shape (1, d) or (k, d)
        The coefficients as a sparse matrix.

    See Also
    --------
    ElasticNet : Both an ℓ₁ and an ℓ₂ penalty.
    LassoPath : All penalties, selected by AIC or BIC.
    LassoCV : The penalty with the least cross-validated error.

    References
    ----------
    Tibshirani, Regression shrinkage and selection via the lasso, 1996.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]
    >>> sx.Lasso(alpha=0.25).fit(x, [0.0, 1.0, 2.0, 3.0]).coef_.round(2)
    array([0.8, 0. ])
    """

    l1_ratio = 1.0
    #: Coefficients at every penalty of a grid, without intercept: :func:`lasso_path`.
    path = staticmethod(lasso_path)

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
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
