"""Ridge: min over a, b of Σ w (y − a − b·x)² + α ‖b‖², for one α or for all of them at once.

    XᵀX = V diag(λ) Vᵀ   ⇒   b(α) = V (VᵀXᵀy / (λ + α))        for every α

One decomposition serves the whole path: every direction of the cloud of rows is shrunk by
λ/(λ + α), the short directions most. The intercept is not shrunk: everything is about the means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.linear.least_squares.certificate import certify_least_squares
from separatrix.linear.least_squares.minimum_norm import centred
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments
from separatrix.threads import small_products

CLAIM = "Ridge: no other coefficients have a smaller sum of squares plus penalty"


def fit_ridge(m: Moments, alpha: Floats) -> Solution:
    """One α per target (each > 0), by Cholesky of the equilibrated XᵀX + αI: right in any units."""
    coef = np.stack([_solve(m, a, m.xy[:, j]) for j, a in enumerate(alpha)], axis=1)
    return Solution(coef, m.y_mean - m.x_mean @ coef, certify_ridge(m, coef, alpha))


def _solve(m: Moments, alpha: float, right: Floats) -> Floats:
    scale = np.sqrt(np.diag(m.xx) + alpha)
    matrix = (m.xx + alpha * np.eye(m.d)) / np.outer(scale, scale)
    return np.asarray(linalg.solve(matrix, right / scale, assume_a="pos") / scale)


def certify_ridge(m: Moments, coef: Floats, alpha: Floats) -> Certificate:
    """Certificate from moments; with several α the worst target speaks for all."""
    found = [
        certify_least_squares(
            _target(m, j), coef[:, [j]], float(a), claim=CLAIM, statistic="moments"
        )
        for j, a in enumerate(alpha)
    ]
    return max(found, key=lambda c: c.kkt)


def _target(m: Moments, j: int) -> Moments:
    """The moments with target j alone."""
    at = [*range(m.d), m.d + j]
    one = type(m.targets)((m.targets.items[j],))
    return Moments(m.terms, one, m.count, m.weight, m.mean[at], m.scatter[np.ix_(at, at)])


@dataclass(frozen=True)
class Spectrum:
    """The cloud of rows in its principal directions.

    Direction i has squared length ``values[i]`` and components ``directions[:, i]`` on the columns
    divided by ``scale``; ``cross`` is its product with each target.
    """

    values: Floats
    directions: Floats
    cross: Floats
    scale: Floats
    x_mean: Floats
    y_mean: Floats
    yy: Floats
    weight: float

    @classmethod
    def of_moments(cls, m: Moments, scale: Floats) -> Spectrum:
        """Eigenvectors of the scatter of columns that were divided by ``scale`` already."""
        with small_products(m.d):
            values, directions = linalg.eigh(m.xx, check_finite=False)
        return cls(
            np.maximum(values, 0.0),
            directions,
            directions.T @ m.xy,
            scale,
            m.x_mean * scale,
            m.y_mean,
            np.diag(m.yy).copy(),
            m.weight,
        )

    @classmethod
    def of_rows(cls, block: Block, scale: Floats | None, *, fit_intercept: bool) -> Spectrum:
        """Singular vectors of the centred rows: for tables with more columns than rows.

        ``scale`` None stands for the standard deviation of each column.
        """
        x, y, x_mean, y_mean, weight = centred(block, fit_intercept)
        if scale is None:
            scale = np.sqrt((x**2).sum(axis=0) / weight)
            scale[scale <= 1e-14 * np.abs(x_mean)] = 1.0
        u, s, vt = linalg.svd(x / scale, full_matrices=False, check_finite=False)
        cross = s[:, None] * (u.T @ y)
        return cls(s**2, vt.T, cross, scale, x_mean, y_mean, (y**2).sum(axis=0), weight)

    def shrunk(self, alphas: Floats) -> Floats:
        """1/(λ + α) for every direction and α (r x m); directions without length give 0."""
        floor = self.values.max(initial=0.0) * len(self.values) * np.finfo(float).eps
        total = self.values[:, None] + alphas[None, :]
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(total > floor, 1.0 / total, 0.0))

    def coefs(self, alphas: Floats) -> tuple[Floats, Floats]:
        """Coefficients (m x d x k) and intercepts (m x k) for every α."""
        inner = np.einsum("ra,rk->ark", self.shrunk(alphas), self.cross)
        coefs = np.einsum("dr,ark->adk", self.directions, inner, optimize=True)
        coefs = coefs / self.scale[:, None]
        return coefs, self.y_mean - np.einsum("d,adk->ak", self.x_mean, coefs)

    def degrees_of_freedom(self, alphas: Floats) -> Floats:
        """Σ λ/(λ + α): how many coefficients the shrunken ones are worth."""
        return np.asarray((self.values[:, None] * self.shrunk(alphas)).sum(axis=0))

    def squares(self, alphas: Floats) -> Floats:
        """Residual sum of squares for every α and target (m x k)."""
        s = self.shrunk(alphas)
        gain = np.einsum("ra,rk->ak", 2 * s - self.values[:, None] * s**2, self.cross**2)
        return np.asarray(np.maximum(self.yy - gain, 0.0))

    def grid(self, size: int = 100) -> Floats:
        """Penalties from "nothing moves" to "least squares", evenly spaced on a log scale."""
        top = float(self.values.max(initial=0.0)) or 1.0
        positive = self.values[self.values > 1e-10 * top]
        low = float(positive.min(initial=top))
        return np.geomspace(10.0 * top, max(1e-4 * low, 1e-12 * top), size)


@dataclass(frozen=True)
class RidgeWalk:
    """A path: coefficients (m x d x k), intercepts (m x k) and a certificate for every penalty."""

    spectrum: Spectrum
    alphas: Floats
    coefs: Floats
    intercepts: Floats
    certificates: tuple[Certificate, ...]


def walk_moments(m: Moments, spectrum: Spectrum, alphas: Floats) -> RidgeWalk:
    """The path from scaled moments, every point certified.

    Where units differ so much that the eigenvectors lose the small columns, the certificate shows
    it, and those points are solved again one by one.
    """
    certificates = []
    with small_products(m.d):
        coefs, intercepts = spectrum.coefs(alphas)
        for i, alpha in enumerate(alphas):
            every = np.full(coefs.shape[2], alpha)
            found = certify_ridge(m, coefs[i] * spectrum.scale[:, None], every)
            if not found.holds and alpha > 0:
                again = fit_ridge(m, every)
                coefs[i], intercepts[i] = again.coef / spectrum.scale[:, None], again.intercept
                found = again.certificate
            certificates.append(found)
    return RidgeWalk(spectrum, alphas, coefs, intercepts, tuple(certificates))
