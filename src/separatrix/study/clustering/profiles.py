"""Description of clusters: sizes, means of columns, most frequent levels, centers."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from separatrix.cluster.kmeans import KMeans
from separatrix.cluster.kmedoids import KMedoids
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind, Term
from separatrix.study.clustering.methods import FittedClusterer, few_rows
from separatrix.study.clustering.result import Cluster

#: Levels of a column that are listed for a cluster, the most frequent first.
LEVELS = 3


def clusters_of(
    table: InMemory,
    columns: tuple[ColumnProfile, ...],
    model: FittedClusterer,
    labels: Ints,
    silhouettes: Floats,
) -> tuple[Cluster, ...]:
    """Every cluster in the units of the table; ``silhouettes`` holds one mean for each."""
    sizes = np.bincount(labels)
    means, standardized = _numeric(table.block, columns, labels)
    levels = _levels(table.block, columns, labels)
    return tuple(
        Cluster(
            j,
            int(size),
            float(size / len(labels)),
            float(silhouettes[j]),
            bool(size < few_rows(len(labels))),
            {name: float(values[j]) for name, values in means.items()},
            {name: float(values[j]) for name, values in standardized.items()},
            {name: proportions[j] for name, proportions in levels.items()},
            _center(model, j),
            int(table.row_ids[model.medoid_indices_[j]]) if isinstance(model, KMedoids) else None,
        )
        for j, size in enumerate(sizes)
    )


def _center(model: FittedClusterer, j: int) -> dict[str, float]:
    """The mean of a cluster by column of the design matrix; empty unless clusters have means."""
    if not isinstance(model, KMeans):
        return {}
    return dict(zip(model.encoding_.names, model.cluster_centers_[j].tolist(), strict=True))


def _column(block: Block, term: Term) -> Floats | None:
    j = block.terms.position.get(term)
    if j is None:
        return None
    column = block.x[:, [j]].toarray() if sparse.issparse(block.x) else block.x[:, j]
    return np.ravel(np.asarray(column, dtype=float))


def _numeric(
    block: Block, columns: tuple[ColumnProfile, ...], labels: Ints
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Means by cluster over the rows that have a value, also in standard deviations."""
    means, standardized = {}, {}
    for column in columns:
        values = _column(block, Term(column.name))
        if column.kind is Kind.DISCRETE or values is None or column.missing == column.count:
            continue
        missing = _column(block, Term(column.name, missing=True))
        present = np.ones(len(values)) if missing is None else (missing == 0).astype(float)
        count = np.bincount(labels, present)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.bincount(labels, values * present) / count
        means[column.name] = mean
        if column.std > 0:
            standardized[column.name] = (mean - column.mean) / column.std
    return means, standardized


def _levels(
    block: Block, columns: tuple[ColumnProfile, ...], labels: Ints
) -> dict[str, list[dict[str, float]]]:
    """Proportions of the most frequent levels of every discrete column in every cluster."""
    sizes = np.bincount(labels)
    found = {}
    for column in columns:
        if column.kind is not Kind.DISCRETE:
            continue
        proportions = {}
        for level in column.levels:
            values = _column(block, Term(column.name, level=level))
            if values is not None:
                proportions[level] = np.bincount(labels, values) / sizes
        found[column.name] = [
            dict(
                sorted(
                    ((level, float(p[j])) for level, p in proportions.items() if p[j] > 0),
                    key=lambda item: (-item[1], item[0]),
                )[:LEVELS]
            )
            for j in range(len(sizes))
        ]
    return found
