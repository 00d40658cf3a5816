"""An ellipsoid in the affine span of its points, which may be flat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.hypotheses.enclosing.ellipsoid import enclosing_ellipsoid
from separatrix.rows.block import Floats, Ints

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class SpannedEllipsoid:
    """‖T (x − c)‖ ≤ 1 within the span of the points, and none of the span's complement.

    ``basis`` holds orthonormal directions of the span (d x r) and ``factor`` the triangle R (r x r)
    with RᵀR the shape of the ellipsoid along them; ``support`` are positions of points on its
    boundary, with ``weights`` of which the center is the mean.
    """

    center: Floats
    basis: Floats
    factor: Floats
    support: Ints
    weights: Floats
    primal: float
    dual: float

    @property
    def rank(self) -> int:
        """Dimensions of the span."""
        return int(self.basis.shape[1])

    @property
    def shape(self) -> Floats:
        """The matrix S of (x − c)ᵀ S⁻¹ (x − c) ≤ 1, of the rank of the span (d x d)."""
        half = self.factor @ self.basis.T
        return np.asarray(half.T @ half)

    def lengths(self, x: Floats) -> tuple[Floats, Floats]:
        """The length of each row within the span, 1 on the boundary, and the distance from it."""
        difference = x - self.center
        along = difference @ self.basis
        off = np.linalg.norm(difference - along @ self.basis.T, axis=1)
        if not self.rank:
            return np.zeros(len(x)), off
        if self.rank == x.shape[1]:
            off = np.zeros(len(x))
        unit = linalg.solve_triangular(self.factor, along.T, trans="T", check_finite=False)
        return np.linalg.norm(unit, axis=0), off


def spanned_ellipsoid(x: Floats) -> SpannedEllipsoid:
    """The ellipsoid of least volume around the rows, in the affine span that they have.

    A direction counts as one of the span if the rows vary along it by more than rounding errors of
    their largest variation; the volume is that of the span.
    """
    n, d = x.shape
    mean = x.mean(axis=0)
    triangle = np.linalg.qr(x - mean, mode="r") if n > d else x - mean
    _, sizes, directions = np.linalg.svd(triangle, full_matrices=False)
    level = 8 * max(n, d) ** 0.5 * EPS * max(float(sizes.max(initial=0.0)), np.abs(mean).max())
    rank = int((sizes > level).sum())
    basis, sizes = directions[:rank].T, sizes[:rank] / np.sqrt(n)
    if not rank:
        return SpannedEllipsoid(
            mean, basis, np.zeros((0, 0)), np.zeros(1, dtype=np.int64), np.ones(1), 0.0, 0.0
        )
    found = enclosing_ellipsoid((x - mean) @ (basis / sizes))
    center = mean + basis @ (sizes * found.center)
    half = linalg.cholesky(found.shape) * sizes
    factor = np.asarray(np.linalg.qr(half, mode="r"))
    log_sizes = float(np.log(sizes).sum())
    return SpannedEllipsoid(
        center, basis, factor, found.support, found.weights,
        found.primal + log_sizes, found.dual + log_sizes,
    )  # fmt: skip
