"""Linear support vector machines: which solver, in which units, and the proof.

Few columns: an interior point on the rows near their margins, finished exactly. Fewer rows than
columns: the same in the space that the rows span. Many of both: one α at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.svm.primal.active_set import solve_active
from separatrix.svm.primal.certificate import certify_hinges
from separatrix.svm.primal.dual_coordinate_descent import balanced, solve_coordinates
from separatrix.svm.primal.options import Answer, Settings
from separatrix.svm.primal.problem import Hinges

#: Columns up to which their products are solved at once; rows up to which their span is.
COLUMNS, SPAN = 700, 1_200


@dataclass(frozen=True)
class SupportVectors:
    """w, b, α (m x n), the proof, and how it came about."""

    w: Floats
    b: float
    alpha: Floats
    certificate: Certificate
    status: str
    work: int


def solve_hinges(problem: Hinges, settings: Settings, claim: str) -> SupportVectors:
    """The minimum over w and b; of several best b the middle one, α feasible to the last digit."""
    if settings.tol <= 0.0:
        settings = replace(settings, tol=float(np.finfo(float).eps))
    scaled, middle, unit = _in_own_units(problem)
    found = _solve(scaled, settings)
    w, b = unit * found.w, unit * found.b + middle
    alpha = balanced(problem, unit * found.alpha)
    if found.status != "solved":
        alpha = _drawn_in(problem, alpha)
    if problem.intercept:
        low, high = problem.best_intercepts(problem.scores(w, 0.0), b)
        b = min(max(b, low), high) if high - low <= 1e-9 * (1.0 + abs(b)) else 0.5 * (low + high)
    certificate = certify_hinges(problem, w, b, alpha, tol=max(settings.tol, 1e-9), claim=claim)
    return SupportVectors(w, b, alpha, certificate, found.status, found.work)


def _drawn_in(problem: Hinges, alpha: Floats) -> Floats:
    """α times the factor up to one that gives the largest dual value: early α are too long."""
    reward = float(np.vdot(problem.offset, alpha))
    square = float(np.sum(np.asarray(problem.x.T @ problem.slopes(alpha)) ** 2 / problem.ridge))
    return alpha * max(reward / square, 0.0) if square > reward else alpha


def _in_own_units(problem: Hinges) -> tuple[Hinges, float, float]:
    """Numbers y about zero and of size one; the hinges of classes are so already.

    With y = m + u·y' and w = u·w' the objective is u² times that of y' at cost c/u.
    """
    if len(problem.offset) == 1:
        return problem, 0.0, 1.0
    above, below = problem.offset
    y = 0.5 * (above - below)
    middle = float(np.average(y, weights=problem.cost)) if problem.intercept else 0.0
    unit = float(np.abs(y - middle).mean()) or 1.0
    offset = np.stack([above - middle, below + middle]) / unit
    return replace(problem, offset=offset, cost=problem.cost / unit), middle, unit


def _solve(problem: Hinges, settings: Settings) -> Answer:
    n, d = problem.x.shape
    if d <= COLUMNS and (d <= 2 * n or n > SPAN):
        return solve_active(problem, settings)
    if n <= SPAN:
        return _in_span(problem, settings)
    return solve_coordinates(problem, settings)


def _in_span(problem: Hinges, settings: Settings) -> Answer:
    """Rows as coordinates in the space that they span: X ρ^−½ = E √Λ Vᵀ, w = ρ^−½ V v.

    w is a combination of the rows at the optimum, so nothing is lost and n columns are left.
    """
    root = np.sqrt(problem.ridge)
    x = problem.x
    scaled = sparse.csr_array(x) / root if sparse.issparse(x) else np.asarray(x) / root
    gram: Any = scaled @ scaled.T
    values, vectors = linalg.eigh(
        np.asarray(gram.toarray() if sparse.issparse(gram) else gram), check_finite=False
    )
    kept = values > 1e-13 * max(float(values[-1]), np.finfo(float).tiny)
    if not kept.any():
        kept[-1] = True
    size = np.sqrt(np.maximum(values[kept], np.finfo(float).tiny))
    inner = replace(problem, x=vectors[:, kept] * size, ridge=np.ones(int(kept.sum())))
    found = solve_active(inner, settings)
    w = np.asarray(scaled.T @ problem.slopes(found.alpha))
    return replace(found, w=w / root)
