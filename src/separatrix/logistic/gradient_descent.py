"""Gradient descent on the loss of a linear classifier, with every step recorded."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from separatrix.arrays import Floats, NDArray
from separatrix.estimators.base import reads_tables
from separatrix.estimators.class_labels import class_rows, class_terms, label_scores
from separatrix.estimators.linear_classifier import ProbabilisticLinearClassifier
from separatrix.estimators.transformers import StandardDesign, standard_design
from separatrix.formula import nodes
from separatrix.geometry.class_scores import softmax
from separatrix.messages import InputError, check_option, warn
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.optimize.descent import gradient_descent, has_risen
from separatrix.parameters import declare_parameters
from separatrix.statistics.moments import prepare
from separatrix.threads import on_one_blas_thread


@dataclass(frozen=True)
class TrainingTrace:
    """The record of a descent; the first entry is the start, so n steps have n + 1 entries.

    ``objective`` is the mean loss, ``misclassified`` the (weighted) error rate, ``coef``
    (n + 1, outputs, d) and ``intercept`` (n + 1, outputs) the parameters. ``status`` is "solved",
    "stopped early" (the error rate stopped decreasing), "limit reached", "diverged" or
    "oscillating"; ``step`` is the learning rate.
    """

    objective: Floats
    misclassified: Floats
    coef: Floats
    intercept: Floats
    status: Status
    step: float


class MeanLoss:
    """f(B) = Σ w ℓ(r, zB), Σw = 1, with B (1 + d) x k flattened; ∇f = Zᵀ w (output − r).

    Logistic: outputs are the sigmoid of one score, or the softmax of K; ℓ is minus the log of the
    output of the true class. Squared: outputs are the scores, ℓ = ½‖r − score‖². The gradient has
    the same form in all three.
    """

    def __init__(self, design: StandardDesign, r: Floats, loss: str) -> None:
        self.z, self.w, self.r = design.z, design.w, r
        self.squared = loss == "squared"
        self.shape = (design.z.shape[1], r.shape[1])

    def scores(self, b: Floats) -> Floats:
        """z·B, n x k."""
        return np.asarray(self.z @ b.reshape(self.shape))

    def value(self, b: Floats) -> float:
        """The mean loss."""
        s = self.scores(b)
        if self.squared:
            return 0.5 * float(self.w @ ((s - self.r) ** 2).sum(axis=1))
        right = (s * self.r).sum(axis=1)
        if s.shape[1] == 1:
            return float(self.w @ (np.logaddexp(0.0, s[:, 0]) - right))
        return float(self.w @ (logsumexp(s, axis=1) - right))

    def gradient(self, b: Floats) -> Floats:
        """Zᵀ w (output − r)."""
        s = self.scores(b)
        if not self.squared:
            s = expit(s) if s.shape[1] == 1 else softmax(s)
        return np.asarray((self.z.T @ (self.w[:, None] * (s - self.r))).ravel())

    def lipschitz(self) -> float:
        """L, the largest eigenvalue of the Hessian of ½‖zB‖², times ¼ (sigmoid) or ½ (softmax)."""
        largest = float(np.linalg.eigvalsh((self.z.T * self.w) @ self.z)[-1])
        if self.squared:
            return largest
        return largest * (0.25 if self.shape[1] == 1 else 0.5)

    def error_rate(self, b: Floats) -> float:
        """The error rate of these scores."""
        s = self.scores(b)
        if s.shape[1] == 1:
            side = s[:, 0] > (0.5 if self.squared else 0.0)
            return float(self.w @ (side != (self.r[:, 0] > 0.5)))
        return float(self.w @ (s.argmax(axis=1) != self.r.argmax(axis=1)))


@declare_parameters
class GradientDescent(ProbabilisticLinearClassifier):
    """Linear classifier trained by plain gradient descent, with every step recorded.

        b ← b − η ∇f(b)      from a random start near zero

    Meant for teaching how descent works and fails, not for speed: :class:`LogisticRegression` finds
    the minimum itself. It stops when the error rate has stopped decreasing, when the gradient
    vanishes, or at the limit; a learning rate that is too large is detected and warned about.

    Parameters
    ----------
    loss : {"logistic", "squared"}, default="logistic"
        Negative log-likelihood (sigmoid, or softmax for more than two classes), or squared error
        against 0 and 1.
    learning_rate : float or None, default=None
        η. None is 1/L with L the largest eigenvalue of the Hessian, which never overshoots; above
        2/L squared error diverges.
    max_iter : int, default=1000
        Steps at most.
    patience : int or None, default=50
        Steps without a lower error rate after which it stops; None never stops early.
    tol : float, default=1e-6
        The gradient has vanished when its norm has decreased by this factor.
    standardize : bool, default=True
        Train on columns of mean 0 and standard deviation 1. In raw units the problem may be so
        ill-conditioned that no learning rate suits all columns.
    random_state : int, RandomState instance or None, default=0
        Seed of the start.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    trace_ : TrainingTrace
        Loss, error rate and parameters at every step, drawn by
        ``separatrix.pictures.TrainingTraceDisplay``.
    certificate_ : Certificate
        The norm of the gradient at the end.
    n_iter_ : int
        Steps.

    See Also
    --------
    LogisticRegression : The minimum itself, by Newton's method.
    Perceptron : Updates at misclassified rows only.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization, Cambridge University Press, 2004, section
    9.3.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 0, 1, 1]
    >>> model = sx.GradientDescent(patience=None, max_iter=5000).fit(X, y)
    >>> str(model.trace_.status), model.coef_.round(2)
    ('solved', array([[1.21]]))
    >>> bool(model.trace_.objective[-1] < model.trace_.objective[0])
    True
    """

    _sparse_ok = False

    loss: str = "logistic"
    _: KW_ONLY
    learning_rate: float | None = None
    max_iter: int = 1000
    patience: int | None = 50
    tol: float = 1e-6
    standardize: bool = True
    random_state: Any = 0

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        rows = class_rows(self, X, y, sample_weight)
        prepared = prepare(rows)
        terms = class_terms(self, rows, prepared.targets)
        block = prepared.rows.collect()
        r = block.indicators(terms)
        design = standard_design(block, prepared.moments, scaled=self.standardize)
        solution = self._descend(design, r[:, 1:] if r.shape[1] == 2 else r)
        self._accept(solution, prepared.encoding, flat=False)
        return self

    def _check(self) -> None:
        check_option("loss", self.loss, ("logistic", "squared"))
        positive = {
            "learning_rate": self.learning_rate,
            "max_iter": self.max_iter,
            "patience": self.patience,
        }
        for name, value in positive.items():
            if value is not None and not value > 0:
                raise InputError(f"{name}={value!r} must be greater than zero.")

    def _descend(self, design: StandardDesign, r: Floats) -> Solution:
        problem = MeanLoss(design, r, self.loss)
        random = check_random_state(self.random_state)
        start_range = 0.01  # initial coefficients are uniform within this distance of zero
        start = random.uniform(-start_range, start_range, problem.shape).ravel()
        recorder = _ErrorRateRecorder(problem, self.patience)
        with np.errstate(over="ignore", invalid="ignore"):
            descended = gradient_descent(
                problem,
                start,
                step=self.learning_rate,
                tol=self.tol,
                max_iter=self.max_iter,
                callback=recorder,
            )
        points = [design.unscale(b.reshape(problem.shape)) for b in recorder.points]
        self.trace_ = TrainingTrace(
            np.array(recorder.objective),
            np.array(recorder.error_rates),
            np.array([coef.T for coef, _ in points]),
            np.array([intercept for _, intercept in points]),
            descended.status,
            descended.step,
        )
        # after divergence the lowest point is returned instead of the last
        lost = descended.status in (Status.DIVERGED, Status.OSCILLATING)
        at = int(np.nanargmin(self.trace_.objective)) if lost else len(recorder.points) - 1
        certificate = _certificate(descended)
        if descended.status not in (Status.SOLVED, Status.STOPPED):
            warn("SEP003", str(certificate))
        return Solution(
            self.trace_.coef[at].T,
            self.trace_.intercept[at] - (0.5 if problem.squared and r.shape[1] == 1 else 0.0),
            certificate,
            descended.status,
            descended.iterations,
        )

    @available_if(lambda self: self.loss == "logistic")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The outputs: probabilities by the sigmoid or softmax."""
        return super().predict_proba(X)

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class; by the largest score for squared error."""
        if self.loss == "logistic":
            return super().predict(X)
        return label_scores(self.decision_function(X), self.classes_)

    def formula(self) -> nodes.ClassFormula:
        """Probabilities of the logistic loss, scores of squared error."""
        if self.loss == "logistic":
            return super().formula()
        return nodes.by_score(self._linear_scores(), self.classes_)


class _ErrorRateRecorder:
    """Stores every point, and stops the descent when the error rate has stopped decreasing."""

    def __init__(self, problem: MeanLoss, patience: int | None) -> None:
        self.problem, self.patience = problem, patience
        self.points: list[Floats] = []
        self.objective: list[float] = []
        self.error_rates: list[float] = []
        self.best = 0

    def __call__(self, b: Floats, value: float) -> bool:
        """Whether to stop; a loss above the lowest so far is left for the descent to diagnose."""
        if not np.isfinite(b).all():
            return False  # the descent itself reports that it diverged
        self.points.append(b.copy())
        self.objective.append(value)
        self.error_rates.append(self.problem.error_rate(b))
        now = len(self.error_rates) - 1
        if self.error_rates[now] < self.error_rates[self.best] - 1e-12:
            self.best = now
        patient = self.patience is None or now - self.best < self.patience
        return not patient and not has_risen(self.objective)


def _certificate(solution: Solution) -> Certificate:
    """That of the descent; stopped early, nothing is promised about the minimum."""
    if solution.status != Status.STOPPED:
        return solution.certificate
    return replace(
        solution.certificate,
        claim="Gradient descent: the error rate stopped decreasing before the gradient vanished",
        tolerance=np.nan,
        promised=(),
    )
