"""The multi-class SVM of Crammer and Singer: all classes at once.

    min over W of ½ Σ ‖wₖ‖² + Σ cᵢ max over k of ([k ≠ yᵢ] + wₖ·xᵢ − w_y·xᵢ)

The dual has α of every row and class with Σₖ α = 0 and αₖ ≤ c [k = y], and wₖ = Σ αₖ x. With
gₖ = [k ≠ y] + wₖ·x, the duality gap is the sum over rows and classes of

    (c [k = y] − αₖ) (max g − gₖ),

none of them negative. Few coefficients are found by an interior-point method, which takes about
twenty steps whatever the units; of many, dual coordinate descent takes one row at a time.

References
----------
K. Crammer and Y. Singer, On the algorithmic implementation of multiclass kernel-based vector
machines, Journal of Machine Learning Research 2, 2001.
S. S. Keerthi et al., A sequential dual method for large scale multi-class linear SVMs, 2008.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.optimize.convex import Certificate, Status
from separatrix.svm.loops import multiclass_epoch, shuffle
from separatrix.svm.problem import Budget, clearing_factor, cost_stages
from separatrix.svm.squared import solve_scaled

#: Coefficients of all classes up to which interior points are used.
COEFFICIENTS = 1_000


@dataclass(frozen=True)
class MulticlassProblem:
    """Rows with the constant column of the intercept, codes of their classes, and costs."""

    x: sparse.csr_array
    codes: Ints
    cost: Floats
    classes: int

    @property
    def own(self) -> Floats:
        """The upper bounds c [k = y] of α, (n x K)."""
        bound = np.zeros((len(self.codes), self.classes))
        bound[np.arange(len(self.codes)), self.codes] = self.cost
        return bound

    def solution(self, alpha: Floats) -> MulticlassSolution:
        """W = Σ α x for feasible α."""
        return MulticlassSolution(np.asarray(self.x.T @ alpha), alpha, Status.SOLVED)

    def feasible(self, alpha: Floats) -> Floats:
        """α with αₖ ≤ 0 of other classes, and what balances them, at most c, of the own one."""
        rows, others = np.arange(len(alpha)), np.minimum(alpha, 0.0)
        others[rows, self.codes] = 0.0
        total = -others.sum(axis=1)
        others *= np.minimum(1.0, self.cost / np.where(total > 0.0, total, 1.0))[:, None]
        others[rows, self.codes] = -others.sum(axis=1)
        return others

    def clear_of_rounding(self, w: Floats) -> Floats:
        """W, grown where rounding of the scores of rows on the margin would cost much."""
        scores = np.asarray(self.x @ w)
        score = scores[np.arange(len(scores)), self.codes]
        scores[np.arange(len(scores)), self.codes] = -np.inf
        size = np.abs(self.x) @ np.abs(w).max(axis=1)
        noise = 2.0 * (len(w) + 4) * np.finfo(float).eps * size
        return np.asarray(clearing_factor(score - scores.max(axis=1), self.cost, noise) * w)

    def shifted_scores(self, w: Floats) -> Floats:
        """G = [k ≠ y] + wₖ·x, (n x K)."""
        g = np.asarray(self.x @ w) + 1.0
        g[np.arange(len(self.codes)), self.codes] -= 1.0
        return g


@dataclass(frozen=True)
class MulticlassSolution:
    """W (d x K) and α (n x K)."""

    w: Floats
    alpha: Floats
    status: Status


def multiclass_problem(
    x: Matrix, codes: Ints, cost: Floats, classes: int, intercept_scaling: float | None
) -> MulticlassProblem:
    """The problem, with a last column of ``intercept_scaling`` unless that is None."""
    rows = sparse.csr_array(x)
    if intercept_scaling is not None:
        ones = np.full((rows.shape[0], 1), float(intercept_scaling))
        rows = sparse.csr_array(sparse.hstack([rows, sparse.csr_array(ones)], format="csr"))
    return MulticlassProblem(rows, codes, cost, classes)


def solve_multiclass(problem: MulticlassProblem, tol: float, budget: Budget) -> MulticlassSolution:
    """Steps until the relative gap is at most ``tol``, or the budget is used up.

    A large C is reached by the stages of :func:`~separatrix.svm.problem.cost_stages`.
    """
    square = np.asarray(problem.x.multiply(problem.x).sum(axis=1)).ravel()
    best, before, last, value, least, relative = None, None, 0.0, np.inf, np.inf, np.inf
    for fraction in cost_stages(float((problem.cost * square).max(initial=0.0))):
        part = replace(problem, cost=fraction * problem.cost)
        # Relative gap at a fraction of the costs, from which the solution at all of them is
        # extrapolated.
        solution = _solve(part, tol if fraction == 1.0 else 1e-12, budget)
        w = problem.clear_of_rounding(solution.w)
        alphas = [solution.alpha]
        if before is not None:
            growth = (1.0 - fraction) / (fraction - last)
            alphas.append(problem.feasible(solution.alpha + growth * (solution.alpha - before)))
        for alpha in alphas:
            primal, gap, _ = multiclass_gap(problem, w, alpha)
            close = abs(primal - value) <= tol * primal
            if best is None or (gap < least if close else primal < value):
                best, value, least = MulticlassSolution(w, alpha, solution.status), primal, gap
                relative = gap / primal
        if relative <= tol or budget.exhausted:
            break
        before, last = solution.alpha, fraction
    assert best is not None
    return best


def _solve(problem: MulticlassProblem, tol: float, budget: Budget) -> MulticlassSolution:
    n, d = problem.x.shape
    # The most numbers in the rows of interior points, which pass over them several times a step.
    if min(n, d) * problem.classes > COEFFICIENTS or n * d > 30_000_000:
        return solve_by_rows(problem, tol, budget)
    if d <= n:
        return solve_interior(problem, problem.x.toarray(), None, tol, budget)
    gram = np.asarray((problem.x @ problem.x.T).toarray())
    values, vectors = linalg.eigh(gram, check_finite=False)
    used = values > 1e-14 * max(float(values[-1]), np.finfo(float).tiny)
    root = np.sqrt(values[used])
    basis = np.asarray(problem.x.T @ (vectors[:, used] / root))
    return solve_interior(problem, vectors[:, used] * root, basis, tol, budget)


def solve_interior(
    problem: MulticlassProblem, x: Floats, basis: Floats | None, tol: float, budget: Budget
) -> MulticlassSolution:
    """Interior-point steps; ``x`` are the rows, or their coordinates in a ``basis`` of their span.

    W is Σ α x, or where large α cancel in that sum the W of the steps.
    """
    at, relative = InteriorPoint.start(x, problem.own), np.inf
    best, least, stalled, status = problem.solution(at.feasible_alpha), np.inf, 0, Status.SOLVED
    # Steps without progress after which rounding prevents more.
    while stalled <= 10 and relative > 0.1 * tol:
        if budget.exhausted:
            status = budget.status
            break
        budget.n_iter += 1
        at = at.step()
        alpha, before = at.feasible_alpha, least
        for w in (problem.solution(alpha).w, at.w if basis is None else basis @ at.w):
            primal, gap, _ = multiclass_gap(problem, w, alpha)
            if gap < least:
                best, least = MulticlassSolution(w, alpha, Status.SOLVED), gap
                relative = gap / primal
        stalled = 0 if least < 0.9 * before else stalled + 1
    return replace(best, status=status)


def solve_by_rows(problem: MulticlassProblem, tol: float, budget: Budget) -> MulticlassSolution:
    """Epochs until the relative gap is at most ``tol``, or the budget is used up."""
    x, n = problem.x, len(problem.codes)
    alpha, w = np.zeros((n, problem.classes)), np.zeros((x.shape[1], problem.classes))
    square = np.asarray(x.multiply(x).sum(axis=1)).ravel()
    order, active, seed, threshold = np.arange(n), n, 1, np.inf
    status = Status.LIMIT
    while budget.remaining > 0:
        for _ in range(min(20, budget.remaining)):  # epochs between two checks of the gap
            seed = shuffle(order, active, seed)
            worst, active = multiclass_epoch(
                x.indptr, x.indices, x.data, square, problem.codes, problem.cost,
                order, active, alpha, w, threshold,
            )  # fmt: skip
            budget.n_iter += 1
            threshold = max(worst, 1e-12)
            if worst <= 1e-3 * tol or budget.out_of_time:
                break
        active, threshold = n, 2.0 * threshold
        w = np.asarray(x.T @ alpha)
        primal, gap, _ = multiclass_gap(problem, w, alpha)
        if gap <= tol * primal:
            status = Status.SOLVED
            break
        if budget.out_of_time:
            status = Status.TIME
            break
    return MulticlassSolution(w, alpha, status)


def multiclass_gap(
    problem: MulticlassProblem, w: Floats, alpha: Floats
) -> tuple[float, float, float]:
    """Objective, duality gap, and the largest violation of the conditions in units of scores.

    α is feasible; where w is not Σ α x, the gap has ½ ‖w − Σ α x‖² besides.
    """
    g = problem.shifted_scores(w)
    best = g.max(axis=1)
    loss = float(problem.cost @ (best - g[np.arange(len(g)), problem.codes]))
    room = problem.own - alpha
    below = best[:, None] - g
    off = w - np.asarray(problem.x.T @ alpha)
    gap = float(np.sum(room * below)) + 0.5 * float(np.sum(off**2))
    part = room / np.where(problem.cost > 0.0, problem.cost, 1.0)[:, None]
    kkt = float(np.minimum(part, below).max(initial=0.0))
    return 0.5 * float(np.sum(w**2)) + loss, gap, kkt


def certify_multiclass(
    problem: MulticlassProblem, w: Floats, alpha: Floats, *, tolerance: float
) -> Certificate:
    """Certificate of W from the rows and α."""
    alpha = np.minimum(alpha, problem.own)
    rows = np.arange(len(alpha))
    alpha[rows, problem.codes] -= alpha.sum(axis=1)  # Σ α = 0, up to rounding
    primal, gap, _ = multiclass_gap(problem, w, alpha)
    return Certificate(
        "Crammer and Singer: no linear scores have a smaller sum of ½ Σ ‖w‖² and C times the "
        "slacks",
        primal=primal,
        dual=primal - gap,
        gap=gap,
        tolerance=tolerance,
        statistic="the rows",
        promised=("gap",),
    )


# -------------------------------------------------------------------------------------------------
# Interior point for the multi-class SVM of Crammer and Singer with few coefficients.
#
#     min over W, τ of ½ Σ ‖wₖ‖² + Σ cᵢ (τᵢ − w_y·xᵢ)    with τᵢ ≥ eᵢₖ + wₖ·xᵢ,   eᵢₖ = [k ≠ yᵢ]
#
# With slacks s and multipliers γ of the constraints, γ ≥ 0 and Σₖ γ = c, a step eliminates τ row by
# row and solves a system in W:
#
#     [I + Σᵢ (diag(Dᵢ) − Dᵢ Dᵢᵀ / Σ Dᵢ) ⊗ xᵢ xᵢᵀ] dW = …,      D = γ/s.


@dataclass(frozen=True)
class InteriorPoint:
    """W (d x K), τ (n), slacks and multipliers (n x K) of rows ``x`` with bounds ``own``.

    ``own`` holds c [k = y] and ``error`` [k ≠ y].
    """

    x: Floats
    own: Floats
    error: Floats
    w: Floats
    tau: Floats
    slack: Floats
    gamma: Floats

    @classmethod
    def start(cls, x: Floats, start_dual: Floats) -> InteriorPoint:
        """W = 0 and equal multipliers of all classes: as far from all bounds as can be.

        W = Σ α x holds from the first full step on. From there steps would be short for many
        times, were the multipliers made so small that it holds at once.
        """
        error = np.where(start_dual > 0.0, 0.0, 1.0)
        gamma = np.repeat(
            start_dual.sum(axis=1, keepdims=True) / start_dual.shape[1], start_dual.shape[1], axis=1
        )
        tau = np.full(len(x), 2.0)
        w = np.zeros((x.shape[1], start_dual.shape[1]))
        return cls(x, start_dual, error, w, tau, tau[:, None] - error, gamma)

    @property
    def feasible_alpha(self) -> Floats:
        """α from multipliers that are scaled to the sum c."""
        total, cost = (v.sum(axis=1, keepdims=True) for v in (self.gamma, self.own))
        scaled = self.gamma * (cost / total)
        return np.where(self.own > 0.0, _others(scaled), -scaled)

    def step(self) -> InteriorPoint:
        """Predictor and corrector with one matrix."""
        d = self.gamma / self.slack
        total = d.sum(axis=1)
        matrix = self._matrix(d, total)
        mean = float(np.mean(self.gamma * self.slack))
        none = np.zeros_like(self.gamma)
        first = self._direction(matrix, d, total, none)
        length = min(1.0, self._length(*first[2:]))
        ahead = (self.slack + length * first[2]) * (self.gamma + length * first[3])
        center = (float(np.mean(ahead)) / mean) ** 3 * mean
        dw, dtau, ds, dg = self._direction(matrix, d, total, center - first[2] * first[3])
        inside = 0.995  # of the way to where a slack or a multiplier is zero
        length = min(1.0, inside * self._length(ds, dg))
        return InteriorPoint(
            self.x,
            self.own,
            self.error,
            self.w + length * dw,
            self.tau + length * dtau,
            self.slack + length * ds,
            self.gamma + length * dg,
        )

    def _matrix(self, d: Floats, total: Floats) -> Floats:
        size, classes = self.w.shape
        matrix = np.zeros((classes, size, classes, size))
        others = _others(d)
        for k in range(classes):
            for j in range(k + 1):
                weight = d[:, k] * (others[:, k] if j == k else -d[:, j]) / total
                block = self.x.T @ (self.x * weight[:, None])
                matrix[k, :, j], matrix[j, :, k] = block, block.T
        square = matrix.reshape(classes * size, classes * size)
        square.flat[:: classes * size + 1] += 1.0
        return square

    def _direction(
        self, matrix: Floats, d: Floats, total: Floats, product: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Changes of W, τ, s and γ towards γ s = ``product``."""
        x, classes = self.x, self.own.shape[1]
        short = self.tau[:, None] - self.error - x @ self.w - self.slack
        dual = self.w - x.T @ (self.own - self.gamma)
        missing = self.own.sum(axis=1) - self.gamma.sum(axis=1)
        q = product / self.slack - self.gamma - d * short
        share = (q.sum(axis=1) - missing) / total
        left = q * _others(d) - d * (_others(q) - missing[:, None])
        right = -dual - x.T @ (left / total[:, None])
        dw = solve_scaled(matrix, right.T.ravel()).reshape(classes, -1).T
        along = x @ dw
        dtau = share + (d * along).sum(axis=1) / total
        ds = dtau[:, None] - along + short
        dg = product / self.slack - self.gamma - d * ds
        return dw, dtau, ds, dg

    def _length(self, ds: Floats, dg: Floats) -> float:
        """The longest step at which slacks and multipliers are not negative."""
        longest = np.inf
        for value, change in ((self.slack, ds), (self.gamma, dg)):
            down = change < 0.0
            if down.any():
                longest = min(longest, float(np.min(value[down] / -change[down])))
        return longest


def _others(values: Floats) -> Floats:
    """The sum over all other classes, without subtracting: one of them may be far the largest."""
    before, after = np.zeros_like(values), np.zeros_like(values)
    np.cumsum(values[:, :-1], axis=1, out=before[:, 1:])
    after[:, :-1] = np.cumsum(values[:, :0:-1], axis=1)[:, ::-1]
    return before + after
