"""Ridge regression at one penalty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.estimators.additive import MomentEstimator, PartialFitMixin, TrainingData
from separatrix.linear.elastic_net.solve import solve_non_negative
from separatrix.linear.least_squares.solve import (
    from_rows,
    solve_least_squares,
)
from separatrix.linear.leave_one_out import lines_without_each_row
from separatrix.linear.ridge.spectrum import RidgeOptions, ridge_from_moments
from separatrix.linear.ridge.trace import ridge_from_block
from separatrix.messages import InputError, check_option
from separatrix.optimize.solution import Solution
from separatrix.rows.block import Block, Floats
from separatrix.rows.encoding import Encoding
from separatrix.selection.leave_one_out import AffineFits

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


class Ridge(PartialFitMixin, RidgeBase):
    """Ridge regression: least squares with an ℓ₂ penalty.

        min over b, a of Σ w (y − a − b·x)² + α ‖b‖²

    The intercept is not penalized.

    Parameters
    ----------
    alpha : float or array of shape (k,), default=1.0
        Weight α of the penalty, or one for each target; 0 is least squares.
    fit_intercept : bool, default=True
        Whether the model has an intercept ``a``.
    copy_X : bool, default=True
        Accepted for compatibility with scikit-learn; it has no effect.
    max_iter : int or None, default=None
        Accepted for compatibility with scikit-learn; it has no effect.
    tol : float, default=1e-4
        Accepted for compatibility with scikit-learn; it has no effect.
    solver : str, default="auto"
        One of scikit-learn's names; the solution is exact with any of them.
    positive : bool, default=False
        Whether coefficients are constrained to be ≥ 0.
    random_state : int or None, default=None
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
    n_iter_ : ndarray of shape (k,)
        Number of iterations; 1 where the solution is in closed form.
    solver_ : str
        The solver: "cholesky", "svd", or "lbfgs" with ``positive``; the one named by ``solver``.
    moments_ : Moments or None
        Moments of the training rows, to which ``partial_fit`` adds.

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

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
        standardize: bool = False,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.standardize = standardize

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
        return from_rows(block)

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> AffineFits | None:
        """The fits without each of the training rows, in closed form; None if there is none.

        With ``standardize`` the penalty depends on every row, so that there is none.
        """
        if self.positive or self.standardize or np.ndim(self.alpha):
            return None
        return lines_without_each_row(self, X, y, sample_weight, float(self.alpha))


def solve_ridge(
    data: TrainingData, alpha: Floats, options: RidgeOptions, *, positive: bool = False
) -> Solution:
    """Solve for every target, one α each; α = 0 is least squares, by its own solver."""
    if positive:
        return _non_negative(data, alpha, options)
    if not alpha.any():
        return solve_least_squares(data, fit_intercept=options.fit_intercept)
    found = _penalized(data, np.where(alpha > 0, alpha, 1.0), options)
    if alpha.all():
        return found
    plain = solve_least_squares(data, fit_intercept=options.fit_intercept)
    return replace(
        found,
        coef=np.where(alpha > 0, found.coef, plain.coef),
        intercept=np.where(alpha > 0, found.intercept, plain.intercept),
        certificate=max(found.certificate, plain.certificate, key=lambda c: c.kkt),
    )


def _penalized(data: TrainingData, alpha: Floats, options: RidgeOptions) -> Solution:
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
