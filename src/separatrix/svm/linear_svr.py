"""Linear support vector regression."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, Ints, Matrix
from separatrix.svm.base import LinearSVM
from separatrix.svm.primal.options import (
    STEPS,
    check_dual,
    intercept_scaling,
    linear_options,
    options_for,
)
from separatrix.svm.primal.squared_problem import squared_problem
from separatrix.svm.problem import SolverOptions, linear_problem, regression_problem
from separatrix.svm.solver import BinarySVM, fit_linear_svm
from separatrix.svm.squared_solver import fit_squared_svm
from separatrix.svm.svr import check_regression, regression_table


class LinearSVR(RegressorMixin, LinearSVM):
    """Linear support vector regression with the ε-insensitive loss, or its square.

    Errors up to ε cost nothing, larger ones their excess ξ = max(0, |y − w·x − b| − ε):

        min over w, b of ½‖w‖² + ½ (b/s)² + C Σ ω ξ       (or ξ²)

    As in liblinear the intercept is penalized, scaled by s = ``intercept_scaling``; infinity leaves
    it free, as in :class:`SVR`. The solution is exact up to rounding unless rows and columns are
    both many.

    Parameters
    ----------
    epsilon : float, default=0.0
        Error ε that costs nothing, in units of the target.
    tol : float, default=1e-4
        Duality gap relative to the objective at which to stop, at most 1e-6. Sparse rows stop at
        a tenth of ``tol`` where that is larger, but at most 1e-5.
    C : float, default=1.0
        Cost of error beyond ε, multiplied by the weight ω of the row.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
        ξ, or ξ².
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    intercept_scaling : float, default=1.0
        s. Infinity leaves the intercept free.
    dual : "auto" or bool, default="auto"
        Unused: the method is chosen by the shape of the table.
    verbose : int, default=0
        Unused.
    random_state : int, RandomState or None, default=None
        Unused: the solution is deterministic.
    max_iter : int, default=1000
        Limit of Newton steps, or of groups of 20 interior-point steps or epochs.
    standardize : bool, default=False
        Measure ‖w‖ on columns of unit variance, and leave the intercept free: the fit then depends
        neither on units nor on origins of the columns.
    time_budget : float or None, default=None
        Seconds after which the best solution so far is returned, with its duality gap.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients w.
    intercept_ : ndarray of shape (1,)
        The intercept b; ``t_`` is −b. (The number 0.0 without intercept.)
    alpha_, slack_, group_ : ndarray of shape (n_samples,)
        α⁺ − α⁻ from −C to C, error beyond ε, and group of every training row: "non-support" (error
        below ε), "free" (error ε) or "bound" (|α| = C, error above ε). With the squared loss
        α = 2 C ω ξ has no bound. Not stored with the model.
    support_ : ndarray of shape (n_support,)
        Row numbers of the support vectors.
    margin_, t_ : float
        1/‖w‖, and −b.
    svms_ : list of BinarySVM
        The solution with its certificate.
    n_iter_ : int
        Number of iterations.
    certificate_ : Certificate
        Objective, lower bound, duality gap and KKT residual.

    See Also
    --------
    SVR : Support vector regression with kernels.
    LeastAbsoluteRegressor : The same loss without penalty, for ε = 0.
    LinearSVC : Linear support vector classification.

    References
    ----------
    A. Smola and B. Schölkopf, A tutorial on support vector regression, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.arange(6.0)[:, None]
    >>> model = sx.LinearSVR(C=10.0, epsilon=0.5).fit(X, [0, 1, 2, 3, 4, 8])
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([1.333], [-0.5])
    >>> model.certificate_.holds
    True
    """

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        tol: float = 1e-4,
        C: float = 1.0,
        loss: str = "epsilon_insensitive",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        dual: Any = "auto",
        verbose: int = 0,
        random_state: Any = None,
        max_iter: int = 1000,
        standardize: bool = False,
        time_budget: float | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.tol = tol
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.dual = dual
        self.verbose = verbose
        self.random_state = random_state
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_budget = time_budget

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        options = linear_options(self)
        check_regression(self)
        check_option("loss", self.loss, ("epsilon_insensitive", "squared_epsilon_insensitive"))
        check_dual(self.dual)
        if self.loss == "epsilon_insensitive" and self.dual is False:
            raise InputError("The ε-insensitive loss has no dual=False.", remedy="Use dual='auto'.")
        x, target, w, encoding = regression_table(self, X, y, sample_weight)
        options = options_for(self, x, options)
        rows, n = np.flatnonzero(w > 0.0), len(w)
        if len(rows) < n:
            x, target, w = x[rows], target[rows], w[rows]
        svm = self._solved(x, np.ascontiguousarray(target), w, rows, options)
        self._expose([svm], n, encoding, flat=True)
        self.intercept_ = np.array([svm.intercept]) if self.fit_intercept else 0.0
        return self

    def _solved(
        self, x: Matrix, target: Floats, w: Floats, rows: Ints, options: SolverOptions
    ) -> BinarySVM:
        scaling, ridge, cost = intercept_scaling(self), self._ridge(x, w), float(self.C) * w
        claim = (
            "Support vector regression: no hyperplane has a smaller sum of ½‖w‖² and C times the "
        )
        if self.loss == "squared_epsilon_insensitive":
            smooth = squared_problem(
                x,
                target,
                cost,
                epsilon=float(self.epsilon),
                ridge=ridge,
                intercept_scaling=scaling,
            )
            return fit_squared_svm(smooth, rows, options, claim=claim + "squared errors beyond ε")
        problem = linear_problem(
            regression_problem(target, cost, float(self.epsilon)),
            x,
            ridge,
            intercept=scaling is not None,
            intercept_ridge=0.0 if scaling is None else 1.0 / scaling**2,
        )
        steps = replace(options, max_iter=STEPS * options.max_iter)
        return fit_linear_svm(problem, rows, steps, claim=claim + "errors beyond ε")
