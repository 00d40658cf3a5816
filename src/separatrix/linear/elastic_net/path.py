"""Down a path of penalties: small sets of columns, grown until no column outside them objects.

At each penalty the problem is solved on a working set and the gradient of *all* columns is looked
at once. A column outside the set belongs in it when |xⱼ·r| exceeds its threshold; the duality gap
over all columns decides when to stop, so screening can cost time but never correctness. Before the
next, smaller penalty the set takes in the columns that the strong rule does not discard:

    |xⱼ·r| ≥ (2α′ − α) ℓⱼ
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from separatrix.linear.elastic_net.gram import GramProblem, rounding, solve_on_gram
from separatrix.optimize.loops.coordinate_descent import duality_gap
from separatrix.rows.block import Floats, Ints

#: So few columns are all taken into the working set from the start.
FEW = 256
#: The least number of columns by which a working set may grow at once.
GROWTH = 64


class Geometry(Protocol):
    """Columns and a target of length one, known only through their inner products.

    It keeps the working set's columns at hand; ``target`` is Xᵀy for all d columns.
    """

    target: Floats

    def grow(self, new: Ints) -> Floats:
        """Take columns into the set: inner products of the whole set with the ``new`` ones."""

    def keep(self, positions: Ints) -> None:
        """Drop the others from the set."""

    def gradient(self, beta: Floats) -> tuple[Floats, float]:
        """Xᵀr for all columns, and ‖r‖², where r = y − Σ βᵢ xᵢ over the set."""


@dataclass(frozen=True)
class Point:
    """One solution on a path, in columns of length one: nonzero ``beta`` at ``index``.

    ``square`` is ‖r‖²; ``freedom`` the trace of the map from target to fit, that is the number of
    nonzero coefficients less what the ℓ₂ part takes from them.
    """

    alpha: float
    index: Ints
    beta: Floats
    square: float
    primal: float
    gap: float
    freedom: float
    sweeps: int


@dataclass(frozen=True)
class Penalties:
    """α (Σ ℓⱼ|bⱼ| + ½ Σ qⱼ bⱼ²), perhaps with b ≥ 0."""

    l1: Floats
    l2: Floats
    positive: bool = False


@dataclass(frozen=True)
class Stopping:
    """When to stop: duality gap relative to the objective at b = 0 (½, since ‖y‖ = 1), distance
    of a coordinate to its optimality condition, number of sweeps.
    """

    gap: float
    kkt: float = np.inf
    sweeps: int = 10_000

    def reached(self, gap: float, beta: Floats) -> bool:
        """Whether the gap at ``beta`` is small enough, as far as rounding lets one see."""
        return gap <= max(0.5 * self.gap, rounding(beta, 2))


class WorkingSet:
    """Columns in play with their Gram matrix, in a buffer that grows by doubling."""

    def __init__(self, geometry: Geometry, d: int) -> None:
        self.geometry = geometry
        self.index = np.zeros(0, dtype=np.int64)
        self.inside = np.zeros(d, dtype=bool)
        self.gram = np.zeros((0, 0))
        self.beta = np.zeros(0)

    def grow(self, new: Ints) -> None:
        """Take columns in."""
        if not len(new):
            return
        block = self.geometry.grow(new)
        m, size = len(self.index), len(self.index) + len(new)
        if size > len(self.gram):
            room = np.empty((size + m, size + m))
            room[:m, :m] = self.gram[:m, :m]
            self.gram = room
        self.gram[:size, m:size] = block
        self.gram[m:size, :m] = block[:m].T
        self.index = np.concatenate([self.index, new])
        self.beta = np.concatenate([self.beta, np.zeros(len(new))])
        self.inside[new] = True

    def shrink(self) -> None:
        """Keep the support alone, when most of a large set has gone unused."""
        support = np.flatnonzero(self.beta)
        if len(self.index) <= max(FEW, 2 * len(support)):
            return
        self.geometry.keep(support)
        self.gram = self.gram[support[:, None], support]
        self.index, self.beta = self.index[support], self.beta[support]
        self.inside[:] = False
        self.inside[self.index] = True


def walk(
    geometry: Geometry,
    penalties: Penalties,
    alphas: Sequence[float],
    stopping: Stopping,
    start: Floats | None = None,
) -> Iterator[Point]:
    """Solve at each of ``alphas`` in turn, each from the solution before it."""
    d = len(geometry.target)
    geometry.keep(np.zeros(0, dtype=np.int64))
    working = WorkingSet(geometry, d)
    if start is not None:
        working.grow(np.flatnonzero(start))
        working.beta[:] = start[working.index]
    if d <= FEW:
        working.grow(np.flatnonzero(~working.inside))
    grad, _ = geometry.gradient(working.beta)
    before = np.inf
    for alpha in alphas:
        _invite(working, grad, penalties, min(max(2.0 * alpha - before, 0.0), alpha))
        point, grad = _solve_at(alpha, working, grad, penalties, stopping)
        yield point
        working.shrink()
        before = alpha


def _solve_at(
    alpha: float, working: WorkingSet, grad: Floats, penalties: Penalties, stopping: Stopping
) -> tuple[Point, Floats]:
    """Solve on the working set and enlarge it until the gap over all columns is closed."""
    l1, l2, positive = alpha * penalties.l1, alpha * penalties.l2, penalties.positive
    inner, sweeps = 0.4 * stopping.gap, 0
    everywhere = np.zeros(len(grad))
    while True:
        at = working.index
        problem = GramProblem(
            working.gram, working.geometry.target[at], working.beta, grad[at], l1[at], l2[at],
            positive,
        )  # fmt: skip
        sweeps += solve_on_gram(problem, inner, stopping.kkt, max(stopping.sweeps - sweeps, 1))
        grad, square = working.geometry.gradient(working.beta)
        everywhere[at] = working.beta
        primal, gap = duality_gap(square, grad, everywhere, l1, l2, positive)
        slope = grad if positive else np.abs(grad)
        kkt = max(stopping.kkt, rounding(working.beta, 1))
        objection = np.max(np.where(working.inside, 0.0, slope - l1), initial=0.0)
        if (stopping.reached(gap, working.beta) and objection <= kkt) or sweeps >= stopping.sweeps:
            break
        if not _invite(working, grad, penalties, alpha):
            inner *= 0.1  # no column objects: the set itself must be solved further
            if inner < 1e-16:
                break
    point = _point(alpha, working, square, primal, gap, l2, sweeps)
    return point, grad


def _point(
    alpha: float, working: WorkingSet, square: float, primal: float, gap: float, l2: Floats,
    sweeps: int,
) -> Point:  # fmt: skip
    support = np.flatnonzero(working.beta)
    at = working.index[support]
    freedom = float(len(support))
    if l2[at].any():
        gram = working.gram[support[:, None], support]
        freedom = float(np.trace(np.linalg.solve(gram + np.diag(l2[at]), gram)))
    return Point(alpha, at, working.beta[support], square, primal, gap, freedom, sweeps)


def _invite(working: WorkingSet, grad: Floats, penalties: Penalties, alpha: float) -> bool:
    """Take in columns beyond the threshold α ℓⱼ, the furthest first; False if there are none."""
    if len(working.index) == len(grad):
        return False
    slope = grad if penalties.positive else np.abs(grad)
    reach = np.where(working.inside, -np.inf, slope - alpha * penalties.l1)
    outside = np.flatnonzero(reach > 0.0)
    if not len(outside):
        return False
    most = max(GROWTH, int(np.count_nonzero(working.beta)))
    if len(outside) > most:
        share = slope[outside] / np.maximum(penalties.l1[outside], np.finfo(float).tiny)
        outside = outside[np.argpartition(-share, most)[:most]]
    working.grow(outside)
    return True
