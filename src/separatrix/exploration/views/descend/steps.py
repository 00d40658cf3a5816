"""Steps down a surface, and the updates of a perceptron, one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.exploration.views.descend.surface import Surface
from separatrix.optimize.gradient_descent import gradient_descent
from separatrix.perceptron.training import TrainingOptions, epoch_orders
from separatrix.perceptron.training_rows import PerceptronState, TrainingRows
from separatrix.rows.block import Floats, Ints


def descend(f: Surface, start: Floats, step: float, steps: int) -> tuple[Floats, Floats, str]:
    """Points, values and status of gradient descent with a constant step."""
    points: list[Floats] = []

    def record(b: Floats, _: float) -> bool:
        points.append(b.copy())
        return False

    with np.errstate(over="ignore", invalid="ignore"):
        found = gradient_descent(f, start, step=step, tol=1e-10, max_iter=steps, callback=record)
    return np.array(points), np.asarray(found.history), str(found.status)


def stochastic(
    f: Surface, start: Floats, step: float, steps: int, seed: int
) -> tuple[Floats, Floats, str]:
    """The same with the gradient of one row a step, drawn anew in every pass over the rows."""
    rng, b = np.random.default_rng(seed), np.array(start, dtype=float)
    points, order = [b], np.zeros(0, dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(steps):
            order = rng.permutation(len(f.z)) if not len(order) else order
            b, order = b - step * f.part(b, order[:1]), order[1:]
            points.append(b)
        found = np.array(points)
        values = f.values(found)
    return found, values, "diverged" if not values[-1] <= 10 * values[0] else "limit reached"


@dataclass(frozen=True)
class Updates:
    """Weights (intercept first) after each update, the row of each mistake, and its epoch."""

    weights: Floats
    rows: Ints
    epochs: Ints
    converged: bool


def perceptron_updates(x: Floats, positive: Ints, epochs: int, most: int) -> Updates:
    """Updates of ``Perceptron(order="given", max_epochs=epochs)``, at most so many of them."""
    n, d = x.shape
    rows = TrainingRows(np.ascontiguousarray(x), positive, np.array([1]), np.ones(n), constant=True)
    zero = np.zeros((1, 1 + d))
    rows.start(PerceptronState(zero, zero, 0))
    weights = [zero[0].copy()]
    wrong: list[int] = []
    when: list[int] = []
    streak, longest = np.zeros(1, np.int64), np.full(1, np.iinfo(np.int64).max)
    for epoch, order in enumerate(epoch_orders(TrainingOptions(max_epochs=epochs), n, None), 1):
        before = len(wrong)
        for i in order:
            count = np.zeros(1, np.int64)
            rows.run_epoch(np.array([i]), count, streak, longest, np.zeros(3, np.int64))
            if count[0]:
                weights.append(rows.w[0].copy())
                wrong.append(int(i))
                when.append(epoch)
            if len(wrong) >= most:
                return Updates(np.array(weights), np.array(wrong), np.array(when), False)
        if len(wrong) == before:
            return Updates(np.array(weights), np.array(wrong), np.array(when), True)
    return Updates(np.array(weights), np.array(wrong), np.array(when), False)
