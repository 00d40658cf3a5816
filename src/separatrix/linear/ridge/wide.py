"""Ridge regression on tables with no more rows than columns, in the space of the rows.

    b = Zᵀc,      (ZZᵀ + αI) c = y,      Z = √w (X − x̄) / s

The n x n matrix is factored in single precision, which halves its cost; conjugate gradients with
this factor as preconditioner and products with the rows in double precision then find c to all its
digits, mostly in two or three steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.linear.elastic_net.problem import sparse_variances
from separatrix.linear.least_squares.certificate import RIDGE_CLAIM, TOLERANCE
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.matrices.gram import column_squares, row_gram
from separatrix.matrices.products import products
from separatrix.matrices.standardized import Standardized
from separatrix.optimize.duality import certify_primal_dual, joint_certificate
from separatrix.optimize.losses import Squared
from separatrix.optimize.penalties import ElasticNet
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Block, Floats
from separatrix.statistics.standardizer import zero_if_constant

#: Multiplications from which the n x n matrix is made in single precision.
SINGLE = 1e8
#: Residual, relative to y, at which the iteration ends, and the most steps it may take.
ENOUGH, MAX_STEPS = 1e-13, 30


@dataclass(frozen=True)
class CenteredRows:
    """Z = √w (X − x̄)/s by its products, never formed, and the targets √w (y − ȳ)."""

    x: Any
    z: Standardized
    root: Floats
    y: Floats
    x_mean: Floats
    y_mean: Floats
    scale: Floats
    weight: float

    @classmethod
    def of(cls, block: Block, fit_intercept: bool, standardize: bool) -> CenteredRows:
        """Centered if there is an intercept; divided by standard deviations if wanted."""
        w, x = block.weights, products(block.x)
        x_mean, y_mean = np.zeros(x.shape[1]), np.zeros(block.y.shape[1])
        if fit_intercept:
            x_mean, y_mean = x.transposed_times(w) / w.sum(), w @ block.y / w.sum()
        scale = np.ones(x.shape[1])
        if standardize:
            deviation = np.sqrt(_squares(block.x, x_mean, w) / w.sum())
            deviation = zero_if_constant(deviation, x_mean)
            scale = np.where(deviation > 0.0, deviation, 1.0)
        root = np.sqrt(w)
        y = (block.y - y_mean) * root[:, None]
        z = Standardized(x, x_mean, scale)
        return cls(block.x, z, root, y, x_mean, y_mean, scale, float(w.sum()))

    def gram(self, dtype: Any = np.float64) -> Floats:
        """Z Zᵀ."""
        return row_gram(self.x, self.x_mean, self.scale, self.root, dtype)

    def unweighted_gram(self) -> Floats:
        """Z Zᵀ of rows of weight one."""
        return row_gram(self.x, self.x_mean, self.scale, np.ones(len(self.root)))

    def times(self, b: Floats) -> Floats:
        """Z b."""
        return self.root[:, None] * _flat(self.z.times, b)

    def transposed_times(self, c: Floats) -> Floats:
        """Zᵀ c."""
        return _flat(self.z.transposed_times, self.root[:, None] * c)

    def round_trip(self, c: Floats) -> tuple[Floats, Floats]:
        """f = Zᵀ c, and Z f."""
        if c.shape[1] == 1:
            forward, back = self.z.round_trip(self.root * c[:, 0])
            return forward[:, None], (self.root * back)[:, None]
        forward, back = self.z.round_trip(self.root[:, None] * c)
        return forward, self.root[:, None] * back

    def squares(self) -> Floats:
        """Σ z² of every column."""
        return np.asarray(_squares(self.x, self.x_mean, self.root**2) / self.scale**2)

    def in_table_units(self, coef: Floats) -> tuple[Floats, Floats]:
        """Coefficients (d x k) of the columns of X, and the intercepts."""
        coef = coef / self.scale[:, None]
        return coef, self.y_mean - self.x_mean @ coef


def _flat(product: Callable[[Floats], Floats], v: Floats) -> Floats:
    """A product with one column as a product with a vector, which has the faster loop."""
    return product(v) if v.shape[1] > 1 else product(v[:, 0])[:, None]


def _squares(x: Any, mean: Floats, w: Floats) -> Floats:
    if sparse.issparse(x):
        return np.asarray(sparse_variances(x, w / w.sum(), mean) * w.sum())
    return column_squares(x, mean, w)


def solve_in_rows(rows: CenteredRows, alpha: Floats) -> tuple[Floats, int] | None:
    """Coefficients (d x k) of the columns of Z, one α > 0 per target, and the number of steps.

    None where rounding does not let the iteration reach the solution.
    """
    n, d = rows.z.shape
    single = float(n) * n * d >= SINGLE
    gram = rows.gram(np.float32 if single else np.float64)
    if not np.isfinite(gram).all():
        return None
    solvers = _factored(gram, alpha, single)
    return None if solvers is None else _conjugate_gradient(rows, alpha, solvers)


def _factored(gram: Floats, alpha: Floats, single: bool) -> Callable[[Floats], Floats] | None:
    """(ZZᵀ + αI)⁻¹ as far as a factor in this precision goes, each target with its α."""
    dtype = np.float32 if single else np.float64
    least = 10.0 * np.finfo(dtype).eps * float(np.diag(gram).mean())
    size = float(np.diag(gram).max(initial=0.0)) + float(alpha.max())
    levels, which = np.unique(alpha, return_inverse=True)
    factors = []
    for level in levels:
        matrix: NDArray[Any] = (gram / size).astype(dtype)
        matrix[np.diag_indices_from(matrix)] += dtype(max(level, least) / size)
        factor = cholesky_factor(matrix)
        if factor is None:
            return None
        factors.append(factor)

    def solve(right: Floats) -> Floats:
        out = np.empty_like(right)
        for i, factor in enumerate(factors):
            columns = which == i
            length = np.linalg.norm(right[:, columns], axis=0)
            length[length == 0.0] = 1.0  # single precision has a narrow range
            found = cholesky_solve(factor, (right[:, columns] / length).astype(dtype))
            out[:, columns] = found * (length / size)
        return out

    return solve


def _conjugate_gradient(
    rows: CenteredRows, alpha: Floats, solve: Callable[[Floats], Floats]
) -> tuple[Floats, int] | None:
    """Solve (ZZᵀ + αI) c = y for all targets at once; b = Zᵀc goes along."""
    size = np.linalg.norm(rows.y, axis=0)
    size[size == 0.0] = 1.0
    b, residual = np.zeros((rows.z.shape[1], len(alpha))), rows.y.copy()
    direction = step = solve(residual)
    inner = np.einsum("ij,ij->j", residual, step)
    worst = np.inf
    for steps in range(1, MAX_STEPS + 1):
        forward, back = rows.round_trip(direction)
        back += alpha * direction
        curvature = np.einsum("ij,ij->j", direction, back)
        length = np.divide(inner, curvature, out=np.zeros_like(inner), where=curvature > 0.0)
        b += length * forward
        residual -= length * back
        before, worst = worst, float(np.max(np.linalg.norm(residual, axis=0) / size))
        if not np.isfinite(worst):
            return None
        if worst <= ENOUGH or (worst <= 1e-10 and worst > 0.3 * before):
            return b, steps
        step = solve(residual)
        new = np.einsum("ij,ij->j", residual, step)
        ratio = np.divide(new, inner, out=np.zeros_like(inner), where=inner > 0.0)
        direction, inner = step + ratio * direction, new
    return None


def certify_in_rows(rows: CenteredRows, coef: Floats, alpha: Floats) -> Certificate:
    """Certificate of ½‖y − Zb‖² + ½ α ‖b‖² at ``coef`` (d x k): the residual is the dual point.

    Gradients are measured in units of √α first, and in those of the columns, which takes another
    pass, only where that is too strict.
    """
    residual = rows.y - rows.times(coef)
    gradient = rows.transposed_times(residual)
    found = _certify(rows, coef, alpha, residual, gradient, np.zeros(len(coef)))
    return found if found.holds else _certify(rows, coef, alpha, residual, gradient, rows.squares())


def _certify(
    rows: CenteredRows,
    coef: Floats,
    alpha: Floats,
    residual: Floats,
    gradient: Floats,
    squares: Floats,
) -> Certificate:
    parts = []
    for j, a in enumerate(alpha):
        length = float(np.linalg.norm(rows.y[:, j]))
        parts.append(
            certify_primal_dual(
                Squared(),
                ElasticNet(np.zeros(len(coef)), np.full(len(coef), a)),
                np.ones(len(residual)),
                residual[:, j],
                residual[:, j],
                coef[:, j],
                gradient[:, j],
                claim=RIDGE_CLAIM,
                tolerance=TOLERANCE,
                v_scale=np.sqrt(squares + a) * max(length, np.finfo(float).tiny),
                scale=0.5 * length**2,
            )
        )
    return joint_certificate(parts)
