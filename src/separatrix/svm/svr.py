"""Support vector regression with kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.kernel_regressor import KernelRegressor
from separatrix.svm.kernel_regressor import regression_table as regression_table
from separatrix.svm.problem import SolverOptions, regression_problem
from separatrix.svm.solver import BinarySVM, fit_kernel_svm


class SVR(KernelRegressor):
    """Support vector regression with any kernel.

    With φ the feature map of the kernel,

        min over w, b of ½‖w‖² + C Σ ω max(0, |y − w·φ(x) − b| − ε).

    Parameters
    ----------
    kernel : Kernel, callable or str, default="rbf"
        As in :class:`SVC`.
    degree : int, default=3
        Degree of the polynomial kernel given by name.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of a kernel given by name, as in scikit-learn.
    coef0 : float, default=0.0
        Constant term of the polynomial and the sigmoid kernel given by name.
    tol : float, default=1e-3
        Violation of the KKT conditions at which to stop, in standard deviations of the target.
    C : float, default=1.0
        Cost of a unit of error beyond ε, multiplied by the weight ω of the row.
    epsilon : float, default=0.1
        Error ε that costs nothing, in units of the target.
    shrinking : bool, default=True
        Taken and unused: rows are left out of the search where that pays.
    cache_size : float, default=200
        Megabytes for the cache of kernel rows.
    verbose : bool, default=False
        Taken and unused.
    max_iter : int, default=-1
        Limit of SMO iterations; −1 is 1000 n + 10⁶.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.
    time_budget : float or None, default=None
        Seconds after which the best solution so far is returned, with its duality gap.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Row numbers of the support vectors, whose error is at least ε.
    support_vectors_ : ndarray or sparse array of shape (n_support, n_features)
        The support vectors.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients β = α⁺ − α⁻ of the support vectors.
    intercept_ : ndarray of shape (1,)
        The intercept b.
    coef_ : ndarray of shape (1, n_features)
        The coefficients w, for the linear kernel.
    hyperplane_ : Hyperplane
        w·x + b as a hyperplane, for the linear kernel.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    shape_fit_ : tuple
        Shape of the training data.
    fit_status_ : int
        0 if the problem was solved, else 1.
    alpha_, slack_, group_ : ndarray of shape (n_samples,)
        α⁺ − α⁻, error beyond ε, and group of every training row: "non-support" (error below ε),
        "free" (error ε) or "bound" (|α| = C, error above ε).
    margin_, t_ : float
        1/‖w‖ in the feature space, and −b.
    svms_ : list of BinarySVM
        The solution with its certificate.
    kernel_ : Kernel
        The kernel used.
    n_iter_ : int
        Number of iterations.
    certificate_ : Certificate
        Objective, lower bound, duality gap and KKT residual.

    See Also
    --------
    LinearSVR : Linear regression with the same loss.
    SVRSearch : Chooses C, the bandwidth and ε by cross-validation.
    SVC : Support vector classification.

    References
    ----------
    A. Smola and B. Schölkopf, A tutorial on support vector regression, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.arange(6.0)[:, None]
    >>> model = sx.SVR(C=10.0, epsilon=0.5, kernel="linear").fit(X, [0, 1, 2, 3, 4, 8])
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([[1.333]], [-0.5])
    >>> model.group_.tolist()
    ['free', 'non-support', 'non-support', 'free', 'bound', 'bound']
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        standardize: bool = False,
        time_budget: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_budget = time_budget

    def _fit_numbers(
        self, gram: GramMatrix, y: Floats, w: Floats, options: SolverOptions
    ) -> BinarySVM:
        check_regression(self)
        problem = regression_problem(y, float(self.C) * w, float(self.epsilon))
        return fit_kernel_svm(gram, problem, np.arange(gram.n), options)


def check_regression(model: Any) -> None:
    """Refuse C = ∞ and a negative ε."""
    refuse_infinite_cost(model)
    if not 0.0 <= model.epsilon < np.inf:
        raise InputError(f"epsilon={model.epsilon!r} must be a number of at least 0.")


def refuse_infinite_cost(model: Any) -> None:
    """Refuse C = ∞."""
    if np.isinf(model.C):
        raise InputError(
            "C=inf allows no error beyond epsilon.",
            remedy="Choose a finite C; without penalty use LeastAbsoluteRegressor.",
        )
