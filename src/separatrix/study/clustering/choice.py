"""Number of clusters: every candidate is tried, and the mean silhouette decides."""

from __future__ import annotations

import math

import numpy as np

from separatrix.cluster.scatter import scatter_decomposition
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.study.clustering.result import Trial
from separatrix.study.clustering.search import Partition, Search

Numbers = tuple[int, ...]

#: Initializations of every number of clusters.
STARTS = 5
#: Mean size of a cluster, at least.
ROWS_EACH = 4


def numbers_to_try(n: int, distinct: int, requested: int | None, most: int) -> Numbers:
    """2 … ``most``, fewer for ``n`` rows of which few are ``distinct``; refuses impossible ones."""
    if most < 2:
        raise InputError(
            f"max_clusters={most} leaves nothing to try: one cluster is the whole table.",
            remedy="Use 2 or more.",
        )
    if distinct == 1:
        raise InputError(
            f"all {n} rows are equal: there is nothing to partition.",
            remedy="Check how the columns are read (`kinds`), or leave fewer out.",
        )
    usual = range(2, max(2, min(most, n // ROWS_EACH, distinct)) + 1)
    if requested is None:
        if n < 3:
            raise InputError(f"{n} rows are too few to look for clusters.", remedy="Give more.")
        return tuple(usual)
    if requested < 2:
        raise InputError(
            f"k={requested} is no partition: one cluster is the whole table.",
            remedy="Use `k=2` or more, or leave it out.",
        )
    if requested >= n:
        raise InputError(
            f"k={requested} is too many for {n} rows: a cluster has two rows or more somewhere.",
            remedy=f"Use at most `k={max(2, n // 2)}`, or leave it out.",
        )
    if requested > distinct:
        raise InputError(
            f"k={requested} is too many: the table has only {distinct} different rows.",
            remedy=f"Use at most `k={distinct}`, or leave it out.",
        )
    return tuple(sorted({*usual, requested}))


def trials_of(search: Search, partitions: dict[int, Partition], z: Floats) -> tuple[Trial, ...]:
    """Silhouette and within-cluster sum of squares (of ``z``) for every number of clusters."""
    scores = search.scores(list(partitions.values()))
    return tuple(
        Trial(
            k,
            score,
            float(scatter_decomposition(z, found.labels).within.sum()),
            int(np.bincount(found.labels).min()),
        )
        for (k, found), score in zip(partitions.items(), scores, strict=True)
    )


def best(trials: tuple[Trial, ...]) -> Trial:
    """The greatest silhouette; the fewest clusters of equally good ones."""
    return max(trials, key=lambda trial: (_or_least(trial.silhouette), -trial.k))


def best_silhouette(
    search: Search, numbers: Numbers, rng: np.random.Generator, starts: int
) -> float:
    """The greatest mean silhouette over numbers of clusters."""
    found = [search.partition(k, rng, starts) for k in numbers]
    return max(map(_or_least, search.scores(found)))


def _or_least(score: float) -> float:
    return -1.0 if math.isnan(score) else score


def reason(trials: tuple[Trial, ...], chosen: Trial, requested: int | None, most: int) -> str:
    """Why this number of clusters; and that more were not tried, where that matters."""
    if requested is not None:
        return _reason_of_requested(best(trials), chosen, requested)
    if math.isnan(chosen.silhouette):
        return f"{chosen.k} clusters, the fewest: any number only cuts off a few rows."
    if len(trials) == 1 and most > 2:
        return f"{chosen.k} clusters: the table is too small to try more."
    text = (
        f"{chosen.k} clusters have the greatest silhouette ({chosen.silhouette:.2f}) of "
        f"{trials[0].k} to {trials[-1].k}."
    )
    if chosen.k == most:
        text += (
            f" That is the limit of the search: more clusters may fit better "
            f"(`max_clusters={2 * most}` tries them)."
        )
    return text.replace("(-", "(−")


def _reason_of_requested(greatest: Trial, chosen: Trial, requested: int) -> str:
    if greatest.k == requested:
        return f"{requested} clusters were requested; no other number has a greater silhouette."
    if math.isnan(chosen.silhouette):
        return f"{requested} clusters were requested; all but one of them hold a few rows."
    return (
        f"{requested} clusters were requested (silhouette {chosen.silhouette:.2f}); "
        f"{greatest.k} have the greatest ({greatest.silhouette:.2f})."
    ).replace("-", "−")
