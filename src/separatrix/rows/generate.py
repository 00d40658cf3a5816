"""Seeded tables with known laws, for examples, tests and races.

Every function takes a seed or a NumPy Generator, and gives the same numbers for the same seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Floats

Seed = int | np.random.Generator


def bernoulli(n: int, p: ArrayLike, seed: Seed = 0) -> Floats:
    """n x d rows of zeros and ones; column j is one with probability p[j]."""
    chance = np.atleast_1d(np.asarray(p, dtype=float))
    if ((chance < 0) | (chance > 1)).any():
        raise InputError("a probability must lie between 0 and 1.")
    return (np.random.default_rng(seed).random((n, len(chance))) < chance).astype(float)


def normal(n: int, mean: ArrayLike, deviation: ArrayLike = 1.0, seed: Seed = 0) -> Floats:
    """n x d independent normal columns with the given means and standard deviations."""
    centre = np.atleast_1d(np.asarray(mean, dtype=float))
    spread = np.broadcast_to(np.asarray(deviation, dtype=float), centre.shape)
    if (spread < 0).any():
        raise InputError("a standard deviation must not be negative.")
    return centre + spread * np.random.default_rng(seed).standard_normal((n, len(centre)))


def multivariate_normal(n: int, mean: ArrayLike, covariance: ArrayLike, seed: Seed = 0) -> Floats:
    """n x d rows of N(mean, covariance): x = mean + Σ^½ z, also where Σ is singular."""
    centre, sigma = np.asarray(mean, dtype=float), np.asarray(covariance, dtype=float)
    if sigma.shape != (len(centre), len(centre)) or not np.allclose(sigma, sigma.T):
        raise InputError(
            f"the covariance must be a symmetric {len(centre)} x {len(centre)} matrix."
        )
    values, vectors = np.linalg.eigh(sigma)
    if values[0] < -1e-8 * max(float(np.abs(values).max()), 1.0):
        raise InputError(f"the covariance has a negative eigenvalue ({values[0]:.2g}).")
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(
        centre + np.random.default_rng(seed).standard_normal((n, len(centre))) @ root.T
    )


def attribute_noise(x: ArrayLike, share: float, seed: Seed = 0) -> Floats:
    """Each value is replaced, with probability ``share``, by another row's value of its column.

    The column keeps its distribution; what it says of the others is blurred.
    """
    clean = np.asarray(x, dtype=float)
    _refuse_share(share)
    rng = np.random.default_rng(seed)
    hit = rng.random(clean.shape) < share
    donor = rng.integers(0, len(clean), clean.shape)
    return np.where(hit, np.take_along_axis(clean, donor, axis=0), clean)


def teacher_noise(y: ArrayLike, share: float, seed: Seed = 0) -> NDArray[np.generic]:
    """Each label is changed, with probability ``share``, to one of the other labels."""
    labels = np.asarray(y)
    _refuse_share(share)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError("there is one label only: it cannot be mistaken for another.")
    rng = np.random.default_rng(seed)
    wrong = rng.random(len(labels)) < share
    step = rng.integers(1, len(classes), len(labels))
    return np.asarray(classes[np.where(wrong, (codes + step) % len(classes), codes)])


@dataclass(frozen=True)
class LinearTable:
    """Rows whose law is known: y = intercept + x · coef + noise."""

    x: Floats
    y: Floats
    coef: Floats
    intercept: float


def linear_table(
    n: int,
    d: int,
    *,
    informative: int | None = None,
    noise: float = 1.0,
    correlation: float = 0.0,
    seed: Seed = 0,
) -> LinearTable:
    """Standard normal columns, neighbours correlated by ``correlation`` (ρ^|i−j| in all).

    The first ``informative`` coefficients (all by default) are standard normal, the others zero.
    """
    if not -1 < correlation < 1:
        raise InputError(f"the correlation {correlation} must lie strictly between -1 and 1.")
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    for j in range(1, d):
        x[:, j] = correlation * x[:, j - 1] + np.sqrt(1 - correlation**2) * x[:, j]
    coef = np.zeros(d)
    used = d if informative is None else min(informative, d)
    coef[:used] = rng.standard_normal(used)
    intercept = float(rng.standard_normal())
    y = intercept + x @ coef + noise * rng.standard_normal(n)
    return LinearTable(x, y, coef, intercept)


def _refuse_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise InputError(f"the share of noise {share} must lie between 0 and 1.")
