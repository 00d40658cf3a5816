"""What the clusters look like: sizes, means of columns, most frequent levels, a plane."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from separatrix.rows.block import Block, Floats
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Kind, Term
from separatrix.study.clustering.methods import Labels, few_rows
from separatrix.study.clustering.result import ClusterPlane, Group

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
        if column.deviation > 0:
            standard[column.name] = (mean - column.mean) / column.deviation
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


def plane_of(x: Floats, labels: Labels) -> ClusterPlane:
    """The plane in which the means of the clusters lie farthest apart.

    Its directions are the principal ones of the means, each weighted by the size of its cluster;
    two clusters leave the second direction to the scatter of the rows that remains.
    """
    z, sizes = x - x.mean(axis=0), np.bincount(labels).astype(float)
    means = np.stack([np.bincount(labels, column) for column in z.T], axis=1) / sizes[:, None]
    weighted = means * np.sqrt(sizes)[:, None]
    axes = _principal(weighted.T @ weighted, 2)
    if axes.shape[1] < 2:
        rest = z - z @ axes @ axes.T
        axes = np.column_stack([axes, _principal(rest.T @ rest, 2 - axes.shape[1])])
    directions = np.zeros((x.shape[1], 2))
    directions[:, : axes.shape[1]] = axes
    heavy = np.abs(directions).argmax(axis=0)  # a direction and its opposite are one
    sign = np.sign(directions[heavy, [0, 1]])
    directions *= np.where(sign == 0, 1.0, sign)
    return ClusterPlane(
        z @ directions, directions, _share(weighted, directions), _share(z, directions)
    )


def _principal(scatter: Floats, count: int) -> Floats:
    """Up to so many eigenvectors of a scatter matrix whose eigenvalues are not rounding."""
    values, vectors = np.linalg.eigh(scatter)
    kept = min(int((values > 1e-12 * max(values[-1], 0.0)).sum()), count) if values[-1] > 0 else 0
    return np.asarray(vectors[:, ::-1][:, :kept])


def _share(rows: Floats, directions: Floats) -> float:
    whole = float((rows**2).sum())
    return float(((rows @ directions) ** 2).sum()) / whole if whole > 0 else float("nan")
