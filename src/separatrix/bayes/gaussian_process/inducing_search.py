"""Hyperparameters and inducing points by turns: points for the kernel, then the kernel for them.

The points are chosen for the hyperparameters, the bound is climbed with the points fixed, and the
points are chosen again, until the bound no longer gains. All of this is done on a sample of the
rows; the last ascent is on all of them and takes few steps, because the sample has shown the
curvature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

from separatrix.arrays import Floats
from separatrix.bayes.gaussian_process import learning
from separatrix.bayes.gaussian_process.evidence import ProcessRows
from separatrix.bayes.gaussian_process.fitting import Plan, learn_kernel, least_noise
from separatrix.bayes.gaussian_process.inducing import (
    CollapsedBound,
    GradientSums,
    HashedSample,
    InducingPoints,
    InducingSelection,
    InducingSums,
    Targets,
    choose_points,
    middle_first,
    movable,
    reduce_rows,
    sample_rows,
)
from separatrix.bayes.gaussian_process.model import SplitKernel
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items
from separatrix.messages import InputError
from separatrix.optimize.convex import Certificate
from separatrix.rows.rows import Rows, S
from separatrix.rows.schema import n_items, take_items

#: Distinct rows on which hyperparameters are learned before all rows are; points are chosen among.
SAMPLE_ROWS, CANDIDATES = 20_000, 8_000
#: Rows up to which the search is in double precision too.
DOUBLE_ROWS = 4_000
#: Slopes and hyperparameters are rounded to these for those steps, which else would make much of
#: last digits, and so of the units of the table.
SLOPE_GRID, THETA_GRID = 2.0**-17, 2.0**-10


class ReducibleRows(Protocol):
    """Rows that can be reduced to a statistic, as often as needed."""

    def reduce(self, statistic: S) -> S:
        """The statistic of all rows."""


@dataclass(frozen=True)
class SampleRows:
    """Rows in memory: matrices or lists of objects."""

    x: Items
    y: Floats
    w: Floats | None

    @classmethod
    def of(cls, sample: HashedSample, count: int | None = None) -> SampleRows:
        """The first ``count`` rows of a sample."""
        assert sample.x is not None
        plain = bool((sample.w == 1.0).all())
        here = slice(0, count)
        return cls(sample.x[here], sample.y[here], None if plain else sample.w[here])

    def reduce(self, statistic: S) -> S:
        """The statistic of these rows."""
        total = statistic.fresh()
        total.add(self.x, self.y, self.w)  # type: ignore[attr-defined]
        return total

    @property
    def n(self) -> int:
        """How many rows."""
        return n_items(self.x)

    @property
    def weight(self) -> float:
        """Sum of their weights."""
        return float(self.n if self.w is None else self.w.sum())


@dataclass(frozen=True)
class InducingModel:
    """What is fitted: a kernel with white noise, more noise that is known, and the targets."""

    kernel: Kernel
    targets: Targets
    noise: float = 0.0

    def at(self, theta: Floats) -> SplitKernel:
        """The kernel at θ, apart from its noise."""
        split = SplitKernel(self.kernel.with_theta(theta))
        if split.function is None:
            raise InputError(
                "The kernel is noise alone.", remedy="Add a kernel of the rows to White()."
            )
        return split

    def function(self, theta: Floats) -> Kernel:
        """The kernel of f at θ."""
        bound = self.at(theta).function
        assert bound is not None
        return bound

    def noise_at(self, theta: Floats, x: Items) -> float:
        """The variance of y about f."""
        noise = self.noise + noise_level(self.at(theta), x)
        if not noise > 0.0:
            raise InputError(
                "Inducing points need noise: the variance of y about f is zero.",
                remedy="Add White() to the kernel, or give alpha above zero.",
            )
        return noise

    def bound(
        self, theta: Floats, points: Items, rows: ReducibleRows, *, single: bool
    ) -> CollapsedBound:
        """The bound of some rows with given points."""
        inducing = InducingPoints.of(self.function(theta), points)
        noise = self.noise_at(theta, points)
        return CollapsedBound(rows.reduce(InducingSums(inducing, self.targets, single)), noise)

    def gradient_sums(self, bound: CollapsedBound) -> GradientSums:
        """The derivatives of a bound through rows that are yet to be added."""
        return GradientSums.of(bound)

    def order(self, theta: Floats, x: Items, count: int) -> InducingSelection:
        """Rows of x that are inducing points for the kernel at θ, the most important first."""
        x = take_items(x, slice(0, max(CANDIDATES, 2 * count)))
        return choose_points(self.function(theta), x, count, middle_first(x))

    def choose(self, theta: Floats, x: Items, count: int) -> Items:
        """Inducing points for the kernel at θ, among the rows x."""
        chosen = self.order(theta, x, count)
        # a kernel that is zero on all rows has none: any row will do
        return take_items(x, chosen.rows if len(chosen.rows) else np.array([0]))


def noise_level(split: SplitKernel, points: Items) -> float:
    """The variance of the kernel's white noise, which must be that of all rows."""
    noise = split.noise_variance(points)
    if len(noise) and np.ptp(noise) > 1e-9 * np.abs(noise).max():
        raise InputError(
            "The noise of this kernel differs from row to row, and inducing points need one.",
            remedy="Add White() to the kernel instead of multiplying with it.",
        )
    return float(noise[0]) if len(noise) else 0.0


class BoundOfRows:
    """θ ↦ (F, gradient) with fixed inducing points."""

    def __init__(
        self, model: InducingModel, points: Items, rows: ReducibleRows, *, single: bool = False
    ) -> None:
        self.model, self.points, self.rows, self.single = model, points, rows, single
        self.evaluations = 0
        self.highest: tuple[Floats, CollapsedBound] | None = None

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Value and gradient; −inf where there is no finite bound."""
        value, gradient, _ = self.with_points(theta, self.points)
        return value, gradient

    def with_points(self, theta: Floats, points: Items) -> tuple[float, Floats, Floats]:
        """Value and gradients by θ and by other points."""
        self.evaluations += 1
        nothing = -np.inf, np.zeros(len(theta)), np.zeros_like(points)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                bound = self.model.bound(theta, points, self.rows, single=self.single)
                value = bound.lower
                if not np.isfinite(value):
                    return nothing
                total, moves = self.rows.reduce(self.model.gradient_sums(bound)).total()
        except (FloatingPointError, ValueError, np.linalg.LinAlgError):
            return nothing
        split = self.model.at(theta)
        gradient = np.zeros(len(theta))
        gradient[split.entries] = total[:-1]
        point = take_items(points, slice(0, 1))
        gradient += split.noise_gradient_sums(point, np.array([total[-1] / bound.noise]))
        if not (np.isfinite(gradient).all() and np.isfinite(moves).all()):
            return nothing
        if self.highest is None or value >= self.highest[1].lower:
            self.highest = theta.copy(), bound
        return value, gradient, moves

    def bound_at(self, theta: Floats) -> CollapsedBound:
        """The bound at θ: that of an evaluation where it was the highest."""
        if self.highest is not None and np.array_equal(self.highest[0], theta):
            return self.highest[1]
        return self.model.bound(theta, self.points, self.rows, single=False)


@dataclass(frozen=True)
class Searched:
    """Hyperparameters, inducing points and the last ascent."""

    points: Items
    best: learning.AscentEnd
    evaluations: int

    @property
    def learned(self) -> learning.Learned:
        """The last ascent as what was learned."""
        best = self.best
        return learning.Learned(
            best.theta, best.value, best.gradient, best.curvature, best.at_limit, (),
            self.evaluations, best.status,
        )  # fmt: skip


def alternate(
    model: InducingModel,
    rows: SampleRows,
    theta: Floats,
    box: learning.Bounds,
    count: int,
    curvature: Floats | None,
) -> Searched:
    """Points and hyperparameters by turns, from a start; one turn where points will move."""
    value, evaluations, theta = -np.inf, 0, _near(theta, box)
    moves = movable(model.function(theta), rows.x)
    level_gain = 1e-4  # the gain in nats a row that ends the turns
    for _ in range(1 if moves else 6):  # turns of choosing points and climbing, at most
        points = model.choose(theta, rows.x, count)
        objective = BoundOfRows(model, points, rows, single=rows.n > DOUBLE_ROWS)
        best = learning.maximize(
            objective, theta, box, curvature=curvature, tolerance=0.1 * level_gain * rows.weight,
            max_evaluations=8 if moves else 25,
        )  # fmt: skip
        evaluations += objective.evaluations
        gained = best.value - value
        theta, value, curvature = best.theta, best.value, best.curvature
        if gained < level_gain * rows.weight or n_items(points) >= rows.n:
            break
    return Searched(points, best, evaluations)


def move_points(
    model: InducingModel, rows: SampleRows, searched: Searched, box: learning.Bounds, steps: int
) -> Searched:
    """Hyperparameters and points climbed together, where the kernel has derivatives by points.

    What is climbed is the gain over the start in nats a row, by steps from it in units of the
    spread of the points, to as many digits as do not depend on the units of the table.
    """
    points, theta = searched.points, _near(searched.best.theta, box)
    if not movable(model.function(theta), points):
        return searched
    unit = np.where(points.std(axis=0) > 0.0, points.std(axis=0), 1.0)
    p, shape = len(theta), points.shape
    objective = BoundOfRows(model, points, rows, single=rows.n > DOUBLE_ROWS)
    before, *_ = objective.with_points(theta, points)

    def place(v: Floats) -> tuple[Floats, Floats]:
        return theta + v[:p], points + v[p:].reshape(shape) * unit

    def loss(v: Floats) -> tuple[float, Floats]:
        value, gradient, moves = objective.with_points(*place(v))
        slope = np.append(gradient, (moves * unit).ravel()) / rows.weight
        return -float(np.round((value - before) / rows.weight, 8)), -SLOPE_GRID * np.round(
            slope / SLOPE_GRID
        )

    free = np.full(points.size, np.inf)
    ends = [THETA_GRID * np.round((end - theta) / THETA_GRID) for end in (box.low, box.high)]
    # Gain in nats a row that ends the steps of points and hyperparameters together.
    descent_result = minimize(
        loss, np.zeros(p + points.size), jac=True, method="L-BFGS-B",
        bounds=np.column_stack([np.append(ends[0], -free), np.append(ends[1], free)]),
        options={"maxiter": steps, "maxcor": 20, "ftol": 5e-6},
    )  # fmt: skip
    theta, points = place(descent_result.x)
    value, gradient, _ = objective.with_points(theta, points)
    if not value > searched.best.value:
        return searched
    best = replace(searched.best, theta=theta, value=value, gradient=gradient)
    return Searched(points, best, searched.evaluations + objective.evaluations)


def _near(theta: Floats, box: learning.Bounds) -> Floats:
    """A start near θ that does not depend on its last digits."""
    steps = np.round((theta - box.low) / THETA_GRID)
    return np.asarray(np.minimum(box.low + THETA_GRID * steps, box.high))


# -------------------------------------------------------------------------------------------------
# From a sample of the rows to all of them, with a number of inducing points.
#
# Points and hyperparameters by turns on the bound of the sample, then both climbed together; then
# the sums of all rows, and a few steps of the hyperparameters on their bound where that is little
# work.


#: Rows of the sample for the bound, at least.
LEAST_ROWS = 4_000


@dataclass(frozen=True)
class AllRows:
    """All rows, in memory or not."""

    rows: Rows

    def reduce(self, statistic: S) -> S:
        """The statistic of all rows, in one pass."""
        return reduce_rows(self.rows, statistic)


@dataclass(frozen=True)
class InducingFit:
    """The kernel, its points, the bounds on the evidence of all rows, and how they were learned."""

    kernel: Kernel
    points: Items
    bound: CollapsedBound
    learned: learning.Learned | None
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

    def __init__(self, rows: Rows, sample: HashedSample, model: InducingModel) -> None:
        self.rows, self.sample, self.model = AllRows(rows), sample, model
        self.theta = model.kernel.theta
        self.curvature: Floats | None = None
        self.box: learning.Bounds | None = None
        self.first: learning.Learned | None = None
        self.first_rows = 0

    @abstractmethod
    def is_exact(self, count: int) -> bool:
        """Whether the first hyperparameters are those of all rows, each of which is a point."""

    def with_points(self, count: int, *, automatic: bool) -> InducingFit:
        """The fit with so many points, or fewer that span all rows."""
        if self.box is None or self.is_exact(count):
            points = self.model.choose(self.theta, self.sample.x, count)
            return self._finish_fit(points, self.first, self.first_rows, automatic)
        size = max(LEAST_ROWS, 20 * count)  # rows for every point
        some = SampleRows.of(self.sample, size)
        searched = alternate(
            self.model, some, self.theta, self.box, count, self._scale_by(some.weight)
        )
        if n_items(searched.points) < len(self.sample.w):
            # Steps of points and hyperparameters together.
            searched = move_points(self.model, some, searched, self.box, 80)
        self.theta = searched.best.theta
        self.curvature = searched.best.curvature / some.weight
        return self._on_all_rows(searched, some, automatic)

    def _scale_by(self, weight: float) -> Floats | None:
        return None if self.curvature is None else self.curvature * weight

    def _on_all_rows(self, searched: Searched, some: SampleRows, automatic: bool) -> InducingFit:
        """A few steps on the bound of all rows; to the maximum where the sample is all rows."""
        assert self.box is not None
        weight, m = self.sample.weight, n_items(searched.points)
        small = self.sample.whole and len(self.sample.w) <= LEAST_ROWS
        # Multiplications on all rows that steps on their bound may cost, and such steps at most.
        steps = int(min(6, 3e11 // max(5.0 * weight * m * m, 1.0)))
        if steps < 2 and not small:
            growth, last = weight / some.weight, searched.learned
            learned = replace(
                last, gradient=growth * last.gradient, curvature=growth * last.curvature
            )
            return self._finish_fit(searched.points, learned, some.n, automatic)
        objective = BoundOfRows(self.model, searched.points, self.rows, single=not small)
        best = learning.maximize(
            objective, self.theta, self.box, curvature=self._scale_by(weight),
            tolerance=1e-13 if small else 1e-6 * weight, max_evaluations=100 if small else steps,
        )  # fmt: skip
        self.theta, self.curvature = best.theta, best.curvature / weight
        learned = replace(searched, best=best).learned
        bound = objective.bound_at(best.theta) if small else None
        return self._finish_fit(searched.points, learned, some.n, automatic, bound, all_rows=True)

    def _finish_fit(
        self,
        points: Items,
        learned: learning.Learned | None,
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


# -------------------------------------------------------------------------------------------------
# A Gaussian process with inducing points: how hyperparameters and points are found.
#
# 1. a sample of the rows, by the hashes of their content (one pass over the rows);
# 2. hyperparameters by the exact evidence of a few of them;
# 3. points and hyperparameters by turns on the bound of the sample, then both climbed together;
# 4. the sums of all rows (one pass), and a few steps on their bound where that is little work.
#
# With ``n_inducing="auto"`` the number of points is raised until the evidence is known to GAP nats
# a row, or MOST_POINTS are used.


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
    sample = sample_rows(rows, SAMPLE_ROWS)
    if sample.x is None:
        raise InputError("No row has a positive weight.", remedy="Give at least one row.")
    noise, alpha = known
    if alpha is None:
        alpha = least_noise(kernel, training_rows(sample, targets, noise, SAMPLE_ROWS), plan)
    search = RegressionSearch(rows, sample, InducingModel(kernel, targets, noise + alpha), plan)
    if count is not None:
        return search.with_points(min(count, len(sample.w)), automatic=False)
    most = min(MOST_POINTS, len(sample.w))
    count = min(search.first_count(), most)
    fitted_model = search.with_points(count, automatic=True)
    # fewer points than asked for span the rows: more would be of no use
    while fitted_model.gap > GAP and n_items(fitted_model.points) == count < most:
        count = min(2 * count, most)
        fitted_model = search.with_points(count, automatic=True)
    return fitted_model


def check_count(n_inducing: Any) -> int | None:
    """A number of points; None for "auto"."""
    if isinstance(n_inducing, str) and n_inducing == "auto":
        return None
    whole = isinstance(n_inducing, int | np.integer) and not isinstance(n_inducing, bool)
    if not whole or n_inducing < 1:
        raise InputError(
            f"n_inducing={n_inducing!r} is not a number of inducing points.",
            remedy='Give a positive integer, "auto", or None for the exact process.',
        )
    return int(n_inducing)


def training_rows(sample: HashedSample, targets: Targets, noise: float, count: int) -> ProcessRows:
    """The first rows of a sample, for the exact evidence."""
    x = take_items(sample.x, slice(0, count))
    columns = targets.of(x, sample.y[:count])
    k, w = targets.outputs, sample.w[:count]
    return ProcessRows(x, columns[:, :k], w, np.full(len(w), noise), columns[:, k:])


class RegressionSearch(InducingSearch):
    """Hyperparameters by the exact evidence of some rows first."""

    def __init__(self, rows: Rows, sample: HashedSample, model: InducingModel, plan: Plan) -> None:
        super().__init__(rows, sample, model)
        if plan.optimizer is None or not len(self.theta):
            return
        few = self._training(EXACT_ROWS)
        first = learn_kernel(model.kernel, few, plan)
        natural = learning.natural_kernel(model.kernel, self._training(SAMPLE_ROWS))
        self.theta = natural.theta
        if np.isfinite(first.value):
            self.first, self.first_rows, self.theta = first, len(few.w), first.theta
            self.curvature = first.curvature / few.w.sum()
        self.box = learning.box_around(natural, self.theta)

    def _training(self, count: int) -> ProcessRows:
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


# -------------------------------------------------------------------------------------------------
# Certificate of a process with inducing points: bounds on the evidence of all rows.


def certify(fit: InducingFit, at: str = "the given hyperparameters") -> Certificate:
    """Lower and upper bound, their gap a row, what was added to factor, and the slope.

    ``at`` says where hyperparameters that were not learned come from.
    """
    bound, m = fit.bound, n_items(fit.points)
    notes = [
        f"The log evidence is between {bound.lower:.8g} and {bound.upper:.8g}: "
        f"known to {fit.gap:.2g} nats a row.",
        _gap_note(fit, m),
    ]
    jitter = bound.inducing.jitter
    if jitter:
        notes.append(
            f"To factor the kernel matrix of the points, {jitter:.0e} of its mean diagonal was "
            "added to it; the bounds hold with it."
        )
    if fit.learned is not None:
        at = learned_where([fit.learned], "lower bound")
        notes.append(_learning_note(fit))
    return Certificate(
        claim=f"The posterior of a Gaussian process through {m} inducing points, at {at}",
        primal=-bound.lower,
        statistic="sums of all rows in double precision",
        notes=tuple(notes),
        promised=(),
    )


def _gap_note(fit: InducingFit, m: int) -> str:
    if fit.gap <= GAP:
        return f"That is within {GAP:g} nats a row: the points stand for all rows."
    if fit.automatic and m >= MOST_POINTS:
        return f"The budget of {MOST_POINTS} points is spent; n_inducing=… allows more."
    if fit.automatic:
        return "No other row would be a better point: the rest is noise or rounding."
    left = 0.5 * fit.bound.residual_trace / fit.bound.noise / max(fit.bound.sums.weight, 1.0)
    return (
        f"Of that the lower bound gives away {left:.2g} for variance that the points leave; the "
        "upper one has to allow for all of it in one direction, and is far off in many columns."
    )


def _learning_note(fit: InducingFit) -> str:
    assert fit.learned is not None
    rows = f"{fit.sample_rows:,} rows" + (", then of all rows" if fit.all_rows else "")
    return (
        f"They were learned on the bound of {rows}; its derivative there is at most "
        f"{largest_slope(fit.learned):.1g} nats per standard error."
    )


def largest_slope(learned: learning.Learned) -> float:
    """The largest derivative where learning ended, in nats per standard error."""
    curvature = np.maximum(np.diagonal(learned.curvature), 1.0)
    slopes = np.abs(learned.gradient) / np.sqrt(curvature) * ~learned.at_limit
    return float(slopes.max(initial=0.0))


def learned_where(learned: Sequence[learning.Learned], bound: str) -> str:
    """Whether hyperparameters maximize a bound, or were learned by it in few steps."""
    # Derivative in nats per standard error up to which an ascent has ended.
    ended = max(largest_slope(candidate) for candidate in learned) <= 0.05
    return f"hyperparameters {'that maximize' if ended else 'learned in few steps on'} its {bound}"
