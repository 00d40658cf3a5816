"""Bayesian linear regression: the prior given, or learned by evidence maximization."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, stats
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats
from separatrix.bayes import evidence
from separatrix.bayes.evidence import log_evidence
from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.estimators import base
from separatrix.estimators.base import MomentEstimator, TrainingData, one_number
from separatrix.estimators.inference import CoefficientTable, Diagnostics
from separatrix.formula import nodes
from separatrix.messages import InputError, check_option, warn
from separatrix.mixins import RegressorMixin
from separatrix.optimize.convex import Certificate, Solution
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import Block, to_array
from separatrix.statistics.moments import Moments
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# What the Bayesian linear models share: predictions with their distribution, and the posterior.


@dataclass(frozen=True, repr=False)
class PosteriorTable(CoefficientTable):
    """Posterior means and standard deviations of the coefficients, with credible intervals.

    ``p_values`` are twice the posterior probability of the other sign.
    """

    letter: ClassVar[str] = "z"

    noise: float
    log_evidence: float
    r_squared: float
    certificate: str

    def diagnostics(self) -> Diagnostics:
        """R² of the posterior mean, and the standard deviation of the noise."""
        return Diagnostics(self.r_squared, self.noise)

    def fit_lines(self) -> list[str]:
        """Quality of the fit, and its certificate."""
        return [
            f"R² {self.r_squared:.6g}, noise {self.noise:.6g}, "
            f"log evidence {self.log_evidence:.6g}",
            self.certificate,
        ]


TOO_LARGE = "Intervals are not part of the export: the posterior is too large."


class BayesianLinearModel(RegressorMixin, MomentEstimator):
    """A linear model with a normal posterior: y | x ~ N(a + m·x, α⁻¹ + (x − x̄)ᵀΣ(x − x̄))."""

    partial_fit = base.partial_fit

    _keeps_float32 = True
    _column_is_vector = True
    fit_intercept: bool
    alpha_: float
    posterior_: evidence.Posterior | None
    log_evidence_: float
    r_squared_: float
    n_rows_: float
    X_offset_: Floats
    X_scale_: Floats

    @abstractmethod
    def _infer(self, data: TrainingData) -> Solution:
        """Posterior, precisions and evidence, from moments or rows of one target."""

    @abstractmethod
    def _rebuilt(self, block: Block) -> evidence.Posterior | None:
        """The posterior from the training rows, however many numbers it has."""

    def _solve(self, data: TrainingData) -> Solution:
        one_number(data.source.targets)
        source = data.block or data.source
        self.n_rows_ = float(source.weight)
        if not self.n_rows_ > 0.0:
            raise InputError("There are no rows to fit.", remedy="Give rows of positive weight.")
        return self._infer(data)

    def _place(self, mean: Floats) -> None:
        """Set scikit-learn's names of what is subtracted from the columns."""
        self.X_offset_, self.X_scale_ = mean, np.ones(len(mean))

    def _posterior(self) -> evidence.Posterior:
        """The posterior, made from the training rows where it was too large to be stored."""
        check_is_fitted(self)
        if self.posterior_ is not None:
            return self.posterior_
        if self._rows is None:
            raise InputError(
                "The posterior of this many columns is not stored with the model, and its training "
                "rows are gone.",
                remedy="Fit again for standard deviations; predict needs no rows.",
            )
        posterior = self._rebuilt(self._rows.collect())
        assert posterior is not None
        return posterior

    @property
    @on_one_blas_thread
    def sigma_(self) -> Floats:
        """Covariance matrix Σ (d x d) of the coefficients, computed when asked for."""
        return self._posterior().covariance.astype(self.coef_.dtype, copy=False)

    @on_one_blas_thread
    def predict(self, X: Any, return_std: bool = False, *, return_cov: bool = False) -> Any:
        """Mean of every row's target; with its standard deviation, or the covariance of all."""
        mean = super().predict(X)
        if return_cov:
            covariance = self._posterior().covariance_of(self._design(X))
            covariance[np.diag_indices_from(covariance)] += 1.0 / self.alpha_
            return mean, covariance
        if not return_std:
            return mean
        return mean, self.predictive(X).scale.astype(self.coef_.dtype, copy=False)

    @on_one_blas_thread
    def predictive(self, X: Any, *, include_noise: bool = True) -> PredictiveDistribution:
        """Distribution of the target of new rows, or of a + b·x without the noise."""
        variance = self._posterior().variance_of(self._design(X))
        if include_noise:
            variance = variance + 1.0 / self.alpha_
        mean = np.asarray(super().predict(X), dtype=float)
        return PredictiveDistribution(mean, np.sqrt(variance))

    @on_one_blas_thread
    def predict_interval(self, X: Any, *, level: float = 0.95, kind: str = "prediction") -> Floats:
        """Central intervals (n x 2) of the target ("prediction") or of a + b·x ("confidence")."""
        check_option("kind", kind, ("prediction", "confidence"))
        return self.predictive(X, include_noise=kind == "prediction").interval(level)

    @on_one_blas_thread
    def sample_posterior(
        self, n_samples: int = 1, random_state: Any = None
    ) -> tuple[Floats, Floats]:
        """Draws of the coefficients (n_samples x d) and of the intercept (n_samples)."""
        rng, posterior = np.random.default_rng(random_state), self._posterior()
        coefs = self.coef_ + posterior.draws(int(n_samples), rng)
        middle = self.intercept_ + float(self.X_offset_ @ self.coef_)
        noise = np.sqrt(posterior.intercept_variance) * rng.standard_normal(int(n_samples))
        return coefs, middle - coefs @ self.X_offset_ + noise

    def summary(self, *, level: float = 0.95) -> PosteriorTable:  # type: ignore[override]
        """Posterior means, standard deviations and credible intervals of the coefficients."""
        posterior = self._posterior()
        errors = np.sqrt(posterior.column_variances)
        names, estimates = tuple(self.encoding_.names), np.asarray(self.coef_, dtype=float)
        if self.fit_intercept:
            # under a flat prior the mean of the target has the variance 1/(α n)
            at_zero = (
                posterior.variance_of(np.zeros((1, len(errors)))) - posterior.intercept_variance
            )
            at_zero = at_zero + 1.0 / (self.alpha_ * self.n_rows_)
            names, estimates = ("intercept", *names), np.append(self.intercept_, estimates)
            errors = np.append(np.sqrt(at_zero), errors)
        return PosteriorTable(
            names,
            estimates,
            errors,
            stats.norm,
            level,
            noise=float(1.0 / np.sqrt(self.alpha_)),
            log_evidence=self.log_evidence_,
            r_squared=self.r_squared_,
            certificate=str(self.certificate_),
        )

    def formula(self) -> nodes.NumberFormula:
        """coef·x + intercept, and the deviation of the target: noise and posterior."""
        posterior, flat = self.posterior_, np.ndim(self.coef_) == 1
        mean = nodes.hyperplanes(self)
        if posterior is None:
            return nodes.regression(mean, self, flat=flat, notes=(TOO_LARGE,))
        u = nodes.Standardization(mean.x, posterior.center, posterior.scale)
        added = float(posterior.intercept_variance) + 1.0 / float(self.alpha_)
        deviation = nodes.PosteriorDeviation(
            u,
            posterior.directions,
            posterior.variances,
            float(posterior.rest),
            added,
            names=("standard deviation",),
        )
        return nodes.regression(mean, self, flat=flat, deviation=deviation)


# -------------------------------------------------------------------------------------------------
# Bayesian ridge regression: noise and prior learned by evidence maximization.


EXACT = "The columns fit the target so closely that the rate alpha_2 decides the noise."


@declare_parameters
class BayesianRidge(BayesianLinearModel):
    """Bayesian ridge regression, noise and prior learned by evidence maximization.

        y = a + b·x + ε,    ε ~ N(0, α⁻¹),    b ~ N(0, λ⁻¹I)
        (α, λ) = argmax log N(y; 0, α⁻¹I + λ⁻¹XXᵀ) + log Gamma(α) + log Gamma(λ)

    One decomposition of the moments gives posterior and evidence for every α and λ; the maximum
    over both is that of one function of λ/α, found to rounding: iterations that stop early do not
    end higher. The intercept is estimated and has no distribution. A weight of w is w equal rows.

    Parameters
    ----------
    max_iter : int, default=300
        Ignored; accepted for scikit-learn compatibility.
    tol : float, default=1e-3
        Accepted for compatibility with scikit-learn; the maximum is found to rounding.
    alpha_1 : float, default=1e-6
    alpha_2 : float, default=1e-6
    lambda_1 : float, default=1e-6
    lambda_2 : float, default=1e-6
    alpha_init : float or None, default=None
        The α of the first of ``scores_``; None for one over the variance of the target.
    lambda_init : float or None, default=None
        The λ of the first of ``scores_``; None for 1.
    compute_score : bool, default=False
        Whether ``scores_`` are computed.
    fit_intercept : bool, default=True
    copy_X : bool, default=True
    verbose : bool, default=False
    standardize : bool, default=False
        Whether the prior is on the coefficients of standardized columns, with rates in units of
        the target's variance: then nothing depends on units.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Posterior mean of the coefficients b.
    intercept_ : float
    alpha_ : float
        Precision α of the noise.
    lambda_ : float
        Precision λ of the coefficients (of standardized columns with ``standardize``); infinite
        where the evidence is highest without any coefficient.
    sigma_ : ndarray of shape (d, d)
        Posterior covariance of the coefficients, computed when asked for.
    log_evidence_ : float
        log N(y; 0, α⁻¹I + λ⁻¹XXᵀ) of the centered target, all constants included.
    scores_ : ndarray of shape (n_iter_ + 1,)
        With ``compute_score``, log evidence plus log hyperpriors at the start and at every step.
    n_iter_ : int
        Number of steps to the maximum.
    r_squared_ : float
    n_rows_ : float
    spectrum_ : EvidenceSpectrum
        The decomposition, from which ``evidence_curve`` is drawn.
    posterior_ : Posterior or None
        The posterior as a factor; None where it has too many numbers to be stored.
    X_offset_ : ndarray of shape (d,)
    X_scale_ : ndarray of shape (d,)
    certificate_ : Certificate
        Derivatives of the evidence at α and λ, computed by separate code.
    moments_ : Moments or None

    See Also
    --------
    ARDRegression : A precision for every column.
    BayesianLinearRegression : Noise and prior given.
    Ridge : The same coefficients at α = λ_/alpha_, without a distribution.

    References
    ----------
    MacKay, Bayesian interpolation, Neural Computation 4, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((200, 3))
    >>> y = x @ [1.0, -2.0, 0.0] + 0.5 * rng.standard_normal(200)
    >>> model = sx.BayesianRidge().fit(x, y)
    >>> mean, std = model.predict([[1.0, 0.0, 0.0]], return_std=True)
    >>> mean.round(1), std.round(1)
    (array([0.9]), array([0.5]))
    """

    _: KW_ONLY
    max_iter: int = 300
    tol: float = 1e-3
    alpha_1: float = 1e-6
    alpha_2: float = 1e-6
    lambda_1: float = 1e-6
    lambda_2: float = 1e-6
    alpha_init: float | None = None
    lambda_init: float | None = None
    compute_score: bool = False
    fit_intercept: bool = True
    copy_X: bool = True
    verbose: bool = False
    standardize: bool = False

    def _infer(self, data: TrainingData) -> Solution:
        start = starting_precision(self, "alpha_init"), starting_precision(self, "lambda_init")
        columns = self._columns(data.block or data.source)
        prior = self._hyperprior(columns.variance)
        decomposition, coef_at = self._decompose(data, columns)
        best = evidence.maximize(decomposition, prior)
        coef = (
            coef_at(best.lam / best.alpha)
            if np.isfinite(best.lam)
            else np.zeros(decomposition.columns)
        )
        self.alpha_, self.lambda_, self.spectrum_ = best.alpha, best.lam, decomposition
        self.log_evidence_ = evidence.log_evidence(decomposition, best.alpha, best.lam)
        first = (start[0] or 1.0 / (_variance(data) + evidence.EPS), start[1] or 1.0)
        steps = [first, *best.steps] if self.compute_score else []
        self.scores_ = np.array([self._score(prior, *map(float, step)) for step in steps])
        self.posterior_ = self._factor(decomposition, columns)
        self._place(columns.mean)
        certificate = self._certify(data, columns, prior, coef)
        self._warn_of_rates(prior)
        coef = coef * columns.scale
        intercept = columns.y_mean - float(columns.mean @ coef)
        return Solution(
            coef[:, None], np.array([intercept]), certificate, iterations=len(best.steps)
        )

    def _hyperprior(self, variance: float) -> evidence.Hyperprior:
        """Shapes and rates; the latter in units of the target's variance if standardized."""
        given = hyperprior_of(self)
        return given.in_units(variance or 1.0) if self.standardize else given

    def _columns(self, source: Any) -> evidence.ColumnScaling:
        return evidence.ColumnScaling.of(
            source, fit_intercept=bool(self.fit_intercept), standardize=bool(self.standardize)
        )

    def _decompose(
        self, data: TrainingData, columns: evidence.ColumnScaling
    ) -> tuple[evidence.EvidenceSpectrum, Any]:
        """The spectrum, and the coefficients of columns times their scale at any λ/α."""
        if data.block is not None:
            rows = evidence.from_rows(data.block, columns)
            return rows.spectrum, rows.coef
        assert data.moments is not None
        m = data.moments if self.fit_intercept else data.moments.about_origin()
        decomposed = evidence.from_moments(m, columns)
        return decomposed, partial(evidence.coef_from_moments, m, columns, decomposed)

    def _factor(
        self, evidence_spectrum: evidence.EvidenceSpectrum, columns: evidence.ColumnScaling
    ) -> evidence.Posterior | None:
        """The posterior at the precisions that were found."""
        d = evidence_spectrum.columns
        if not np.isfinite(self.lambda_):
            return evidence.Posterior(columns.mean, np.zeros(d), np.zeros((d, 0)), np.zeros(0))
        if evidence_spectrum.directions is None:
            return None
        variances = 1.0 / (self.lambda_ + self.alpha_ * evidence_spectrum.values)
        rest = 0.0 if evidence_spectrum.rank == d else 1.0 / self.lambda_
        scale = columns.scale if self.standardize else np.ones(d)
        return evidence.Posterior(
            columns.mean, scale, evidence_spectrum.directions, variances, rest
        )

    def _rebuilt(self, block: Block) -> evidence.Posterior | None:
        columns = self._columns(block)
        return self._factor(evidence.from_rows(block, columns, store=True).spectrum, columns)

    def _score(self, prior: evidence.Hyperprior, alpha: float, lam: float) -> float:
        value = evidence.log_evidence(self.spectrum_, alpha, lam)
        return value + evidence.log_hyperprior(prior, alpha, lam)

    def _certify(
        self,
        data: TrainingData,
        columns: evidence.ColumnScaling,
        prior: evidence.Hyperprior,
        coef: Floats,
    ) -> Certificate:
        """Derivatives by code that shares nothing with the search."""
        alpha, lam, block = self.alpha_, self.lambda_, data.block
        if not np.isfinite(lam):
            recomputed = evidence.Recomputed(columns.yy, None, 0.0, 1.0)
        elif block is not None:
            recomputed = evidence.recompute_rows(block, columns, coef, alpha, lam)
        else:
            assert data.moments is not None
            m = data.moments if self.fit_intercept else data.moments.about_origin()
            recomputed = evidence.recompute_moments(m, columns, coef, alpha, np.full(m.d, lam))
        self.r_squared_ = 1.0 - recomputed.residual / columns.yy if columns.yy else 0.0
        notes = (EXACT,) if recomputed.residual <= 2.0 * prior.alpha_2 and columns.yy else ()
        return evidence.certify(
            recomputed,
            prior,
            columns,
            coef,
            alpha,
            lam,
            rank=self.spectrum_.rank,
            statistic="moments" if block is None else "the rows",
            notes=notes,
        )

    def _warn_of_rates(self, prior: evidence.Hyperprior) -> None:
        """Warn where the rates, which have units, decide the answer and not the rows."""
        spectrum = self.spectrum_
        if self.standardize or spectrum.exact or not (prior.alpha_2 or prior.lambda_2):
            return
        # Share of the conditions of the maximum that moves nothing by as much as is felt.
        if evidence.rates_are_small(spectrum, prior, self.lambda_ / self.alpha_, 1e-4):
            return
        free = evidence.maximize(spectrum, prior._replace(alpha_2=0.0, lambda_2=0.0))
        ratios = np.array([self.lambda_ / self.alpha_, free.lam / free.alpha])
        fits = 1.0 / (1.0 + np.divide.outer(ratios, spectrum.values))
        moved = np.sqrt(((fits[0] - fits[1]) ** 2 @ spectrum.inner**2) / spectrum.yy)
        noise = np.sqrt(free.alpha / self.alpha_)
        # Change of the fitted values by the rates, in standard deviations of the target, worth a
        # warning.
        felt = 1e-2
        if moved > felt or abs(np.log(noise)) > felt:
            warn(
                "SEP019",
                f"the rates alpha_2={self.alpha_2:g} and lambda_2={self.lambda_2:g} have units. In "
                "those of this table they multiply the standard deviation of the noise by "
                f"{noise:.3g} and move the fitted values by {100 * moved:.1f} % of the target's "
                "deviation. Use standardize=True, or rates of 0.",
            )

    def evidence_curve(
        self, lambdas: Any = None, *, alpha: float | None = None
    ) -> evidence.EvidenceCurve:
        """Log evidence over λ from the one decomposition, with its highest point.

        ``lambdas`` None places 201 around the maximum. At every λ the noise precision is the best
        one, or ``alpha`` where that is given. Hyperpriors count, as in ``scores_``.
        """
        check_is_fitted(self)
        if alpha is not None and not 0.0 < alpha < np.inf:
            raise InputError(f"alpha={alpha!r} must be a precision above 0.")
        spectrum = self.spectrum_
        prior = self._hyperprior(spectrum.yy / spectrum.weight)
        best = evidence.maximize(spectrum, prior, alpha=alpha)
        if lambdas is None:
            middle = (
                best.lam
                if np.isfinite(best.lam)
                else best.alpha * max(spectrum.values, default=1.0)
            )
            lambdas = middle * np.geomspace(1e-5, 1e5, 201)
        given = np.atleast_1d(np.asarray(lambdas, dtype=float))
        if given.ndim != 1 or not (np.isfinite(given) & (given > 0.0)).all():
            raise InputError("lambdas must be precisions above 0.")
        if alpha is None:
            alphas = evidence.best_alphas(spectrum, prior, given)
        else:
            alphas = np.full(len(given), float(alpha))
        values = [self._score(prior, a, b) for a, b in zip(alphas, given, strict=True)]
        highest = self._score(prior, best.alpha, best.lam)
        return evidence.EvidenceCurve(
            given, alphas, np.array(values), best.lam, best.alpha, highest
        )


def _variance(data: TrainingData) -> float:
    """Variance of the target about its mean, whether or not there is an intercept."""
    if data.moments is not None:
        return float(data.moments.yy[0, 0] / data.moments.weight)
    assert data.block is not None
    return evidence.ColumnScaling.of(data.block, fit_intercept=True, standardize=False).variance


# -------------------------------------------------------------------------------------------------
# Bayesian linear regression with a given prior and noise: every answer in closed form.


@declare_parameters
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
    n_rows_ : float
    posterior_ : Posterior
        The posterior as a factor.
    X_offset_ : ndarray of shape (d,)
    X_scale_ : ndarray of shape (d,)
    n_iter_ : int
        1.
    certificate_ : Certificate
        The gradient of the log posterior at m, and its correct digits.
    moments_ : Moments or None

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

    prior_precision: Any = 1.0
    noise_variance: float = 1.0
    _: KW_ONLY
    prior_mean: Any = None
    prior_covariance: Any = None
    fit_intercept: bool = True

    def _infer(self, data: TrainingData) -> Solution:
        variance = float(self.noise_variance)
        if not 0.0 < variance < np.inf:
            raise InputError(f"noise_variance={self.noise_variance!r} must be above 0.")
        source = data.block or data.source
        plain = evidence.ColumnScaling.of(
            source, fit_intercept=bool(self.fit_intercept), standardize=False
        )
        prior = self._prior(len(plain.mean))
        decomposition, u = self._decompose(source, prior, variance)
        self.alpha_ = 1.0 / variance
        self.log_evidence_ = log_evidence(decomposition, self.alpha_, 1.0)
        coef = prior.mean + prior.times(u)
        self.posterior_ = self._factor(decomposition, plain, prior)
        self._place(plain.mean)
        certificate = self._certify(source, plain, prior, coef, decomposition)
        intercept = plain.y_mean - float(plain.mean @ coef)
        return Solution(coef[:, None], np.array([intercept]), certificate)

    def _prior(self, d: int) -> NormalPrior:
        return NormalPrior.of(d, self.prior_precision, self.prior_mean, self.prior_covariance)

    def _decompose(
        self, source: Moments | Block, prior: NormalPrior, variance: float, *, store: bool = False
    ) -> tuple[evidence.EvidenceSpectrum, Floats]:
        """The spectrum in the columns of the standard prior, and the posterior mean of u."""
        changed = prior.transform_source(source)
        columns = evidence.ColumnScaling.of(
            changed, fit_intercept=bool(self.fit_intercept), standardize=False
        )
        if prior.diagonal:
            columns = replace(columns, scale=columns.scale * prior.root)
        if isinstance(changed, Block):
            rows = evidence.from_rows(changed, columns, store=store)
            return rows.spectrum, rows.coef(variance)
        m = changed if self.fit_intercept else changed.about_origin()
        decomposed = evidence.from_moments(m, columns)
        return decomposed, decomposed.coef(variance)

    def _factor(
        self,
        evidence_spectrum: evidence.EvidenceSpectrum,
        columns: evidence.ColumnScaling,
        prior: NormalPrior,
    ) -> evidence.Posterior | None:
        """Σ = L (I + LᵀXᵀXL/σ²)⁻¹ Lᵀ."""
        d, directions = len(columns.mean), evidence_spectrum.directions
        if directions is None:
            return None
        variances = 1.0 / (1.0 + self.alpha_ * evidence_spectrum.values)
        middle = 1.0 / (self.alpha_ * columns.weight) if self.fit_intercept else 0.0
        if prior.diagonal:
            rest = 0.0 if evidence_spectrum.rank == d else 1.0
            return evidence.Posterior(columns.mean, prior.root, directions, variances, rest, middle)
        free = linalg.null_space(directions.T) if evidence_spectrum.rank < d else np.zeros((d, 0))
        every = prior.root @ np.hstack([directions, free])
        variances = np.append(variances, np.ones(free.shape[1]))
        return evidence.Posterior(columns.mean, np.ones(d), every, variances, 0.0, middle)

    def _rebuilt(self, block: Block) -> evidence.Posterior | None:
        plain = evidence.ColumnScaling.of(
            block, fit_intercept=bool(self.fit_intercept), standardize=False
        )
        prior = self._prior(len(plain.mean))
        decomposition, _ = self._decompose(block, prior, 1.0 / self.alpha_, store=True)
        return self._factor(decomposition, plain, prior)

    def _certify(
        self,
        source: Moments | Block,
        columns: evidence.ColumnScaling,
        prior: NormalPrior,
        coef: Floats,
        evidence_spectrum: evidence.EvidenceSpectrum,
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
        most, least = (
            evidence_spectrum.values.max(initial=0.0),
            evidence_spectrum.values.min(initial=np.inf),
        )
        least = least if evidence_spectrum.rank == len(coef) else 0.0
        # in prior standard deviations; rounding of the residual is magnified by 1 + s/σ² at most
        deviation = np.sqrt(prior.root**2 if prior.diagonal else (prior.root**2).sum(axis=1))
        unit = np.where(deviation > 0.0, deviation, 1.0) * (1.0 + self.alpha_ * most)
        strength = max(1.0, float(np.sqrt(self.alpha_ * evidence_spectrum.yy)))
        # Relative gap that the certificate promises.
        return Certificate(
            claim="Closed form: the posterior of these rows under the given prior and noise",
            primal=0.5 * self.alpha_ * residual + 0.5 * prior.distance(moved),
            kkt=float(np.max(np.abs(moved - step) / unit, initial=0.0)) / strength,
            tolerance=1e-8,
            rank=evidence_spectrum.rank,
            digits=evidence.digits((1.0 + self.alpha_ * most) / (1.0 + self.alpha_ * least)),
            statistic="the rows" if isinstance(source, Block) else "moments",
            promised=("kkt",),
        )


# -------------------------------------------------------------------------------------------------
# A normal prior of the coefficients, and the columns in which it is the standard one.
#
# b = m₀ + L u,    u ~ N(0, I),    LLᵀ = S₀    ⇒    y − X m₀ = (X L) u + ε


@dataclass(frozen=True)
class NormalPrior:
    """Mean m₀ (d) and a root L of the covariance: a vector for a diagonal one, or d x d."""

    mean: Floats
    root: Floats

    @classmethod
    def of(cls, d: int, precision: Any, mean: Any, covariance: Any) -> NormalPrior:
        """From a precision (a number, one for each column, or a matrix), or a covariance matrix."""
        center = np.zeros(d) if mean is None else np.asarray(mean, dtype=float)
        if center.ndim == 0:
            center = np.full(d, float(center))
        if center.shape != (d,) or not np.isfinite(center).all():
            raise InputError(f"prior_mean must hold one number for each of {d} columns.")
        if covariance is not None:
            return cls(center, _root(np.asarray(covariance, dtype=float), d, "prior_covariance"))
        given = np.asarray(precision, dtype=float)
        if given.ndim < 2:
            if given.shape not in ((), (d,)) or not (np.isfinite(given) & (given > 0.0)).all():
                raise InputError(
                    f"prior_precision={precision!r} must be a number above 0, one for each of {d} "
                    "columns, or a matrix."
                )
            return cls(center, np.broadcast_to(1.0 / np.sqrt(given), (d,)).copy())
        _check(given, d, "prior_precision")
        try:
            factor = linalg.cholesky(given, lower=True)
        except linalg.LinAlgError as error:
            raise InputError("prior_precision is not positive definite.") from error
        return cls(center, linalg.solve_triangular(factor, np.eye(d), lower=True).T)

    @property
    def diagonal(self) -> bool:
        """Whether L is a vector."""
        return self.root.ndim == 1

    def times(self, u: Floats) -> Floats:
        """L u."""
        return np.asarray(self.root * u if self.diagonal else self.root @ u)

    def transposed_times(self, b: Floats) -> Floats:
        """Lᵀ b."""
        return np.asarray(self.root * b if self.diagonal else self.root.T @ b)

    def distance(self, b: Floats) -> float:
        """bᵀ S₀⁻¹ b for b within the span of the prior."""
        if self.diagonal:
            return float(((b / self.root) ** 2).sum())
        u = np.linalg.lstsq(self.root, b, rcond=None)[0]
        return float(u @ u)

    def transform_source(self, source: Moments | Block) -> Moments | Block:
        """X, or XL where L is a matrix, and y − Xm₀."""
        if not self.mean.any() and self.diagonal:
            return source
        if isinstance(source, Block):
            y = source.y - np.asarray(source.x @ self.mean)[:, None]
            x = source.x if self.diagonal else to_array(source.x) @ self.root
            return replace(source, x=x, y=y)
        d = source.d
        change = np.eye(d + 1)
        change[:d, d] = -self.mean
        if not self.diagonal:
            change[:d, :d] = self.root
        scatter = change.T @ source.scatter @ change
        scatter, mean = (scatter + scatter.T) / 2.0, change.T @ source.mean
        return Moments(source.terms, source.targets, source.count, source.weight, mean, scatter)


def _check(matrix: Floats, d: int, name: str) -> None:
    if matrix.shape != (d, d) or not np.isfinite(matrix).all():
        raise InputError(f"{name} must be a matrix of {d} x {d} numbers.")
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12 * np.abs(matrix).max(initial=0.0)):
        raise InputError(f"{name} is not symmetric.")


def _root(covariance: Floats, d: int, name: str) -> Floats:
    """L of S₀ = LLᵀ; a coefficient without variance stays at its mean."""
    _check(covariance, d, name)
    diagonal = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    unit = np.where(diagonal > 0.0, diagonal, 1.0)
    values, vectors = linalg.eigh(covariance / np.multiply.outer(unit, unit))
    if values.min(initial=0.0) < -1e-10 * max(values.max(initial=0.0), 1.0):
        raise InputError(f"{name} has a negative eigenvalue, so that it is not a covariance.")
    return np.asarray(unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


# -------------------------------------------------------------------------------------------------
# Checks of the parameters that the models have in common.


def hyperprior_of(model: Any) -> evidence.Hyperprior:
    """Shapes and rates of the Gamma densities, checked; ``max_iter`` and ``tol`` too."""
    values = [_number(model, name, 0.0) for name in evidence.Hyperprior._fields]
    _number(model, "tol", 0.0)
    _number(model, "max_iter", 1.0)
    return evidence.Hyperprior(*values)


def starting_precision(model: Any, name: str) -> float | None:
    """A starting value, or None."""
    return None if getattr(model, name) is None else _number(model, name, 0.0)


def _number(model: Any, name: str, least: float) -> float:
    value = getattr(model, name)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not least <= number < np.inf:
        raise InputError(f"{name}={value!r} must be a number of {least:g} or more.")
    return number
