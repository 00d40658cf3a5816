"""One decomposition, from which posterior and evidence follow for every prior.

    XᵀX = V diag(s) Vᵀ,    XXᵀ = U diag(s) Uᵀ,    z = Uᵀy,    r² = ‖y‖² − ‖z‖²

    y ~ N(0, α⁻¹I + λ⁻¹XXᵀ)   ⇔   zⱼ ~ N(0, α⁻¹ + λ⁻¹sⱼ), and N(0, α⁻¹) outside of the columns

X and y are centered where there is an intercept; a weight of w counts as w rows. From moments, or
from the products of the rows where those are no more than the columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from separatrix.matrices.graded import GradedRows
from separatrix.matrices.gram import row_gram, standardized_copy
from separatrix.matrices.products import products
from separatrix.matrices.standardized import Standardized
from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments
from separatrix.statistics.standardizer import Standardizer, zero_if_constant

EPS = float(np.finfo(float).eps)
#: Ratio of variances from which eigenvectors of the products lose the small columns.
UNITS_APART = 1e10
#: Numbers in the matrix of directions beyond which it is not stored.
MAX_STORED = 20_000_000


@dataclass(frozen=True)
class Columns:
    """Means and standard deviations of columns and target, and how columns enter the prior.

    Columns are multiplied by ``scale``: 1, or 1/σ where they are standardized, and 0 for constant
    ones. ``weight`` is Σw and ``yy`` the sum of squares of the centered target.
    """

    mean: Floats
    scale: Floats
    y_mean: float
    yy: float
    weight: float

    @classmethod
    def of(cls, source: Moments | Block, *, fit_intercept: bool, standardize: bool) -> Columns:
        """Of moments or rows; about 0 where there is no intercept."""
        if isinstance(source, Moments):
            m = source if fit_intercept else source.about_origin()
            own = Standardizer.from_moments(m)
            # about 0, a constant column is like any other
            found = (own.mean, own.scale, float(m.y_mean[0]), float(m.yy[0, 0]), m.weight)
            return cls._with(*found, standardize)
        w, total = source.weights, float(source.weights.sum())
        if fit_intercept:
            own = Standardizer.from_rows(source.x, w, keep_mean=True)
        else:
            x = source.x
            square = x.multiply(x).T @ w if sparse.issparse(x) else w @ x**2
            zeros = np.zeros(x.shape[1])
            own = Standardizer(zeros, zero_if_constant(np.sqrt(np.asarray(square) / total), zeros))
        y = source.y[:, 0]
        middle = float(w @ y) / total if fit_intercept else 0.0
        middle += float(w @ (y - middle)) / total if fit_intercept else 0.0
        return cls._with(
            own.mean, own.scale, middle, float(w @ (y - middle) ** 2), total, standardize
        )

    @classmethod
    def _with(
        cls, mean: Floats, deviation: Floats, y_mean: float, yy: float, total: float, standard: bool
    ) -> Columns:
        varies = deviation > 0.0
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
        scale = scale if standard else np.asarray(varies, dtype=float)
        y_scale = float(zero_if_constant(np.sqrt(np.array([yy / total])), np.array([y_mean]))[0])
        return cls(mean, scale, y_mean, yy if y_scale else 0.0, total)

    @property
    def variance(self) -> float:
        """Variance (1/n) of the target."""
        return self.yy / self.weight


@dataclass(frozen=True)
class EvidenceSpectrum:
    """Eigenvalues s > 0 of XXᵀ, the target along its eigenvectors, and what is outside of them.

    ``inner`` is z = Uᵀy and ``outside`` is ‖y‖² − ‖z‖². ``directions`` are V (d x r) for columns
    that were multiplied by ``scale``; None where they would be more numbers than are stored.
    """

    values: Floats
    inner: Floats
    outside: float
    weight: float
    columns: int
    directions: Floats | None = None

    @property
    def yy(self) -> float:
        """‖y‖²."""
        return self.outside + float(self.inner @ self.inner)

    @property
    def exact(self) -> bool:
        """Whether the columns explain the target, but for rounding."""
        return self.outside <= 1e-12 * self.yy

    @property
    def rank(self) -> int:
        """Number of independent columns."""
        return len(self.values)

    def squares(self, ratio: Any) -> Any:
        """Least value of ‖y − Xb‖² + ρ‖b‖² for every ρ = λ/α."""
        ratio = np.asarray(ratio, dtype=float)
        left = 1.0 / (1.0 + np.divide.outer(self.values, ratio).T)
        return self.outside + left @ self.inner**2

    def coef(self, ratio: float) -> Floats:
        """b = V √s z / (s + ρ), of columns times their scale, at ρ = λ/α."""
        assert self.directions is not None
        inner = np.sqrt(self.values) * self.inner / (self.values + ratio)
        return np.asarray(self.directions @ inner)


def from_moments(m: Moments, columns: Columns) -> EvidenceSpectrum:
    """From moments (centered, or about 0) in the units of ``columns``."""
    scale = columns.scale
    xx, xy = m.xx * np.multiply.outer(scale, scale), m.xy[:, 0] * scale
    if _apart(np.diag(xx)):
        _, s, directions = GradedRows.of_products(xx).singular()
        values, floor = s**2, 0.0
    else:
        values, directions = linalg.eigh(xx, check_finite=False)
        floor = float(values.max(initial=0.0)) * m.d * EPS
    positive = values > floor
    values, directions = values[positive], np.ascontiguousarray(directions[:, positive])
    inner = (directions.T @ xy) / np.sqrt(values)
    square = float(inner @ inner)
    if square > columns.yy:  # rounding of directions that hardly vary
        inner *= np.sqrt(columns.yy / square)
    outside = max(columns.yy - square, 0.0)
    return EvidenceSpectrum(values, inner, outside, m.weight, m.d, directions)


def coef_from_moments(m: Moments, columns: Columns, own: EvidenceSpectrum, ratio: float) -> Floats:
    """(XᵀX + ρI)⁻¹Xᵀy by a Cholesky factor of unit diagonal: digits of small columns stay.

    Eigenvectors are accurate as a whole, and their small entries need not be. Where the matrix is
    too near to singular for a factor they have to do.
    """
    scale = columns.scale
    matrix, xy = m.xx * np.multiply.outer(scale, scale), m.xy[:, 0] * scale
    matrix[np.diag_indices(m.d)] += ratio
    unit = 1.0 / np.sqrt(np.diag(matrix))
    try:
        factor = linalg.cho_factor(
            matrix * np.multiply.outer(unit, unit), lower=True, check_finite=False
        )
    except linalg.LinAlgError:
        return own.coef(ratio)
    found = unit * linalg.cho_solve(factor, unit * xy, check_finite=False)
    return np.asarray(found + unit * linalg.cho_solve(factor, unit * (xy - matrix @ found)))


@dataclass(frozen=True)
class RowSpectrum:
    """The spectrum of rows in memory with its eigenvectors U and the columns by their products."""

    spectrum: EvidenceSpectrum
    vectors: Floats
    z: Standardized
    root: Floats

    def coef(self, ratio: float) -> Floats:
        """b = Zᵀ U (z / (s + ρ)), without directions."""
        own = self.spectrum
        dual = self.vectors @ (own.inner / (own.values + ratio))
        return self.z.transposed_times(self.root * dual)

    def directions(self) -> Floats:
        """V = Zᵀ U / √s (d x r).

        Rounding of a direction of small s is mostly along those of large s, which come first when
        the columns are made orthogonal.
        """
        first = np.argsort(-self.spectrum.values)
        found = self.z.transposed_times(self.root[:, None] * self.vectors[:, first])
        q, r = linalg.qr(
            found / np.sqrt(self.spectrum.values[first]), mode="economic", check_finite=False
        )
        directions = np.empty_like(q)
        directions[:, first] = q * np.where(np.diag(r) < 0.0, -1.0, 1.0)
        return np.asarray(directions)


def from_rows(block: Block, columns: Columns, *, store: bool = False) -> RowSpectrum:
    """From rows in memory, in the space of the rows.

    On graded rows where units differ so much that the products of rows lose the small columns.
    ``store`` asks for the directions even where they are very many numbers.
    """
    root = np.sqrt(block.weights)
    with np.errstate(divide="ignore"):
        divisor = 1.0 / columns.scale  # infinite for constant columns, which become 0
    y = root * (block.y[:, 0] - columns.y_mean)
    z = Standardized(products(block.x), columns.mean, divisor)
    directions = None
    if not sparse.issparse(block.x) and _apart(z.weighted_squares(root**2)):
        graded = GradedRows.of(standardized_copy(block.x, columns.mean, divisor, root))
        vectors, s, directions = graded.singular()
        values = s**2
    else:
        gram = row_gram(block.x, columns.mean, divisor, root)
        values, vectors = linalg.eigh(gram, check_finite=False)
        positive = values > values.max(initial=0.0) * 10 * len(values) * EPS
        values, vectors = values[positive], np.ascontiguousarray(vectors[:, positive])
    inner = vectors.T @ y
    left = y - vectors @ inner
    spectrum = EvidenceSpectrum(
        values, inner, float(left @ left), columns.weight, len(columns.scale), directions
    )
    found = RowSpectrum(spectrum, vectors, z, root)
    if directions is None and (store or len(columns.scale) * len(values) <= MAX_STORED):
        return replace(found, spectrum=replace(spectrum, directions=found.directions()))
    return found


def _apart(squares: Floats) -> bool:
    """Whether the sums of squares of the columns differ too much for plain products."""
    positive = squares[squares > 0.0]
    return bool(positive.max(initial=0.0) > UNITS_APART * positive.min(initial=np.inf))
