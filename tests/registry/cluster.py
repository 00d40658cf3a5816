"""Clusterers."""

from __future__ import annotations

import separatrix as sx
from tests.registry.row import Row

#: Flat clusterings; their laws are in ``tests/laws/test_flat_clusters.py``.
CLUSTERERS: list[Row] = [
    Row("KMeans", lambda: sx.KMeans(3, random_state=0), "clustering", unit_free=False),
    Row(
        "KMeans, standardized",
        lambda: sx.KMeans(3, standardize=True, random_state=0),
        "clustering",
    ),
    Row(
        "KMeans, random initialization",
        lambda: sx.KMeans(3, init="random", random_state=0),
        "clustering",
        unit_free=False,
    ),
    Row(
        "KMeans, annealing",
        lambda: sx.KMeans(3, init="annealing", random_state=0),
        "clustering",
        unit_free=False,
    ),
    Row(
        "KMedoids",
        lambda: sx.KMedoids(3, random_state=0),
        "clustering",
        unit_free=False,
        additive=False,
    ),
    Row(
        "KMedoids, BUILD",
        lambda: sx.KMedoids(3, init="build"),
        "clustering",
        unit_free=False,
        additive=False,
    ),
    Row(
        "KMedoids, alternate",
        lambda: sx.KMedoids(3, method="alternate", metric="manhattan", random_state=0),
        "clustering",
        unit_free=False,
        additive=False,
    ),
    Row(
        "KMedoids, standardized",
        lambda: sx.KMedoids(3, standardize=True, random_state=0),
        "clustering",
        additive=False,
    ),
    Row(
        "KernelKMeans, standardized",
        lambda: sx.KernelKMeans(3, standardize=True, random_state=0),
        "clustering",
        additive=False,
    ),
    Row(
        "KernelKMeans",
        lambda: sx.KernelKMeans(3, random_state=0),
        "clustering",
        unit_free=False,
        additive=False,
    ),
    Row(
        "KernelKMeans by members",
        lambda: sx.KernelKMeans(3, assign="members", random_state=0),
        "clustering",
        unit_free=False,
        additive=False,
    ),
]

#: Hierarchical clusterings; their laws are in ``tests/laws/test_hierarchies.py``.
HIERARCHIES: list[Row] = [
    *(
        Row(
            f"AgglomerativeClustering, {linkage}",
            lambda linkage=linkage: sx.AgglomerativeClustering(3, linkage=linkage),
            "clustering",
            unit_free=False,
        )
        for linkage in ("single", "complete", "average", "weighted", "centroid", "median", "ward")
    ),
    Row(
        "AgglomerativeClustering, standardized",
        lambda: sx.AgglomerativeClustering(3, standardize=True, linkage="average"),
        "clustering",
    ),
    Row(
        "AgglomerativeClustering, Manhattan",
        lambda: sx.AgglomerativeClustering(3, linkage="complete", metric="manhattan"),
        "clustering",
        unit_free=False,
    ),
]
