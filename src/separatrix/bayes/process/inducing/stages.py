"""From a sample of the rows to all of them, with a number of inducing points.

Points and hyperparameters by turns on the bound of the sample, then both climbed together; then the
sums of all rows, and a few steps of the hyperparameters on their bound where that is little work.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from separatrix.bayes.process.inducing.bound import CollapsedBound
from separatrix.bayes.process.inducing.sample import HashedSample
from separatrix.bayes.process.inducing.search import (
    BoundOfRows,
    Model,
    SampleRows,
    Searched,
    alternate,
    move_points,
)
from separatrix.bayes.process.inducing.sums import reduced
from separatrix.bayes.process.learning import Learned
from separatrix.bayes.process.trust_region import Box, maximize
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, n_items
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows, S

#: Rows a point of the sample for the bound, and rows at least.
ROWS_A_POINT, LEAST_ROWS = 20, 4_000
#: Steps of points and hyperparameters together.
MOVES = 80
#: Multiplications on all rows that steps on their bound may cost, and such steps at most.
ALL_ROWS_WORK, ALL_ROWS_STEPS = 3e11, 6


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


class InducingSearch(ABC):
    """What has been learned so far, from which more points start.

    ``box`` is None where hyperparameters stay as they are.
    """

    def __init__(self, rows: Rows, sample: HashedSample, model: Model) -> None:
        self.rows, self.sample, self.model = AllRows(rows), sample, model
        self.theta = model.kernel.theta
        self.curvature: Floats | None = None
        self.box: Box | None = None
        self.first: Learned | None = None
        self.first_rows = 0

    @abstractmethod
    def is_exact(self, count: int) -> bool:
        """Whether the first hyperparameters are those of all rows, each of which is a point."""

    def with_points(self, count: int, *, automatic: bool) -> InducingFit:
        """The fit with so many points, or fewer that span all rows."""
        if self.box is None or self.is_exact(count):
            points = self.model.choose(self.theta, self.sample.x, count)
            return self._finished(points, self.first, self.first_rows, automatic)
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

    def _scaled(self, weight: float) -> Floats | None:
        return None if self.curvature is None else self.curvature * weight

    def _on_all_rows(self, searched: Searched, some: SampleRows, automatic: bool) -> InducingFit:
        """A few steps on the bound of all rows; to the maximum where the sample is all rows."""
        assert self.box is not None
        weight, m = self.sample.weight, n_items(searched.points)
        small = self.sample.whole and len(self.sample.w) <= LEAST_ROWS
        steps = int(min(ALL_ROWS_STEPS, ALL_ROWS_WORK // max(5.0 * weight * m * m, 1.0)))
        if steps < 2 and not small:
            growth, last = weight / some.weight, searched.learned
            learned = replace(
                last, gradient=growth * last.gradient, curvature=growth * last.curvature
            )
            return self._finished(searched.points, learned, some.n, automatic)
        objective = BoundOfRows(self.model, searched.points, self.rows, single=not small)
        best = maximize(
            objective, self.theta, self.box, curvature=self._scaled(weight),
            tolerance=1e-13 if small else 1e-6 * weight, max_evaluations=100 if small else steps,
        )  # fmt: skip
        self.theta, self.curvature = best.theta, best.curvature / weight
        learned = replace(searched, best=best).learned
        bound = objective.bound_at(best.theta) if small else None
        return self._finished(searched.points, learned, some.n, automatic, bound, all_rows=True)

    def _finished(
        self,
        points: Items,
        learned: Learned | None,
        sample_rows: int,
        automatic: bool,
        bound: CollapsedBound | None = None,
        *,
        all_rows: bool = False,
    ) -> InducingFit:
        """The fit with the sums of all rows in double precision, unless they are known."""
        if bound is None:
            bound = self.model.bound(self.theta, points, self.rows, single=False)
        kernel = self.model.kernel.with_theta(self.theta)
        return InducingFit(kernel, points, bound, learned, sample_rows, automatic, all_rows)
