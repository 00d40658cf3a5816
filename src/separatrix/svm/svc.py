"""Support vector classification with kernels."""

from __future__ import annotations

from typing import Any

from separatrix.rows.block import Floats, Ints
from separatrix.svm.dual.class_pairs import fit_class_pairs, suitable
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.probabilities import DEPRECATED, CalibratedPairs
from separatrix.svm.problem import SolverOptions, classification_problem
from separatrix.svm.solver import BinarySVM, fit_kernel_svm


class SVC(CalibratedPairs):
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
        (``X`` is then the Gram matrix), or a function of two matrices, or of two lists where ``X``
        holds strings or other objects. Kernels on structures take lists of Python objects.
    degree : int, default=3
        Degree of the polynomial kernel given by name.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of a kernel given by name, as in scikit-learn; weights of classes do not change
        "scale".
    coef0 : float, default=0.0
        Constant term of the polynomial and the sigmoid kernel given by name.
    shrinking : bool, default=True
        Taken and unused: rows are left out of the search where that pays.
    probability : bool, default="deprecated"
        Fit a Platt sigmoid to the cross-validated scores of every binary SVM, coupled to
        probabilities of classes. The default is False; scikit-learn deprecates the parameter.
    tol : float, default=1e-3
        Violation of the KKT conditions at which to stop, in units of the margin. Up to about a
        thousand rows the solution is exact up to rounding anyway.
    cache_size : float, default=200
        Megabytes for the cache of kernel rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of the rows.
    verbose : bool, default=False
        Taken and unused.
    max_iter : int, default=-1
        Limit of SMO iterations for each binary SVM; −1 is 1000 n + 10⁶.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Scores of more than two classes: one for each class, or one for each binary SVM.
    break_ties : bool, default=False
        Whether sums of scores decide between classes of equally many votes; else the first does.
    random_state : int, RandomState or None, default=None
        Taken and unused: the solution is deterministic.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter.
    decision : {"ovo", "ovr"}, default="ovo"
        Binary SVMs for more than two classes: one for each pair, or one for each class.
    time_budget : float or None, default=None
        Seconds after which the best solution so far is returned, with its duality gap.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_ : ndarray of shape (n_support,)
        Row numbers of the support vectors, ordered by class.
    support_vectors_ : ndarray or sparse array of shape (n_support, n_features)
        The support vectors; none for a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors of each class.
    dual_coef_ : ndarray of shape (n_svms, n_support)
        Coefficients β = αy of the support vectors; for pairs of K classes as in scikit-learn,
        (K − 1, n_support), positive for the first class of a pair.
    intercept_ : ndarray of shape (n_svms,)
        The intercept b of each binary SVM; ``t_`` is −b.
    coef_ : ndarray of shape (n_svms, n_features)
        The normal w of each binary SVM, for the linear kernel.
    hyperplane_ : Hyperplane
        w·x + b of each binary SVM, for the linear kernel: signed distances, margins, projections.
    class_weight_ : ndarray of shape (n_classes,)
        The factor of each class.
    shape_fit_ : tuple
        Shape of the training data.
    fit_status_ : int
        0 if every binary SVM was solved, else 1.
    calibrations_ : list of PlattCalibration
        The sigmoid of each binary SVM, with ``probability=True``; ``probA_`` and ``probB_`` are
        their parameters in scikit-learn's form.
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
    - C. Cortes and V. Vapnik, Support-vector networks, Machine Learning 20, 1995.
    - J. Platt, Fast training of support vector machines using sequential minimal optimization,
      1998.

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
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        probability: Any = DEPRECATED,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        standardize: bool = False,
        decision: str = "ovo",
        time_budget: float | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.probability = probability
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.standardize = standardize
        self.decision = decision
        self.time_budget = time_budget

    def _fit_together(
        self, gram: GramMatrix, codes: Ints, w: Floats, options: SolverOptions
    ) -> list[Any]:
        cost = float(self.C) * w
        return (
            fit_class_pairs(gram, codes, cost, options)
            if suitable(gram, codes, cost, options)
            else []
        )

    def _fit_binary(
        self,
        gram: GramMatrix,
        y: Floats,
        w: Floats,
        rows: Ints,
        options: SolverOptions,
        classes: tuple[str, str],
    ) -> BinarySVM:
        problem = classification_problem(y, float(self.C) * w)
        return fit_kernel_svm(gram, problem, rows, options, classes=classes)
