"""Number of clusters: every candidate is tried, and the mean silhouette decides."""

from __future__ import annotations

import math

import numpy as np

from separatrix.cluster.scatter import scatter_decomposition
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.study.clustering.methods import Search
from separatrix.study.clustering.result import Trial

Numbers = tuple[int, ...]

#: Largest number of clusters that is tried, and initializations of each.
MOST, STARTS = 10, 5
#: Mean size of a cluster, at least.
ROWS_EACH = 4


def numbers_to_try(x: Floats, requested: int | None) -> Numbers:
    """2 … 10, fewer for small tables; refuses a number that the table cannot have."""
    n, distinct = len(x), len(np.unique(x, axis=0))
    if distinct == 1:
        raise InputError(
            f"all {n} rows are equal: there is nothing to partition.",
            remedy="Check how the columns are read (--kind), or leave fewer out.",
        )
    usual = range(2, max(2, min(MOST, n // ROWS_EACH, distinct)) + 1)
    if requested is None:
        if n < 3:
            raise InputError(f"{n} rows are too few to look for clusters.", remedy="Give more.")
        return tuple(usual)
    if requested < 2:
        raise InputError(
            f"-k {requested} is no partition: one cluster is the whole table.",
            remedy="Use -k 2 or more, or -k auto.",
        )
    if requested >= n:
        raise InputError(
            f"-k {requested} is too many for {n} rows: a cluster has two rows or more somewhere.",
            remedy=f"Use at most -k {max(2, n // 2)}, or -k auto.",
        )
    if requested > distinct:
        raise InputError(
            f"-k {requested} is too many: the table has only {distinct} different rows.",
            remedy=f"Use at most -k {distinct}, or -k auto.",
        )
    return tuple(sorted({*usual, requested}))


def trials_of(search: Search, partitions: dict[int, Ints], z: Floats) -> tuple[Trial, ...]:
    """Silhouette and within-cluster sum of squares (of ``z``) for every number of clusters."""
    return tuple(
        Trial(
            k,
            search.score(labels),
            float(scatter_decomposition(z, labels).within.sum()),
            int(np.bincount(labels).min()),
        )
        for k, labels in partitions.items()
    )


def best(trials: tuple[Trial, ...]) -> Trial:
    """The greatest silhouette; the fewest clusters of equally good ones."""
    return max(trials, key=lambda trial: (_or_least(trial.silhouette), -trial.k))


def best_silhouette(
    search: Search, numbers: Numbers, rng: np.random.Generator, starts: int
) -> float:
    """The greatest mean silhouette over numbers of clusters."""
    return max(_or_least(search.score(search.labels(k, rng, starts))) for k in numbers)


def _or_least(score: float) -> float:
    return -1.0 if math.isnan(score) else score


def reason(trials: tuple[Trial, ...], chosen: Trial, requested: int | None) -> str:
    """Why this number of clusters."""
    greatest = best(trials)
    if requested is None:
        if math.isnan(chosen.silhouette):
            return f"{chosen.k} clusters, the fewest: any number only cuts off a few rows."
        if len(trials) == 1:
            return f"{chosen.k} clusters: the table is too small to try more."
        return (
            f"{chosen.k} clusters have the greatest silhouette ({chosen.silhouette:.2f}) of "
            f"{trials[0].k} to {trials[-1].k}."
        )
    if greatest.k == requested:
        return f"{requested} clusters were requested; no other number has a greater silhouette."
    if math.isnan(chosen.silhouette):
        return f"{requested} clusters were requested; all but one of them hold a few rows."
    return (
        f"{requested} clusters were requested (silhouette {chosen.silhouette:.2f}); "
        f"{greatest.k} have the greatest ({greatest.silhouette:.2f})."
    )
