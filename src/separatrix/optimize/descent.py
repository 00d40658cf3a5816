"""Descents that keep every iterate, on functions to try them on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from separatrix.arrays import Floats
from separatrix.formatting import plural
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.optimize.convex import Certificate, Solution, Status
from separatrix.optimize.newton import (
    ARMIJO,
    HasHessianVector,
    HasLipschitz,
    Problem,
    TwiceDifferentiable,
    require,
)
from separatrix.optimize.newton import newton as newton_solution
from separatrix.parameters import describe_parameters

# -------------------------------------------------------------------------------------------------
# Functions to try a descent on: a quadratic, and the logistic loss of a table.


class Quadratic:
    """f(x) = ½ xᵀA x − b·x with a symmetric matrix A.

    Its minimum, if A is positive definite, solves A x = b.

    Parameters
    ----------
    A : array-like of shape (d, d)
        A symmetric matrix.
    b : array-like of shape (d,)
        The right-hand side.

    See Also
    --------
    conjugate_gradient : Minimizes it in at most d steps.
    newton : Minimizes it in one.

    Examples
    --------
    >>> import separatrix as sx
    >>> bowl = sx.Quadratic([[2.0, 0.0], [0.0, 4.0]], [2.0, 4.0])
    >>> bowl.value([1.0, 1.0]), bowl.gradient([0.0, 0.0]).tolist()
    (-3.0, [-2.0, -4.0])
    """

    def __init__(self, A: Any, b: Any) -> None:
        self.A, self.b = np.asarray(A, dtype=float), np.asarray(b, dtype=float)
        if self.A.shape != (len(self.b), len(self.b)):
            raise InputError(f"A has the shape {self.A.shape}, and b the length {len(self.b)}.")
        if not np.allclose(self.A, self.A.T, rtol=1e-12, atol=0.0):
            raise InputError("A is not symmetric.", remedy="Use (A + Aᵀ) / 2: f is the same.")

    def __repr__(self) -> str:
        return f"½ xᵀA x − b·x of {plural(len(self.b), 'variable')}"

    def value(self, x: Any) -> float:
        """f(x)."""
        x = np.asarray(x, dtype=float)
        return float(0.5 * x @ self.A @ x - self.b @ x)

    def gradient(self, x: Any) -> Floats:
        """A x − b."""
        return np.asarray(self.A @ np.asarray(x, dtype=float) - self.b)

    def hessian(self, x: Any) -> Floats:  # noqa: ARG002
        """A, everywhere."""
        return self.A

    def hessian_vector(self, x: Any, v: Floats) -> Floats:  # noqa: ARG002
        """A v."""
        return np.asarray(self.A @ v)

    def lipschitz(self) -> float:
        """The largest eigenvalue of A."""
        return float(np.linalg.eigvalsh(self.A)[-1])


@describe_parameters
class LogisticLoss:
    """Mean logistic loss of a table of two classes, with an ℓ₂ penalty if wanted.

        f(w, t) = (1/n) Σ log(1 + e^−s(w·x + t)) + ½ α ‖w‖²,      s = ±1

    The point of a descent is (w, t), the intercept last.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        Two classes; s = 1 for the larger label.
    alpha : float, default=0.0
        The penalty.

    See Also
    --------
    newton : Minimizes it in a few steps.
    conjugate_gradient : Minimizes it without Hessian matrices.
    LogisticRegression : The estimator.

    Examples
    --------
    >>> import separatrix as sx
    >>> loss = sx.LogisticLoss([[0.0], [1.0], [2.0]], [0, 1, 1])
    >>> round(loss.value([0.0, 0.0]), 6)  # log 2
    0.693147
    """

    def __init__(self, X: Any, y: Any, alpha: float = 0.0) -> None:
        x, labels = np.asarray(X, dtype=float), np.asarray(y)
        classes = np.unique(labels)
        if x.ndim != 2 or len(x) != len(labels) or len(classes) != 2:
            raise InputError(
                f"X of shape {x.shape} and {len(labels)} labels of {len(classes)} classes.",
                remedy="Give one row for each label, and two classes.",
            )
        self.alpha = float(alpha)
        self.z = np.column_stack([x, np.ones(len(x))])
        self.r = (labels == classes[1]).astype(float)
        self.ridge = np.append(np.full(x.shape[1], self.alpha), 0.0)

    def __repr__(self) -> str:
        n, d = self.z.shape
        penalty = f", with α = {self.alpha:g}" if self.alpha else ""
        return f"Logistic loss of {plural(n, 'row')} and {plural(d - 1, 'column')}{penalty}"

    def value(self, x: Any) -> float:
        """f(w, t)."""
        x = np.asarray(x, dtype=float)
        s = self.z @ x
        return float(np.mean(np.logaddexp(0.0, s) - self.r * s) + 0.5 * self.ridge @ x**2)

    def gradient(self, x: Any) -> Floats:
        """(1/n) Σ (p − y) (x, 1), and the penalty's."""
        x = np.asarray(x, dtype=float)
        return np.asarray(self.z.T @ (expit(self.z @ x) - self.r) / len(self.z) + self.ridge * x)

    def hessian(self, x: Any) -> Floats:
        """(1/n) Σ p (1 − p) (x, 1)(x, 1)ᵀ, and the penalty's."""
        p = expit(self.z @ np.asarray(x, dtype=float))
        weighted = self.z * (p * (1.0 - p))[:, None]
        return np.asarray(self.z.T @ weighted / len(self.z) + np.diag(self.ridge))

    def hessian_vector(self, x: Any, v: Floats) -> Floats:
        """The Hessian times v, without forming it."""
        p = expit(self.z @ np.asarray(x, dtype=float))
        scores = self.z @ v
        return np.asarray(self.z.T @ (p * (1.0 - p) * scores) / len(self.z) + self.ridge * v)


# -------------------------------------------------------------------------------------------------
# Gradient descent with a constant step.
#
#     x ← x − η ∇f(x)
#
# With L the largest eigenvalue of the Hessian, f decreases at every step for η ≤ 1/L. Between 1/L
# and 2/L the steepest direction is overshot at every step but the error still decreases; at 2/L the
# iterates oscillate; above 2/L they diverge. The history of f is recorded, and the status says
# which happened: a descent that ends above the lowest point it has seen is not solved, whatever its
# gradient.


#: Iterations for which divergence or oscillation must last to be diagnosed.
WINDOW = 20
_CLAIMS = {
    Status.SOLVED: "Gradient descent: the gradient vanishes",
    Status.DIVERGED: "Gradient descent diverged: the objective rose above that of the start",
    Status.OSCILLATING: "Gradient descent oscillates: the objective does not keep decreasing",
    Status.LIMIT: "Gradient descent: stopped at the limit of iterations",
    Status.STOPPED: "Gradient descent: stopped by the callback, before the gradient vanished",
}


@dataclass(frozen=True)
class DescentSolution(Solution):
    """A solution with the ``step`` η and the number of ``reversals``.

    A reversal is a step whose gradient points against that of the step before.
    """

    step: float = np.nan
    reversals: int = 0


def gradient_descent(
    problem: Problem,
    start: Floats,
    *,
    step: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    callback: Callable[[Floats, float], bool] | None = None,
) -> DescentSolution:
    """Minimize f from ``start``; stops when the gradient has decreased by the factor ``tol``.

    ``callback(x, f)`` is called at every iterate, and stops the descent by returning True.

    Without ``step``, η = 1/L with L from ``problem.lipschitz()`` if there is one, else the largest
    eigenvalue found by power iteration on ``problem.hessian_vector(x, v)``. ``history`` is f at
    every iterate.
    """
    require("Gradient descent", problem, "value", "gradient")
    x = np.array(start, dtype=float)
    eta = 1.0 / _largest_eigenvalue(problem, x) if step is None else float(step)
    history = [float(problem.value(x))]
    gradient = np.asarray(problem.gradient(x))
    sizes = [float(np.abs(gradient).max(initial=0.0))]
    reversals: list[bool] = []
    status = Status.SOLVED if sizes[0] == 0.0 else None
    if callback is not None:
        callback(x, history[0])
    while status is None:
        x = x - eta * gradient
        new = np.asarray(problem.gradient(x))
        reversals.append(bool(new @ gradient < 0))
        gradient = new
        sizes.append(float(np.abs(gradient).max(initial=0.0)))
        history.append(float(problem.value(x)))
        status = _status(history, sizes, reversals, tol)
        if callback is not None and callback(x, history[-1]) and status is None:
            status = Status.STOPPED
        if status is None and len(reversals) >= max_iter:
            status = Status.LIMIT
        if status in (Status.STOPPED, Status.LIMIT) and has_risen(history):
            status = (
                Status.DIVERGED if has_risen(history[:1] + history[-1:]) else Status.OSCILLATING
            )
    return _solution(x, history, reversals, status, sizes[-1] / (sizes[0] or 1.0), tol, eta)


def has_risen(history: list[float]) -> bool:
    """Whether the last value is above the lowest by more than rounding errors."""
    lowest = min(history)
    return not history[-1] <= lowest + 1e-12 * (history[0] - lowest + abs(lowest))


def _status(
    history: list[float], sizes: list[float], reversals: list[bool], tol: float
) -> Status | None:
    """The diagnosis of the iterations so far; None while they should go on."""
    if sizes[-1] <= tol * sizes[0] and not has_risen(history):
        return Status.SOLVED
    if not np.isfinite(history[-1]):
        return Status.DIVERGED
    if len(reversals) < WINDOW:
        return None
    if (np.diff(history[-WINDOW - 1 :]) > 0).all():
        return Status.DIVERGED
    # a gradient that reverses at every step with constant size belongs to an oscillation
    if all(reversals[-WINDOW:]) and abs(sizes[-1] / sizes[-WINDOW - 1] - 1.0) < 1e-3:
        return Status.OSCILLATING
    return None


def _solution(
    x: Floats,
    history: list[float],
    reversals: list[bool],
    status: Status,
    kkt: float,
    tol: float,
    eta: float,
) -> DescentSolution:
    notes: tuple[str, ...] = ()
    if status in (Status.DIVERGED, Status.OSCILLATING):
        notes = (f"The step {eta:.3g} is too long for the Hessian: use a smaller one.",)
    elif len(reversals) > WINDOW and np.mean(reversals) > 0.9:
        notes = (
            f"Nearly every step reversed the one before: a step below {eta:.3g} would converge "
            "faster.",
        )
    certificate = Certificate(
        _CLAIMS[status],
        primal=history[-1],
        kkt=kkt,
        tolerance=tol,
        notes=notes,
        promised=("kkt",),
    )
    return DescentSolution(
        x.reshape(-1, 1),
        np.zeros(1),
        certificate,
        status,
        len(reversals),
        np.array(history),
        eta,
        int(np.sum(reversals)),
    )


def _largest_eigenvalue(problem: Problem, x: Floats) -> float:
    """L: given by the problem, or the largest eigenvalue of ∇²f by power iteration."""
    if isinstance(problem, HasLipschitz):
        return float(problem.lipschitz())
    require("Gradient descent without a given step", problem, "hessian_vector")
    assert isinstance(problem, HasHessianVector)
    v = np.random.default_rng(0).standard_normal(x.shape)
    v /= np.linalg.norm(v)
    largest = 0.0
    for _ in range(200):
        u = np.asarray(problem.hessian_vector(x, v))
        size = float(np.linalg.norm(u))
        if size == 0.0:
            return 1.0  # the Hessian vanishes along a random direction: f is linear
        v = u / size
        if abs(size - largest) <= 1e-6 * size:
            break
        largest = size
    return 1.01 * size  # power iteration approaches from below


# -------------------------------------------------------------------------------------------------
# Descents that keep every iterate, for teaching: Newton's method and conjugate gradients.
#
# Newton                x ← x − t H⁻¹ ∇f                 quadratic convergence near a minimum
# conjugate gradients   x ← x + t p,  p ← −∇f + β p      at most d steps on a quadratic function


@dataclass(frozen=True, repr=False)
class DescentTrace(Shown):
    """Every iterate of a descent, the start included: n steps have n + 1 entries.

    ``points`` (n + 1, d) are the iterates, ``values`` the function and ``gradient_norms`` the
    largest entry of its gradient there. ``status`` says why the descent ended, and ``certificate``
    how far the gradient has decreased. Prints as a table.
    """

    points: Floats
    values: Floats
    gradient_norms: Floats
    status: Status
    certificate: Certificate

    @property
    def x(self) -> Floats:
        """The last iterate."""
        return np.asarray(self.points[-1])

    @property
    def n_iter(self) -> int:
        """The number of steps."""
        return len(self.values) - 1

    def __str__(self) -> str:
        lines = [f"{'step':>5}  {'f':>14}  {'max |∇f|':>10}"]
        for k, (value, size) in enumerate(zip(self.values, self.gradient_norms, strict=True)):
            lines.append(f"{k:>5}  {value:>14.8g}  {size:>10.2e}")
        return "\n".join([*lines, f"{self.certificate}"])


def newton(
    problem: TwiceDifferentiable, start: Floats, *, tol: float = 1e-10, max_iter: int = 100
) -> DescentTrace:
    """Minimize a function by Newton's method and keep every iterate.

        x ← x − t (∇²f + λI)⁻¹ ∇f,      t = 1, ½, ¼, … until f decreases enough

    λ is zero unless the Hessian is so nearly singular that no step succeeds.

    Parameters
    ----------
    problem : object
        Methods ``value(x)``, ``gradient(x)`` and ``hessian(x)``, such as :class:`Quadratic`.
    start : array-like of shape (d,)
        Where to start.
    tol : float, default=1e-10
        The gradient has vanished when its largest entry has decreased by this factor.
    max_iter : int, default=100
        Steps at most.

    Returns
    -------
    DescentTrace
        ``points``, ``values``, ``gradient_norms``, ``status`` and ``certificate``.

    See Also
    --------
    conjugate_gradient : Without Hessian matrices.
    GradientDescent : A classifier by plain gradient steps, with its trace.
    LogisticLoss : A function to try it on.

    References
    ----------
    S. Boyd and L. Vandenberghe, Convex Optimization, Cambridge University Press, 2004, section
    9.5.

    Examples
    --------
    >>> import separatrix as sx
    >>> loss = sx.LogisticLoss([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    >>> trace = sx.newton(loss, [0.0, 0.0])
    >>> trace.x.round(3).tolist(), trace.n_iter
    ([0.908, -1.362], 4)
    >>> ["%.0e" % size for size in trace.gradient_norms]  # digits double at every step
    ['2e-01', '2e-02', '9e-04', '1e-06', '4e-12']
    """
    require("Newton's method", problem, "value", "gradient", "hessian")
    recorder = _IterateRecorder(problem)
    solution = newton_solution(
        problem,
        np.asarray(start, dtype=float),
        tol=tol,
        max_iter=max_iter,
        callback=recorder,
    )
    return recorder.trace(solution.status, solution.certificate)


def conjugate_gradient(
    problem: Problem, start: Floats, *, tol: float = 1e-10, max_iter: int = 1000
) -> DescentTrace:
    """Minimize a function by conjugate gradients and keep every iterate.

        x ← x + t p,    p ← −∇f + β p,    β = max(0, ∇f·(∇f − ∇f_before) / ‖∇f_before‖²)

    Directions are conjugate, p·H p′ = 0, on a quadratic function, whose minimum d steps reach. On
    others β restarts the descent along −∇f where it would be negative (Polak and Ribière).

    Parameters
    ----------
    problem : object
        Methods ``value(x)`` and ``gradient(x)``; with ``hessian_vector(x, v)`` or ``hessian(x)``
        the first trial of t is the minimum of the quadratic model along p.
    start : array-like of shape (d,)
        Where to start.
    tol : float, default=1e-10
        The gradient has vanished when its largest entry has decreased by this factor.
    max_iter : int, default=1000
        Steps at most.

    Returns
    -------
    DescentTrace
        ``points``, ``values``, ``gradient_norms``, ``status`` and ``certificate``.

    See Also
    --------
    newton : Fewer steps, each with a Hessian.
    GradientDescent : A classifier by plain gradient steps, with its trace.
    Quadratic : A function to try it on.

    References
    ----------
    M. R. Hestenes and E. Stiefel, Methods of conjugate gradients for solving linear systems, 1952.

    Examples
    --------
    >>> import separatrix as sx
    >>> bowl = sx.Quadratic([[2.0, 1.0], [1.0, 5.0]], [1.0, 2.0])
    >>> trace = sx.conjugate_gradient(bowl, [0.0, 0.0])
    >>> trace.n_iter, trace.x.round(6).tolist()
    (2, [0.333333, 0.333333])
    """
    require("Conjugate gradients", problem, "value", "gradient")
    x = np.array(start, dtype=float)
    recorder = _IterateRecorder(problem)
    f, gradient = float(problem.value(x)), np.asarray(problem.gradient(x), dtype=float)
    recorder(x, f)
    direction, length = -gradient, 1.0
    unit = float(np.abs(gradient).max(initial=0.0)) or 1.0
    while True:
        kkt = float(np.abs(gradient).max(initial=0.0)) / unit
        if kkt <= tol or recorder.steps >= max_iter:
            status = Status.SOLVED if kkt <= tol else Status.LIMIT
            return recorder.trace(status, _certificate(status, f, kkt, tol))
        step = _line_search(problem, x, f, gradient, direction, length)
        if step is None and float(gradient @ direction) != -float(gradient @ gradient):
            direction = -gradient  # restart before giving up
            step = _line_search(problem, x, f, gradient, direction, length)
        if step is None or np.isinf(step[0]):
            status = Status.ROUNDING if step is None else Status.UNBOUNDED
            return recorder.trace(status, _certificate(status, f, kkt, tol))
        length, f = step
        x = x + length * direction
        before, gradient = gradient, np.asarray(problem.gradient(x), dtype=float)
        recorder(x, f)
        beta = max(0.0, float(gradient @ (gradient - before)) / float(before @ before))
        direction = -gradient + beta * direction
        if float(direction @ gradient) >= 0.0:
            direction = -gradient


def _line_search(
    problem: Problem, x: Floats, f: float, gradient: Floats, direction: Floats, length: float
) -> tuple[float, float] | None:
    """A step length and the value there; None where rounding hides any decrease.

    The length is infinite where the function falls in proportion to the step as far as steps go.
    """
    slope = float(gradient @ direction)
    curvature = _curvature(problem, x, direction)
    t = -slope / curvature if curvature > 0.0 else 2.0 * length
    quadratic, falls = curvature > 0.0, False
    for _ in range(60):
        value = float(problem.value(x + t * direction))
        if value <= f + ARMIJO * t * slope:
            if quadratic or not _improves(problem, x, direction, t, value):
                return (t, value) if value > -np.inf else (np.inf, value)
            t, falls = 2.0 * t, True
            continue
        if abs(value - f) <= 8.0 * np.finfo(float).eps * abs(f) and quadratic:
            there = np.abs(np.asarray(problem.gradient(x + t * direction))).max()
            return (t, value) if there < np.abs(gradient).max() else None
        t, falls = 0.5 * t, False
    return (np.inf, value) if falls else None


def _improves(problem: Problem, x: Floats, direction: Floats, t: float, value: float) -> bool:
    """Whether a step twice as long is better still, where no second derivative is known."""
    return float(problem.value(x + 2.0 * t * direction)) < value


def _curvature(problem: Problem, x: Floats, p: Floats) -> float:
    """p·H p, or 0 if the problem has no second derivatives."""
    if isinstance(problem, HasHessianVector):
        return float(p @ np.asarray(problem.hessian_vector(x, p)))
    if isinstance(problem, TwiceDifferentiable):
        return float(p @ np.asarray(problem.hessian(x)) @ p)
    return 0.0


class _IterateRecorder:
    """Stores every iterate that a descent reports."""

    def __init__(self, problem: Problem) -> None:
        self.gradient: Callable[[Floats], Floats] = problem.gradient
        self.points: list[Floats] = []
        self.values: list[float] = []

    @property
    def steps(self) -> int:
        return len(self.points) - 1

    def __call__(self, x: Floats, value: float) -> None:
        self.points.append(np.array(x, dtype=float))
        self.values.append(float(value))

    def trace(self, status: Status, certificate: Certificate) -> DescentTrace:
        sizes = [float(np.abs(np.asarray(self.gradient(x))).max(initial=0.0)) for x in self.points]
        return DescentTrace(
            np.array(self.points), np.array(self.values), np.array(sizes), status, certificate
        )


def _certificate(status: Status, value: float, kkt: float, tol: float) -> Certificate:
    claim = "the gradient vanishes" if status is Status.SOLVED else f"stopped ({status})"
    return Certificate(
        f"Conjugate gradients: {claim}",
        primal=value,
        kkt=kkt,
        tolerance=tol,
        promised=("kkt",),
    )
