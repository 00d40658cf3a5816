"""Support vector regression with kernels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from separatrix.estimators.base import RowsEstimator, check_sample_weight
from separatrix.estimators.targets import one_number
from separatrix.kernels.base import take_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.encoding import Encoding, identity
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.preparation import prepare
from separatrix.svm.base import KernelSVM
from separatrix.svm.problem import SolverOptions, regression_problem
from separatrix.svm.solver import fit_kernel_svm


class SVR(RegressorMixin, KernelSVM):
    """Support vector regression with any kernel.

    With φ the feature map of the kernel,

        min over w, b of ½‖w‖² + C Σ ω max(0, |y − w·φ(x) − b| − ε).

    Parameters
    ----------
    C : float, default=1.0
        Cost of a unit of error beyond ε, multiplied by the weight ω of the row.
    epsilon : float, default=0.1
        Error ε that costs nothing, in units of the target.
    kernel : Kernel, callable or str, default="rbf"
        As in :class:`SVC`.
    degree : int, default=3
        Degree of the polynomial kernel given by name.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of a kernel given by name, as in scikit-learn.
    coef0 : float, default=0.0
        Constant term of the polynomial and the sigmoid kernel given by name.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.
    tol : float, default=1e-3
        Violation of the KKT conditions at which to stop, in standard deviations of the target.
    cache_size : float, default=500.0
        Megabytes for the cache of kernel rows.
    time_budget : float or None, default=None
        Seconds after which the best solution so far is returned, with its duality gap.
    max_iter : int, default=-1
        Limit of SMO iterations; −1 is 1000 n + 10⁶.
    shrinking : bool, default=True
        Ignored, accepted for compatibility with scikit-learn.
    verbose : bool, default=False
        Ignored.

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
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        *,
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        standardize: bool = False,
        tol: float = 1e-3,
        cache_size: float = 500.0,
        time_budget: float | None = None,
        max_iter: int = -1,
        shrinking: bool = True,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.standardize = standardize
        self.tol = tol
        self.cache_size = cache_size
        self.time_budget = time_budget
        self.max_iter = max_iter
        self.shrinking = shrinking
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and numbers ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = SolverOptions.of(self, self.cache_size)
        check_regression(self)
        if self._structures:
            x, target, w = self._objects(X, y, sample_weight)
        else:
            x, target, w, self.encoding_ = regression_table(self, X, y, sample_weight)
        rows = np.flatnonzero(w > 0.0)
        gram = self._gram_matrix(take_items(x, rows), w[rows], rows)
        cost = float(self.C) * w[rows]
        problem = regression_problem(np.ascontiguousarray(target[rows]), cost, float(self.epsilon))
        found = fit_kernel_svm(gram, problem, np.arange(gram.n), options)
        self._expose(gram, [found], rows, len(w))
        self.n_iter_ = max(1, found.n_iter)
        return self

    def _objects(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Floats, Floats]:
        """Python objects, for a kernel on structures."""
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = 1  # one object for each row
        target = column_or_1d(y).astype(float)
        check_consistent_length(X, target)
        w = check_sample_weight(sample_weight, len(target))
        return list(X), target, unit_weights(w, len(target))

    def predict(self, X: Any) -> Floats:
        """w·φ(x) + b for every row."""
        x = self._kernel_input(X)
        if self._is_linear:
            return np.asarray(self._design(X) @ self.coef_[0] + self.intercept_[0])
        return self.expansions_[0].scores(x)[:, 0]


def check_regression(model: Any) -> None:
    """Refuse C = ∞ and a negative ε."""
    if np.isinf(model.C):
        raise InputError(
            "C=inf allows no error beyond epsilon.",
            remedy="Choose a finite C; without penalty use LeastAbsoluteRegressor.",
        )
    if not 0.0 <= model.epsilon < np.inf:
        raise InputError(f"epsilon={model.epsilon!r} must be a number of at least 0.")


def regression_table(
    model: RowsEstimator, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, Floats, Floats, Encoding]:
    """Design matrix, target, weights and encoding of what ``fit`` was given."""
    rows = model._training_rows(X, y, sample_weight)
    if isinstance(rows, ArrayRows):
        block, encoding = rows.block, identity(rows.schema)
    else:
        prepared = prepare(rows)
        block, encoding = prepared.rows.collect(), prepared.encoding
    one_number(block.targets)
    return block.x, block.y[:, 0], block.weights, encoding
