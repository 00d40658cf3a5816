"""The lasso with the penalty of the least cross-validated error."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix.estimators.additive import MAX_STORED_COLUMNS, Source, TrainingData
from separatrix.linear.elastic_net.columns import elastic_net_problem
from separatrix.linear.elastic_net.lasso_path import LassoPathBase
from separatrix.linear.elastic_net.path import StoppingRule
from separatrix.linear.elastic_net.problem import ElasticNetPath
from separatrix.messages import check_option
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows
from separatrix.selection import rules


class LassoCV(LassoPathBase):
    """The lasso or elastic net with the penalty of the least cross-validated error.

        min over b, a of (1/2Σw) Σ w (y − a − b·x)² + α ρ ‖b‖₁ + ½ α (1 − ρ) ‖b‖²

    Folds come from one pass over the rows: the moments of each fold are stored, and the training
    moments of a fold are the sum of the others.

    Parameters
    ----------
    alphas : int or array, default=100
        Penalties, or how many to place on a log scale below the smallest one that sets all
        coefficients to zero.
    eps : float, default=1e-3
        Ratio of the last penalty to the first.
    l1_ratio : float, default=1.0
        Mixing parameter ρ: 1 is the lasso.
    cv : int, splitter or iterable of (train, test), default=None
        Folds as in scikit-learn; None is 5.
    rule : {"min", "one_se"}, default="min"
        The penalty of the least mean error, or the largest penalty within one standard error of
        it.
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
    n_jobs : int or None, default=None
        Threads for the folds; None is one per processor.
    precompute : bool, str or array, default="auto"
        Accepted for compatibility with scikit-learn; it has no effect.
    copy_X : bool, default=True
        Accepted for compatibility with scikit-learn; it has no effect.
    verbose : bool or int, default=False
        Accepted for compatibility with scikit-learn; it has no effect.
    random_state : int or None, default=None
        Accepted for compatibility with scikit-learn; it has no effect.
    selection : str, default="cyclic"
        Accepted for compatibility with scikit-learn; it has no effect.

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
    coef_ : ndarray of shape (d,)
        Coefficients at ``alpha_``, fitted to all rows.
    intercept_ : float
        Intercept at ``alpha_``.
    certificate_ : Certificate
        Duality gap and KKT residual at ``alpha_``.

    See Also
    --------
    LassoPath : Selection by a criterion, from moments alone.
    Lasso : One penalty.
    RidgeCV : The same for ridge regression.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = sx.LassoCV(alphas=20, rule="one_se").fit(x, 2.0 * x[:, 0])
    >>> np.flatnonzero(model.coef_)
    array([0])
    """

    def __init__(
        self,
        *,
        alphas: Any = 100,
        eps: float = 1e-3,
        l1_ratio: float = 1.0,
        cv: Any = None,
        rule: str = "min",
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-6,
        positive: bool = False,
        standardize: bool = False,
        n_jobs: int | None = None,
        precompute: Any = "auto",
        copy_X: bool = True,
        verbose: Any = False,
        random_state: Any = None,
        selection: str = "cyclic",
    ) -> None:
        self.alphas = alphas
        self.eps = eps
        self.l1_ratio = l1_ratio
        self.cv = cv
        self.rule = rule
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.positive = positive
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.precompute = precompute
        self.copy_X = copy_X
        self.verbose = verbose
        self.random_state = random_state
        self.selection = selection

    def _wide(self, block: Block) -> bool:
        return bool(block.x.shape[1] > max(block.n, MAX_STORED_COLUMNS))

    def _read(self, rows: Rows) -> tuple[TrainingData, Encoding]:
        return TrainingData.with_folds(rows, self.cv)

    def _best(self, path: ElasticNetPath, data: TrainingData) -> int:
        check_option("rule", self.rule, rules.RULES)
        options, folds = self._options(), data.folds(self.cv)
        stopping = StoppingRule(options.tol, sweeps=options.max_iter)

        def test_error(fold: tuple[Source, Source]) -> Floats:
            train, test = fold
            found = elastic_net_problem(train, options).path(path.alphas, stopping)
            return rules.validation_error(test, found.coefs, found.intercepts)

        jobs = self.n_jobs if self.n_jobs and self.n_jobs > 0 else os.cpu_count() or 1
        if jobs == 1:
            errors = [test_error(fold) for fold in folds]
        else:
            with ThreadPoolExecutor(min(jobs, len(folds))) as pool:
                errors = list(pool.map(test_error, folds))
        self.mse_path_ = np.stack(errors, axis=1)
        return rules.RULES[self.rule](path.alphas, self.mse_path_)
