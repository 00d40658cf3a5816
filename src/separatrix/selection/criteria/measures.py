"""Criteria as functions of a path's figures; smaller is better, except for evidence.

AICc = −2 log L + 2k + 2k(k + 1)/(n − k − 1)
MDL  = (n−k)/2 log τ̂ + k/2 log R̂ − log Γ((n−k)/2) − log Γ(k/2) + n/2 log πn,
       τ̂ = RSS/n,  R̂ = ‖ŷ‖²/n,  0 < k < n
VC   = RSS/n / (1 − √(p − p log p + log n/2n))₊,    p = h/n         of squared errors
VC   = e + √((h (log 2n/h + 1) + log 4/δ)/n)                        of classification errors
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from separatrix.rows.block import Floats
from separatrix.selection.criteria.figures import Subsets

#: Probability with which the bound on classification errors may fail.
DELTA = 0.05
#: Explained or residual sums of squares below this fraction of the total are rounding.
NOTHING = 1e-13


def corrected_aic(log_likelihood: Floats, freedom: Floats, n: float) -> Floats:
    """AIC for few rows; k counts every parameter, that of the noise too. +∞ where n ≤ k + 1."""
    left = n - freedom - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 2.0 * (freedom - log_likelihood) + 2.0 * freedom * (freedom + 1.0) / left
    return np.where(left <= 0.0, np.inf, value)


def description_length(subsets: Subsets) -> Floats:
    """Code length, in nats, of the normalized maximum likelihood of linear regression.

    The normalizer of the maximum likelihood is finite on τ̂ ≥ τ₀ and R̂ ≤ R₀ alone. Normalizing
    once more over these two bounds, within ranges τ₁ … τ₂ and R₁ … R₂, leaves them in a term
    log(log(τ₂/τ₁) log(R₂/R₁)) that all models share and that is left out here. Models outside of
    the ranges get NaN: without coefficients R̂ is 0, without residuals τ̂ is.
    """
    k, n = subsets.coefficients, subsets.rows
    total = subsets.squares + subsets.explained
    inside = (
        (k > 0.0) & (k < n) & (np.minimum(subsets.squares, subsets.explained) > NOTHING * total)
    )
    k = np.where(inside, k, 1.0)
    rest = np.where(inside, n - k, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 0.5 * (rest * np.log(subsets.squares / n) + k * np.log(subsets.explained / n))
    value = value - gammaln(0.5 * rest) - gammaln(0.5 * k) + 0.5 * n * np.log(np.pi * n)
    return np.where(inside, value, np.nan)


def squared_risk(squares: Floats, capacity: Floats, n: float) -> Floats:
    """Vapnik's bound on the mean squared error of new rows, its constants set to 1.

    +∞ where it says nothing: from about h = 0.8 n on. With these constants, chosen for their
    success (Cherkassky and Mulier), it ranks models and guarantees nothing.
    """
    p = np.clip(capacity / n, np.finfo(float).tiny, 1.0)
    shrunk = 1.0 - np.sqrt(p - p * np.log(p) + np.log(n) / (2.0 * n))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((shrunk > 0.0) & (capacity < n), squares / n / shrunk, np.inf)


def classification_risk(errors: Floats, capacity: Floats, n: float, delta: float = DELTA) -> Floats:
    """Vapnik's bound on the error rate of new rows, which holds with probability 1 − δ."""
    h = np.clip(capacity, 1e-9, n)
    return np.asarray(errors + np.sqrt((h * (np.log(2.0 * n / h) + 1.0) + np.log(4.0 / delta)) / n))
