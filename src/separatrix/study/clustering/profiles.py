"""Description of clusters: sizes, means of columns, levels and their lift, centers.

    lift = proportion of a level in the cluster / its proportion in the table

A level is over-represented in a cluster if its lift is at least 1.2 and its count exceeds what a
random cluster of this size would have by three standard deviations (hypergeometric).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

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

#: Levels of a column that are described: the most frequent of a cluster, and all at most.
FREQUENT, MOST_LEVELS = 3, 12
#: Least lift, and least excess in standard deviations, of a level that is over-represented.
LEAST_LIFT, LEAST_EXCESS = 1.2, 3.0
#: What stands for a missing value among the levels.
MISSING = "(missing)"


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
    levels = {c.name: _Levels.of(table.block, c, labels) for c in columns}
    described = {name: found for name, found in levels.items() if found is not None}
    return tuple(
        Cluster(
            j,
            int(size),
            float(size / len(labels)),
            float(silhouettes[j]),
            bool(size < few_rows(len(labels))),
            {name: float(values[j]) for name, values in means.items()},
            {name: float(values[j]) for name, values in standardized.items()},
            {name: found.proportions(j) for name, found in described.items()},
            _center(model, j),
            int(table.row_ids[model.medoid_indices_[j]]) if isinstance(model, KMedoids) else None,
            {name: lifts for name, found in described.items() if (lifts := found.lifts(j))},
        )
        for j, size in enumerate(sizes)
    )


@dataclass(frozen=True)
class _Levels:
    """Counts of the levels of a column by cluster (levels x k), and sizes of the clusters."""

    names: tuple[str, ...]
    counts: Floats
    sizes: Ints

    @classmethod
    def of(cls, block: Block, column: ColumnProfile, labels: Ints) -> Self | None:
        """The levels of a discrete column that are worth describing; None of other columns."""
        if column.kind is not Kind.DISCRETE:
            return None
        terms = {level: Term(column.name, level=level) for level in column.levels}
        if column.missing:
            terms[MISSING] = Term(column.name, missing=True)
        found = {level: _column(block, term) for level, term in terms.items()}
        counted = {
            level: np.bincount(labels, values)
            for level, values in found.items()
            if values is not None
        }
        if not counted:
            return None
        every = cls(tuple(counted), np.array(list(counted.values())), np.bincount(labels))
        described = every.notable()
        return cls(tuple(every.names[i] for i in described), every.counts[described], every.sizes)

    @cached_property
    def excess(self) -> Floats:
        """(observed − expected)/standard deviation of every count, for a random cluster."""
        n, overall = self.sizes.sum(), self.counts.sum(axis=1, keepdims=True) / self.sizes.sum()
        variance = self.sizes * overall * (1 - overall) * (n - self.sizes) / max(n - 1, 1)
        above = self.counts - self.sizes * overall
        spread = np.sqrt(np.where(variance > 0, variance, np.inf))
        return np.asarray(above / spread)

    def notable(self) -> Ints:
        """The most frequent levels of every cluster, and those that are over-represented."""
        frequent = np.argsort(-self.counts, axis=0, kind="stable")[:FREQUENT]
        first = np.unique(frequent[np.take_along_axis(self.counts, frequent, axis=0) > 0])
        strength = self.excess.max(axis=1)
        more = np.flatnonzero(strength >= LEAST_EXCESS)
        more = more[np.argsort(-strength[more], kind="stable")]
        ordered = dict.fromkeys([*more.tolist(), *first.tolist()])
        return np.sort(np.array(list(ordered)[:MOST_LEVELS], dtype=np.int64))

    def proportions(self, j: int) -> dict[str, float]:
        """Proportions of the levels in a cluster, the most frequent first."""
        share = self.counts[:, j] / self.sizes[j]
        order = np.argsort(-share, kind="stable")
        return {self.names[i]: float(share[i]) for i in order}

    def lifts(self, j: int) -> dict[str, float]:
        """Levels that are over-represented in a cluster, the strongest first."""
        overall = self.counts.sum(axis=1) / self.sizes.sum()
        lift = self.counts[:, j] / self.sizes[j] / np.where(overall > 0, overall, np.inf)
        excess = self.excess[:, j]
        order = np.argsort(-excess, kind="stable")
        return {
            self.names[i]: float(lift[i])
            for i in order
            if excess[i] >= LEAST_EXCESS and lift[i] >= LEAST_LIFT
        }


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
