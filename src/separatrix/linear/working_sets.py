"""The path of an elastic net by working sets with strong-rule screening.

At each penalty the problem is solved on a working set, and then the gradient of *all* columns is
computed once. A column outside the set violates its optimality condition when |xⱼ·r| exceeds its
threshold, and is added; the duality gap over all columns decides when to stop, so that screening
can cost time but never correctness. Before the next, smaller penalty the columns are added that
the sequential strong rule (Tibshirani et al., 2012) does not discard:

    |xⱼ·r| ≥ (2α′ − α) ℓⱼ
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lapack

from separatrix.arrays import Floats, Ints
from separatrix.linear import loops
from separatrix.matrices.products import SparseProducts
from separatrix.optimize.convex import ElasticNetPenalty

#: Up to this many columns, all are in the working set from the start, if products are known.
SMALL = 256
#: The least number of columns that may be added to a working set at once.
GROWTH = 64


class InnerProducts(Protocol):
    """Columns and a target of length one, known only through their inner products.

    ``target`` is Xᵀy for all d columns; products with the columns of the working set are stored,
    and ``known`` says that those of all columns are known beforehand.
    """

    target: Floats
    known: bool

    def grow(self, new: Ints) -> Floats:
        """Add columns to the working set; its inner products with the ``new`` ones."""

    def select(self, positions: Ints) -> None:
        """Reduce the working set to these positions."""

    def gradient(self, beta: Floats, level: Floats | float) -> tuple[Floats, float]:
        """Xᵀr for all columns, and ‖r‖², where r = y − Σ βᵢ xᵢ over the working set.

        Exact for the working set, and for columns near the ``level`` or beyond.
        """


@dataclass(frozen=True)
class PathPoint:
    """One solution on a path, in columns of length one: nonzero ``beta`` at ``index``.

    ``rss`` is ‖r‖²; ``freedom`` are the effective degrees of freedom, the trace of the smoother
    matrix on the support.
    """

    alpha: float
    index: Ints
    beta: Floats
    rss: float
    primal: float
    gap: float
    freedom: float
    sweeps: int


@dataclass(frozen=True)
class StoppingRule:
    """Stopping criteria: relative duality gap, KKT residual of a coordinate, number of sweeps.

    The gap is relative to the objective at b = 0, which is ½ since ‖y‖ = 1. With ``freedom`` the
    degrees of freedom of a solution allow for its ℓ₂ part, which costs as much as a Newton step.
    """

    gap: float
    kkt: float = np.inf
    sweeps: int = 10_000
    freedom: bool = False

    def is_reached(self, gap: float, beta: Floats) -> bool:
        """Whether the gap at ``beta`` is small enough, or of the size of rounding errors."""
        return gap <= max(0.5 * self.gap, rounding(beta, 2))


class WorkingSet:
    """The working set: its columns, coefficients and Gram matrix, in a buffer that doubles."""

    def __init__(self, products: InnerProducts, d: int) -> None:
        self.products = products
        self.index = np.zeros(0, dtype=np.int64)
        self.inside = np.zeros(d, dtype=bool)
        self.gram = np.zeros((0, 0))
        self.beta = np.zeros(0)
        self.before = np.zeros(0)

    def grow(self, new: Ints) -> None:
        """Add columns."""
        if not len(new):
            return
        block = self.products.grow(new)
        m, size = len(self.index), len(self.index) + len(new)
        if size > len(self.gram):
            buffer = np.empty((size + m, size + m))
            buffer[:m, :m] = self.gram[:m, :m]
            self.gram = buffer
        self.gram[:size, m:size] = block
        self.gram[m:size, :m] = block[:m].T
        self.index = np.concatenate([self.index, new])
        self.beta = np.concatenate([self.beta, np.zeros(len(new))])
        self.before = np.concatenate([self.before, np.zeros(len(new))])
        self.inside[new] = True

    def extrapolate(self, grad: Floats, length: float) -> None:
        """Go on along the line through the last two solutions; ``grad`` follows on the set.

        Between two columns that join or leave, coefficients of the lasso are linear in α. One that
        would change its sign is zero next, and one that has just joined stays where it is.
        """
        further = self.beta + np.clip(length, -1.0, 1.0) * (self.beta - self.before)
        further[further * self.beta < 0.0] = 0.0
        step = np.where(self.before != 0.0, further - self.beta, 0.0)
        size = len(step)
        grad[self.index] -= self.gram[:size, :size] @ step
        self.beta += step

    def shrink(self) -> None:
        """Reduce a large set to the support where most of its coefficients are zero."""
        support = np.flatnonzero(self.beta)
        if len(self.index) <= max(SMALL, 2 * len(support)):
            return
        self.products.select(support)
        self.gram = self.gram[support[:, None], support]
        self.index, self.beta = self.index[support], self.beta[support]
        self.before = self.before[support]
        self.inside[:] = False
        self.inside[self.index] = True


def solve_path(
    products: InnerProducts,
    penalty: ElasticNetPenalty,
    alphas: Sequence[float],
    stopping: StoppingRule,
    start: Floats | None = None,
) -> Iterator[PathPoint]:
    """Solve at each of ``alphas`` in turn, each from the solution before it."""
    d = len(products.target)
    products.select(np.zeros(0, dtype=np.int64))
    working = WorkingSet(products, d)
    if start is not None:
        working.grow(np.flatnonzero(start))
        working.beta[:] = start[working.index]
    if products.known and d <= SMALL:
        working.grow(np.flatnonzero(~working.inside))
    grad, _ = products.gradient(working.beta, np.inf)
    last, before = np.inf, np.inf  # the last two penalties
    if start is not None and len(alphas) == 1:
        path_point = _point_if_solved(alphas[0], working, penalty, stopping)
        if path_point is not None:
            yield path_point
            return
    for alpha in alphas:
        _enlarge(working, grad, penalty, min(max(2.0 * alpha - last, 0.0), alpha))
        coefs = working.beta.copy()
        if before < np.inf and before != last:
            working.extrapolate(grad, (alpha - last) / (last - before))
        working.before = coefs
        point, grad = _solve_at(alpha, working, grad, penalty, stopping)
        yield point
        working.shrink()
        last, before = alpha, last


def _solve_at(
    alpha: float,
    working: WorkingSet,
    grad: Floats,
    penalty: ElasticNetPenalty,
    stopping: StoppingRule,
) -> tuple[PathPoint, Floats]:
    """Solve on the working set and enlarge it until the gap over all columns is closed."""
    l1, l2, positive = alpha * penalty.l1, alpha * penalty.l2, penalty.positive
    inner, sweeps = 0.4 * stopping.gap, 0
    all_coefs = np.zeros(len(grad))
    while True:
        index = working.index
        problem = GramProblem(
            working.gram, working.products.target[index], working.beta, grad[index], l1[index],
            l2[index],
            positive,
        )  # fmt: skip
        sweeps += solve_on_gram(problem, inner, stopping.kkt, max(stopping.sweeps - sweeps, 1))
        grad, rss = working.products.gradient(working.beta, l1)
        all_coefs[index] = working.beta
        primal, gap = loops.duality_gap(rss, grad, all_coefs, l1, l2, positive)
        size = grad if positive else np.abs(grad)
        kkt = max(stopping.kkt, rounding(working.beta, 1))
        violation = np.max(np.where(working.inside, 0.0, size - l1), initial=0.0)
        if (
            stopping.is_reached(gap, working.beta) and violation <= kkt
        ) or sweeps >= stopping.sweeps:
            break
        if not _enlarge(working, grad, penalty, alpha):
            inner *= 0.1  # no column outside violates its condition: solve the set further
            if inner < 1e-16:
                break
    return _point(alpha, working, l2, (rss, primal, gap), sweeps, stopping), grad


def _point_if_solved(
    alpha: float, working: WorkingSet, penalty: ElasticNetPenalty, stopping: StoppingRule
) -> PathPoint | None:
    """The point where the path starts, if it is the solution at α already."""
    l1, l2, positive = alpha * penalty.l1, alpha * penalty.l2, penalty.positive
    grad, rss = working.products.gradient(working.beta, l1)
    coefs = np.zeros(len(grad))
    coefs[working.index] = working.beta
    primal, gap = loops.duality_gap(rss, grad, coefs, l1, l2, positive)
    size = grad if positive else np.abs(grad)
    violation = np.where(coefs, np.abs(grad - l2 * coefs - np.sign(coefs) * l1), size - l1)
    kkt = max(stopping.kkt, rounding(working.beta, 1))
    if not stopping.is_reached(gap, working.beta) or violation.max(initial=0.0) > kkt:
        return None
    return _point(alpha, working, l2, (rss, primal, gap), 0, stopping)


def _point(
    alpha: float,
    working: WorkingSet,
    l2: Floats,
    values: tuple[float, float, float],
    sweeps: int,
    rule: StoppingRule,
) -> PathPoint:
    """The solution on the working set; ``values`` are ‖r‖², the objective and its gap."""
    support = np.flatnonzero(working.beta)
    at = working.index[support]
    gram = working.gram[support[:, None], support] if rule.freedom and l2[at].any() else None
    freedom = _degrees_of_freedom(len(support), gram, l2[at])
    return PathPoint(alpha, at, working.beta[support], *values, freedom, sweeps)


def _degrees_of_freedom(count: int, gram: Floats | None, l2: Floats) -> float:
    """tr (G + Λ)⁻¹G = k − tr Λ(G + Λ)⁻¹ over k columns; k where their products are not given."""
    if gram is None:
        return float(count)
    factor, info = lapack.dpotrf(gram + np.diag(l2), lower=True, overwrite_a=True)
    if info:
        return float(np.trace(np.linalg.lstsq(gram + np.diag(l2), gram, rcond=None)[0]))
    inverse = lapack.dtrtri(factor, lower=True, overwrite_c=True)[0]
    return count - float(np.einsum("ij,ij->j", inverse, inverse) @ l2)


def _enlarge(working: WorkingSet, grad: Floats, penalty: ElasticNetPenalty, alpha: float) -> bool:
    """Add columns beyond the threshold α ℓⱼ, the furthest first; False if there are none.

    The gradient of those that are added is exact from then on.
    """
    if len(working.index) == len(grad):
        return False
    size = grad if penalty.positive else np.abs(grad)
    beyond = np.where(working.inside, -np.inf, size - alpha * penalty.l1)
    outside = np.flatnonzero(beyond > 0.0)
    if not len(outside):
        return False
    most = max(GROWTH, int(np.count_nonzero(working.beta)))
    if len(outside) > most:
        ratio = size[outside] / np.maximum(penalty.l1[outside], np.finfo(float).tiny)
        outside = outside[np.argpartition(-ratio, most)[:most]]
    before, beta = len(working.index), working.beta
    working.grow(outside)
    inner = beta @ working.gram[:before, before : len(working.index)]
    grad[outside] = working.products.target[outside] - inner
    return True


# -------------------------------------------------------------------------------------------------
# The path of an elastic net on sparse columns: working sets, coordinate descent, extrapolation.
#
# Inner products of sparse columns would fill a matrix that is far larger than the columns, so that
# coordinates descend on the residual instead. Every fifth sweep the iterates are extrapolated
# (Anderson), which is taken where it lowers the objective. As on dense columns, the gradient of all
# columns and the duality gap over all of them decide when to stop.


class SparseColumns:
    """uⱼ = (aⱼ − μⱼ v)/sⱼ with sparse aⱼ, never filled in, and the target t. ‖v‖ = 1."""

    def __init__(self, a: Any, mean: Floats, scale: Floats, v: Floats, t: Floats) -> None:
        self.products = SparseProducts(a)
        self.mean, self.scale, self.v, self.t = mean, scale, v, t
        self.target = self.gradient(t)
        self._known = np.zeros(0, dtype=np.int64), np.zeros((0, 0))

    def gradient(self, rho: Floats) -> Floats:
        """Uᵀρ."""
        sums = self.products.transposed_times(rho) - self.mean * float(self.v @ rho)
        return np.asarray(sums / self.scale)

    def gram(self, indices: Ints) -> Floats:
        """Inner products of some columns, in order; those of the last time are not made again."""
        before, known = self._known
        old = np.isin(indices, before, assume_unique=True)
        place, new = np.searchsorted(before, indices[old]), np.flatnonzero(~old)
        out = np.empty((len(indices), len(indices)))
        out[np.ix_(old, old)] = known[np.ix_(place, place)]
        a, mean, scale = (
            self.products.by_column[:, indices],
            self.mean[indices],
            self.scale[indices],
        )
        made = (a.T @ a[:, new]).toarray() - np.outer(mean, mean[new])
        made /= np.outer(scale, scale[new])
        out[:, new], out[new] = made, made.T
        self._known = indices, out
        return out


class _CoordinateDescent:
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
        self, indices: Ints, l1: Floats, l2: Floats, positive: bool, enough: float, most: int
    ) -> int:
        """Sweep over the columns ``at`` until no violation is above ``enough``."""
        c, a = self.columns, self.columns.products.by_column
        past: list[tuple[Floats, Floats, float]] = []
        for sweeps in range(1, most + 1):
            worst, self.shift = loops.sparse_sweep(
                indices, a.indptr, a.indices, a.data, c.mean, c.scale, l1, l2, positive,
                self.beta, self.r, self.shift,
            )  # fmt: skip
            if worst <= enough:
                return sweeps
            past.append((self.beta[indices], self.r.copy(), self.shift))
            if len(past) > 5:  # sweeps between two extrapolations
                self._extrapolate(indices, past, l1, l2, positive)
                past = []
        return most

    def polish(
        self,
        indices: Ints,
        grad: Floats,
        l1: Floats,
        l2: Floats,
        positive: bool,
        rule: StoppingRule,
    ) -> int:
        """Solve on the Gram matrix of a small working set, where sweeps come near too slowly."""
        used = self.beta[indices]
        problem = GramProblem(
            self.columns.gram(indices),
            self.columns.target[indices],
            used,
            grad[indices],
            l1[indices],
            l2[indices],
            positive,
        )
        sweeps = solve_on_gram(problem, 0.4 * rule.gap, rule.kkt, rule.sweeps)
        beta = np.zeros_like(self.beta)
        beta[indices] = used
        self._place(beta)
        return sweeps

    def _place(self, beta: Floats) -> None:
        """Move to these coefficients."""
        b = beta / self.columns.scale
        at = np.flatnonzero(b)
        fitted = self.columns.products.by_column[:, at] @ b[at]
        self.beta, self.r = beta, self.columns.t - fitted
        self.shift = float(self.columns.mean @ b)

    def _extrapolate(
        self, indices: Ints, past: list[tuple[Floats, Floats, float]], l1: Floats, l2: Floats,
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
            penalty = l1[indices] @ np.abs(beta) + 0.5 * l2[indices] @ beta**2
            return 0.5 * float(residual @ residual) + float(penalty)

        if objective(beta, r + shift * self.columns.v) < objective(
            self.beta[indices], self.residual
        ):
            self.beta[indices], self.r[:], self.shift = beta, r, shift


def solve_sparse_path(
    columns: SparseColumns,
    penalty: ElasticNetPenalty,
    alphas: Sequence[float],
    stopping: StoppingRule,
    start: Floats | None = None,
) -> Iterator[PathPoint]:
    """Solve at each of ``alphas`` in turn, each from the solution before it."""
    d = len(columns.target)
    point = _CoordinateDescent(columns, np.zeros(d) if start is None else start.copy())
    grad, before = columns.gradient(point.residual), np.inf
    at = np.flatnonzero(point.beta)
    for alpha in alphas:
        at = _enlarge_set(at, grad, point.beta, penalty, min(max(2.0 * alpha - before, 0.0), alpha))
        solved_point, grad, at = _solve_sparse_at(alpha, point, at, grad, penalty, stopping)
        yield solved_point
        support = np.flatnonzero(point.beta)
        at = support if len(at) > max(256, 2 * len(support)) else at
        before = alpha


def _solve_sparse_at(
    alpha: float,
    point: _CoordinateDescent,
    indices: Ints,
    grad: Floats,
    penalty: ElasticNetPenalty,
    rule: StoppingRule,
) -> tuple[PathPoint, Floats, Ints]:
    l1, l2, positive = alpha * penalty.l1, alpha * penalty.l2, penalty.positive
    enough, sweeps = min(0.1 * float(np.sqrt(rule.gap)), rule.kkt), 0
    # Columns of a working set whose Gram matrix is worth making for the last digits.
    small_set = 2_000
    while True:
        most = rule.sweeps - sweeps
        # Sweeps over such a set before its Gram matrix is made.
        most = min(most, 50) if len(indices) <= small_set else most
        sweeps += point.solve(indices, l1, l2, positive, enough, max(most, 1))
        residual = point.residual
        grad, square = point.columns.gradient(residual), float(residual @ residual)
        primal, gap = loops.duality_gap(square, grad, point.beta, l1, l2, positive)
        used = point.beta[indices]
        size, beta = grad if positive else np.abs(grad), point.beta
        nearest = np.where(beta, np.abs(grad - l2 * beta - np.sign(beta) * l1), size - l1)
        violation = np.max(nearest, initial=0.0)
        kkt = max(rule.kkt, rounding(used, 1))
        if (rule.is_reached(gap, used) and violation <= kkt) or sweeps >= rule.sweeps:
            break
        larger = _enlarge_set(indices, grad, point.beta, penalty, alpha)
        if len(larger) == len(
            indices
        ):  # nothing outside violates its condition: solve the set further
            if enough < 1e-16:
                break
            if len(indices) <= small_set:
                sweeps += point.polish(indices, grad, l1, l2, positive, rule)
            enough *= 0.2
        indices = larger
    support = np.flatnonzero(point.beta)
    gram = point.columns.gram(support) if rule.freedom and l2[support].any() else None
    freedom = _degrees_of_freedom(len(support), gram, l2[support])
    values = (square, primal, gap)
    return PathPoint(alpha, support, point.beta[support], *values, freedom, sweeps), grad, indices


def _enlarge_set(
    indices: Ints, grad: Floats, beta: Floats, penalty: ElasticNetPenalty, alpha: float
) -> Ints:
    """The working set with columns beyond the threshold α ℓⱼ, the furthest first."""
    size = grad if penalty.positive else np.abs(grad)
    beyond = size - alpha * penalty.l1
    beyond[indices] = -np.inf
    new = np.flatnonzero(beyond > 0.0)
    most = max(GROWTH, int(np.count_nonzero(beta)))
    if len(new) > most:
        ratio = size[new] / np.maximum(penalty.l1[new], np.finfo(float).tiny)
        new = new[np.argpartition(-ratio, most)[:most]]
    return np.union1d(indices, new) if len(new) else indices


# -------------------------------------------------------------------------------------------------
# The elastic net on the Gram matrix of a working set.
#
#     min ½ ‖y − Xb‖² + Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²,       ‖y‖ = 1,  ‖xⱼ‖ = 1
#
# Coordinate descent alternates with Newton steps on the support. Coordinate descent finds which
# coefficients are zero and the signs of the others, quickly at first and slowly when columns are
# nearly dependent. Given the signs the problem is a linear system, which a Newton step solves
# whatever the correlations. Coefficients that reach zero on the way are dropped from the support.


#: Added to the unit diagonal of a support's Gram matrix: a Cholesky factor exists also when
#: columns repeat each other, and where they do not it changes only the length of one step.
DAMPING = 1e-11


@dataclass
class GramProblem:
    """m columns: ``gram``, ``target`` = Xᵀy, the point ``beta`` and its gradient ``grad`` = Xᵀr.

    ``gram`` may be a larger buffer, of which the leading m x m part counts.
    """

    gram: Floats
    target: Floats
    beta: Floats
    grad: Floats
    l1: Floats
    l2: Floats
    positive: bool = False


def solve_on_gram(problem: GramProblem, gap: float, kkt: float, max_sweeps: int) -> int:
    """Descend until the duality gap is at most ``gap``; returns the number of sweeps.

    ``kkt`` is how far from its optimality condition a coordinate may remain besides.
    """
    p, n_solved = problem, 0
    # Rounds of descent and Newton steps before coordinates are added one at a time.
    for round_ in range(60):
        # Sweeps before the first Newton steps, which find most signs, and between later ones.
        most = min(3 if round_ else 10, max_sweeps - n_solved)
        gap, kkt = max(gap, rounding(p.beta, 2)), max(kkt, rounding(p.beta, 1))
        sweeps, stop = loops.descend(
            p.gram, p.target, p.grad, p.beta, p.l1, p.l2, p.positive, most, gap, kkt
        )
        n_solved += int(sweeps)
        if stop or n_solved >= max_sweeps:
            return n_solved
        # Points of a path are solved to their gap alone: few digits of a first step are enough.
        support_step(p, np.float32 if round_ == 0 and kkt == np.inf else np.float64)
    return n_solved + add_one_by_one(p, gap, kkt, max_sweeps - n_solved)


def add_one_by_one(p: GramProblem, gap: float, kkt: float, max_steps: int) -> int:
    """Active-set method: add the coordinate of the largest violation, solve on the support.

    With nearly equal columns alternating steps can cycle. Here one coordinate joins at a time, so
    that every step ends at the minimum over another support, and none occurs twice.
    """
    max_steps = min(max_steps, 2 * len(p.beta))
    for step in range(max_steps):
        gap, kkt = max(gap, rounding(p.beta, 2)), max(kkt, rounding(p.beta, 1))
        violation = (p.grad if p.positive else np.abs(p.grad)) - p.l1
        violation[p.beta != 0.0] = -np.inf
        j = int(np.argmax(violation))
        if (
            violation[j] <= kkt
            and loops.gap_on_gram(p.target, p.grad, p.beta, p.l1, p.l2, p.positive) <= gap
        ):
            return step
        if violation[j] > 0.0:
            shift = np.sign(p.grad[j]) * violation[j] / (p.gram[j, j] + p.l2[j])
            p.beta[j] = shift
            p.grad -= shift * p.gram[j, : len(p.grad)]
        support_step(p)
    return max_steps


def rounding(beta: Floats, power: int) -> float:
    """Rounding error of a gradient (power 1) or a gap (2), which grows with Σ|β|.

    Nearly equal columns can have large coefficients of opposite signs, and then c − Gβ is a small
    difference of large numbers.
    """
    # Half the distance from one to the next number.
    return (0.5 * float(np.finfo(float).eps)) * max(1.0, float(np.abs(beta).sum())) ** power


def support_step(p: GramProblem, precision: type[np.floating[Any]] = np.float64) -> None:
    """Newton steps on the support of β, dropping coefficients that reach zero.

    The Hessian is factorized in single or double precision; gradients are double throughout.
    """
    support = np.flatnonzero(p.beta)
    if not len(support):
        return
    k, l2 = len(support), p.l2[support]
    hessian = np.zeros((k, k), precision)
    loops.gather(p.gram, support, l2, DAMPING, hessian)
    # the upper triangle by rows is the lower one by columns, and the factor is written over it
    factorize = lapack.spotrf if precision is np.float32 else lapack.dpotrf
    _, info = factorize(hessian.T, lower=True, clean=False, overwrite_a=True)
    if info:
        return
    b = p.beta[support]
    _newton_with_drops(hessian, b, p.grad[support], p.l1[support], l2)
    step = np.zeros_like(p.beta)
    step[support] = b - p.beta[support]
    p.beta[support] = b
    m = len(step)
    p.grad -= p.gram[:m, :m] @ step


def _newton_with_drops(r: Floats, b: Floats, grad: Floats, l1: Floats, l2: Floats) -> None:
    """Step to the minimum in the orthant of ``b``, dropping coefficients that reach zero.

    RᵀR is the Hessian with its damping; ``r``, ``b`` and ``grad``, the gradient on the support,
    change in place. As long as no sign changes the objective is quadratic, and b + Δ its minimum.
    """
    at = np.arange(len(b))
    while len(at):
        here = b[at]
        residual = grad[at] - l2[at] * here - np.copysign(l1[at], here)
        move = residual.astype(r.dtype)
        loops.solve_upper(r, len(at), move)
        reach = np.full(len(at), np.inf)  # part of the step after which a coefficient is zero
        np.divide(-here, move, out=reach, where=here * move < 0.0)
        first = int(np.argmin(reach))
        length = min(1.0, float(reach[first]))
        b[at] = here + length * move
        grad[at] -= length * (residual - (l2[at] + DAMPING) * move)
        if reach[first] >= 1.0:
            break
        b[at[first]] = 0.0
        loops.drop(r, len(at), first)
        at = np.delete(at, first)
