"""Hyperparameters and inducing points by turns: points for the kernel, then the kernel for them.

The points are chosen for the hyperparameters, the bound is climbed with the points fixed, and the
points are chosen again, until the bound no longer gains. All of this is done on a sample of the
rows; the last ascent is on all of them and takes few steps, because the sample has shown the
curvature.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from separatrix.bayes.process.inducing.bound import CollapsedBound
from separatrix.bayes.process.inducing.gradient import GradientSums
from separatrix.bayes.process.inducing.points import InducingPoints
from separatrix.bayes.process.inducing.sample import HashedSample
from separatrix.bayes.process.inducing.selection import Chosen, choose_points, middle_first
from separatrix.bayes.process.inducing.sums import InducingSums, Targets
from separatrix.bayes.process.inducing.tangent import movable
from separatrix.bayes.process.learning import Learned
from separatrix.bayes.process.noise import SplitKernel
from separatrix.bayes.process.trust_region import Box, Maximum, maximize
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.rows import S

#: Distinct rows on which hyperparameters are learned before all rows are; points are chosen among.
SAMPLE_ROWS, CANDIDATES = 20_000, 8_000
#: Rows up to which the search is in double precision too.
DOUBLE_ROWS = 4_000
#: Turns of choosing points and climbing, at most, and the gain in nats a row that ends them.
TURNS, LEVEL_GAIN = 6, 1e-4
#: Gain in nats a row that ends the steps of points and hyperparameters together.
ENOUGH = 5e-6
#: Slopes and hyperparameters are rounded to these for those steps, which else would make much of
#: last digits, and so of the units of the table.
SLOPE_GRID, THETA_GRID = 2.0**-17, 2.0**-10


class Source(Protocol):
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
class Model:
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
        found = self.at(theta).function
        assert found is not None
        return found

    def noise_at(self, theta: Floats, x: Items) -> float:
        """The variance of y about f."""
        noise = self.noise + noise_level(self.at(theta), x)
        if not noise > 0.0:
            raise InputError(
                "Inducing points need noise: the variance of y about f is zero.",
                remedy="Add White() to the kernel, or give alpha above zero.",
            )
        return noise

    def bound(self, theta: Floats, points: Items, rows: Source, *, single: bool) -> CollapsedBound:
        """The bound of some rows with given points."""
        inducing = InducingPoints.of(self.function(theta), points)
        noise = self.noise_at(theta, points)
        return CollapsedBound(rows.reduce(InducingSums(inducing, self.targets, single)), noise)

    def gradient_sums(self, bound: CollapsedBound) -> GradientSums:
        """The derivatives of a bound through rows that are yet to be added."""
        return GradientSums.of(bound)

    def order(self, theta: Floats, x: Items, count: int) -> Chosen:
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
    found = split.noise_variance(points)
    if len(found) and np.ptp(found) > 1e-9 * np.abs(found).max():
        raise InputError(
            "The noise of this kernel differs from row to row, and inducing points need one.",
            remedy="Add White() to the kernel instead of multiplying with it.",
        )
    return float(found[0]) if len(found) else 0.0


class BoundOfRows:
    """θ ↦ (F, gradient) with fixed inducing points."""

    def __init__(self, model: Model, points: Items, rows: Source, *, single: bool = False) -> None:
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
                found, moves = self.rows.reduce(self.model.gradient_sums(bound)).total()
        except (FloatingPointError, ValueError, np.linalg.LinAlgError):
            return nothing
        split = self.model.at(theta)
        gradient = np.zeros(len(theta))
        gradient[split.entries] = found[:-1]
        one = take_items(points, slice(0, 1))
        gradient += split.noise_gradient_sums(one, np.array([found[-1] / bound.noise]))
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
    best: Maximum
    evaluations: int

    @property
    def learned(self) -> Learned:
        """The last ascent as what was learned."""
        one = self.best
        return Learned(
            one.theta, one.value, one.gradient, one.curvature, one.at_limit, (),
            self.evaluations, one.status,
        )  # fmt: skip


def alternate(
    model: Model,
    rows: SampleRows,
    theta: Floats,
    box: Box,
    count: int,
    curvature: Floats | None,
) -> Searched:
    """Points and hyperparameters by turns, from a start; one turn where points will move."""
    value, evaluations, theta = -np.inf, 0, _near(theta, box)
    moves = movable(model.function(theta), rows.x)
    for _ in range(1 if moves else TURNS):
        points = model.choose(theta, rows.x, count)
        objective = BoundOfRows(model, points, rows, single=rows.n > DOUBLE_ROWS)
        best = maximize(
            objective, theta, box, curvature=curvature, tolerance=0.1 * LEVEL_GAIN * rows.weight,
            max_evaluations=8 if moves else 25,
        )  # fmt: skip
        evaluations += objective.evaluations
        gained = best.value - value
        theta, value, curvature = best.theta, best.value, best.curvature
        if gained < LEVEL_GAIN * rows.weight or n_items(points) >= rows.n:
            break
    return Searched(points, best, evaluations)


def move_points(
    model: Model, rows: SampleRows, searched: Searched, box: Box, steps: int
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
    found = minimize(
        loss, np.zeros(p + points.size), jac=True, method="L-BFGS-B",
        bounds=np.column_stack([np.append(ends[0], -free), np.append(ends[1], free)]),
        options={"maxiter": steps, "maxcor": 20, "ftol": ENOUGH},
    )  # fmt: skip
    theta, points = place(found.x)
    value, gradient, _ = objective.with_points(theta, points)
    if not value > searched.best.value:
        return searched
    best = replace(searched.best, theta=theta, value=value, gradient=gradient)
    return Searched(points, best, searched.evaluations + objective.evaluations)


def _near(theta: Floats, box: Box) -> Floats:
    """A start near θ that does not depend on its last digits."""
    steps = np.round((theta - box.low) / THETA_GRID)
    return np.asarray(np.minimum(box.low + THETA_GRID * steps, box.high))
