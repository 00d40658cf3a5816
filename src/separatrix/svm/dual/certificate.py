"""Proof for support vectors, from the rows and the coefficients alone.

    primal  ½ βᵀKβ + Σ high (t − u − ε)₊ − low (u − t − ε)₊,      u = Kβ + b
    dual    tᵀβ − ε Σ|β| − ½ βᵀKβ

No f and b have a lower primal value than the dual value of any β that keeps to its bounds and sums
to zero. With hard margins the primal value is that of the same hyperplane, scaled until no row is
inside the margin.
"""

from __future__ import annotations

import numpy as np

from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.svm.dual.points import Points
from separatrix.svm.dual.problem import DualProblem

EPS = float(np.finfo(float).eps)


def scores_by_support(points: Points, beta: Floats) -> Floats:
    """Kβ for every row, in double precision."""
    used = np.flatnonzero(beta)
    return points.products(np.arange(points.n), used, beta[used])


def certify_support(
    problem: DualProblem,
    beta: Floats,
    f: Floats,
    offset: float,
    *,
    unit: float,
    tolerance: float,
    mercer: bool = True,
    notes: tuple[str, ...] = (),
) -> Certificate:
    """Certificate of β and b with f = Kβ; slopes are measured in ``unit`` (1 for classes).

    Without a Mercer kernel the dual value bounds nothing, and only the conditions can be shown.
    """
    square = float(beta @ f)
    dual = float(problem.t @ beta - problem.eps * np.abs(beta).sum() - 0.5 * square)
    below, above = problem.t - (f + offset) - problem.eps, (f + offset) - problem.t - problem.eps
    if problem.hard:
        clear = float((problem.t * (f + offset)).min())
        primal = 0.5 * square / clear**2 if clear > 0 else np.inf
        scale = abs(dual)
    else:
        primal = 0.5 * square + float(problem.high @ np.maximum(below, 0.0))
        primal -= float(problem.low @ np.maximum(above, 0.0))
        middle = problem.offset(np.zeros_like(beta), np.zeros_like(f))
        idle = problem.t - middle
        scale = float(problem.high @ np.maximum(idle - problem.eps, 0.0))
        scale -= float(problem.low @ np.maximum(-idle - problem.eps, 0.0))
    up, down = problem.rises(beta, f) + offset, problem.falls(beta, f) + offset
    kkt = max(0.0, -float(up.min(initial=np.inf)), float(down.max(initial=-np.inf)))
    if not mercer:
        return Certificate(
            "Support vectors of a kernel that is not Mercer: no pair of coefficients can be "
            "changed for the better, but there may be others",
            primal=primal,
            kkt=kkt / unit,
            tolerance=tolerance,
            statistic="the support vectors",
            notes=notes,
            promised=("kkt",),
        )
    return Certificate(
        "Support vectors: no other hyperplane in the space of the kernel has a lower objective",
        primal=primal,
        dual=dual,
        gap=max(primal - dual, 0.0),
        kkt=kkt / unit,
        tolerance=tolerance,
        scale=scale,
        statistic="the support vectors",
        notes=notes,
    )
