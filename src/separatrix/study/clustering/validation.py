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
from separatrix.study.clustering.methods import Method, Search
from separatrix.study.clustering.references import Draw, references
from separatrix.study.clustering.result import FAMILIES, Reference, Stability, Structure

#: Tables drawn of each family, and how many may do as well before p is beyond the level.
DRAWS, ALLOWED, LEVEL = 39, 1, 0.05
#: Rows of the test, at most.
TEST_ROWS = 400
#: Halves drawn, rows of each at most, and other initializations.
HALVES, HALF_ROWS, RESTARTS = 20, 1_000, 10


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
        return (
            "No significant cluster structure: all clusters but one have a few rows each, which "
            "are outliers rather than clusters."
        )
    if p <= LEVEL:
        largest = max(max(reference.silhouettes) for reference in compared)
        total = sum(len(reference.silhouettes) for reference in compared)
        return (
            f"Significant cluster structure: the silhouette of {statistic:.2f} exceeds what the "
            f"same search finds in reference tables without clusters (at most {largest:.2f} in "
            f"{total}; p = {p:.3f})."
        )
    closest = max(compared, key=lambda one: (one.p_value, float(np.mean(one.silhouettes))))
    return (
        f"No significant cluster structure: the same search does as well in reference tables "
        f"without clusters ({FAMILIES[closest.name]}; mean silhouette "
        f"{float(np.mean(closest.silhouettes)):.2f} there, {statistic:.2f} here; p = {p:.2f})."
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
        again = Search(search.method, search.x[rows]).labels(k, rng, 3)
        halves.append(adjusted_rand(again, labels[rows]))
    restarts = []
    if search.method.random:
        restarts = [adjusted_rand(search.labels(k, rng, 1), labels) for _ in range(RESTARTS)]
    mean = float(np.mean(halves)) if halves else float("nan")
    return Stability(tuple(halves), tuple(restarts), mean, _stability_summary(mean, restarts))


def _stability_summary(mean: float, restarts: list[float]) -> str:
    if np.isnan(mean):
        return "Too few distinct rows to assess the stability of the clusters."
    degree = "stable" if mean >= 0.9 else "moderately stable" if mean >= 0.7 else "not stable"
    text = (
        f"The clusters are {degree}: adjusted Rand index {mean:.2f} with clusters of half of the "
        "rows"
    )
    if restarts:
        text += f", {float(np.mean(restarts)):.2f} with other starts"
    return f"{text} (1 is equal, 0 chance).".replace("-", "−")
