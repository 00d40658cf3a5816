"""The path of an elastic net on sparse columns: working sets, coordinate descent, extrapolation.

Inner products of sparse columns would fill a matrix that is far larger than the columns, so that
coordinates descend on the residual instead. Every fifth sweep the iterates are extrapolated
(Anderson), which is taken where it lowers the objective. As on dense columns, the gradient of all
columns and the duality gap over all of them decide when to stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from separatrix.linear.elastic_net.gram import GramProblem, rounding, solve_on_gram
from separatrix.linear.elastic_net.loops import duality_gap, sparse_sweep
from separatrix.linear.elastic_net.path import GROWTH, PathPoint, StoppingRule
from separatrix.matrices.products import SparseProducts
from separatrix.optimize.penalties import ElasticNet
from separatrix.rows.block import Floats, Ints

#: Sweeps between two extrapolations.
MEMORY = 5
#: Columns of a working set whose Gram matrix is worth making for the last digits.
SMALL_SET = 2_000
#: Sweeps over such a set before its Gram matrix is made.
SWEEPS = 50


class SparseColumns:
    """uⱼ = (aⱼ − μⱼ v)/sⱼ with sparse aⱼ, never filled in, and the target t. ‖v‖ = 1."""

    def __init__(self, a: Any, mean: Floats, scale: Floats, v: Floats, t: Floats) -> None:
        self.products = SparseProducts(a)
        self.mean, self.scale, self.v, self.t = mean, scale, v, t
        self.target = self.gradient(t)

    def gradient(self, rho: Floats) -> Floats:
        """Uᵀρ."""
        sums = self.products.transposed_times(rho) - self.mean * float(self.v @ rho)
        return np.asarray(sums / self.scale)

    def gram(self, at: Ints) -> Floats:
        """Inner products of some columns."""
        a, mean, scale = self.products.by_column[:, at], self.mean[at], self.scale[at]
        product = (a.T @ a).toarray() - np.outer(mean, mean)
        return np.asarray(product / np.outer(scale, scale))


class _Descent:
    """A point: coefficients of all columns, and the residual ρ = r + shift·v."""

    beta: Floats
    r: Floats
    shift: float

    def __init__(self, columns: SparseColumns, beta: Floats) -> None:
        self.columns = columns
        self._place(beta)

    @property
    def residual(self) -> Floats:
        return np.asarray(self.r + self.shift * self.columns.v)

    def solve(
        self, at: Ints, l1: Floats, l2: Floats, positive: bool, enough: float, most: int
    ) -> int:
        """Sweep over the columns ``at`` until no violation is above ``enough``."""
        c, a = self.columns, self.columns.products.by_column
        past: list[tuple[Floats, Floats, float]] = []
        for sweeps in range(1, most + 1):
            worst, self.shift = sparse_sweep(
                at, a.indptr, a.indices, a.data, c.mean, c.scale, l1, l2, positive,
                self.beta, self.r, self.shift,
            )  # fmt: skip
            if worst <= enough:
                return sweeps
            past.append((self.beta[at], self.r.copy(), self.shift))
            if len(past) > MEMORY:
                self._extrapolate(at, past, l1, l2, positive)
                past = []
        return most

    def polish(
        self, at: Ints, grad: Floats, l1: Floats, l2: Floats, positive: bool, rule: StoppingRule
    ) -> int:
        """Solve on the Gram matrix of a small working set, where sweeps come near too slowly."""
        used = self.beta[at]
        problem = GramProblem(
            self.columns.gram(at), self.columns.target[at], used, grad[at], l1[at], l2[at], positive
        )
        sweeps = solve_on_gram(problem, 0.4 * rule.gap, rule.kkt, rule.sweeps)
        beta = np.zeros_like(self.beta)
        beta[at] = used
        self._place(beta)
        return sweeps

    def _place(self, beta: Floats) -> None:
        """Move to these coefficients."""
        b = beta / self.columns.scale
        self.beta, self.r = beta, self.columns.t - self.columns.products.times(b)
        self.shift = float(self.columns.mean @ b)

    def _extrapolate(
        self, at: Ints, past: list[tuple[Floats, Floats, float]], l1: Floats, l2: Floats,
        positive: bool,
    ) -> None:  # fmt: skip
        """The combination of the last iterates that would have moved least, if it is better."""
        betas = np.stack([beta for beta, _, _ in past])
        moves = np.diff(betas, axis=0)
        inner = moves @ moves.T
        inner[np.diag_indices_from(inner)] += 1e-12 * max(float(np.trace(inner)), 1e-300)
        weights = np.linalg.solve(inner, np.ones(len(inner)))
        total = float(weights.sum())
        if not np.isfinite(weights).all() or total == 0.0:
            return
        weights /= total
        beta = weights @ betas[1:]
        if positive and (beta < 0.0).any():
            return
        r = sum(w * r for w, (_, r, _) in zip(weights, past[1:], strict=True))
        shift = float(sum(w * s for w, (_, _, s) in zip(weights, past[1:], strict=True)))

        def objective(beta: Floats, residual: Floats) -> float:
            penalty = l1[at] @ np.abs(beta) + 0.5 * l2[at] @ beta**2
            return 0.5 * float(residual @ residual) + float(penalty)

        if objective(beta, r + shift * self.columns.v) < objective(self.beta[at], self.residual):
            self.beta[at], self.r[:], self.shift = beta, r, shift


def solve_sparse_path(
    columns: SparseColumns,
    penalty: ElasticNet,
    alphas: Sequence[float],
    stopping: StoppingRule,
    start: Floats | None = None,
) -> Iterator[PathPoint]:
    """Solve at each of ``alphas`` in turn, each from the solution before it."""
    d = len(columns.target)
    point = _Descent(columns, np.zeros(d) if start is None else start.copy())
    grad, before = columns.gradient(point.residual), np.inf
    at = np.flatnonzero(point.beta)
    for alpha in alphas:
        at = _enlarged(at, grad, point.beta, penalty, min(max(2.0 * alpha - before, 0.0), alpha))
        found, grad, at = _solve_at(alpha, point, at, grad, penalty, stopping)
        yield found
        support = np.flatnonzero(point.beta)
        at = support if len(at) > max(256, 2 * len(support)) else at
        before = alpha


def _solve_at(
    alpha: float, point: _Descent, at: Ints, grad: Floats, penalty: ElasticNet, rule: StoppingRule
) -> tuple[PathPoint, Floats, Ints]:
    l1, l2, positive = alpha * penalty.l1, alpha * penalty.l2, penalty.positive
    enough, sweeps = min(0.1 * float(np.sqrt(rule.gap)), rule.kkt), 0
    while True:
        most = rule.sweeps - sweeps
        most = min(most, SWEEPS) if len(at) <= SMALL_SET else most
        sweeps += point.solve(at, l1, l2, positive, enough, max(most, 1))
        residual = point.residual
        grad, square = point.columns.gradient(residual), float(residual @ residual)
        primal, gap = duality_gap(square, grad, point.beta, l1, l2, positive)
        used = point.beta[at]
        size, beta = grad if positive else np.abs(grad), point.beta
        nearest = np.where(beta, np.abs(grad - l2 * beta - np.sign(beta) * l1), size - l1)
        violation = np.max(nearest, initial=0.0)
        kkt = max(rule.kkt, rounding(used, 1))
        if (rule.reached(gap, used) and violation <= kkt) or sweeps >= rule.sweeps:
            break
        larger = _enlarged(at, grad, point.beta, penalty, alpha)
        if len(larger) == len(at):  # nothing outside violates its condition: solve the set further
            if enough < 1e-16:
                break
            if len(at) <= SMALL_SET:
                sweeps += point.polish(at, grad, l1, l2, positive, rule)
            enough *= 0.2
        at = larger
    support = np.flatnonzero(point.beta)
    freedom = float(len(support))
    if l2[support].any():
        gram = point.columns.gram(support)
        freedom = float(np.trace(np.linalg.solve(gram + np.diag(l2[support]), gram)))
    values = (square, primal, gap)
    return PathPoint(alpha, support, point.beta[support], *values, freedom, sweeps), grad, at


def _enlarged(at: Ints, grad: Floats, beta: Floats, penalty: ElasticNet, alpha: float) -> Ints:
    """The working set with columns beyond the threshold α ℓⱼ, the furthest first."""
    size = grad if penalty.positive else np.abs(grad)
    beyond = size - alpha * penalty.l1
    beyond[at] = -np.inf
    new = np.flatnonzero(beyond > 0.0)
    most = max(GROWTH, int(np.count_nonzero(beta)))
    if len(new) > most:
        ratio = size[new] / np.maximum(penalty.l1[new], np.finfo(float).tiny)
        new = new[np.argpartition(-ratio, most)[:most]]
    return np.union1d(at, new) if len(new) else at
