"""Gaussian process regression, exact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats
from separatrix.bayes.gaussian_process import inducing
from separatrix.bayes.gaussian_process.evidence import (
    Factored,
    LeaveOneOutPredictions,
    LogEvidence,
    ProcessFits,
    ProcessPosterior,
    ProcessRows,
    draws,
    factorize,
    leave_one_out,
    posterior_mean,
    process_fits,
)
from separatrix.bayes.gaussian_process.fitting import (
    FittedProcess,
    HyperparameterInterval,
    Plan,
    certify,
    fit_process,
    hyperparameter_intervals,
    least_noise,
)
from separatrix.bayes.gaussian_process.formula import process_formula
from separatrix.bayes.gaussian_process.inducing_search import (
    SAMPLE_ROWS,
    InducingFit,
    check_count,
    fit_inducing,
    noise_level,
)
from separatrix.bayes.gaussian_process.inducing_search import certify as certify_inducing
from separatrix.bayes.gaussian_process.model import (
    SplitKernel,
    TrendBasis,
    check_alpha,
    check_memory,
    check_noise,
    given_kernel,
    kernel_of,
    merged_copies,
    prior_kernel,
    refuse_without_points,
    width,
)
from separatrix.bayes.gaussian_process.tuning import TunableProcess
from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.estimators.base import (
    RowsEstimator,
    numeric,
    reads_tables,
    require_labels,
    rows_or_items,
)
from separatrix.formula import nodes
from separatrix.kernels import Kernel
from separatrix.kernels.structures import as_list
from separatrix.messages import InputError, check_option
from separatrix.mixins import RegressorMixin
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.rows.schema import take_items, to_array
from separatrix.statistics.moments import Moments, prepare
from separatrix.threads import on_one_blas_thread, one_blas_thread

# -------------------------------------------------------------------------------------------------
# Predictions of a Gaussian process: of the prior before ``fit``, of the posterior after it.


class ProcessPredictions(RowsEstimator):
    """Means, standard deviations, covariances and draws of f and of y."""

    kernel: Any
    noise: Any
    n_targets: int | None
    kernel_: Kernel
    X_train_: Any
    alpha_: Floats
    basis_: TrendBasis
    trend_coef_: Floats
    target_mean_: Floats
    target_scale_: Floats

    @property
    def _structures(self) -> bool:
        """Whether the kernel compares Python objects: strings, sets, trees, graphs."""
        return self.kernel is not None and not kernel_of(self.kernel).of_vectors

    def _use_of_frames(self) -> str:
        return "objects" if self._structures else "encode"

    def _items(self, X: Any) -> Any:
        """New rows as a matrix, or Python objects in a list."""
        return as_list(X) if self._structures else to_array(self._design(X))

    @property
    def _factored(self) -> Factored:
        """The factored covariance of the training rows."""
        raise NotImplementedError

    def _posterior(self) -> Any:
        """Variances and covariances of f and of y."""
        return ProcessPosterior(self.X_train_, self._factored, self.basis_)

    @on_one_blas_thread
    def predict(
        self,
        X: Any,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_noise: bool = True,
    ) -> Any:
        """Mean of the posterior at new rows, with standard deviations or the joint covariance.

        Parameters
        ----------
        X : array-like of shape (n, d)
            New rows.
        return_std, return_cov : bool, default=False
            Whether to return the standard deviations, or the covariance, too.
        include_noise : bool, default=True
            Whether they are those of y, which include the noise of the kernel, or those of f.
        """
        if return_std and return_cov:
            raise RuntimeError("At most one of return_std or return_cov can be requested.")
        if not hasattr(self, "kernel_"):
            return self._prior(X, return_std, return_cov, include_noise)
        x = self._items(X)
        k = len(self.target_scale_)
        alpha = self.alpha_.reshape(-1, k)
        split = SplitKernel(self.kernel_)
        mean = posterior_mean(split, self.X_train_, alpha, self.basis_, self.trend_coef_, x)
        mean = self.target_scale_ * mean + self.target_mean_
        mean = mean[:, 0] if k == 1 else mean
        if not (return_std or return_cov):
            return mean
        posterior = self._posterior()
        given = check_noise(self.noise) if include_noise else 0.0
        if return_std:
            variance = posterior.variance(x, noise=include_noise) + given
            return mean, _per_output(np.sqrt(variance), self.target_scale_)
        covariance = posterior.covariance(x, noise=include_noise)
        covariance[np.diag_indices(len(x))] += given
        return mean, _per_output(covariance, self.target_scale_**2)

    def _prior(self, X: Any, return_std: bool, return_cov: bool, include_noise: bool) -> Any:
        """Mean and covariance before any row was seen."""
        x = as_list(X) if self._structures else check_array(X, dtype=np.float64)
        given = self.kernel is not None or isinstance(self.noise, str)
        kernel = given_kernel(self.kernel, self.noise, width(x)) if given else prior_kernel()
        split, k = SplitKernel(kernel), self.n_targets or 1
        noise = split.noise_variance(x) + check_noise(self.noise) if include_noise else 0.0
        mean = np.zeros(len(x)) if k == 1 else np.zeros((len(x), k))
        if return_std:
            return mean, _per_output(np.sqrt(split.function_variance(x) + noise), np.ones(k))
        if not return_cov:
            return mean
        covariance = split.gram(x, np.empty((len(x), len(x))))
        covariance[np.diag_indices(len(x))] += noise
        return mean, _per_output(covariance, np.ones(k))

    def sample_y(
        self, X: Any, n_samples: int = 1, random_state: Any = 0, *, include_noise: bool = True
    ) -> Floats:
        """Joint draws of y at these rows, or of f without noise: (n, n_samples).

        Before ``fit`` they are draws of the prior. Several outputs are (n, k, n_samples).
        """
        mean, covariance = self.predict(X, return_cov=True, include_noise=include_noise)
        rng = check_random_state(random_state)
        if mean.ndim == 1:
            return draws(mean, covariance, n_samples, rng)
        outputs = range(mean.shape[1])
        return np.stack([draws(mean[:, i], covariance[..., i], n_samples, rng) for i in outputs], 1)

    @on_one_blas_thread
    def predictive(self, X: Any, *, include_noise: bool = True) -> PredictiveDistribution:
        """The predictive distribution of y (or of f, without noise) at every row."""
        check_is_fitted(self)
        mean, std = self.predict(X, return_std=True, include_noise=include_noise)
        if mean.ndim > 1:
            raise InputError(
                f"There are {mean.shape[1]} outputs.", remedy="Fit one process for each of them."
            )
        return PredictiveDistribution(mean, std)


def _per_output(values: Floats, factors: Floats) -> Floats:
    """Values of unit scale for every output, as the last axis; one output has none."""
    if len(factors) == 1:
        return np.asarray(values * factors[0])
    return np.asarray(values[..., None] * factors)


# -------------------------------------------------------------------------------------------------
# Gaussian process regression with inducing points: the part of the estimator that fits them.
#
# The rows are read block by block: a sample once, their sums once or a few times. Files larger than
# memory and Dask collections work as for any model, and ``partial_fit`` adds rows to the sums.


@dataclass(frozen=True)
class InducingState:
    """Inducing points and the sums of all rows so far, from which everything else follows."""

    points: Floats
    noise: float
    weight: float
    count: int
    trace: float
    gram: Floats
    inner: Floats
    squares: Floats

    @classmethod
    def of(cls, bound: inducing.CollapsedBound) -> InducingState:
        """The sums of a bound."""
        sums = bound.sums
        return cls(
            bound.inducing.points, bound.noise, sums.weight, sums.count, sums.trace,
            sums.gram, sums.inner, sums.squares,
        )  # fmt: skip

    def bound(self, kernel: Kernel, targets: inducing.Targets) -> inducing.CollapsedBound:
        """The bound with these sums."""
        function = SplitKernel(kernel).function
        assert function is not None
        sums = inducing.InducingSums(inducing.InducingPoints.of(function, self.points), targets)
        sums.weight, sums.count, sums.trace = self.weight, self.count, self.trace
        sums.gram, sums.inner, sums.squares = self.gram, self.inner, self.squares
        return inducing.CollapsedBound(sums, self.noise)


class InducingRegression(ProcessPredictions):
    """Fit, ``partial_fit`` and posterior of a process whose ``n_inducing`` is not None."""

    alpha: Any
    trend: str
    normalize_y: bool
    optimizer: Any
    n_restarts_optimizer: int
    random_state: Any
    n_inducing: Any
    inducing_: InducingState | None

    def _fit_inducing(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to all rows, a block at a time."""
        refuse_without_points(self.kernel, self.optimizer)
        if np.ndim(self.alpha):
            raise InputError(
                "alpha differs from row to row, and inducing points need one noise variance.",
                remedy="Give alpha as a number, or leave n_inducing at None.",
            )
        if not isinstance(X, Rows):
            require_labels(self, y)
        prepared = prepare(self._training_rows(X, y, sample_weight))
        numeric(prepared.moments.targets)
        self.encoding_ = prepared.encoding
        rows = inducing.store_rows(prepared.rows)
        self._standardize_targets(prepared.moments)
        if self.trend == "none":
            self.basis_ = TrendBasis.of("none", None, None)
        else:
            some = inducing.sample_rows(rows, SAMPLE_ROWS)
            self.basis_ = TrendBasis.of(self.trend, some.x, some.w)
        plan = Plan(
            self.kernel is not None,
            self.optimizer,
            int(self.n_restarts_optimizer),
            self.random_state,
        )
        kernel = given_kernel(self.kernel, self.noise, len(self.encoding_.names))
        known = (check_noise(self.noise), None if self.alpha is None else float(self.alpha))
        fit = fit_inducing(rows, kernel, self._targets, known, self.n_inducing, plan)
        return self._accept_inducing(fit)

    def _standardize_targets(self, moments: Moments) -> None:
        k = len(moments.targets)
        self.target_mean_, self.target_scale_ = np.zeros(k), np.ones(k)
        if self.normalize_y:
            spread = np.sqrt(np.diagonal(moments.scatter)[-k:] / moments.weight)
            self.target_mean_ = np.array(moments.y_mean)
            size = 10.0 * np.finfo(float).eps * np.abs(self.target_mean_)
            self.target_scale_ = np.where(spread > size, spread, 1.0)

    @property
    def _targets(self) -> inducing.Targets:
        k = len(self.target_scale_)
        return inducing.Targets(k, self.target_mean_, self.target_scale_, self.basis_)

    def _accept_inducing(self, fit: InducingFit) -> Self:
        for name in ("y_train_", "row_weight_", "row_noise_", "_found"):
            self.__dict__.pop(name, None)  # of an exact fit before
        self.kernel_, self.learned_ = fit.kernel, fit.learned
        self.certificate_ = certify_inducing(fit)
        return self._accept_sums(fit.bound)

    def _accept_sums(self, bound: inducing.CollapsedBound) -> Self:
        k = bound.outputs
        self.inducing_ = InducingState.of(bound)
        self.X_train_ = bound.inducing.points
        combined = bound.inducing.whitening @ (bound.solved @ bound.combination)[:, :k]
        self.alpha_ = combined[:, 0] if k == 1 else combined
        self.trend_coef_ = bound.trend[0]
        self.jitter_ = bound.inducing.jitter
        self.log_marginal_likelihood_value_ = bound.lower
        units = float(np.log(self.target_scale_).sum()) * bound.sums.weight
        self.evidence_bounds_ = (bound.lower - units, bound.upper - units)
        self.__dict__["_bound"] = bound
        return self

    @available_if(lambda self: self.n_inducing is not None)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add rows to the sums; hyperparameters and inducing points stay those of the first fit."""
        if getattr(self, "inducing_", None) is None:
            return self.fit(X, y, sample_weight)  # type: ignore[attr-defined,no-any-return]
        rows = self._training_rows(X, y, sample_weight, reset=False)
        with one_blas_thread():
            before = self._inducing_bound
            added = inducing.reduce_rows(rows, before.sums.fresh())
            bound = inducing.CollapsedBound(before.sums + added, before.noise)
            fit = InducingFit(self.kernel_, bound.inducing.points, bound, None, 0, False)
            self.certificate_ = certify_inducing(fit, "hyperparameters and points of the first fit")
            return self._accept_sums(bound)

    @property
    def _inducing_bound(self) -> inducing.CollapsedBound:
        """The bound of the last fit, or computed again after loading."""
        collapsed_bound: inducing.CollapsedBound | None = self.__dict__.get("_bound")
        if collapsed_bound is None:
            if not self._is_inducing:
                raise AttributeError("this process has no inducing points")
            assert self.inducing_ is not None
            collapsed_bound = self.__dict__["_bound"] = self.inducing_.bound(
                self.kernel_, self._targets
            )
        return collapsed_bound

    def _posterior(self) -> Any:
        """Of the inducing points, or exact."""
        if not self._is_inducing:
            return super()._posterior()
        split = SplitKernel(self.kernel_)
        return inducing.InducingPosterior(self._inducing_bound, noise_level(split, self.X_train_))

    @property
    def _is_inducing(self) -> bool:
        return getattr(self, "inducing_", None) is not None

    def _refuse_inducing(self, what: str) -> None:
        """Refuse what only the exact process has."""
        check_is_fitted(self)
        if self._is_inducing:
            raise InputError(
                f"With inducing points there is no {what}: the rows were reduced to sums.",
                remedy="Leave n_inducing at None for the exact process.",
            )


@declare_parameters
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
    log_marginal_likelihood_value_: float = field(init=False)

    kernel: Any = None
    _: KW_ONLY
    alpha: Any = None
    optimizer: Any = "fmin_l_bfgs_b"
    n_restarts_optimizer: int = 0
    normalize_y: bool = False
    copy_X_train: bool = True
    n_targets: int | None = None
    random_state: Any = None
    trend: str = "none"
    noise: Any = None
    n_inducing: Any = None

    # -- fit -----------------------------------------------------------------------------------

    @reads_tables
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
        rows = ProcessRows(x, scaled, w, known, self.basis_.of_rows(x))
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
        x, y, weights = rows_or_items(self, X, y, sample_weight)
        x = x if self._structures else np.ascontiguousarray(to_array(x))
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
        rows, fitting = fitted.rows, fitted.found
        flat = rows.y.shape[1] == 1
        self.kernel_ = fitted.kernel
        self.X_train_, self.row_weight_, self.row_noise_ = rows.x, rows.w, rows.noise
        self.y_train_ = rows.y[:, 0] if flat else rows.y
        self.alpha_ = fitting.alpha[:, 0] if flat else fitting.alpha
        self.trend_coef_ = fitting.coef
        self.log_marginal_likelihood_value_ = fitting.log_evidence
        self.learned_ = fitted.learned
        self.jitter_ = fitted.jitter
        self.certificate_ = certify(fitted, self._columns)
        self._found = fitting

    @property
    def _columns(self) -> Sequence[str]:
        """Names of the columns; none of Python objects."""
        return () if self._structures else self.encoding_.names

    # -- what was learned ----------------------------------------------------------------------

    @property
    def _rows_of_training(self) -> ProcessRows:
        y = self.y_train_.reshape(len(self.y_train_), -1)
        h = self.basis_.of_rows(self.X_train_)
        return ProcessRows(self.X_train_, y, self.row_weight_, self.row_noise_, h)

    @property
    def _factored(self) -> Factored:
        """The factored covariance: of the last fit, or computed again after loading."""
        factored: Factored | None = self.__dict__.get("_found")
        if factored is None:
            factored = factorize(self.kernel_, self._rows_of_training)
            assert factored is not None
            self.__dict__["_found"] = factored
        return factored

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
            evidence = LogEvidence(self.kernel_, self._rows_of_training)
            result = evidence(theta) if eval_gradient else evidence.value(theta)
        if not clone_kernel:
            self.kernel_ = self.kernel_.with_theta(theta)
        return result

    def leave_one_out(self) -> LeaveOneOutPredictions:
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

    def formula(self) -> nodes.NumberFormula:
        """Posterior mean and standard deviation of y."""
        return process_formula(self)
