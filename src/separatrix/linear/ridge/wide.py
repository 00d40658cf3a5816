"""Ridge regression on tables with no more rows than columns, in the space of the rows.

    b = Zᵀc,      (ZZᵀ + αI) c = y,      Z = √w (X − x̄) / s

The n x n matrix is factored in single precision, which halves its cost; c is then refined by its
residual, from products with the rows in double precision, mostly once. Where the factor is too far
off, conjugate gradients with it as preconditioner find the correction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.linear.elastic_net.problem import sparse_variances
from separatrix.linear.least_squares.certificate import NULL_MODEL, RIDGE_CLAIM, TOLERANCE
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.matrices.gram import column_squares, row_gram, standardized_copy
from separatrix.matrices.products import products
from separatrix.matrices.standardized import Standardized
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Block, Floats
from separatrix.statistics.standardizer import zero_if_constant

#: Multiplications from which the n x n matrix is made in single precision.
SINGLE = 1e8
#: Change of the coefficients, relative to them, that is not worth another round; most steps.
ENOUGH, MAX_STEPS = 1e-10, 30
#: Residual, relative to y, that will do where rounding allows no less.
SMALL = 1e-10


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

    def dense(self) -> Floats:
        """Z itself."""
        x = self.x.toarray() if sparse.issparse(self.x) else self.x
        return standardized_copy(x, self.x_mean, self.scale, self.root)

    def squares(self) -> Floats:
        """Σ z² of every column."""
        return np.asarray(_squares(self.x, self.x_mean, self.root**2) / self.scale**2)

    def in_table_units(self, coef: Floats) -> tuple[Floats, Floats]:
        """Coefficients (d x k) of the columns of X, and the intercepts."""
        coef = coef / self.scale[:, None]
        return coef, self.y_mean - self.x_mean @ coef


def _flat(product: Callable[[Floats], Floats], v: Floats) -> Floats:
    """A product with one column as a product with a vector, which has the faster loop."""
    return product(v) if v.shape[1] != 1 else product(v[:, 0])[:, None]


def _squares(x: Any, mean: Floats, w: Floats) -> Floats:
    if sparse.issparse(x):
        return np.asarray(sparse_variances(x, w / w.sum(), mean) * w.sum())
    return column_squares(x, mean, w)


@dataclass(frozen=True)
class RowSolution:
    """Dual variables c (n x k), coefficients b = Zᵀc (d x k) of the columns of Z, and Zb."""

    dual: Floats
    coef: Floats
    fitted: Floats

    def certificate(self, y: Floats, alpha: Floats) -> Certificate:
        """That of ½‖y − Zb‖² + ½ α ‖b‖², one α per target, with the dual point αc."""
        square = np.einsum("dk,dk->k", self.coef, self.coef)
        return dual_certificate(y, self.fitted, alpha * self.dual, alpha * square, 0.0)


def dual_certificate(
    y: Floats, fitted: Floats, u: Floats, penalty: Floats, apart: float
) -> Certificate:
    """Certificate at coefficients b that fit ``fitted``, by the dual point u (n x k).

    With u = αc the gap is ½‖y − Zb − u‖² + ½α‖b − Zᵀc‖², the second part ½ ``apart``; a cosine
    between a column and the residual is off its value at the solution by ‖y − Zb − u‖ / ‖y‖ at
    most. ``penalty`` is α‖b‖² of every target; objectives and gaps of the targets add up.
    """
    size = np.linalg.norm(y, axis=0)
    length = np.where(size > 0.0, size, 1.0)
    residual = y - fitted
    left = residual - u
    gap = 0.5 * (float((left**2).sum()) + apart)
    primal = 0.5 * float((residual**2).sum() + penalty.sum())
    return Certificate(
        claim=RIDGE_CLAIM,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.max(np.linalg.norm(left, axis=0) / length, initial=0.0)),
        tolerance=TOLERANCE,
        scale=0.5 * float((size**2).sum()),
        scale_of=NULL_MODEL,
        statistic="the rows",
    )


def solve_in_rows(rows: CenteredRows, alpha: Floats) -> RowSolution | None:
    """The solution with one α > 0 per target.

    None where rounding does not let the iteration reach it.
    """
    n, d = rows.z.shape
    single = float(n) * n * d >= SINGLE
    gram = rows.gram(np.float32 if single else np.float64)
    if not np.isfinite(gram).all():
        return None
    solve = _factored(gram, alpha, single)
    return None if solve is None else _refined(rows, alpha, solve)


def _refined(
    rows: CenteredRows, alpha: Floats, solve: Callable[[Floats], Floats]
) -> RowSolution | None:
    """Refine c by its residual, until what is left would change no digit of b that counts.

    Each round reads the rows once and ends with all that a certificate needs.
    """
    size = np.linalg.norm(rows.y, axis=0)
    size[size == 0.0] = 1.0
    dual, before, best = solve(rows.y), np.inf, None
    for _ in range(MAX_STEPS):
        coef, fitted = rows.round_trip(dual)
        residual = rows.y - fitted - alpha * dual
        worst = float(np.max(np.linalg.norm(residual, axis=0) / size))
        if not worst < before:  # rounding has the last word
            break
        best, step = RowSolution(dual, coef, fitted), solve(residual)
        # ‖Zᵀs‖² = s·ZZᵀs, and ZZᵀs + αs is the residual
        square = np.einsum("ij,ij->j", step, residual - alpha * step)
        if (np.maximum(square, 0.0) <= (ENOUGH * np.linalg.norm(coef, axis=0)) ** 2).all():
            return best
        if worst > SMALL and worst > 0.1 * min(before, 1.0):
            step = _conjugate_gradient(rows, alpha, solve, residual)
        dual, before = dual + step, worst
    return best if before <= SMALL else None


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
    rows: CenteredRows, alpha: Floats, solve: Callable[[Floats], Floats], right: Floats
) -> Floats:
    """(ZZᵀ + αI)⁻¹ times ``right`` (n x k) to some digits, where the factor is too far off."""
    goal = 1e-7 * np.linalg.norm(right, axis=0)
    found, residual = np.zeros_like(right), right.copy()
    direction = step = solve(residual)
    inner = np.einsum("ij,ij->j", residual, step)
    for _ in range(MAX_STEPS):
        back = rows.round_trip(direction)[1]
        back += alpha * direction
        curvature = np.einsum("ij,ij->j", direction, back)
        length = np.divide(inner, curvature, out=np.zeros_like(inner), where=curvature > 0.0)
        found += length * direction
        residual -= length * back
        if not (np.linalg.norm(residual, axis=0) > goal).any():
            break
        step = solve(residual)
        new = np.einsum("ij,ij->j", residual, step)
        ratio = np.divide(new, inner, out=np.zeros_like(inner), where=inner > 0.0)
        direction, inner = step + ratio * direction, new
    return found
