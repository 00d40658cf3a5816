"""A Gaussian process with inducing points: how hyperparameters and points are found.

1. a sample of the rows, by the hashes of their content (one pass over the rows);
2. hyperparameters by the exact evidence of a few of them;
3. points and hyperparameters by turns on the bound of the sample, then both climbed together;
4. the sums of all rows (one pass), and a few steps on their bound where that is little work.

With ``n_inducing="auto"`` the number of points is raised until the evidence is known to GAP nats a
row, or MOST_POINTS are used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.bayes.process.evidence import TrainingRows
from separatrix.bayes.process.fitting import Plan, learn_kernel, least_noise
from separatrix.bayes.process.inducing.sample import HashedSample, sampled
from separatrix.bayes.process.inducing.search import SAMPLE_ROWS, Model
from separatrix.bayes.process.inducing.stages import InducingFit, InducingSearch
from separatrix.bayes.process.inducing.sums import Targets
from separatrix.bayes.process.starts import box_around, natural_kernel
from separatrix.kernels import Kernel
from separatrix.kernels.base import n_items, take_items
from separatrix.messages import InputError
from separatrix.rows.rows import Rows

#: Gap between the bounds, in nats a row, at which no more points are added; points at most, first.
GAP, MOST_POINTS, FIRST_POINTS = 1e-3, 512, 64
#: Rows of the exact evidence that learning starts from.
EXACT_ROWS = 1_000


def fit_inducing(
    rows: Rows,
    kernel: Kernel,
    targets: Targets,
    known: tuple[float, float | None],
    n_inducing: Any,
    plan: Plan,
) -> InducingFit:
    """Fit to rows that are a design already.

    ``known`` are variances added to the kernel's noise: of y, and of the training rows (None is the
    least that keeps K positive definite).
    """
    count = check_count(n_inducing)
    sample = sampled(rows, SAMPLE_ROWS)
    if sample.x is None:
        raise InputError("No row has a positive weight.", remedy="Give at least one row.")
    noise, alpha = known
    if alpha is None:
        alpha = least_noise(kernel, training_rows(sample, targets, noise, SAMPLE_ROWS), plan)
    search = RegressionSearch(rows, sample, Model(kernel, targets, noise + alpha), plan)
    if count is not None:
        return search.with_points(min(count, len(sample.w)), automatic=False)
    most = min(MOST_POINTS, len(sample.w))
    count = min(search.first_count(), most)
    found = search.with_points(count, automatic=True)
    # fewer points than asked for span the rows: more would be of no use
    while found.gap > GAP and n_items(found.points) == count < most:
        count = min(2 * count, most)
        found = search.with_points(count, automatic=True)
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


def training_rows(sample: HashedSample, targets: Targets, noise: float, count: int) -> TrainingRows:
    """The first rows of a sample, for the exact evidence."""
    x = take_items(sample.x, slice(0, count))
    columns = targets.of(x, sample.y[:count])
    k, w = targets.outputs, sample.w[:count]
    return TrainingRows(x, columns[:, :k], w, np.full(len(w), noise), columns[:, k:])


class RegressionSearch(InducingSearch):
    """Hyperparameters by the exact evidence of some rows first."""

    def __init__(self, rows: Rows, sample: HashedSample, model: Model, plan: Plan) -> None:
        super().__init__(rows, sample, model)
        if plan.optimizer is None or not len(self.theta):
            return
        few = self._training(EXACT_ROWS)
        first = learn_kernel(model.kernel, few, plan)
        natural = natural_kernel(model.kernel, self._training(SAMPLE_ROWS))
        self.theta = natural.theta
        if np.isfinite(first.value):
            self.first, self.first_rows, self.theta = first, len(few.w), first.theta
            self.curvature = first.curvature / few.w.sum()
        self.box = box_around(natural, self.theta)

    def _training(self, count: int) -> TrainingRows:
        return training_rows(self.sample, self.model.targets, self.model.noise, count)

    def is_exact(self, count: int) -> bool:
        """Whether the first evidence is that of all rows, and every row is a point."""
        n = len(self.sample.w)
        return self.sample.whole and n <= min(count, EXACT_ROWS) and self.first is not None

    def first_count(self) -> int:
        """Points to begin with: those after which the sample's variance is noise alone."""
        chosen = self.model.order(self.theta, self.sample.x, MOST_POINTS)
        left = chosen.left / min(len(self.sample.w), chosen.candidates)
        noise = self.model.noise_at(self.theta, take_items(self.sample.x, slice(0, 1)))
        enough = np.flatnonzero(left <= 2.0 * GAP * noise / self.sample.weight)
        return max(FIRST_POINTS, int(enough[0]) + 1 if len(enough) else FIRST_POINTS)
