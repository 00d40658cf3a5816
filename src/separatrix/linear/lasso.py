"""Lasso and elastic net: at one penalty, along the path, and by cross-validation."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy import optimize, sparse
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats
from separatrix.estimators import base
from separatrix.estimators.base import (
    MomentEstimator,
    Source,
    TrainingData,
    reads_tables,
)
from separatrix.linear import elastic_net
from separatrix.linear.least_squares import center_rows
from separatrix.linear.routes import Route, absolute_route, from_rows
from separatrix.linear.spectrum import RidgeOptions, ridge_from_block, solve_least_squares
from separatrix.linear.working_sets import StoppingRule
from separatrix.messages import InputError, check_option, warn, warn_as
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Block, Encoding
from separatrix.selection import rules
from separatrix.selection.criteria import PathFigures, Subsets
from separatrix.selection.folds import DEFAULT_FOLDS, fold_router, folds_of_fit
from separatrix.statistics.moments import Moments
from separatrix.threads import parallel_map

# -------------------------------------------------------------------------------------------------
# Checks of the parameters that lasso and elastic net share.


def check_parameters(model: Any) -> None:
    """Refuse parameters of the wrong kind, whether or not they have an effect."""
    check_option("selection", getattr(model, "selection", "cyclic"), ("cyclic", "random"))
    precompute = getattr(model, "precompute", False)
    if isinstance(precompute, str):
        check_option("precompute", precompute, ("auto",), "True, False or a Gram matrix")
    for name, least in (("tol", 0.0), ("max_iter", 1), ("l1_ratio", 0.0)):
        value = getattr(model, name)
        if not isinstance(value, Real) or not float(value) >= least:
            raise InputError(f"{name}={value!r} must be a number, at least {least:g}.")


def refuse_other_gram(precompute: Any, data: TrainingData, fit_intercept: bool) -> None:
    """Refuse a Gram matrix in ``precompute`` that is not that of the columns."""
    if precompute is None or isinstance(precompute, bool | np.bool_ | str):
        return
    gram, m = np.asarray(precompute, dtype=float), data.moments
    d = len(data.source.terms)
    if gram.shape != (d, d):
        raise InputError(f"precompute is a matrix of shape {gram.shape}, not {(d, d)}.")
    if m is None:
        return
    for centered in (True, False) if fit_intercept else (False,):
        about = m if centered else m.about_origin()
        length = np.sqrt(np.maximum(np.diag(about.xx), np.finfo(float).tiny))
        for factor in (1.0, m.count / m.weight):  # scikit-learn scales weights to a mean of one
            error = np.abs(factor * about.xx - gram) / (factor * np.outer(length, length))
            # Difference of two Gram matrices, relative to the lengths of the columns, that is
            # rounding.
            if error.max(initial=0.0) > 1e-4:
                continue
            if fit_intercept and not centered:
                warn_as(
                    UserWarning,
                    "Gram matrix was provided but X was centered to fit intercept: recomputing "
                    "Gram matrix.",
                )
            return
    raise InputError(
        "Gram matrix passed in via 'precompute' did not pass validation: it is not that of the "
        "columns of X.",
        remedy="Leave precompute away: inner products are computed once in any case.",
    )


# -------------------------------------------------------------------------------------------------
# Lasso and elastic net at one penalty.


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
        single = solution.coef.shape[1] == 1
        self.n_iter_: Any = (
            sweeps[0] if single else sweeps * (solution.coef.shape[1] // len(sweeps))
        )
        self.dual_gap_: Any = float(gaps[0]) if single else np.resize(gaps, solution.coef.shape[1])

    def _wide(self, block: Block) -> bool:
        penalties = self._number_of_penalties()
        if not (penalties and self.l1_ratio):
            return from_rows(block, positive=bool(self.positive))
        return absolute_route(block, penalties) is Route.COLUMNS

    def _number_of_penalties(self) -> int:
        """How many penalties are solved for in all; 0 for least squares."""
        alphas = getattr(self, "alphas", None)
        if alphas is None:
            return 100 if hasattr(self, "alphas") else int(bool(getattr(self, "alpha", 1.0)))
        return int(float(alphas)) if isinstance(alphas, Real) else np.size(alphas)

    def _options(self) -> elastic_net.ElasticNetOptions:
        check_parameters(self)
        return elastic_net.ElasticNetOptions(
            l1_ratio=float(self.l1_ratio),
            fit_intercept=bool(self.fit_intercept),
            positive=bool(self.positive),
            standardize=bool(self.standardize),
            tol=min(float(self.tol), self._accuracy) or self._accuracy,
            max_iter=int(self.max_iter),
        )


class _AtOnePenalty(ElasticNetBase):
    """Lasso and elastic net at one penalty."""

    alpha: float
    precompute: Any
    warm_start: bool

    partial_fit = base.partial_fit

    @reads_tables
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


@declare_parameters
class ElasticNet(_AtOnePenalty):
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
    precompute : bool or array, default=False
        Inner products of the columns are always used; a Gram matrix given here is compared with
        them.
    max_iter : int, default=1000
        Limit of sweeps of coordinate descent.
    copy_X : bool, default=True
    tol : float, default=1e-4
        Duality gap at which to stop, relative to the objective at b = 0; the fit goes on to 1e-8
        if that is less.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    positive : bool, default=False
    random_state : int or None, default=None
        Ignored; accepted for scikit-learn compatibility.
    selection : str, default="cyclic"
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns, so that the fit does not
        depend on units. Coefficients are in the units of the table either way.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (k, d)
    intercept_ : float or ndarray of shape (k,)
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

    alpha: float = 1.0
    _: KW_ONLY
    l1_ratio: float = 0.5
    fit_intercept: bool = True
    precompute: Any = False
    max_iter: int = 1000
    copy_X: bool = True
    tol: float = 1e-4
    warm_start: bool = False
    positive: bool = False
    random_state: Any = None
    selection: str = "cyclic"
    standardize: bool = False

    #: Coefficients at every penalty of a grid, without intercept: :func:`elastic_net_path`.
    path = staticmethod(elastic_net.elastic_net_path)


@declare_parameters
class Lasso(_AtOnePenalty):
    """Linear regression with an ℓ₁ penalty, which sets coefficients to zero.

        min over b, a of (1/2Σw) Σ w (y − a − b·x)² + α ‖b‖₁

    Parameters
    ----------
    alpha : float, default=1.0
        Weight α of the penalty; 0 is least squares.
    fit_intercept : bool, default=True
    precompute : bool or array, default=False
        Inner products of the columns are always used; a Gram matrix given here is compared with
        them.
    copy_X : bool, default=True
    max_iter : int, default=1000
        Limit of sweeps of coordinate descent.
    tol : float, default=1e-4
        Duality gap at which to stop, relative to the objective at b = 0; the fit goes on to 1e-8
        if that is less.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last fit.
    positive : bool, default=False
    random_state : int or None, default=None
        Ignored; accepted for scikit-learn compatibility.
    selection : str, default="cyclic"
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns.

    Attributes
    ----------
    coef_ : ndarray of shape (d,) or (k, d)
    intercept_ : float or ndarray of shape (k,)
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
    path = staticmethod(elastic_net.lasso_path)

    alpha: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    precompute: Any = False
    copy_X: bool = True
    max_iter: int = 1000
    tol: float = 1e-4
    warm_start: bool = False
    positive: bool = False
    random_state: Any = None
    selection: str = "cyclic"
    standardize: bool = False


# -------------------------------------------------------------------------------------------------
# What criteria of complexity read of a path of the lasso or elastic net.


REFITTED = "least squares on the columns selected at each penalty."
NO_MOMENTS = "there are too many columns for least squares on each selection of them."
NO_PRIOR = "the prior of the lasso has no evidence in closed form."
FREEDOM = "degrees of freedom stand for the VC dimension."


def elastic_net_figures(model: Any, weight: float, fold_errors: Floats | None) -> PathFigures:
    """Figures of a fitted path; ``weight`` is Σw."""
    likelihoods = model.log_likelihoods_
    subsets = None
    if model.moments_ is not None:
        m = model.moments_ if model.fit_intercept else model.moments_.about_origin()
        subsets = least_squares_on(m, model.coefs_ != 0.0, intercept=bool(model.fit_intercept))
    return PathFigures(
        "alpha",
        tuple(model.alphas_.tolist()),
        model.alphas_,
        weight,
        freedom=model.degrees_of_freedom_ + float(model.fit_intercept),
        log_likelihood=likelihoods,
        others=1,
        squares=weight / (2.0 * np.pi) * np.exp(-2.0 * likelihoods / weight - 1.0),
        subsets=subsets,
        fold_losses=fold_errors,
        reasons={
            "MDL": NO_MOMENTS if subsets is None else REFITTED,
            "evidence": NO_PRIOR,
            "structural risk": FREEDOM,
        },
    )


def least_squares_on(m: Moments, selected: Floats, *, intercept: bool) -> Subsets | None:
    """Least squares on the columns selected at each point (m x d); None where that is much work."""
    sets, where = np.unique(selected, axis=0, return_inverse=True)
    # Work, in multiplications, up to which least squares on the selected columns is solved.
    if float((sets.sum(axis=1).astype(float) ** 3).sum()) > 2e9:
        return None
    scale = np.sqrt(np.diag(m.xx))
    scale = np.where(scale > 0.0, scale, 1.0)
    xx, xy = m.xx / np.outer(scale, scale), m.xy[:, 0] / scale
    columns = []
    for members in sets:
        indices = np.flatnonzero(members)
        b, _, rank, _ = np.linalg.lstsq(xx[np.ix_(indices, indices)], xy[indices], rcond=1e-12)
        explained = float(xy[indices] @ b)
        columns.append((float(rank), max(float(m.yy[0, 0]) - explained, 0.0), explained))
    k, squares, explained = np.array(columns)[np.ravel(where)].T
    return Subsets(k, squares, explained, m.weight - float(intercept))


# -------------------------------------------------------------------------------------------------
# The path of the lasso, and the point of it with the best criterion.


#: Parameters that a path shares with its fits to folds, and with the model of one penalty.
SHARED = ("fit_intercept", "max_iter", "tol", "positive", "l1_ratio", "standardize")


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
            solution: Solution = solve_penalized(source, float(alpha), options, near)
        else:
            block = source if isinstance(source, Block) else None
            data = TrainingData(self.moments_, block=block)
            solution = solve_elastic_net(data, float(alpha), options)
        return solution.coef[:, 0], float(solution.intercept[0])

    def path_figures(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, cv: Any = None
    ) -> PathFigures:
        """What :func:`criteria` reads of the path; losses of folds where rows are given."""
        check_is_fitted(self)
        errors = getattr(self, "mse_path_", None)
        if X is not None and (errors is None or cv is not None):
            errors = self._cross_validate(X, y, sample_weight, cv)
        return elastic_net_figures(self, self._source().weight, errors)

    def at_chosen_penalty(self) -> ElasticNet:
        """The same model at one penalty, the chosen one, not fitted."""
        check_is_fitted(self)
        return ElasticNet(self.alpha_, **{name: getattr(self, name) for name in SHARED})

    def _cross_validate(self, X: Any, y: Any, sample_weight: Any, cv: Any) -> Floats:
        """Mean squared errors of folds (m x folds) at the penalties of the path."""

        shared = {name: getattr(self, name) for name in SHARED}
        model = LassoCV(alphas=self.alphas_, cv=cv, **shared)
        return model.fit(X, y, sample_weight).mse_path_

    def _source(self) -> Source:
        moments = self.__dict__.get("moments_")
        if moments is None and self._rows is None:
            raise InputError(
                "This model was stored without its training rows, and has too many columns for "
                "their moments.",
                remedy="Use coefs_ at the stored alphas_, or fit again.",
            )
        if moments is not None:
            return moments  # type: ignore[no-any-return]
        assert self._rows is not None
        return self._rows.collect()

    @abstractmethod
    def _best(self, path: elastic_net.ElasticNetPath, data: TrainingData) -> int:
        """Index of the penalty to predict with."""

    def _accept(self, solution: Solution, encoding: Encoding, *, flat: bool) -> None:
        super()._accept(solution, encoding, flat=flat)
        self._accept_sweeps(solution)

    def _solve(self, data: TrainingData) -> Solution:
        """The path over all rows, and its selected point solved to the KKT tolerance as well."""
        source, options = data.source, self._options()
        problem = elastic_net.elastic_net_problem(source, options)
        grid = rules.number_or_values(
            "alphas",
            100 if self.alphas is None else self.alphas,
            "For a fit without penalty use LinearRegression.",
        )
        grid = problem.grid(grid, float(self.eps)) if isinstance(grid, int) else grid[::-1]
        rule = StoppingRule(options.tol, sweeps=options.max_iter, freedom=True)
        path = problem.path(grid, rule)
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
        # Relative duality gap of the selected point, to which it is solved once more.
        finer = replace(options, tol=min(options.tol, 1e-8))
        again = replace(problem, options=finer)
        return solve_penalized(source, self.alpha_, finer, path.coefs[best][:, None], again)


@declare_parameters
class LassoPath(LassoPathBase):
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
    standardize : bool, default=False
        Whether α penalizes the coefficients of standardized columns.

    Attributes
    ----------
    alphas_ : ndarray of shape (m,)
        The penalties, the largest first.
    coefs_ : ndarray of shape (m, d)
        Coefficients for every penalty.
    intercepts_ : ndarray of shape (m,)
    gaps_ : ndarray of shape (m,)
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

    partial_fit = base.partial_fit

    alphas: Any = 100
    _: KW_ONLY
    eps: float = 1e-3
    l1_ratio: float = 1.0
    criterion: str = "bic"
    fit_intercept: bool = True
    max_iter: int = 10_000
    tol: float = 1e-6
    positive: bool = False
    standardize: bool = False

    def _best(self, path: elastic_net.ElasticNetPath, data: TrainingData) -> int:
        check_option("criterion", self.criterion, ("aic", "bic"))
        freedom, weight = path.freedom + float(self.fit_intercept), data.source.weight
        self.aic_ = rules.aic(path.rss, freedom, weight)
        self.bic_ = rules.bic(path.rss, freedom, weight)
        return rules.minimum(path.alphas, self.aic_ if self.criterion == "aic" else self.bic_)


# -------------------------------------------------------------------------------------------------
# The lasso with the penalty of the least cross-validated error.


@declare_parameters
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
        Ignored; accepted for scikit-learn compatibility.
    max_iter : int, default=1000
        Limit of sweeps of coordinate descent at each penalty.
    tol : float, default=1e-4
        Duality gap at which to stop, relative to the objective at b = 0; fits go on to 1e-6 if
        that is less.
    copy_X : bool, default=True
    cv : int, splitter or iterable of (train, test), default=None
        Folds as in scikit-learn; None is 5.
    verbose : bool or int, default=False
    n_jobs : int or None, default=None
        Threads to use; None is one per processor.
    positive : bool, default=False
    random_state : int or None, default=None
        Ignored; accepted for scikit-learn compatibility.
    selection : str, default="cyclic"
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
    gaps_ : ndarray of shape (m,)
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
    path = staticmethod(elastic_net.lasso_path)

    _: KW_ONLY
    eps: float = 1e-3
    alphas: Any = 100
    fit_intercept: bool = True
    precompute: Any = "auto"
    max_iter: int = 1000
    tol: float = 1e-4
    copy_X: bool = True
    cv: Any = None
    verbose: Any = False
    n_jobs: int | None = None
    positive: bool = False
    random_state: Any = None
    selection: str = "cyclic"
    l1_ratio: float = 1.0
    rule: str = "min"
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`.

        ``params`` such as ``groups`` go to the splitter ``cv`` by scikit-learn's metadata routing.
        """
        with folds_of_fit(self, X, y, params, sample_weight):
            return super().fit(X, y, sample_weight)

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the splitter."""
        return fold_router(self)

    def _number_of_penalties(self) -> int:
        return (1 + DEFAULT_FOLDS) * super()._number_of_penalties()

    def _read(self, rows: Rows) -> tuple[TrainingData, Encoding]:
        return TrainingData.with_folds(rows, self._folds)

    def _best(self, path: elastic_net.ElasticNetPath, data: TrainingData) -> int:
        check_option("rule", self.rule, rules.RULES)
        options, folds = self._options(), data.folds(self._folds)
        stopping = StoppingRule(options.tol, sweeps=options.max_iter)

        def test_error(fold: tuple[Source, Source]) -> Floats:
            train, test = fold
            path_on_fold = elastic_net.elastic_net_problem(train, options).path(
                path.alphas, stopping
            )
            return rules.validation_error(test, path_on_fold.coefs, path_on_fold.intercepts)

        errors = parallel_map(test_error, folds)
        self.mse_path_ = np.stack(errors, axis=1)
        return rules.RULES[self.rule](path.alphas, self.mse_path_)


# -------------------------------------------------------------------------------------------------
# Lasso and elastic net at one penalty: the route to the solution, and its certificate.


@dataclass(frozen=True)
class ElasticNetSolution(Solution):
    """A solution with the duality gap and the number of sweeps of each target."""

    gaps: Floats = field(default_factory=lambda: np.zeros(0))
    sweeps: tuple[int, ...] = ()


def solve_elastic_net(
    data: TrainingData,
    alpha: float,
    options: elastic_net.ElasticNetOptions,
    start: Floats | None = None,
) -> Solution:
    """Solve for every target; α = 0 without sign constraint is least squares.

    ``start`` (d x k) are coefficients near the solution, if some are known.
    """
    if not (np.isfinite(alpha) and alpha >= 0.0):
        raise InputError(f"alpha={alpha!r} must be a number ≥ 0.")
    if alpha > 0.0:
        return solve_penalized(data.source, alpha, options, start)
    if options.positive:
        return solve_penalized(data.source if data.block is None else data.block, 0.0, options)
    return solve_least_squares(data, fit_intercept=options.fit_intercept)


def solve_penalized(
    source: Source,
    alpha: float,
    options: elastic_net.ElasticNetOptions,
    start: Floats | None = None,
    problem: elastic_net.ElasticNetProblem | None = None,
) -> ElasticNetSolution:
    """Solve for every target with α > 0, or with coefficients ≥ 0, and certify.

    ``start`` (d x k) are coefficients near the solution, and ``problem`` is that of the only
    target, if they are known.
    """
    solutions = [
        _solve_target(
            source,
            problem or elastic_net.elastic_net_problem(source, options, target),
            alpha,
            target,
            None if start is None else start[:, target],
        )
        for target in range(len(source.targets))
    ]
    coef = np.stack([b for b, _, _ in solutions], axis=1)
    certificate = elastic_net.certify_elastic_net(source, coef, alpha, options)
    gaps = np.array([certificate.gap])
    if coef.shape[1] > 1:
        gaps = np.array(
            [part.gap for part in elastic_net.certify_targets(source, coef, alpha, options)]
        )
    sweeps = max(n for _, _, n in solutions)
    if not certificate.holds:
        _warn(certificate, sweeps, options)
    return ElasticNetSolution(
        coef,
        np.array([a for _, a, _ in solutions]),
        certificate,
        status=Status.SOLVED if certificate.holds else Status.LIMIT,
        iterations=sweeps,
        gaps=gaps,
        sweeps=tuple(n for _, _, n in solutions),
    )


def solve_non_negative(
    source: Source, alpha: float, *, fit_intercept: bool, standardize: bool = False
) -> Solution:
    """Least squares or ridge, Σ w (y − a − b·x)² + α ‖b‖², with coefficients ≥ 0."""
    options = elastic_net.ElasticNetOptions(
        l1_ratio=0.0, fit_intercept=fit_intercept, positive=True, standardize=standardize
    )
    claim = "Least squares: no other coefficients ≥ 0 fit these rows better"
    if alpha:
        claim = "Ridge: no other coefficients ≥ 0 have a smaller mean square plus penalty"
    solution = solve_penalized(source, alpha / source.weight, options)
    return replace(solution, certificate=replace(solution.certificate, claim=claim))


def _warn(certificate: Certificate, sweeps: int, options: elastic_net.ElasticNetOptions) -> None:
    """Warn with the reason why the tolerance was not reached."""
    left = f"a duality gap of {certificate.gap:.1e} is left of an objective of "
    left += f"{certificate.primal:.3g}"
    if sweeps >= options.max_iter:
        warn(
            "SEP003",
            "Objective did not converge. You might want to increase the number of iterations. "
            f"After {sweeps} sweeps {left}. Raise max_iter, tol or alpha.",
        )
    else:
        warn(
            "SEP003",
            f"{left}: some columns are nearly equal, and rounding hides anything smaller. Raise "
            "alpha, lower l1_ratio, or leave out one of such columns.",
        )


def _solve_target(
    source: Source,
    problem: elastic_net.ElasticNetProblem,
    alpha: float,
    target: int,
    start: Floats | None,
) -> tuple[Floats, float, int]:
    """Coefficients, intercept and number of sweeps."""
    options = problem.options
    if alpha == 0.0:
        return _non_negative(source, problem, target)
    if options.l1_ratio == 0.0 and isinstance(source, Block) and not options.positive:
        return _ridge(source, problem, alpha, target)
    stopping = StoppingRule(options.tol, 0.1 * options.tol, options.max_iter)
    path = problem.path([alpha], stopping, start)
    return path.coefs[0], float(path.intercepts[0]), path.sweeps


def _ridge(
    block: Block, problem: elastic_net.ElasticNetProblem, alpha: float, target: int
) -> tuple[Floats, float, int]:
    """Without ℓ₁ part no column can be left out: solve in the space of the rows instead."""
    options = RidgeOptions(problem.options.fit_intercept, problem.options.standardize)
    alphas = np.full(block.y.shape[1], alpha * problem.scales.weight)
    solution = ridge_from_block(block, alphas, options)
    return solution.coef[:, target], float(solution.intercept[target]), 1


def _non_negative(
    source: Source, problem: elastic_net.ElasticNetProblem, target: int
) -> tuple[Floats, float, int]:
    """Without penalty, coefficients ≥ 0: an active-set method on equilibrated columns."""
    s = problem.scales
    coef, at = np.zeros(len(s.x_mean)), s.nonconstant
    if len(at):
        factor, right = _factor(source, problem.options, target)
        scale = s.x_scale[at]
        coef[at] = optimize.nnls(factor[:, at] / scale, right)[0] / scale
    return coef, float(s.y_mean - coef @ s.x_mean), 1


def _factor(
    source: Source, options: elastic_net.ElasticNetOptions, target: int
) -> tuple[Floats, Floats]:
    """A and c with AᵀA = XᵀX and Aᵀc = Xᵀy, about the means."""
    if isinstance(source, Block):
        x, y, *_ = center_rows(source, options.fit_intercept)
        return x, y[:, target]
    m = source if options.fit_intercept else source.about_origin()
    scale = np.sqrt(np.diag(m.xx))
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh(m.xx / np.outer(scale, scale))
    positive = values > values.max(initial=0.0) * m.d * np.finfo(float).eps
    root = np.sqrt(values[positive])
    cross = vectors[:, positive].T @ (m.xy[:, target] / scale) / root
    return root[:, None] * vectors[:, positive].T * scale, cross
