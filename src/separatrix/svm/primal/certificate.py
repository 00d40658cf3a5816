"""The proof of a linear support vector machine, from the rows and the answer alone."""

from __future__ import annotations

import numpy as np

from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.svm.primal.problem import Hinges


def certify_hinges(
    problem: Hinges, w: Floats, b: float, alpha: Floats, *, tol: float, claim: str
) -> Certificate:
    """Primal value at (w, b), dual value at α, and the worst of three conditions.

    ρw = Xᵀu, each column against the size of its terms;  Σu = 0;  and for every hinge α = 0 where
    the row is beyond its margin, α = c where it falls short: what is violated is the smaller of
    the distance to the margin and the share of α/c that is wrong.
    """
    alpha = np.clip(alpha, 0.0, problem.cost)
    u = problem.slopes(alpha)
    pull = np.asarray(problem.x.T @ u)
    short = problem.short(problem.scores(w, b))
    loss = np.maximum(short, 0.0).sum(axis=0)
    primal = 0.5 * float(problem.ridge @ w**2) + float(problem.cost @ loss)
    dual = float(np.vdot(problem.offset, alpha)) - 0.5 * float(np.sum(pull**2 / problem.ridge))
    unbalanced = abs(float(u.sum())) if problem.intercept else 0.0
    # The dual value bounds the primal only where Σu = 0: what is left of it is charged to the gap.
    gap = max(primal - dual, 0.0) + unbalanced * abs(b)
    total = float(np.abs(u).sum()) or 1.0
    size = _sizes(problem, np.abs(u) + 1e-9 * problem.cost) + problem.ridge * np.abs(w)
    size[size == 0.0] = 1.0
    kkt = max(
        float(np.max(np.abs(problem.ridge * w - pull) / size, initial=0.0)),
        unbalanced / total,
        _complementarity(problem, alpha, short),
    )
    return Certificate(
        claim=claim,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=kkt,
        tolerance=tol,
        scale=float(problem.cost @ np.abs(problem.offset).max(axis=0)),
        statistic="the rows",
    )


def _sizes(problem: Hinges, weight: Floats) -> Floats:
    """|X|ᵀ weight, some rows at a time."""
    total = np.zeros(len(problem.ridge))
    for start in range(0, problem.n, 20_000):
        part = slice(start, start + 20_000)
        total += np.asarray(abs(problem.x[part]).T @ weight[part])
    return total


def _complementarity(problem: Hinges, alpha: Floats, short: Floats) -> float:
    """The worst hinge: min(distance to the margin, share of α that is wrong)."""
    unit = max(1.0, float(np.abs(problem.offset).mean()))
    share = alpha / problem.cost
    wrong = np.where(short > 0.0, 1.0 - share, share)
    return float(np.max(np.minimum(np.abs(short) / unit, wrong), initial=0.0))
