"""Certificates of evidence maximization: gradients in log units, by code of their own.

    ∂/∂log α = α₁ − α₂ α + ½ (n − γ − α ‖y − Xb‖²),    γ = d − tr ΛΣ
    ∂/∂log λⱼ = λ₁ − λ₂ λⱼ + ½ (1 − λⱼ Σⱼⱼ − λⱼ bⱼ²)

Σ comes from a Cholesky factor of αXᵀX + Λ (or of XΛ⁻¹Xᵀ + α⁻¹I), not from the decomposition or
the updates by which the precisions were found; the residual is that of the coefficients returned.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.bayes.linear.evidence import Hyperprior
from separatrix.bayes.linear.spectrum import EPS, Columns
from separatrix.matrices.gram import row_gram
from separatrix.matrices.products import products
from separatrix.matrices.standardized import Standardized
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments

#: Largest derivative, relative to the number of rows or coefficients it is about.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Recomputed:
    """‖y − Xb‖², Σⱼⱼ of every column (None in the space of the rows), and γ."""

    residual: float
    variances: Floats | None
    freedom: float
    condition: float


def recompute_moments(
    m: Moments, columns: Columns, coef: Floats, alpha: float, lam: Floats
) -> Recomputed:
    """From moments, for coefficients of columns times ``columns.scale``."""
    scale = columns.scale
    xx, xy = m.xx * np.multiply.outer(scale, scale), m.xy[:, 0] * scale
    return recompute_products(xx, xy, columns.yy, coef, alpha, lam)


def recompute_products(
    xx: Floats, xy: Floats, yy: float, coef: Floats, alpha: float, lam: Floats
) -> Recomputed:
    """From products of columns and target."""
    residual = yy - 2.0 * float(coef @ xy) + float(coef @ xx @ coef)
    unit = 1.0 / np.sqrt(alpha * np.diag(xx) + lam)
    matrix = alpha * xx
    matrix[np.diag_indices_from(matrix)] += lam
    matrix *= np.multiply.outer(unit, unit)
    inverse = _inverse_root(matrix)
    if inverse is None:
        return Recomputed(max(residual, 0.0), np.full(len(unit), np.nan), np.nan, np.inf)
    variances = np.einsum("ij,ij->j", inverse, inverse) * unit**2
    freedom = float(len(unit) - lam @ variances)
    condition = float(np.square(np.linalg.norm(inverse, 2)) * len(unit))
    return Recomputed(max(residual, 0.0), variances, freedom, condition)


def recompute_rows(
    block: Block, columns: Columns, coef: Floats, alpha: float, lam: float
) -> Recomputed:
    """From rows in memory with one λ: γ = n − ρ tr(ZZᵀ + ρI)⁻¹."""
    root = np.sqrt(block.weights)
    with np.errstate(divide="ignore"):
        divisor = 1.0 / columns.scale
    z = Standardized(products(block.x), columns.mean, divisor)
    left = root * (block.y[:, 0] - columns.y_mean - z.times(coef))
    ratio, n = lam / alpha, len(root)
    gram = row_gram(block.x, columns.mean, divisor, root)
    size = float(np.diag(gram).max(initial=0.0)) + ratio
    gram[np.diag_indices(n)] += ratio
    inverse = _inverse_root(gram)
    if inverse is None:
        return Recomputed(float(left @ left), None, np.nan, np.inf)
    trace = float(np.einsum("ij,ij->", inverse, inverse))
    return Recomputed(float(left @ left), None, n - ratio * trace, size * trace)


def _inverse_root(matrix: Floats) -> Floats | None:
    """L⁻¹ of matrix = LLᵀ; None where rounding leaves it no positive definite matrix."""
    try:
        factor = linalg.cholesky(matrix, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    unit = np.eye(len(matrix))
    return np.asarray(linalg.solve_triangular(factor, unit, lower=True, check_finite=False))


def certify(
    found: Recomputed,
    prior: Hyperprior,
    columns: Columns,
    coef: Floats,
    alpha: float,
    lam: float,
    *,
    rank: int,
    statistic: str,
    notes: tuple[str, ...] = (),
) -> Certificate:
    """Of one λ: derivatives with respect to log α and log λ at the precisions that were found."""
    n, d, square = columns.weight, len(coef), float(coef @ coef)
    strength = lam * square if square else 0.0  # λ is infinite where all coefficients are 0
    of_noise = 0.5 * (n - found.freedom - alpha * found.residual)
    of_noise += prior.alpha_1 - prior.alpha_2 * alpha
    of_prior = 0.5 * (found.freedom - strength) + prior.lambda_1
    of_prior -= prior.lambda_2 * lam if prior.lambda_2 else 0.0
    primal = 0.5 * (alpha * found.residual + strength)
    return Certificate(
        claim="No other noise and prior precision near these have a higher evidence",
        primal=primal,
        kkt=max(abs(of_noise) / (0.5 * n), abs(of_prior) / (0.5 * d)),
        tolerance=TOLERANCE,
        rank=rank,
        digits=digits(found.condition),
        statistic=statistic,
        notes=(
            f"Derivatives of the log evidence: {of_noise:.1e} by log α, {of_prior:.1e} by log λ.",
            *notes,
        ),
        promised=("kkt",),
    )


def digits(condition: float) -> float:
    """Decimal digits of the coefficients that rounding leaves."""
    return float(np.clip(-np.log10(EPS * max(condition, 1.0)), 0.0, -np.log10(EPS)))
