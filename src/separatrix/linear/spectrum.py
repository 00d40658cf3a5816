"""Ridge solutions for one α or all: from moments, in the space of the rows, by products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
from scipy import linalg, sparse

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.base import MAX_STORED_COLUMNS, TrainingData
from separatrix.linear import least_squares
from separatrix.linear.least_squares import TOLERANCE as LEAST_SQUARES_TOLERANCE
from separatrix.linear.routes import by_products, penalty_by_penalty, step_limit
from separatrix.linear.shifted import ShiftedSolution, solve_shifted
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.matrices.gram import GradedRows, column_squares, row_gram, standardized_copy
from separatrix.matrices.products import Standardized, products, sparse_variances
from separatrix.messages import InputError, warn
from separatrix.optimize.convex import (
    Certificate,
    Solution,
    Status,
    certify_residual,
    joint_certificate,
)
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Block, to_array
from separatrix.statistics.moments import Moments, Standardizer, zero_if_constant

S = TypeVar("S", bound=Solution)

# -------------------------------------------------------------------------------------------------
# Ridge regression for one α or for all of them, from one eigendecomposition.
#
#     min over a, b of Σ w (y − a − b·x)² + α ‖b‖²
#     XᵀX = V diag(λ) Vᵀ   ⇒   b(α) = V (VᵀXᵀy / (λ + α))        for every α
#
# Every principal direction is shrunk by λ/(λ + α), those of small variance most. The intercept is
# not penalized: X and y are centered.


@dataclass(frozen=True)
class RidgeOptions:
    """Whether there is an intercept, and whether α penalizes standardized coefficients."""

    fit_intercept: bool = True
    standardize: bool = False

    def scaled(self, m: Moments) -> tuple[Moments, Floats]:
        """The moments of the columns that are penalized alike, and the scale they have."""
        m = m if self.fit_intercept else m.about_origin()
        scale = np.ones(m.d)
        if self.standardize:
            scale = _one_if_zero(Standardizer.from_moments(m).scale)
            m = m.mapped(np.diag(1.0 / scale), np.eye(len(m.targets)), m.terms, m.targets)
        return m, scale


@dataclass(frozen=True)
class DesignSpectrum:
    """Eigenvalues and eigenvectors of XᵀX for columns divided by ``scale``.

    ``values`` are λ, ``directions`` the eigenvectors V (by column; None where there would be more
    numbers than in the table), ``cross`` is VᵀXᵀy for each target. Eigenvalues up to ``floor`` are
    rounding.
    """

    values: Floats
    directions: Floats | None
    cross: Floats
    scale: Floats
    x_mean: Floats
    y_mean: Floats
    yy: Floats
    weight: float
    floor: float = 0.0

    @classmethod
    def from_moments(cls, m: Moments, scale: Floats) -> DesignSpectrum:
        """Eigenvectors of the scatter of columns that were divided by ``scale`` already."""
        variances = np.diag(m.xx)[np.diag(m.xx) > 0.0]
        # Ratio of variances from which eigenvectors of the scatter lose the small columns.
        graded = variances.max(initial=0.0) > 1e10 * variances.min(initial=np.inf)
        if graded:
            _, s, directions = GradedRows.of_products(m.xx).singular()
            values = s**2
        else:
            values, directions = linalg.eigh(m.xx, check_finite=False)
        eps = 0.0 if graded else float(np.finfo(float).eps)
        return cls(
            np.maximum(values, 0.0),
            directions,
            directions.T @ m.xy,
            scale,
            m.x_mean * scale,
            m.y_mean,
            np.diag(m.yy).copy(),
            m.weight,
            float(values.max(initial=0.0)) * m.d * eps,
        )

    @classmethod
    def from_rows(cls, rows: CenteredRows, gram_spectrum: GramSpectrum) -> DesignSpectrum:
        """From the products of the rows: for tables with no more rows than columns."""
        root = np.sqrt(gram_spectrum.values)
        directions = None
        if len(rows.scale) <= MAX_STORED_COLUMNS:
            directions = rows.transposed_times(gram_spectrum.vectors) / root
        return cls(
            gram_spectrum.values,
            directions,
            root[:, None] * (gram_spectrum.vectors.T @ rows.y),
            rows.scale,
            rows.x_mean,
            rows.y_mean,
            (rows.y**2).sum(axis=0),
            rows.weight,
        )

    @classmethod
    def from_singular(cls, rows: CenteredRows, u: Floats, s: Floats, v: Floats) -> DesignSpectrum:
        """From singular values, which keep the digits of small columns that products would lose."""
        yy, cross = (rows.y**2).sum(axis=0), s[:, None] * (u.T @ rows.y)
        return cls(s**2, v, cross, rows.scale, rows.x_mean, rows.y_mean, yy, rows.weight)

    def inverse_eigenvalues(self, alphas: Floats) -> Floats:
        """1/(λ + α) for every direction and α (r x m); 0 where that is singular."""
        total = self.values[:, None] + alphas[None, :]
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(total > self.floor, 1.0 / total, 0.0))

    def coefs(self, alphas: Floats) -> tuple[Floats, Floats]:
        """Coefficients (m x d x k) and intercepts (m x k) for every α."""
        if self.directions is None:
            raise InputError(
                "This path was stored without its training rows, and has too many columns to store "
                "their principal directions.",
                remedy="Use coefs_ at the stored alphas_, or fit again.",
            )
        inner = np.einsum("ra,rk->ark", self.inverse_eigenvalues(alphas), self.cross)
        coefs = np.einsum("dr,ark->adk", self.directions, inner, optimize=True)
        coefs = coefs / self.scale[:, None]
        return coefs, self.y_mean - np.einsum("d,adk->ak", self.x_mean, coefs)

    def degrees_of_freedom(self, alphas: Floats) -> Floats:
        """Effective degrees of freedom, Σ λ/(λ + α)."""
        return np.asarray((self.values[:, None] * self.inverse_eigenvalues(alphas)).sum(axis=0))

    def rss(self, alphas: Floats) -> Floats:
        """Residual sum of squares for every α and target (m x k)."""
        s = self.inverse_eigenvalues(alphas)
        explained = np.einsum("ra,rk->ak", 2 * s - self.values[:, None] * s**2, self.cross**2)
        return np.asarray(np.maximum(self.yy - explained, 0.0))

    def grid(self, size: int = 100) -> Floats:
        """Penalties from 10 λ_max to far below the least λ, evenly spaced on a log scale."""
        top = float(self.values.max(initial=0.0)) or 1.0
        positive = self.values[self.values > 1e-10 * top]
        low = float(positive.min(initial=top))
        return np.geomspace(10.0 * top, max(1e-4 * low, 1e-12 * top), size)


@dataclass(frozen=True)
class RidgeTrace:
    """A path: coefficients (m x d x k), intercepts (m x k) and a certificate for every penalty.

    ``coordinates`` (n x r) are those of the rows along the principal directions, where the path
    was solved in the space of the rows; ``graded`` says that units differ too much for products of
    rows, and ``by_factors`` that the eigenvalues were not computed.
    """

    spectrum: DesignSpectrum
    alphas: Floats
    coefs: Floats
    intercepts: Floats
    certificates: tuple[Certificate, ...]
    coordinates: Floats | None = None
    graded: bool = False
    by_factors: bool = False


def ridge_from_moments(m: Moments, alpha: Floats) -> Solution:
    """One α > 0 per target, by Cholesky of the equilibrated XᵀX + αI."""
    coef = np.stack([_solve(m, a, m.xy[:, j]) for j, a in enumerate(alpha)], axis=1)
    return Solution(coef, m.y_mean - m.x_mean @ coef, certify_ridge_moments(m, coef, alpha))


def _solve(m: Moments, alpha: float, right: Floats) -> Floats:
    scale = np.sqrt(np.diag(m.xx) + alpha)
    matrix = (m.xx + alpha * np.eye(m.d)) / np.outer(scale, scale)
    factor, info = linalg.lapack.dpotrf(matrix, lower=False, clean=False)
    if info or np.diag(factor).min() ** 2 <= 10 * m.d * np.finfo(float).eps:
        return _limit(matrix, scale, right)
    return np.asarray(linalg.cho_solve((factor, False), right / scale) / scale)


def _limit(matrix: Floats, scale: Floats, right: Floats) -> Floats:
    """The solution as α → 0, where columns are dependent and α is below the rounding of XᵀX.

    Of the coefficients that solve the equilibrated equations, those of least norm.
    """
    values, vectors = linalg.eigh(matrix, check_finite=False)
    positive = values > 10 * len(values) * np.finfo(float).eps * values[-1]
    inner = vectors[:, positive].T @ (right / scale) / values[positive]
    coef = vectors[:, positive] @ inner / scale
    free = vectors[:, ~positive] / scale[:, None]
    return np.asarray(coef - free @ np.linalg.lstsq(free, coef, rcond=None)[0])


def certify_ridge_moments(m: Moments, coef: Floats, alpha: Floats) -> Certificate:
    """Certificate from moments; objectives and gaps of the targets add up."""
    if len(alpha) == 1:
        return least_squares.certify_from_moments(
            m, coef, float(alpha[0]), least_squares.RIDGE_CLAIM
        )
    return joint_certificate(
        [
            least_squares.certify_from_moments(
                _one_target(m, j), coef[:, [j]], float(a), least_squares.RIDGE_CLAIM
            )
            for j, a in enumerate(alpha)
        ]
    )


def _one_target(m: Moments, j: int) -> Moments:
    """The moments with target j alone."""
    at = [*range(m.d), m.d + j]
    target = type(m.targets)((m.targets.items[j],))
    return Moments(m.terms, target, m.count, m.weight, m.mean[at], m.scatter[np.ix_(at, at)])


def trace_moments(m: Moments, spectrum: DesignSpectrum, alphas: Floats) -> RidgeTrace:
    """The path from scaled moments, every point certified.

    Where units differ so much that the eigenvectors lose the small columns, the certificate shows
    it, and those points are solved again one by one.
    """
    certificates = []
    coefs, intercepts = spectrum.coefs(alphas)
    for i, alpha in enumerate(alphas):
        scaled = coefs[i] * spectrum.scale[:, None]
        certificate = least_squares.certify_from_moments(
            m, scaled, float(alpha), least_squares.RIDGE_CLAIM
        )
        if not certificate.holds and alpha > 0:
            again = ridge_from_moments(m, np.full(coefs.shape[2], alpha))
            coefs[i], intercepts[i] = again.coef / spectrum.scale[:, None], again.intercept
            certificate = again.certificate
        certificates.append(certificate)
    return RidgeTrace(spectrum, alphas, coefs, intercepts, tuple(certificates))


def _one_if_zero(scale: Floats) -> Floats:
    return np.where(scale > 0.0, scale, 1.0)


# -------------------------------------------------------------------------------------------------
# Ridge on rows in memory: one penalty, or a path, by the route that suits their shape.


class HasGrid(Protocol):
    """What places penalties: a spectrum, or what finds its largest eigenvalue when it is asked."""

    def grid(self, size: int = 100) -> Floats:
        """Penalties from 10 λ_max to far below the least λ."""
        ...


Grid = Callable[[HasGrid], Floats]


def ridge_from_block(block: Block, alpha: Floats, options: RidgeOptions) -> Solution:
    """One α > 0 per target, from rows in memory: in the space of the rows.

    By products alone where there are too many of rows and columns; on graded rows where units
    differ so much that the products of rows lose the small columns.
    """
    if by_products(block):
        quick = solve_sparse(block, alpha, **vars(options))
        if quick is not None:
            return quick
        if block.n > block.x.shape[1]:
            m, scale = options.scaled(block_moments(block))
            solution = ridge_from_moments(m, alpha)
            return replace(solution, coef=solution.coef / scale[:, None])
    rows = CenteredRows.of(block, options.fit_intercept, options.standardize)
    row_solution = solve_in_rows(rows, alpha)
    if row_solution is not None:
        certificate = row_solution.certificate(rows.y, alpha)
        if certificate.holds:
            return Solution(*rows.in_table_units(row_solution.coef), certificate)
    z = rows.dense()
    coef, dual = GradedRows.of(z).solve(z, rows.y, alpha)
    certificate = least_squares.certify_ridge_rows(z, rows.y, coef, alpha, dual)
    return Solution(*rows.in_table_units(coef), certificate)


def trace_rows(
    block: Block,
    options: RidgeOptions,
    grid: Grid,
    *,
    products: bool,
    by_factors: bool = False,
) -> RidgeTrace:
    """The path from rows in memory, every point certified; ``grid`` places the penalties.

    By ``products`` alone it has no spectrum, nor ``by_factors``, one for each penalty > 0.
    """
    path = _trace_products(block, options, grid) if products else None
    if path is None and by_factors:
        path = _trace_factors(block, options, grid)
    if path is not None:
        return path
    if block.n <= block.x.shape[1]:
        return _trace_block(block, options, grid)
    m, scale = options.scaled(block_moments(block))
    spectrum = DesignSpectrum.from_moments(m, scale)
    return trace_moments(m, spectrum, grid(spectrum))


def path_coefs(
    source: Moments | Block, alphas: Floats, options: RidgeOptions
) -> tuple[Floats, Floats]:
    """Coefficients (m x d x k) and intercepts (m x k) for every α."""
    if isinstance(source, Block):
        products = by_products(source, len(alphas))
        path = trace_rows(source, options, lambda _: alphas, products=products)
        return path.coefs, path.intercepts
    return DesignSpectrum.from_moments(*options.scaled(source)).coefs(alphas)


def _trace_products(block: Block, options: RidgeOptions, grid: Grid) -> RidgeTrace | None:
    """By products alone, without eigenvalues but the largest; None as :func:`solve_sparse`."""
    rows = CenteredRows.of(block, options.fit_intercept, options.standardize)
    spectrum = _without_values(rows)
    alphas = grid(_PowerMethod(rows, spectrum))
    path = implicit_path(rows, alphas, step_limit(block))
    if path is None:
        return None
    coefs, certificates = path
    coefs /= rows.scale[:, None]
    intercepts = rows.y_mean - np.einsum("d,adk->ak", rows.x_mean, coefs)
    return RidgeTrace(spectrum, alphas, coefs, intercepts, tuple(certificates))


def _without_values(rows: CenteredRows) -> DesignSpectrum:
    """What stands for a spectrum that nobody computed."""
    none, cross = np.zeros(0), np.zeros((0, rows.y.shape[1]))
    yy = (rows.y**2).sum(axis=0)
    return DesignSpectrum(none, None, cross, rows.scale, rows.x_mean, rows.y_mean, yy, rows.weight)


def _trace_factors(block: Block, options: RidgeOptions, grid: Grid) -> RidgeTrace | None:
    """One Cholesky factor of the products of the rows for each penalty.

    None where it cannot be certified: on graded rows, or at a penalty of 0.
    """
    rows = CenteredRows.of(block, options.fit_intercept, options.standardize)
    spectrum = _without_values(rows)
    alphas, gram = grid(spectrum), rows.gram()
    if not alphas.all() or not np.isfinite(gram).all():
        return None
    coefs, intercepts, certificates = [], [], []
    for alpha in alphas:
        same = np.full(rows.y.shape[1], alpha)
        solve = _factor(gram, same, single=float(len(gram)) ** 3 >= SINGLE)
        solution = None if solve is None else _refine(rows, same, solve)
        if solution is None:
            return None
        coef, intercept = rows.in_table_units(solution.coef)
        coefs.append(coef)
        intercepts.append(intercept)
        certificates.append(solution.certificate(rows.y, same))
    if not all(certificate.holds for certificate in certificates):
        return None
    certified = tuple(certificates)
    return RidgeTrace(
        spectrum, alphas, np.stack(coefs), np.stack(intercepts), certified, by_factors=True
    )


def block_moments(block: Block) -> Moments:
    """The moments of rows in memory."""
    return ArrayRows(block.x, block.y, block.w, targets=list(block.targets)).reduce(Moments())


def _trace_block(block: Block, options: RidgeOptions, grid: Grid) -> RidgeTrace:
    """The path from rows in memory, every point certified; α = 0 is least squares.

    ``grid`` places the penalties on a spectrum.
    """
    rows = CenteredRows.of(block, options.fit_intercept, options.standardize)
    gram_spectrum = GramSpectrum.of(rows.unweighted_gram(), rows.root)
    spectrum = DesignSpectrum.from_rows(rows, gram_spectrum)
    alphas = grid(spectrum)
    positive = np.where(alphas > 0.0, alphas, 1.0)
    duals = gram_spectrum.duals(rows.y, positive)
    coefs = coefs_of(rows, duals)
    certificates = certify_duals(rows, gram_spectrum.gram, duals, coefs, positive)
    if not all(certificate.holds for certificate in certificates):
        return _trace_graded(block, rows, options, grid)
    coefs = coefs / rows.scale[:, None]
    intercepts = rows.y_mean - np.einsum("d,adk->ak", rows.x_mean, coefs)
    path = RidgeTrace(
        spectrum, alphas, coefs, intercepts, tuple(certificates), gram_spectrum.coordinates()
    )
    return _without_penalty(path, block, options)


def _trace_graded(
    block: Block, rows: CenteredRows, options: RidgeOptions, grid: Grid
) -> RidgeTrace:
    """The same on graded rows, where units differ too much for products of rows."""
    z = rows.dense()
    u, s, v = GradedRows.of(z).singular()
    spectrum = DesignSpectrum.from_singular(rows, u, s, v)
    alphas = grid(spectrum)
    coefs, intercepts = spectrum.coefs(alphas)
    certificates, inner = [], u.T @ rows.y
    for alpha, coef in zip(np.where(alphas > 0.0, alphas, 1.0), coefs, strict=True):
        dual = rows.y - u @ (inner * (s**2 / (s**2 + alpha))[:, None])
        same = np.full(coef.shape[1], alpha)
        certificates.append(
            least_squares.certify_ridge_rows(z, rows.y, coef * rows.scale[:, None], same, dual)
        )
    path = RidgeTrace(
        spectrum,
        alphas,
        coefs,
        intercepts,
        tuple(certificates),
        _undo_weights(rows, u, v / s),
        True,
    )
    return _without_penalty(path, block, options)


def _undo_weights(rows: CenteredRows, u: Floats, rotation: Floats) -> Floats:
    """Coordinates of the rows before weights; those of weight zero by products with the row."""
    out = rows.root == 0.0
    u = u / np.where(out, 1.0, rows.root)[:, None]
    if out.any():
        centered = (to_array(rows.x[out]) - rows.x_mean) / rows.scale
        u[out] = centered @ rotation
    return np.asarray(u)


def _without_penalty(path: RidgeTrace, block: Block, options: RidgeOptions) -> RidgeTrace:
    """Least squares, by its own solver, at the points of the path where α = 0."""
    indices = np.flatnonzero(path.alphas == 0.0)
    if not len(indices):
        return path
    plain = least_squares.solve_wide(block, fit_intercept=options.fit_intercept)
    path.coefs[indices], path.intercepts[indices] = plain.coef, plain.intercept
    certificates = [
        plain.certificate if alpha == 0.0 else certificate
        for alpha, certificate in zip(path.alphas, path.certificates, strict=True)
    ]
    return replace(path, certificates=tuple(certificates))


# -------------------------------------------------------------------------------------------------
# All penalties from one eigendecomposition of the n x n products of the rows.
#
#     ZZᵀ = U diag(λ) Uᵀ   ⇒   c(α) = U (Uᵀy / (λ + α)),   b(α) = Zᵀc(α)
#
# Leave-one-out errors and folds come from the same matrix: removing rows, and centering about the
# mean of those that are left, are operations on inner products.


@dataclass(frozen=True)
class GramSpectrum:
    """Eigenvalues ``values`` (r) > 0 and eigenvectors ``vectors`` (n x r) of √w ``gram`` √w.

    ``gram`` holds the products of centered rows before weights, ``root`` is √w.
    """

    gram: Floats
    root: Floats
    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, gram: Floats, root: Floats) -> GramSpectrum:
        """Eigenvalues beyond rounding."""
        weighted = gram if (root == 1.0).all() else gram * np.outer(root, root)
        values, vectors = linalg.eigh(weighted, check_finite=False)
        positive = values > values.max(initial=0.0) * len(values) * np.finfo(float).eps
        return cls(gram, root, values[positive], vectors[:, positive])

    def duals(self, y: Floats, alphas: Floats) -> Floats:
        """c for every α > 0 and target (n x m x k)."""
        inverse = 1.0 / (self.values[:, None] + alphas)
        inner = inverse[:, :, None] * (self.vectors.T @ y)[:, None, :]
        n, (r, m, k) = len(self.vectors), inner.shape
        return (self.vectors @ inner.reshape(r, m * k)).reshape(n, m, k)

    def coordinates(self) -> Floats:
        """Rows along the principal directions, each in units of √λ (n x r), before weights."""
        u = self.vectors / np.where(self.root > 0.0, self.root, 1.0)[:, None]
        out = self.root == 0.0
        if out.any():
            u[out] = self.gram[out] @ (self.root[:, None] * self.vectors) / self.values
        return u


def coefs_of(rows: CenteredRows, duals: Floats) -> Floats:
    """b = Zᵀc for every α and target (m x d x k)."""
    n, m, k = duals.shape
    coefs = rows.transposed_times(duals.reshape(n, m * k))
    return coefs.reshape(-1, m, k).transpose(1, 0, 2)


def certify_duals(
    rows: CenteredRows, gram: Floats, duals: Floats, coefs: Floats, alphas: Floats
) -> list[Certificate]:
    """Certificates for every α; objectives and gaps of the targets add up."""
    n, m, k = duals.shape
    fitted = rows.times(coefs.transpose(1, 0, 2).reshape(-1, m * k)).reshape(n, m, k)
    certificates = []
    for i, alpha in enumerate(alphas):
        c, square = duals[:, i], (coefs[i] ** 2).sum(axis=0)
        weighted = rows.root[:, None] * c
        inner = np.einsum("nk,nk->k", weighted, gram @ weighted)
        apart = np.abs(square - 2.0 * np.einsum("nk,nk->k", c, fitted[:, i]) + inner).sum()
        certificates.append(
            dual_certificate(rows.y, fitted[:, i], alpha * c, alpha * square, float(alpha * apart))
        )
    return certificates


def fold_predictions(
    gram: Floats,
    y: Floats,
    w: Floats,
    fold: tuple[Ints, Ints],
    alphas: Floats,
    *,
    fit_intercept: bool,
) -> Floats:
    """Predictions for test rows (n x m x k) by the other rows, from the products of all rows.

    ``gram`` and ``y`` are those before weights, ``gram`` about any point near the mean.
    """
    train, test = fold
    among, across, weight = gram[np.ix_(train, train)], gram[np.ix_(test, train)], w[train]
    mean = np.zeros(y.shape[1])
    if fit_intercept:
        share = weight / weight.sum()
        mean = share @ y[train]
        middle, beside = among @ share, across @ share
        square = float(share @ middle)
        among = among - middle[:, None] - middle + square
        across = across - beside[:, None] - middle + square
    root = np.sqrt(weight)
    duals = _duals(among, root, (y[train] - mean) * root[:, None], alphas) * root[:, None, None]
    n, m, k = duals.shape
    value = (across @ duals.reshape(n, m * k)).reshape(-1, m, k)
    return np.asarray(value + mean)


def _duals(gram: Floats, root: Floats, y: Floats, alphas: Floats) -> Floats:
    """c for every α > 0 and target (n x m x k), by factors or by eigenvalues."""
    solutions = []
    if penalty_by_penalty(len(alphas)):
        weighted = gram * np.outer(root, root)
        # Penalty relative to the products from which a factor keeps as many digits as eigenvalues.
        safe = 1e4 * np.finfo(float).eps * float(np.diag(weighted).max(initial=0.0))
        for alpha in alphas:
            matrix = weighted + alpha * np.eye(len(weighted))
            factor = cholesky_factor(matrix) if alpha > safe else None
            if factor is None:
                break
            solutions.append(cholesky_solve(factor, y))
    if len(solutions) == len(alphas):
        return np.stack(solutions, axis=1)
    return GramSpectrum.of(gram, root).duals(y, alphas)


# -------------------------------------------------------------------------------------------------
# Ridge regression on tables with no more rows than columns, in the space of the rows.
#
#     b = Zᵀc,      (ZZᵀ + αI) c = y,      Z = √w (X − x̄) / s
#
# The n x n matrix is factored in single precision, which halves its cost; c is then refined by its
# residual, from products with the rows in double precision, mostly once. Where the factor is too
# far off, conjugate gradients with it as preconditioner find the correction.


#: Multiplications from which the n x n matrix is made in single precision.
SINGLE = 1e8
#: Rounds of refinement, at most.
MAX_STEPS = 30


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


@dataclass(frozen=True)
class PrincipalRows:
    """Rows in memory, no more than columns, along the principal axes of their products.

    A model with a penalty ‖b‖² is the same in these coordinates, of which there are n at most.
    """

    rows: CenteredRows
    block: Block
    gram: Floats

    @classmethod
    def of(cls, block: Block, fit_intercept: bool, standardize: bool) -> PrincipalRows:
        """Of the rows of positive weight."""
        counted = np.flatnonzero(block.weights > 0.0)
        block = block if len(counted) == block.n else block.take(counted)
        rows = CenteredRows.of(block, fit_intercept, standardize)
        return cls(rows, block, rows.unweighted_gram())

    @cached_property
    def spectrum(self) -> GramSpectrum:
        """Principal axes."""
        return GramSpectrum.of(self.gram, self.rows.root)

    def coordinates(self) -> ArrayRows:
        """The rows along the axes."""
        x = self.spectrum.coordinates() * np.sqrt(self.spectrum.values)
        return ArrayRows(x, self.block.y, self.block.w)

    def in_table_units(self, solution: S) -> S:
        """The same solution for the columns of the table."""
        length = np.sqrt(self.spectrum.values)[:, None]
        coef = self.rows.transposed_times(self.spectrum.vectors @ (solution.coef / length))
        coef = coef / self.rows.scale[:, None]
        return replace(solution, coef=coef, intercept=solution.intercept - self.rows.x_mean @ coef)


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
        claim=least_squares.RIDGE_CLAIM,
        primal=primal,
        dual=primal - gap,
        gap=gap,
        kkt=float(np.max(np.linalg.norm(left, axis=0) / length, initial=0.0)),
        tolerance=LEAST_SQUARES_TOLERANCE,
        scale=0.5 * float((size**2).sum()),
        scale_of=least_squares.NULL_MODEL,
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
    solve = _factor(gram, alpha, single)
    return None if solve is None else _refine(rows, alpha, solve)


def _refine(
    rows: CenteredRows, alpha: Floats, solve: Callable[[Floats], Floats]
) -> RowSolution | None:
    """Refine c by its residual, until what is left would change no digit of b that counts.

    Each round reads the rows once and ends with all that a certificate needs.
    """
    size = np.linalg.norm(rows.y, axis=0)
    size[size == 0.0] = 1.0
    dual, before, best = solve(rows.y), np.inf, None
    small = 1e-10  # residual, relative to y, that will do where rounding allows no less
    for _ in range(MAX_STEPS):
        coef, fitted = rows.round_trip(dual)
        residual = rows.y - fitted - alpha * dual
        worst = float(np.max(np.linalg.norm(residual, axis=0) / size))
        if not worst < before:  # rounding has the last word
            break
        best, step = RowSolution(dual, coef, fitted), solve(residual)
        # ‖Zᵀs‖² = s·ZZᵀs, and ZZᵀs + αs is the residual
        square = np.einsum("ij,ij->j", step, residual - alpha * step)
        # Change of the coefficients, relative to them, that is not worth another round.
        if (np.maximum(square, 0.0) <= (1e-10 * np.linalg.norm(coef, axis=0)) ** 2).all():
            return best
        if worst > small and worst > 0.1 * min(before, 1.0):
            step = _conjugate_gradient(rows, alpha, solve, residual)
        dual, before = dual + step, worst
    return best if before <= small else None


def _factor(gram: Floats, alpha: Floats, single: bool) -> Callable[[Floats], Floats] | None:
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
            solution = cholesky_solve(factor, (right[:, columns] / length).astype(dtype))
            out[:, columns] = solution * (length / size)
        return out

    return solve


def _conjugate_gradient(
    rows: CenteredRows, alpha: Floats, solve: Callable[[Floats], Floats], right: Floats
) -> Floats:
    """(ZZᵀ + αI)⁻¹ times ``right`` (n x k) to some digits, where the factor is too far off."""
    goal = 1e-7 * np.linalg.norm(right, axis=0)
    solution, residual = np.zeros_like(right), right.copy()
    direction = step = solve(residual)
    inner = np.einsum("ij,ij->j", residual, step)
    for _ in range(MAX_STEPS):
        back = rows.round_trip(direction)[1]
        back += alpha * direction
        curvature = np.einsum("ij,ij->j", direction, back)
        length = np.divide(inner, curvature, out=np.zeros_like(inner), where=curvature > 0.0)
        solution += length * direction
        residual -= length * back
        if not (np.linalg.norm(residual, axis=0) > goal).any():
            break
        step = solve(residual)
        new = np.einsum("ij,ij->j", residual, step)
        ratio = np.divide(new, inner, out=np.zeros_like(inner), where=inner > 0.0)
        direction, inner = step + ratio * direction, new
    return solution


# -------------------------------------------------------------------------------------------------
# Least squares and ridge for sparse rows whose square matrices would not fit: products alone.
#
#     min over b of ½‖y − Zb‖² + ½α‖b‖²
#
# Conjugate gradients (CGLS) on shortened or equilibrated columns, all targets at once: units of the
# columns do not matter; centering is part of the product, so that the rows stay sparse. Without
# penalty the solution has minimum norm in equilibrated columns. A path starts at each penalty from
# the solution at the one before.


#: ‖Zᵀr − αb‖ relative to ‖Zᵀy‖, both in equilibrated columns, at which the iteration ends; the
#: certificate allows rounding a little more.
ENOUGH_PRODUCTS, TOLERANCE = 5e-9, 1e-8
#: Steps after which equilibrated columns are tried.
FIRST_STEPS = 300


@dataclass
class Iterate:
    """Coefficients (d x k) of the columns of Z, the number of steps, and whether these did it."""

    coef: Floats
    steps: int
    done: bool


class ImplicitRidge:
    """The problem of a table, for any penalty: norms of its columns and Zᵀy are computed once."""

    def __init__(self, rows: CenteredRows, most: int | None = None) -> None:
        self.rows, self.most = rows, most
        self.squares = rows.z.weighted_squares(rows.root**2)
        self.cross = rows.transposed_times(rows.y)

    def solve(self, alphas: Floats, start: Floats | None = None) -> tuple[Iterate, Certificate]:
        """One α for every target, certified; further where the gap asks for more digits.

        Steps are first those of columns of which only the long ones are shortened; equilibrated
        columns follow where these do not come near, as in very different units.
        """
        full = self._units(alphas)
        first, before = FIRST_STEPS if self.most is None else min(FIRST_STEPS, self.most), 0
        n, d = self.rows.z.shape
        if start is None and n <= d and alphas[0] > 0.0 and (alphas == alphas[0]).all():
            shifted = self.at_once(alphas[:1])  # whose steps are as long as rows are many
            if shifted is not None:
                start, before = shifted.coefs[0], shifted.steps
        iterates = self._descend(alphas, start, ENOUGH_PRODUCTS, self._shorten(alphas), first)
        iterates = replace(iterates, steps=before + iterates.steps)
        if not iterates.done:
            iterates = self._further(iterates, alphas, ENOUGH_PRODUCTS, full)
        certificate = self.certify(iterates.coef, alphas)
        if not certificate.holds:
            iterates = self._further(iterates, alphas, 1e-3 * ENOUGH_PRODUCTS, full)
            certificate = self.certify(iterates.coef, alphas)
        return iterates, certificate

    def at_once(self, alphas: Floats) -> ShiftedSolution | None:
        """All penalties, each for every target; None where columns have scales of their own."""
        rows = self.rows
        if rows.z.scaled:
            return None
        return solve_shifted(
            rows.z.x,
            rows.y / np.where(rows.root > 0.0, rows.root, 1.0)[:, None],
            np.repeat(rows.root[:, None] ** 2, rows.y.shape[1], axis=1),
            alphas,
            fit_intercept=bool(rows.x_mean.any() or rows.y_mean.any()),
            enough=ENOUGH_PRODUCTS,
            limit=FIRST_STEPS if self.most is None else min(FIRST_STEPS, self.most),
        )

    def _further(self, iterate: Iterate, alphas: Floats, enough: float, unit: Floats) -> Iterate:
        limit = 4 * min(self.rows.z.shape) + 50
        limit = limit if self.most is None else max(self.most - iterate.steps, 0)
        more = self._descend(alphas, iterate.coef, enough, unit, limit)
        return replace(more, steps=iterate.steps + more.steps)

    def _descend(
        self, alphas: Floats, start: Floats | None, enough: float, unit: Floats, limit: int
    ) -> Iterate:
        """Conjugate gradients on columns divided by ``unit``, until those of length one agree."""
        rows, full = self.rows, self._units(alphas)
        size = np.linalg.norm(self.cross / full, axis=0)
        size[size == 0.0] = 1.0
        floor = 1e3 * np.finfo(float).eps * np.linalg.norm(rows.y, axis=0)
        b, residual, gradient = np.zeros_like(self.cross), rows.y.copy(), self.cross / unit
        if start is not None:
            b = start.copy()
            residual -= rows.times(b)
            gradient = (rows.transposed_times(residual) - alphas * b) / unit
        direction, square, steps, weight = gradient, (gradient**2).sum(axis=0), 0, unit / full
        while True:
            norm = np.linalg.norm(gradient * weight, axis=0)
            kkt = norm / size
            # coefficients are as exact as the residuals, however small these are
            # ‖Zᵀr − αb‖ relative to ‖r‖, too: one in 10⁷ of a standard error.
            fine = np.maximum(1e-7 * np.linalg.norm(residual, axis=0), floor)
            done = not ((kkt > enough) | (norm > fine)).any()
            if done or steps >= limit:
                break
            move = direction / unit
            forward = rows.times(move)
            curvature = (forward**2).sum(axis=0) + alphas * (move**2).sum(axis=0)
            length = np.divide(square, curvature, out=np.zeros_like(square), where=curvature > 0.0)
            if not length.any():
                break
            b += length * move
            residual -= length * forward
            gradient = (rows.transposed_times(residual) - alphas * b) / unit
            before, square = square, (gradient**2).sum(axis=0)
            ratio = np.divide(square, before, out=np.zeros_like(square), where=before > 0.0)
            direction = gradient + ratio * direction
            steps += 1
        return Iterate(b, steps, done)

    def certify(self, coef: Floats, alphas: Floats) -> Certificate:
        """The worst certificate of the targets, from the rows and the coefficients alone.

        ``kkt`` is ‖Zᵀr − αb‖ / ‖Zᵀy‖ in equilibrated columns. Without penalty the gap is not
        bounded.
        """
        unit, residual = self._units(alphas), self.rows.y - self.rows.times(coef)
        v = self.rows.transposed_times(residual)
        certificates = [
            replace(
                certify_residual(
                    residual[:, j], v[:, j], coef[:, j], self.cross[:, j], unit[:, j], alpha,
                    TOLERANCE,
                ),
                scale=0.5 * float(self.rows.y[:, j] @ self.rows.y[:, j]),
                scale_of=least_squares.NULL_MODEL,
            )
            for j, alpha in enumerate(alphas.tolist())
        ]  # fmt: skip
        return max(certificates, key=lambda certificate: certificate.kkt)

    def _units(self, alphas: Floats) -> Floats:
        """√(Σz² + α) of every column and target."""
        unit = np.sqrt(self.squares[:, None] + alphas)
        return np.asarray(np.where(unit > 0.0, unit, 1.0))

    def _shorten(self, alphas: Floats) -> Floats:
        """The same with the shorter half of the columns as they are: their nullspace stays one.

        Without penalty all are equilibrated, since the solution of minimum norm depends on it.
        """
        typical = float(np.median(self.squares[self.squares > 0.0])) if self.squares.any() else 0.0
        shortened = np.sqrt(np.maximum(self.squares, 4.0 * typical)[:, None] + alphas)
        return np.asarray(np.where(alphas > 0.0, shortened, self._units(alphas)))


def largest_eigenvalue(rows: CenteredRows, steps: int = 20) -> float:
    """About the largest eigenvalue of ZᵀZ, from below, by the power method."""
    v, value = np.full((rows.z.shape[0], 1), 1.0) + rows.y[:, :1], 0.0
    for _ in range(steps):
        length = float(np.linalg.norm(v))
        if not length:
            break
        v = rows.round_trip(v / length)[1]
        value = float(np.linalg.norm(v))
    return value


@dataclass(frozen=True)
class _PowerMethod:
    """Penalties below the largest eigenvalue."""

    rows: CenteredRows
    spectrum: DesignSpectrum

    def grid(self, size: int = 100) -> Floats:
        """Those of a spectrum of that eigenvalue alone."""
        largest = np.array([largest_eigenvalue(self.rows)])
        return replace(self.spectrum, values=largest).grid(size)


def implicit_path(
    rows: CenteredRows, alphas: Floats, most: int | None
) -> tuple[Floats, list[Certificate]] | None:
    """Coefficients (m x d x k) of the columns of Z and certificates, the largest penalty first."""
    problem, k = ImplicitRidge(rows, most), rows.y.shape[1]
    coefs = np.empty((len(alphas), rows.z.shape[1], k))
    certificates: dict[int, Certificate] = {}
    shifted = problem.at_once(alphas) if (alphas > 0.0).all() else None
    near = None
    for i in np.argsort(-alphas, kind="stable"):
        if shifted is not None and shifted.done[i]:
            near = shifted.coefs[i]
        same = np.full(k, alphas[i])
        solution, certificates[int(i)] = problem.solve(same, near)
        if most is not None and not solution.done:
            return None
        coefs[i] = near = solution.coef
    return coefs, [certificates[i] for i in range(len(alphas))]


def solve_sparse(
    block: Block, alphas: Floats, *, fit_intercept: bool, standardize: bool = False
) -> Solution | None:
    """One α per target; 0 is least squares. None where a square matrix would have cost less."""
    rows = CenteredRows.of(block, fit_intercept, standardize)
    most = step_limit(block)
    solution, certificate = ImplicitRidge(rows, most).solve(alphas)
    if most is not None and not (solution.done and certificate.holds):
        return None
    if not certificate.holds:
        warn(
            "SEP003",
            f"conjugate gradients stopped after {solution.steps} steps with a KKT residual of "
            f"{certificate.kkt:.1e}. A penalty (Ridge) makes it faster.",
        )
    coef, intercept = rows.in_table_units(solution.coef)
    status = Status.SOLVED if certificate.holds else Status.LIMIT
    return Solution(coef, intercept, certificate, status, solution.steps)


def solve_least_squares(data: TrainingData, *, fit_intercept: bool) -> Solution:
    """Solve by the route that suits the data; a ``LeastSquares`` where inference is possible.

    From moments where there are more rows than columns; by conjugate gradients where XᵀX is out of
    proportion to sparse rows; else by singular values of the rows.
    """
    block, moments, rows = data.block, data.moments, data.rows
    if block is not None and by_products(block):
        quick = solve_sparse(block, np.zeros(block.y.shape[1]), fit_intercept=fit_intercept)
        if quick is not None:
            return quick
        if block.n > block.x.shape[1] and rows is not None:
            block, moments = None, rows.reduce(Moments())
    if block is None:
        assert moments is not None
        return least_squares.solve_moments(rows, moments, fit_intercept=fit_intercept)
    solution = least_squares.solve_wide(block, fit_intercept=fit_intercept)
    least_squares.warn_if_not_unique(solution.certificate)
    return solution
