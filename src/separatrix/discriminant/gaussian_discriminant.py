"""Gaussian classes: one centre each, and six ways to say how rows spread about it."""

from __future__ import annotations

from typing import Any

from separatrix.discriminant.class_covariances import Mix
from separatrix.discriminant.gaussian_classifier import SPREADS, AdditiveGaussian, Settings
from separatrix.messages import InputError


class GaussianDiscriminant(AdditiveGaussian):
    """gₖ(x) = ln P(k) − ½ ln|Σₖ| − ½ (x − μₖ)ᵀ Σₖ⁻¹ (x − μₖ), the largest wins.

    Means, covariances and shares of the classes are those of maximum likelihood, from one pass.
    Boundaries are quadrics; where the classes share one covariance they are planes.

    Parameters
    ----------
    covariance : {"full", "shared", "diagonal", "shared_diagonal", "spherical", "shared_spherical"}
        What Σₖ may be: any matrix, or one for all classes; a diagonal (columns independent within
        classes), or one for all; a multiple of the identity, or one for all (nearest mean). The
        last two depend on the units of the columns by definition, the others do not.
    alpha, beta : float, default=0
        Σₖ becomes α σ²I + β S + (1 − α − β) Sₖ with S the pooled covariance; σ²I is meant for
        columns of unit deviation, so that units do not matter.
    priors : array of K numbers, "uniform" or None, default=None
        Probabilities of the classes; the shares of the rows by default.

    Attributes
    ----------
    classes_, means_, covariance_, priors_ : what was estimated; variances where Σ is diagonal.
    W_, w_, w0_ : coefficients of the scores xᵀWx + w·x + w₀.
    n_parameters_ : how many numbers were estimated.
    thresholds_ : for one column, where the most probable class changes.
    """

    def __init__(
        self,
        covariance: str = "full",
        *,
        alpha: float = 0.0,
        beta: float = 0.0,
        priors: Any = None,
    ) -> None:
        self.covariance = covariance
        self.alpha = alpha
        self.beta = beta
        self.priors = priors

    def _settings(self) -> Settings:
        if self.covariance not in SPREADS:
            raise InputError(
                f"covariance={self.covariance!r} is no known case.",
                remedy=f"Choose one of {', '.join(map(repr, SPREADS))}.",
            )
        return Settings(self.covariance, Mix(self.alpha, self.beta), self.priors)
