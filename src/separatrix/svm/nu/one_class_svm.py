"""The one-class SVM: a region of the feature space that holds most rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.metric_inputs import PointsEstimator
from separatrix.kernels.base import n_items, take_items
from separatrix.rows.block import Floats, unit_weights
from separatrix.svm.base import KernelSVM
from separatrix.svm.nu.fit import check_nu, fit_one_class
from separatrix.svm.problem import SolverOptions

#: Scores closer to zero than this, relative to ρ, are on the boundary.
_ROUNDING = 1e-10


class OneClassSVM(OutlierMixin, KernelSVM, PointsEstimator):
    """One-class SVM: the hyperplane farthest from zero with most rows beyond it.

    With φ the feature map of the kernel,

        min over w, ρ of ½‖w‖² − ν ρ Σω + Σ ω max(0, ρ − w·φ(x)).

    At most the fraction ν of the training rows is outside (score w·φ(x) − ρ below zero), and at
    least ν are support vectors.

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
        Violation of the KKT conditions at which to stop, relative to ρ. Up to about a thousand rows
        the solution is exact up to rounding anyway.
    nu : float, default=0.5
        The fraction ν, 0 < ν ≤ 1.
    shrinking : bool, default=True
        Taken and unused.
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
    offset_ : float
        ρ; ``intercept_`` is −ρ.
    dual_coef_ : ndarray of shape (1, n_support)
        α of the support vectors, which sum to νΣω.
    support_, support_vectors_, n_support_, intercept_, coef_, hyperplane_ : object
        As in :class:`SVR`, like the further attributes there.
    certificate_ : Certificate
        Objective, lower bound, duality gap and KKT residual.

    See Also
    --------
    NuSVC : The same idea for classes.
    SVC : Support vector classification.

    References
    ----------
    B. Schölkopf, J. Platt, J. Shawe-Taylor, A. Smola and R. Williamson, Estimating the support of a
    high-dimensional distribution, Neural Computation 13, 2001.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0], [0.44], [0.45], [0.46], [1.0]]
    >>> model = sx.OneClassSVM(gamma="auto").fit(X)
    >>> model.predict(X).tolist()
    [-1, 1, 1, 1, -1]
    >>> model.score_samples(X).round(4).tolist()
    [1.7799, 2.0548, 2.0556, 2.0562, 1.7333]
    """

    _sparse_points = True

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
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
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.standardize = standardize
        self.time_budget = time_budget

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Fit to ``X`` (``y`` is unused), or to :class:`~separatrix.rows.rows.Rows`."""
        options = SolverOptions.of(self, self.cache_size)
        nu = check_nu(self.nu)
        self._recognize_items(X)
        x, given = self._read_points(X, sample_weight, objects=self._structures)
        w = unit_weights(given, n_items(x))
        rows = np.flatnonzero(w > 0.0)
        gram = self._gram_matrix(take_items(x, rows), w[rows], rows, len(w), w[rows])
        found = fit_one_class(gram, w[rows], nu, options)
        support = self._expose(gram, [found], rows, len(w))
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = max(1, found.n_iter)
        return self

    @property
    def offset_(self) -> Any:
        """ρ, in units of the columns as given for the linear kernel."""
        check_is_fitted(self)
        return -self.intercept_

    def decision_function(self, X: Any) -> Floats:
        """w·φ(x) − ρ of every row: negative outside."""
        x = self._kernel_input(X)
        if self._is_linear:
            return self.hyperplane_.score(self._design(X))[:, 0]
        return self.expansions_[0].scores(x)[:, 0]

    def score_samples(self, X: Any) -> Floats:
        """w·φ(x) of every row."""
        return np.asarray(self.decision_function(X) + self.offset_)

    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 for rows inside or on the boundary (up to rounding), −1 for rows outside."""
        rounding = _ROUNDING * float(np.abs(self.offset_).max())
        return np.where(self.decision_function(X) >= -rounding, 1, -1)
