"""How many clusters: every number is tried, and the silhouette decides."""

from __future__ import annotations

import math

import numpy as np

from separatrix.cluster.scatter import scatter_decomposition
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.study.clustering.methods import Labels, Search
from separatrix.study.clustering.result import Step

Numbers = tuple[int, ...]

#: Numbers of clusters that are tried, at most; starts of each.
MOST, STARTS = 10, 5
#: A cluster has so many rows on average, at least.
ROWS_EACH = 4


def numbers_to_try(x: Floats, asked: int | None) -> Numbers:
    """2 … 10, fewer for small tables; refuses a number that the table cannot have."""
    n, different = len(x), len(np.unique(x, axis=0))
    if different == 1:
        raise InputError(
            f"all {n} rows are equal: there is nothing to part.",
            remedy="Check how the columns are read (--kind), or leave fewer out.",
        )
    if asked is None:
        if n < 3:
            raise InputError(f"{n} rows are too few to look for clusters.", remedy="Give more.")
        return _up_to(n, different)
    if asked < 2:
        raise InputError(
            f"-k {asked} is no parting: one cluster is the whole table.",
            remedy="Use -k 2 or more, or -k auto.",
        )
    if asked >= n:
        raise InputError(
            f"-k {asked} is too many for {n} rows: a cluster has two rows or more somewhere.",
            remedy=f"Use at most -k {max(2, n // 2)}, or -k auto.",
        )
    if asked > different:
        raise InputError(
            f"-k {asked} is too many: the table has only {different} different rows.",
            remedy=f"Use at most -k {different}, or -k auto.",
        )
    return tuple(sorted({*_up_to(n, different), asked}))


def _up_to(n: int, different: int) -> Numbers:
    return tuple(range(2, max(2, min(MOST, n // ROWS_EACH, different)) + 1))


def tried(search: Search, numbers: Numbers, rng: np.random.Generator) -> dict[int, Labels]:
    """The clusters for every number."""
    return {k: search.labels(k, rng, STARTS) for k in numbers}


def steps_of(search: Search, found: dict[int, Labels], z: Floats) -> tuple[Step, ...]:
    """Silhouette and scatter (of ``z``) for every number."""
    return tuple(
        Step(
            k,
            search.judged(labels),
            float(scatter_decomposition(z, labels).within.sum()),
            int(np.bincount(labels).min()),
        )
        for k, labels in found.items()
    )


def best(steps: tuple[Step, ...]) -> Step:
    """The greatest silhouette; the fewest clusters of equally good ones."""
    return max(steps, key=lambda step: (_or_least(step.silhouette), -step.k))


def best_silhouette(
    search: Search, numbers: Numbers, rng: np.random.Generator, starts: int
) -> float:
    """The greatest silhouette over numbers of clusters: what a search for groups ends with."""
    return max(_or_least(search.judged(search.labels(k, rng, starts))) for k in numbers)


def _or_least(score: float) -> float:
    return -1.0 if math.isnan(score) else score
