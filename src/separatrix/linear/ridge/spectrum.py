"""Ridge regression for one α or for all of them, from one eigendecomposition.

    min over a, b of Σ w (y − a − b·x)² + α ‖b‖²
    XᵀX = V diag(λ) Vᵀ   ⇒   b(α) = V (VᵀXᵀy / (λ + α))        for every α

Every principal direction is shrunk by λ/(λ + α), those of small variance most. The intercept is
not penalized: X and y are centered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.estimators.additive import MAX_STORED_COLUMNS
from separatrix.linear.least_squares.certificate import (
    RIDGE_CLAIM,
    certify_from_moments,
)
from separatrix.linear.ridge.row_spectrum import RowSpectrum
from separatrix.linear.ridge.wide import CenteredRows
from separatrix.matrices.graded import GradedRows
from separatrix.messages import InputError
from separatrix.optimize.duality import joint_certificate
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Floats
from separatrix.statistics.moments import Moments
from separatrix.statistics.standardizer import Standardizer

#: Ratio of variances from which eigenvectors of the scatter lose the small columns.
UNITS_APART = 1e10


@dataclass(frozen=True)
class RidgeOptions:
    """Whether there is an intercept, and whether α penalizes standardized coefficients."""

    fit_intercept: bool = True
    standardize: bool = False

    def scaled(self, m: Moments) -> tuple[Moments, Floats]:
        """The moments of the columns that are penalized alike, and the scale they have."""
        m = m if self.fit_intercept else m.about_origin()
        scale = np.ones(m.d)
        if self.standardize:
            scale = _one_if_zero(Standardizer.from_moments(m).scale)
            m = m.mapped(np.diag(1.0 / scale), np.eye(len(m.targets)), m.terms, m.targets)
        return m, scale


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues and eigenvectors of XᵀX for columns divided by ``scale``.

    ``values`` are λ, ``directions`` the eigenvectors V (by column; None where there would be more
    numbers than in the table), ``cross`` is VᵀXᵀy for each target. Eigenvalues up to ``floor`` are
    rounding.
    """

    values: Floats
    directions: Floats | None
    cross: Floats
    scale: Floats
    x_mean: Floats
    y_mean: Floats
    yy: Floats
    weight: float
    floor: float = 0.0

    @classmethod
    def from_moments(cls, m: Moments, scale: Floats) -> Spectrum:
        """Eigenvectors of the scatter of columns that were divided by ``scale`` already."""
        variances = np.diag(m.xx)[np.diag(m.xx) > 0.0]
        graded = variances.max(initial=0.0) > UNITS_APART * variances.min(initial=np.inf)
        if graded:
            _, s, directions = GradedRows.of_products(m.xx).singular()
            values = s**2
        else:
            values, directions = linalg.eigh(m.xx, check_finite=False)
        eps = 0.0 if graded else float(np.finfo(float).eps)
        return cls(
            np.maximum(values, 0.0),
            directions,
            directions.T @ m.xy,
            scale,
            m.x_mean * scale,
            m.y_mean,
            np.diag(m.yy).copy(),
            m.weight,
            float(values.max(initial=0.0)) * m.d * eps,
        )

    @classmethod
    def from_rows(cls, rows: CenteredRows, found: RowSpectrum) -> Spectrum:
        """From the products of the rows: for tables with no more rows than columns."""
        root = np.sqrt(found.values)
        directions = None
        if len(rows.scale) <= MAX_STORED_COLUMNS:
            directions = rows.transposed_times(found.vectors) / root
        return cls(
            found.values,
            directions,
            root[:, None] * (found.vectors.T @ rows.y),
            rows.scale,
            rows.x_mean,
            rows.y_mean,
            (rows.y**2).sum(axis=0),
            rows.weight,
        )

    @classmethod
    def from_singular(cls, rows: CenteredRows, u: Floats, s: Floats, v: Floats) -> Spectrum:
        """From singular values, which keep the digits of small columns that products would lose."""
        yy, cross = (rows.y**2).sum(axis=0), s[:, None] * (u.T @ rows.y)
        return cls(s**2, v, cross, rows.scale, rows.x_mean, rows.y_mean, yy, rows.weight)

    def inverse_eigenvalues(self, alphas: Floats) -> Floats:
        """1/(λ + α) for every direction and α (r x m); 0 where that is singular."""
        total = self.values[:, None] + alphas[None, :]
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(total > self.floor, 1.0 / total, 0.0))

    def coefs(self, alphas: Floats) -> tuple[Floats, Floats]:
        """Coefficients (m x d x k) and intercepts (m x k) for every α."""
        if self.directions is None:
            raise InputError(
                "This path was stored without its training rows, and has too many columns to store "
                "their principal directions.",
                remedy="Use coefs_ at the stored alphas_, or fit again.",
            )
        inner = np.einsum("ra,rk->ark", self.inverse_eigenvalues(alphas), self.cross)
        coefs = np.einsum("dr,ark->adk", self.directions, inner, optimize=True)
        coefs = coefs / self.scale[:, None]
        return coefs, self.y_mean - np.einsum("d,adk->ak", self.x_mean, coefs)

    def degrees_of_freedom(self, alphas: Floats) -> Floats:
        """Effective degrees of freedom, Σ λ/(λ + α)."""
        return np.asarray((self.values[:, None] * self.inverse_eigenvalues(alphas)).sum(axis=0))

    def rss(self, alphas: Floats) -> Floats:
        """Residual sum of squares for every α and target (m x k)."""
        s = self.inverse_eigenvalues(alphas)
        explained = np.einsum("ra,rk->ak", 2 * s - self.values[:, None] * s**2, self.cross**2)
        return np.asarray(np.maximum(self.yy - explained, 0.0))

    def grid(self, size: int = 100) -> Floats:
        """Penalties from 10 λ_max to far below the least λ, evenly spaced on a log scale."""
        top = float(self.values.max(initial=0.0)) or 1.0
        positive = self.values[self.values > 1e-10 * top]
        low = float(positive.min(initial=top))
        return np.geomspace(10.0 * top, max(1e-4 * low, 1e-12 * top), size)


@dataclass(frozen=True)
class RidgeTrace:
    """A path: coefficients (m x d x k), intercepts (m x k) and a certificate for every penalty.

    ``coordinates`` (n x r) are those of the rows along the principal directions, where the path
    was solved in the space of the rows; ``graded`` says that units differ too much for products of
    rows.
    """

    spectrum: Spectrum
    alphas: Floats
    coefs: Floats
    intercepts: Floats
    certificates: tuple[Certificate, ...]
    coordinates: Floats | None = None
    graded: bool = False


def ridge_from_moments(m: Moments, alpha: Floats) -> Solution:
    """One α > 0 per target, by Cholesky of the equilibrated XᵀX + αI."""
    coef = np.stack([_solve(m, a, m.xy[:, j]) for j, a in enumerate(alpha)], axis=1)
    return Solution(coef, m.y_mean - m.x_mean @ coef, certify_ridge_moments(m, coef, alpha))


def _solve(m: Moments, alpha: float, right: Floats) -> Floats:
    scale = np.sqrt(np.diag(m.xx) + alpha)
    matrix = (m.xx + alpha * np.eye(m.d)) / np.outer(scale, scale)
    factor, info = linalg.lapack.dpotrf(matrix, lower=False, clean=False)
    if info or np.diag(factor).min() ** 2 <= 10 * m.d * np.finfo(float).eps:
        return _limit(matrix, scale, right)
    return np.asarray(linalg.cho_solve((factor, False), right / scale) / scale)


def _limit(matrix: Floats, scale: Floats, right: Floats) -> Floats:
    """The solution as α → 0, where columns are dependent and α is below the rounding of XᵀX.

    Of the coefficients that solve the equilibrated equations, those of least norm.
    """
    values, vectors = linalg.eigh(matrix, check_finite=False)
    positive = values > 10 * len(values) * np.finfo(float).eps * values[-1]
    inner = vectors[:, positive].T @ (right / scale) / values[positive]
    coef = vectors[:, positive] @ inner / scale
    free = vectors[:, ~positive] / scale[:, None]
    return np.asarray(coef - free @ np.linalg.lstsq(free, coef, rcond=None)[0])


def certify_ridge_moments(m: Moments, coef: Floats, alpha: Floats) -> Certificate:
    """Certificate from moments; objectives and gaps of the targets add up."""
    if len(alpha) == 1:
        return certify_from_moments(m, coef, float(alpha[0]), RIDGE_CLAIM)
    return joint_certificate(
        [
            certify_from_moments(_one_target(m, j), coef[:, [j]], float(a), RIDGE_CLAIM)
            for j, a in enumerate(alpha)
        ]
    )


def _one_target(m: Moments, j: int) -> Moments:
    """The moments with target j alone."""
    at = [*range(m.d), m.d + j]
    one = type(m.targets)((m.targets.items[j],))
    return Moments(m.terms, one, m.count, m.weight, m.mean[at], m.scatter[np.ix_(at, at)])


def trace_moments(m: Moments, spectrum: Spectrum, alphas: Floats) -> RidgeTrace:
    """The path from scaled moments, every point certified.

    Where units differ so much that the eigenvectors lose the small columns, the certificate shows
    it, and those points are solved again one by one.
    """
    certificates = []
    coefs, intercepts = spectrum.coefs(alphas)
    for i, alpha in enumerate(alphas):
        scaled = coefs[i] * spectrum.scale[:, None]
        found = certify_from_moments(m, scaled, float(alpha), RIDGE_CLAIM)
        if not found.holds and alpha > 0:
            again = ridge_from_moments(m, np.full(coefs.shape[2], alpha))
            coefs[i], intercepts[i] = again.coef / spectrum.scale[:, None], again.intercept
            found = again.certificate
        certificates.append(found)
    return RidgeTrace(spectrum, alphas, coefs, intercepts, tuple(certificates))


def _one_if_zero(scale: Floats) -> Floats:
    return np.where(scale > 0.0, scale, 1.0)
