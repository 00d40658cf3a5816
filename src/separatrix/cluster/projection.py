"""The plane in which the means of clusters lie farthest apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class ClusterProjection:
    """Where rows lie (n x 2) along two ``directions`` (d x 2) of the columns as distances see them.

    ``between`` and ``total`` are the shares of the scatter between clusters, and of all scatter,
    that the plane shows.
    """

    places: Floats
    directions: Floats
    between: float
    total: float


def cluster_projection(z: Floats, codes: NDArray[np.integer]) -> ClusterProjection:
    """The plane of the rows ``z``, whose clusters are numbered 0, 1, … by ``codes``.

    Its directions are the principal ones of the means, each weighted by the size of its cluster;
    two clusters leave the second direction to the scatter of the rows that remains.
    """
    z, sizes = z - z.mean(axis=0), np.bincount(codes).astype(float)
    means = np.stack([np.bincount(codes, column) for column in z.T], axis=1) / sizes[:, None]
    weighted = np.sqrt(sizes)[:, None] * means
    directions = _directions(z, weighted)
    return ClusterProjection(
        z @ directions, directions, _share(weighted, directions), _share(z, directions)
    )


def _directions(z: Floats, means: Floats) -> Floats:
    """Two directions at right angles: of the means while they scatter, then of the rows (d x 2)."""
    found = _principal(means, 2)
    if found.shape[1] < 2:
        rest = z - z @ found @ found.T
        found = np.column_stack([found, _principal(rest, 2 - found.shape[1])])
    plane = np.zeros((z.shape[1], 2))
    plane[:, : found.shape[1]] = found
    # A direction and its opposite are one: the heaviest column counts positive.
    heavy = np.abs(plane).argmax(axis=0)
    sign = np.sign(plane[heavy, [0, 1]])
    return plane * np.where(sign == 0, 1.0, sign)


def _principal(rows: Floats, count: int) -> Floats:
    """Up to so many right singular vectors whose singular values are not rounding."""
    if len(rows) > rows.shape[1]:
        rows = np.asarray(np.linalg.qr(rows, mode="r"))  # the same directions, d rows
    _, size, right = np.linalg.svd(rows, full_matrices=False)
    kept = int((size > 1e-9 * size.max(initial=0.0)).sum()) if size.any() else 0
    return np.asarray(right[: min(kept, count)].T)


def _share(rows: Floats, directions: Floats) -> float:
    whole = float((rows**2).sum())
    return float(((rows @ directions) ** 2).sum()) / whole if whole > 0 else float("nan")
