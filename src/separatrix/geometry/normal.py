"""The multivariate normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from separatrix.arrays import Floats
from separatrix.messages import InputError


@dataclass(frozen=True)
class MultivariateNormal:
    """Multivariate normal distribution.

        p(x) = (2π)^(−d/2) |Σ|^(−½) exp(−½ (x − μ)ᵀ Σ⁻¹ (x − μ))

    A singular Σ is allowed: the density is that on the affine subspace of its range, and points
    outside have density zero and infinite distance.

    Parameters
    ----------
    mean : array-like of shape (d,)
        μ.
    covariance : array-like of shape (d, d)
        Σ, symmetric and positive semi-definite.
    names : tuple of str, default=()
        Names of the columns, if known.

    See Also
    --------
    estimate_normal : estimates mean and covariance from rows.
    Mahalanobis : the distance as a metric.
    GaussianDiscriminant : a normal distribution for every class.

    References
    ----------
    T. W. Anderson, An Introduction to Multivariate Statistical Analysis, 3rd edition, Wiley,
    2003.

    Examples
    --------
    >>> import separatrix as sx
    >>> normal = sx.MultivariateNormal([0.0, 1.0], [[4.0, 0.0], [0.0, 1.0]])
    >>> normal.mahalanobis([[2.0, 1.0], [0.0, 4.0]]).tolist()
    [1.0, 3.0]
    >>> normal.density([[0.0, 1.0]]).round(4).tolist()
    [0.0796]
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
        deviation = self._spectrum[0]
        unit = np.outer(deviation, deviation)
        if not np.allclose(covariance / unit, covariance.T / unit, rtol=0.0, atol=1e-8):
            raise InputError("The covariance is not symmetric.", remedy="Give (S + S.T) / 2.")
        constant = np.diag(covariance) <= 0.0
        if self._spectrum[1].min(initial=0.0) < -1e-10 or covariance[constant].any():
            raise InputError(
                "The covariance has a negative eigenvalue.",
                remedy="Give a positive semi-definite matrix.",
            )

    @cached_property
    def _spectrum(self) -> tuple[Floats, Floats, Floats]:
        """Standard deviations, then eigenvalues and eigenvectors of the correlation matrix."""
        deviation = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        deviation[deviation == 0] = 1.0
        values, vectors = np.linalg.eigh(self.covariance / np.outer(deviation, deviation))
        return deviation, values, vectors

    @property
    def _nonzero(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        values = self._spectrum[1]
        return np.asarray(values > 10 * len(values) * np.finfo(float).eps)

    @property
    def rank(self) -> int:
        """Rank of the covariance."""
        return int(self._nonzero.sum())

    @property
    def half_log_determinant(self) -> float:
        """½ ln |Σ|, of a singular Σ the pseudo-determinant."""
        deviation, values, _ = self._spectrum
        if self._nonzero.all():
            return float(0.5 * np.log(values).sum() + np.log(deviation).sum())
        eigenvalues = np.linalg.eigvalsh(self.covariance)
        return float(0.5 * np.log(eigenvalues[len(eigenvalues) - self.rank :]).sum())

    def mahalanobis(self, x: Floats) -> Floats:
        """Mahalanobis distance √((x − μ)ᵀ Σ⁻¹ (x − μ)) of every row to the mean."""
        deviation, values, vectors = self._spectrum
        z = (np.atleast_2d(x) - self.mean) / deviation @ vectors
        nonzero = self._nonzero
        square = (z[:, nonzero] ** 2 / values[nonzero]).sum(axis=1)
        orthogonal = np.abs(z[:, ~nonzero]).max(axis=1, initial=0.0)
        outside = orthogonal > 1e-7 * (1.0 + np.abs(z).max(axis=1, initial=0.0))
        return np.asarray(np.where(outside, np.inf, np.sqrt(square)))

    def log_density(self, x: Floats) -> Floats:
        """ln p(x) of every row."""
        constant = 0.5 * self.rank * np.log(2.0 * np.pi) + self.half_log_determinant
        return np.asarray(-0.5 * self.mahalanobis(x) ** 2 - constant)

    def density(self, x: Floats) -> Floats:
        """p(x) of every row."""
        return np.asarray(np.exp(self.log_density(x)))

    def marginal(self, columns: Sequence[int]) -> MultivariateNormal:
        """Marginal distribution of some columns."""
        index = list(columns)
        names = tuple(self.names[j] for j in index) if self.names else ()
        return MultivariateNormal(self.mean[index], self.covariance[np.ix_(index, index)], names)

    def projected(self, matrix: Floats) -> MultivariateNormal:
        """Distribution N(Aᵀμ, AᵀΣA) of x A, for a d x m matrix A or one direction."""
        a = np.asarray(matrix, dtype=float)
        a = a[:, None] if a.ndim == 1 else a
        covariance = a.T @ self.covariance @ a
        return MultivariateNormal(self.mean @ a, 0.5 * (covariance + covariance.T))

    def ellipse(
        self, columns: Sequence[int] = (0, 1), *, probability: float = 0.95, n_points: int = 128
    ) -> Floats:
        """Points (n_points x 2) of the ellipse of a given probability in two columns.

        In two dimensions P(Mahalanobis distance ≤ r) = 1 − exp(−r²/2).
        """
        if not 0 < probability < 1:
            raise InputError(f"probability={probability} must lie between 0 and 1.")
        marginal = self.marginal(columns)
        deviation, values, vectors = marginal._spectrum
        angle = np.linspace(0.0, 2.0 * np.pi, n_points)
        circle = np.column_stack([np.cos(angle), np.sin(angle)])
        radius = np.sqrt(-2.0 * np.log1p(-probability))
        axes = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T * deviation
        return np.asarray(marginal.mean + radius * circle @ axes)

    def contains(
        self, x: Floats, probability: float = 0.95
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether each row lies in the concentric ellipsoid of a given probability."""
        limit = special.gammaincinv(0.5 * max(self.rank, 1), probability) * 2.0
        return np.asarray(self.mahalanobis(x) ** 2 <= limit)

    def sample(self, n: int, seed: int | np.random.Generator = 0) -> Floats:
        """``n`` random rows; the same ``seed`` gives the same rows."""
        deviation, values, vectors = self._spectrum
        z = np.random.default_rng(seed).standard_normal((n, len(self.mean)))
        z *= np.sqrt(np.maximum(values, 0.0))
        return np.asarray(self.mean + z @ vectors.T * deviation)
