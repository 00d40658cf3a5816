"""What the clusters look like: sizes, means of columns, most frequent levels, a plane."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from separatrix.rows.block import Block, Floats
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind, Term
from separatrix.study.clustering.methods import Labels, few_rows
from separatrix.study.clustering.result import Group

#: Levels of a column that are told of a cluster, the most frequent first.
LEVELS = 3


def groups_of(
    table: InMemory, columns: tuple[ColumnProfile, ...], labels: Labels, silhouettes: Floats
) -> tuple[Group, ...]:
    """Every cluster in the units of the table; ``silhouettes`` holds one mean for each."""
    block, sizes = table.block, np.bincount(labels)
    means, standard = _numeric(block, columns, labels)
    levels = _levels(block, columns, labels)
    return tuple(
        Group(
            j,
            int(size),
            float(size / len(labels)),
            float(silhouettes[j]),
            bool(size < few_rows(len(labels))),
            {name: float(values[j]) for name, values in means.items()},
            {name: float(values[j]) for name, values in standard.items()},
            {name: shares[j] for name, shares in levels.items()},
        )
        for j, size in enumerate(sizes)
    )


def _column(block: Block, term: Term) -> Floats | None:
    j = block.terms.position.get(term)
    if j is None:
        return None
    column = block.x[:, [j]].toarray() if sparse.issparse(block.x) else block.x[:, j]
    return np.ravel(np.asarray(column, dtype=float))


def _numeric(
    block: Block, columns: tuple[ColumnProfile, ...], labels: Labels
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Means by cluster over the rows that have a value; then in deviations of the whole table."""
    means, standard = {}, {}
    for column in columns:
        values = _column(block, Term(column.name))
        if column.kind is Kind.DISCRETE or values is None or column.missing == column.count:
            continue
        gap = _column(block, Term(column.name, missing=True))
        there = np.ones(len(values)) if gap is None else (gap == 0).astype(float)
        count = np.bincount(labels, there)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.bincount(labels, values * there) / count
        means[column.name] = mean
        if column.std > 0:
            standard[column.name] = (mean - column.mean) / column.std
    return means, standard


def _levels(
    block: Block, columns: tuple[ColumnProfile, ...], labels: Labels
) -> dict[str, list[dict[str, float]]]:
    """The most frequent levels of every discrete column in every cluster, with their shares."""
    sizes = np.bincount(labels)
    found = {}
    for column in columns:
        if column.kind is not Kind.DISCRETE:
            continue
        known = {}
        for level in column.levels:
            values = _column(block, Term(column.name, level=level))
            if values is not None:
                known[level] = np.bincount(labels, values) / sizes
        found[column.name] = [
            dict(
                sorted(
                    ((level, float(share[j])) for level, share in known.items() if share[j] > 0),
                    key=lambda item: (-item[1], item[0]),
                )[:LEVELS]
            )
            for j in range(len(sizes))
        ]
    return found
