"""What a column would add to the evidence, for all columns at once, updated by rank one.

    C = α⁻¹I + Σ λⱼ⁻¹ xⱼxⱼᵀ,    Sⱼ = xⱼᵀC⁻¹xⱼ,    Qⱼ = xⱼᵀC⁻¹y

A change of λⱼ changes C by a multiple of xⱼxⱼᵀ, so that C⁻¹ changes by a matrix of rank one; adding
a column (λ from ∞), removing it and changing its precision are the same formula.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.bayes.linear.spectrum import Columns
from separatrix.matrices.products import products
from separatrix.matrices.standardized import Standardized
from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments

#: Difference of columns of length one that counts as none.
EQUAL = 1e-12
#: Directions whose products with all columns are held at a time.
SOME = 32


@dataclass(frozen=True)
class UnitRows:
    """√w (x − x̄)/ℓ of rows in memory, dense or sparse, and y in the same way."""

    z: Standardized
    root: Floats
    y: Floats

    def columns(self, index: NDArray[np.int64]) -> Floats:
        """Some columns (n x k)."""
        return self.root[:, None] * self.z.columns(index)

    def transposed_times(self, v: Floats) -> Floats:
        """Xᵀ v, for one v or several."""
        return self.z.transposed_times((self.root * v.T).T)


@dataclass(frozen=True)
class UnitColumns:
    """Columns and target of length one, with their lengths; from moments or from rows.

    ``gram`` holds the products of the columns, ``rows`` the columns themselves; one of them may be
    None. A constant column has length 0 and is a column of zeros.
    """

    xy: Floats
    length: Floats
    y_length: float
    weight: float
    gram: Floats | None = None
    rows: UnitRows | None = None

    @classmethod
    def of_moments(cls, m: Moments, columns: Columns) -> UnitColumns:
        """From moments, centered or about 0."""
        length = np.sqrt(np.maximum(np.diag(m.xx), 0.0)) * (columns.scale > 0.0)
        unit = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)
        y_length = float(np.sqrt(columns.yy))
        gram = m.xx * np.multiply.outer(unit, unit)
        return cls(unit * m.xy[:, 0] / (y_length or 1.0), length, y_length, m.weight, gram)

    @classmethod
    def of_rows(cls, block: Block, columns: Columns) -> UnitColumns:
        """From rows in memory."""
        root, x = np.sqrt(block.weights), products(block.x)
        plain = Standardized(x, columns.mean, np.ones_like(columns.mean))
        length = np.sqrt(plain.weighted_squares(root**2)) * (columns.scale > 0.0)
        with np.errstate(divide="ignore"):
            divisor = np.where(length > 0.0, length, np.inf)
        y_length = float(np.sqrt(columns.yy))
        y = root * (block.y[:, 0] - columns.y_mean) / (y_length or 1.0)
        rows = UnitRows(Standardized(x, columns.mean, divisor), root, y if y_length else 0.0 * y)
        xy = rows.transposed_times(rows.y)
        return cls(xy, length, y_length, columns.weight, None, rows)

    def subset(self, index: NDArray[np.int64]) -> UnitColumns:
        """Some of the columns, with their products."""
        gram, xy = self.products(index)
        rows, own = self.rows, (self.length[index], self.y_length, self.weight)
        if rows is not None:
            z = Standardized(products(rows.columns(index)), np.zeros(len(xy)), np.ones(len(xy)))
            rows = UnitRows(z, np.ones(len(rows.y)), rows.y)
        return UnitColumns(xy, *own, gram, rows)

    def strengths(self, alpha: float, lam: Floats) -> tuple[Floats, Floats]:
        """S and Q of all columns: α XᵀX − α² XᵀX_A Σ X_AᵀX on the diagonal, and likewise Xᵀy."""
        active = np.flatnonzero(np.isfinite(lam))
        gram, xy = self.products(active)
        half = half_inverse(gram, alpha, lam[active])
        s, q = alpha * (self.length > 0.0), alpha * self.xy
        if self.rows is not None:
            own = self.rows.columns(active) @ (alpha * half)
            for start in range(0, len(active), SOME):
                inner = self.rows.transposed_times(own[:, start : start + SOME])
                s -= np.einsum("ij,ij->i", inner, inner)
            return np.maximum(s, 0.0), q - self.rows.transposed_times(own @ (alpha * (half.T @ xy)))
        assert self.gram is not None
        inner = self.gram[:, active] @ (alpha * half)
        s -= np.einsum("ij,ij->i", inner, inner)
        return np.maximum(s, 0.0), q - inner @ (alpha * (half.T @ xy))

    @property
    def yy(self) -> float:
        """‖y‖²: 1, or 0 for a constant target."""
        return 1.0 if self.y_length else 0.0

    @property
    def units(self) -> Floats:
        """ℓⱼ²/ℓ²: precisions in the units of the table from those of columns of length one."""
        length = np.where(self.length > 0.0, self.length, 1.0)
        return np.asarray((length / (self.y_length or 1.0)) ** 2)

    def products(self, active: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """XᵀX and Xᵀy of some columns."""
        if self.gram is not None:
            return self.gram[np.ix_(active, active)], self.xy[active]
        assert self.rows is not None
        own = self.rows.columns(active)
        return own.T @ own, self.xy[active]

    def copies(self, threshold: Floats) -> NDArray[np.bool_]:
        """Columns that equal another but for sign and units, which is earlier or less limited."""
        rng = np.random.default_rng(0)
        if self.rows is not None:
            keys = self.rows.transposed_times(rng.standard_normal(len(self.rows.y)))
        else:
            assert self.gram is not None
            keys = self.gram @ rng.standard_normal(len(self.gram))
        found = np.zeros(len(keys), dtype=bool)
        order = np.argsort(np.abs(keys), kind="stable")
        close = np.diff(np.abs(keys)[order]) <= EQUAL * np.abs(keys).max(initial=0.0)
        for i in np.flatnonzero(close):
            first, second = sorted((int(order[i]), int(order[i + 1])))
            if threshold[first] < (1.0 - EQUAL) * threshold[second]:
                first, second = second, first
            gram, _ = self.products(np.array([first, second]))
            if abs(gram[0, 1]) >= (1.0 - EQUAL) * min(gram[0, 0], gram[1, 1]) > 0.0:
                found[second] = True
        return found

    def residual(self, active: NDArray[np.int64], mean: Floats) -> float:
        """‖y − Xb‖² for coefficients of some columns."""
        if self.rows is not None:
            left = self.rows.y - self.rows.columns(active) @ mean
            return float(left @ left)
        gram, xy = self.products(active)
        return max(self.yy - 2.0 * float(mean @ xy) + float(mean @ gram @ mean), 0.0)


class RelevanceState:
    """S and Q of columns at some precisions (infinite for columns left out), with XᵀC⁻¹X."""

    def __init__(self, columns: UnitColumns, alpha: float, lam: Floats) -> None:
        self.columns, self.alpha, self.lam = columns, alpha, lam.copy()
        self.refresh()

    def refresh(self) -> None:
        """α G − α² G_A Σ G_Aᵀ, computed afresh."""
        own, active = self.columns, np.flatnonzero(np.isfinite(self.lam))
        assert own.gram is not None
        gram, xy = own.products(active)
        half = half_inverse(gram, self.alpha, self.lam[active])
        across = self.alpha * (own.gram[:, active] @ half)
        self.matrix = self.alpha * own.gram - across @ across.T
        self.q = self.alpha * own.xy - across @ (self.alpha * (half.T @ xy))
        self.s = np.maximum(np.diag(self.matrix), 0.0)

    def own(self, j: int) -> tuple[float, float]:
        """s and q of one column: those of C without it."""
        s, q, lam = float(self.s[j]), float(self.q[j]), float(self.lam[j])
        if not np.isfinite(lam):
            return max(s, 0.0), q
        left = max(lam - s, np.finfo(float).eps * lam)
        return max(lam * s / left, 0.0), lam * q / left

    def all_own(self) -> tuple[Floats, Floats]:
        """The same of all columns."""
        finite = np.isfinite(self.lam)
        lam = np.where(finite, self.lam, 1.0)
        left = np.maximum(lam - self.s, np.finfo(float).eps * lam)
        factor = np.where(finite, lam / left, 1.0)
        return np.maximum(factor * self.s, 0.0), factor * self.q

    def set(self, j: int, lam: float) -> None:
        """Change the precision of one column."""
        step = 1.0 / lam - 1.0 / float(self.lam[j])
        row, q = self.matrix[j].copy(), float(self.q[j])
        factor = step / (1.0 + step * float(self.s[j]))
        self.matrix -= np.multiply.outer(factor * row, row)
        self.q -= (factor * q) * row
        self.s -= factor * row**2
        self.lam[j] = lam


def half_inverse(gram: Floats, alpha: float, lam: Floats) -> Floats:
    """H with HHᵀ = (α G + Λ)⁻¹, by a factor of unit diagonal."""
    matrix = alpha * gram
    matrix[np.diag_indices_from(matrix)] += lam
    unit = 1.0 / np.sqrt(np.diag(matrix))
    matrix *= np.multiply.outer(unit, unit)
    try:
        factor = linalg.cholesky(matrix, lower=True, check_finite=False)
    except linalg.LinAlgError:  # columns that are copies but for rounding
        values, vectors = linalg.eigh(matrix, check_finite=False)
        floor = len(values) * np.finfo(float).eps
        return np.asarray(unit[:, None] * vectors / np.sqrt(np.maximum(values, floor)))
    inverse = linalg.solve_triangular(factor, np.eye(len(unit)), lower=True, check_finite=False)
    return np.asarray((inverse * unit).T)
