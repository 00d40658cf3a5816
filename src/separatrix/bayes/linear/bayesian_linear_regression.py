"""Bayesian linear regression with a given prior and noise: every answer in closed form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.bayes.linear import spectrum
from separatrix.bayes.linear.base import BayesianLinearModel
from separatrix.bayes.linear.certificate import digits
from separatrix.bayes.linear.evidence import log_evidence
from separatrix.bayes.linear.posterior import Posterior
from separatrix.bayes.linear.prior import NormalPrior
from separatrix.bayes.linear.spectrum import Columns, EvidenceSpectrum
from separatrix.estimators.additive import TrainingData
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Block, Floats
from separatrix.statistics.moments import Moments

TOLERANCE = 1e-8


class BayesianLinearRegression(BayesianLinearModel):
    """Bayesian linear regression with a given prior and noise.

        y = a + b·x + ε,    ε ~ N(0, σ²),    b ~ N(m₀, λ⁻¹I) or N(m₀, S₀)
        b | y ~ N(m, Σ),    Σ = (S₀⁻¹ + XᵀX/σ²)⁻¹,    m = Σ (S₀⁻¹m₀ + Xᵀy/σ²)
        y ~ N(Xm₀, σ²I + X S₀ Xᵀ)

    The intercept has a flat prior: X and y are centered, and predictions count the variance σ²/n
    of the mean. Without one (``fit_intercept=False``) the formulas hold as they stand.

    Parameters
    ----------
    prior_precision : float, array of shape (d,) or (d, d), default=1.0
        λ, one for each column, or the inverse of S₀.
    noise_variance : float, default=1.0
        σ², the variance of the target about a + b·x.
    prior_mean : float or array of shape (d,) or None, default=None
        m₀; None for zeros.
    prior_covariance : array of shape (d, d) or None, default=None
        S₀, in place of ``prior_precision``; it may be singular.
    fit_intercept : bool, default=True
        Whether the model has an intercept a.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Posterior mean m of the coefficients.
    intercept_ : float
        Posterior mean of the intercept.
    alpha_ : float
        Precision 1/σ² of the noise.
    sigma_ : ndarray of shape (d, d)
        Posterior covariance Σ of the coefficients, computed when asked for.
    log_evidence_ : float
        log N(y; Xm₀, σ²I + XS₀Xᵀ), the log marginal likelihood; of the centered target and
        columns where there is an intercept, which is estimated there as in BayesianRidge.
    r_squared_ : float
        R² of the posterior mean on the training rows.
    n_rows_ : float
        Number of rows, the sum of their weights.
    posterior_ : Posterior
        The posterior as a factor.
    X_offset_ : ndarray of shape (d,)
        Means of the columns, or zeros without an intercept.
    X_scale_ : ndarray of shape (d,)
        Ones.
    n_iter_ : int
        1.
    certificate_ : Certificate
        The gradient of the log posterior at m, and its correct digits.
    moments_ : Moments or None
        Moments of the training rows, to which ``partial_fit`` adds.

    See Also
    --------
    BayesianRidge : Noise and prior learned.
    ARDRegression : Noise and a precision for each column learned.

    References
    ----------
    Bishop, Pattern Recognition and Machine Learning, chapter 3, 2006.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.BayesianLinearRegression(1.0, 1.0, fit_intercept=False)
    >>> model = model.fit([[1.0], [2.0]], [1.0, 2.0])
    >>> model.coef_.round(4), model.sigma_.round(4)
    (array([0.8333]), array([[0.1667]]))
    """

    def __init__(
        self,
        prior_precision: Any = 1.0,
        noise_variance: float = 1.0,
        *,
        prior_mean: Any = None,
        prior_covariance: Any = None,
        fit_intercept: bool = True,
    ) -> None:
        self.prior_precision = prior_precision
        self.noise_variance = noise_variance
        self.prior_mean = prior_mean
        self.prior_covariance = prior_covariance
        self.fit_intercept = fit_intercept

    def _infer(self, data: TrainingData) -> Solution:
        variance = float(self.noise_variance)
        if not 0.0 < variance < np.inf:
            raise InputError(f"noise_variance={self.noise_variance!r} must be above 0.")
        source = data.block or data.source
        plain = Columns.of(source, fit_intercept=bool(self.fit_intercept), standardize=False)
        prior = self._prior(len(plain.mean))
        own, u = self._decompose(source, prior, variance)
        self.alpha_ = 1.0 / variance
        self.log_evidence_ = log_evidence(own, self.alpha_, 1.0)
        coef = prior.mean + prior.times(u)
        self.posterior_ = self._factor(own, plain, prior)
        self._place(plain.mean)
        certificate = self._certify(source, plain, prior, coef, own)
        intercept = plain.y_mean - float(plain.mean @ coef)
        return Solution(coef[:, None], np.array([intercept]), certificate)

    def _prior(self, d: int) -> NormalPrior:
        return NormalPrior.of(d, self.prior_precision, self.prior_mean, self.prior_covariance)

    def _decompose(
        self, source: Moments | Block, prior: NormalPrior, variance: float, *, store: bool = False
    ) -> tuple[EvidenceSpectrum, Floats]:
        """The spectrum in the columns of the standard prior, and the posterior mean of u."""
        changed = prior.transformed(source)
        columns = Columns.of(changed, fit_intercept=bool(self.fit_intercept), standardize=False)
        if prior.diagonal:
            columns = replace(columns, scale=columns.scale * prior.root)
        if isinstance(changed, Block):
            rows = spectrum.from_rows(changed, columns, store=store)
            return rows.spectrum, rows.coef(variance)
        m = changed if self.fit_intercept else changed.about_origin()
        own = spectrum.from_moments(m, columns)
        return own, own.coef(variance)

    def _factor(
        self, own: EvidenceSpectrum, columns: Columns, prior: NormalPrior
    ) -> Posterior | None:
        """Σ = L (I + LᵀXᵀXL/σ²)⁻¹ Lᵀ."""
        d, directions = len(columns.mean), own.directions
        if directions is None:
            return None
        variances = 1.0 / (1.0 + self.alpha_ * own.values)
        middle = 1.0 / (self.alpha_ * columns.weight) if self.fit_intercept else 0.0
        if prior.diagonal:
            rest = 0.0 if own.rank == d else 1.0
            return Posterior(columns.mean, prior.root, directions, variances, rest, middle)
        free = linalg.null_space(directions.T) if own.rank < d else np.zeros((d, 0))
        every = prior.root @ np.hstack([directions, free])
        variances = np.append(variances, np.ones(free.shape[1]))
        return Posterior(columns.mean, np.ones(d), every, variances, 0.0, middle)

    def _rebuilt(self, block: Block) -> Posterior | None:
        plain = Columns.of(block, fit_intercept=bool(self.fit_intercept), standardize=False)
        prior = self._prior(len(plain.mean))
        own, _ = self._decompose(block, prior, 1.0 / self.alpha_, store=True)
        return self._factor(own, plain, prior)

    def _certify(
        self,
        source: Moments | Block,
        columns: Columns,
        prior: NormalPrior,
        coef: Floats,
        own: EvidenceSpectrum,
    ) -> Certificate:
        """m − m₀ = S₀ Xᵀ(y − Xm)/σ² at the coefficients returned, by plain products."""
        if isinstance(source, Block):
            w = source.weights
            left = source.y[:, 0] - columns.y_mean - (source.x @ coef - columns.mean @ coef)
            residual = float(w @ left**2)
            pull = source.x.T @ (w * left) - columns.mean * float(w @ left)
        else:
            m = source if self.fit_intercept else source.about_origin()
            pull = m.xy[:, 0] - m.xx @ coef
            residual = max(float(m.yy[0, 0] - coef @ m.xy[:, 0] - coef @ pull), 0.0)
        self.r_squared_ = 1.0 - residual / columns.yy if columns.yy else 0.0
        step = prior.times(prior.transposed_times(pull)) * self.alpha_
        moved = coef - prior.mean
        most, least = own.values.max(initial=0.0), own.values.min(initial=np.inf)
        least = least if own.rank == len(coef) else 0.0
        # in prior standard deviations; rounding of the residual is magnified by 1 + s/σ² at most
        deviation = np.sqrt(prior.root**2 if prior.diagonal else (prior.root**2).sum(axis=1))
        unit = np.where(deviation > 0.0, deviation, 1.0) * (1.0 + self.alpha_ * most)
        strength = max(1.0, float(np.sqrt(self.alpha_ * own.yy)))
        return Certificate(
            claim="Closed form: the posterior of these rows under the given prior and noise",
            primal=0.5 * self.alpha_ * residual + 0.5 * prior.distance(moved),
            kkt=float(np.max(np.abs(moved - step) / unit, initial=0.0)) / strength,
            tolerance=TOLERANCE,
            rank=own.rank,
            digits=digits((1.0 + self.alpha_ * most) / (1.0 + self.alpha_ * least)),
            statistic="the rows" if isinstance(source, Block) else "moments",
            promised=("kkt",),
        )
