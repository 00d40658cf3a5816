"""Whether chains have mixed: rank-normalized split R̂ and effective sample sizes.

    R̂² = (N − 1)/N + B/W,       S_eff = S / τ,    τ = −1 + 2 Σ (ρ₂ₜ + ρ₂ₜ₊₁)

over chains cut in halves, whose draws are replaced by normal scores of their ranks: heavy tails
then do no harm. R̂ is the larger of that of the draws and that of their distances from the median,
so that chains of different spread are found too. The autocorrelations ρ are added up while their
pairs are positive, and made to decrease (Geyer). The sample size of the bulk is that of the normal
scores; that of the tails is the smaller of those of the indicators of the 5% and 95% quantiles.

A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, "Rank-normalization, folding,
and localization: an improved R̂ for assessing convergence of MCMC", Bayesian Analysis, 2021.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft
from scipy.special import ndtri
from scipy.stats import rankdata

from separatrix.rows.block import Floats

#: Draws of a chain below which nothing can be said.
FEWEST = 4


@dataclass(frozen=True)
class ChainDiagnostics:
    """R̂ and effective sample sizes of the bulk and the tails, one number for each quantity.

    They are NaN for a quantity that is the same in all draws.
    """

    rhat: Floats
    ess_bulk: Floats
    ess_tail: Floats


def diagnose(draws: Floats) -> ChainDiagnostics:
    """Diagnostics of draws (chains x draws x quantities)."""
    shape = draws.shape[2]
    if draws.shape[1] < FEWEST:
        none = np.full(shape, np.nan)
        return ChainDiagnostics(none, none.copy(), none.copy())
    found = np.array([_of_one(draws[:, :, j]) for j in range(shape)]).reshape(shape, 3)
    return ChainDiagnostics(found[:, 0], found[:, 1], found[:, 2])


def _of_one(draws: Floats) -> tuple[float, float, float]:
    if not np.isfinite(draws).all() or np.ptp(draws) == 0.0:
        return np.nan, np.nan, np.nan
    x = _split(draws)
    scores = normal_scores(x)
    folded = normal_scores(np.abs(x - np.median(x)))
    low, high = np.quantile(draws, [0.05, 0.95])
    tails = [effective_size(_split((draws <= q).astype(float))) for q in (low, high)]
    rhat = max(scale_reduction(scores), scale_reduction(folded))
    return rhat, effective_size(scores), min(tails)


def _split(draws: Floats) -> Floats:
    """Each chain in two halves; of an odd number of draws the middle one is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def normal_scores(x: Floats) -> Floats:
    """Φ⁻¹((rank − ⅜)/(S + ¼)), ties sharing their mean rank."""
    ranks = rankdata(x).reshape(x.shape)
    return np.asarray(ndtri((ranks - 0.375) / (x.size + 0.25)))


def scale_reduction(x: Floats) -> float:
    """R̂ of chains (chains x draws)."""
    n = x.shape[1]
    within = float(x.var(axis=1, ddof=1).mean())
    between = float(x.mean(axis=1).var(ddof=1))
    return float(np.sqrt((n - 1) / n + between / within)) if within > 0.0 else np.inf


def effective_size(x: Floats) -> float:
    """Effective number of draws of chains (chains x draws) for the mean; NaN for constants."""
    chains, n = x.shape
    covariance = _autocovariance(x).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + (float(x.mean(axis=1).var(ddof=1)) if chains > 1 else 0.0)
    if not total > 0.0:
        return np.nan
    rho = 1.0 - (within - covariance * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    stop = negative[0] if len(negative) else len(pairs)
    tau = -1.0 + 2.0 * float(np.minimum.accumulate(pairs[:stop]).sum())
    if stop < len(pairs):  # the pair that ends the sum may begin with a positive correlation
        tau += max(float(rho[2 * stop]), 0.0)
    size = chains * n
    # draws that alternate about the mean would seem worth more than any number of independent ones
    return float(size / max(tau, 1.0 / np.log10(size)))


def _autocovariance(x: Floats) -> Floats:
    """Σₜ (xₜ − x̄)(xₜ₊ₖ − x̄)/n for every lag k, by the fast Fourier transform."""
    n = x.shape[1]
    centered = x - x.mean(axis=1, keepdims=True)
    spectrum = fft.rfft(centered, fft.next_fast_len(2 * n), axis=1)
    return np.asarray(fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n] / n)
