"""Evidence of ridge regression, and its maximum over noise and prior, from one decomposition.

    log p(y | α, λ) = ½ [n log α/2π − α Q(ρ) − Σ log(1 + s/ρ)],    ρ = λ/α,
    Q(ρ) = min over b of ‖y − Xb‖² + ρ‖b‖²

For a given ratio ρ the best α is known in closed form, also with Gamma densities as hyperpriors:

    α = (n + 2α₁ + 2λ₁) / (Q(ρ) + 2α₂ + 2λ₂ρ)

so that one function of log ρ is left, whose maxima are bracketed on a grid and found as roots of
its derivative. MacKay's fixed point, which scikit-learn iterates, is the same stationary point.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import optimize

from separatrix.bayes.linear.spectrum import EvidenceSpectrum
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Points on which maxima are bracketed.
GRID = 600


class Hyperprior(NamedTuple):
    """Shapes and rates of Gamma densities: of the noise precision, and of that of the prior."""

    alpha_1: float = 0.0
    alpha_2: float = 0.0
    lambda_1: float = 0.0
    lambda_2: float = 0.0

    def in_units(self, square: float) -> Hyperprior:
        """With rates in units of the target's variance."""
        return self._replace(alpha_2=self.alpha_2 * square, lambda_2=self.lambda_2 * square)


def log_evidence(spectrum: EvidenceSpectrum, alpha: float, lam: float) -> float:
    """log N(y; 0, α⁻¹I + λ⁻¹XXᵀ), all constants included; λ may be infinite."""
    with np.errstate(divide="ignore", over="ignore"):
        squares = float(spectrum.squares(lam / alpha))
        determinant = float(np.log1p(spectrum.values * (alpha / lam)).sum())
    size = spectrum.weight * float(np.log(alpha / (2.0 * np.pi)))
    return 0.5 * (size - alpha * squares - determinant)


def log_hyperprior(prior: Hyperprior, alpha: float, lam: float) -> float:
    """Logarithm of the Gamma densities, without their constants, as scikit-learn's scores."""
    found = prior.alpha_1 * np.log(alpha) - prior.alpha_2 * alpha
    if prior.lambda_1 or prior.lambda_2:
        found += prior.lambda_1 * np.log(lam) - prior.lambda_2 * lam
    return float(found)


@dataclass(frozen=True)
class Maximum:
    """The best precisions, and the ones on the way to them (steps x 2)."""

    alpha: float
    lam: float
    steps: Floats


class _Profile:
    """The evidence with hyperpriors as a function of t = log ρ alone, and its derivative."""

    def __init__(self, spectrum: EvidenceSpectrum, prior: Hyperprior) -> None:
        self.spectrum, self.prior = spectrum, prior
        self.count = 0.5 * spectrum.weight + prior.alpha_1 + prior.lambda_1

    def alpha(self, ratio: float) -> float:
        """The best noise precision at this ratio."""
        return float(self._precision(np.array([ratio]))[0])

    def _precision(self, ratio: Floats) -> Floats:
        return self.count / self._rate(ratio)

    def _fit(self, ratio: float) -> float:
        """The part of the evidence that fit and noise have in it."""
        return float(-self.count * np.log(self._rate(np.array([ratio]))[0]))

    def _rate(self, ratio: Floats) -> Floats:
        rate = 0.5 * self.spectrum.squares(ratio) + self.prior.alpha_2
        if self.prior.lambda_2:
            rate = rate + self.prior.lambda_2 * ratio
        return np.asarray(rate)

    def value(self, ratio: float) -> float:
        """Up to a constant."""
        with np.errstate(divide="ignore"):
            shape = self.prior.lambda_1 * np.log(ratio) if self.prior.lambda_1 else 0.0
            spread = float(np.log1p(self.spectrum.values / ratio).sum())
        return self._fit(ratio) + shape - 0.5 * spread

    def from_rows(self, ratio: float) -> bool:
        """Whether rows hold this maximum: the rates are less than a tenth of its conditions."""
        own, left = self.spectrum, 1.0 / (1.0 + self.spectrum.values / ratio)
        residual = own.outside + float(left**2 @ own.inner**2)
        freedom = float((1.0 - left).sum())
        lam = self.alpha(ratio) * ratio if self.prior.lambda_2 else 0.0
        return residual >= 20.0 * self.prior.alpha_2 and freedom >= 20.0 * self.prior.lambda_2 * lam

    def slope(self, ratio: Floats) -> Floats:
        """Derivative with respect to log ρ."""
        share = 1.0 / (1.0 + np.divide.outer(ratio, self.spectrum.values))  # s/(s + ρ)
        rise = 0.5 * ((share * (1.0 - share)) @ self.spectrum.inner**2)
        rise = rise + self.prior.lambda_2 * ratio
        found = 0.5 * share.sum(axis=1) - self._precision(ratio) * rise
        return np.asarray(self.prior.lambda_1 + found)

    def grid(self) -> Floats:
        """Ratios that span all scales: eigenvalues, noise against coefficients, and the rates."""
        own, prior = self.spectrum, self.prior
        half, everything = 0.5 * own.outside + prior.alpha_2, 0.5 * own.yy + prior.alpha_2
        slope = 0.5 * float((own.inner**2 / own.values).sum()) + prior.lambda_2
        least = own.values.min(initial=np.inf)
        shape = 0.5 * own.rank + prior.lambda_1
        if slope > 0.0 and shape > 0.0:
            least = min(least, shape * half / (max(self.count - shape, 0.5) * slope))
        most = own.values.max(initial=0.0)
        if prior.lambda_2:
            most = max(most, everything / prior.lambda_2)
        if not 0.0 < least < np.inf:
            least = 1e-8 * (most or 1.0)
        return np.geomspace(1e-4 * least, 1e6 * max(most, least), GRID)


class _KnownNoise(_Profile):
    """The same with a given noise precision."""

    def __init__(self, spectrum: EvidenceSpectrum, prior: Hyperprior, alpha: float) -> None:
        super().__init__(spectrum, prior)
        self.noise = alpha

    def _precision(self, ratio: Floats) -> Floats:
        return np.full(len(ratio), self.noise)

    def _fit(self, ratio: float) -> float:
        return float(-self.noise * self._rate(np.array([ratio]))[0])


def maximize(
    spectrum: EvidenceSpectrum, prior: Hyperprior, *, alpha: float | None = None
) -> Maximum:
    """The highest maximum; λ is infinite where the rows say nothing for any coefficient.

    With no more rows than columns the evidence grows without bound as the noise vanishes, and its
    rate alone holds that maximum: it is taken only where the rows hold no other. With ``alpha``
    the noise precision is given, and the prior's alone is sought.
    """
    profile = _Profile(spectrum, prior) if alpha is None else _KnownNoise(spectrum, prior, alpha)
    if alpha is None and not 0.5 * spectrum.yy + prior.alpha_2 > 0.0:
        raise InputError(
            "The target is constant, so that without alpha_2 > 0 the noise has no variance.",
            remedy="Use alpha_2=1e-6, or leave the model out.",
        )
    grid = profile.grid()
    slopes = profile.slope(grid)
    paths = [
        _root(profile, low, high)
        for (low, before), (high, after) in pairwise(zip(grid, slopes, strict=True))
        if before > 0.0 >= after
    ]
    if not prior.lambda_1 and not prior.lambda_2:
        paths.append([np.inf])
    if not paths:
        paths = [[np.inf]] if slopes[-1] > 0.0 else []
    if not paths:
        raise InputError(
            "The columns explain the target exactly, so that without alpha_2 > 0 the noise has "
            "no variance.",
            remedy="Use alpha_2=1e-6.",
        )
    best = max(paths, key=lambda path: (profile.from_rows(path[-1]), profile.value(path[-1])))
    alphas = [profile.alpha(ratio) for ratio in best]
    lams = [found * ratio for found, ratio in zip(alphas, best, strict=True)]
    return Maximum(alphas[-1], lams[-1], np.column_stack([alphas, lams]))


def _root(profile: _Profile, low: float, high: float) -> list[float]:
    """The ratio between these two at which the slope is zero: the last of some."""
    path: list[float] = []

    def slope(t: float) -> float:
        path.append(float(np.exp(t)))
        return float(profile.slope(np.array([np.exp(t)]))[0])

    a, b = float(np.log(low)), float(np.log(high))
    if not slope(a) > 0.0 > slope(b):
        return path
    found = optimize.brentq(slope, a, b, xtol=1e-14, rtol=1e-14)
    return [*path[2:], float(np.exp(found))]


def best_alphas(spectrum: EvidenceSpectrum, prior: Hyperprior, lambdas: Floats) -> Floats:
    """The noise precision that maximizes the evidence at every λ, by bisection on log α."""
    everything = 0.5 * spectrum.yy + prior.alpha_2
    count = 0.5 * spectrum.weight + prior.alpha_1
    floor = max(0.5 * spectrum.outside + prior.alpha_2, 1e-14 * everything)
    low = np.full(len(lambdas), np.log(max(count - 0.5 * spectrum.rank, 1e-3) / everything) - 2.0)
    high = np.full(len(lambdas), np.log(count / floor) + 2.0)
    for _ in range(80):
        middle = 0.5 * (low + high)
        alpha = np.exp(middle)
        gain = np.divide.outer(alpha / lambdas, 1.0 / spectrum.values)  # αs/λ
        left = 1.0 / (1.0 + gain)
        residual = spectrum.outside + left**2 @ spectrum.inner**2
        # ∂/∂log α of the evidence: n − γ − α‖y − Xb‖², at the posterior mean b
        slope = count - 0.5 * (gain * left).sum(axis=1) - alpha * (0.5 * residual + prior.alpha_2)
        low, high = np.where(slope > 0.0, middle, low), np.where(slope > 0.0, high, middle)
    return np.asarray(np.exp(0.5 * (low + high)))


@dataclass(frozen=True)
class EvidenceCurve:
    """Log evidence over the precision of the prior, from one decomposition.

        λ ↦ log N(y; 0, α⁻¹I + λ⁻¹XXᵀ),    α the best for each λ, or given

    Logarithms of hyperpriors are added where there are any, without their constants.

    Parameters
    ----------
    lambdas : ndarray of shape (m,)
        Precisions λ of the prior.
    alphas : ndarray of shape (m,)
        Noise precision α at each.
    log_evidence : ndarray of shape (m,)
        The log evidence at each.
    best_lambda : float
        The λ of the highest evidence, found on all λ and not on these alone.
    best_alpha : float
        Its α.
    best_log_evidence : float
        The log evidence there.

    See Also
    --------
    BayesianRidge : its ``evidence_curve`` returns one.

    References
    ----------
    D. J. C. MacKay, Bayesian interpolation, Neural Computation 4, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((50, 3))
    >>> y = x @ [1.0, 2.0, 0.0] + rng.standard_normal(50)
    >>> curve = sx.BayesianRidge().fit(x, y).evidence_curve()
    >>> bool(curve.best_log_evidence >= curve.log_evidence.max())
    True
    """

    lambdas: Floats
    alphas: Floats
    log_evidence: Floats
    best_lambda: float
    best_alpha: float
    best_log_evidence: float
