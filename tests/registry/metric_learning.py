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


def large_margin(model: Any, x: Any, y: Any) -> float:
    """½ Σ d² + ½ Σ max(0, 1 + d² − d²), triple by triple."""
    plain = (x - x.mean(axis=0)) / x.std(axis=0) if model.standardize else x
    z = x @ model.components_.T
    total = 0.0
    for i in range(len(x)):
        same = np.flatnonzero((y == y[i]) & (np.arange(len(x)) != i))
        nearest = same[np.argsort(((plain[same] - plain[i]) ** 2).sum(axis=1))]
        d = ((z - z[i]) ** 2).sum(axis=1)
        for j in nearest[: model.n_neighbors]:
            total += 0.5 * d[j] + 0.5 * np.maximum(0.0, 1.0 + d[j] - d[y != y[i]]).sum()
    return float(total)


def kernel_ridge(model: Any, x: Any, y: Any) -> float:
    """Σ (y − f)² + λ aᵀK a of its λ and h, solved as equations of a and b."""
    if model.target_ == "classes":
        targets = (y[:, None] == np.unique(y)).astype(float)
    else:
        targets = ((y - y.mean()) / y.std())[:, None]
    z = (x - x.mean(axis=0)) / x.std(axis=0) if model.standardize else x
    square = ((z[:, None] - z[None]) ** 2).sum(axis=2)
    gram = np.exp(-0.5 * square / model.bandwidth_**2)
    one = np.ones((len(z), 1))
    system = np.block([[gram + model.alpha_ * np.eye(len(z)), one], [one.T, np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.vstack([targets, np.zeros(targets.shape[1])]))
    a = solved[:-1]
    error = targets - gram @ a - solved[-1]
    return float((error**2).sum() + model.alpha_ * np.vdot(a, gram @ a))


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
    Row(
        "LargeMarginNearestNeighbors",
        lambda: sx.LargeMarginNearestNeighbors(),
        "classification",
        unit_free=False,
        precision=1e-3,
        objective=large_margin,
    ),
    Row(
        "LargeMarginNearestNeighbors, standardized",
        lambda: sx.LargeMarginNearestNeighbors(2, tol=1e-5, standardize=True),
        "classification",
        precision=1e-3,
        objective=large_margin,
    ),
    Row(
        "NeighborhoodComponentsAnalysis, diagonal",
        lambda: sx.NeighborhoodComponentsAnalysis(diagonal=True, standardize=True),
        "classification",
        precision=1e-4,
        objective=random_neighbors,
    ),
    Row(
        "LargeMarginNearestNeighbors, diagonal",
        lambda: sx.LargeMarginNearestNeighbors(diagonal=True, standardize=True),
        "classification",
        precision=1e-3,
        objective=large_margin,
    ),
    Row(
        "GradientOuterProductMetric",
        lambda: sx.GradientOuterProductMetric(),
        "classification",
        unit_free=False,
        precision=1e-6,
        objective=kernel_ridge,
    ),
    Row(
        "GradientOuterProductMetric, classes, low rank",
        lambda: sx.GradientOuterProductMetric(2, target="classes", standardize=True),
        "classification",
        precision=1e-6,
        objective=kernel_ridge,
    ),
    Row(
        "GradientOuterProductMetric, diagonal",
        lambda: sx.GradientOuterProductMetric(diagonal=True, standardize=True),
        "classification",
        precision=1e-6,
        objective=kernel_ridge,
    ),
]
