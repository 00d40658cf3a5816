"""Random tables from known distributions, for examples, tests and benchmarks.

Every function takes a seed or a NumPy Generator, and returns the same numbers for the same seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from separatrix.arrays import Floats
from separatrix.messages import InputError

Seed = int | np.random.Generator


def bernoulli(n: int, p: ArrayLike, seed: Seed = 0) -> Floats:
    """n x d rows of zeros and ones; column j is one with probability p[j]."""
    probability = np.atleast_1d(np.asarray(p, dtype=float))
    _check_probability(probability)
    return (np.random.default_rng(seed).random((n, len(probability))) < probability).astype(float)


def normal(n: int, mean: ArrayLike, std: ArrayLike = 1.0, seed: Seed = 0) -> Floats:
    """n x d independent normal columns with the given means and standard deviations."""
    center = np.atleast_1d(np.asarray(mean, dtype=float))
    scale = np.broadcast_to(np.asarray(std, dtype=float), center.shape)
    if (scale < 0).any():
        raise InputError("a standard deviation must not be negative.")
    return center + scale * np.random.default_rng(seed).standard_normal((n, len(center)))


def multivariate_normal(n: int, mean: ArrayLike, covariance: ArrayLike, seed: Seed = 0) -> Floats:
    """n x d rows of N(mean, covariance): x = mean + Σ^½ z, also where Σ is singular."""
    center, sigma = np.asarray(mean, dtype=float), np.asarray(covariance, dtype=float)
    if sigma.shape != (len(center), len(center)):
        raise InputError(f"the covariance must be a {len(center)} x {len(center)} matrix.")
    deviation = np.sqrt(np.maximum(np.diag(sigma), 0.0))
    unit = np.where(deviation > 0.0, deviation, 1.0)
    correlation = sigma / unit / unit[:, None]  # what is small is small relative to the columns
    if not np.allclose(correlation, correlation.T, rtol=0.0, atol=1e-8):
        raise InputError("the covariance must be symmetric.")
    values, vectors = np.linalg.eigh(correlation)
    constant = deviation == 0.0
    if values.min(initial=0.0) < -1e-8 or sigma[constant].any() or sigma[:, constant].any():
        raise InputError("the covariance has a negative eigenvalue.")
    root = deviation[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(
        center + np.random.default_rng(seed).standard_normal((n, len(center))) @ root.T
    )


def feature_noise(x: ArrayLike, probability: float, seed: Seed = 0) -> Floats:
    """Replace each value, with the given probability, by a random row's value of its column.

    The distribution of each column is preserved; its dependence on the others is weakened.
    """
    clean = np.asarray(x, dtype=float)
    _check_probability(probability)
    rng = np.random.default_rng(seed)
    replaced = rng.random(clean.shape) < probability
    donor = rng.integers(0, len(clean), clean.shape)
    return np.where(replaced, np.take_along_axis(clean, donor, axis=0), clean)


def label_noise(y: ArrayLike, probability: float, seed: Seed = 0) -> NDArray[np.generic]:
    """Replace each label, with the given probability, by one of the other labels."""
    labels = np.asarray(y)
    _check_probability(probability)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError("there is only one label, so none can be changed to another.")
    rng = np.random.default_rng(seed)
    wrong = rng.random(len(labels)) < probability
    step = rng.integers(1, len(classes), len(labels))
    return np.asarray(classes[np.where(wrong, (codes + step) % len(classes), codes)])


@dataclass(frozen=True)
class LinearTable:
    """Rows of a known linear model: y = intercept + x · coef + noise."""

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
    """Standard normal columns with correlations ρ^|i−j|, ρ = ``correlation``.

    The first ``informative`` coefficients (all by default) are standard normal, the others zero.
    """
    if not -1 < correlation < 1:
        raise InputError(f"the correlation {correlation} must lie strictly between -1 and 1.")
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    for j in range(1, d):
        x[:, j] = correlation * x[:, j - 1] + np.sqrt(1 - correlation**2) * x[:, j]
    coef = np.zeros(d)
    nonzero = d if informative is None else min(informative, d)
    coef[:nonzero] = rng.standard_normal(nonzero)
    intercept = float(rng.standard_normal())
    y = intercept + x @ coef + noise * rng.standard_normal(n)
    return LinearTable(x, y, coef, intercept)


def _check_probability(probability: float | Floats) -> None:
    if not np.all((np.asarray(probability) >= 0) & (np.asarray(probability) <= 1)):
        raise InputError(f"the probability {probability} must lie between 0 and 1.")
