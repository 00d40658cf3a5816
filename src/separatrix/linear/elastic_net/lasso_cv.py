"""The lasso with the penalty of the least cross-validated error."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from separatrix.estimators.additive import MAX_STORED_COLUMNS, Source, TrainingData
from separatrix.linear.elastic_net.columns import elastic_net_problem
from separatrix.linear.elastic_net.lasso_path import LassoPathBase
from separatrix.linear.elastic_net.path import StoppingRule
from separatrix.linear.elastic_net.penalty_path import lasso_path
from separatrix.linear.elastic_net.problem import ElasticNetPath
from separatrix.messages import check_option
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows
from separatrix.selection import rules
from separatrix.selection.routing import fold_router, named_folds, routed
from separatrix.threads import parallel_map


class LassoCV(LassoPathBase):
    """The lasso or elastic net with the penalty of the least cross-validated error.

        min over b, a of (1/2Σw) Σ w (y − a − b·x)² + α ρ ‖b‖₁ + ½ α (1 − ρ) ‖b‖²

    Folds come from one pass over the rows: the moments of each fold are stored, and the training
    moments of a fold are the sum of the others.

    Parameters
    ----------
    eps : float, default=1e-3
        Ratio of the last penalty to the first.
    alphas : int or array, default=100
        Penalties, or how many to place on a log scale below the smallest one that sets all
        coefficients to zero.
    fit_intercept : bool, default=True
        Whether the model has an intercept, which is not penalized.
    precompute : bool, str or array, default="auto"
        Accepted for compatibility with scikit-learn; it has no effect.
    max_iter : int, default=1000
        Limit of sweeps of coordinate descent at each penalty.
    tol : float, default=1e-4
        Duality gap at which to stop, relative to the objective at b = 0; fits go on to 1e-6 if
        that is less.
    copy_X : bool, default=True
        Accepted for compatibility with scikit-learn; it has no effect.
    cv : int, splitter or iterable of (train, test), default=None
        Folds as in scikit-learn; None is 5.
    verbose : bool or int, default=False
        Accepted for compatibility with scikit-learn; it has no effect.
    n_jobs : int or None, default=None
        Threads to use; None is one per processor.
    positive : bool, default=False
        Whether coefficients are constrained to be ≥ 0.
    random_state : int or None, default=None
        Accepted for compatibility with scikit-learn; it has no effect.
    selection : str, default="cyclic"
        Accepted for compatibility with scikit-learn; it has no effect.
    l1_ratio : float, default=1.0
        Mixing parameter ρ: 1 is the lasso.
    rule : {"min", "one_se", "elbow"}, default="min"
        The penalty of the least mean error, or the largest penalty within one standard error of
        it: that of its mean, or of the differences from it ("elbow").
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns.

    Attributes
    ----------
    alpha_ : float
        The selected penalty.
    mse_path_ : ndarray of shape (m, folds)
        Mean squared errors of test rows for every penalty.
    alphas_ : ndarray of shape (m,)
        The penalties, the largest first.
    coefs_ : ndarray of shape (m, d)
        Coefficients for every penalty, fitted to all rows.
    intercepts_ : ndarray of shape (m,)
        Intercepts for every penalty.
    gaps_ : ndarray of shape (m,)
        Duality gap at every penalty.
    degrees_of_freedom_ : ndarray of shape (m,)
        Effective degrees of freedom, without the intercept.
    log_likelihoods_ : ndarray of shape (m,)
        Gaussian log-likelihood for every penalty, at the variance of its residuals.
    coef_ : ndarray of shape (d,)
        Coefficients at ``alpha_``, fitted to all rows.
    intercept_ : float
        Intercept at ``alpha_``.
    certificate_ : Certificate
        Duality gap and KKT residual at ``alpha_``.
    dual_gap_ : float
        The duality gap at ``alpha_``.
    n_iter_ : int
        Number of sweeps of coordinate descent at ``alpha_``.

    See Also
    --------
    LassoPath : Selection by a criterion, from moments alone.
    Lasso : One penalty.
    RidgeCV : The same for ridge regression.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani, Regularization paths for generalized linear models
    via coordinate descent, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = sx.LassoCV(alphas=20, rule="one_se").fit(x, 2.0 * x[:, 0])
    >>> np.flatnonzero(model.coef_)
    array([0])
    """

    fits_moments = False  # folds need rows
    #: Coefficients at every penalty of a grid, without intercept: :func:`lasso_path`.
    path = staticmethod(lasso_path)

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        l1_ratio: float = 1.0,
        rule: str = "min",
        standardize: bool = False,
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.l1_ratio = l1_ratio
        self.rule = rule
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter ``cv`` by scikit-learn's metadata routing.
        """
        self._folds = named_folds(self.cv, X, y, routed(self, params, sample_weight)["split"])
        try:
            return super().fit(X, y, sample_weight)
        finally:
            del self._folds

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the splitter."""
        return fold_router(self)

    def _wide(self, block: Block) -> bool:
        return bool(block.x.shape[1] > max(block.n, MAX_STORED_COLUMNS))

    def _read(self, rows: Rows) -> tuple[TrainingData, Encoding]:
        return TrainingData.with_folds(rows, self._folds)

    def _best(self, path: ElasticNetPath, data: TrainingData) -> int:
        check_option("rule", self.rule, rules.RULES)
        options, folds = self._options(), data.folds(self._folds)
        stopping = StoppingRule(options.tol, sweeps=options.max_iter)

        def test_error(fold: tuple[Source, Source]) -> Floats:
            train, test = fold
            found = elastic_net_problem(train, options).path(path.alphas, stopping)
            return rules.validation_error(test, found.coefs, found.intercepts)

        errors = parallel_map(test_error, folds)
        self.mse_path_ = np.stack(errors, axis=1)
        return rules.RULES[self.rule](path.alphas, self.mse_path_)
