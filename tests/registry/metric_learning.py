"""Learned metrics; their laws are in ``tests/laws/test_metric_learners.py``."""

from __future__ import annotations

from typing import Any

import numpy as np

import separatrix as sx
from tests.registry.row import Row


def random_neighbors(model: Any, x: Any, y: Any) -> float:
    """Σ p: how many rows a random neighbor classifies, from the matrix of all distances."""
    z = x @ model.components_.T
    d = np.sum((z[:, None] - z[None]) ** 2, axis=2)
    np.fill_diagonal(d, np.inf)
    p = np.exp(d.min(axis=1)[:, None] - d)
    p /= p.sum(axis=1)[:, None]
    return float(p[y[:, None] == y].sum())


METRIC_LEARNERS: list[Row] = [
    Row(
        "NeighborhoodComponentsAnalysis",
        lambda: sx.NeighborhoodComponentsAnalysis(),
        "classification",
        unit_free=False,
        precision=1e-4,
        objective=random_neighbors,
    ),
    Row(
        "NeighborhoodComponentsAnalysis, standardized",
        lambda: sx.NeighborhoodComponentsAnalysis(1, init="lda", standardize=True),
        "classification",
        precision=1e-4,
        objective=random_neighbors,
    ),
]
