"""A process of two classes through inducing points: how it is found, and what it predicts.

As for numbers (:mod:`separatrix.bayes.process.inducing.fit`): hyperparameters by the evidence of
some rows (Laplace's), then by the variational bound of a sample together with the points, then by
that of all rows. With ``n_inducing="auto"`` the points are doubled until that gains at most GAIN
nats a row, or MOST_POINTS are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from separatrix.bayes.process.classification.binary import averaged_sigmoid
from separatrix.bayes.process.classification.search import Search, fit_binary, spread_rows
from separatrix.bayes.process.classification.variational import (
    ClassBound,
    ClassModel,
    Variational,
)
from separatrix.bayes.process.inducing.points import InducingPoints, groups
from separatrix.bayes.process.inducing.sample import HashedSample, sampled
from separatrix.bayes.process.inducing.search import SAMPLE_ROWS
from separatrix.bayes.process.inducing.stages import InducingFit, InducingSearch
from separatrix.bayes.process.inducing.sums import Targets
from separatrix.bayes.process.learning import Learned
from separatrix.bayes.process.noise import SplitKernel
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows
from separatrix.threads import parallel_map

#: Rows whose evidence by Laplace's approximation learning starts from.
FIRST_ROWS = 400
#: Gain of twice as many points, in nats a row, at which no more are added; points first, at most.
GAIN, FIRST_POINTS, MOST_POINTS = 1e-3, 32, 256


@dataclass(frozen=True)
class InducingBinary:
    """q(v) of a process of two classes by its sums Φ and b; ``evidence`` is the bound F.

    ``gain`` is what twice as many points gained last, in nats a row; NaN where none were tried.
    What was ``learned`` is by the bound, or ``by_laplace`` of few rows by Laplace's evidence.
    """

    kernel: Kernel
    points: Items
    gram: Floats
    inner: Floats
    evidence: float
    gain: float = np.nan
    sample_rows: int = 0
    all_rows: bool = False
    learned: Learned | None = None
    by_laplace: bool = False

    @classmethod
    def of(cls, fit: InducingFit, gain: float, *, by_laplace: bool) -> InducingBinary:
        """What predictions need of a fit."""
        assert isinstance(fit.bound, ClassBound)
        q = fit.bound.found.q
        return cls(
            fit.kernel, fit.points, q.gram, q.inner, fit.bound.lower, gain, fit.sample_rows,
            fit.all_rows, fit.learned, by_laplace,
        )  # fmt: skip

    @cached_property
    def inducing(self) -> InducingPoints:
        """The points with their factor."""
        return InducingPoints.of(self.kernel, self.points)

    @cached_property
    def q(self) -> Variational:
        """The distribution of the whitened values at the points."""
        return Variational(self.gram, self.inner)

    def __getstate__(self) -> dict[str, object]:
        """Without what is computed on demand."""
        return {name: value for name, value in vars(self).items() if name not in ("inducing", "q")}

    @property
    def stored_rows(self) -> int:
        """How many points predictions are computed from."""
        return len(self.inner)

    def latent_mean(self, x: Items) -> Floats:
        """m(x) of new rows."""
        return self.latent(x)[0]

    def latent(self, x: Items) -> tuple[Floats, Floats]:
        """m(x) and s²(x) of new rows, some at a time on threads."""
        inducing, q = self.inducing, self.q
        mean, variance = np.empty(n_items(x)), np.empty(n_items(x))

        def part(rows: slice) -> None:
            some = take_items(x, rows)
            found = q.moments(inducing.whitened(some), inducing.diagonal(some))
            mean[rows], variance[rows] = found

        for group in groups(n_items(x), len(inducing)):
            parallel_map(part, group)
        return mean, variance

    def probabilities(self, x: Items) -> Floats:
        """P(class 1) of new rows."""
        return averaged_sigmoid(*self.latent(x))


#: Where to look for hyperparameters, from rows and their weights; None to leave them as they are.
Searching = Callable[[Items, Floats], Search | None]


def fit_inducing_binary(
    rows: Rows, kernel: Kernel, searching: Searching, n_inducing: int | None
) -> InducingBinary:
    """Fit to rows with one target, 0 or 1; ``n_inducing`` is None for "auto"."""
    if SplitKernel(kernel).has_noise:
        raise InputError(
            "White() in the kernel and inducing points do not go together in a classifier.",
            remedy="Leave White() out: a classifier needs no noise.",
        )
    sample = sampled(rows, SAMPLE_ROWS)
    search = ClassSearch(rows, sample, ClassModel(kernel, Targets()), searching)
    most, gain = min(n_inducing or MOST_POINTS, len(sample.w)), np.nan
    count = most if n_inducing is not None else min(FIRST_POINTS, most)
    found = search.with_points(count, automatic=n_inducing is None)
    # fewer points than asked for span the rows: more would be of no use
    while n_items(found.points) == count < most and not gain <= GAIN:
        before, count = found.bound.lower, min(2 * count, most)
        found = search.with_points(count, automatic=True)
        gain = (found.bound.lower - before) / sample.weight
    return InducingBinary.of(found, gain, by_laplace=search.box is None)


class ClassSearch(InducingSearch):
    """Hyperparameters by Laplace's evidence of some rows first."""

    model: ClassModel

    def __init__(
        self, rows: Rows, sample: HashedSample, model: ClassModel, searching: Searching
    ) -> None:
        super().__init__(rows, sample, model)
        assert sample.x is not None
        search = searching(sample.x, sample.w)
        if search is None or not len(self.theta):
            return
        few = spread_rows(sample.y[:, 0], FIRST_ROWS, np.arange(len(sample.w)))
        x, y, w = take_items(sample.x, few), sample.y[few, 0], sample.w[few]
        first = fit_binary(model.kernel, x, y, w, search)
        self.first, self.first_rows, self.theta = first.learned, len(few), first.kernel.theta
        if search.directions is None:  # of tied length scales there are too few rows to learn more
            self.box = search.box
            if self.first is not None:
                self.curvature = self.first.curvature / float(w.sum())

    def is_exact(self, count: int) -> bool:
        """Never: Laplace's evidence is not the bound."""
        del count
        return False
