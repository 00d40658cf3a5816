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
from typing import Protocol

import numpy as np

from separatrix.linear.elastic_net.gram import GramProblem, rounding, solve_on_gram
from separatrix.linear.elastic_net.loops import duality_gap
from separatrix.optimize.penalties import ElasticNet
from separatrix.rows.block import Floats, Ints

#: Up to this many columns, all are in the working set from the start.
SMALL = 256
#: The least number of columns that may be added to a working set at once.
GROWTH = 64


class InnerProducts(Protocol):
    """Columns and a target of length one, known only through their inner products.

    ``target`` is Xᵀy for all d columns; products with the columns of the working set are stored.
    """

    target: Floats

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

    The gap is relative to the objective at b = 0, which is ½ since ‖y‖ = 1.
    """

    gap: float
    kkt: float = np.inf
    sweeps: int = 10_000

    def reached(self, gap: float, beta: Floats) -> bool:
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
        self.inside[new] = True

    def shrink(self) -> None:
        """Reduce a large set to the support where most of its coefficients are zero."""
        support = np.flatnonzero(self.beta)
        if len(self.index) <= max(SMALL, 2 * len(support)):
            return
        self.products.select(support)
        self.gram = self.gram[support[:, None], support]
        self.index, self.beta = self.index[support], self.beta[support]
        self.inside[:] = False
        self.inside[self.index] = True


def solve_path(
    products: InnerProducts,
    penalty: ElasticNet,
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
    if d <= SMALL:
        working.grow(np.flatnonzero(~working.inside))
    grad, _ = products.gradient(working.beta, np.inf)
    before = np.inf
    if start is not None and len(alphas) == 1:
        found = _if_solved(alphas[0], working, penalty, stopping)
        if found is not None:
            yield found
            return
    for alpha in alphas:
        _enlarge(working, grad, penalty, min(max(2.0 * alpha - before, 0.0), alpha))
        point, grad = _solve_at(alpha, working, grad, penalty, stopping)
        yield point
        working.shrink()
        before = alpha


def _solve_at(
    alpha: float, working: WorkingSet, grad: Floats, penalty: ElasticNet, stopping: StoppingRule
) -> tuple[PathPoint, Floats]:
    """Solve on the working set and enlarge it until the gap over all columns is closed."""
    l1, l2, positive = alpha * penalty.l1, alpha * penalty.l2, penalty.positive
    inner, sweeps = 0.4 * stopping.gap, 0
    all_coefs = np.zeros(len(grad))
    while True:
        at = working.index
        problem = GramProblem(
            working.gram, working.products.target[at], working.beta, grad[at], l1[at], l2[at],
            positive,
        )  # fmt: skip
        sweeps += solve_on_gram(problem, inner, stopping.kkt, max(stopping.sweeps - sweeps, 1))
        grad, rss = working.products.gradient(working.beta, l1)
        all_coefs[at] = working.beta
        primal, gap = duality_gap(rss, grad, all_coefs, l1, l2, positive)
        size = grad if positive else np.abs(grad)
        kkt = max(stopping.kkt, rounding(working.beta, 1))
        violation = np.max(np.where(working.inside, 0.0, size - l1), initial=0.0)
        if (stopping.reached(gap, working.beta) and violation <= kkt) or sweeps >= stopping.sweeps:
            break
        if not _enlarge(working, grad, penalty, alpha):
            inner *= 0.1  # no column outside violates its condition: solve the set further
            if inner < 1e-16:
                break
    return _point(alpha, working, l2, (rss, primal, gap), sweeps), grad


def _if_solved(
    alpha: float, working: WorkingSet, penalty: ElasticNet, stopping: StoppingRule
) -> PathPoint | None:
    """The point where the path starts, if it is the solution at α already."""
    l1, l2, positive = alpha * penalty.l1, alpha * penalty.l2, penalty.positive
    grad, rss = working.products.gradient(working.beta, l1)
    coefs = np.zeros(len(grad))
    coefs[working.index] = working.beta
    primal, gap = duality_gap(rss, grad, coefs, l1, l2, positive)
    size = grad if positive else np.abs(grad)
    violation = np.where(coefs, np.abs(grad - l2 * coefs - np.sign(coefs) * l1), size - l1)
    kkt = max(stopping.kkt, rounding(working.beta, 1))
    if not stopping.reached(gap, working.beta) or violation.max(initial=0.0) > kkt:
        return None
    return _point(alpha, working, l2, (rss, primal, gap), 0)


def _point(
    alpha: float, working: WorkingSet, l2: Floats, values: tuple[float, float, float], sweeps: int
) -> PathPoint:
    """The solution on the working set; ``values`` are ‖r‖², the objective and its gap."""
    support = np.flatnonzero(working.beta)
    at = working.index[support]
    freedom = float(len(support))
    if l2[at].any():
        gram = working.gram[support[:, None], support]
        freedom = float(np.trace(np.linalg.solve(gram + np.diag(l2[at]), gram)))
    return PathPoint(alpha, at, working.beta[support], *values, freedom, sweeps)


def _enlarge(working: WorkingSet, grad: Floats, penalty: ElasticNet, alpha: float) -> bool:
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
