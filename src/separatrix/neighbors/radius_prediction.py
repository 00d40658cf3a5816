"""Predictions by all training points within a radius: their weights, and labels where none is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.distances.search import NeighborLists
from separatrix.messages import InputError
from separatrix.neighbors.queries import RadiusQueries, check_radius
from separatrix.neighbors.weights import check_weights, distance_weights
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats


class RadiusPredictor(RadiusQueries):
    """Σ vᵢ yᵢ / Σ vᵢ over the training points within a radius, with v from their distances."""

    weights: Any

    def _check_parameters(self) -> None:
        self._check_search()
        check_weights(self.weights)
        check_radius(self.radius)

    def _fit_search(self) -> None:
        self._build_search()
        self.certificate_ = Certificate(
            f"All of {self.n_samples_fit_} training rows within {self.radius:g} are found",
            promised=(),
        )

    def _weighted(self, X: Any) -> tuple[NeighborLists, Floats]:
        """The training points near every row, and the weight of each: w times that by distance."""
        near = self._near(X, None)
        weights = self.sample_weight_[near.indices]
        if self.weights is None or (isinstance(self.weights, str) and self.weights == "uniform"):
            return near, weights
        values = np.empty(len(weights))
        for start, stop in zip(near.starts, near.starts[1:], strict=False):
            if stop > start:
                values[start:stop] = distance_weights(
                    self.weights, near.distances[None, start:stop]
                )
        return near, weights * values


def labels_of_outliers(given: Any, outputs: list[NDArray[Any]]) -> list[Any]:
    """One label for each target, of the type of its classes."""
    several = isinstance(given, list | tuple | np.ndarray)
    labels = list(given) if several else [given] * len(outputs)
    if len(labels) != len(outputs):
        raise InputError(f"outlier_label has {len(labels)} labels, for {len(outputs)} target(s).")
    for classes, label in zip(outputs, labels, strict=True):
        if np.ndim(label) or not _same_type(classes, label):
            raise TypeError(
                f"outlier_label={label!r} is not of the type of the classes {classes.tolist()}."
            )
    return labels


def _same_type(classes: NDArray[Any], label: Any) -> bool:
    """Whether classes and label are both text, or both numbers."""
    text = classes.dtype.kind in "USO" and all(isinstance(c, str) for c in classes.tolist())
    if text:
        return isinstance(label, str)
    return isinstance(label, int | float | np.number) and (
        classes.dtype.kind not in "iub" or float(label).is_integer()
    )


def wide_enough(columns: NDArray[Any], label: Any) -> NDArray[Any]:
    """The predictions in a type that holds the label in full."""
    return columns.astype(np.result_type(columns.dtype, np.asarray(label).dtype))
