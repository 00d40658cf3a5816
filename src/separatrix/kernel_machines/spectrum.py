"""Kernel ridge regression on a Gram matrix: one penalty, or all of them from one decomposition.

    min over f, b of Σ w (y − f(x) − b)² + α ‖f‖²,      f = Σⱼ aⱼ κ(xⱼ, ·)

With c = a/√w, A = √w K √w and Q the projection taking √w out (without an offset b the identity),

    QAQ = U diag(λ) Uᵀ    ⇒    c(α) = G √w y,    G = U diag(1/(λ + α)) Uᵀ       for every α

so that one decomposition serves every penalty and every target. The rows of a set F without which
the model is fitted are predicted with errors

    √w_F (y_F − ŷ₋F) = (G_FF)⁻¹ c_F ,     of a row i alone     √wᵢ (yᵢ − ŷ₋ᵢ) = cᵢ / Gᵢᵢ

in closed form: one row at a time, equal rows together, or the folds of a cross-validation. A row of
weight w is w equal rows, left out with its whole weight; one of weight zero takes no part and is
predicted. G. Wahba, Spline models for observational data, 1990.

A Gram matrix in single precision is decomposed in single precision, in half the time and memory:
enough to compare penalties.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve, inverse_diagonal
from separatrix.threads import on_one_blas_thread

#: Rows of a matrix that are changed at a time, so that no second one is in memory.
STRIP = 1024


@dataclass(frozen=True, eq=False)
class RidgeSystem(ABC):
    """Kernel ridge fits to the same rows, for any targets: what the two routes share.

    ``gram`` is K of all n rows, ``weight`` their weights; ``positive`` are the positions of
    those of positive weight, and ``offset`` says whether there is an unpenalized constant b.
    """

    gram: NDArray[Any]
    weight: Floats
    positive: Ints
    offset: bool

    @abstractmethod
    def _solve(self, right: Floats, alphas: Floats) -> Floats:
        """G times ``right`` (p x t) for every penalty: (m, p, t)."""

    @abstractmethod
    def _smooth(self, right: Floats, alphas: Floats) -> Floats:
        """(Q − α G) times ``right`` (p x t), the weighted fit, for every penalty: (m, p, t)."""

    @abstractmethod
    def _diagonal(self, alphas: Floats) -> Floats:
        """The diagonal of G for every penalty: (m, p)."""

    @abstractmethod
    def _columns(self, part: Ints, alpha: float) -> Floats:
        """Columns of G at one penalty: (p, len part)."""

    @abstractmethod
    def degrees_of_freedom(self, alphas: Floats) -> Floats:
        """Effective degrees of freedom Σ λ/(λ + α), one more with an offset: (m,)."""

    def _above_rounding(self, alphas: Floats) -> Floats:
        """Penalties at which rows can be left out: of α = 0 that is the limit."""
        return np.asarray(alphas, dtype=float)

    @cached_property
    def root(self) -> Floats:
        """√w of the rows that have weight."""
        return np.sqrt(self.weight[self.positive])

    @cached_property
    def _share(self) -> Floats:
        """Σ w K / Σ w, by which an offset follows from coefficients."""
        w = self.weight
        return np.asarray((w / w.sum()).astype(self.gram.dtype) @ self.gram, dtype=np.float64)

    def _mean(self, y: Floats) -> Floats:
        """The weighted mean of the targets with an offset, else zero."""
        if not self.offset:
            return np.zeros(y.shape[1])
        return np.asarray(self.weight @ y / self.weight.sum())

    def _right(self, y: Floats) -> Floats:
        """√w (y − ȳ)."""
        return np.asarray(self.root[:, None] * (y[self.positive] - self._mean(y)))

    def _all_rows(self, positive: Floats) -> Floats:
        """The same with zeros for the rows without weight: (m, n, t)."""
        if len(self.positive) == len(self.weight):
            return positive
        whole = np.zeros((len(positive), len(self.weight), positive.shape[2]))
        whole[:, self.positive] = positive
        return whole

    def coefs(self, y: Floats, alphas: Floats) -> tuple[Floats, Floats]:
        """Coefficients a (m, n, t) and offsets b (m, t) for targets ``y`` (n, t)."""
        coefs = self._all_rows(self.root[:, None] * self._solve(self._right(y), alphas))
        return coefs, self._offsets(y, coefs)

    def _offsets(self, y: Floats, coefs: Floats) -> Floats:
        if not self.offset:
            return np.zeros((len(coefs), y.shape[1]))
        return np.asarray(self._mean(y) - np.einsum("n,mnt->mt", self._share, coefs))

    def fitted(self, y: Floats, alphas: Floats) -> Floats:
        """f(xᵢ) + b of every row: (m, n, t)."""
        smooth = self._smooth(self._right(y), alphas) / self.root[:, None]
        fitted = self._all_rows(smooth + self._mean(y))
        out = self.weight == 0.0
        if out.any():
            fitted[:, out] = self._predict(out, *self.coefs(y, alphas))
        return fitted

    def _predict(self, rows: Any, coefs: Floats, offsets: Floats) -> Floats:
        """K a + b of some rows: (m, rows, t)."""
        m, n, t = coefs.shape
        flat = coefs.transpose(1, 0, 2).reshape(n, m * t)
        values = self.gram[rows].astype(np.float64, copy=False) @ flat
        return np.asarray(values.reshape(-1, m, t).transpose(1, 0, 2) + offsets[:, None, :])

    def leave_one_out(self, y: Floats, alphas: Floats, units: Ints | None = None) -> Floats:
        """ŷ₋ᵢ(xᵢ) of every row for every penalty and target: (m, n, t).

        Rows of one number in ``units`` (n) are left out together: copies of a row, or a group.
        """
        alphas = self._above_rounding(alphas)
        dual = self._solve(self._right(y), alphas)
        with np.errstate(divide="ignore", invalid="ignore"):  # nothing is left without the only row
            errors = dual / (self.root[:, None] * self._diagonal(alphas)[:, :, None])
        left = self._all_rows(y[self.positive] - errors)
        out = self.weight == 0.0
        if out.any():
            left[:, out] = self._predict(out, *self.coefs(y, alphas))
        if units is not None:
            for rows in shared_units(units):
                left[:, rows] = self._left_out(y, alphas, dual, rows)
        return left

    def held_out(self, y: Floats, alphas: Floats, folds: Sequence[Ints]) -> Floats:
        """What the model without the rows of a fold says of them, for disjoint folds: (m, n, t).

        ``folds`` are positions of rows; those in none have NaN.
        """
        alphas = self._above_rounding(alphas)
        values = np.full((len(alphas), *y.shape), np.nan)
        dual = self._solve(self._right(y), alphas)
        for rows in folds:
            values[:, rows] = self._left_out(y, alphas, dual, np.asarray(rows))
        return values

    def _left_out(self, y: Floats, alphas: Floats, dual: Floats, rows: Ints) -> Floats:
        """ŷ₋F(x_F) from c: (m, len rows, t)."""
        place = np.searchsorted(self.positive, rows)
        place[place == len(self.positive)] = 0
        inside = (
            self.positive[place] == rows if len(self.positive) else np.zeros(len(rows), dtype=bool)
        )
        part, values = place[inside], np.empty((len(alphas), len(rows), y.shape[1]))
        for k, alpha in enumerate(alphas):
            columns = self._columns(part, float(alpha))
            scaled = _solve_symmetric(columns[part], dual[k, part])
            values[k, inside] = y[rows[inside]] - scaled / self.root[part, None]
            if not inside.all():
                c = dual[k] - columns @ scaled
                c[part] = 0.0
                coefs = self._all_rows((self.root[:, None] * c)[None])
                offsets = self._offsets_without(y, coefs, rows)
                values[k, ~inside] = self._predict(rows[~inside], coefs, offsets)[0]
        return values

    def _offsets_without(self, y: Floats, coefs: Floats, rows: Ints) -> Floats:
        if not self.offset:
            return np.zeros((1, y.shape[1]))
        w = self.weight.copy()
        w[rows] = 0.0
        share = (w / w.sum()) @ self.gram
        return np.asarray((w @ y / w.sum() - share @ coefs[0])[None])

    def without(self, y: Floats, alpha: float, rows: Ints) -> tuple[Floats, Floats]:
        """Coefficients (n, t), zero at ``rows``, and offset (t,) of the model without these."""
        alphas = self._above_rounding(np.array([alpha]))
        part = np.flatnonzero(np.isin(self.positive, rows))
        c = self._solve(self._right(y), alphas)[0]
        columns = self._columns(part, float(alphas[0]))
        c -= columns @ _solve_symmetric(columns[part], c[part])
        c[part] = 0.0
        coefs = self._all_rows((self.root[:, None] * c)[None])
        return coefs[0], self._offsets_without(y, coefs, rows)[0]


def shared_units(units: Ints) -> list[Ints]:
    """The rows of every unit that has several."""
    order = np.argsort(units, kind="stable")
    cuts = np.flatnonzero(np.diff(np.asarray(units)[order])) + 1
    return [rows for rows in np.split(order, cuts) if len(rows) > 1]


def _solve_symmetric(a: Floats, right: Floats) -> Floats:
    """A⁻¹ times ``right``: a positive A by its factor, that of a kernel that is not by pivots."""
    if not len(a):
        return right
    try:
        return np.asarray(linalg.solve(a, right, assume_a="pos", check_finite=False))
    except linalg.LinAlgError:
        return np.asarray(linalg.lstsq(a, right, check_finite=False)[0])


# -------------------------------------------------------------------------------------------------
# The complement of √w, in which the system with an offset lives.
#
# The reflection H = I − u uᵀ takes the first unit vector to ∓√w/‖√w‖, so that its other columns
# are an orthonormal basis of the complement, and HAH costs two products.


@dataclass(frozen=True, eq=False)
class Complement:
    """The last p − 1 columns of H = I − u uᵀ; with ``u`` None all p columns of the identity."""

    u: Floats | None

    @classmethod
    def of(cls, root: Floats, *, offset: bool) -> Complement:
        """Of √w."""
        if not offset:
            return cls(None)
        u = root / np.linalg.norm(root)
        u[0] += 1.0  # √w is not negative: no digits are lost
        return cls(u * np.sqrt(2.0) / np.linalg.norm(u))

    def compress(self, a: NDArray[Any]) -> NDArray[Any]:
        """A in the basis; ``a`` is overwritten."""
        if self.u is None:
            return a
        u = self.u.astype(a.dtype)
        z = a @ u
        z -= (0.5 * (u @ z)) * u
        for top in range(0, len(a), STRIP):
            rows = slice(top, top + STRIP)
            a[rows] -= u[rows, None] * z + z[rows, None] * u
        return np.ascontiguousarray(a[1:, 1:])

    def expand(self, v: NDArray[Any]) -> NDArray[Any]:
        """Vectors (columns) from their coordinates in the basis."""
        if self.u is None:
            return v
        u = self.u.astype(v.dtype)
        inner = u[1:] @ v
        whole = np.empty((len(u), *v.shape[1:]), dtype=v.dtype)
        whole[0], whole[1:] = 0.0, v
        whole -= np.multiply.outer(u, inner)
        return whole

    def coordinates(self, v: NDArray[Any]) -> NDArray[Any]:
        """Coordinates in the basis, of the part of vectors (columns) that is in the complement."""
        if self.u is None:
            return v
        u = self.u.astype(v.dtype)
        return np.asarray(v[1:] - np.multiply.outer(u[1:], u @ v))


def _weighted_gram(gram: NDArray[Any], root: Floats, positive: Ints) -> NDArray[Any]:
    """√w K √w of the rows that have weight, as a new matrix."""
    part = gram.copy() if len(positive) == len(gram) else gram[np.ix_(positive, positive)]
    if (root != 1.0).any():
        r = root.astype(part.dtype)
        part *= r[:, None]
        part *= r
    return part


def _rows_of(gram: Any, w: Floats | None) -> tuple[NDArray[Any], Floats, Ints]:
    gram = np.asarray(gram)
    if gram.dtype != np.float32:
        gram = gram.astype(np.float64, copy=False)
    weight = np.ones(len(gram)) if w is None else np.asarray(w, dtype=np.float64)
    return gram, weight, np.flatnonzero(weight > 0.0)


# -------------------------------------------------------------------------------------------------
# All penalties from eigenvalues.


@dataclass(frozen=True, eq=False)
class KernelSpectrum(RidgeSystem):
    """Eigenvalues ``values`` (r) and eigenvectors ``vectors`` (p x r) of QAQ.

    An eigenvalue of ``floor`` or less in absolute value is rounding; so is a smaller penalty, which
    counts as ``floor`` where rows are left out, and as the limit α → 0 elsewhere.
    """

    values: Floats
    vectors: NDArray[Any]
    floor: float

    def grid(self, size: int = 30) -> Floats:
        """Penalties from the largest eigenvalue to its rounding, evenly spaced on a log scale."""
        top = float(np.abs(self.values).max(initial=0.0)) or 1.0
        return np.geomspace(top, max(1e-10 * top, self.floor), size)

    def _inverse(self, alphas: Floats) -> Floats:
        """1/(λ + α) of every penalty and eigenvalue: (m, r); zero where that is singular."""
        total = self.values + np.asarray(alphas, dtype=float)[:, None]
        alone = np.abs(total) <= np.where(np.asarray(alphas)[:, None] > self.floor, 0.0, self.floor)
        return np.asarray(np.where(alone, 0.0, 1.0 / np.where(alone, 1.0, total)))

    def _above_rounding(self, alphas: Floats) -> Floats:
        return np.maximum(alphas, 2.0 * self.floor)

    @cached_property
    def _square(self) -> NDArray[Any]:
        return np.asarray(np.square(self.vectors))

    def _combine(self, factors: Floats, right: Floats) -> Floats:
        """U diag(factors) Uᵀ right for every row of ``factors`` (m, r): (m, p, t)."""
        (m, r), t, dtype = factors.shape, right.shape[1], self.vectors.dtype
        size = float(np.abs(right).max(initial=0.0)) or 1.0  # single precision has a narrow range
        inner = np.asarray(self.vectors.T @ (right / size).astype(dtype), dtype=np.float64)
        scaled = factors.T[:, :, None] * inner[:, None, :]
        largest = float(np.abs(scaled).max(initial=0.0)) or 1.0
        flat = (scaled / largest).reshape(r, m * t).astype(dtype)
        product = np.asarray(self.vectors @ flat, dtype=np.float64) * (size * largest)
        return np.asarray(product.reshape(-1, m, t).transpose(1, 0, 2))

    @on_one_blas_thread
    def _solve(self, right: Floats, alphas: Floats) -> Floats:
        return self._combine(self._inverse(alphas), right)

    @on_one_blas_thread
    def _smooth(self, right: Floats, alphas: Floats) -> Floats:
        return self._combine(self.values * self._inverse(alphas), right)

    @on_one_blas_thread
    def _diagonal(self, alphas: Floats) -> Floats:
        inverse = self._inverse(alphas)
        largest = np.abs(inverse).max(axis=1, keepdims=True, initial=np.finfo(float).tiny)
        parts = (inverse / largest).astype(self.vectors.dtype)
        return np.asarray(largest * (parts @ self._square.T))

    @on_one_blas_thread
    def _columns(self, part: Ints, alpha: float) -> Floats:
        inverse = self._inverse(np.array([alpha]))[0]
        largest = float(np.abs(inverse).max(initial=np.finfo(float).tiny))
        scaled = self.vectors[part] * (inverse / largest).astype(self.vectors.dtype)
        return np.asarray(self.vectors @ scaled.T, dtype=np.float64) * largest

    def degrees_of_freedom(self, alphas: Floats) -> Floats:
        """Effective degrees of freedom Σ λ/(λ + α), one more with an offset: (m,)."""
        return np.asarray((self.values * self._inverse(alphas)).sum(axis=1) + self.offset)


@on_one_blas_thread
def decompose(gram: Any, w: Floats | None = None, *, offset: bool = False) -> KernelSpectrum:
    """One decomposition of the Gram matrix ``gram`` (n, n) of rows of weight ``w``.

    Every penalty and every target follows from it. It takes about 10 n³ operations, thirty times
    those of :func:`factorize`, and twice the memory of the matrix beside it.
    """
    gram, weight, positive = _rows_of(gram, w)
    root = np.sqrt(weight[positive])
    basis = Complement.of(root, offset=offset)
    matrix = basis.compress(_weighted_gram(gram, root, positive))
    values, vectors = linalg.eigh(
        matrix, overwrite_a=True, check_finite=False, driver="evd" if len(matrix) else None
    )
    values = values.astype(np.float64)
    floor = float(np.abs(values).max(initial=0.0)) * len(matrix) * float(np.finfo(gram.dtype).eps)
    values[np.abs(values) <= floor] = 0.0
    return KernelSpectrum(
        gram, weight, positive, offset, values, basis.expand(np.ascontiguousarray(vectors)), floor
    )


# -------------------------------------------------------------------------------------------------
# One penalty from a Cholesky factor.


@dataclass(frozen=True, eq=False)
class KernelFactor(RidgeSystem):
    """The Cholesky factor ``factor`` of QAQ + αI, in the ``basis`` of the complement of √w.

    Its methods take this one penalty: ``alphas`` is ``[alpha]``.
    """

    alpha: float
    basis: Complement
    factor: NDArray[Any]

    @property
    def alphas(self) -> Floats:
        """The penalty, as the methods take it."""
        return np.array([self.alpha])

    def _inner(self, right: Floats) -> Floats:
        coordinates = self.basis.coordinates(right)
        size = float(np.abs(coordinates).max(initial=0.0)) or 1.0
        solution = cholesky_solve(self.factor, (coordinates / size).astype(self.factor.dtype))
        return self.basis.expand(np.asarray(solution, dtype=np.float64) * size)

    def _solve(self, right: Floats, alphas: Floats) -> Floats:  # noqa: ARG002
        return self._inner(right)[None]

    def _smooth(self, right: Floats, alphas: Floats) -> Floats:
        centered = self.basis.expand(self.basis.coordinates(right))
        return np.asarray(centered - self.alpha * self._solve(right, alphas))

    @cached_property
    def _inverse_diagonal(self) -> Floats:
        """The diagonal of (QAQ + αI)⁻¹ in the basis."""
        return inverse_diagonal(self.factor.copy()).astype(np.float64)

    def _diagonal(self, alphas: Floats) -> Floats:  # noqa: ARG002
        diagonal = self._inverse_diagonal
        u = self.basis.u
        if u is None:
            return diagonal[None]
        # (I − uuᵀ) G′ (I − uuᵀ) with a first row and column of zeros in G′
        inner = np.concatenate(
            [[0.0], cholesky_solve(self.factor, u[1:].astype(self.factor.dtype))]
        )
        whole = np.concatenate([[0.0], diagonal]) - 2.0 * u * inner + u * u * (u @ inner)
        return np.asarray(whole[None])

    def _columns(self, part: Ints, alpha: float) -> Floats:  # noqa: ARG002
        unit = np.zeros((len(self.positive), len(part)))
        unit[part, np.arange(len(part))] = 1.0
        return self._inner(unit)

    def degrees_of_freedom(self, alphas: Floats) -> Floats:  # noqa: ARG002
        """Effective degrees of freedom n − α tr G, one more with an offset: (1,)."""
        trace = float(self._inverse_diagonal.sum())
        return np.array([len(self.factor) - self.alpha * trace + self.offset])


@on_one_blas_thread
def factorize(
    gram: Any, alpha: float, w: Floats | None = None, *, offset: bool = False
) -> KernelFactor | None:
    """The factor at one penalty α > 0; None where rounding leaves the matrix not positive."""
    gram, weight, positive = _rows_of(gram, w)
    root = np.sqrt(weight[positive])
    basis = Complement.of(root, offset=offset)
    matrix = basis.compress(_weighted_gram(gram, root, positive))
    matrix[np.diag_indices_from(matrix)] += matrix.dtype.type(alpha)
    factor = cholesky_factor(matrix)
    if factor is None:
        return None
    return KernelFactor(gram, weight, positive, offset, float(alpha), basis, factor)
