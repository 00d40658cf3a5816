"""A Gaussian process with inducing points: how hyperparameters and points are found.

1. a sample of the rows, by the hashes of their content (one pass over the rows);
2. hyperparameters by the exact evidence of a few of them;
3. points and hyperparameters by turns on the bound of the sample, then both climbed together;
4. the sums of all rows (one pass), and a few steps on their bound where that is little work.

With ``n_inducing="auto"`` the number of points is raised until the evidence is known to GAP nats a
row, or MOST_POINTS are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.bayes.process.evidence import TrainingRows
from separatrix.bayes.process.fitting import Plan, learn_kernel
from separatrix.bayes.process.inducing.bound import CollapsedBound
from separatrix.bayes.process.inducing.sample import HashedSample, sampled
from separatrix.bayes.process.inducing.search import (
    SAMPLE_ROWS,
    BoundOfRows,
    Model,
    SampleRows,
    Searched,
    alternate,
    move_points,
)
from separatrix.bayes.process.inducing.sums import Targets, reduced
from separatrix.bayes.process.learning import Learned
from separatrix.bayes.process.starts import box_around, natural_kernel
from separatrix.bayes.process.trust_region import Box, maximize
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows, S

#: Gap between the bounds, in nats a row, at which no more points are added; points at most, first.
GAP, MOST_POINTS, FIRST_POINTS = 1e-3, 512, 64
#: Rows of the exact evidence that learning starts from; rows a point of the sample for the bound.
EXACT_ROWS, ROWS_A_POINT, LEAST_ROWS = 1_000, 20, 4_000
#: Steps of points and hyperparameters together.
MOVES = 80
#: Multiplications on all rows that steps on their bound may cost, and such steps at most.
ALL_ROWS_WORK, ALL_ROWS_STEPS = 4e11, 2


@dataclass(frozen=True)
class AllRows:
    """All rows, in memory or not."""

    rows: Rows

    def reduce(self, statistic: S) -> S:
        """The statistic of all rows, in one pass."""
        return reduced(self.rows, statistic)


@dataclass(frozen=True)
class InducingFit:
    """The kernel, its points, the bounds on the evidence of all rows, and how they were learned."""

    kernel: Kernel
    points: Items
    bound: CollapsedBound
    learned: Learned | None
    sample_rows: int
    automatic: bool
    all_rows: bool = False

    @property
    def gap(self) -> float:
        """Upper less lower bound on the evidence, in nats a row and output."""
        rows = self.bound.sums.weight * self.bound.outputs
        return (self.bound.upper - self.bound.lower) / max(rows, 1.0)


def fit_inducing(
    rows: Rows, kernel: Kernel, targets: Targets, noise: float, n_inducing: Any, plan: Plan
) -> InducingFit:
    """Fit to rows that are a design already; ``noise`` is known and added to the kernel's."""
    count = check_count(n_inducing)
    sample = sampled(rows, SAMPLE_ROWS)
    if sample.x is None:
        raise InputError("No row has a positive weight.", remedy="Give at least one row.")
    search = _Search(rows, sample, Model(kernel, targets, noise), plan)
    if count is not None:
        return search.with_points(min(count, len(sample.w)), automatic=False)
    found = search.with_points(min(search.first_count(), len(sample.w)), automatic=True)
    most = min(MOST_POINTS, len(sample.w))
    while found.gap > GAP and n_items(found.points) < most:
        before = n_items(found.points)
        found = search.with_points(min(2 * before, most), automatic=True)
        if n_items(found.points) <= before:  # the rows span no more
            break
    return found


def check_count(n_inducing: Any) -> int | None:
    """A number of points; None for "auto"."""
    if isinstance(n_inducing, str) and n_inducing == "auto":
        return None
    whole = isinstance(n_inducing, int | np.integer) and not isinstance(n_inducing, bool)
    if not whole or n_inducing < 1:
        raise InputError(
            f"n_inducing={n_inducing!r} is no number of inducing points.",
            remedy='Give a positive integer, "auto", or None for the exact process.',
        )
    return int(n_inducing)


class _Search:
    """What has been learned so far, from which more points start."""

    def __init__(self, rows: Rows, sample: HashedSample, model: Model, plan: Plan) -> None:
        self.rows, self.sample, self.model, self.plan = AllRows(rows), sample, model, plan
        self.theta = model.kernel.theta
        self.learns = plan.optimizer is not None and len(self.theta) > 0
        self.curvature: Floats | None = None
        self.box: Box | None = None
        self.first: Learned | None = None
        if self.learns:
            self._from_exact_evidence()

    def _from_exact_evidence(self) -> None:
        """A first θ by the exact evidence of some rows."""
        few = self._training(EXACT_ROWS)
        first = self.first = learn_kernel(self.model.kernel, few, self.plan)
        natural = natural_kernel(self.model.kernel, self._training(SAMPLE_ROWS))
        self.theta = first.theta if np.isfinite(first.value) else natural.theta
        self.box = box_around(natural, self.theta)
        self.curvature = first.curvature / few.w.sum() if np.isfinite(first.value) else None

    def _training(self, count: int) -> TrainingRows:
        x = take_items(self.sample.x, slice(0, count))
        columns = self.model.targets.of(x, self.sample.y[:count])
        k, w = self.model.targets.outputs, self.sample.w[:count]
        known = np.full(len(w), self.model.noise)
        return TrainingRows(x, columns[:, :k], w, known, columns[:, k:])

    def first_count(self) -> int:
        """Points to begin with: those after which the sample's variance is noise alone."""
        chosen = self.model.order(self.theta, self.sample.x, MOST_POINTS)
        left = chosen.left / min(len(self.sample.w), chosen.candidates)
        noise = self.model.noise_at(self.theta, take_items(self.sample.x, slice(0, 1)))
        enough = np.flatnonzero(left <= 2.0 * GAP * noise / self.sample.weight)
        return max(FIRST_POINTS, int(enough[0]) + 1 if len(enough) else FIRST_POINTS)

    def with_points(self, count: int, *, automatic: bool) -> InducingFit:
        """The fit with so many points, or fewer that span all rows."""
        if not self.learns or self.box is None:
            points = self.model.choose(self.theta, self.sample.x, count)
            return self._finished(points, None, 0, automatic)
        if self._exact(count):  # every row is a point: the bound is the evidence itself
            points = self.model.choose(self.theta, self.sample.x, count)
            return self._finished(points, self.first, len(self.sample.w), automatic)
        size = max(LEAST_ROWS, ROWS_A_POINT * count)
        some = SampleRows.of(self.sample, size)
        searched = alternate(
            self.model, some, self.theta, self.box, count, self._scaled(some.weight)
        )
        if n_items(searched.points) < len(self.sample.w):
            searched = move_points(self.model, some, searched, self.box, MOVES)
        self.theta = searched.best.theta
        self.curvature = searched.best.curvature / some.weight
        return self._on_all_rows(searched, some, automatic)

    def _exact(self, count: int) -> bool:
        n = len(self.sample.w)
        return self.sample.whole and n <= min(count, EXACT_ROWS) and self.first is not None

    def _scaled(self, weight: float) -> Floats | None:
        return None if self.curvature is None else self.curvature * weight

    def _on_all_rows(self, searched: Searched, some: SampleRows, automatic: bool) -> InducingFit:
        """A few steps on the bound of all rows, in double precision."""
        assert self.box is not None
        weight, m = self.sample.weight, n_items(searched.points)
        steps = int(min(ALL_ROWS_STEPS, ALL_ROWS_WORK // max(5.0 * weight * m * m, 1.0)))
        few = self.sample.whole and len(self.sample.w) <= LEAST_ROWS
        if few:  # the sample is all rows
            steps = 100
        if steps < 2:
            growth = weight / some.weight
            last = searched.learned
            learned = replace(
                last, gradient=growth * last.gradient, curvature=growth * last.curvature
            )
            return self._finished(searched.points, learned, some.n, automatic)
        objective = BoundOfRows(self.model, searched.points, self.rows)
        best = maximize(
            objective, self.theta, self.box, curvature=self._scaled(weight),
            tolerance=1e-13 if few else 1e-6, max_evaluations=steps,
        )  # fmt: skip
        self.theta, self.curvature = best.theta, best.curvature / weight
        learned = replace(searched, best=best).learned
        return self._finished(searched.points, learned, some.n, automatic, objective.highest)

    def _finished(
        self,
        points: Items,
        learned: Learned | None,
        sample_rows: int,
        automatic: bool,
        stepped: CollapsedBound | None = None,
    ) -> InducingFit:
        """The fit with the sums of all rows, those of the last step where there was one."""
        bound = stepped
        if bound is None:
            bound = self.model.bound(self.theta, points, self.rows, single=False)
        kernel = self.model.kernel.with_theta(self.theta)
        whole = stepped is not None
        return InducingFit(kernel, points, bound, learned, sample_rows, automatic, whole)
