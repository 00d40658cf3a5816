"""Ridge regression: at one penalty, along the path, and by the score on rows left out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints
from separatrix.estimators import base
from separatrix.estimators.base import (
    MomentEstimator,
    Source,
    TrainingData,
    needs_rows,
    reads_tables,
)
from separatrix.linear.inference import lines_without_each_row
from separatrix.linear.lasso import solve_non_negative
from separatrix.linear.routes import (
    by_products,
    folds_at_once,
    from_rows,
    penalty_by_penalty,
)
from separatrix.linear.shifted import ShiftedSolution, solve_shifted
from separatrix.linear.spectrum import (
    FIRST_STEPS,
    CenteredRows,
    DesignSpectrum,
    HasGrid,
    RidgeOptions,
    RidgeTrace,
    block_moments,
    fold_predictions,
    path_coefs,
    ridge_from_block,
    ridge_from_moments,
    solve_least_squares,
    trace_moments,
    trace_rows,
)
from separatrix.matrices.products import Products, products
from separatrix.messages import InputError, check_option, warn_as
from separatrix.mixins import BaseEstimator, RegressorMixin
from separatrix.optimize.convex import Solution
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import ArrayRows, EncodedRows, InMemory, Rows
from separatrix.rows.schema import Block, Encoding, identity
from separatrix.rows.split import merge_copies
from separatrix.selection import rules
from separatrix.selection.criteria import PathFigures
from separatrix.selection.folds import (
    DEFAULT_FOLDS,
    fold_router,
    folding,
    folds_of_fit,
)
from separatrix.selection.leave_one_out import AffineFits
from separatrix.selection.rules import gaussian_log_likelihood
from separatrix.statistics.moments import FieldStatistic, Moments
from separatrix.threads import parallel_map

# -------------------------------------------------------------------------------------------------
# Ridge regression at one penalty.


#: scikit-learn's names of solvers.
SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


class RidgeBase(RegressorMixin, MomentEstimator):
    """Base class of the ridge estimators: options, and why they offer no inference."""

    _multi_output = True
    _column_is_vector = True
    _column_keeps_intercept = True
    _no_inference = (
        "Ridge coefficients are biased by the penalty, so that standard errors and p values would "
        "not be valid. Use LinearRegression for inference."
    )
    _keeps_float32 = True
    fit_intercept: bool
    standardize: bool

    def _options(self) -> RidgeOptions:
        return RidgeOptions(bool(self.fit_intercept), bool(self.standardize))


@declare_parameters
class Ridge(RidgeBase):
    """Ridge regression: least squares with an ℓ₂ penalty.

        min over b, a of Σ w (y − a − b·x)² + α ‖b‖²

    The intercept is not penalized.

    Parameters
    ----------
    alpha : float or array of shape (k,), default=1.0
        Weight α of the penalty, or one for each target; 0 is least squares.
    fit_intercept : bool, default=True
    copy_X : bool, default=True
    max_iter : int or None, default=None
        Ignored; accepted for scikit-learn compatibility.
    tol : float, default=1e-4
        Ignored; accepted for scikit-learn compatibility.
    solver : str, default="auto"
        One of scikit-learn's names; the solution is exact with any of them.
    positive : bool, default=False
    random_state : int or None, default=None
        Ignored; accepted for scikit-learn compatibility.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns, so that the fit does not
        depend on units. Coefficients are in the units of the table either way.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (k, d)
    intercept_ : float or ndarray of shape (k,)
    certificate_ : Certificate
        Duality gap and KKT residual.
    n_iter_ : ndarray of shape (k,)
        Number of iterations; 1 where the solution is in closed form.
    solver_ : str
        The solver: "cholesky", "svd", or "lbfgs" with ``positive``; the one named by ``solver``.
    moments_ : Moments or None

    See Also
    --------
    RidgePath : The solutions for all penalties, and the best by AIC, BIC or GCV.
    RidgeCV : The penalty with the least cross-validated error.
    LinearRegression : Least squares without penalty.
    ElasticNet : Both an ℓ₁ and an ℓ₂ penalty.

    References
    ----------
    Hoerl and Kennard, Ridge regression: biased estimation for nonorthogonal problems, 1970.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[-1.0], [0.0], [1.0]]
    >>> sx.Ridge(alpha=2.0).fit(x, [-2.0, 0.0, 2.0]).coef_
    array([1.])
    """

    partial_fit = base.partial_fit

    alpha: Any = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    copy_X: bool = True
    max_iter: int | None = None
    tol: float = 1e-4
    solver: str = "auto"
    positive: bool = False
    random_state: Any = None
    standardize: bool = False

    def _solve(self, data: TrainingData) -> Solution:
        alpha = self._alphas(len(data.source.targets))
        self.solver_ = self._solver(data)
        return solve_ridge(data, alpha, self._options(), positive=bool(self.positive))

    def _accept(self, solution: Solution, encoding: Encoding, *, flat: bool) -> None:
        super()._accept(solution, encoding, flat=flat)
        self.n_iter_ = np.full(solution.coef.shape[1], self.n_iter_, np.int32)

    def _solver(self, data: TrainingData) -> str:
        """The name of the solver, checked."""
        check_option("solver", self.solver, SOLVERS)
        if self.solver == "lbfgs" and not self.positive:
            raise InputError(
                "solver='lbfgs' is that of positive=True.", remedy="Leave it at 'auto'."
            )
        if self.positive and self.solver not in ("auto", "lbfgs"):
            raise InputError(
                f"solver={self.solver!r} does not support positive=True.",
                remedy="Leave it at 'auto'.",
            )
        if self.solver != "auto":
            return self.solver
        return "lbfgs" if self.positive else "cholesky" if data.block is None else "svd"

    def _alphas(self, targets: int) -> Floats:
        """One penalty per target."""
        alpha = np.atleast_1d(np.asarray(self.alpha, dtype=float))
        remedy = "Give alpha as one number ≥ 0, or one for each target."
        if alpha.ndim > 1 or not (np.isfinite(alpha) & (alpha >= 0)).all():
            raise InputError(f"alpha={self.alpha!r} is not a penalty.", remedy=remedy)
        if len(alpha) not in (1, targets):
            raise InputError(
                "Number of targets and number of penalties do not correspond: "
                f"{len(alpha)} != {targets}.",
                remedy=remedy,
            )
        return np.broadcast_to(alpha, (targets,))

    def _wide(self, block: Block) -> bool:
        return from_rows(block, positive=bool(self.positive))

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None, units: Ints | None = None
    ) -> AffineFits | None:
        """The fits without each of the training rows, in closed form; None if there is none.

        Equal rows of one number in ``units`` are left out together, as are the w rows of a weight.
        With ``standardize`` the penalty depends on every row, so that there is none.
        """
        if self.positive or self.standardize or np.ndim(self.alpha):
            return None
        return lines_without_each_row(self, X, y, sample_weight, float(self.alpha), units)


def solve_ridge(
    data: TrainingData, alpha: Floats, options: RidgeOptions, *, positive: bool = False
) -> Solution:
    """Solve for every target, one α each; α = 0 is least squares, by its own solver."""
    if positive:
        return _non_negative(data, alpha, options)
    if not alpha.any():
        return solve_least_squares(data, fit_intercept=options.fit_intercept)
    solution = _solve_one_penalty(data, np.where(alpha > 0, alpha, 1.0), options)
    if alpha.all():
        return solution
    plain = solve_least_squares(data, fit_intercept=options.fit_intercept)
    return replace(
        solution,
        coef=np.where(alpha > 0, solution.coef, plain.coef),
        intercept=np.where(alpha > 0, solution.intercept, plain.intercept),
        certificate=max(solution.certificate, plain.certificate, key=lambda c: c.kkt),
    )


def _solve_one_penalty(data: TrainingData, alpha: Floats, options: RidgeOptions) -> Solution:
    if data.block is not None:
        return ridge_from_block(data.block, alpha, options)
    assert data.moments is not None
    m, scale = options.scaled(data.moments)
    solution = ridge_from_moments(m, alpha)
    return replace(solution, coef=solution.coef / scale[:, None])


def _non_negative(data: TrainingData, alpha: Floats, options: RidgeOptions) -> Solution:
    if alpha.min() < alpha.max():
        raise InputError("With positive=True all targets need the same alpha.")
    return solve_non_negative(
        data.block or data.source,
        float(alpha[0]),
        fit_intercept=options.fit_intercept,
        standardize=options.standardize,
    )


# -------------------------------------------------------------------------------------------------
# What criteria of complexity read of a ridge path.
#
#     log p(y | ρ) = ½ [n log n/(2π Q) − n − Σ log(1 + λ/ρ)]
#     Q(ρ) = min over b of ‖y − Xb‖² + ρ‖b‖²
#
# is the evidence of a normal prior of coefficients whose variance is that of the noise over ρ, at
# the best noise variance Q/n.


SHRUNKEN = "the closed form is that of least squares, and a penalty shrinks these coefficients."
CONSTANT = "the target is constant, so that the noise has no variance."
UNBOUNDED = (
    "with no fewer columns than rows it grows without bound as the noise vanishes: only points of "
    "at most n/2 degrees of freedom are compared."
)
FREEDOM = "effective degrees of freedom stand for the VC dimension, which penalties leave as it is."


def ridge_figures(model: Any, fold_errors: Floats | None) -> PathFigures:
    """Figures of a fitted path of one target."""
    spectrum: DesignSpectrum = model.spectrum_
    if spectrum.cross.shape[1] != 1:
        raise InputError(
            f"Criteria compare models of one target, and there are {spectrum.cross.shape[1]}.",
            remedy="Fit a path to each of them.",
        )
    alphas, n = model.alphas_, spectrum.weight
    squares = spectrum.rss(alphas)[:, 0]
    freedom = spectrum.degrees_of_freedom(alphas) + int(model.fit_intercept)
    evidence, reasons = None, {"MDL": SHRUNKEN, "structural risk": FREEDOM}
    if spectrum.yy[0] > 0.0:
        evidence = log_evidence(spectrum, alphas)
        if np.count_nonzero(spectrum.values > spectrum.floor) + int(model.fit_intercept) >= n:
            evidence = np.where(freedom <= n / 2.0, evidence, np.nan)
            reasons["evidence"] = UNBOUNDED
    else:
        reasons["evidence"] = CONSTANT
    return PathFigures(
        "alpha",
        tuple(alphas.tolist()),
        alphas,
        n,
        freedom=freedom,
        log_likelihood=gaussian_log_likelihood(squares, n),
        others=1,
        squares=squares,
        log_evidence=evidence,
        fold_losses=fold_errors,
        reasons=reasons,
    )


def log_evidence(spectrum: DesignSpectrum, alphas: Floats) -> Floats:
    """The evidence at every penalty, noise variance at its best; −∞ at a penalty of 0."""
    n, cross = spectrum.weight, spectrum.cross[:, 0]
    penalized = spectrum.yy[0] - cross**2 @ spectrum.inverse_eigenvalues(alphas)
    penalized = np.maximum(penalized, np.finfo(float).eps ** 2 * spectrum.yy[0])
    with np.errstate(divide="ignore"):
        spread = np.log1p(np.divide.outer(spectrum.values, alphas)).sum(axis=0)
    fit = n * (np.log(n / (2.0 * np.pi)) - np.log(penalized)) - n
    return np.asarray(0.5 * (fit - spread))


# -------------------------------------------------------------------------------------------------
# The ridge path, and the point of it with the best criterion.


def refuse_without_spectrum(path: RidgeTrace) -> None:
    """Refuse what needs all eigenvalues where there are too many rows and columns for that."""
    refuse_lost_spectrum(path.spectrum, path.coefs)


def refuse_lost_spectrum(spectrum: DesignSpectrum, coefs: Floats) -> None:
    """The same from a spectrum and coefficients."""
    if not len(spectrum.values) and coefs.any():
        raise InputError(
            "These sparse rows and columns are too many for an eigendecomposition, which degrees "
            "of freedom and leave-one-out errors need.",
            remedy="Use RidgeCV with folds (cv=5), or Ridge at one penalty.",
        )


class RidgePathBase(RidgeBase):
    """Base class of models that compute the path and select a point of it."""

    alphas: Any

    def _wide(self, block: Block) -> bool:
        return block.n <= block.x.shape[1] or self._by_products(block)

    def _by_products(self, block: Block) -> bool:
        """Whether products alone solve the path: criteria of complexity need all eigenvalues."""
        return by_products(block, spectrum=True)

    def _by_factors(self, block: Block) -> bool:  # noqa: ARG002
        """Whether a factor for each penalty takes the place of all eigenvalues."""
        return False

    @cached_property
    def spectrum_(self) -> DesignSpectrum:
        """The eigenvalues of the training rows; computed when asked for, if the fit did without."""
        check_is_fitted(self, "coef_")
        assert self._rows is not None
        block, alphas = self._rows.collect(), np.atleast_1d(self.alphas_)
        return trace_rows(block, self._options(), lambda _: alphas, products=False).spectrum

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "coef_"):
            self.spectrum_  # noqa: B018 - a loaded model has no rows to compute them from
        return super().__getstate__()

    @abstractmethod
    def _best(self, path: RidgeTrace, data: TrainingData) -> int:
        """Index of the penalty to predict with."""

    def coef_at(self, alpha: float) -> tuple[Floats, Floats]:
        """Coefficients and intercept at any penalty, on the grid or not."""
        alphas = np.array([float(alpha)])
        if self.spectrum_.directions is None and self._rows is not None:
            block = self._rows.collect()
            path = trace_rows(block, self._options(), lambda _: alphas, products=by_products(block))
            coefs, intercepts = path.coefs, path.intercepts
        else:
            coefs, intercepts = self.spectrum_.coefs(alphas)
        if np.ndim(self.coef_) == 1:
            return coefs[0, :, 0], intercepts[0, 0]
        return coefs[0].T, intercepts[0]

    def at_chosen_penalty(self) -> Ridge:
        """The same model at one penalty, the chosen one, not fitted."""
        check_is_fitted(self)
        return Ridge(self.alpha_, **self._shared)

    @property
    def _shared(self) -> dict[str, Any]:
        return {"fit_intercept": self.fit_intercept, "standardize": self.standardize}

    def path_figures(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, cv: Any = None
    ) -> PathFigures:
        """What :func:`criteria` reads of the path; losses of folds where rows are given."""
        check_is_fitted(self)
        refuse_lost_spectrum(self.spectrum_, self.coefs_)
        errors = getattr(self, "mse_path_", None)
        if X is not None and (errors is None or cv is not None):
            errors = self._cross_validate(X, y, sample_weight, cv)
        return ridge_figures(self, errors)

    def _cross_validate(self, X: Any, y: Any, sample_weight: Any, cv: Any) -> Floats:
        """Mean squared errors of folds (m x folds) at the penalties of the path."""
        model = RidgeCV(self.alphas_, cv=DEFAULT_FOLDS if cv is None else cv, **self._shared)
        return model.fit(X, y, sample_weight).mse_path_

    def _solve(self, data: TrainingData) -> Solution:
        path = self._trace(data)
        return self._select(path, self._best(path, data))

    def _trace(self, data: TrainingData) -> RidgeTrace:
        """The path over all rows."""
        options = self._options()
        if data.block is not None:
            return trace_rows(
                data.block,
                options,
                self._grid,
                products=self._by_products(data.block),
                by_factors=self._by_factors(data.block),
            )
        assert data.moments is not None
        m, scale = options.scaled(data.moments)
        spectrum = DesignSpectrum.from_moments(m, scale)
        return trace_moments(m, spectrum, self._grid(spectrum))

    def _grid(self, spectrum: HasGrid) -> Floats:
        if self.alphas is None or isinstance(self.alphas, int | np.integer):
            return spectrum.grid(100 if self.alphas is None else int(self.alphas))
        return self._penalties(self.alphas)

    def _penalties(self, given: Any) -> Floats:
        """Penalties given by the user, checked."""
        alphas = rules.numbers("alphas", given, "> 0.0, or 0 for least squares")
        if np.ndim(given) > 1 or not len(alphas):
            raise InputError("alphas must be a list of penalties ≥ 0, a number of them, or None.")
        return alphas

    def _select(self, path: RidgeTrace, best: int) -> Solution:
        self._store(path)
        self.alpha_ = float(path.alphas[best])
        return Solution(path.coefs[best], path.intercepts[best], path.certificates[best])

    def _store(self, path: RidgeTrace) -> None:
        """The solutions at all penalties."""
        one_target = path.coefs.shape[2] == 1
        self.__dict__.pop("spectrum_", None)
        if not path.by_factors:
            self.spectrum_ = path.spectrum
        self.alphas_ = path.alphas
        self.coefs_ = path.coefs[:, :, 0] if one_target else path.coefs.transpose(0, 2, 1)
        self.intercepts_ = path.intercepts[:, 0] if one_target else path.intercepts
        self.gaps_ = np.array([c.gap for c in path.certificates])


@declare_parameters
class RidgePath(RidgePathBase):
    """Ridge regression for all penalties, with the best of them by a criterion.

        b(α) = argmin over b, a of Σ w (y − a − b·x)² + α ‖b‖²        for every α

    One eigendecomposition of the moments gives the solution at every penalty.

    Parameters
    ----------
    alphas : array, int or None, default=None
        Penalties to report; a number or None places that many (100) on a log scale that spans the
        eigenvalues of XᵀX.
    criterion : {"bic", "aic", "gcv"}, default="bic"
        Selects ``alpha_``; "gcv" is generalized cross-validation, n·RSS/(n − df)².
    fit_intercept : bool, default=True
        Whether the model has an intercept, which is not penalized.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns.

    Attributes
    ----------
    alphas_ : ndarray of shape (m,)
        The penalties.
    coefs_ : ndarray of shape (m, d) or (m, k, d)
        Coefficients for every penalty.
    intercepts_ : ndarray of shape (m,) or (m, k)
    gaps_ : ndarray of shape (m,)
    degrees_of_freedom_ : ndarray of shape (m,)
        Effective degrees of freedom, the intercept included.
    aic_ : ndarray of shape (m,)
        Akaike's criterion for every penalty.
    bic_ : ndarray of shape (m,)
        The Bayesian information criterion for every penalty.
    gcv_ : ndarray of shape (m,)
        Generalized cross-validation error for every penalty.
    spectrum_ : DesignSpectrum
        The eigendecomposition, which ``coef_at`` evaluates at any penalty.
    alpha_ : float
        The selected penalty.
    coef_ : ndarray of shape (d,) or (k, d)
        Coefficients at ``alpha_``.
    intercept_ : float or ndarray of shape (k,)
        Intercept at ``alpha_``.
    certificate_ : Certificate
        Duality gap and KKT residual at ``alpha_``.

    See Also
    --------
    Ridge : One penalty.
    RidgeCV : Selection by cross-validation.
    LassoPath : The path of the lasso.

    References
    ----------
    A. E. Hoerl and R. W. Kennard, Ridge regression: biased estimation for nonorthogonal
    problems, Technometrics 12, 1970.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[-1.0], [0.0], [1.0]]
    >>> path = sx.RidgePath([2.0, 0.0]).fit(x, [-2.0, 0.0, 2.0])
    >>> path.coefs_
    array([[1.],
           [2.]])
    >>> path.coef_at(6.0)[0]
    array([0.5])
    """

    partial_fit = base.partial_fit

    alphas: Any = None
    _: KW_ONLY
    criterion: str = "bic"
    fit_intercept: bool = True
    standardize: bool = False

    def _best(self, path: RidgeTrace, data: TrainingData) -> int:  # noqa: ARG002
        refuse_without_spectrum(path)
        spectrum, alphas, n = path.spectrum, path.alphas, path.spectrum.weight
        freedom = spectrum.degrees_of_freedom(alphas) + int(self.fit_intercept)
        squares = spectrum.rss(alphas).mean(axis=1)
        self.degrees_of_freedom_ = freedom
        self.aic_ = rules.aic(squares, freedom, n)
        self.bic_ = rules.bic(squares, freedom, n)
        self.gcv_ = np.where(freedom < n, n * squares / np.maximum(n - freedom, 1e-12) ** 2, np.inf)
        criteria = {"aic": self.aic_, "bic": self.bic_, "gcv": self.gcv_}
        check_option("criterion", self.criterion, criteria)
        return rules.minimum(alphas, criteria[self.criterion])


# -------------------------------------------------------------------------------------------------
# Ridge regression with the penalty of the best score on rows left out.


@declare_parameters
class RidgeCV(RidgePathBase):
    """Ridge regression with the penalty of the best cross-validated score.

        min over b, a of Σ w (y − a − b·x)² + α ‖b‖²,      α selected on rows left out

    Parameters
    ----------
    alphas : float, array or None, default=(0.1, 1.0, 10.0)
        Penalties; None places 100 on a log scale that spans the eigenvalues of XᵀX, which suits
        every table.
    fit_intercept : bool, default=True
        Whether the model has an intercept, which is not penalized.
    scoring : str, callable or None, default=None
        The score, as in scikit-learn. None is minus the squared error of rows left out one by
        one; with folds it is R², or minus the squared error where the target of a fold is
        constant.
    cv : None, int, splitter or iterable of (train, test), default=None
        None is leave-one-out in closed form; otherwise folds, whose moments come from one pass
        over the rows. Rows that are copies are left out together, as are the w equal rows that
        a row of weight w stands for.
    gcv_mode : {None, "auto", "svd", "eigen"}, default=None
        Ignored; accepted for scikit-learn compatibility.
    store_cv_results : bool, default=False
        Whether to store ``cv_results_`` (leave-one-out only).
    alpha_per_target : bool, default=False
        Whether every target has its own penalty (leave-one-out only).
    rule : {"min", "one_se", "elbow"}, default="min"
        The best mean score, or the largest penalty within one standard error of it: that of its
        mean, or of the differences from it ("elbow"). The latter two need folds.
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (k,)
        The selected penalty, or one for each target.
    best_score_ : float or ndarray of shape (k,)
        The mean score at ``alpha_``.
    cv_results_ : ndarray of shape (n, m) or (n, k, m)
        Squared errors of rows left out, times their weights; or their predictions if ``scoring``
        is given.
    mse_path_ : ndarray of shape (m, folds)
        Mean squared errors of test rows for every penalty; one column for leave-one-out.
    alphas_ : ndarray of shape (m,)
        The penalties.
    coefs_ : ndarray of shape (m, d) or (m, k, d)
        Coefficients for every penalty, fitted to all rows.
    intercepts_ : ndarray of shape (m,) or (m, k)
    gaps_ : ndarray of shape (m,)
    coef_ : ndarray of shape (d,) or (k, d)
        Coefficients at ``alpha_``.
    intercept_ : float or ndarray of shape (k,)
        Intercept at ``alpha_``.
    certificate_ : Certificate
        Duality gap and KKT residual at ``alpha_``.

    See Also
    --------
    RidgePath : Selection by a criterion, from moments alone.
    Ridge : One penalty.
    LassoCV : The same for the lasso.

    References
    ----------
    G. H. Golub, M. Heath and G. Wahba, Generalized cross-validation as a method for choosing a
    good ridge parameter, Technometrics 21, 1979.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[-2.0], [-1.0], [0.0], [1.0], [2.0]]
    >>> model = sx.RidgeCV([0.1, 10.0]).fit(x, [-4.1, -1.9, 0.0, 2.0, 4.0])
    >>> model.alpha_
    0.1
    >>> model.mse_path_.shape
    (2, 1)
    """

    fits_moments = False  # the rows are left out one by one, or fold by fold
    _folds: Any = field(init=False)
    _score_arguments: Mapping[str, Any] = field(init=False)
    alpha_: Any = field(init=False)
    best_score_: Any = field(init=False)
    cv_results_: Floats = field(init=False)

    alphas: Any = (0.1, 1.0, 10.0)
    _: KW_ONLY
    fit_intercept: bool = True
    scoring: Any = None
    cv: Any = None
    gcv_mode: str | None = None
    store_cv_results: bool = False
    alpha_per_target: bool = False
    rule: str = "min"
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter ``cv`` and to the scorer by scikit-learn's
        metadata routing.
        """
        self._check()
        if self.gcv_mode == "svd" and self.cv is None and sparse.issparse(X):
            warn_as(
                FutureWarning,
                "The 'svd' mode is not supported for sparse X in scikit-learn; gcv_mode is ignored "
                "here.",
            )
        self.__dict__.pop("cv_results_", None)
        with folds_of_fit(self, X, y, params, sample_weight):
            super().fit(X, y, sample_weight)
        if self.store_cv_results and np.asarray(y).ndim == 2 and self.cv_results_.ndim == 2:
            self.cv_results_ = self.cv_results_[:, None, :]
        return self

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the scorer and to the splitter."""
        scorer = check_scoring(self, scoring=self.scoring, allow_none=True)
        if self.scoring is None:
            scorer = get_scorer("r2").set_score_request(sample_weight=True)
        return fold_router(self, scorer=scorer)

    def _check(self) -> None:
        check_option("rule", self.rule, rules.RULES)
        check_option("gcv_mode", self.gcv_mode, (None, "auto", "svd", "eigen"))  # type: ignore[arg-type]
        if self.cv is None:
            return
        for name in ("store_cv_results", "alpha_per_target"):
            if getattr(self, name):
                raise InputError(
                    f"cv!=None and {name}=True are incompatible: it belongs to leave-one-out."
                )

    def _by_products(self, block: Block) -> bool:
        if self.cv is None or self.alphas is None:
            return super()._by_products(block)
        return by_products(block, np.size(self.alphas) * (1 + DEFAULT_FOLDS))

    def _by_factors(self, block: Block) -> bool:
        few = self.alphas is not None and penalty_by_penalty(np.size(self.alphas))
        return few and self.cv is not None and block.n <= block.x.shape[1]

    def _grid(self, spectrum: HasGrid) -> Floats:
        if isinstance(self.alphas, Real):  # a number is a penalty here, not how many there are
            return self._penalties([float(self.alphas)])
        return super()._grid(spectrum)

    def _read(self, rows: Rows) -> tuple[TrainingData, Encoding]:
        if self.cv is None:
            return super()._read(rows)
        if self._from_squares:
            return TrainingData.with_folds(rows, self._folds)
        if not isinstance(rows, ArrayRows):
            raise InputError(
                f"scoring={self.scoring!r} needs a numeric matrix, and a table was given.",
                remedy=f"Use one of {', '.join(map(repr, FROM_SQUARES))}.",
            )
        data = TrainingData(rows.reduce(Moments()), rows, block=rows.block)
        return data, identity(rows.schema)

    @property
    def _from_squares(self) -> bool:
        return self.scoring is None or (
            isinstance(self.scoring, str) and self.scoring in FROM_SQUARES
        )

    def _best(self, path: RidgeTrace, data: TrainingData) -> int:
        errors = self._fold_errors(path, data)
        best = self._chosen(path.alphas, errors.scores)
        self.mse_path_, self.best_score_ = errors.mse, float(errors.scores[best].mean())
        return best

    def _fold_errors(self, path: RidgeTrace, data: TrainingData) -> FoldErrors:
        options = self._options()
        wide = (
            data.block is not None
            and not self._by_products(data.block)
            and not options.standardize
            and not path.graded
            and (path.alphas > 0.0).all()
        )
        implicit = data.block is not None and self._by_products(data.block)
        if self._from_squares and implicit and not options.standardize and path.alphas.all():
            errors = sparse_fold_errors(data, self._folds, path.alphas, options, self.scoring)
            if errors is not None:
                return errors
        if self._from_squares and wide:
            return wide_fold_errors(data, self._folds, path.alphas, options, self.scoring)
        if self._from_squares:
            return fold_errors(data.folds(self._folds), path.alphas, options, self.scoring)
        scorer = check_scoring(self, scoring=self.scoring)
        return fold_scores(data, self._folds, path.alphas, options, scorer, self._score_arguments)

    def _solve(self, data: TrainingData) -> Solution:
        if self.cv is not None:
            return super()._solve(data)
        if data.rows is None:
            raise needs_rows()
        path = self._trace(data)
        refuse_without_spectrum(path)
        scores = self._leave_one_out(path, data.rows)
        self._store(path)
        best = [self._chosen(path.alphas, column[:, None]) for column in scores.T]
        if len(best) == 1:
            self.best_score_, self.alpha_ = float(scores[best[0], 0]), float(path.alphas[best[0]])
            return Solution(
                path.coefs[best[0]], path.intercepts[best[0]], path.certificates[best[0]]
            )
        self.best_score_ = scores[best, np.arange(len(best))]
        self.alpha_ = path.alphas[best]
        return solve_ridge(data, self.alpha_, self._options())

    def _chosen(self, alphas: Floats, scores: Floats) -> int:
        """By the rule; of equal scores the first, as in scikit-learn."""
        if self.rule == "min":
            return int(np.argmax(scores.mean(axis=1)))
        return rules.RULES[self.rule](alphas, -scores)

    def _leave_one_out(self, path: RidgeTrace, rows: Rows) -> Floats:
        """Scores of rows left out, by penalty (m x 1) or by penalty and target (m x k)."""
        fit_intercept = bool(self.fit_intercept)
        if not self.store_cv_results and self.scoring is None:
            mse = leave_one_out_errors(path, rows, fit_intercept=fit_intercept)
            self.mse_path_ = mse.mean(axis=1)[:, None]
            return -mse if self.alpha_per_target else -self.mse_path_
        block = rows.collect()
        residuals = left_out_residuals(path, block, fit_intercept=fit_intercept)
        mse = np.average(residuals**2, axis=0, weights=block.w).T
        self.mse_path_ = mse.mean(axis=1)[:, None]
        if self.scoring is None:
            results = residuals**2 * block.weights[:, None, None]
        else:
            results = block.y[:, :, None] - residuals
        if self.store_cv_results:
            self.cv_results_ = results[:, 0] if results.shape[1] == 1 else results
        if self.scoring is None:
            return -mse if self.alpha_per_target else -self.mse_path_
        return self._scored(results, block.y, block.w)

    def _scored(self, predictions: Floats, y: Floats, w: Floats | None) -> Floats:
        """What the scorer makes of the predictions (n x k x m)."""
        scorer = check_scoring(self, scoring=self.scoring)
        arguments = dict(self._score_arguments)
        if w is not None:
            arguments.setdefault("sample_weight", w)
        model, m = FixedRegressor(), predictions.shape[2]
        if self.alpha_per_target or y.shape[1] == 1:
            columns = range(y.shape[1])
            return np.array(
                [
                    [scorer(model, predictions[:, j, i], y[:, j], **arguments) for j in columns]
                    for i in range(m)
                ]
            )
        return np.array([[scorer(model, predictions[:, :, i], y, **arguments)] for i in range(m)])

    def coef_at(self, alpha: float) -> tuple[Floats, Floats]:
        """Coefficients and intercept at any penalty, on the grid or not."""
        check_is_fitted(self)
        return super().coef_at(alpha)


# -------------------------------------------------------------------------------------------------
# Errors and scores of a ridge path on rows that were left out, one by one or in folds.


#: scikit-learn's scores that squared errors determine, from (MSE, variance of the test rows).
FROM_SQUARES: dict[str, Callable[[Floats, Floats], Floats]] = {
    "neg_mean_squared_error": lambda mse, _: -mse,
    "neg_root_mean_squared_error": lambda mse, _: -np.sqrt(mse),
    "r2": lambda mse, variance: _r_squared(mse, variance),
}


@dataclass(frozen=True)
class FoldErrors:
    """Mean squared errors ``mse`` and ``scores`` of the test rows (m x folds, mean of targets)."""

    mse: Floats
    scores: Floats


@declare_parameters
class FixedRegressor(RegressorMixin, BaseEstimator):
    """Predictions with coefficients that are known, for scorers; None predicts X itself."""

    coef: Any = None
    intercept: Any = None

    def fit(self, X: Any, y: Any = None) -> FixedRegressor:  # noqa: ARG002
        """Nothing is learned."""
        return self

    def predict(self, X: Any) -> Any:
        """coef·x + intercept."""
        return X if self.coef is None else X @ self.coef + self.intercept

    def __sklearn_is_fitted__(self) -> bool:
        return True


def leave_one_out_errors(path: RidgeTrace, rows: Rows, *, fit_intercept: bool) -> Floats:
    """Mean squared errors of rows left out (m x k).

    Copies are left out together, unless the rows are a stream. In float32 where that cannot
    matter: many rows, and residuals that are not tiny.
    """
    s = path.spectrum
    source = rows.rows if isinstance(rows, EncodedRows) else rows
    if path.coordinates is not None or isinstance(source, InMemory):
        block = rows.collect()
        if path.coordinates is not None or _nearly_square(block):
            errors = left_out_residuals(path, block, fit_intercept=fit_intercept)
            return np.asarray(np.average(errors**2, axis=0, weights=block.w).T)
        distinct, which = merge_copies(block)
        if which is not None:
            rows = InMemory(rows.schema, distinct)
    unexplained = float(np.min(s.rss(path.alphas).sum(axis=1) / max(s.yy.sum(), 1e-300)))
    # Rows from which leave-one-out errors average over the rounding of float32.
    if s.weight >= 50_000 and unexplained > 1e-3:
        single = rows.reduce(_statistic(path, fit_intercept, np.float32))
        if single.least > 1e-2:  # no row has a leverage close to 1
            return np.asarray(single.total.T / s.weight)
    double = rows.reduce(_statistic(path, fit_intercept, np.float64))
    return np.asarray(double.total.T / s.weight)


def left_out_residuals(path: RidgeTrace, block: Block, *, fit_intercept: bool) -> Floats:
    """y − prediction by the rows that differ, by row, target and penalty (n x k x m)."""
    distinct, which = merge_copies(block)
    u, statistic = path.coordinates, None
    if u is None:
        statistic = _statistic(path, fit_intercept, np.float64)
        if _nearly_square(block):
            u = np.zeros((block.n, len(path.spectrum.values)))
            nonzero = path.spectrum.values > path.spectrum.floor
            u[:, nonzero] = (block.dense() - statistic.x_mean) @ statistic.rotation
    if u is not None:
        w = distinct.weights if which is None else distinct.weights[which]
        independent = int(np.count_nonzero(distinct.weights))
        return _from_coordinates(path, block.y, w, u, independent, fit_intercept=fit_intercept)
    assert statistic is not None
    residuals = np.empty((distinct.n, block.y.shape[1], len(path.alphas)))
    for rows, k, error in statistic.errors(distinct):
        residuals[rows, k] = error
    return residuals if which is None else residuals[which]


def _nearly_square(block: Block) -> bool:
    """Whether the rows may be independent of one another: no more than one beyond the columns."""
    return bool(block.n <= block.x.shape[1] + 1)


def _from_coordinates(
    path: RidgeTrace, y: Floats, w: Floats, u: Floats, distinct: int, *, fit_intercept: bool
) -> Floats:
    """The same from the coordinates of the rows, which are not read again.

    ``w`` is the weight of each row with all its copies. Where the distinct rows are independent the
    fit could reach every target: residual and 1 − w h are both multiples of α, which cancels,

        e₍ᵢ₎ = Σⱼ uᵢⱼ cⱼ/(λⱼ + α) / (w Σⱼ uᵢⱼ²/(λⱼ + α))
    """
    s = path.spectrum
    nonzero, most = s.values > s.floor, distinct - int(fit_intercept)
    if np.count_nonzero(nonzero) > most:  # the direction of the mean, left by rounding
        nonzero[np.argsort(s.values)[: len(s.values) - most]] = False
    u, inverse = u[:, nonzero], s.inverse_eigenvalues(path.alphas)[nonzero]
    shrink = s.values[nonzero, None] * inverse
    cross = s.cross[nonzero] / np.sqrt(s.values[nonzero])[:, None]
    rest = 1.0 - w[:, None] * ((1.0 / s.weight if fit_intercept else 0.0) + u**2 @ shrink)
    fitted = np.einsum("nr,rm,rk->nkm", u, shrink, cross, optimize=True)
    errors = ((y - s.y_mean)[:, :, None] - fitted) / np.maximum(rest, 1e-12)[:, None]
    if np.count_nonzero(nonzero) == most:
        counted = w > 0.0
        u, w = u[counted], w[counted]
        residual = np.einsum("nr,rm,rk->nkm", u, inverse, cross, optimize=True)
        errors[counted] = residual / (w[:, None] * (u**2 @ inverse))[:, None]
    return np.asarray(errors)


def _statistic(path: RidgeTrace, fit_intercept: bool, precision: Any) -> LeaveOneOutErrorSums:
    s = path.spectrum
    assert s.directions is not None
    nonzero = s.values > s.floor
    root = np.sqrt(s.values[nonzero])
    return LeaveOneOutErrorSums(
        s.directions[:, nonzero] / s.scale[:, None] / root,
        (s.values[:, None] * s.inverse_eigenvalues(path.alphas))[nonzero],
        s.cross[nonzero] / root[:, None],
        s.x_mean,
        s.y_mean,
        1.0 / s.weight if fit_intercept else 0.0,
        precision,
    )


def fold_errors(
    folds: Sequence[tuple[Source, Source]], alphas: Floats, options: RidgeOptions, scoring: Any
) -> FoldErrors:
    """Errors by fold, and the scores that follow from them."""
    errors, variances = [], []
    for train, test in folds:
        coefs, intercepts = path_coefs(train, alphas, options)
        errors.append(
            [
                rules.validation_error(test, coefs[:, :, k], intercepts[:, k], k)
                for k in range(coefs.shape[2])
            ]
        )
        variances.append(_variances(test))
    mse, variance = np.moveaxis(np.array(errors), 2, 0), np.array(variances)  # m x folds x k
    return _with_scores(mse, variance, scoring)


def wide_fold_errors(
    data: TrainingData, cv: Any, alphas: Floats, options: RidgeOptions, scoring: Any
) -> FoldErrors:
    """The same for few rows of many columns, all folds from one n x n matrix."""
    assert data.block is not None
    whole = data.block.take(folding(data.block.w, cv))
    pairs = data.row_folds(cv)[1].pairs
    gram = CenteredRows.of(whole, options.fit_intercept, False).unweighted_gram()

    def errors(fold: tuple[Ints, Ints]) -> tuple[Floats, Floats]:
        predictions = fold_predictions(
            gram, whole.y, whole.weights, fold, alphas, fit_intercept=options.fit_intercept
        )
        test = whole.take(fold[1])
        squares = (test.y[:, None, :] - predictions) ** 2
        return np.average(squares, axis=0, weights=test.w), _variances(test)

    fold_errors = parallel_map(errors, pairs)
    mse = np.stack([error for error, _ in fold_errors], axis=1)
    return _with_scores(mse, np.array([variance for _, variance in fold_errors]), scoring)


def sparse_fold_errors(
    data: TrainingData, cv: Any, alphas: Floats, options: RidgeOptions, scoring: Any
) -> FoldErrors | None:
    """The same for sparse rows, all folds and penalties by products with all rows.

    None where units ask for more steps than plain conjugate gradients should take.
    """
    assert data.block is not None
    folds = data.row_folds(cv)[1]
    whole = data.block.take(folding(data.block.w, cv))
    x, k = products(whole.x), whole.y.shape[1]
    errors, variances = [], []
    most = folds_at_once(whole, k * len(alphas))
    for start in range(0, len(folds.pairs), most):
        pairs = folds.pairs[start : start + most]
        path = _folds_of_products(x, whole, pairs, alphas, options)
        if not all(path.done):
            return None
        for f, (_, at) in enumerate(pairs):
            test, here = whole.take(at), slice(f * k, f * k + k)
            coefs, intercepts = path.coefs[:, :, here], path.intercepts[:, here]
            errors.append(
                [
                    rules.validation_error(test, coefs[:, :, j], intercepts[:, j], j)
                    for j in range(k)
                ]
            )
            variances.append(_variances(test))
    return _with_scores(np.moveaxis(np.array(errors), 2, 0), np.array(variances), scoring)


def _folds_of_products(
    x: Products,
    whole: Block,
    pairs: Sequence[tuple[Ints, Ints]],
    alphas: Floats,
    options: RidgeOptions,
) -> ShiftedSolution:
    """The paths of some folds, the columns of each beside those of the others."""
    n, k = whole.y.shape
    weights = np.zeros((n, len(pairs) * k))
    for f, (train, _) in enumerate(pairs):
        weights[:, f * k : f * k + k] = (np.bincount(train, minlength=n) * whole.weights)[:, None]
    return solve_shifted(
        x,
        np.tile(whole.y, len(pairs)),
        weights,
        alphas,
        fit_intercept=options.fit_intercept,
        enough=1e-5,  # residual of the equations of a fold: five digits of its errors
        limit=FIRST_STEPS,
    )


def _with_scores(mse: Floats, variance: Floats, scoring: Any) -> FoldErrors:
    """The scores that follow from errors (m x folds x k) and variances of test rows."""
    if scoring is None:  # R² of a fold with a constant target is not defined
        scoring = "r2" if variance.all() else "neg_mean_squared_error"
    scores = FROM_SQUARES[scoring](mse, variance)
    return FoldErrors(mse.mean(axis=2), scores.mean(axis=2))


def fold_scores(
    data: TrainingData,
    cv: Any,
    alphas: Floats,
    options: RidgeOptions,
    scorer: Callable[..., float],
    arguments: Mapping[str, Any],
) -> FoldErrors:
    """Errors by fold, and what a scorer makes of the predictions for the test rows."""
    errors, scores = [], []
    for train, test in data.folds(cv):
        assert isinstance(train, Block)
        assert isinstance(test, Block)
        coefs, intercepts = path_coefs(_smaller(train), alphas, options)
        fold_arguments = (
            dict(arguments) if test.w is None else {**arguments, "sample_weight": test.w}
        )
        y, column = (test.y[:, 0], 0) if test.y.shape[1] == 1 else (test.y, slice(None))
        mse, score = np.empty(len(alphas)), np.empty(len(alphas))
        for i, (coef, intercept) in enumerate(zip(coefs, intercepts, strict=True)):
            model = FixedRegressor(coef[:, column], intercept[column])
            mse[i] = np.average((y - model.predict(test.x)) ** 2, axis=0, weights=test.w).mean()
            score[i] = scorer(model, test.x, y, **fold_arguments)
        errors.append(mse)
        scores.append(score)
    return FoldErrors(np.stack(errors, axis=1), np.stack(scores, axis=1))


def _smaller(block: Block) -> Source:
    """The moments of rows that outnumber their columns."""
    if from_rows(block):
        return block
    return block_moments(block)


def _variances(test: Source) -> Floats:
    """Variance of each target in the test rows."""
    if isinstance(test, Moments):
        return np.asarray(np.diag(test.yy) / test.weight)
    mean = np.average(test.y, axis=0, weights=test.w)
    return np.asarray(np.average((test.y - mean) ** 2, axis=0, weights=test.w))


def _r_squared(mse: Floats, variance: Floats) -> Floats:
    """1 − MSE/variance; for a constant target 1 where the fit is exact, else 0."""
    constant = np.where(mse > 0.0, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variance > 0.0, 1.0 - mse / variance, constant)


# -------------------------------------------------------------------------------------------------
# Leave-one-out errors of a ridge path in closed form, from one pass over the rows.
#
#     e₍ᵢ₎ = (yᵢ − ŷᵢ) / (1 − wᵢ hᵢ),      hᵢ = 1/Σw + Σⱼ uᵢⱼ² λⱼ/(λⱼ + α)
#
# with uᵢⱼ the coordinate of row i along the j-th principal direction, in units of √λⱼ, and wᵢ hᵢ
# the leverage: the prediction error of row i by the model fitted to the other rows (PRESS). A row
# of weight w stands for w equal rows, all of which are left out: a copy left in would give the
# target away.


class LeaveOneOutErrorSums(FieldStatistic):
    """Σ w e₍ᵢ₎² for each of k targets and m penalties, and the least 1 − w h.

    ``rotation`` (d x r) takes centred rows to coordinates u, ``shrink`` (r x m) holds λ/(λ + α),
    ``cross`` (r x k) the products of u with the targets; ``base`` is 1/Σw with an intercept, else
    0. In float32 (``precision``) the sums are good to about six digits where 1 − h is not small.
    """

    sums, minima = ("total",), ("least",)

    def __init__(
        self,
        rotation: Floats,
        shrink: Floats,
        cross: Floats,
        x_mean: Floats,
        y_mean: Floats,
        base: float,
        precision: Any = np.float64,
    ) -> None:
        self.rotation, self.shrink, self.cross = rotation, shrink, cross
        self.x_mean, self.y_mean, self.base = x_mean, y_mean, base
        self.precision = precision
        self.total = np.zeros((cross.shape[1], shrink.shape[1]))
        self.least = 1.0

    def update(self, block: Block) -> None:
        """Add the rows of a block, in chunks whose working arrays stay in cache."""
        for rows, k, error in self.errors(block):
            error *= error
            w = np.ones(len(error), self.precision) if block.w is None else block.w[rows]
            self.total[k] += w @ error

    def errors(self, block: Block) -> Iterator[tuple[slice, int, Floats]]:
        """Chunk by chunk (rows, target, errors (n x m)), in a buffer that the next one reuses."""
        (d, r), m, dtype = self.rotation.shape, self.shrink.shape[1], self.precision
        rotation, leverage = self.rotation.astype(dtype), self._low_rank(self.shrink)
        models = [
            self._low_rank(self.shrink * self.cross[:, [k]]) for k in range(self.cross.shape[1])
        ]
        chunk = int(np.clip(100_000 // max(d, m), 64, 2048))
        z, u, square = (np.empty((chunk, size), dtype) for size in (d, r, r))
        residual_factor, error = np.empty((chunk, m), dtype), np.empty((chunk, m), dtype)
        for start in range(0, block.n, chunk):
            n = min(chunk, block.n - start)
            rows = slice(start, start + n)
            w = None if block.w is None else block.w[rows]
            np.subtract(block.dense(start, start + n), self.x_mean, z[:n], casting="same_kind")
            np.matmul(z[:n], rotation, out=u[:n])
            np.multiply(u[:n], u[:n], out=square[:n])
            np.matmul(square[:n] @ leverage[0], leverage[1], out=residual_factor[:n])
            residual_factor[:n] += self.base
            if w is not None:
                residual_factor[:n] *= w[:, None]
            np.subtract(1.0, residual_factor[:n], out=residual_factor[:n])
            least = float(residual_factor[:n].min(initial=1.0))
            self.least = min(self.least, least)
            if least < 1e-12:  # a leverage of 1: rounding must not divide by zero
                np.maximum(residual_factor[:n], 1e-12, out=residual_factor[:n])
            for k, (left, right) in enumerate(models):
                y = (block.y[rows, k] - self.y_mean[k]).astype(dtype, copy=False)
                np.matmul(u[:n] @ left, right, out=error[:n])
                np.subtract(y[:, None], error[:n], out=error[:n])
                error[:n] /= residual_factor[:n]
                yield rows, k, error[:n]

    def _low_rank(self, matrix: Floats) -> tuple[Floats, Floats]:
        """The matrix as a product of two thin ones, by singular values.

        λ/(λ + α) is so smooth in both that a rank of about twelve represents it up to rounding.
        """
        u, s, vt = np.linalg.svd(matrix, full_matrices=False)
        smallest = 0.1 * np.finfo(self.precision).eps
        rank = int(np.count_nonzero(s > smallest * s.max(initial=0.0)))
        left, right = u[:, :rank] * s[:rank], vt[:rank]
        return left.astype(self.precision), right.astype(self.precision)
