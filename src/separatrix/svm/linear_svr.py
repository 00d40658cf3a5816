"""Linear support vector regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.messages import InputError
from separatrix.svm.base import LinearSVM
from separatrix.svm.problem import SolverOptions, linear_problem, regression_problem
from separatrix.svm.solver import fit_linear_svm
from separatrix.svm.svr import check_regression, regression_table


class LinearSVR(RegressorMixin, LinearSVM):
    """Linear support vector regression with the ε-insensitive loss.

    Errors up to ε cost nothing, larger ones their excess:

        min over w, b of ½‖w‖² + C Σ ω max(0, |y − w·x − b| − ε).

    Parameters
    ----------
    C : float, default=1.0
        Cost of a unit of error beyond ε, multiplied by the weight ω of the row.
    epsilon : float, default=0.0
        Error ε that costs nothing, in units of the target.
    fit_intercept : bool, default=True
        Whether there is an intercept b.
    standardize : bool, default=False
        Measure ‖w‖ on columns of unit variance, so that the fit does not depend on their units.
    tol : float, default=1e-6
        Duality gap relative to the objective at which to stop.
    max_iter : int, default=20000
        Limit of interior-point steps (few columns) or of epochs of coordinate descent (many).
    time_budget : float or None, default=None
        Seconds after which the best solution so far is returned, with its duality gap.
    loss : {"epsilon_insensitive"}, default="epsilon_insensitive"
        The only loss that is offered.
    dual : object, default="auto"
        Ignored, accepted for compatibility with scikit-learn, as are the following three.
    intercept_scaling : float, default=1.0
        Ignored: the intercept is not penalized.
    verbose : int, default=0
        Ignored.
    random_state : int, RandomState or None, default=None
        Ignored: the solution is deterministic.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients w.
    intercept_ : float
        The intercept b; ``t_`` is −b.
    alpha_, slack_, group_ : ndarray of shape (n_samples,)
        α⁺ − α⁻ from −C to C, error beyond ε, and group of every training row: "non-support" (error
        below ε), "free" (error ε) or "bound" (|α| = C, error above ε). Not stored with the model.
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
    >>> model.coef_.round(3).tolist(), round(model.intercept_, 3)
    ([1.333], -0.5)
    >>> model.certificate_.holds
    True
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.0,
        fit_intercept: bool = True,
        standardize: bool = False,
        tol: float = 1e-6,
        max_iter: int = 20_000,
        time_budget: float | None = None,
        loss: str = "epsilon_insensitive",
        dual: Any = "auto",
        intercept_scaling: float = 1.0,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.loss = loss
        self.dual = dual
        self.intercept_scaling = intercept_scaling
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X, y`` or to :class:`~separatrix.rows.rows.Rows`."""
        options = SolverOptions.of(self)
        check_regression(self)
        if self.loss != "epsilon_insensitive":
            raise InputError(
                f"loss={self.loss!r} is not offered.", remedy="'epsilon_insensitive' is."
            )
        x, target, w, encoding = regression_table(self, X, y, sample_weight)
        rows, n = np.flatnonzero(w > 0.0), len(w)
        if len(rows) < n:
            x, target, w = x[rows], target[rows], w[rows]
        problem = regression_problem(target, float(self.C) * w, float(self.epsilon))
        svm = fit_linear_svm(
            linear_problem(problem, x, self._ridge(x, w), intercept=bool(self.fit_intercept)),
            rows,
            options,
            claim="Support vector regression: no hyperplane has a smaller sum of ½‖w‖² and C times "
            "the errors beyond ε",
        )
        self._expose([svm], n, encoding, flat=True)
        return self
