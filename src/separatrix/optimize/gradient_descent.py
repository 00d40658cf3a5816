"""Gradient descent with a constant step.

    x ← x − η ∇f(x)

With L the largest eigenvalue of the Hessian, f decreases at every step for η ≤ 1/L. Between 1/L
and 2/L the steepest direction is overshot at every step but the error still decreases; at 2/L the
iterates oscillate; above 2/L they diverge. The history of f is recorded, and the status says which
happened: a descent that ends above the lowest point it has seen is not solved, whatever its
gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from separatrix.optimize.problem import HasHessianVector, HasLipschitz, Problem, require
from separatrix.optimize.solution import Certificate, Solution, Status
from separatrix.rows.block import Floats

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
