"""Description of clusters: sizes, means of columns, levels and their lift, centers.

    lift = proportion of a level in the cluster / its proportion in the table

A level is over-represented in a cluster if its lift is at least 1.2 and its count exceeds what a
random cluster of this size would have by three standard deviations (hypergeometric).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse

from separatrix.cluster.kmeans import KMeans
from separatrix.cluster.kmedoids import KMedoids
from separatrix.rows.block import Block, Floats, Ints, Matrix
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import merged
from separatrix.rows.schema import Kind, Term
from separatrix.study.clustering.methods import FittedClusterer, few_rows
from separatrix.study.clustering.result import Cluster

#: Levels of a column that are described: the most frequent of a cluster, and all at most.
FREQUENT, MOST_LEVELS = 3, 12
#: Least lift, and least excess in standard deviations, of a level that is over-represented.
LEAST_LIFT, LEAST_EXCESS = 1.2, 3.0
#: What stands for a missing value among the levels.
MISSING = "(missing)"


@dataclass
class ClusterTotals:
    """Sizes of clusters, and sums of every raw term by cluster over the rows that have a value.

    It merges with ``+``. ``label`` gives the clusters of the rows of a block; it is needed only
    where blocks come without.
    """

    k: int
    label: Callable[[Block], Ints] | None = None
    sizes: Floats = field(default_factory=lambda: np.zeros(0))
    sums: dict[Term, Floats] = field(default_factory=dict)

    def fresh(self) -> Self:
        """Empty totals of the same clusters."""
        return type(self)(self.k, self.label, np.zeros(self.k))

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        assert self.label is not None, "blocks come without labels"
        self.add(block, self.label(block))

    def add(self, block: Block, labels: Ints) -> None:
        """Add the rows of a block, whose clusters are known."""
        x = sparse.csc_array(block.x) if sparse.issparse(block.x) else block.x
        missing = {term.column: _column(x, j) for j, term in enumerate(block.terms) if term.missing}
        self.sizes = self.sizes + np.bincount(labels, minlength=self.k)
        for j, term in enumerate(block.terms):
            values = _column(x, j)
            if term.level is None and not term.missing and term.column in missing:
                values = values * (missing[term.column] == 0)
            found = np.asarray(np.bincount(labels, values, minlength=self.k), dtype=float)
            self.sums[term] = self.sums[term] + found if term in self.sums else found

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.sizes, total.sums = self.sizes + other.sizes, merged(self.sums, other.sums)
        return total


def totals_of(block: Block, labels: Ints) -> ClusterTotals:
    """The totals of rows in memory."""
    k = int(labels.max()) + 1
    totals = ClusterTotals(k, None, np.zeros(k))
    totals.add(block, labels)
    return totals


def clusters_of(
    totals: ClusterTotals,
    columns: tuple[ColumnProfile, ...],
    model: FittedClusterer,
    silhouettes: Floats,
    row_ids: Ints | None = None,
) -> tuple[Cluster, ...]:
    """Every cluster in the units of the table; ``silhouettes`` holds one mean for each."""
    sizes = totals.sizes.astype(np.int64)
    n = int(sizes.sum())
    means, standardized = _numeric(totals, columns)
    levels = {c.name: _Levels.of(totals, c) for c in columns}
    described = {name: found for name, found in levels.items() if found is not None}
    medoids = (
        row_ids[model.medoid_indices_]
        if isinstance(model, KMedoids) and row_ids is not None
        else None
    )
    return tuple(
        Cluster(
            j,
            int(size),
            float(size / n),
            float(silhouettes[j]),
            bool(size < few_rows(n)),
            {name: float(values[j]) for name, values in means.items()},
            {name: float(values[j]) for name, values in standardized.items()},
            {name: found.proportions(j) for name, found in described.items()},
            _center(model, j),
            None if medoids is None else int(medoids[j]),
            {name: lifts for name, found in described.items() if (lifts := found.lifts(j))},
        )
        for j, size in enumerate(sizes)
    )


@dataclass(frozen=True)
class _Levels:
    """Counts of the levels of a column by cluster (levels x k), and sizes of the clusters."""

    names: tuple[str, ...]
    counts: Floats
    sizes: Floats

    @classmethod
    def of(cls, totals: ClusterTotals, column: ColumnProfile) -> Self | None:
        """The levels of a discrete column that are worth describing; None of other columns."""
        if column.kind is not Kind.DISCRETE:
            return None
        terms = {level: Term(column.name, level=level) for level in column.levels}
        if column.missing:
            terms[MISSING] = Term(column.name, missing=True)
        counted = {level: totals.sums[term] for level, term in terms.items() if term in totals.sums}
        if not counted:
            return None
        every = cls(tuple(counted), np.array(list(counted.values())), totals.sizes)
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
        share = self.counts[:, j] / max(self.sizes[j], 1.0)
        order = np.argsort(-share, kind="stable")
        return {self.names[i]: float(share[i]) for i in order}

    def lifts(self, j: int) -> dict[str, float]:
        """Levels that are over-represented in a cluster, the strongest first."""
        overall = self.counts.sum(axis=1) / self.sizes.sum()
        lift = self.counts[:, j] / max(self.sizes[j], 1.0) / np.where(overall > 0, overall, np.inf)
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


def _column(x: Matrix, j: int) -> Floats:
    column = x[:, [j]].toarray() if sparse.issparse(x) else x[:, j]
    return np.ravel(np.asarray(column, dtype=float))


def _numeric(
    totals: ClusterTotals, columns: tuple[ColumnProfile, ...]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Means by cluster over the rows that have a value, also in standard deviations."""
    means, standardized = {}, {}
    for column in columns:
        values = totals.sums.get(Term(column.name))
        if column.kind is Kind.DISCRETE or values is None or column.missing == column.count:
            continue
        missing = totals.sums.get(Term(column.name, missing=True), np.zeros(totals.k))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = values / (totals.sizes - missing)
        means[column.name] = mean
        if column.std > 0:
            standardized[column.name] = (mean - column.mean) / column.std
    return means, standardized
