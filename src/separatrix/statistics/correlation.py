"""Pearson's correlation of every pair of columns, each over the rows that have both."""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Floats

#: A column varies over some rows if its variance there is more than this part of its own.
_LEAST = 1e-12


def pairwise_correlations(x: Floats, present: Floats, w: Floats) -> Floats:
    """r of every pair; NaN where one of the two does not vary.

    ``present`` is 1 where ``x`` has a value and 0 where it is missing; ``w`` are weights of rows.
    """
    mass = present * w[:, None]
    total = np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
    center = (mass * np.where(present > 0, x, 0.0)).sum(axis=0) / total
    z = np.where(present > 0, x - center, 0.0)
    scale = np.sqrt((mass * z**2).sum(axis=0) / total)
    z /= np.where(scale > 0, scale, 1.0)
    both = present.T @ mass
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (z.T @ mass) / both  # of column i over the rows that have j too
        variance = (z**2).T @ mass / both - mean**2
        product = (z.T @ (w[:, None] * z)) / both - mean * mean.T
        r = product / np.sqrt(variance * variance.T)
        varies = (variance > _LEAST) & (variance.T > _LEAST)
    return np.asarray(np.where(varies, np.clip(r, -1.0, 1.0), np.nan))
