"""Newton's method, damped: x ← x + t·δ with ∇²f δ = −∇f, and t halved until f falls enough.

Near the minimum the full step is taken and the number of right digits doubles; far from it the
line search keeps every step downhill. Where the curvature is singular or too slight, its diagonal
is raised until a step succeeds, in units of ``metric(x)`` where the problem knows how strongly it
could bend. A problem may keep its variables above ``lower(x)``: a variable at its bound that wants
to cross it is left out of the step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.optimize.problem import CurvedProblem, offers, require
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Floats

Flags = NDArray[np.bool_]
EPS = float(np.finfo(float).eps)
#: Fraction of the decrease promised by the slope that a step must deliver.
SUFFICIENT = 1e-4
#: Step lengths that are tried along one direction.
HALVES = 0.5 ** np.arange(7)


def newton(
    problem: CurvedProblem,
    start: Floats,
    *,
    tol: float = 1e-10,
    max_iter: int = 100,
    slope_unit: float | None = None,
) -> Solution:
    """Minimise f from ``start`` until max |∇f| ≤ ``tol`` · ``slope_unit``.

    ``slope_unit`` is the size of the terms that cancel in ∇f at the minimum (default: the slope
    at the start). The status is "solved", "rounding" (no step lowers f any more: all digits are
    used up), or "limit reached".
    """
    require("Newton's method", problem, "value", "gradient", "hessian")
    x = np.array(start, dtype=float)
    history: list[float] = []
    status, unit, lift = "", slope_unit or 0.0, 0.0
    while not status:
        f, slope = float(problem.value(x)), np.asarray(problem.gradient(x))
        history.append(f)
        low = _lower(problem, x)
        free = ~((x <= low) & (slope > 0))
        kkt = float(np.abs(slope[free]).max(initial=0.0))
        unit = unit or kkt or 1.0
        if kkt <= tol * unit:
            status = "solved"
        elif len(history) > max_iter:
            status = "limit reached"
        else:
            new, lift = _step(problem, x, f, slope, low, free, lift)
            status, x = ("rounding", x) if new is None else ("", new)
    return Solution(
        x.reshape(-1, 1),
        np.zeros(1),
        Certificate(
            "Newton's method: the slope vanishes"
            if status == "solved"
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


def _lower(problem: CurvedProblem, x: Floats) -> Floats:
    if offers(problem, "lower"):
        return np.asarray(problem.lower(x))  # type: ignore[attr-defined]
    return np.full(x.shape, -np.inf)


def _step(
    problem: CurvedProblem,
    x: Floats,
    f: float,
    slope: Floats,
    low: Floats,
    free: Flags,
    lift: float,
) -> tuple[Floats | None, float]:
    """The next point (None where rounding hides any further decrease) and the lift after it.

    Halving the step mends one that is too long; a direction in which f hardly bends at all needs
    more curvature on the diagonal instead (``lift``), which later steps give back.
    """
    hessian = np.asarray(problem.hessian(x))
    metric = _metric(problem, x, hessian)
    while lift <= 1e8:
        direction = _direction(hessian + np.diag(lift * metric), slope, low - x, free)
        promised = -float(slope @ direction)
        for t in HALVES:
            new = np.maximum(x + t * direction, low)
            change = float(problem.value(new)) - f
            if change <= -SUFFICIENT * t * promised:
                return new, lift * 0.01 if lift > 1e-10 else 0.0
            if abs(change) <= 8 * EPS * abs(f) and _flatter(problem, new, slope, free):
                return new, lift  # f cannot tell the two apart any more, but the slope can
            if t * promised <= EPS * abs(f):
                return None, lift
        lift = max(100.0 * lift, 1e-6)
    return None, lift


def _metric(problem: CurvedProblem, x: Floats, hessian: Floats) -> Floats:
    """How strongly f could bend along each variable: the unit in which curvature is added."""
    if offers(problem, "metric"):
        return np.asarray(problem.metric(x))  # type: ignore[attr-defined]
    return np.full(len(x), float(np.diag(hessian).max(initial=0.0)) or 1.0)


def _direction(hessian: Floats, slope: Floats, room: Floats, free: Flags) -> Floats:
    """Where the parabola through x is lowest, no variable going down by more than its room.

    A variable that would cross its bound goes exactly to it, and the others adjust to that.
    """
    moved = np.zeros_like(slope)
    open_, held = free.copy(), ~free
    while True:
        at = np.flatnonzero(open_)
        pull = slope[at] + hessian[np.ix_(at, np.flatnonzero(held))] @ moved[held]
        moved[at] = -_solve(hessian[np.ix_(at, at)], pull)
        crossing = open_ & (moved < room)
        if not crossing.any():
            return moved
        moved[crossing] = room[crossing]
        open_, held = open_ & ~crossing, held | crossing


def _flatter(problem: CurvedProblem, new: Floats, slope: Floats, free: Flags) -> bool:
    there = np.abs(np.asarray(problem.gradient(new))[free]).max(initial=0.0)
    return bool(there < 0.9 * np.abs(slope[free]).max(initial=0.0))


def _solve(hessian: Floats, slope: Floats) -> Floats:
    """H⁻¹g by Cholesky after equilibration; the diagonal is raised only as far as needed."""
    unit = np.sqrt(np.maximum(np.diag(hessian), 0.0))
    unit[unit == 0.0] = float(unit.max(initial=0.0)) or 1.0
    scaled = hessian / np.outer(unit, unit)
    for lift in (0.0, *10.0 ** np.arange(-14.0, 6.0)):
        try:
            factor = linalg.cho_factor(scaled + lift * np.eye(len(unit)), check_finite=False)
        except linalg.LinAlgError:
            continue
        solved = linalg.cho_solve(factor, slope / unit, check_finite=False) / unit
        if np.isfinite(solved).all():
            return np.asarray(solved)
    return np.asarray(slope / unit**2)
