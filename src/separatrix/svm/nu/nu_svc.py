"""ν-SVM classification with kernels."""

from __future__ import annotations

from typing import Any

from separatrix.rows.block import Floats, Ints
from separatrix.svm.dual.gram_matrix import GramMatrix
from separatrix.svm.nu.fit import check_nu, fit_nu_svc
from separatrix.svm.probabilities import DEPRECATED, CalibratedPairs
from separatrix.svm.problem import SolverOptions
from separatrix.svm.solver import BinarySVM


class NuSVC(CalibratedPairs):
    """ν-support vector classification with any kernel.

    Each binary SVM solves, with φ the feature map of the kernel and y = ±1,

        min over w, b, ρ of ½‖w‖² − ν ρ Σω + Σ ω max(0, ρ − y (w·φ(x) + b)),

    and is divided by ρ, so that scores are ±1 on the margin: it is :class:`SVC` with C = 1/ρ. At
    most the fraction ν of the rows is within the margin, and at least ν are support vectors. Every
    pair of K classes has a binary SVM, and the class with most votes is predicted.

    Parameters
    ----------
    nu : float, default=0.5
        The fraction ν. It is at most twice the share of the smaller class of any pair.
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
    probability : bool, default="deprecated"
        As in :class:`SVC`; the default is False.
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
    time_budget : float or None, default=None
        Seconds after which the best solution so far is returned, with its duality gap.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, hyperplane_ : object
        As in :class:`SVC`, like the further attributes there.
    svms_ : list of BinarySVM
        The solution of each binary SVM, with its certificate; its ``C`` are the costs ω/ρ.
    certificate_ : Certificate
        Objective, lower bound and duality gap of the SVM with costs ω/ρ, and the fraction ν; of
        several binary SVMs the worst.

    See Also
    --------
    SVC : The same model with the cost C of slack given.
    NuSVR : The same idea for numbers.
    OneClassSVM : The same idea without classes.

    References
    ----------
    B. Schölkopf, A. Smola, R. Williamson and P. Bartlett, New support vector algorithms, Neural
    Computation 12, 2000.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[1, 2], [-1, 2], [-1, -2], [3, 1], [0, 0], [4, -1]], [0, 0, 1, 1, 0, 1]
    >>> model = sx.NuSVC(nu=0.5, kernel="linear").fit(X, y)
    >>> model.predict([[0, 3], [4, 0]]).tolist()
    [0, 1]
    >>> round(float(model.alpha_.sum() / model.svms_[0].C.sum()), 6)
    0.5
    """

    decision = "ovo"

    def __init__(
        self,
        *,
        nu: float = 0.5,
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
        time_budget: float | None = None,
    ) -> None:
        self.nu = nu
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
        self.time_budget = time_budget

    def _fit_binary(
        self,
        gram: GramMatrix,
        y: Floats,
        w: Floats,
        rows: Ints,
        options: SolverOptions,
        classes: tuple[str, str],
    ) -> BinarySVM:
        return fit_nu_svc(gram, y, w, check_nu(self.nu), rows, options, classes)
