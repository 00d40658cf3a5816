"""Kernel logistic regression: class probabilities from functions of a kernel.

    min over f, b of ½ Σₖ ‖fₖ‖² + Σ c ℓ(y, f(x) + b),    ℓ = log Σₖ exp(fₖ + bₖ) − f_y − b_y

where c = C w. Two classes have one function, ℓ = log(1 + exp(∓(f + b))). With p the probabilities
of the rows and u = c (1{y = k} − p), any f has the lower bound

    Σ c H(p) − ½ Σₖ uₖᵀ K uₖ,     H(p) = −Σₖ pₖ log pₖ,    where Σ u = 0, as the best b sees to

whose difference from the objective is the duality gap. Newton's method solves

    δ + S v = u − a,    v = K δ + β,    S v = c p ∘ (v − Σ p v),    Σ δ = 0

by conjugate gradients, preconditioned by the same system with S = κ c: a kernel ridge regression
(:mod:`separatrix.kernel_machines.spectrum`), for one C from a Cholesky factor, for all of them from
one decomposition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import linalg
from scipy.special import entr

from separatrix.arrays import Floats, Ints
from separatrix.estimators import class_labels
from separatrix.estimators.base import reads_tables
from separatrix.estimators.linear_classifier import LogisticScores
from separatrix.formula import nodes
from separatrix.kernel_machines.base import ExpansionModel
from separatrix.kernel_machines.spectrum import RidgeSystem, decompose, factorize
from separatrix.kernels import Precomputed
from separatrix.messages import InputError, warn
from separatrix.optimize.convex import Certificate
from separatrix.optimize.likelihoods import ClassLikelihood
from separatrix.parameters import declare_parameters
from separatrix.selection.folds import CV, copies_of, folds_of
from separatrix.threads import on_one_blas_thread

#: Relative duality gap that is promised, and at which Newton's method ends.
TOLERANCE, ENOUGH = 1e-8, 1e-10
#: Newton steps, and iterations of conjugate gradients for each, at most.
STEPS, ITERATIONS = 100, 300
#: The mean curvature may differ from that of the preconditioner by this factor.
CHANGED = 4.0

#: κ → the ridge system in which S is κ c, and its penalty.
Preconditioner = Callable[[float], tuple[RidgeSystem, float]]


@dataclass(frozen=True, eq=False)
class ClassScores(ClassLikelihood):
    """Rows with an indicator of each class (n x k), costs c and their Gram matrix."""

    gram: Floats

    def mean_curvature(self, p: Floats) -> float:
        """κ: the mean of p (1 − p)."""
        spread = (p * (1.0 - p)).mean(axis=1)
        return max(float(self.cost @ spread / self.cost.sum()), 1e-6)

    @cached_property
    def _range(self) -> Floats:
        """An orthonormal basis of the range of K."""
        values, vectors = linalg.eigh(self.gram, check_finite=False)
        limit = len(values) * np.finfo(float).eps * np.abs(values).max(initial=0.0)
        return np.asarray(vectors[:, values > limit])

    def without_null_part(self, a: Floats, u: Floats) -> Floats:
        """a where K is not singular and u where it is, with the same sum."""
        q = self._range
        null = np.ones(len(a)) - q @ q.sum(axis=0)
        a = u + q @ (q.T @ (a - u))
        return a - np.outer(null, a.sum(axis=0) / null.sum()) if null.sum() > 1e-8 else a

    def bound(self, p: Floats) -> float:
        """The lower bound of the objective."""
        u = self.pull(p)
        both = entr(p) + entr(1.0 - p) if p.shape[1] == 1 else entr(p)
        entropy = float(self.cost @ both.sum(axis=1))
        return entropy - 0.5 * float(np.vdot(u, self.gram @ u))


@dataclass(frozen=True)
class KernelLogisticFit:
    """Coefficients (n x k), which sum to zero, offsets (k), and Newton steps."""

    coef: Floats
    offset: Floats
    steps: int


@on_one_blas_thread
def fit_scores(
    problem: ClassScores,
    precondition: Preconditioner,
    start: KernelLogisticFit | None = None,
    enough: float = ENOUGH,
) -> KernelLogisticFit:
    """Newton's method, from zero or from a fit at another C, to a relative duality gap."""
    gram, shape = problem.gram, problem.hot.shape
    a = np.zeros(shape) if start is None else start.coef
    b = np.zeros(shape[1]) if start is None else start.offset
    f = gram @ a + b
    kappa, system, steps = 0.0, None, 0
    for _ in range(STEPS):
        shift = problem.best_offsets(f)
        b, f = b + shift, f + shift
        p = problem.means(f)
        primal = problem.loss(f) + 0.5 * float(np.vdot(a, f - b))
        gap = max(primal - problem.bound(p), 0.0)
        if gap <= enough * max(primal, problem.cost.sum() * 1e-3):
            break
        steps += 1
        mean = problem.mean_curvature(p)
        if system is None or not kappa / CHANGED <= mean <= kappa * CHANGED:
            kappa = mean
            system, penalty = precondition(kappa)
        accuracy = min(0.1, np.sqrt(gap / max(primal, gap)))
        x, beta, v = _newton_step(problem, system, penalty, kappa, p, a, accuracy)
        slope = -float(np.vdot(v, problem.pull(p) - a))
        linear, square = float(np.vdot(a, v)), float(np.vdot(x, v))
        length, before = 1.0, problem.loss(f)
        while length > 1e-8:
            norms = length * linear + 0.5 * length**2 * square
            change = problem.loss(f + length * v) - before + norms
            if change <= 1e-4 * length * slope:
                break
            length *= 0.5
        else:
            break  # rounding hides what is left
        a, b = a + length * x, b + length * beta
        f = gram @ a + b
        if (np.abs(a) > 2.0 * problem.cost[:, None]).any():
            # |u| ≤ c: rounding collects where K is singular, and f does not depend on it
            a = problem.without_null_part(a, problem.pull(problem.means(f)))
    return KernelLogisticFit(a, b, max(steps, 1))


def _newton_step(
    problem: ClassScores, system: RidgeSystem, penalty: float, kappa: float,
    p: Floats, a: Floats, accuracy: float,
) -> tuple[Floats, Floats, Floats]:  # fmt: skip
    """δ, β and v by conjugate gradients in the norm of K."""
    scale, alphas = (kappa * problem.cost)[:, None], np.array([penalty])

    def near(g: Floats) -> tuple[Floats, Floats, Floats]:
        [x], [beta] = system.coefs(g / scale, alphas)
        return x, beta, problem.gram @ x + beta

    rest = problem.pull(p) - a
    x, beta, v = np.zeros_like(rest), np.zeros(rest.shape[1]), np.zeros_like(rest)
    d, d_beta, d_v = near(rest)
    rho = first = float(np.vdot(d_v, rest))
    for _ in range(ITERATIONS):
        image = d + problem.curvature(p, d_v)
        bend = float(np.vdot(d_v, image))
        if not bend > 0.0 or not rho > 0.0:
            break
        t = rho / bend
        x, beta, v, rest = x + t * d, beta + t * d_beta, v + t * d_v, rest - t * image
        z, z_beta, z_v = near(rest)
        rho, before = float(np.vdot(z_v, rest)), rho
        if rho <= accuracy**2 * first:
            break
        ratio = rho / before
        d, d_beta, d_v = z + ratio * d, z_beta + ratio * d_beta, z_v + ratio * d_v
    return x, beta, v


def by_factor(gram: Floats, cost: Floats) -> Preconditioner:
    """A Cholesky factor for each κ."""

    def system(kappa: float) -> tuple[RidgeSystem, float]:
        # a factor needs a penalty above the rounding of K, and a preconditioner no more than that
        penalty = max(1.0 / kappa, 1e-13 * float(np.trace(gram)) * float(cost.max()))
        found = factorize(gram, penalty, cost, offset=True)
        if found is None:
            raise InputError(
                "The kernel is not positive semi-definite on these rows: there is no norm ‖f‖.",
                remedy="Use another kernel, such as 'rbf' or Laplace.",
            )
        return found, penalty

    return system


# -------------------------------------------------------------------------------------------------
# The estimators.


class KernelLogisticBase(LogisticScores, ExpansionModel):
    """Kernel logistic regression: rows in, functions and probabilities out."""

    class_weight: Any
    intercept_: Floats
    n_iter_: int

    def _table(self, X: Any, y: Any, sample_weight: Any) -> tuple[class_labels.CodedRows, Floats]:
        """Coded rows of positive weight, and their Gram matrix."""
        if self._structures:
            coded = class_labels.coded_items(self, X, y, sample_weight, self.class_weight)
        else:
            coded = class_labels.coded_rows(self, X, y, sample_weight, self.class_weight)
            self.encoding_ = coded.encoding
        gram, mercer = self._training_gram(coded.x, coded.w)
        if not mercer:
            by_factor(gram, coded.w)(1.0)
        return coded, gram

    def _indicators(self, codes: Ints) -> Floats:
        hot = np.eye(len(self.classes_))[codes]
        return hot[:, 1:] if len(self.classes_) == 2 else hot

    def _accept(self, problem: ClassScores, fit: KernelLogisticFit) -> None:
        self.dual_coef_, self.intercept_ = fit.coef, fit.offset
        self.n_iter_ = fit.steps
        self.certificate_ = self._certify(problem)
        if not self.certificate_.holds:
            warn("SEP003", f"{self.certificate_}")

    def _certify(self, problem: ClassScores) -> Certificate:
        """The gap, from kernel values that are computed again."""
        a, b = self.dual_coef_, self.intercept_
        if isinstance(self.kernel_, Precomputed):
            f = problem.gram @ a + b
        else:
            f = self._expansion(a, b).scores(self.X_fit_)
        primal = problem.loss(f) + 0.5 * float(np.vdot(a, f - b))
        p = problem.means(f)
        unbalanced = float(np.abs(problem.pull(p).sum(axis=0)) @ np.abs(b))
        dual = problem.bound(p) - unbalanced
        return Certificate(
            "Kernel logistic regression: no other functions of the kernel have a lower objective",
            primal=primal, dual=dual, gap=max(primal - dual, 0.0), tolerance=TOLERANCE,
            scale=float(problem.cost.sum()) * 1e-3,
            scale_of="a thousandth of the costs C w", promised=("gap",),
        )  # fmt: skip

    @property
    def _scores_formula(self) -> nodes.Node:
        names = nodes.score_names(self.classes_)
        return self._expansion_formula(self.dual_coef_, self.intercept_, names)

    def _scores(self, X: Any) -> Floats:
        x = self._kernel_input(X)
        return self._expansion(self.dual_coef_, self.intercept_).scores(x)


@declare_parameters
class KernelLogisticRegression(KernelLogisticBase):
    """Kernel logistic regression: class probabilities from functions in the space of a kernel.

        min over f, b of ½ Σₖ ‖fₖ‖² + C Σ w ℓ(y, f(x) + b)

    ℓ is the logistic loss of one function for two classes, the softmax loss of one for each class
    otherwise. Unlike the scores of a support vector machine, probabilities need no calibration;
    every training row is a center.

    Parameters
    ----------
    C : float, default=1.0
        Cost of the loss of a row, multiplied by its weight.
    kernel : Kernel, callable or str, default="rbf"
        As in :class:`KernelRidge`.
    gamma : {"scale", "auto"}, float or None, default="scale"
        γ of a kernel given by name; "scale" is 1/(d · variance of all entries), None is 1/d.
    degree : float, default=3
    coef0 : float, default=1
        Constant of the polynomial kernel given by name.
    kernel_params : mapping or None, default=None
        Further arguments of a function.
    class_weight : dict, "balanced" or None, default=None
    standardize : bool, default=False

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    dual_coef_ : ndarray of shape (n_samples, 1) or (n_samples, n_classes)
        Coefficients of the training rows of positive weight, for the second of two classes or for
        each; they sum to zero.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        b.
    X_fit_ : ndarray, sparse array or list
        The training rows, standardized with ``standardize``.
    kernel_ : Kernel
        The kernel used.
    n_iter_ : int
        Newton steps.
    certificate_ : Certificate
        Duality gap.

    See Also
    --------
    KernelLogisticRegressionCV : Chooses C by cross-validation.
    SVC : Sparse in the rows, without probabilities of its own.
    GaussianProcessClassifier : The same penalty, with the uncertainty of f.

    References
    ----------
    J. Zhu and T. Hastie, Kernel logistic regression and the import vector machine, Journal of
    Computational and Graphical Statistics 14, 2005.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sx.KernelLogisticRegression(C=10.0).fit(X, y)
    >>> model.score(X, y) > 0.97, model.predict_proba(X[:1]).round(1).tolist()
    (True, [[1.0, 0.0, 0.0]])
    """

    C: float = 1.0
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: float = 3
    coef0: float = 1
    kernel_params: Any = None
    class_weight: Any = None
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` (rows, Rows, a Gram matrix or objects) and labels ``y``."""
        [cost] = _costs([self.C])
        coded, gram = self._table(X, y, sample_weight)
        problem = ClassScores(self._indicators(coded.codes), cost * coded.w, gram)
        self._accept(problem, fit_scores(problem, by_factor(gram, problem.cost)))
        return self


def _costs(given: Any) -> Floats:
    costs = np.atleast_1d(np.asarray(given, dtype=float))
    if costs.ndim > 1 or not len(costs) or not (np.isfinite(costs) & (costs > 0.0)).all():
        raise InputError(f"C={given!r} is not a cost.", remedy="Give numbers above zero.")
    return costs


@declare_parameters
class KernelLogisticRegressionCV(KernelLogisticBase):
    """Kernel logistic regression with the C of the least log loss out of fold.

        min over f, b of ½ Σₖ ‖fₖ‖² + C Σ w ℓ(y, f(x) + b),      C by cross-validation

    The Gram matrix of the training rows of a fold is decomposed once, and the path of C followed
    from the smallest to the largest.

    Parameters
    ----------
    Cs : array or None, default=None
        Costs; None takes 13 from 0.01 to 10⁴, over the mean of κ(x, x).
    kernel : Kernel, callable or str, default="rbf"
        As in :class:`KernelRidge`.
    gamma : {"scale", "auto"}, float or None, default="scale"
        γ of a kernel given by name; "scale" is 1/(d · variance of all entries), None is 1/d.
    degree : float, default=3
    coef0 : float, default=1
        Constant of the polynomial kernel given by name.
    kernel_params : mapping or None, default=None
        Further arguments of a function.
    class_weight : dict, "balanced" or None, default=None
    standardize : bool, default=False
    cv : int, splitter or iterable of (train, test), default=5

    Attributes
    ----------
    C_ : float
        The cost chosen.
    Cs_ : ndarray of shape (m,)
        All of them.
    log_loss_path_ : ndarray of shape (m,)
        Mean log loss out of fold at each.
    classes_, dual_coef_, intercept_, X_fit_, kernel_, n_iter_, certificate_ : object
        As in :class:`KernelLogisticRegression`.

    See Also
    --------
    KernelLogisticRegression : One C.
    SVCSearch : C and the bandwidth of a support vector machine.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sx.KernelLogisticRegressionCV().fit(X, y)
    >>> bool(model.log_loss_path_.min() < 0.15)
    True
    """

    Cs: Any = None
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: float = 3
    coef0: float = 1
    kernel_params: Any = None
    class_weight: Any = None
    standardize: bool = False
    cv: CV = 5

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose C and fit, to ``X`` and labels ``y``."""
        costs = None if self.Cs is None else np.sort(_costs(self.Cs))
        coded, gram = self._table(X, y, sample_weight)
        if costs is None:
            costs = np.geomspace(0.01, 1e4, 13) / (float(np.diagonal(gram).mean()) or 1.0)
        folds = folds_of(
            self.cv, coded.n_samples, rows=coded.rows, codes=coded.codes,
            copied=lambda: copies_of(coded.x, coded.codes),
        )  # fmt: skip
        hot, w = self._indicators(coded.codes), coded.w
        total, weight = np.zeros(len(costs)), 0.0
        for train, test in folds.pairs:
            inside = gram[np.ix_(train, train)]
            spectrum, fit = decompose(inside, w[train], offset=True), None
            outside = ClassLikelihood(hot[test], w[test])
            for i, cost in enumerate(costs):
                problem = ClassScores(hot[train], cost * w[train], inside)
                fit = fit_scores(problem, lambda k, c=cost, s=spectrum: (s, 1.0 / (k * c)), fit)
                f = gram[np.ix_(test, train)] @ fit.coef + fit.offset
                total[i] += outside.loss(f)
            weight += float(w[test].sum())
        self.Cs_, self.log_loss_path_ = costs, total / weight
        self.C_ = float(costs[int(self.log_loss_path_.argmin())])
        problem = ClassScores(hot, self.C_ * w, gram)
        self._accept(problem, fit_scores(problem, by_factor(gram, problem.cost)))
        return self
