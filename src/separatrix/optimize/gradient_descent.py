"""Gradient descent: x ← x − η ∇f(x), with a step η that is given or follows from the curvature.

With L the largest curvature, η = 1/L never overshoots. Between 1/L and 2/L the steepest direction
is overshot at every step but the error still shrinks; at 2/L it swings for ever; above 2/L it
grows. The whole trace of f is kept, and the status says which of these happened.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix.optimize.problem import Problem, offers, require
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Floats

#: Iterations over which a lack of progress, or a turn at every step, must last to be believed.
WINDOW = 20
_CLAIMS = {
    "solved": "Gradient descent: the slope vanishes",
    "diverged": "Gradient descent left the valley: every step was longer than the last",
    "oscillating": "Gradient descent swings between two walls without getting lower",
    "limit reached": "Gradient descent: stopped at the limit of iterations",
    "called off": "Gradient descent: stopped on request, before the slope vanished",
}


def gradient_descent(
    problem: Problem,
    start: Floats,
    *,
    step: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 10_000,
    watch: Callable[[Floats, float], bool] | None = None,
) -> Solution:
    """Minimise f from ``start``; stops when the slope has shrunk by the factor ``tol``.

    ``watch(x, f)`` is shown every point visited; the descent is called off when it says True.

    Without ``step``, η = 1/L with L from ``problem.lipschitz()`` if there is one, else the largest
    curvature found by power iteration on ``problem.hessian_vector(x, v)``. ``history`` is f at
    every point visited; ``extra["step"]`` is η and ``extra["turns"]`` counts the steps that went
    back on the one before.
    """
    require("Gradient descent", problem, "value", "gradient")
    x = np.array(start, dtype=float)
    eta = 1.0 / _largest_curvature(problem, x) if step is None else float(step)
    history = [float(problem.value(x))]
    slope = np.asarray(problem.gradient(x))
    sizes = [float(np.abs(slope).max(initial=0.0))]
    turns: list[bool] = []
    status = "solved" if sizes[0] == 0.0 else ""
    if watch is not None:
        watch(x, history[0])
    while not status:
        x = x - eta * slope
        new = np.asarray(problem.gradient(x))
        turns.append(bool(new @ slope < 0))
        slope = new
        sizes.append(float(np.abs(slope).max(initial=0.0)))
        history.append(float(problem.value(x)))
        status = _status(history, sizes, turns, tol)
        if watch is not None and watch(x, history[-1]) and not status:
            status = "called off"
        if not status and len(turns) >= max_iter:
            status = "limit reached"
    return _solution(x, history, turns, status, sizes[-1] / (sizes[0] or 1.0), tol, eta)


def _status(history: list[float], sizes: list[float], turns: list[bool], tol: float) -> str:
    """What the trace so far amounts to; empty while it should go on."""
    if sizes[-1] <= tol * sizes[0]:
        return "solved"
    if not np.isfinite(history[-1]):
        return "diverged"
    if len(turns) < WINDOW:
        return ""
    if (np.diff(history[-WINDOW - 1 :]) > 0).all():
        return "diverged"
    # a slope that turns round at every step yet keeps its size runs from wall to wall
    if all(turns[-WINDOW:]) and abs(sizes[-1] / sizes[-WINDOW - 1] - 1.0) < 1e-3:
        return "oscillating"
    return ""


def _solution(
    x: Floats,
    history: list[float],
    turns: list[bool],
    status: str,
    kkt: float,
    tol: float,
    eta: float,
) -> Solution:
    notes: tuple[str, ...] = ()
    if status in ("diverged", "oscillating"):
        notes = (f"The step {eta:.3g} is too long for the curvature: use a smaller one.",)
    elif len(turns) > WINDOW and np.mean(turns) > 0.9:
        notes = (
            f"Nearly every step went back on the one before: a step below {eta:.3g} would "
            "get there sooner.",
        )
    certificate = Certificate(
        _CLAIMS[status],
        primal=history[-1],
        kkt=kkt,
        tolerance=tol,
        notes=notes,
        promised=("kkt",),
    )
    return Solution(
        x.reshape(-1, 1),
        np.zeros(1),
        certificate,
        status,
        len(turns),
        np.array(history),
        {"step": eta, "turns": int(np.sum(turns))},
    )


def _largest_curvature(problem: Problem, x: Floats) -> float:
    """L: declared by the problem, or the largest eigenvalue of ∇²f by power iteration."""
    if offers(problem, "lipschitz"):
        return float(problem.lipschitz())  # type: ignore[attr-defined]
    require("Gradient descent without a given step", problem, "hessian_vector")
    v = np.random.default_rng(0).standard_normal(x.shape)
    v /= np.linalg.norm(v)
    largest = 0.0
    for _ in range(200):
        u = np.asarray(problem.hessian_vector(x, v))  # type: ignore[attr-defined]
        size = float(np.linalg.norm(u))
        if size == 0.0:
            return 1.0  # no curvature along a random direction: f is flat or straight
        v = u / size
        if abs(size - largest) <= 1e-6 * size:
            break
        largest = size
    return 1.01 * size  # power iteration approaches from below
