"""ν-support vector regression with kernels."""

from __future__ import annotations

from typing import Any

from separatrix.rows.block import Floats
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.kernel_regressor import KernelRegressor
from separatrix.svm.nu.fit import check_nu, fit_nu_svr
from separatrix.svm.problem import SolverOptions
from separatrix.svm.solver import BinarySVM
from separatrix.svm.svr import refuse_infinite_cost


class NuSVR(KernelRegressor):
    """ν-support vector regression with any kernel: ε is found along with the function.

    With φ the feature map of the kernel,

        min over w, b, ε of ½‖w‖² + C Σ ω (ν ε + max(0, |y − w·φ(x) − b| − ε)).

    At most the fraction ν of the rows has an error beyond ε, and at least ν are support vectors.
    The solution is that of :class:`SVR` with this ε.

    Parameters
    ----------
    nu : float, default=0.5
        The fraction ν, 0 < ν ≤ 1.
    C : float, default=1.0
        Cost of a unit of error beyond ε, multiplied by the weight ω of the row.
    kernel : Kernel, callable or str, default="rbf"
        As in :class:`SVC`.
    degree : int, default=3
        Degree of the polynomial kernel given by name.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of a kernel given by name, as in scikit-learn.
    coef0 : float, default=0.0
        Constant term of the polynomial and the sigmoid kernel given by name.
    shrinking : bool, default=True
        Taken and unused.
    tol : float, default=1e-3
        Violation of the KKT conditions at which to stop, in standard deviations of the target.
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
    epsilon_ : float
        The ε found.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, hyperplane_ : object
        As in :class:`SVR`, like the further attributes there.
    certificate_ : Certificate
        Objective, lower bound and duality gap at this ε, and the fraction ν.

    See Also
    --------
    SVR : The same model with ε given.
    NuSVC : The same idea for classes.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson and P. Bartlett, New support vector algorithms, Neural
    Computation 12, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.arange(6.0)[:, None]
    >>> model = sx.NuSVR(nu=0.5, C=10.0, kernel="linear").fit(X, [0, 1, 2, 3, 4, 8])
    >>> bool(np.mean(np.abs(model.predict(X) - [0, 1, 2, 3, 4, 8]) > model.epsilon_ + 1e-9) <= 0.5)
    True
    """

    def __init__(
        self,
        *,
        nu: float = 0.5,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        verbose: bool = False,
        max_iter: int = -1,
        standardize: bool = False,
        time_budget: float | None = None,
    ) -> None:
        self.nu = nu
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_budget = time_budget

    def _fit_numbers(
        self, gram: GramMatrix, y: Floats, w: Floats, options: SolverOptions
    ) -> BinarySVM:
        refuse_infinite_cost(self)
        nu, cost = check_nu(self.nu), float(self.C) * w
        found, self.epsilon_ = fit_nu_svr(gram, y, cost, nu, options)
        return found
