"""Gaussian process regression, exact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.bayes.process.certificate import certify
from separatrix.bayes.process.evidence import Evidence, Factored, TrainingRows, factorize
from separatrix.bayes.process.fitting import FittedProcess, Plan, fit_process, least_noise
from separatrix.bayes.process.inducing.fit import check_count
from separatrix.bayes.process.inducing.regression import InducingRegression
from separatrix.bayes.process.intervals import (
    HyperparameterInterval,
    hyperparameter_intervals,
)
from separatrix.bayes.process.leave_one_out import (
    LeaveOneOut,
    ProcessFits,
    leave_one_out,
    process_fits,
)
from separatrix.bayes.process.options import (
    check_alpha,
    check_memory,
    check_noise,
    given_kernel,
    merged_copies,
    width,
)
from separatrix.bayes.process.training_table import given_rows
from separatrix.bayes.process.trend import TrendBasis
from separatrix.bayes.process.tuning.tunable import TunableProcess
from separatrix.estimators.base import require_labels
from separatrix.kernels.base import take_items
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.threads import one_blas_thread


class GaussianProcessRegressor(RegressorMixin, TunableProcess, InducingRegression):
    """Gaussian process regression with learned hyperparameters.

        y = f(x) + noise,   f ~ N(0, κ):   E f* = k*ᵀ (K + σ²I)⁻¹ y,
        var f* = κ(x*, x*) − k*ᵀ (K + σ²I)⁻¹ k*

    Hyperparameters maximize the log evidence log N(y; 0, K + σ²I). The ascent starts from the
    data's own scales (and from the kernel's values, if one is given) and needs no bounds; other
    starts are compared on a sample of the rows. The posterior is exact: one n x n matrix in memory.

    Parameters
    ----------
    kernel : Kernel or None, default=None
        Covariance of f, of :mod:`separatrix.kernels` or scikit-learn's; white noise in it is the
        noise of y. None is a variance times a Gaussian kernel with a length scale for each column,
        plus noise, all learned.
    alpha : float, array-like of shape (n,) or None, default=None
        Known noise variance of the training rows, added to that of the kernel. None is 10⁻¹⁰ of
        the kernel's variance in the units of y, which keeps K positive definite and nothing else;
        of a kernel of variance 1 that is scikit-learn's 1e-10.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        None leaves the hyperparameters as they are. A function is called as in scikit-learn; the
        name stands for our own ascent, by values, gradients and average information.
    n_restarts_optimizer : int, default=0
        Further starts, drawn at random around the data's scales.
    normalize_y : bool, default=False
        Whether targets are standardized first; predictions are in their units either way.
    copy_X_train : bool, default=True
        Accepted for compatibility with scikit-learn; rows are never changed.
    n_targets : int or None, default=None
        Number of outputs of the prior, before ``fit``.
    random_state : int, RandomState or None, default=None
        Seed of the further starts.
    trend : {"none", "constant", "linear"}, default="none"
        A trend with unknown coefficients under a flat prior (universal kriging): generalized least
        squares, whose uncertainty enters the predictions. The evidence is then that of the
        contrasts which do not depend on the coefficients (restricted maximum likelihood).
    noise : "learned", float or None, default=None
        "learned" adds white noise to the given kernel; a number is a known variance of the noise
        of y, at new rows too. None adds nothing.
    n_inducing : int, "auto" or None, default=None
        None is the exact process. Otherwise rows are reduced to sums over so many inducing points,
        block by block, and hyperparameters maximize a lower bound on the evidence; "auto" adds
        points until lower and upper bound differ by at most 0.001 nats a row, or 512 are used.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with learned hyperparameters.
    X_train_, y_train_ : ndarray
        Rows of positive weight and their targets, standardized with ``normalize_y``; copies of a
        row are one row of their joint weight.
    alpha_ : ndarray of shape (n,) or (n, k)
        Coefficients (K + σ²I)⁻¹ y of the predictions.
    L_ : ndarray of shape (n, n)
        Cholesky factor of K + σ²I.
    log_marginal_likelihood_value_ : float
        Log evidence of the (standardized) targets.
    log_evidence_ : float
        Log evidence of the targets in their own units; with inducing points its lower bound.
    evidence_bounds_ : tuple of float
        With inducing points: lower and upper bound on the log evidence in the targets' own units.
    inducing_ : InducingState or None
        With inducing points: the points and the sums of all rows.
    learned_ : Learned or None
        The ascent: gradient and curvature at its end, the other maxima found.
    trend_coef_ : ndarray of shape (m, k)
        Coefficients of the trend, over 1 and the standardized columns.
    certificate_ : Certificate
        Derivative of the evidence, condition of K + σ²I, what the data do not determine.

    See Also
    --------
    PredictiveDistribution : what :meth:`predictive` returns.
    Gaussian : The kernel of the default.
    LinearRegression : A linear function.

    References
    ----------
    C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.linspace(0.0, 6.0, 25)[:, None]
    >>> model = sx.GaussianProcessRegressor().fit(x, np.sin(x[:, 0]))
    >>> mean, std = model.predict([[1.5], [60.0]], return_std=True)
    >>> abs(mean).round(3).tolist(), (std > 1e-3).tolist()
    ([0.997, 0.0], [False, True])
    """

    _multi_output = True
    _sparse_ok = False
    log_marginal_likelihood_value_: float

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = None,
        optimizer: Any = "fmin_l_bfgs_b",
        n_restarts_optimizer: int = 0,
        normalize_y: bool = False,
        copy_X_train: bool = True,
        n_targets: int | None = None,
        random_state: Any = None,
        trend: str = "none",
        noise: Any = None,
        n_inducing: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.copy_X_train = copy_X_train
        self.n_targets = n_targets
        self.random_state = random_state
        self.trend = trend
        self.noise = noise
        self.n_inducing = n_inducing

    # -- fit -----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and numbers ``y``, or to :class:`~separatrix.rows.rows.Rows`.

        Parameters
        ----------
        X : array-like of shape (n, d), or Rows
            Rows of numbers; a data frame of any columns is encoded.
        y : array-like of shape (n,) or (n, k)
            Targets.
        sample_weight : array-like of shape (n,), default=None
            A weight of w equals w equal rows.
        """
        self._check_options()
        if self.n_inducing is not None:
            return self._fit_inducing(X, y, sample_weight)
        self.inducing_ = None
        x, y, w, known = self._table(X, y, sample_weight)
        check_memory(len(y))
        self._set_target_scale(y, w)
        scaled = (y - self.target_mean_) / self.target_scale_
        self.basis_ = TrendBasis.of(self.trend, x, w)
        rows = TrainingRows(x, scaled, w, known, self.basis_.of_rows(x))
        plan = Plan(
            self.kernel is not None,
            self.optimizer,
            int(self.n_restarts_optimizer),
            self.random_state,
        )
        kernel = given_kernel(self.kernel, self.noise, width(x))
        if self.alpha is None:
            rows = rows.with_noise(least_noise(kernel, rows, plan))
        self._accept(fit_process(kernel, rows, plan))
        return self

    def _check_options(self) -> None:
        if not (self.optimizer is None or callable(self.optimizer)):
            check_option("optimizer", self.optimizer, ["fmin_l_bfgs_b"], "None, or a function")
        check_noise(self.noise)
        if self.n_inducing is not None:
            check_count(self.n_inducing)
        if self.n_restarts_optimizer < 0:
            raise InputError(f"n_restarts_optimizer={self.n_restarts_optimizer!r} is below 0.")

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Floats, Floats, Floats]:
        """Rows, targets (n x k), weights and known noise: copies merged, none of weight zero."""
        if not isinstance(X, Rows):
            require_labels(self, y)
        x, y, weights = given_rows(self, X, y, sample_weight)
        k = y.shape[1]
        if self.n_targets is not None and self.n_targets != k:
            raise InputError(
                "The number of targets seen in `y` is different from the parameter "
                f"`n_targets`. Got {k} != {self.n_targets}."
            )
        known = check_alpha(self.alpha, len(y)) + check_noise(self.noise)
        rows = np.flatnonzero(weights > 0.0)
        return merged_copies(take_items(x, rows), y[rows], weights[rows], known[rows])

    def _set_target_scale(self, y: Floats, w: Floats) -> None:
        """Mean and standard deviation of every output with ``normalize_y``, else 0 and 1."""
        k = y.shape[1]
        self.target_mean_, self.target_scale_ = np.zeros(k), np.ones(k)
        if self.normalize_y:
            self.target_mean_ = np.average(y, axis=0, weights=w)
            variance = np.average((y - self.target_mean_) ** 2, axis=0, weights=w)
            size = np.finfo(float).eps * np.abs(y).max(axis=0)
            self.target_scale_ = np.where(variance > (10 * size) ** 2, np.sqrt(variance), 1.0)

    def _accept(self, fitted: FittedProcess) -> None:
        rows, found = fitted.rows, fitted.found
        flat = rows.y.shape[1] == 1
        self.kernel_ = fitted.kernel
        self.X_train_, self.row_weight_, self.row_noise_ = rows.x, rows.w, rows.noise
        self.y_train_ = rows.y[:, 0] if flat else rows.y
        self.alpha_ = found.alpha[:, 0] if flat else found.alpha
        self.trend_coef_ = found.coef
        self.log_marginal_likelihood_value_ = found.log_evidence
        self.learned_ = fitted.learned
        self.jitter_ = fitted.jitter
        self.certificate_ = certify(fitted, self._columns)
        self._found = found

    @property
    def _columns(self) -> Sequence[str]:
        """Names of the columns; none of Python objects."""
        return () if self._structures else self.encoding_.names

    # -- what was learned ----------------------------------------------------------------------

    @property
    def _rows_of_training(self) -> TrainingRows:
        y = self.y_train_.reshape(len(self.y_train_), -1)
        h = self.basis_.of_rows(self.X_train_)
        return TrainingRows(self.X_train_, y, self.row_weight_, self.row_noise_, h)

    @property
    def _factored(self) -> Factored:
        """The factored covariance: of the last fit, or computed again after loading."""
        found: Factored | None = self.__dict__.get("_found")
        if found is None:
            found = factorize(self.kernel_, self._rows_of_training)
            assert found is not None
            self.__dict__["_found"] = found
        return found

    # scikit-learn's names of the units of y, which packages built on its processes read
    _y_train_mean = property(lambda self: self.target_mean_.squeeze()[()])
    _y_train_std = property(lambda self: self.target_scale_.squeeze()[()])

    @property
    def L_(self) -> Floats:
        """Lower triangular Cholesky factor of K + σ²I; computed again after loading a file."""
        check_is_fitted(self)
        if self._is_inducing:
            raise AttributeError("With inducing points there is no factor of all rows.")
        return np.tril(self._factored.factor)

    @property
    def log_evidence_(self) -> float:
        """Log marginal likelihood of the targets in their own units; a lower bound with points."""
        check_is_fitted(self)
        if self._is_inducing:
            return self.evidence_bounds_[0]
        units = float(np.log(self.target_scale_).sum() * self.row_weight_.sum())
        return self.log_marginal_likelihood_value_ - units

    def __getstate__(self) -> dict[str, Any]:
        """Factors are computed again: a pickle is not n² numbers."""
        state = super().__getstate__()
        return {key: value for key, value in state.items() if key not in ("_found", "_bound")}

    def log_marginal_likelihood(
        self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True
    ) -> Any:
        """Log evidence of the training rows, and its gradient, at θ.

        Parameters
        ----------
        theta : array-like of shape (p,), default=None
            Logarithms of the hyperparameters, as in ``kernel_.theta``; None for the learned ones.
        eval_gradient : bool, default=False
            Whether to return the gradient too.
        clone_kernel : bool, default=True
            Whether ``kernel_`` is left as it is; else it takes on θ.
        """
        check_is_fitted(self)
        if theta is None:
            if eval_gradient:
                raise InputError("Gradient can only be evaluated for theta!=None")
            return self.log_marginal_likelihood_value_
        self._refuse_inducing("evidence at other hyperparameters")
        theta = np.asarray(theta, dtype=float)
        with one_blas_thread():
            evidence = Evidence(self.kernel_, self._rows_of_training)
            found = evidence(theta) if eval_gradient else evidence.value(theta)
        if not clone_kernel:
            self.kernel_ = self.kernel_.with_theta(theta)
        return found

    def leave_one_out(self) -> LeaveOneOut:
        """What the other rows say about each training row, in closed form."""
        self._refuse_inducing("leave-one-out in closed form")
        with one_blas_thread():
            return leave_one_out(
                self._factored, self._rows_of_training, self.target_mean_, self.target_scale_
            )

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> ProcessFits | None:
        """The means without each training row; None where more than the mean was learned."""
        del y, sample_weight  # the rows are those that the model holds
        if self._is_inducing or self._structures or not self.encoding_.is_identity:
            return None
        return process_fits(self, X.collect().n if isinstance(X, Rows) else len(X))

    def hyperparameter_intervals(self, level: float = 0.95) -> tuple[HyperparameterInterval, ...]:
        """Learned hyperparameters with intervals from the curvature, length scales by column."""
        check_is_fitted(self)
        if self.learned_ is None:
            return ()
        return hyperparameter_intervals(self.kernel_, self.learned_, self._columns, level)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags
