"""Weights of neighbors: by distance, and by the sample weights that fill k places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.kernels import Gaussian
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, Ints


def _inverse_distance(distances: Floats) -> Floats:
    """1/d; where some neighbor has d = 0, one for those and zero for the others."""
    zero = distances == 0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # Relative to the nearest, so that no unit makes the reciprocal overflow.
        least = np.where(zero.any(axis=1), 1.0, distances.min(axis=1))[:, None]
        weights = least / distances
    return np.where(zero.any(axis=1)[:, None], zero.astype(float), weights)


def _adaptive_gaussian(distances: Floats) -> Floats:
    """exp(−d²/2h²) with h the distance of the farthest of the k neighbors."""
    h = distances.max(axis=1)[:, None]
    return np.exp(-0.5 * (distances / np.where(h > 0, h, 1.0)) ** 2)


WEIGHTS: dict[str, Callable[[Floats], Floats]] = {
    "uniform": np.ones_like,
    "distance": _inverse_distance,
    "gaussian": _adaptive_gaussian,
}


def distance_weights(weights: Any, distances: Floats) -> Floats:
    """The weight of every neighbor from its distance.

    ``weights`` is a name, a :class:`Gaussian` kernel of fixed bandwidth, or a function of an array
    of distances.
    """
    if isinstance(weights, str):
        check_option("weights", weights, WEIGHTS)
        return WEIGHTS[weights](distances)
    if isinstance(weights, Gaussian):
        # Relative to the nearest, so that not all weights underflow far from the data.
        square = distances**2 - distances.min(axis=1)[:, None] ** 2
        return np.asarray(np.exp(-square / (2.0 * weights.bandwidth**2)))
    if callable(weights):
        values = np.asarray(weights(distances), dtype=float)
        if values.shape != distances.shape or not np.isfinite(values).all() or (values < 0).any():
            raise InputError(
                "The function for weights must return a finite, non-negative number for every "
                "distance."
            )
        return values
    raise InputError(f"weights is a name, a Gaussian or a function of distances, not {weights!r}.")


def truncated_weights(indices: Ints, sample_weight: Floats, k: float) -> Floats:
    """Sample weights of the neighbors, near to far, truncated where their sum reaches k."""
    w = sample_weight[indices]
    before = np.cumsum(w, axis=1) - w
    return np.clip(k - before, 0.0, w)
