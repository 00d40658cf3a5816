"""Plain gradient descent on the error of a classifier, with every step kept to be looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if

from separatrix.estimators.linear_classifier import ProbabilisticLinearClassifier
from separatrix.estimators.standard_design import StandardDesign, standard_design
from separatrix.geometry.class_scores import softmax
from separatrix.messages import InputError, warn
from separatrix.optimize.gradient_descent import gradient_descent
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Floats
from separatrix.statistics.preparation import prepare

#: The random start lies within this distance of zero, coefficient by coefficient.
NEAR = 0.01
_LOSSES = ("logistic", "squared")


@dataclass(frozen=True)
class Trace:
    """What happened step by step; the first entry is the start, so n steps have n + 1 entries.

    ``objective`` is the mean loss, ``misclassified`` the share of the (weighted) rows on the wrong
    side, ``coef`` (n + 1, outputs, d) and ``intercept`` (n + 1, outputs) the scores at each point.
    ``status`` says why it ended: "solved", "settled" (misclassifications stopped falling),
    "limit reached", "diverged" or "oscillating". ``step`` is the learning rate.
    """

    objective: Floats
    misclassified: Floats
    coef: Floats
    intercept: Floats
    status: str
    step: float


class MeanLoss:
    """f(B) = Σ w ℓ(r, zB), Σw = 1, with B (1 + d) x k flattened; ∇f = Zᵀ w (output − r).

    Logistic: outputs are the sigmoid of one score, or the softmax of K; ℓ is minus the log of the
    output of the right class. Squared: outputs are the scores, ℓ = ½‖r − score‖². The slope has
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
        """Each row pulls by how much its output is off."""
        s = self.scores(b)
        if not self.squared:
            s = expit(s) if s.shape[1] == 1 else softmax(s)
        return np.asarray((self.z.T @ (self.w[:, None] * (s - self.r))).ravel())

    def lipschitz(self) -> float:
        """The largest curvature: that of ½‖zB‖², times ¼ for one sigmoid, ½ for a softmax."""
        largest = float(np.linalg.eigvalsh((self.z.T * self.w) @ self.z)[-1])
        if self.squared:
            return largest
        return largest * (0.25 if self.shape[1] == 1 else 0.5)

    def wrong(self, b: Floats) -> float:
        """The share of the rows that a decision by these scores gets wrong."""
        s = self.scores(b)
        if s.shape[1] == 1:
            side = s[:, 0] > (0.5 if self.squared else 0.0)
            return float(self.w @ (side != (self.r[:, 0] > 0.5)))
        return float(self.w @ (s.argmax(axis=1) != self.r.argmax(axis=1)))


class GradientDescent(ProbabilisticLinearClassifier):
    """b ← b − η ∇f(b) from a random start near zero: slow, plain, and every step on record.

    Meant for seeing how descent works and fails, not for speed: :class:`LogisticRegression` finds
    the minimum itself. It stops when misclassifications have stopped falling, when the slope
    vanishes, or at the limit; a learning rate that is too long is recognised and said.

    Parameters
    ----------
    loss : {"logistic", "squared"}, default="logistic"
        Minus the log likelihood (sigmoid, or softmax of more than two classes), or squared error
        against 0 and 1.
    learning_rate : float, optional
        η. Without it 1/L with L the largest curvature, which never overshoots; above 2/L squared
        error diverges.
    max_iter : int, default=1000
        Steps at most.
    patience : int or None, default=50
        Steps without fewer misclassifications after which it stops; None goes on.
    tol : float, default=1e-6
        The slope has vanished when it has shrunk by this factor.
    standardize : bool, default=True
        Whether to walk in columns of mean 0 and deviation 1. In raw units the valley may be so
        narrow that no learning rate suits all columns.
    random_state : int, default=0
        Seed of the start.

    Attributes
    ----------
    trace_ : :class:`Trace`, drawn by ``separatrix.pictures.TrainingTraceDisplay``.
    """

    _sparse_ok = False

    def __init__(
        self,
        loss: str = "logistic",
        *,
        learning_rate: float | None = None,
        max_iter: int = 1000,
        patience: int | None = 50,
        tol: float = 1e-6,
        standardize: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.patience = patience
        self.tol = tol
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Walk down for ``X`` and labels ``y``, or for :class:`~separatrix.rows.rows.Rows`."""
        self._check()
        rows = self._class_rows(X, y, sample_weight)
        prepared = prepare(rows)
        terms = self._class_terms(rows, prepared.moments.targets)
        block = prepared.rows.collect()
        r = block.aligned(block.terms, block.targets.union(terms)).y
        places = block.targets.union(terms).position
        r = r[:, [places[term] for term in terms]]
        design = standard_design(block, prepared.moments, scaled=self.standardize)
        solution = self._walk(design, r[:, 1:] if r.shape[1] == 2 else r)
        self._accept(solution, prepared.encoding, flat=False)
        return self

    def _check(self) -> None:
        if self.loss not in _LOSSES:
            raise InputError(
                f"loss={self.loss!r} is unknown.", remedy="Choose 'logistic' or 'squared'."
            )
        for name in ("learning_rate", "max_iter", "patience"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name}={value!r} leads nowhere.", remedy="Use more than zero.")

    def _walk(self, design: StandardDesign, r: Floats) -> Solution:
        problem = MeanLoss(design, r, self.loss)
        random = check_random_state(self.random_state)
        start = random.uniform(-NEAR, NEAR, problem.shape).ravel()
        watch = _Watch(problem, self.patience)
        with np.errstate(over="ignore", invalid="ignore"):
            found = gradient_descent(
                problem,
                start,
                step=self.learning_rate,
                tol=self.tol,
                max_iter=self.max_iter,
                watch=watch,
            )
        status = "settled" if found.status == "called off" else found.status
        self.trace_ = self._trace(watch, design, problem, status, found.extra["step"])
        # where the walk left the valley, the lowest point it saw is worth more than the last
        lost = status in ("diverged", "oscillating")
        at = int(np.nanargmin(self.trace_.objective)) if lost else len(watch.points) - 1
        certificate = _certificate(found, status)
        if status not in ("solved", "settled"):
            warn("SEP003", str(certificate))
        return Solution(
            self.trace_.coef[at].T,
            self.trace_.intercept[at] - (0.5 if problem.squared and r.shape[1] == 1 else 0.0),
            certificate,
            status,
            found.iterations,
        )

    def _trace(
        self, watch: _Watch, design: StandardDesign, problem: MeanLoss, status: str, step: float
    ) -> Trace:
        points = [design.unscale(b.reshape(problem.shape)) for b in watch.points]
        return Trace(
            np.array(watch.objective),
            np.array(watch.wrong),
            np.array([coef.T for coef, _ in points]),
            np.array([intercept for _, intercept in points]),
            status,
            step,
        )

    @available_if(lambda self: self.loss == "logistic")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The outputs: probabilities by the sigmoid or softmax."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return softmax(scores)


class _Watch:
    """Keeps every point, and calls the descent off when misclassifications stop falling."""

    def __init__(self, problem: MeanLoss, patience: int | None) -> None:
        self.problem, self.patience = problem, patience
        self.points: list[Floats] = []
        self.objective: list[float] = []
        self.wrong: list[float] = []
        self.best = 0

    def __call__(self, b: Floats, value: float) -> bool:
        """Whether it is time to stop. A walk that climbs is left to be recognised as such."""
        if not np.isfinite(b).all():
            return False  # the descent itself will say that it diverged
        self.points.append(b.copy())
        self.objective.append(value)
        self.wrong.append(self.problem.wrong(b))
        now = len(self.wrong) - 1
        if self.wrong[now] < self.wrong[self.best] - 1e-12:
            self.best = now
        falling = now == 0 or value <= self.objective[now - 1]
        return self.patience is not None and falling and now - self.best >= self.patience


def _certificate(found: Solution, status: str) -> Certificate:
    if status != "settled":
        return found.certificate
    return replace(
        found.certificate,
        claim="Gradient descent: misclassifications stopped falling; the minimum lies further on",
        tolerance=np.nan,
    )
