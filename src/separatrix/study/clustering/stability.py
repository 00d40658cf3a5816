"""Stability: agreement of clusters found from half of the rows, and from other starts."""

from __future__ import annotations

import numpy as np

from separatrix.study.clustering.methods import Labels, Search
from separatrix.study.clustering.result import Stability

#: Halves drawn, rows of each at most, and other starts.
HALVES, HALF_ROWS, RESTARTS = 20, 1_000, 10


def adjusted_rand(one: Labels, two: Labels) -> float:
    """Adjusted Rand index of two partitions: 1 for equal ones, 0 on average by chance.

    With n_ij rows in cluster i of one and j of two, and C(n) = n(n − 1)/2 pairs:
    (Σ C(n_ij) − e)/((Σ C(n_i) + Σ C(n_j))/2 − e),  e = Σ C(n_i) Σ C(n_j)/C(n)
    """
    table = np.zeros((int(one.max()) + 1, int(two.max()) + 1))
    np.add.at(table, (one, two), 1.0)
    together = _pairs(table)
    rows, columns = _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0))
    expected = rows * columns / max(_pairs(np.array([float(len(one))])), 1.0)
    most = (rows + columns) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)


def _pairs(counts: np.ndarray) -> float:
    return float((counts * (counts - 1)).sum()) / 2


def stability(search: Search, labels: Labels, k: int, rng: np.random.Generator) -> Stability:
    """Cluster halves of the rows, and all of them from other starts; compare with ``labels``."""
    n = len(labels)
    size = min(max(n // 2, k + 1), HALF_ROWS, n)
    halves = []
    for _ in range(HALVES):
        some = np.sort(rng.choice(n, size, replace=False))
        if len(np.unique(search.x[some], axis=0)) < k:  # too few different rows for so many
            continue
        again = search.method.search(search.x[some]).labels(k, rng, 3)
        halves.append(adjusted_rand(again, labels[some]))
    restarts = []
    if search.method.has_starts:
        restarts = [adjusted_rand(search.labels(k, rng, 1), labels) for _ in range(RESTARTS)]
    mean = float(np.mean(halves)) if halves else float("nan")
    return Stability(tuple(halves), tuple(restarts), mean, _words(mean, restarts))


def _words(mean: float, restarts: list[float]) -> str:
    if np.isnan(mean):
        return "Too few distinct rows to assess the stability of the clusters."
    grade = (
        "The clusters are stable"
        if mean >= 0.9
        else "The clusters are moderately stable"
        if mean >= 0.7
        else "The clusters are not stable"
    )
    text = f"{grade}: adjusted Rand index {_two(mean)} with clusters of half of the rows"
    if not restarts:
        return f"{text} (1 is equal, 0 chance)."
    return f"{text}, {_two(float(np.mean(restarts)))} with other starts (1 is equal, 0 chance)."


def _two(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
