"""What a column would add to the evidence, for all columns at once, updated by rank one.

    C = α⁻¹I + Σ λⱼ⁻¹ xⱼxⱼᵀ,    Sⱼ = xⱼᵀC⁻¹xⱼ,    Qⱼ = xⱼᵀC⁻¹y

A change of λⱼ changes C by a multiple of xⱼxⱼᵀ, so that C⁻¹ changes by a matrix of rank one; adding
a column (λ from ∞), removing it and changing its precision are the same formula. From products of
all columns, or in the space of the rows where those are fewer than the columns.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.bayes.linear.spectrum import Columns
from separatrix.matrices.products import products
from separatrix.matrices.standardized import Standardized
from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments
from separatrix.threads import parallel_map, pieces

#: Difference of columns of length one that counts as none.
EQUAL = 1e-12


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
        """Xᵀ v."""
        return self.z.transposed_times(self.root * v)

    def quadratic(self, matrix: Floats) -> Floats:
        """xⱼᵀ M xⱼ of every column, some columns at a time."""
        out = np.empty(self.z.shape[1])

        def part(these: slice) -> None:
            own = self.columns(np.arange(these.start, these.stop))
            out[these] = np.einsum("ij,ij->j", own, matrix @ own)

        parallel_map(part, pieces(len(out), 128))
        return out


@dataclass(frozen=True)
class UnitColumns:
    """Columns and target of length one, with their lengths; from moments or from rows.

    ``gram`` holds the products of the columns, or ``rows`` the columns themselves. A constant
    column has length 0 and is a column of zeros.
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

    def copies(self) -> NDArray[np.bool_]:
        """Columns that equal an earlier one but for sign and units."""
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


class RelevanceState(ABC):
    """S and Q of all columns at some precisions (infinite for columns left out)."""

    def __init__(self, columns: UnitColumns, alpha: float, lam: Floats) -> None:
        self.columns, self.alpha, self.lam = columns, alpha, lam.copy()
        self.refresh()

    @abstractmethod
    def refresh(self) -> None:
        """Compute S and Q afresh."""

    @abstractmethod
    def _row(self, j: int) -> Floats:
        """xᵢᵀC⁻¹xⱼ for every column i."""

    @abstractmethod
    def _change(self, j: int, row: Floats, factor: float) -> None:
        """C⁻¹ less ``factor`` times its column j."""

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
        row = self._row(j)
        factor = step / (1.0 + step * float(self.s[j]))
        q = float(self.q[j])
        self._change(j, row, factor)
        self.q -= (factor * q) * row
        self.s -= factor * row**2
        self.lam[j] = lam

    s: Floats
    q: Floats


class ColumnState(RelevanceState):
    """With the d x d matrix XᵀC⁻¹X."""

    def refresh(self) -> None:
        """α G − α² G_A Σ G_Aᵀ."""
        own, active = self.columns, np.flatnonzero(np.isfinite(self.lam))
        assert own.gram is not None
        half = _half(own, self.alpha, self.lam, active)
        across = self.alpha * (own.gram[:, active] @ half)
        self.matrix = self.alpha * own.gram - across @ across.T
        self.q = self.alpha * own.xy - across @ (self.alpha * (half.T @ own.xy[active]))
        self.s = np.maximum(np.diag(self.matrix), 0.0)

    def _row(self, j: int) -> Floats:
        return np.array(self.matrix[j])

    def _change(self, j: int, row: Floats, factor: float) -> None:  # noqa: ARG002
        self.matrix -= np.multiply.outer(factor * row, row)


class RowState(RelevanceState):
    """With the n x n matrix C⁻¹."""

    def refresh(self) -> None:
        """(α⁻¹I + X_A Λ⁻¹ X_Aᵀ)⁻¹."""
        rows, active = self.columns.rows, np.flatnonzero(np.isfinite(self.lam))
        assert rows is not None
        some = rows.columns(active) / np.sqrt(self.lam[active])
        matrix = self.alpha * (some @ some.T)
        matrix[np.diag_indices_from(matrix)] += 1.0
        inverse = self.alpha * linalg.inv(matrix, check_finite=False)
        self.inverse = (inverse + inverse.T) / 2.0
        self.s = np.maximum(rows.quadratic(self.inverse), 0.0)
        self.q = rows.transposed_times(self.inverse @ rows.y)

    def _row(self, j: int) -> Floats:
        rows = self.columns.rows
        assert rows is not None
        self._column = self.inverse @ rows.columns(np.array([j]))[:, 0]
        return rows.transposed_times(self._column)

    def _change(self, j: int, row: Floats, factor: float) -> None:  # noqa: ARG002
        self.inverse -= np.multiply.outer(factor * self._column, self._column)


def _half(own: UnitColumns, alpha: float, lam: Floats, active: NDArray[np.int64]) -> Floats:
    """H with HHᵀ = Σ = (α G_AA + Λ)⁻¹."""
    gram, _ = own.products(active)
    return half_inverse(gram, alpha, lam[active])


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
