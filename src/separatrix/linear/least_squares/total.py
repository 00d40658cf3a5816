"""Total least squares: the plane nearest to the points in orthogonal distance.

    min over B, a of Σ w ‖(x, y) − nearest point of {(x, a + Bᵀx)}‖²

The plane's normals are the k right singular vectors (V₁₂; V₂₂) of the centred [X Y] with the
smallest singular values, and B = −V₁₂ V₂₂⁻¹; the sum of squared distances is the sum of those
values squared, and no plane has less. Two things can go wrong, and are told apart:

    the smallest values repeat     several planes are equally near; the flattest is returned
    V₂₂ is singular                the nearest plane stands upright: it is no function of x
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.linear.least_squares.certificate import warn_if_not_unique
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Floats
from separatrix.statistics.moments import Moments
from separatrix.statistics.preconditioner import dependent_columns
from separatrix.statistics.triangular import TriangularFactor

EPS = float(np.finfo(float).eps)
#: Part of a normal vector along Y, relative to its length, that is taken for rounding.
UPRIGHT = 1e-10


@dataclass(frozen=True)
class _Normals:
    """Normal directions of the nearest planes, and the singular values around the cut."""

    v: Floats
    smallest: Floats
    following: float
    level: float

    @property
    def repeated(self) -> bool:
        """Whether more directions are equally near than are needed."""
        return bool(self.v.shape[1] > len(self.smallest))


def fit_total_least_squares(
    factor: TriangularFactor, moments: Moments, *, fit_intercept: bool
) -> Solution:
    """From the triangular factor of [1 X Y], which keeps the digits that moments would lose."""
    m = moments if fit_intercept else moments.about_origin()
    # below its first row, the factor of [1 X Y] is that of the centred [X Y]
    r = factor.r[1:, 1:] if fit_intercept else factor.r[:, 1:]
    basis, dependent = _independent(r[:, : m.d], m)
    k = len(m.targets)
    turned = np.concatenate([r[:, : m.d] @ basis, r[:, m.d :]], axis=1)
    normals = _normals(turned, k)
    slopes = _slopes(normals, k)
    coef = basis @ slopes
    certificate = _certificate(turned, slopes, normals, dependent)
    _say(certificate, normals)
    intercept = m.y_mean - m.x_mean @ coef
    return Solution(coef, intercept, certificate, extra={"singular_values": normals.smallest})


def _independent(r: Floats, m: Moments) -> tuple[Floats, tuple[str, ...]]:
    """An orthonormal basis of the span of the rows of X, and the names of dependent columns.

    Turning X within that span changes no distance. Dependence is judged on columns of one length.
    """
    size = np.linalg.norm(r, axis=0)
    flat = size <= 4 * EPS * np.sqrt(m.weight) * np.abs(m.x_mean)
    unit = np.where(flat | (size == 0), 1.0, size)
    scaled = np.where(flat, 0.0, r / unit)
    singular, v = linalg.svd(scaled, full_matrices=False)[1:] if m.d else (np.zeros(0), scaled)
    rank = int((singular > 10 * max(m.d, 10) * EPS * singular.max(initial=0.0)).sum())
    if rank == m.d:
        return np.eye(m.d), ()
    basis = linalg.qr(unit[:, None] * v[:rank].T, mode="economic")[0]
    found = dependent_columns(scaled, max(m.d, 10) * EPS)
    return basis, tuple(str(m.terms.items[j]) for j in found)


def _normals(r: Floats, k: int) -> _Normals:
    """Right singular vectors for the k smallest values, and for all that tie with them."""
    p = r.shape[1]
    if len(r) < p:  # fewer rows than columns: the missing values are zero
        r = np.concatenate([r, np.zeros((p - len(r), p))])
    # largest columns first: the small singular values keep their digits when units differ
    corner, order = linalg.qr(r, mode="r", pivoting=True)
    values, turned = linalg.svd(corner[:p])[1:]
    v = np.empty_like(turned)
    v[:, order] = turned
    level = 10 * p * EPS * float(values.max(initial=0.0))
    cut = values[p - k] + max(level, 1e-10 * values[p - k])
    inside = values <= cut
    following = float(values[~inside].min()) if not inside.all() else np.inf
    return _Normals(v[inside].T, values[p - k :], following, level)


def _slopes(normals: _Normals, k: int) -> Floats:
    """B = −V₁₂ V₂₂⁻¹, or by the pseudo-inverse (the flattest plane) where there is a choice."""
    upper, lower = normals.v[:-k], normals.v[-k:]
    reach = np.linalg.svd(lower, compute_uv=False)
    if reach[-1] <= UPRIGHT:
        raise InputError(
            "The plane nearest to the points stands upright: it contains the direction of the "
            "target, so it predicts nothing (the columns vary less than the target and are not "
            "correlated with it).",
            remedy="Use LinearRegression, or give the target a larger unit.",
        )
    return np.asarray(-upper @ np.linalg.pinv(lower, rcond=UPRIGHT))


def _certificate(
    r: Floats, slopes: Floats, normals: _Normals, dependent: tuple[str, ...]
) -> Certificate:
    """Distances of the plane that was found, against the bound by singular values."""
    k = slopes.shape[1]
    normal = linalg.qr(np.concatenate([slopes, -np.eye(k)]), mode="economic")[0]
    primal = float(np.sum((r @ normal) ** 2))
    dual = min(float(np.sum(normals.smallest**2)), primal)
    gap = normals.following - float(normals.smallest.max(initial=0.0))
    notes = [
        f"Smallest singular value {normals.smallest[-1]:.6g}; the next that a plane could have "
        f"used is {normals.following:.6g}."
    ]
    if normals.repeated:
        notes = ["The smallest singular value repeats: other planes are equally near."]
    return Certificate(
        "Total least squares: the sum of squared orthogonal distances is as small as it can be",
        primal=primal,
        dual=dual,
        gap=primal - dual,
        tolerance=1e-8,
        scale=normals.level**2 / EPS,
        condition=float(np.linalg.norm(r) / gap) if gap > 0 else np.inf,
        rank=len(slopes),
        dependent=dependent,
        notes=tuple(notes),
        promised=("gap",),
    )


def _say(certificate: Certificate, normals: _Normals) -> None:
    warn_if_not_unique(certificate)
    if normals.repeated and not certificate.dependent:
        warn(
            "SEP004",
            "total least squares: several planes are equally near to the points, since the "
            "smallest singular value repeats; the flattest of them was returned.",
        )
