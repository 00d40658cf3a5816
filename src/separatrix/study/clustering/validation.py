"""Cluster validation: a test for cluster structure, and stability under resampling.

Structure: T = max over k of the mean silhouette; p = how often T of a reference table without
clusters reaches that of the rows. Two families of tables are drawn (:mod:`.references`), and p is
the larger of the two. Draws stop at the second table that does as well, for then p cannot be 0.05
or less any more; so a table without clusters is rejected quickly.

Stability: adjusted Rand index with clusters of half of the rows, and with other initializations.
"""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats, Ints
from separatrix.study.clustering.choice import Numbers, best_silhouette
from separatrix.study.clustering.methods import Method
from separatrix.study.clustering.references import Draw, references
from separatrix.study.clustering.result import FAMILIES, Reference, Stability, Structure
from separatrix.study.clustering.search import Search
from separatrix.study.clustering.verdict import two

#: Tables drawn of each family, and how many may do as well before p is beyond the level.
DRAWS, ALLOWED, LEVEL = 39, 1, 0.05
#: Rows of the test, at most.
TEST_ROWS = 400
#: Halves drawn, rows of each at most, initializations of each, and initializations of all rows.
HALVES, HALF_ROWS, HALF_STARTS, RESTARTS = 20, 1_000, 3, 10


def structure(
    method: Method,
    x: Floats,
    discrete: list[list[int]],
    numbers: Numbers,
    rng: np.random.Generator,
) -> Structure:
    """Compare the best silhouette of the rows with those of tables without clusters."""
    statistic = best_silhouette(Search(method, x), numbers, rng, 1)
    compared: list[Reference] = []
    for name, draw in references(x, discrete).items():
        compared.append(_reference(name, draw, method, numbers, statistic, rng))
        if compared[-1].p_value > LEVEL:
            break
    p = max(reference.p_value for reference in compared)
    summary = _structure_summary(p, statistic, compared)
    return Structure(p <= LEVEL, p, statistic, len(x), tuple(compared), summary)


def _reference(
    name: str,
    draw: Draw,
    method: Method,
    numbers: Numbers,
    statistic: float,
    rng: np.random.Generator,
) -> Reference:
    drawn: list[float] = []
    as_good = 0
    while len(drawn) < DRAWS and as_good <= ALLOWED:
        drawn.append(best_silhouette(Search(method, draw(rng)), numbers, rng, 1))
        as_good += drawn[-1] >= statistic
    stopped = as_good > ALLOWED
    p = as_good / len(drawn) if stopped else (as_good + 1) / (len(drawn) + 1)
    return Reference(name, tuple(drawn), p)


def _structure_summary(p: float, statistic: float, compared: list[Reference]) -> str:
    if statistic <= -1:
        return "All clusters but one have a few rows each, so there is no silhouette to compare."
    closest = max(compared, key=lambda one: (one.p_value, float(np.median(one.silhouettes))))
    return (
        f"The silhouette is {two(statistic)}; in {len(closest.silhouettes)} tables without groups "
        f"({FAMILIES[closest.name]}) the same search finds "
        f"{two(float(np.median(closest.silhouettes)))} in the middle and "
        f"{two(max(closest.silhouettes))} at most (p = {p:.3f})."
    )


def adjusted_rand(one: Ints, two: Ints) -> float:
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


def _pairs(counts: Floats) -> float:
    return float((counts * (counts - 1)).sum()) / 2


def stability(search: Search, labels: Ints, k: int, rng: np.random.Generator) -> Stability:
    """Cluster halves of the rows, and all of them from other starts; compare with ``labels``."""
    n = len(labels)
    size = min(max(n // 2, k + 1), HALF_ROWS, n)
    halves = []
    for _ in range(HALVES):
        rows = np.sort(rng.choice(n, size, replace=False))
        if len(np.unique(search.x[rows], axis=0)) < k:  # too few different rows for so many
            continue
        again = Search(search.method, search.x[rows]).partition(k, rng, HALF_STARTS)
        halves.append(adjusted_rand(again.labels, labels[rows]))
    restarts = []
    if search.method.random:
        restarts = [adjusted_rand(search.partition(k, rng).labels, labels) for _ in range(RESTARTS)]
    mean = float(np.mean(halves)) if halves else float("nan")
    return Stability(tuple(halves), tuple(restarts), mean, _stability_summary(mean, restarts))


def _stability_summary(mean: float, restarts: list[float]) -> str:
    if np.isnan(mean):
        return "There are too few different rows to cluster half of them."
    text = f"The adjusted Rand index is {two(mean)} with clusters of half of the rows"
    if restarts:
        text += f" and {two(float(np.mean(restarts)))} with other starts"
    return f"{text} (1 is equal, 0 is chance)."
