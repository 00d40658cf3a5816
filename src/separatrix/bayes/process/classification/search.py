"""Hyperparameters of a process of two classes, by the maximum of Laplace's evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.bayes.process.classification.binary import BinaryProcess
from separatrix.bayes.process.classification.laplace import evidence_and_gradient
from separatrix.bayes.process.learning import Sample, learn
from separatrix.bayes.process.trust_region import Box, Objective
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, take_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

#: Rows up to which starts are compared on all of them, else on so many.
WHOLE, SAMPLE = 500, 256
#: Gain in nats that the last step may leave: of small tables, and of others.
TOLERANCE, LARGE_TOLERANCE = 1e-13, 1e-8


@dataclass(frozen=True)
class Search:
    """Where the search for hyperparameters begins and where it may go.

    ``optimizer`` is scikit-learn's callable, or None for the library's own. Starts and box are
    those of u in θ = θ₀ + D u, or of θ itself where there are no ``directions`` D.
    """

    starts: Sequence[Floats]
    box: Box
    optimizer: Callable[..., Any] | None = None
    origin: Floats | None = None
    directions: Floats | None = None

    def theta(self, u: Floats) -> Floats:
        """θ at u."""
        if self.directions is None or self.origin is None:
            return u
        return np.asarray(self.origin + self.directions @ u)

    def along(self, objective: Objective) -> Objective:
        """The objective as a function of u."""
        directions = self.directions
        if directions is None:
            return objective

        def value_and_gradient(u: Floats) -> tuple[float, Floats]:
            value, gradient = objective(self.theta(u))
            return value, np.asarray(directions.T @ gradient)

        return value_and_gradient


class LaplaceEvidence:
    """θ ↦ (log evidence, gradient) of some rows; each mode starts from the one before."""

    def __init__(self, kernel: Kernel, x: Items, y: Floats, w: Floats, max_steps: int) -> None:
        self.kernel, self.x, self.y, self.w, self.max_steps = kernel, x, y, w, max_steps
        self.slope: Floats | None = None

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Value and gradient; −inf where the kernel has no finite, positive matrix."""
        nothing = -np.inf, np.zeros(len(theta))
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient, mode = evidence_and_gradient(
                    self.kernel.with_theta(theta),
                    self.x,
                    self.y,
                    self.w,
                    self.slope,
                    self.max_steps,
                )
        except (FloatingPointError, ValueError):
            return nothing
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return nothing
        self.slope = mode.slope
        return value, gradient


def fit_binary(
    kernel: Kernel, x: Items, y: Floats, w: Floats, search: Search | None, max_steps: int = 100
) -> BinaryProcess:
    """The process with the hyperparameters of the highest evidence, or with those given."""
    if search is None or not len(kernel.theta):
        return BinaryProcess.of(kernel, x, y, w, max_steps=max_steps)
    objective = LaplaceEvidence(kernel, x, y, w, max_steps)
    if search.optimizer is not None:
        best = kernel.with_theta(search.theta(_by_callable(search, search.along(objective))))
        return BinaryProcess.of(best, x, y, w, max_steps=max_steps)
    samples = []
    if len(y) > WHOLE:
        some = spread_rows(y, SAMPLE, np.random.default_rng(0).permutation(len(y)))
        part = LaplaceEvidence(kernel, take_items(x, some), y[some], w[some], max_steps)
        samples = [Sample(search.along(part), len(y) / len(some))]
    found = learn(
        search.along(objective),
        search.starts,
        search.box,
        samples=samples,
        tolerance=LARGE_TOLERANCE if samples else TOLERANCE,
    )
    if not np.isfinite(found.value):
        return BinaryProcess.of(kernel, x, y, w, max_steps=max_steps)
    best = kernel.with_theta(search.theta(found.theta))
    return BinaryProcess.of(best, x, y, w, objective.slope, max_steps, found, search.directions)


class Kernels(tuple[Kernel, ...]):
    """The kernel of each process, with the hyperparameters of all in turn as ``theta``."""

    __slots__ = ()

    @property
    def theta(self) -> Floats:
        """Logarithms of the hyperparameters of the first, then of the second, and so on."""
        return np.concatenate([kernel.theta for kernel in self])


def thetas_of(processes: Sequence[BinaryProcess], theta: Floats) -> list[Floats]:
    """θ of each process, from one that all share or from those of all in turn."""
    own = [len(one.kernel.theta) for one in processes]
    shared = len(theta) == own[0]
    if not shared and len(theta) != sum(own):
        raise InputError(f"theta has {len(theta)} entries; a process has {own[0]} hyperparameters.")
    return [theta] * len(own) if shared else np.split(theta, np.cumsum(own)[:-1])


def spread_rows(y: Floats, count: int, order: Ints) -> Ints:
    """About ``count`` rows, the first in order of each class by its share, at least a quarter."""
    chosen = []
    for label in (0.0, 1.0):
        own = order[y[order] == label]
        chosen.append(own[: max(count // 4, round(count * len(own) / len(y)))])
    return np.sort(np.concatenate(chosen))


def _by_callable(search: Search, objective: Objective) -> Floats:
    """By scikit-learn's protocol: optimizer(obj_func, initial_theta, bounds=bounds)."""

    def loss(theta: Floats, eval_gradient: bool = True) -> Any:
        value, gradient = objective(np.asarray(theta, dtype=float))
        return (-value, -gradient) if eval_gradient else -value

    assert search.optimizer is not None
    bounds = np.column_stack([search.box.low, search.box.high])
    ends = [search.optimizer(loss, start, bounds=bounds) for start in search.starts]
    return np.asarray(min(ends, key=lambda end: float(end[1]))[0], dtype=float)
