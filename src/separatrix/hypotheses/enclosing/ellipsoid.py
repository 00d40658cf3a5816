"""The ellipsoid of least volume around points, by Khachiyan's method with away steps.

    primal  minimize over c, S   ½ ln det S   subject to   (xᵢ − c)ᵀ S⁻¹ (xᵢ − c) ≤ 1
    dual    maximize over u      ½ ln det(d Σ(u)),   u ≥ 0, Σ u = 1

with c(u) and Σ(u) the mean and the covariance of the points under u. With
gᵢ = (xᵢ − c)ᵀ Σ⁻¹ (xᵢ − c) the ellipsoid S = (max g) Σ contains all points, and its gap is
(d/2) ln(max g / d). A step moves weight toward the point of the largest g, or away from the
weighted point of the smallest one, each as far as is best. Once the support is known, Newton's
method solves gᵢ = d on it to full accuracy. Many points are looked at through a working set, to
which those outside join.

References: L. G. Khachiyan, Rounding of polytopes in the real number model of computation, 1996;
M. J. Todd, E. A. Yıldırım, On Khachiyan's algorithm for the computation of minimum-volume enclosing
ellipsoids, 2007.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.hypotheses.enclosing.loops import weighted_steps
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

#: Gap of g, relative to d, at which the steps end and Newton's method begins.
NEAR = 1e-3
#: Steps between two factorizations of the covariance, which updates would let drift.
FRESH = 200
#: Points outside that join the working set at a time, for each column.
JOINING = 4


@dataclass(frozen=True)
class EnclosingEllipsoid:
    """(x − c)ᵀ S⁻¹ (x − c) ≤ 1 in coordinates of full rank, and the support with its weights.

    ``primal`` is ½ ln det S, ``dual`` a lower bound on that of any ellipsoid around the points.
    """

    center: Floats
    shape: Floats
    support: Ints
    weights: Floats
    primal: float
    dual: float
    iterations: int

    @property
    def gap(self) -> float:
        """By how much the logarithm of the volume may exceed the least one."""
        return max(self.primal - self.dual, 0.0)


def enclosing_ellipsoid(x: Floats, tolerance: float = 1e-12) -> EnclosingEllipsoid:
    """The ellipsoid of least volume around rows that span all d ≥ 1 columns."""
    d = x.shape[1]
    working = _first(x)
    u = np.full(len(working), 1.0 / len(working))
    iterations = 0
    for _ in range(100):
        u, steps = _solved(x[working], u, tolerance)
        iterations += steps
        distances = squared_lengths(x, *_mean_and_factor(x[working], u))
        outside = np.flatnonzero(distances > d * (1.0 + tolerance))
        new = np.setdiff1d(outside, working)
        if not len(new):
            break
        new = new[np.argsort(-distances[new], kind="stable")[: JOINING * d]]
        carrying = u > 0.0
        working = np.concatenate([working[carrying], new])
        u = np.concatenate([u[carrying], np.zeros(len(new))])
    return _result(x, working, u, iterations)


def _result(x: Floats, working: Ints, u: Floats, iterations: int) -> EnclosingEllipsoid:
    """The ellipsoid of given weights, made large enough for all points, and its gap."""
    d = x.shape[1]
    carrying = u > 0.0
    support, weights = working[carrying], u[carrying]
    order = np.lexsort(x[support].T)
    support, weights = support[order], weights[order] / weights.sum()
    center, factor = _mean_and_factor(x[support], weights)
    largest = float(squared_lengths(x, center, factor).max())
    log_det = float(np.log(np.abs(np.diag(factor))).sum())  # ½ ln det Σ
    primal, dual = log_det + 0.5 * d * np.log(largest), log_det + 0.5 * d * np.log(d)
    shape = largest * factor.T @ factor
    return EnclosingEllipsoid(
        center, shape, support, weights, primal, min(dual, primal), iterations
    )


def squared_lengths(x: Floats, center: Floats, factor: Floats) -> Floats:
    """(x − c)ᵀ Σ⁻¹ (x − c) of every row, with Σ = RᵀR."""
    found = np.empty(len(x))

    def of_piece(rows: slice) -> None:
        z = linalg.solve_triangular(factor, (x[rows] - center).T, trans="T", check_finite=False)
        found[rows] = np.einsum("ji,ji->i", z, z)

    parallel_map(of_piece, pieces(len(x), 4096))
    return found


def _mean_and_factor(x: Floats, u: Floats) -> tuple[Floats, Floats]:
    """The mean and the triangular factor R of the covariance RᵀR under the weights."""
    center = u @ x
    factor = np.linalg.qr(np.sqrt(u)[:, None] * (x - center), mode="r")
    return center, np.asarray(factor)


def _first(x: Floats) -> Ints:
    """Rows that span all columns: the extremes along directions orthogonal to those before."""
    d = x.shape[1]
    basis = np.zeros((d, 0))
    chosen: list[int] = []
    for _ in range(d):
        residual = np.eye(d) - basis @ basis.T
        direction = residual[:, np.einsum("ij,ij->j", residual, residual).argmax()]
        along = x @ direction
        low, high = int(along.argmin()), int(along.argmax())
        chosen += [low, high]
        edge = residual @ (x[high] - x[low])
        basis = np.column_stack([basis, edge / np.linalg.norm(edge)])
    return np.array(sorted(set(chosen)))


def _solved(x: Floats, u: Floats, tolerance: float) -> tuple[Floats, int]:
    """Weights of the least ellipsoid around a few points, and the steps taken."""
    d = x.shape[1]
    near, steps = NEAR, 0
    if (u > 0).sum() <= d:
        u = np.full(len(x), 1.0 / len(x))
    for _ in range(60):
        u, taken = _khachiyan(x, u, near)
        steps += taken
        exact = _newton(x, u, tolerance)
        if exact is not None:
            return exact, steps
        if near <= tolerance:
            break
        near = max(near / 10, tolerance)
    return u, steps


def _khachiyan(x: Floats, u: Floats, near: float) -> tuple[Floats, int]:
    """Steps toward and away until all g are within (1 ± near) d on the support, or below."""
    d, steps = x.shape[1], 0
    for _ in range(200):
        u = u / u.sum()
        center, factor = _mean_and_factor(x, u)
        inverse = linalg.solve_triangular(factor, np.eye(d), check_finite=False)
        z = (x - center) @ inverse
        lifted = np.column_stack([z, np.ones(len(x))])
        lengths, product = np.zeros(len(x)), np.zeros(d + 1)
        taken = int(weighted_steps(lifted, np.eye(d + 1), u, near, FRESH, lengths, product))
        steps += taken
        if taken < FRESH:
            break
    return u, steps


def _newton(x: Floats, u: Floats, tolerance: float) -> Floats | None:
    """Weights with gᵢ = d on the support of ``u`` and g ≤ d elsewhere; None if it fails."""
    d = x.shape[1]
    rows = np.flatnonzero(u > 0.0)
    weights = u[rows]
    for _ in range(30):
        center, factor = _mean_and_factor(x[rows], weights)
        z = linalg.solve_triangular(factor, (x[rows] - center).T, trans="T", check_finite=False)
        products = z.T @ z + 1.0  # x̃ᵢᵀ M⁻¹ x̃ⱼ of the points lifted by a 1
        residual = np.diag(products) - (d + 1)
        if np.abs(residual).max() <= tolerance * d:
            break
        change = np.linalg.lstsq(products**2, residual, rcond=None)[0]
        weights = weights + change
        if (weights <= 0.0).any() or not np.isfinite(weights).all():
            return None
        weights = weights / weights.sum()
    else:
        return None
    found = np.zeros(len(u))
    found[rows] = weights
    center, factor = _mean_and_factor(x, found)
    if squared_lengths(x, center, factor).max() > d * (1.0 + 2 * tolerance):
        return None
    return found
