"""Clusters by size: the largest is number 0, in the model as in everything that is written."""

from __future__ import annotations

from typing import Any

import numpy as np

#: What a model holds for every cluster, and for every row.
BY_CLUSTER = ("cluster_centers_", "sizes_", "medoid_indices_", "norms_")
BY_ROW = ("labels_", "labels_fit_")


def largest_first(model: Any) -> Any:
    """The same model with its clusters in order of size; equal ones in order of first row."""
    sizes = np.bincount(model.labels_)
    first = np.full(len(sizes), len(model.labels_))
    np.minimum.at(first, model.labels_, np.arange(len(model.labels_)))
    order = np.lexsort((first, -sizes))
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    for name in BY_CLUSTER:
        if hasattr(model, name):
            setattr(model, name, getattr(model, name)[order])
    for name in BY_ROW:
        if hasattr(model, name):
            old = getattr(model, name)
            setattr(model, name, number[old].astype(old.dtype))
    return model
