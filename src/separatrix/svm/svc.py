"""Support vector classification with kernels."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.estimators.class_labels import coded_items, coded_rows, outputs_of
from separatrix.messages import InputError, check_option
from separatrix.probability.probability_mixin import ProbabilityMixin
from separatrix.rows.block import Floats, Ints
from separatrix.svm.base import KernelSVM
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.primal.solver import few_columns
from separatrix.svm.problem import SolverOptions, classification_problem
from separatrix.svm.solver import BinarySVM, fit_kernel_svm
from separatrix.threads import one_blas_thread

#: Classes of which every pair may have a binary SVM.
MOST_CLASSES = 300


class SVC(ClassifierMixin, ProbabilityMixin, KernelSVM):
    """Support vector classification with any kernel.

    Each binary SVM solves, with φ the feature map of the kernel,

        min over w, b of ½‖w‖² + C Σ ω max(0, 1 − y (w·φ(x) + b)),     y = ±1.

    Two classes need one binary SVM. Of K classes every pair has one and the class with most votes
    is predicted (``decision="ovo"``), or each class has one against the rest and the largest score
    is predicted (``"ovr"``).

    Parameters
    ----------
    C : float, default=1.0
        Cost of a unit of slack, multiplied by the weight ω of the row. Infinity is the hard margin,
        refused with a proof where the classes are not separable.
    kernel : Kernel, callable or str, default="rbf"
        A kernel of :mod:`separatrix.kernels`, scikit-learn's name of one, "precomputed"
        (``X`` is then the Gram matrix), or a function of two matrices. Kernels on structures take
        lists of Python objects.
    degree : int, default=3
        Degree of the polynomial kernel given by name.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of a kernel given by name, as in scikit-learn.
    coef0 : float, default=0.0
        Constant term of the polynomial and the sigmoid kernel given by name.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.
    decision : {"ovo", "ovr"}, default="ovo"
        Binary SVMs for more than two classes: one for each pair, or one for each class.
    probability : bool, default=False
        Fit Platt's sigmoid to cross-validated scores; ``predict`` then returns the most probable
        class.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of the rows.
    tol : float, default=1e-3
        Violation of the KKT conditions at which to stop, in units of the margin. Up to about a
        thousand rows the solution is exact up to rounding anyway.
    cache_size : float, default=500.0
        Megabytes for the cache of kernel rows.
    time_budget : float or None, default=None
        Seconds after which the best solution so far is returned, with its duality gap.
    max_iter : int, default=-1
        Limit of SMO iterations for each binary SVM; −1 is 1000 n + 10⁶.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Scores of more than two classes: one for each class, or one for each binary SVM.
    shrinking : bool, default=True
        Ignored, accepted for compatibility with scikit-learn, as are the following three.
    break_ties : bool, default=False
        Ignored.
    verbose : bool, default=False
        Ignored.
    random_state : int, RandomState or None, default=None
        Ignored: the solution is deterministic.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_ : ndarray of shape (n_support,)
        Row numbers of the support vectors; for pairs of K classes ordered by class.
    support_vectors_ : ndarray or sparse array of shape (n_support, n_features)
        The support vectors.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_svms, n_support)
        Coefficients β = αy of the support vectors; for pairs of K classes as in scikit-learn,
        (K − 1, n_support), positive for the later class of a pair.
    intercept_ : ndarray of shape (n_svms,)
        The intercept b of each binary SVM; ``t_`` is −b.
    coef_ : ndarray of shape (n_svms, n_features)
        The normal w of each binary SVM, for the linear kernel.
    alpha_, slack_, group_ : ndarray of shape (n_samples,) or (n_samples, n_svms)
        α, slack ξ and group of every training row: "non-support" (α = 0), "free" (0 < α < C, on the
        margin) or "bound" (α = C).
    margin_, t_ : float or ndarray of shape (n_svms,)
        The margin 1/‖w‖ in the feature space, and the threshold of the score w·φ(x) − t.
    svms_ : list of BinarySVM
        The solution of each binary SVM, with its certificate.
    kernel_ : Kernel
        The kernel used.
    n_iter_ : ndarray of shape (n_svms,)
        Iterations of each binary SVM.
    certificate_ : Certificate
        Objective, lower bound, duality gap and KKT residual; of several binary SVMs the worst.

    See Also
    --------
    LinearSVC : Linear SVM for many rows or many columns.
    SVMPath : All solutions along C.
    SVCSearch : Chooses C and the bandwidth by cross-validation.
    SVR : Support vector regression.

    References
    ----------
    C. Cortes and V. Vapnik, Support-vector networks, Machine Learning 20, 1995.
    J. Platt, Fast training of support vector machines using sequential minimal optimization, 1998.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[1, 2], [-1, 2], [-1, -2], [3, 1]], [-1, -1, 1, 1]
    >>> model = sx.SVC(C=5 / 16, kernel="linear").fit(X, y)
    >>> model.alpha_.round(4).tolist()
    [0.3125, 0.0, 0.0625, 0.25]
    >>> model.group_.tolist()
    ['bound', 'non-support', 'free', 'free']
    >>> round(model.margin_, 6)
    1.6
    """

    def __init__(
        self,
        C: float = 1.0,
        kernel: Any = "rbf",
        *,
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        standardize: bool = False,
        decision: str = "ovo",
        probability: bool = False,
        class_weight: Any = None,
        tol: float = 1e-3,
        cache_size: float = 500.0,
        time_budget: float | None = None,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        shrinking: bool = True,
        break_ties: bool = False,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.standardize = standardize
        self.decision = decision
        self.probability = probability
        self.class_weight = class_weight
        self.tol = tol
        self.cache_size = cache_size
        self.time_budget = time_budget
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.shrinking = shrinking
        self.break_ties = break_ties
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        options = SolverOptions.of(self, self.cache_size)
        for name in ("decision", "decision_function_shape"):
            check_option(name, getattr(self, name), ("ovo", "ovr"))
        if self.probability:
            return self._fit_probabilities(X, y, sample_weight)
        if self._structures:
            data = coded_items(self, X, y, sample_weight, self.class_weight)
        else:
            data = coded_rows(self, X, y, sample_weight, self.class_weight)
            self.encoding_ = data.encoding
        gram = self._gram_matrix(data.x, data.w, data.rows)
        svms = self._fit_svms(gram, data.codes, float(self.C) * data.w, options)
        codes, k, pairs = data.codes, len(self.classes_), None
        if k > 2 and self.decision == "ovo":
            weights = _dual_coef_one_vs_one(svms, codes, k)
            present = weights.any(axis=1)
            pairs = weights, [np.flatnonzero(present & (codes == c)) for c in range(k)]
        support = self._expose(gram, svms, data.rows, data.n_samples, pairs)
        self.n_support_ = np.bincount(codes[support], minlength=k)
        self.n_iter_ = np.array([max(1, svm.n_iter) for svm in svms])
        return self

    # -- binary SVMs -----------------------------------------------------------------------------

    def _fit_svms(
        self, gram: GramMatrix, codes: Ints, C: Floats, options: SolverOptions
    ) -> list[BinarySVM]:
        k = len(self.classes_)
        names = [f"class {label!r}" for label in self.classes_.tolist()]
        rest = names[0] if k == 2 else "the rest"
        if self.decision == "ovo" and k > MOST_CLASSES:
            raise InputError(
                f"{k} classes have {k * (k - 1) // 2} pairs, and each needs a binary SVM.",
                remedy="Use decision='ovr': one binary SVM for each class.",
            )
        if k > 2 and not (gram.linear and few_columns(gram.x)):
            gram = gram.computed(options.cache_size)

        def against_rest(c: int) -> BinarySVM:
            problem = classification_problem(np.where(codes == c, 1.0, -1.0), C)
            every = np.arange(gram.n)
            return fit_kernel_svm(gram, problem, every, options, classes=(names[c], rest))

        def of_pair(pair: tuple[int, int]) -> BinarySVM:
            rows = np.sort(np.concatenate([by_class[pair[0]], by_class[pair[1]]]))
            problem = classification_problem(np.where(codes[rows] == pair[1], 1.0, -1.0), C[rows])
            classes = (names[pair[1]], names[pair[0]])
            return fit_kernel_svm(gram.subset(rows), problem, rows, options, classes=classes)

        if k == 2 or self.decision == "ovr":
            return [against_rest(c) for c in outputs_of(k)]
        by_class = [np.flatnonzero(codes == c) for c in range(k)]
        # one BLAS thread for all pairs: else the end of one would change the sums of another
        with one_blas_thread(), ThreadPoolExecutor(2) as pool:
            return list(pool.map(of_pair, combinations(range(k), 2)))

    # -- predictions -----------------------------------------------------------------------------

    def _scores(self, X: Any) -> Floats:
        """A column for each binary SVM."""
        check_is_fitted(self)
        if self._is_linear:
            return np.asarray(self._design(X) @ self.coef_.T + self.intercept_)
        x, k = self._kernel_input(X), len(self.classes_)
        if k == 2 or self.decision == "ovr":
            return self.expansions_[0].scores(x)
        parts = [expansion.scores(x) for expansion in self.expansions_]
        pairs = combinations(range(k), 2)
        scores = np.stack([parts[i][:, j - 1] + parts[j][:, i] for i, j in pairs], axis=1)
        return np.asarray(scores + self.intercept_)

    def decision_function(self, X: Any) -> Floats:
        """Two classes: one score, positive for ``classes_[1]``. More: one score for each class."""
        scores = self._scores(X)
        if len(self.classes_) > 2 and self.decision_function_shape == "ovo":
            return scores
        return self._by_class(scores)

    def _class_scores(self, X: Any) -> Floats:
        return self._by_class(self._scores(X))

    def _by_class(self, scores: Floats) -> Floats:
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 0])
        return scores if self.decision == "ovr" else _votes(scores, len(self.classes_))


def _dual_coef_one_vs_one(svms: list[BinarySVM], codes: Ints, k: int) -> Floats:
    """β against each other class, (n x k − 1): a row takes part in the pairs of its own class."""
    weights = np.zeros((len(codes), k - 1))
    for svm, (i, j) in zip(svms, combinations(range(k), 2), strict=True):
        own = codes[svm.rows]
        weights[svm.rows[own == i], j - 1] = svm.beta[own == i]
        weights[svm.rows[own == j], i] = svm.beta[own == j]
    return weights


def _votes(scores: Floats, k: int) -> Floats:
    """Votes of the pairs; ties are broken by sums of scores, which count less than half a vote."""
    count, total = np.zeros((len(scores), k)), np.zeros((len(scores), k))
    for s, (i, j) in zip(scores.T, combinations(range(k), 2), strict=True):
        count[:, i] += s <= 0
        count[:, j] += s > 0
        total[:, i] -= s
        total[:, j] += s
    return count + total / (3.0 * (np.abs(total) + 1.0))
