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
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats, NDArray
from separatrix.optimize.convex import Certificate, Solution, Status

Flags = NDArray[np.bool_]
#: g ↦ H⁻¹g.
LinearSolver = Callable[[Floats], Floats]
EPS = float(np.finfo(float).eps)
#: Fraction of the decrease predicted by the gradient that a step must attain (Armijo).
ARMIJO = 1e-4
#: A change of f, relative to it, that rounding hides.
HIDDEN = 1e-16


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
    of a float), unbounded below (f falls along a direction of negative or zero curvature, as far as
    it is followed), or limit reached. ``callback(x, f)`` is called at every iterate.
    """
    require("Newton's method", problem, "value", "gradient", "hessian")
    x = np.array(start, dtype=float)
    history: list[float] = []
    status: Status | None = None
    where = ""
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
    if status is Status.LIMIT and _falls_forever(problem, x, gradient, low, free):
        status, where = Status.UNBOUNDED, " along a direction of negative or zero curvature"
    return Solution(
        x.reshape(-1, 1),
        np.zeros(1),
        Certificate(
            "Newton's method: the gradient vanishes"
            if status is Status.SOLVED
            else f"Newton's method: stopped ({status}{where})",
            primal=history[-1],
            kkt=kkt / unit,
            tolerance=tol,
            promised=("kkt",),
        ),
        status,
        len(history) - 1,
        np.array(history),
    )


class HasValue(Protocol):
    """A point at which f is known."""

    @property
    def value(self) -> float:
        """f there."""


class _Point(NamedTuple):
    x: Floats
    value: float


P = TypeVar("P", bound=HasValue)


def backtrack(
    at: Callable[[float], P],
    before: float,
    slope: float,
    *,
    most: int = 14,
    equal: Callable[[float, P], bool] | None = None,
    rounding: float = 1e-13,
    hidden: float = HIDDEN,
    longer: bool = False,
) -> tuple[float, P] | None:
    """The first t = 1, ½, ¼ … with f(t) ≤ f(0) + 10⁻⁴ t·slope, and the point there.

    ``equal(t, point)`` may accept a point where f is the same up to ``rounding``. ``longer`` takes
    a step twice as long while f decreases by more than a quadratic would, as it does far from a
    minimum. None after ``most`` halvings, or where what ``slope`` promises is ``hidden``. Both are
    relative to f.
    """
    for t in 0.5 ** np.arange(most):
        there = at(float(t))
        change = there.value - before
        if change <= ARMIJO * t * slope:
            # Part of the predicted decrease (½ of a quadratic, 1 − 1/e of an exponential) from
            # which a longer step is tried.
            while longer and there.value - before < 0.6 * t * slope:
                further = at(2.0 * float(t))
                if not further.value < there.value:
                    break
                t, there = 2.0 * t, further
            return float(t), there
        if equal is not None and abs(change) <= rounding * abs(before) and equal(float(t), there):
            return float(t), there
        if -t * slope <= hidden * abs(before):
            return None
    return None


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

        def at(t: float, direction: Floats = direction) -> _Point:
            new = np.maximum(x + t * direction, low)
            return _Point(new, float(problem.value(new)))

        found = backtrack(
            at,
            f,
            -predicted,
            most=7,
            equal=lambda _, there: _gradient_decreases(problem, there.x, gradient, free),
        )
        if found is not None:
            return found[1].x, damping * 0.01 if damping > 1e-10 else 0.0
        if predicted * 0.5**6 <= HIDDEN * abs(f):
            return None, damping
        damping = max(100.0 * damping, 1e-6)
    return None, damping


def _falls_forever(
    problem: TwiceDifferentiable, x: Floats, gradient: Floats, low: Floats, free: Flags
) -> bool:
    """Whether f falls in proportion to the step, or faster, where its curvature is not positive.

    f(x + 2t d) − f(x + t d) ≤ f(x + t d) − f(x) < 0 for t = 1, 2, 4, …: so does a quadratic that is
    unbounded below, while a loss that falls towards a limit does not.
    """
    at = np.flatnonzero(free)
    hessian = np.asarray(problem.hessian(x))[np.ix_(at, at)]
    if not len(at) or not np.isfinite(hessian).all():
        return False
    values, vectors = linalg.eigh(hessian, check_finite=False)
    flat = vectors[:, values <= len(at) * EPS * float(np.abs(values).max())]
    d = -flat @ (flat.T @ gradient[at])
    if np.linalg.norm(d) <= np.sqrt(EPS) * np.linalg.norm(gradient[at]) and values[0] < 0.0:
        d = vectors[:, 0] * (-np.sign(vectors[:, 0] @ gradient[at]) or 1.0)
    if not d.any() or ((d < 0.0) & np.isfinite(low[at])).any():
        return False
    step = np.zeros_like(x)
    step[at] = d / np.linalg.norm(d) * (1.0 + np.linalg.norm(x))
    with np.errstate(over="ignore", invalid="ignore"):
        # Doublings of a step along which an objective that has no minimum falls at least in
        # proportion.
        f = [float(problem.value(x + t * step)) for t in (0.0, *2.0 ** np.arange(40))]
        near, far = np.array(f[1:-1]) - f[0], np.diff(f[1:])
    return bool(((near < 0.0) & (far <= (1.0 - np.sqrt(EPS)) * near)).all())


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
        indices = np.flatnonzero(free_now)
        right = (
            gradient[indices] + hessian[np.ix_(indices, np.flatnonzero(fixed))] @ direction[fixed]
        )
        direction[indices] = -cholesky_solver(hessian[np.ix_(indices, indices)])(right)
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


# -------------------------------------------------------------------------------------------------
# What the optimizers need of a problem: its value and derivatives at a point.
#
# Optional parts are protocols of their own, so that an optimizer can ask ``isinstance``.


@runtime_checkable
class Problem(Protocol):
    """A differentiable function to be minimized."""

    def value(self, x: Floats) -> float:
        """f(x)."""

    def gradient(self, x: Floats) -> Floats:
        """∇f(x)."""


@runtime_checkable
class TwiceDifferentiable(Problem, Protocol):
    """A function with a Hessian matrix."""

    def hessian(self, x: Floats) -> Floats:
        """∇²f(x)."""


@runtime_checkable
class HasLipschitz(Protocol):
    """A function that knows a Lipschitz constant of its gradient."""

    def lipschitz(self) -> float:
        """The largest eigenvalue of ∇²f, or a bound of it."""


@runtime_checkable
class HasHessianVector(Protocol):
    """A function with products of its Hessian and a vector."""

    def hessian_vector(self, x: Floats, v: Floats) -> Floats:
        """∇²f(x) v."""


@runtime_checkable
class HasLowerBounds(Protocol):
    """A function whose variables have lower bounds."""

    def lower(self, x: Floats) -> Floats:
        """The bounds for a step from x."""


@runtime_checkable
class HasHessianBound(Protocol):
    """A function with bounds of its second derivatives."""

    def metric(self, x: Floats) -> Floats:
        """Bounds of the diagonal of ∇²f near x."""


#: What each part of a problem is, for error messages.
_PARTS = {
    "value": "value(x), the function to be minimized",
    "gradient": "gradient(x), the gradient",
    "hessian": "hessian(x), the Hessian matrix",
    "hessian_vector": "hessian_vector(x, v), the Hessian times v",
    "matvec": "matvec(b), the product X·b",
    "rmatvec": "rmatvec(r), the product Xᵀ·r",
    "shape": "shape, the numbers of rows and columns",
}


def require(method: str, problem: object, *parts: str) -> None:
    """Refuse a problem that lacks what ``method`` needs, and say what that is."""
    missing = [part for part in parts if not hasattr(problem, part)]
    if missing:
        wanted = "; ".join(_PARTS[part] for part in missing)
        raise TypeError(
            f"{method} cannot work on {type(problem).__name__}: it lacks {wanted}. "
            "Add what is missing, or choose a method that needs less."
        )


# -------------------------------------------------------------------------------------------------
# L-BFGS directions: H⁻¹g from the last steps and a given approximation of the inverse Hessian.
#
# J. Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of Computation,
# 1980.


class LimitedMemory:
    """The last steps of a descent and the changes of the gradient along them."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Floats, Floats, float]] = []

    def direction(self, gradient: Floats, solve: LinearSolver, *, scaled: bool = False) -> Floats:
        """H⁻¹g; ``solve`` is the approximation that the stored steps correct.

        ``scaled`` multiplies it by the number that fits the last step.
        """
        q, coefficients = gradient.copy(), []
        for step, change, product in reversed(self.pairs):
            a = float(np.vdot(step, q)) / product
            q -= a * change
            coefficients.append(a)
        factor = 1.0
        if scaled and self.pairs:
            _, change, product = self.pairs[-1]
            factor = product / max(float(np.vdot(change, solve(change))), np.finfo(float).tiny)
        q = factor * solve(q)
        for (step, change, product), a in zip(self.pairs, reversed(coefficients), strict=True):
            q += (a - float(np.vdot(change, q)) / product) * step
        return q

    def add(self, step: Floats, change: Floats) -> None:
        """Store a step; one along which rounding hides the curvature is left out."""
        product = float(np.vdot(step, change))
        if product > 1e-12 * float(np.linalg.norm(step)) * float(np.linalg.norm(change)):
            self.pairs = [*self.pairs[-11:], (step, change, product)]  # the last dozen

    def clear(self) -> None:
        """Forget all steps."""
        self.pairs = []
