"""Evidence at given precisions of noise and columns, with its derivatives in their logarithms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from separatrix.bayes.linear.relevance_state import UnitColumns, half_inverse
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Rates:
    """Hyperpriors for columns and target of length one: rates by column, shapes, and a threshold.

    A column whose precision reaches its ``threshold`` is left out.
    """

    alpha_1: float
    alpha_2: float
    lambda_1: float
    lambda_2: Floats
    threshold: Floats

    def subset(self, index: NDArray[np.int64]) -> Rates:
        """Those of some columns."""
        return replace(self, lambda_2=self.lambda_2[index], threshold=self.threshold[index])


@dataclass(frozen=True)
class Fit:
    """Posterior of the active columns: mean, a root H of Σ = HHᵀ, its diagonal, ‖y − Xb‖²."""

    mean: Floats
    half: Floats
    residual: float

    @classmethod
    def at(cls, columns: UnitColumns, alpha: float, lam: Floats, active: NDArray[np.int64]) -> Fit:
        """At precisions of noise and columns."""
        gram, xy = columns.products(active)
        half = half_inverse(gram, alpha, lam[active])
        mean = alpha * (half @ (half.T @ xy))
        return cls(mean, half, columns.residual(active, mean))

    @property
    def variances(self) -> Floats:
        """The diagonal of Σ."""
        return np.asarray(np.einsum("ij,ij->i", self.half, self.half))


def score(columns: UnitColumns, rates: Rates, alpha: float, lam: Floats) -> float:
    """Log evidence plus log hyperpriors of the noise and of the columns that are not left out."""
    active = np.flatnonzero(np.isfinite(lam))
    own = lam[active]
    found = log_evidence_at(columns, alpha, lam)
    found += rates.alpha_1 * float(np.log(alpha)) - rates.alpha_2 * alpha
    return found + float((rates.lambda_1 * np.log(own) - rates.lambda_2[active] * own).sum())


def log_evidence_at(columns: UnitColumns, alpha: float, lam: Floats) -> float:
    """log N(y; 0, C) of the target of length one."""
    active = np.flatnonzero(np.isfinite(lam))
    fit, own = Fit.at(columns, alpha, lam, active), lam[active]
    gram, _ = columns.products(active)
    scaled = alpha * gram / np.sqrt(np.multiply.outer(own, own))
    scaled[np.diag_indices_from(scaled)] += 1.0
    determinant = float(np.linalg.slogdet(scaled)[1])
    energy = alpha * fit.residual + float(own @ fit.mean**2)
    return 0.5 * (columns.weight * float(np.log(alpha / (2 * np.pi))) - determinant - energy)


def derivatives(
    columns: UnitColumns, rates: Rates, alpha: float, lam: Floats, active: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Gradient and Hessian of the score in (log α, log λ of the active columns)."""
    fit, own = Fit.at(columns, alpha, lam, active), lam[active]
    mean, sigma = fit.mean, fit.half @ fit.half.T
    freedom, pull = 1.0 - own * fit.variances, own * mean**2
    weighted = own[:, None] * sigma * own
    inward = sigma @ (own * mean)  # ΣΛμ
    by_noise = own * (fit.variances - (sigma**2) @ own)  # ∂γ/∂log α
    gradient = np.empty(len(active) + 1)
    gradient[1:] = rates.lambda_1 - rates.lambda_2[active] * own + 0.5 * (freedom - pull)
    gradient[0] = rates.alpha_1 - rates.alpha_2 * alpha
    gradient[0] += 0.5 * (columns.weight - freedom.sum() - alpha * fit.residual)
    hessian = np.empty((len(gradient), len(gradient)))
    hessian[1:, 1:] = 0.5 * weighted * sigma + weighted * np.multiply.outer(mean, mean)
    diagonal = rates.lambda_2[active] * own + 0.5 * (own * fit.variances + pull)
    hessian[1:, 1:][np.diag_indices(len(active))] -= diagonal
    hessian[0, 1:] = hessian[1:, 0] = 0.5 * by_noise - own * mean * inward
    hessian[0, 0] = -rates.alpha_2 * alpha
    hessian[0, 0] -= 0.5 * (by_noise.sum() + alpha * fit.residual)
    hessian[0, 0] += float((own * mean) @ inward)
    return gradient, hessian
