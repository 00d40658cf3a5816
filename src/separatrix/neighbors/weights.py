"""How much the voice of a neighbor counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.kernels import Gaussian
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.block import Floats


def _uniform(distances: Floats) -> Floats:
    return np.ones_like(distances)


def _reciprocal(distances: Floats) -> Floats:
    """1/d. A neighbor at distance zero leaves the others nothing to say."""
    on_it = distances == 0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # Relative to the nearest, so that no unit makes the reciprocal overflow.
        least = np.where(on_it.any(axis=1), 1.0, distances.min(axis=1))[:, None]
        votes = least / distances
    return np.where(on_it.any(axis=1)[:, None], on_it.astype(float), votes)


def _adaptive(distances: Floats) -> Floats:
    """exp(−d²/2h²) with h the distance of the farthest of the k neighbors."""
    h = distances.max(axis=1)[:, None]
    return np.exp(-0.5 * (distances / np.where(h > 0, h, 1.0)) ** 2)


VOTES: dict[str, Callable[[Floats], Floats]] = {
    "uniform": _uniform,
    "distance": _reciprocal,
    "gaussian": _adaptive,
}


def votes_of(weights: Any, distances: Floats) -> Floats:
    """The vote of every neighbor, from its distance.

    ``weights`` is a name, a :class:`Gaussian` kernel, whose votes fall off with its bandwidth, or
    a function of an array of distances.
    """
    if isinstance(weights, str):
        if weights not in VOTES:
            raise InputError(f"No votes {weights!r}.", remedy=did_you_mean(weights, list(VOTES)))
        return VOTES[weights](distances)
    if isinstance(weights, Gaussian):
        # Relative to the nearest: far from all points the nearest still decides.
        square = distances**2 - distances.min(axis=1)[:, None] ** 2
        return np.asarray(np.exp(-square / (2.0 * weights.bandwidth**2)))
    if callable(weights):
        votes = np.asarray(weights(distances), dtype=float)
        if votes.shape != distances.shape or not np.isfinite(votes).all() or (votes < 0).any():
            raise InputError(
                "The function for the votes must return a finite number, not negative, for every "
                "distance."
            )
        return votes
    raise InputError(f"Votes are a name, a Gaussian or a function of distances, not {weights!r}.")


def share_of(indices: NDArray[np.int64], w: Floats, k: float) -> Floats:
    """How many of the k places each neighbor takes: its weight, while places are left."""
    mass = w[indices]
    before = np.cumsum(mass, axis=1) - mass
    return np.clip(k - before, 0.0, mass)
