"""A frame of reference in which every table looks alike: centred, of unit size, independent.

    z = (x − centre) · matrix,     Σ w zⱼ² = Σ w  for every column j

Iterative methods work on z and never meet the units of x. Where the columns of x are nearly
dependent, the matrix also turns them to be uncorrelated; where they are dependent, it keeps one
direction per independent one, such that the coefficients of x are the shortest possible.
A fit β on z is the fit b = matrix·β on x.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.rows.block import Block, Floats
from separatrix.rows.rows import Rows
from separatrix.statistics.moments import Moments
from separatrix.statistics.triangular import TriangularFactor

EPS = float(np.finfo(float).eps)
#: Least eigenvalue of the correlations above which scaling each column by itself is enough.
INDEPENDENT = 1e-9
#: Numbers in a piece of rows that stays in cache.
CHUNK = 400_000


@dataclass(frozen=True)
class Orthonormalizer:
    """``scale`` (r) divides columns; ``turn`` (d x r, or None: no turning) mixes them before.

    ``dependent`` names the columns that are combinations of the others, constants included.
    """

    centre: Floats
    scale: Floats
    turn: Floats | None
    y_centre: Floats
    centred: bool
    dependent: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """Number of columns of z."""
        return len(self.scale)

    @property
    def matrix(self) -> Floats:
        """b = matrix·β, d x r."""
        return np.diag(1.0 / self.scale) if self.turn is None else self.turn / self.scale

    def of(self, x: Floats) -> Floats:
        """Rows of z."""
        z = x - self.centre
        if self.turn is not None:
            z = z @ self.turn
        z /= self.scale
        return np.asarray(z)

    def pieces(self, block: Block) -> Iterator[tuple[Floats, Floats, Floats]]:
        """(z, y − y_centre, w) of a block, some thousand rows at a time; rows of weight 0 go."""
        step = max(64, CHUNK // max(len(self.centre), 1))
        for start in range(0, block.n, step):
            y = block.y[start : start + step] - self.y_centre
            z = self.of(block.dense(start, start + step))
            w = np.ones(len(y)) if block.w is None else block.w[start : start + step]
            if not w.all():
                z, y, w = z[w > 0], y[w > 0], w[w > 0]
            yield z, y, w

    def gram(self, moments: Moments) -> Floats:
        """Σ w z zᵀ; a turned frame has uncorrelated columns by construction."""
        if self.turn is not None:
            return moments.weight * np.eye(self.rank)
        m = moments if self.centred else moments.about_origin()
        return np.asarray(m.xx / np.outer(self.scale, self.scale))

    def least_squares(self, moments: Moments) -> Floats:
        """The least-squares β (r x k): where iterations start."""
        m = moments if self.centred else moments.about_origin()
        return np.asarray(np.linalg.solve(self.gram(moments), self.matrix.T @ m.xy))

    def restore(self, beta: Floats, constant: Floats) -> tuple[Floats, Floats]:
        """(b, a) for x and y from (β, constant) for z and y − y_centre."""
        b = self.matrix @ beta
        return b, self.y_centre + constant - self.centre @ b


def sizes_of(moments: Moments, about: Moments) -> tuple[Floats, NDArray[np.bool_]]:
    """The size of every column about a point, and whether that is more than rounding.

    ``moments`` are about the means: what rounding alone could spread is measured by those.
    """
    size = np.sqrt(np.maximum(np.diag(about.xx), 0.0) / about.weight)
    return size, size > np.maximum(4 * EPS * np.abs(moments.x_mean), np.finfo(float).tiny)


def orthonormalizer_of(rows: Rows, moments: Moments, *, fit_intercept: bool) -> Orthonormalizer:
    """The frame of a table. Reads the rows again only where moments cannot tell dependence."""
    m = moments if fit_intercept else moments.about_origin()
    centre, y_centre = m.mean[: m.d], m.mean[m.d :]
    size, varies = sizes_of(moments, m)
    unit = np.where(varies, size, 1.0)
    correlation = m.xx / np.outer(unit, unit) / m.weight
    if varies.all() and (
        m.d == 0 or (m.d < m.count and linalg.eigvalsh(correlation)[0] > INDEPENDENT)
    ):
        return Orthonormalizer(centre, size, None, y_centre, fit_intercept)
    r = rows.reduce(TriangularFactor(shift=m.mean)).r
    # below its first row, the factor of [1 X Y] is that of the centred [X Y]
    r = (r[1:] if fit_intercept else r)[:, 1 : 1 + m.d] / unit * varies
    # the rows themselves are rounded: columns far from zero depend on each other up to that
    offset = float(np.abs(moments.x_mean[varies] / unit[varies]).max(initial=1.0))
    known = EPS * max(m.d, 10) * offset
    turn, scale = _turned(r, unit, known)
    names = tuple(str(m.terms.items[j]) for j in combinations_of_earlier(r, known))
    names = names if len(scale) < m.d else ()
    return Orthonormalizer(centre, scale / np.sqrt(m.weight), turn, y_centre, fit_intercept, names)


def _turned(r: Floats, unit: Floats, known: float) -> tuple[Floats, Floats]:
    """Principal directions of the equilibrated columns, those of rounding size left out.

    The rows of x span unit·V; coefficients inside that span are the shortest of all that predict
    alike, which is what the QR factor of unit·V expresses.
    """
    singular, v = linalg.svd(r, full_matrices=False)[1:]
    rank = int((singular > known * singular.max(initial=0.0)).sum())
    v, singular = v[:rank].T, singular[:rank]
    if rank == len(unit):
        turn = v / unit[:, None]
    else:
        q, corner = linalg.qr(unit[:, None] * v, mode="economic")
        turn = q @ linalg.solve_triangular(corner, np.eye(rank), trans="T")
    return turn, singular


def combinations_of_earlier(r: Floats, known: float) -> list[int]:
    """Columns whose distance from the span of those before is of rounding size; zeros included."""
    span = np.zeros((len(r), 0))
    found = []
    for j in range(r.shape[1]):
        length = float(np.linalg.norm(r[:, j]))
        left = r[:, j] - span @ (span.T @ r[:, j])
        left = left - span @ (span.T @ left)  # once more: rounding of the first is of its own size
        distance = float(np.linalg.norm(left))
        if distance <= 10 * known * length or span.shape[1] == len(r):
            found.append(j)
        else:
            span = np.column_stack([span, left / distance])
    return found
