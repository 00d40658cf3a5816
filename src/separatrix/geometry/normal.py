"""The multivariate normal: a centre, and an ellipsoid about it.

p(x) = (2π)^(−d/2) |Σ|^(−½) exp(−½ (x − μ)ᵀ Σ⁻¹ (x − μ))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from separatrix.messages import InputError
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class MultivariateNormal:
    """``mean`` μ (d) and ``covariance`` Σ (d x d), with the ``names`` of the columns if known.

    Σ may be singular: then all rows lie in a flat, on which the density is meant, and points
    outside have density zero and infinite distance.
    """

    mean: Floats
    covariance: Floats
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        mean = np.atleast_1d(np.asarray(self.mean, dtype=float))
        covariance = np.atleast_2d(np.asarray(self.covariance, dtype=float))
        if mean.ndim != 1 or covariance.shape != (len(mean), len(mean)):
            raise InputError(
                f"A mean of shape {mean.shape} and a covariance of shape {covariance.shape} "
                "do not fit together.",
                remedy="Give d means and a d × d covariance.",
            )
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "covariance", covariance)
        if not np.allclose(covariance, covariance.T, rtol=1e-8, atol=0.0):
            raise InputError("The covariance is not symmetric.")
        if self._spectrum[1].min(initial=0.0) < -1e-10:
            raise InputError("The covariance has a negative variance in some direction.")

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        """Deviations of the columns, then eigenvalues and vectors of the correlations."""
        size = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        size[size == 0] = 1.0
        values, vectors = np.linalg.eigh(self.covariance / np.outer(size, size))
        return size, values, vectors

    @property
    def _kept(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        values = self._spectrum[1]
        return np.asarray(values > 10 * len(values) * np.finfo(float).eps)

    @property
    def rank(self) -> int:
        """Directions in which rows vary at all."""
        return int(self._kept.sum())

    @property
    def log_volume(self) -> float:
        """½ ln |Σ|, over the directions in which rows vary."""
        size, values, _ = self._spectrum
        if self._kept.all():
            return float(0.5 * np.log(values).sum() + np.log(size).sum())
        spread = np.linalg.eigvalsh(self.covariance)
        return float(0.5 * np.log(spread[len(spread) - self.rank :]).sum())

    def mahalanobis(self, x: Floats) -> Floats:
        """√((x − μ)ᵀ Σ⁻¹ (x − μ)) for every row: the distance in standard deviations."""
        size, values, vectors = self._spectrum
        z = (np.atleast_2d(x) - self.mean) / size @ vectors
        kept = self._kept
        square = (z[:, kept] ** 2 / values[kept]).sum(axis=1)
        off = np.abs(z[:, ~kept]).max(axis=1, initial=0.0)
        beside = off > 1e-7 * (1.0 + np.abs(z).max(axis=1, initial=0.0))
        return np.asarray(np.where(beside, np.inf, np.sqrt(square)))

    def log_density(self, x: Floats) -> Floats:
        """ln p(x) for every row."""
        constant = 0.5 * self.rank * np.log(2.0 * np.pi) + self.log_volume
        return np.asarray(-0.5 * self.mahalanobis(x) ** 2 - constant)

    def density(self, x: Floats) -> Floats:
        """p(x) for every row."""
        return np.asarray(np.exp(self.log_density(x)))

    def marginal(self, columns: Sequence[int]) -> MultivariateNormal:
        """Some of the columns alone: their means, their part of Σ."""
        at = list(columns)
        names = tuple(self.names[j] for j in at) if self.names else ()
        return MultivariateNormal(self.mean[at], self.covariance[np.ix_(at, at)], names)

    def projected(self, matrix: Floats) -> MultivariateNormal:
        """The normal of x A for a d x m matrix A (or one direction): Aᵀμ and AᵀΣA."""
        a = np.asarray(matrix, dtype=float)
        a = a[:, None] if a.ndim == 1 else a
        covariance = a.T @ self.covariance @ a
        return MultivariateNormal(self.mean @ a, 0.5 * (covariance + covariance.T))

    def ellipse(
        self, columns: Sequence[int] = (0, 1), *, share: float = 0.95, points: int = 128
    ) -> Floats:
        """Points (points x 2) of the ellipse that holds ``share`` of the rows in two columns.

        The share within distance r of a plane normal is 1 − exp(−r²/2). For other directions than
        columns, project first.
        """
        if not 0 < share < 1:
            raise InputError(f"share={share} must lie between 0 and 1.")
        plane = self.marginal(columns)
        size, values, vectors = plane._spectrum
        angle = np.linspace(0.0, 2.0 * np.pi, points)
        circle = np.column_stack([np.cos(angle), np.sin(angle)])
        radius = np.sqrt(-2.0 * np.log1p(-share))
        axes = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T * size
        return np.asarray(plane.mean + radius * circle @ axes)

    def within(self, x: Floats, share: float = 0.95) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each row lies in the ellipsoid that holds ``share`` of the rows."""
        limit = special.gammaincinv(0.5 * max(self.rank, 1), share) * 2.0
        return np.asarray(self.mahalanobis(x) ** 2 <= limit)

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> Floats:
        """``n`` rows drawn at random; the same ``seed`` draws the same rows."""
        size, values, vectors = self._spectrum
        z = np.random.default_rng(seed).standard_normal((n, len(self.mean)))
        z *= np.sqrt(np.maximum(values, 0.0))
        return np.asarray(self.mean + z @ vectors.T * size)
