"""Weights of neighbors: by distance, and by the sample weights that fill k places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.kernels import Gaussian
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats, Ints

#: Numbers of a block that stays in the cache of a processor.
IN_CACHE = 32_768


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


def check_weights(weights: Any) -> None:
    """Refuse anything but a name, a Gaussian, a function of distances, or None."""
    if isinstance(weights, str):
        check_option("weights", weights, WEIGHTS)
    elif isinstance(weights, Gaussian) and weights.by_column:
        raise InputError(
            "A Gaussian with a bandwidth for each column is no function of the distance.",
            remedy="Give one bandwidth, and scale the columns or choose a metric.",
        )
    elif weights is not None and not isinstance(weights, Gaussian) and not callable(weights):
        raise InputError(
            f"weights is a name, a Gaussian or a function of distances, not {weights!r}."
        )


def distance_weights(weights: Any, distances: Floats) -> Floats:
    """The weight of every neighbor from its distance.

    ``weights`` is a name, a :class:`Gaussian` kernel of fixed bandwidth, or a function of an array
    of distances.
    """
    check_weights(weights)
    if weights is None:
        return np.ones_like(distances)
    if isinstance(weights, str):
        return WEIGHTS[weights](distances)
    if isinstance(weights, Gaussian):
        return gaussian_weights(distances, float(weights.bandwidth))  # type: ignore[arg-type]
    return _given_weights(weights, distances)


def gaussian_weights(distances: Floats, h: float) -> Floats:
    """exp(−d²/2h²) relative to the nearest, so that not all underflow far from the data."""
    weights: Floats = np.empty(distances.shape)
    rows = max(1, IN_CACHE // max(1, distances.shape[1]))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for start in range(0, len(distances), rows):
            d, part = distances[start : start + rows], weights[start : start + rows]
            nearest = d.min(axis=1)[:, None]
            # d² − min² as a product: the square of a large distance would overflow
            np.subtract(d, nearest, out=part)
            part /= h
            part *= (d + nearest) / h
            part *= -0.5
            np.exp(part, out=part)
            part[d == nearest] = 1.0  # also where both are infinite
    return weights


def _given_weights(function: Callable[[Any], Any], distances: Floats) -> Floats:
    """The values of a function; where some are infinite, those count alone, as at distance zero."""
    values = np.asarray(function(distances), dtype=float)
    if values.shape != distances.shape or np.isnan(values).any() or (values < 0).any():
        raise InputError(
            "The function for weights must return a number for every distance, none negative."
        )
    infinite = np.isinf(values)
    if infinite.any():
        values = np.where(infinite.any(axis=1)[:, None], infinite.astype(float), values)
    return values


def truncated_weights(indices: Ints, sample_weight: Floats, k: float) -> Floats:
    """Sample weights of the neighbors, near to far, truncated where their sum reaches k."""
    w = sample_weight[indices]
    before = np.cumsum(w, axis=1) - w
    return np.clip(k - before, 0.0, w)
