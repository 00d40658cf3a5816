"""Descents that keep every iterate, for teaching: Newton's method and conjugate gradients.

Newton                x ← x − t H⁻¹ ∇f                 quadratic convergence near a minimum
conjugate gradients   x ← x + t p,  p ← −∇f + β p      at most d steps on a quadratic function
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix.optimize.newton import newton as newton_solution
from separatrix.optimize.problem import (
    HasHessianVector,
    Problem,
    TwiceDifferentiable,
    require,
)
from separatrix.optimize.solution import Certificate, Status
from separatrix.rows.block import Floats

#: Fraction of the predicted decrease that a step must achieve (Armijo).
ARMIJO = 1e-4


@dataclass(frozen=True)
class DescentTrace:
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
    recorder = _Recorder(problem)
    found = newton_solution(
        problem,
        np.asarray(start, dtype=float),
        tol=tol,
        max_iter=max_iter,
        callback=recorder,
    )
    return recorder.trace(found.status, found.certificate)


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
    recorder = _Recorder(problem)
    f, gradient = float(problem.value(x)), np.asarray(problem.gradient(x), dtype=float)
    recorder(x, f)
    direction, length = -gradient, 1.0
    unit = float(np.abs(gradient).max(initial=0.0)) or 1.0
    while True:
        kkt = float(np.abs(gradient).max(initial=0.0)) / unit
        if kkt <= tol or recorder.steps >= max_iter:
            status = Status.SOLVED if kkt <= tol else Status.LIMIT
            return recorder.trace(status, _certificate(status, f, kkt, tol))
        found = _line_search(problem, x, f, gradient, direction, length)
        if found is None and float(gradient @ direction) != -float(gradient @ gradient):
            direction = -gradient  # restart before giving up
            found = _line_search(problem, x, f, gradient, direction, length)
        if found is None or np.isinf(found[0]):
            status = Status.ROUNDING if found is None else Status.UNBOUNDED
            return recorder.trace(status, _certificate(status, f, kkt, tol))
        length, f = found
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


class _Recorder:
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
