"""Search without derivatives for a low value of a function that has several minima.

    minimize f(x) over low ≤ x ≤ high

Simulated annealing jumps far at first, less and less far later, and takes a higher value with a
probability that falls with the temperature; differential evolution moves the points of a population
by differences of others. Both are SciPy's. Neither proves anything: what is found is a start for a
solver that ends at a local minimum, and the number of evaluations says how much was tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from separatrix.arrays import Floats

SEARCHES = ("annealing", "evolution")


@dataclass(frozen=True)
class LowPoint:
    """The lowest point that a search found, and the evaluations that it took."""

    x: Floats
    value: float
    evaluations: int


def search_globally(
    f: Callable[[Floats], float],
    low: Floats,
    high: Floats,
    start: Floats,
    *,
    solver: str,
    max_evaluations: int,
    seed: int,
) -> LowPoint:
    """The lowest point among about ``max_evaluations``, ``start`` being one of them."""
    count, best, lowest = 0, start, f(start)

    def evaluate(x: Floats) -> float:
        nonlocal count, best, lowest
        count += 1
        value = f(x)
        if value < lowest:
            best, lowest = x.copy(), value
        return value

    bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    rng, x0 = np.random.default_rng(seed), np.clip(start, low, high)
    if solver == "annealing":
        optimize.dual_annealing(
            evaluate, bounds, x0=x0, maxfun=max_evaluations, no_local_search=True, rng=rng
        )
    else:
        # Points of a population for each coordinate, as SciPy has them.
        generation = min(15 * len(low), max(5, max_evaluations // 10))
        optimize.differential_evolution(
            evaluate,
            bounds,
            x0=x0,
            init=_population(low, high, generation, rng),
            maxiter=max(1, max_evaluations // generation - 1),
            polish=False,
            tol=0.0,
            rng=rng,
        )
    return LowPoint(best, lowest, count)


def _population(low: Floats, high: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Points of which each coordinate has one in each of n equal parts of its range."""
    parts = np.argsort(rng.random((n, len(low))), axis=0)
    return np.asarray(low + (parts + rng.random((n, len(low)))) / n * (high - low))
