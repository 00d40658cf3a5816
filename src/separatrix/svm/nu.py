"""SVMs with a fraction ν in place of C or ε, and the one-class SVM."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.base import reads_tables
from separatrix.estimators.metric_inputs import PointsEstimator
from separatrix.formula import nodes
from separatrix.messages import InputError
from separatrix.mixins import OutlierMixin
from separatrix.optimize.convex import Certificate, Status
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import n_items, take_items, unit_weights
from separatrix.svm import solver
from separatrix.svm.loops import nu_smo
from separatrix.svm.problem import (
    INDEFINITE_CLAIM,
    Budget,
    SolverOptions,
    SVMProblem,
    badness,
    certify_kernel_svm,
    certify_linear_svm,
    classification_problem,
    cost_stages,
    linear_problem,
    regression_problem,
)
from separatrix.svm.svc import DEPRECATED, KernelClassifier, KernelSVM
from separatrix.svm.svr import KernelRegressor, refuse_infinite_cost
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# ν-SVM classification with kernels.


@declare_parameters
class NuSVC(KernelClassifier):
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
    degree : int, default=3
    gamma : {"scale", "auto"} or float, default="scale"
    coef0 : float, default=0.0
    shrinking : bool, default=True
    probability : bool, default="deprecated"
        As in :class:`SVC`; the default is False.
    tol : float, default=1e-3
        Violation of the KKT conditions at which to stop, in units of the margin. Up to about a
        thousand rows the solution is exact up to rounding anyway.
    cache_size : float, default=200
    class_weight : dict, "balanced" or None, default=None
    verbose : bool, default=False
    max_iter : int, default=-1
        Limit of SMO iterations for each binary SVM; −1 is 1000 n + 10⁶.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        Scores of more than two classes: one for each class, or one for each binary SVM.
    break_ties : bool, default=False
        Whether sums of scores decide between classes of equally many votes; else the first does.
    random_state : int, RandomState or None, default=None
        Ignored, the solution is deterministic; accepted for scikit-learn compatibility.
    standardize : bool, default=False
    time_budget : float or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
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

    _: KW_ONLY
    nu: float = 0.5
    kernel: Any = "rbf"
    degree: int = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    probability: Any = DEPRECATED
    tol: float = 1e-3
    cache_size: float = 200
    class_weight: Any = None
    verbose: bool = False
    max_iter: int = -1
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: Any = None
    standardize: bool = False
    time_budget: float | None = None

    def _fit_binary(
        self,
        gram: solver.GramMatrix,
        y: Floats,
        w: Floats,
        rows: Ints,
        options: SolverOptions,
        classes: tuple[str, str],
    ) -> solver.BinarySVM:
        return fit_nu_svc(gram, y, w, check_nu(self.nu), rows, options, classes)


# -------------------------------------------------------------------------------------------------
# ν-support vector regression with kernels.


@declare_parameters
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
    degree : int, default=3
    gamma : {"scale", "auto"} or float, default="scale"
    coef0 : float, default=0.0
    shrinking : bool, default=True
    tol : float, default=1e-3
        Violation of the KKT conditions at which to stop, in standard deviations of the target.
    cache_size : float, default=200
    verbose : bool, default=False
    max_iter : int, default=-1
        Limit of SMO iterations; −1 is 1000 n + 10⁶.
    standardize : bool, default=False
    time_budget : float or None, default=None

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

    _: KW_ONLY
    nu: float = 0.5
    C: float = 1.0
    kernel: Any = "rbf"
    degree: int = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    shrinking: bool = True
    tol: float = 1e-3
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    standardize: bool = False
    time_budget: float | None = None

    def _fit_numbers(
        self, gram: solver.GramMatrix, y: Floats, w: Floats, options: SolverOptions
    ) -> solver.BinarySVM:
        refuse_infinite_cost(self)
        nu, cost = check_nu(self.nu), float(self.C) * w
        solution, self.epsilon_ = fit_nu_svr(gram, y, cost, nu, options)
        return solution


# -------------------------------------------------------------------------------------------------
# The one-class SVM: a region of the feature space that holds most rows.


#: Scores closer to zero than this, relative to ρ or to the sum of their terms, are zero.
_RESOLUTION = 1e-10


@declare_parameters
class OneClassSVM(OutlierMixin, KernelSVM, PointsEstimator):
    """One-class SVM: the hyperplane farthest from zero with most rows beyond it.

    With φ the feature map of the kernel,

        min over w, ρ of ½‖w‖² − ν ρ Σω + Σ ω max(0, ρ − w·φ(x)).

    At most the fraction ν of the training rows is outside (score w·φ(x) − ρ below zero), and at
    least ν are support vectors.

    Parameters
    ----------
    kernel : Kernel, callable or str, default="rbf"
    degree : int, default=3
    gamma : {"scale", "auto"} or float, default="scale"
    coef0 : float, default=0.0
    tol : float, default=1e-3
        Violation of the KKT conditions at which to stop, relative to ρ. Up to about a thousand rows
        the solution is exact up to rounding anyway.
    nu : float, default=0.5
        The fraction ν, 0 < ν ≤ 1.
    shrinking : bool, default=True
    cache_size : float, default=200
    verbose : bool, default=False
    max_iter : int, default=-1
        Limit of SMO iterations; −1 is 1000 n + 10⁶.
    standardize : bool, default=False
    time_budget : float or None, default=None

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

    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: str | float = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    nu: float = 0.5
    shrinking: bool = True
    cache_size: float = 200
    verbose: bool = False
    max_iter: int = -1
    standardize: bool = False
    time_budget: float | None = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Fit to ``X`` (``y`` is unused), or to :class:`~separatrix.rows.rows.Rows`."""
        options = SolverOptions.of(self, self.cache_size)
        nu = check_nu(self.nu)
        self._recognize_items(X)
        x, given = self._read_points(X, sample_weight, objects=self._structures)
        w = unit_weights(given, n_items(x))
        rows = np.flatnonzero(w > 0.0)
        gram = self._gram_matrix(take_items(x, rows), w[rows], rows, len(w), w[rows])
        binary_svm = fit_one_class(gram, w[rows], nu, options)
        support = self._expose(gram, [binary_svm], rows, len(w))
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self.n_iter_ = max(1, binary_svm.n_iter)
        return self

    @property
    def offset_(self) -> Any:
        """ρ, in units of the columns as given for the linear kernel."""
        check_is_fitted(self)
        return -self.intercept_

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """w·φ(x) − ρ of every row: negative outside, and 0 on the boundary up to rounding."""
        x = self._kernel_input(X)
        if self._is_linear:
            scores = self.hyperplane_.score(self._design(X))[:, 0]
        else:
            scores = self.expansions_[0].scores(x)[:, 0]
        rounding = _RESOLUTION * float(np.abs(self.offset_).max())
        return np.where(np.abs(scores) <= rounding, 0.0, scores)

    @on_one_blas_thread
    def score_samples(self, X: Any) -> Floats:
        """w·φ(x) of every row."""
        return np.asarray(self.decision_function(X) + self.offset_)

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 for rows inside or on the boundary (up to rounding), −1 for rows outside."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def formula(self) -> nodes.ClassFormula:
        """1 inside or on the boundary, −1 outside."""
        rounding = _RESOLUTION * float(np.abs(self.offset_).max())
        scores = nodes.Snapped(self._binary_scores(), rounding, names=("score",))
        chosen = nodes.ChosenLabel(scores, one=True, zero_is_second=True)
        labels = np.array([-1, 1])
        return nodes.ClassFormula(chosen, labels, scores, decided_by=scores, by_sign=True)


# -------------------------------------------------------------------------------------------------
# Fit a ν-SVM: solve, scale to the problem with costs that it equals, certify.
#
# With C = 1/ρ and w, b divided by ρ, the ν-SVC is the SVC of cost Cω; the ν-SVR is the SVR of the ε
# that it finds. Their certificates apply, and Σ α = νCΣω completes them: the two duality gaps are
# the same then. The one-class SVM has its own,
#
#     P − D = Σ [α (f − ρ) + ω max(0, ρ − f)],     none of its terms negative.


NU_CLAIM = "ν-SVM: no other hyperplane in the kernel's feature space has a lower objective"
ONE_CLASS_CLAIM = (
    "One-class SVM: no other hyperplane in the kernel's feature space has a lower objective"
)

NO_MARGIN = "Zero is a mean of rows in the feature space: no hyperplane has them on one side."


def check_nu(nu: float) -> float:
    """ν as a number in (0, 1]."""
    if isinstance(nu, bool) or not isinstance(nu, int | float | np.number) or not 0.0 < nu <= 1.0:
        raise InputError(f"nu={nu!r} is not a fraction.", remedy="Choose 0 < nu <= 1.")
    return float(nu)


def fit_nu_svc(
    gram: solver.GramMatrix,
    y: Floats,
    w: Floats,
    nu: float,
    rows: Ints,
    options: SolverOptions,
    classes: tuple[str, str],
) -> solver.BinarySVM:
    """The ν-SVC of labels ±1, its scores ±1 on the margin."""
    largest, budget = float(np.abs(gram.diagonal).max()), options.budget(gram.n)
    problem = nu_classification(y, w, nu, classes, largest)
    gamma, f, solved = solve_nu(gram, problem, options, budget)
    beta = problem.beta(gamma, gram.n)
    first, second = problem.level(gamma, f)
    rho, square = 0.5 * (first - second), float(beta @ f)
    size = (0.5 * float(np.abs(beta).sum())) ** 2 * largest
    # Squared distance of reduced hulls, relative to ‖φ(x)‖², below which they meet.
    if not rho > problem.unit or (gram.mercer and square <= 1e-13 * size):
        raise InputError(
            f"nu={nu!r} leaves no margin between {classes[0]} and {classes[1]}: means of so few "
            "of their rows can be the same point.",
            remedy="Choose a larger nu, or a narrower kernel.",
        )
    costs = classification_problem(y, w / rho)
    scaled = (beta / rho, f / rho, -0.5 * (first + second) / rho)
    return _record(gram, costs, *scaled, nu, rows, options, budget, solved)


def fit_nu_svr(
    gram: solver.GramMatrix, t: Floats, cost: Floats, nu: float, options: SolverOptions
) -> tuple[solver.BinarySVM, float]:
    """The ν-SVR of targets t, and the ε that it found.

    A large cost is reached by stages: w, b and ε no longer change beyond the last breakpoint, and
    α⁺ and α⁻ go on growing with the cost.
    """
    whole, budget = nu_regression(t, cost, nu), options.budget(gram.n)
    steep = float(np.abs(gram.diagonal).max()) * float(cost.max()) / whole.unit
    best, before, last = None, None, 0.0
    for fraction in cost_stages(steep) if gram.mercer else [1.0]:
        problem = nu_regression(t, fraction * cost, nu)
        steps = replace(budget, max_iter=budget.n_iter + -(-budget.remaining // 2))
        steps = steps if fraction < 1.0 else budget
        gamma, f, solved = solve_nu(gram, problem, options, steps)
        budget.n_iter = steps.n_iter
        first, second = problem.level(gamma, f)
        epsilon, b = max(0.5 * (second - first), 0.0), -0.5 * (first + second)
        coef = problem.beta(gamma, gram.n) @ gram.x if gram.linear else None
        gammas = [gamma]
        if before is not None:
            gammas.append(whole.part.extrapolate(gamma, fraction, before, last))
        costs = regression_problem(t, cost, epsilon)
        for each in gammas:
            beta = problem.beta(each, gram.n)
            # Coefficients below this fraction of their bound are zero.
            beta[np.abs(beta) <= 1e-12 * cost] = 0.0
            scores = f if each is gamma or coef is not None else gram.times(beta)
            every = np.arange(gram.n)
            new = _record(gram, costs, beta, scores, b, nu, every, options, budget, solved, coef)
            if best is None or badness(new.certificate) < badness(best[0].certificate):
                best = new, epsilon
        assert best is not None
        if best[0].certificate.holds or budget.exhausted:
            break
        before, last = gamma, fraction
    assert best is not None
    return best


def fit_one_class(
    gram: solver.GramMatrix, w: Floats, nu: float, options: SolverOptions
) -> solver.BinarySVM:
    """The one-class SVM; its intercept is −ρ."""
    largest, budget = float(np.abs(gram.diagonal).max()), options.budget(gram.n)
    problem = one_class(w, nu, largest)
    alpha, f, solved = solve_nu(gram, problem, options, budget)
    rho, coef = _offset(problem, alpha, f), np.zeros(0)
    flat = abs(rho) <= problem.unit
    if flat and gram.linear:  # then w = 0: what the sum of the rows leaves is rounding
        f, rho, coef = np.zeros_like(f), 0.0, np.zeros(gram.x.shape[1])
    square, slack = float(alpha @ f), np.maximum(rho - f, 0.0)
    unit = max(abs(rho), problem.unit, float(np.finfo(float).tiny))
    terms = alpha * (f - rho) + w * slack
    certificate = Certificate(
        ONE_CLASS_CLAIM,
        primal=0.5 * square - nu * float(w.sum()) * rho + float(w @ slack),
        dual=-0.5 * square,
        gap=max(float(terms.sum()) + rho * float(alpha.sum() - nu * w.sum()), 0.0),
        kkt=max(problem.violation(alpha, f) / unit, abs(float(alpha.sum() / (nu * w.sum())) - 1.0)),
        tolerance=options.tol,
        notes=(NO_MARGIN,) if flat else (),
    )
    if not gram.mercer:
        certificate = replace(
            certificate, claim=INDEFINITE_CLAIM, dual=np.nan, gap=np.nan, promised=("kkt",)
        )
    status = str(Status.SOLVED if solved else budget.status)
    every = np.arange(gram.n)
    n_iter = budget.n_iter
    return solver.BinarySVM(every, alpha, w, slack, -rho, square, certificate, n_iter, status, coef)


def _offset(problem: NuProblem, alpha: Floats, f: Floats) -> float:
    """ρ: the score of rows on the margin."""
    return problem.level(alpha, f)[0]


def _record(
    gram: solver.GramMatrix,
    problem: SVMProblem,
    beta: Floats,
    f: Floats,
    b: float,
    nu: float,
    rows: Ints,
    options: SolverOptions,
    budget: Budget,
    solved: bool,
    coef: Floats | None = None,
) -> solver.BinarySVM:
    """The solution as that of the problem with costs, its certificate completed by Σα = νΣc.

    ``coef`` is the w of the linear kernel, which large β may have lost in their sum.
    """
    if coef is None:
        certificate = certify_kernel_svm(
            problem, beta, f, b, tolerance=options.tol, mercer=gram.mercer, claim=NU_CLAIM
        )
    else:
        linear = linear_problem(problem, gram.x)
        certificate = certify_linear_svm(
            linear, coef, b, beta, tolerance=options.tol, claim=NU_CLAIM
        )
    total = nu * float(problem.cost.sum())
    short = abs(total - float(np.abs(beta).sum())) / total
    if problem.regression:  # fewer than ν are support vectors where ε = 0
        short *= problem.epsilon / problem.unit
    certificate = replace(
        certificate,
        kkt=max(certificate.kkt, short),
        gap=certificate.gap + short * total * problem.unit,
        notes=(*certificate.notes, f"Coefficients sum to the fraction ν = {nu:g} of their bounds."),
    )
    status = str(Status.SOLVED if solved else budget.status)
    slack = problem.slack(f + b)
    square = float(beta @ f) if coef is None else float(coef @ coef)
    record = (rows, beta, problem.cost, slack, b, square, certificate, budget.n_iter, status)
    return solver.BinarySVM(*record) if coef is None else solver.BinarySVM(*record, coef)


# -------------------------------------------------------------------------------------------------
# The dual of ν-SVMs: sums of coefficients are fixed, group by group.
#
# min over γ of  ½ βᵀKβ − tᵀγ      β the sums of γ by row, Σ γ of each group fixed, low ≤ γ ≤ high
#
# ν-SVC       γ = yα, 0 ≤ α ≤ ω,    groups y = ±1,     Σα = ½νΣω of each,      t = 0
# ν-SVR       γ = ±α, 0 ≤ α ≤ Cω,   groups α⁺ and α⁻,  Σα = ½νCΣω of each,     t the targets
# one class   γ = α,  0 ≤ α ≤ ω,    one group,         Σα = νΣω,               t = 0


@dataclass(frozen=True)
class NuProblem:
    """Bounds and targets of the coefficients γ, the row and the group of each, and a start.

    ``unit`` is the least that scores are measured in: of regression the deviation of the targets,
    else what rounding leaves of them.
    """

    part: SVMProblem
    row: Ints
    group: Ints
    start: Floats
    unit: float

    @property
    def n_groups(self) -> int:
        """One or two."""
        return int(self.group.max()) + 1

    def beta(self, gamma: Floats, n: int) -> Floats:
        """β of the n rows."""
        return np.asarray(np.bincount(self.row, gamma, n), dtype=float)

    def snap(self, gamma: Floats) -> Floats:
        """γ with coefficients within rounding of a bound set to it: they are not free."""
        low, high = self.part.low, self.part.high
        # γ this close to a bound, relative to the distance of both, is at it.
        near = 1e-11 * (high - low)
        return np.where(gamma >= high - near, high, np.where(gamma <= low + near, low, gamma))

    def ends(self, gamma: Floats, f: Floats) -> list[tuple[float, float]]:
        """(max down, min up gradient) of each group: equal at the optimum if one is free."""
        down = self.part.down_gradient(gamma, f[self.row])
        up = self.part.up_gradient(gamma, f[self.row])
        return [
            (float(down[members].max(initial=-np.inf)), float(up[members].min(initial=np.inf)))
            for members in (self.group == g for g in range(self.n_groups))
        ]

    def violation(self, gamma: Floats, f: Floats) -> float:
        """Of the worst pair of one group: max down gradient − min up gradient."""
        return max(0.0, *(down - up for down, up in self.ends(gamma, f)))

    def level(self, gamma: Floats, f: Floats) -> list[float]:
        """The gradient that free coefficients of each group share; the middle of an interval."""
        levels = []
        for ends in self.ends(gamma, f):
            finite = [end for end in ends if np.isfinite(end)]
            levels.append(float(np.mean(finite)) if finite else 0.0)
        return levels

    def scale(self, gamma: Floats, f: Floats) -> float:
        """The unit of scores: the margin ρ of classes, the size of f of one, or the least one."""
        if self.part.t.any():
            return self.unit
        size = abs(float(gamma @ f[self.row])) / float(np.abs(gamma).sum())
        if self.n_groups == 2:
            first, second = self.level(gamma, f)
            size = max(size, 0.5 * (first - second) - self.violation(gamma, f))
        return max(size, self.unit)


def nu_classification(
    y: Floats, w: Floats, nu: float, classes: tuple[str, str], largest: float
) -> NuProblem:
    """ν-SVC of labels ±1 with weights w; refused where a class is too small for ν.

    ``largest`` is the largest κ(x, x).
    """
    sums = np.array([w[y > 0].sum(), w[y < 0].sum()])
    half = 0.5 * nu * float(w.sum())
    if half > sums.min() * (1.0 + 1e-12):
        most = 2.0 * sums.min() / float(w.sum())
        raise InputError(
            f"nu={nu!r} is infeasible for {classes[int(sums.argmin())]}: it is at most "
            f"{most:.4g}, twice the share of the smaller class.",
            remedy="Choose a smaller nu.",
        )
    share = np.minimum(half / sums, 1.0)
    alpha = w * np.where(y > 0, share[0], share[1])
    part = SVMProblem(np.zeros(len(y)), np.where(y > 0, 0.0, -w), np.where(y > 0, w, 0.0))
    unit = _RESOLUTION * 2.0 * half * largest
    return NuProblem(part, np.arange(len(y)), (y < 0).astype(np.int64), y * alpha, unit)


def nu_regression(t: Floats, cost: Floats, nu: float) -> NuProblem:
    """ν-SVR of targets t with costs c = Cω: α⁺ and α⁻ of every row are coefficients."""
    n, zero = len(t), np.zeros(len(t))
    start = 0.5 * nu * cost
    part = SVMProblem(np.tile(t, 2), np.concatenate([zero, -cost]), np.concatenate([cost, zero]))
    mean = np.average(t, weights=cost)
    unit = float(np.sqrt(np.average((t - mean) ** 2, weights=cost))) or 1.0
    group = np.repeat([0, 1], n)
    return NuProblem(part, np.tile(np.arange(n), 2), group, np.concatenate([start, -start]), unit)


def one_class(w: Floats, nu: float, largest: float) -> NuProblem:
    """The one-class SVM of weights w; ``largest`` is the largest κ(x, x)."""
    n = len(w)
    part = SVMProblem(np.zeros(n), np.zeros(n), w.copy())
    unit = _RESOLUTION * nu * float(w.sum()) * largest
    return NuProblem(part, np.arange(n), np.zeros(n, dtype=np.int64), nu * w, unit)


# -------------------------------------------------------------------------------------------------
# Solve the dual of a ν-SVM: SMO and Newton steps on the whole Gram matrix, or on working sets.
#
# A Newton step goes to where the gradients of the free coefficients of each group are equal,
#
#     [K_FF  A] [d]   [t − f]
#     [Aᵀ    0] [λ] = [  0  ]        F: free coefficients, A: which group each belongs to
#
# or to the first bound on the way there.


def solve_nu(
    gram: solver.GramMatrix, problem: NuProblem, options: SolverOptions, budget: Budget
) -> tuple[Floats, Floats, bool]:
    """γ, f = Kβ in double precision, and whether the tolerance was reached."""
    gamma = problem.start.copy()
    # Rows up to which the whole Gram matrix is computed, and the solution is exact up to rounding.
    if gram.n <= 1200:
        f = _solve_whole(gram, problem, gamma, options.tol, budget)
    else:
        f = _solve_working_sets(gram, problem, gamma, options, budget)
    gamma = problem.snap(gamma)
    return gamma, f, problem.violation(gamma, f) <= options.tol * problem.scale(gamma, f)


# -- all rows at once ------------------------------------------------------------------------------


def _solve_whole(
    gram: solver.GramMatrix, problem: NuProblem, gamma: Floats, tol: float, budget: Budget
) -> Floats:
    """SMO and Newton steps in turn, to rounding if possible."""
    whole = np.ascontiguousarray(gram.square(np.arange(gram.n)), dtype=float)
    p = problem.part
    f = whole @ problem.beta(gamma, gram.n)
    # Violation that rounding leaves, relative to the terms of the gradients.
    noise = 1e-15 * float(np.abs(gamma).sum()) * float(np.abs(gram.diagonal).max())
    violation, stalled = problem.violation(gamma, f), 0
    for _ in range(200):  # rounds of SMO and Newton steps
        unit = problem.scale(gamma, f)
        fine = max(1e-12 * unit, noise)  # violation that rounding leaves, relative to the scores
        # So many rounds without a clear decrease end them.
        if violation <= fine or stalled >= 6 or budget.exhausted:
            break
        goal = fine if violation <= tol * unit else max(0.1 * tol * unit, fine)
        limit = min(5 * len(gamma) + 1000, budget.remaining)
        data = (whole, problem.row, problem.group, p.t, p.low, p.high)
        budget.n_iter += max(1, int(nu_smo(*data, gamma, f, goal, limit)))
        _newton_steps(whole, problem, gamma, budget)
        f = whole @ problem.beta(gamma, gram.n)
        before, violation = violation, problem.violation(gamma, f)
        stalled = stalled + 1 if violation > 0.5 * before else 0
    return f


def _newton_steps(gram: Floats, problem: NuProblem, gamma: Floats, budget: Budget) -> None:
    """Newton steps, each of which may put coefficients on bounds."""
    size = max(int(problem.part.free(gamma).sum()), 1)
    full = 0
    for _ in range(solver.newton_rounds(size)):
        free = np.flatnonzero(problem.part.free(gamma))
        if not 2 <= len(free) <= solver.MOST_FREE or budget.exhausted:
            return
        step = _newton(gram, problem, gamma, free)
        if step is None:
            return
        if not solver.step_to_bound(problem.part, gamma, free, step):
            full += 1
            if full == 3:  # the ridge shortens each step a little
                return


def _newton(gram: Floats, problem: NuProblem, gamma: Floats, free: Ints) -> Floats | None:
    """d of the system above; None where nothing decreases, or K_FF is not positive definite."""
    rows = problem.row[free]
    matrix = gram[np.ix_(rows, rows)]
    matrix[np.diag_indices_from(matrix)] *= 1.0 + 1e-9  # added to the diagonal, relative to it
    matrix[np.diag_indices_from(matrix)] += np.finfo(float).tiny
    f = gram[rows] @ problem.beta(gamma, len(gram))
    residual = problem.part.t[free] - f
    groups = np.unique(problem.group[free])
    member = (problem.group[free][:, None] == groups).astype(float)
    residual = residual - member @ ((member.T @ residual) / member.sum(axis=0))
    try:
        factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        solved = linalg.cho_solve(factor, np.column_stack([residual, member]))
        level = np.linalg.solve(member.T @ solved[:, 1:], member.T @ solved[:, 0])
    except np.linalg.LinAlgError:
        return None
    step = solved[:, 0] - solved[:, 1:] @ level
    step -= member @ ((member.T @ step) / member.sum(axis=0))  # rounding must not change the sums
    if not np.isfinite(step).all():
        return None
    return np.asarray(step) if float(step @ residual) > 0.0 else None


# -- many rows -------------------------------------------------------------------------------------


def _solve_working_sets(
    gram: solver.GramMatrix,
    problem: NuProblem,
    gamma: Floats,
    options: SolverOptions,
    budget: Budget,
) -> Floats:
    """SMO on the coefficients of largest violation, kernel values in single precision at first."""
    every, buffers, single = (
        np.arange(gram.n),
        solver.Buffers(gram, options.cache_size),
        gram.single,
    )
    cache = solver.RowCache(gram, every, buffers, single)
    f, p = gram.times(problem.beta(gamma, gram.n)), problem.part
    exact, least, stalled = True, np.inf, 0
    while True:
        up, down = p.up_gradient(gamma, f[problem.row]), p.down_gradient(gamma, f[problem.row])
        violation = problem.violation(gamma, f)
        stalled = stalled + 1 if violation > 0.9 * least else 0
        least = min(least, violation)
        tol = options.tol * problem.scale(gamma, f)
        # Rounds of working sets without a clear decrease that end the search.
        over = budget.exhausted or stalled >= 40
        if violation <= 0.9 * tol or over:
            if exact:
                return f
            f, exact = gram.times(problem.beta(gamma, gram.n)), True
            if problem.violation(gamma, f) > tol and single and not over:
                single, least, stalled = False, np.inf, 0
                cache = solver.RowCache(gram, every, buffers, single)
            continue
        _optimize(cache, problem, _working_set(problem, up, down), gamma, f, violation, budget)
        exact = False


def _working_set(problem: NuProblem, up: Floats, down: Floats) -> Ints:
    """The coefficients of least up and greatest down gradient of every group."""
    chosen = [
        members[solver.widest(up[members], down[members], solver.WORKING_SET // problem.n_groups)]
        for members in (np.flatnonzero(problem.group == g) for g in range(problem.n_groups))
    ]
    return np.concatenate(chosen)


def _optimize(
    cache: solver.RowCache,
    problem: NuProblem,
    chosen: Ints,
    gamma: Floats,
    f: Floats,
    violation: float,
    budget: Budget,
) -> None:
    """Optimize the chosen coefficients with all others fixed; γ and f change in place."""
    rows, where = np.unique(problem.row[chosen], return_inverse=True)
    square = np.ascontiguousarray(cache.square(rows), dtype=float)
    part = replace(
        problem.part,
        t=problem.part.t[chosen],
        low=problem.part.low[chosen],
        high=problem.part.high[chosen],
    )
    gamma_here, gradient = gamma[chosen], f[rows]
    data = (square, where.astype(np.int64), problem.group[chosen], part.t, part.low, part.high)
    limit = min(40 * len(chosen), budget.remaining)
    # A working set is optimized to this fraction of the violation it starts from.
    count = int(nu_smo(*data, gamma_here, gradient, 0.3 * violation, limit))
    budget.n_iter += max(1, count)
    change = np.asarray(np.bincount(where, gamma_here - gamma[chosen], len(rows)), dtype=float)
    gamma[chosen] = gamma_here
    changed = np.flatnonzero(change)
    if len(changed):
        cache.add_to(f, rows[changed], change[changed])
