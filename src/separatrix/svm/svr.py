"""Support vector regression with kernels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length

from separatrix.arrays import Floats
from separatrix.estimators.base import RowsEstimator, one_number, reads_tables, require_labels
from separatrix.formula import nodes
from separatrix.kernels.structures import as_list
from separatrix.messages import InputError
from separatrix.mixins import RegressorMixin
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Encoding, check_sample_weight, identity, take_items, unit_weights
from separatrix.statistics.moments import prepare
from separatrix.svm.problem import SolverOptions, regression_problem
from separatrix.svm.solver import BinarySVM, GramMatrix, fit_kernel_svm
from separatrix.svm.svc import KernelSVM
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# Regression by a kernel SVM: validation of the rows in, attributes out.


class KernelRegressor(RegressorMixin, KernelSVM):
    """One SVM of numbers with any kernel."""

    n_iter_: int

    @abstractmethod
    def _fit_numbers(
        self, gram: GramMatrix, y: Floats, w: Floats, options: SolverOptions
    ) -> BinarySVM:
        """The SVM of the targets y of rows of positive weight w."""

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and numbers ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = SolverOptions.of(self, self.cache_size)
        self._recognize_items(X)
        if self._structures:
            x, target, w = self._objects(X, y, sample_weight)
        else:
            x, target, w, self.encoding_ = regression_table(self, X, y, sample_weight)
        rows = np.flatnonzero(w > 0.0)
        gram = self._gram_matrix(take_items(x, rows), w[rows], rows, len(w), w[rows])
        binary_svm = self._fit_numbers(gram, np.ascontiguousarray(target[rows]), w[rows], options)
        support = self._expose(gram, [binary_svm], rows, len(w))
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = max(1, binary_svm.n_iter)
        return self

    def _objects(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Floats, Floats]:
        """Python objects, for a kernel on structures."""
        require_labels(self, y)
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = 1  # one object for each row
        target = column_or_1d(y).astype(float)
        check_consistent_length(X, target)
        w = check_sample_weight(sample_weight, len(target))
        return as_list(X), target, unit_weights(w, len(target))

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """w·φ(x) + b for every row."""
        x = self._kernel_input(X)
        if self._is_linear:
            return self.hyperplane_.score(self._design(X))[:, 0]
        return self.expansions_[0].scores(x)[:, 0]

    def formula(self) -> nodes.NumberFormula:
        """w·φ(x) + b."""
        return nodes.regression(self._binary_scores(), self, flat=True)


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


@declare_parameters
class SVR(KernelRegressor):
    """Support vector regression with any kernel.

    With φ the feature map of the kernel,

        min over w, b of ½‖w‖² + C Σ ω max(0, |y − w·φ(x) − b| − ε).

    Parameters
    ----------
    kernel : Kernel, callable or str, default="rbf"
    degree : int, default=3
    gamma : {"scale", "auto"} or float, default="scale"
    coef0 : float, default=0.0
    tol : float, default=1e-3
        Violation of the KKT conditions at which to stop, in standard deviations of the target.
    C : float, default=1.0
        Cost of a unit of error beyond ε, multiplied by the weight ω of the row. Infinity allows no
        such error: refused where no function of the kernel is within ε of all targets.
    epsilon : float, default=0.1
        Error ε that costs nothing, in units of the target.
    shrinking : bool, default=True
    cache_size : float, default=200
    verbose : bool, default=False
    max_iter : int, default=-1
        Limit of SMO iterations; −1 is 1000 n + 10⁶.
    standardize : bool, default=False
    time_budget : float or None, default=None

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

    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    C: float = 1.0
    epsilon: float = 0.1
    shrinking: bool = True
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    standardize: bool = False
    time_budget: float | None = None

    def _fit_numbers(
        self, gram: GramMatrix, y: Floats, w: Floats, options: SolverOptions
    ) -> BinarySVM:
        check_epsilon(self)
        epsilon, rows = float(self.epsilon), np.arange(gram.n)
        if not np.isinf(self.C):
            problem = regression_problem(y, float(self.C) * w, epsilon)
            return fit_kernel_svm(gram, problem, rows, options)
        # a solution without a coefficient at its bound is the same for any larger C
        unit = regression_problem(y, w, epsilon).unit / float(np.abs(gram.diagonal).max() or 1.0)
        # C κ(x, x) in deviations of the targets, up to where rounding of scores counts for more
        # than ‖w‖².
        for size in (1e2, 1e4, 1e6, 1e8, 1e10):
            problem = regression_problem(y, size * unit * w, epsilon)
            found = fit_kernel_svm(gram, problem, rows, options)
            if (np.abs(found.beta) < 0.999 * problem.cost).all():
                return found
        raise InputError(
            f"C=inf allows no error beyond epsilon={epsilon:g}, and no function of this kernel is "
            "that close to all targets.",
            remedy="Choose a finite C, a larger epsilon or a narrower kernel.",
        )


def check_epsilon(model: Any) -> None:
    """Refuse a negative ε."""
    if not 0.0 <= model.epsilon < np.inf:
        raise InputError(f"epsilon={model.epsilon!r} must be a number of at least 0.")


def refuse_infinite_cost(model: Any) -> None:
    """Refuse C = ∞."""
    if np.isinf(model.C):
        raise InputError(
            "C=inf allows no error beyond epsilon.",
            remedy="Choose a finite C; without penalty use LeastAbsoluteRegressor.",
        )
