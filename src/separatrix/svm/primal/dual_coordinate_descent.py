"""Many columns: one α at a time, with w = Xᵀu/ρ kept beside it.

A free intercept ties all α together (Σ s α = 0), which would hold every single one of them in its
place. So the intercept is only held near where it was, b = b₀ + g Σ s α, and b₀ follows until the
sum vanishes: the method of multipliers, one multiplier. Sweeps leave out hinges that are pressed
against their bounds. In the end the rows on their margins are solved for at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from separatrix.rows.block import Floats
from separatrix.svm.loops.dual_coordinate_descent import shuffle, sweep
from separatrix.svm.primal.options import Answer, Settings
from separatrix.svm.primal.problem import Hinges

#: Sweeps between two looks at the gap at least and at most, and how much nearer they should come.
LEAST, SWEEPS, NEARER = 8, 100, 0.3
#: Rows on the margin that are still solved for at once.
SYSTEM = 2_500


@dataclass
class _Descent:
    """The state of a descent over rows that are divided by √ρ, so that all penalties are one."""

    problem: Hinges
    x: sparse.csr_array
    alpha: Floats
    w: Floats
    b: float = 0.0
    far: float = np.inf
    seed: int = 1

    def __post_init__(self) -> None:
        self.square = np.asarray(self.x.multiply(self.x).sum(axis=1)).ravel()
        self.order = np.arange(self.alpha.size)
        self.active = len(self.order)
        self.give = float(self.square.mean()) if self.problem.intercept else 0.0
        self.give = self.give if self.give > 0.0 or not self.problem.intercept else 1.0

    def run(self, sweeps: int, deadline: float) -> int:
        """Sweep until the hinges that take part are ten times nearer; how many sweeps it took.

        What counts as far from a bound is what the worst hinge of the sweep before was short by.
        """
        p, first = self.problem, 0.0
        for turn in range(1, sweeps + 1):
            self.seed = shuffle(self.order, self.active, self.seed)
            self.b, worst, self.active = sweep(
                self.x.indptr,
                self.x.indices,
                self.x.data,
                self.square,
                p.sign.ravel(),
                p.offset.ravel(),
                p.cost,
                self.order,
                self.active,
                self.alpha.reshape(-1),
                self.w,
                self.b,
                self.give,
                self.far,
            )
            if p.intercept and not turn % 2:
                self.b += self.give * float(p.slopes(self.alpha).sum())
            self.far = max(worst, 1e-12)
            first = max(first, worst)
            if (worst <= NEARER * first and turn >= LEAST) or time.monotonic() > deadline:
                break
        return turn

    def refresh(self) -> None:
        """All hinges take part again; w is summed anew."""
        self.active, self.far = len(self.order), max(2.0 * self.far, 1e-12)
        self.w = np.asarray(self.x.T @ self.problem.slopes(self.alpha))


def solve_coordinates(problem: Hinges, settings: Settings) -> Answer:
    """Descend until the gap is within the tolerance, the sweeps or the time are used up."""
    root = np.sqrt(problem.ridge)
    x = sparse.csr_array(problem.x)
    x = sparse.csr_array((x.data / root[x.indices], x.indices, x.indptr), x.shape)
    state = _Descent(problem, x, np.zeros(problem.offset.shape), np.zeros(x.shape[1]))
    best, work, status, missed = None, 0, "limit reached", np.inf
    while work < settings.max_sweeps:
        work += state.run(min(SWEEPS, settings.max_sweeps - work), settings.deadline)
        state.refresh()
        found = _candidate(problem, x, state.alpha, state.b)
        if best is None or found.gap < best.gap:
            best = found
        if found.gap < 1e-4 * found.size and found.gap < 0.1 * missed:
            missed = found.gap
            polished = _finished(problem, x, found)
            best = polished if polished is not None and polished.gap < best.gap else best
        if best.gap <= settings.tol * best.size:
            status = "solved"
            break
        if time.monotonic() > settings.deadline:
            status = "time is up"
            break
    assert best is not None
    return Answer(best.w / root, best.b, best.alpha, status, work)


@dataclass(frozen=True)
class _Candidate:
    """A feasible α with the w that follows from it and the b that is best for w."""

    w: Floats
    b: float
    alpha: Floats
    short: Floats
    gap: float
    size: float


def _candidate(problem: Hinges, x: sparse.csr_array, alpha: Floats, near: float) -> _Candidate:
    alpha = balanced(problem, alpha)
    w = np.asarray(x.T @ problem.slopes(alpha))
    scores = np.asarray(x @ w)
    b = 0.0
    if problem.intercept:
        low, high = problem.best_intercepts(scores)
        b = min(max(near, low), high)
    short = problem.short(scores + b)
    loss = float(problem.cost @ np.maximum(short, 0.0).sum(axis=0))
    square = float(w @ w)
    gap = square + loss - float(np.vdot(problem.offset, alpha))
    return _Candidate(w, b, alpha, short, gap, 0.5 * square + loss)


def balanced(problem: Hinges, alpha: Floats) -> Floats:
    """α within its bounds with Σ s α = 0: the heavier side is drawn in by one factor."""
    alpha = np.clip(alpha, 0.0, problem.cost)
    if not problem.intercept:
        return alpha
    up = problem.sign > 0.0
    plus, minus = float(alpha[up].sum()), float(alpha[~up].sum())
    if plus > minus:
        return np.where(up, alpha * (minus / plus), alpha)
    return np.where(up, alpha, alpha * (plus / minus)) if minus > plus else alpha


def _finished(problem: Hinges, x: sparse.csr_array, near: _Candidate) -> _Candidate | None:
    """Let the rows on their margins be equations: s(w·x + b) = q and Σ s α = 0, all at once."""
    c = np.broadcast_to(problem.cost, near.alpha.shape)
    free = (near.alpha > 1e-9 * c) & (near.alpha < (1.0 - 1e-9) * c)
    side, row = np.nonzero(free)
    m = len(row)
    if not 0 < m <= SYSTEM:
        return None
    z = x[row].multiply(problem.sign[side, row][:, None]).tocsr()
    s = problem.sign[side, row]
    solve = _bordered(np.asarray((z @ z.T).toarray()), s, problem.intercept)
    if solve is None:
        return None
    alpha, b = np.where(free, near.alpha, np.where(near.short > 0.0, c, 0.0)), near.b
    for _ in range(3):
        u = problem.slopes(alpha)
        right = problem.offset[free] - np.asarray(z @ (x.T @ u)) - s * b
        step, shift = solve(right, -float(u.sum()))
        alpha[free] += step
        b += shift
    return _candidate(problem, x, alpha, b) if np.isfinite(alpha).all() else None


def _bordered(
    gram: Floats, s: Floats, intercept: bool
) -> Callable[[Floats, float], tuple[Floats, float]] | None:
    """Solve G a + s b = right, s·a = total, by elimination of b; None where G is too singular."""
    m = len(s)
    gram.flat[:: m + 1] += 1e-13 * max(float(np.trace(gram)) / m, np.finfo(float).tiny)
    try:
        factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    along = linalg.cho_solve(factor, s, check_finite=False)

    def solve(right: Floats, total: float) -> tuple[Floats, float]:
        a = linalg.cho_solve(factor, right, check_finite=False)
        b = float((s @ a - total) / (s @ along)) if intercept else 0.0
        return a - b * along, b

    return solve
