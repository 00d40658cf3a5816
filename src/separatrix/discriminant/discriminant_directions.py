"""Directions that maximize the variance between classes relative to that within, wᵀBw / wᵀΣw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats
from separatrix.statistics.standardizer import EPS


@dataclass(frozen=True)
class Directions:
    """Directions as columns of ``scalings`` (strongest first) and their ``values`` wᵀBw."""

    scalings: Floats
    values: Floats

    def ratio(self, n: int) -> Floats:
        """Fractions of the variance between classes along the first ``n``, 0 beyond the last."""
        values = np.zeros(max(n, len(self.values)))
        values[: len(self.values)] = self.values
        return np.asarray(values[:n] / max(float(values.sum()), np.finfo(float).tiny))


def from_means(means: Floats, priors: Floats, coef: Floats) -> Directions:
    """Scalings V with VᵀΣV = I that diagonalize the variance of the class means.

    With N the class means minus x̄, Σ⁻¹Nᵀ holds the score coefficients, so the eigenvectors of
    the K x K matrix √P N Σ⁻¹ Nᵀ √P turn coefficients into scalings. They lie in the span of
    √P N Σ⁻¹, which is small where there are few columns.
    """
    root = np.sqrt(priors)[:, None]
    centered = coef - priors @ coef  # Σ⁻¹(μₖ − x̄)
    unit = np.abs(centered).max(axis=0)
    unit[unit == 0] = 1.0
    span, triangle = np.linalg.qr(root * (centered / unit))
    inner = (span.T @ (root * ((means - priors @ means) * unit))) @ triangle.T
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    values, vectors = values[::-1], span @ vectors[:, ::-1]
    nonzero = values > 1e-8 * max(values[0], np.finfo(float).tiny)
    nonzero &= np.arange(len(values)) < len(means) - 1
    values = values[nonzero]
    scalings = (root * centered).T @ (vectors[:, nonzero] / np.sqrt(values))
    return Directions(_oriented(scalings, unit), values)


def from_covariances(within: Floats, total: Floats) -> Directions:
    """All directions V with VᵀΣV = I that diagonalize the total covariance less that within."""
    scale = np.sqrt(np.maximum(np.diag(within), 0.0))
    unit = np.where(scale > 0.0, scale, 1.0)
    values, vectors = np.linalg.eigh(within / np.outer(unit, unit))
    nonzero = values > 10 * len(values) * EPS
    maps = vectors[:, nonzero] / np.sqrt(values[nonzero]) / unit[:, None]
    between, rotation = np.linalg.eigh(maps.T @ (total - within) @ maps)
    return Directions(_oriented(maps @ rotation[:, ::-1], 1.0 / unit), between[::-1])


def _oriented(scalings: Floats, unit: Floats) -> Floats:
    """Every direction with its largest component positive."""
    if not scalings.size:
        return scalings
    largest = np.abs(scalings / unit[:, None]).argmax(axis=0)
    sign = np.sign(scalings[largest, np.arange(scalings.shape[1])])
    return np.asarray(scalings * np.where(sign == 0, 1.0, sign))
