"""Newton's method with a line search and lower bounds on the variables.

    x ← x + t·δ,    (∇²f + λ diag(m)) δ = −∇f,    t = 1, ½, ¼, … until f decreases enough

Near the minimum the full step is taken and convergence is quadratic; far from it the line search
makes every step a descent. Where the Hessian is singular or nearly so, the damping λ is raised
until a step succeeds (Levenberg–Marquardt), in units of ``metric(x)`` where the problem bounds its
second derivatives. Variables may have lower bounds ``lower(x)``: one at its bound with a positive
gradient is left out of the step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.optimize.problem import (
    HasHessianBound,
    HasLowerBounds,
    TwiceDifferentiable,
    require,
)
from separatrix.optimize.solution import Certificate, Solution, Status
from separatrix.rows.block import Floats

Flags = NDArray[np.bool_]
#: g ↦ H⁻¹g.
LinearSolver = Callable[[Floats], Floats]
EPS = float(np.finfo(float).eps)
#: Fraction of the decrease predicted by the gradient that a step must attain (Armijo).
ARMIJO = 1e-4
#: Step lengths that are tried along one direction.
STEP_LENGTHS = 0.5 ** np.arange(7)


def newton(
    problem: TwiceDifferentiable,
    start: Floats,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
    gradient_scale: float | None = None,
    callback: Callable[[Floats, float], None] | None = None,
) -> Solution:
    """Minimize f from ``start`` until max |∇f| ≤ ``tol`` · ``gradient_scale``.

    ``gradient_scale`` is the size of the terms that cancel in ∇f at the minimum; by default the
    gradient at the start. The status is solved, rounding (no step decreases f within the digits
    of a float), or limit reached. ``callback(x, f)`` is called at every iterate.
    """
    require("Newton's method", problem, "value", "gradient", "hessian")
    x = np.array(start, dtype=float)
    history: list[float] = []
    status: Status | None = None
    unit, damping = gradient_scale or 0.0, 0.0
    while status is None:
        f, gradient = float(problem.value(x)), np.asarray(problem.gradient(x))
        history.append(f)
        if callback is not None:
            callback(x, f)
        low = _lower(problem, x)
        free = ~((x <= low) & (gradient > 0))
        kkt = float(np.abs(gradient[free]).max(initial=0.0))
        unit = unit or kkt or 1.0
        if kkt <= tol * unit:
            status = Status.SOLVED
        elif len(history) > max_iter:
            status = Status.LIMIT
        else:
            new, damping = _step(problem, x, f, gradient, low, free, damping)
            status, x = (Status.ROUNDING, x) if new is None else (None, new)
    return Solution(
        x.reshape(-1, 1),
        np.zeros(1),
        Certificate(
            "Newton's method: the gradient vanishes"
            if status is Status.SOLVED
            else f"Newton's method: stopped ({status})",
            primal=history[-1],
            kkt=kkt / unit,
            tolerance=tol,
            promised=("kkt",),
        ),
        status,
        len(history) - 1,
        np.array(history),
    )


def _lower(problem: TwiceDifferentiable, x: Floats) -> Floats:
    if isinstance(problem, HasLowerBounds):
        return np.asarray(problem.lower(x))
    return np.full(x.shape, -np.inf)


def _step(
    problem: TwiceDifferentiable,
    x: Floats,
    f: float,
    gradient: Floats,
    low: Floats,
    free: Flags,
    damping: float,
) -> tuple[Floats | None, float]:
    """The next point (None where rounding hides any further decrease) and the damping after it.

    Shorter steps correct one that is too long; a direction of hardly any second derivative needs
    damping instead, which later steps reduce again.
    """
    hessian = np.asarray(problem.hessian(x))
    metric = _metric(problem, x, hessian)
    while damping <= 1e8:
        direction = _direction(hessian + np.diag(damping * metric), gradient, low - x, free)
        predicted = -float(gradient @ direction)
        for t in STEP_LENGTHS:
            new = np.maximum(x + t * direction, low)
            change = float(problem.value(new)) - f
            if change <= -ARMIJO * t * predicted:
                return new, damping * 0.01 if damping > 1e-10 else 0.0
            if abs(change) <= 8 * EPS * abs(f) and _gradient_decreases(
                problem, new, gradient, free
            ):
                return new, damping  # equal in f up to rounding, but not in the gradient
            if t * predicted <= EPS * abs(f):
                return None, damping
        damping = max(100.0 * damping, 1e-6)
    return None, damping


def _metric(problem: TwiceDifferentiable, x: Floats, hessian: Floats) -> Floats:
    """The unit of damping: bounds of the second derivatives, or their largest value at x."""
    if isinstance(problem, HasHessianBound):
        return np.asarray(problem.metric(x))
    return np.full(len(x), float(np.diag(hessian).max(initial=0.0)) or 1.0)


def _direction(hessian: Floats, gradient: Floats, lowest: Floats, free: Flags) -> Floats:
    """The Newton step within the bounds: no component below ``lowest``.

    A variable that would cross its bound is fixed at it, and the others are solved for again.
    """
    direction = np.zeros_like(gradient)
    free_now, fixed = free.copy(), ~free
    while True:
        at = np.flatnonzero(free_now)
        right = gradient[at] + hessian[np.ix_(at, np.flatnonzero(fixed))] @ direction[fixed]
        direction[at] = -cholesky_solver(hessian[np.ix_(at, at)])(right)
        crossing = free_now & (direction < lowest)
        if not crossing.any():
            return direction
        direction[crossing] = lowest[crossing]
        free_now, fixed = free_now & ~crossing, fixed | crossing


def _gradient_decreases(
    problem: TwiceDifferentiable, new: Floats, gradient: Floats, free: Flags
) -> bool:
    there = np.abs(np.asarray(problem.gradient(new))[free]).max(initial=0.0)
    return bool(there < 0.9 * np.abs(gradient[free]).max(initial=0.0))


def cholesky_solver(h: Floats) -> LinearSolver:
    """H⁻¹ by Cholesky after scaling to a unit diagonal, which is raised only as far as needed.

    Several vectors are the columns of a matrix.
    """
    unit = np.sqrt(np.maximum(np.diag(h), 0.0))
    unit[unit == 0.0] = float(unit.max(initial=0.0)) or 1.0
    scaled = h / np.outer(unit, unit)
    for ridge in (0.0, *10.0 ** np.arange(-14.0, 6.0)):
        try:
            factor = linalg.cho_factor(scaled + ridge * np.eye(len(unit)), check_finite=False)
        except linalg.LinAlgError:
            continue
        if np.isfinite(factor[0]).all():
            return partial(_cholesky_solve, factor, unit)
    return lambda g: (g.T / unit**2).T


def _cholesky_solve(factor: tuple[Floats, bool], unit: Floats, g: Floats) -> Floats:
    solved = linalg.cho_solve(factor, (g.T / unit).T, check_finite=False)
    return np.asarray((solved.T / unit).T)
