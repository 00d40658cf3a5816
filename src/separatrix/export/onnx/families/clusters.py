"""Nearest centers, medoids and clusters of a kernel, as graphs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.cluster.kernel_lloyd import mean_weights
from separatrix.export.onnx.answers import Classes
from separatrix.export.onnx.distances import (
    pairwise_distances,
    rows_of_a_tile,
    squared_distances,
)
from separatrix.export.onnx.families.neighbors import query
from separatrix.export.onnx.families.svm import standardized
from separatrix.export.onnx.graph import Value, by_tiles
from separatrix.export.onnx.kernels import dense, kernel_diagonal, kernel_values
from separatrix.export.onnx.refusal import GraphRefused
from separatrix.export.onnx.sources import GraphRows


def _nearest(distances: Value, k: int, distance: Value | None = None) -> Classes:
    chosen, decided = distances.argmin(), -distances
    return Classes(chosen, np.arange(k), decided_by=decided, distance=distance)


def kmeans(model: Any, source: GraphRows) -> Classes:
    """The nearest center."""
    x = standardized(model, source.design(model))
    centers = np.asarray(model._standardized(model.cluster_centers_), dtype=np.float64)
    square = squared_distances(x, centers)
    found = _nearest(square, len(centers))
    own = x.graph.constant(centers).op("Gather", found.chosen.flat(), axis=0)
    return replace(found, distance=(x - own).square().sum().sqrt())


def kmedoids(model: Any, source: GraphRows) -> Classes:
    """The nearest medoid."""
    if vars(model).get("precomputed_columns_") is not None:
        raise GraphRefused("A model of precomputed distances has no rows to compare with.")
    if not hasattr(model.cluster_centers_, "shape"):
        raise GraphRefused("A metric of objects compares what ONNX has no tensors for.")
    x, medoids = query(model, source), dense(model.cluster_centers_)
    distances = pairwise_distances(model.metric_, x, medoids)
    return _nearest(distances, len(medoids), distances.min())


def kernel_kmeans(model: Any, source: GraphRows) -> Classes:
    """The nearest cluster in feature space, by centroid or by members."""
    if not model.kernel_.of_vectors or not hasattr(model.X_fit_, "shape"):
        raise GraphRefused(f"The kernel {model.kernel_} compares what ONNX has no tensors for.")
    points, k = dense(model.X_fit_), len(model.norms_)
    weights = mean_weights(model.labels_fit_, model.weights_fit_, k)
    diagonal = np.asarray(model.kernel_.diagonal(points), dtype=np.float64)

    def work(part: Value) -> list[tuple[Value, Any]]:
        values = kernel_values(model.kernel_, part, points)
        if model.assign == "centroid":
            return [(model.norms_[None, :] - (values @ weights) * 2.0, np.float64)]
        own = kernel_diagonal(model.kernel_, part)
        square = (own - values * 2.0 + diagonal[None, :]).at_least(0.0)
        return [(square.sqrt() @ weights, np.float64)]

    x = query(model, source)
    return _nearest(by_tiles(x, rows_of_a_tile(len(points)), work)[0], k)
