"""Right preconditioning of the columns: standardization, or whitening where nearly collinear.

    z = (x − center) P,     Σ w zⱼ² = Σ w  for every column j,     b = P β

Iterative methods fit β on z and do not depend on the units of x. P is diagonal (the reciprocal
standard deviations) unless the columns of x are nearly collinear: then it also rotates them onto
their principal axes, so that the columns of z are uncorrelated. Where columns are exactly
dependent, z has as many columns as the rank, and b has the smallest norm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Block
from separatrix.statistics.moments import EPS, Moments, zero_if_constant
from separatrix.statistics.triangular import TriangularFactor

#: Smallest eigenvalue of the correlation matrix above which standardization suffices.
MIN_EIGENVALUE = 1e-9
#: Values in a chunk of rows that stays in cache.
CHUNK_VALUES = 400_000


@dataclass(frozen=True)
class Preconditioner:
    """The map z = (x − center) · rotation / scale; ``rotation`` (d x r) is None for the identity.

    ``dependent`` lists the columns that are linear combinations of earlier ones, constant columns
    included.
    """

    center: Floats
    scale: Floats
    rotation: Floats | None
    y_center: Floats
    centered: bool
    dependent: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """Number of columns of z."""
        return len(self.scale)

    @property
    def matrix(self) -> Floats:
        """P, d x r."""
        return np.diag(1.0 / self.scale) if self.rotation is None else self.rotation / self.scale

    def transform(self, x: Floats) -> Floats:
        """Rows of z."""
        z = x - self.center
        if self.rotation is not None:
            z = z @ self.rotation
        z /= self.scale
        return np.asarray(z)

    def chunks(self, block: Block) -> Iterator[tuple[Floats, Floats, Floats]]:
        """Yield (z, y − y_center, w) of a block in chunks, without the rows of weight 0."""
        weights, step = block.weights, max(64, CHUNK_VALUES // max(len(self.center), 1))
        for start in range(0, block.n, step):
            y = block.y[start : start + step] - self.y_center
            z = self.transform(block.dense(start, start + step))
            w = weights[start : start + step]
            if not w.all():
                z, y, w = z[w > 0], y[w > 0], w[w > 0]
            yield z, y, w

    def gram(self, moments: Moments) -> Floats:
        """Σ w z zᵀ; rotated columns are uncorrelated by construction."""
        if self.rotation is not None:
            return moments.weight * np.eye(self.rank)
        m = moments if self.centered else moments.about_origin()
        return np.asarray(m.xx / np.outer(self.scale, self.scale))

    def least_squares(self, moments: Moments) -> Floats:
        """The least-squares β (r x k), as a starting point."""
        m = moments if self.centered else moments.about_origin()
        return np.asarray(np.linalg.solve(self.gram(moments), self.matrix.T @ m.xy))

    def unscale(self, beta: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """(coefficients, intercept) for x and y from those for z and y − y_center."""
        b = self.matrix @ beta
        return b, self.y_center + intercept - self.center @ b


def column_scales(moments: Moments, about: Moments) -> Floats:
    """Root mean squares of the columns, exactly 0 for a constant column.

    ``about`` are the moments about the mean, or about the origin (a fit without intercept); what
    rounding alone could make of a column is measured by its mean in both cases.
    """
    scale = np.sqrt(np.maximum(np.diag(about.xx), 0.0) / about.weight)
    return zero_if_constant(scale, moments.x_mean)


def precondition(
    rows: Rows, moments: Moments, *, fit_intercept: bool, standard_norm: bool = False
) -> Preconditioner:
    """The preconditioner of a table; the rows are read again only if columns are collinear.

    Where columns are dependent, b has the smallest norm, or with ``standard_norm`` the coefficients
    of standardized columns have.
    """
    m = moments if fit_intercept else moments.about_origin()
    center, y_center = m.mean[: m.d], m.mean[m.d :]
    scale = column_scales(moments, m)
    varies = scale > 0
    unit = np.where(varies, scale, 1.0)
    correlation = m.xx / np.outer(unit, unit) / m.weight
    if varies.all() and (
        m.d == 0 or (m.d < m.count and linalg.eigvalsh(correlation)[0] > MIN_EIGENVALUE)
    ):
        return Preconditioner(center, scale, None, y_center, fit_intercept)
    r = rows.reduce(TriangularFactor(shift=m.mean)).r
    # below its first row, the factor of [1 X Y] is that of the centered [X Y]
    r = (r[1:] if fit_intercept else r)[:, 1 : 1 + m.d] / unit * varies
    # the rows themselves are rounded: columns far from zero depend on each other up to that
    offset = float(np.abs(moments.x_mean[varies] / unit[varies]).max(initial=1.0))
    tol = EPS * max(m.d, 10) * offset
    rotation, singular = _principal_axes(r, unit, tol, standard_norm)
    names = tuple(str(m.terms.items[j]) for j in dependent_columns(r, tol))
    names = names if len(singular) < m.d else ()
    scale = singular / np.sqrt(m.weight)
    return Preconditioner(center, scale, rotation, y_center, fit_intercept, names)


def _principal_axes(
    r: Floats, unit: Floats, tol: float, standard_norm: bool
) -> tuple[Floats, Floats]:
    """Principal axes of the standardized columns whose singular values exceed rounding errors.

    The rows of x span unit·V; coefficients within that span have the smallest norm of all with the
    same predictions, which the QR factorization of unit·V yields.
    """
    singular, v = linalg.svd(r, full_matrices=False)[1:]
    rank = int((singular > tol * singular.max(initial=0.0)).sum())
    v, singular = v[:rank].T, singular[:rank]
    if rank == len(unit) or standard_norm:
        return v / unit[:, None], singular
    q, triangle = linalg.qr(unit[:, None] * v, mode="economic")
    return q @ linalg.solve_triangular(triangle, np.eye(rank), trans="T"), singular


def dependent_columns(r: Floats, tol: float) -> list[int]:
    """Columns within rounding errors of the span of earlier ones; zero columns included."""
    basis = np.zeros((len(r), 0))
    found = []
    for j in range(r.shape[1]):
        length = float(np.linalg.norm(r[:, j]))
        residual = r[:, j] - basis @ (basis.T @ r[:, j])
        residual = residual - basis @ (basis.T @ residual)  # reorthogonalized against rounding
        distance = float(np.linalg.norm(residual))
        if distance <= 10 * tol * length or basis.shape[1] == len(r):
            found.append(j)
        else:
            basis = np.column_stack([basis, residual / distance])
    return found
