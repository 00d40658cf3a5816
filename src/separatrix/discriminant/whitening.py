"""Maps that whiten covariances: AᵀΣA = I, for all classes, on threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.discriminant.gaussian_problem import FLOOR
from separatrix.rows.block import Floats
from separatrix.statistics.standardizer import EPS
from separatrix.threads import parallel_map, pieces

#: Numbers in the matrices of a piece of the work, at least.
SMALLEST_PIECE = 2_000


@dataclass(frozen=True)
class Whitening:
    """``maps`` A with AᵀΣA = I, ``log_volume`` ½ ln|Σ| and whether Σ is ``singular``, by class.

    ``condition`` is the worst condition number of the classes, and ``error`` the largest entry of
    |AᵀΣA − I|: NaN where some Σ is singular.
    """

    maps: Floats
    log_volume: Floats
    singular: NDArray[np.bool_]
    condition: float
    error: float


def whiten(covariances: Floats, rounding: Floats) -> Whitening:
    """Whiten covariances (K x d x d), of which a standard deviation up to ``rounding`` is zero."""
    k, d = covariances.shape[:2]
    parts = pieces(k, max(1, SMALLEST_PIECE // max(d * d, 1)))
    found = parallel_map(lambda part: _whiten(covariances[part], rounding), parts)
    if len(found) == 1:
        return found[0]
    return Whitening(
        np.concatenate([one.maps for one in found]),
        np.concatenate([one.log_volume for one in found]),
        np.concatenate([one.singular for one in found]),
        max(one.condition for one in found),
        float(np.max([one.error for one in found])),
    )


def _whiten(inner: Floats, rounding: Floats) -> Whitening:
    """Every Σ is scaled to a unit diagonal, so that a class narrow in one column keeps its digits.

    A = D⁻¹ L⁻ᵀ from the Cholesky factor L; from eigenvectors where eigenvalues must be replaced.
    """
    d = inner.shape[1]
    deviation = np.sqrt(np.maximum(np.diagonal(inner, axis1=1, axis2=2), 0.0))
    constant = deviation <= rounding
    deviation = np.where(constant, np.sqrt(FLOOR), deviation)
    correlation = inner / (deviation[:, :, None] * deviation[:, None, :])
    correlation = 0.5 * (correlation + correlation.swapaxes(-1, -2))
    values = np.linalg.eigvalsh(correlation)
    zero = values <= 10 * max(d, 1) * EPS
    singular = (zero | constant).any(axis=1)
    error = np.nan
    if singular.any():
        values, vectors = np.linalg.eigh(correlation)
        values = np.where(zero, FLOOR, values)
        roots, maps = np.sqrt(values), vectors / np.sqrt(values)[:, None, :]
    else:
        factor = np.linalg.cholesky(correlation)
        roots = np.diagonal(factor, axis1=1, axis2=2)
        maps = np.linalg.inv(factor).swapaxes(-1, -2)
    maps = maps / deviation[:, :, None]
    if not singular.any():
        white = maps.swapaxes(-1, -2) @ inner @ maps
        error = float(np.abs(white - np.eye(d)).max(initial=0.0))
    condition = float((values.max(axis=1, initial=1.0) / values.min(axis=1, initial=1.0)).max())
    log_volume = np.log(roots).sum(axis=1) + np.log(deviation).sum(axis=1)
    return Whitening(maps, log_volume, singular, condition, error)


def triangular_maps(maps: Floats) -> Floats:
    """A R with R orthogonal, zero below the diagonal: distances ‖zA‖ are unchanged."""
    if not maps.size or not np.tril(maps, -1).any():
        return maps
    rotated = np.linalg.qr(maps[:, ::-1].transpose(0, 2, 1)).R
    return np.asarray(rotated.transpose(0, 2, 1)[:, ::-1, ::-1])
