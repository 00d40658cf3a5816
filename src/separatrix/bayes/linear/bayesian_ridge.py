"""Bayesian ridge regression: noise and prior learned by evidence maximization."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.bayes.linear import evidence, spectrum
from separatrix.bayes.linear.base import BayesianLinearModel
from separatrix.bayes.linear.certificate import (
    Recomputed,
    certify,
    recompute_moments,
    recompute_rows,
)
from separatrix.bayes.linear.evidence import EvidenceCurve, Hyperprior
from separatrix.bayes.linear.parameters import hyperprior_of, starting_precision
from separatrix.bayes.linear.posterior import Posterior
from separatrix.bayes.linear.spectrum import Columns, EvidenceSpectrum
from separatrix.estimators.additive import TrainingData
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate, Solution
from separatrix.rows.block import Block, Floats

#: Change of the fitted values by the rates, in standard deviations of the target, worth a warning.
FELT = 1e-2
EXACT = "The columns fit the target so closely that the rate alpha_2 decides the noise."


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
        Accepted for compatibility with scikit-learn; it has no effect.
    tol : float, default=1e-3
        Accepted for compatibility with scikit-learn; the maximum is found to rounding.
    alpha_1 : float, default=1e-6
        Shape of the Gamma density of α.
    alpha_2 : float, default=1e-6
        Rate of the Gamma density of α, in squared units of the target.
    lambda_1 : float, default=1e-6
        Shape of the Gamma density of λ.
    lambda_2 : float, default=1e-6
        Rate of the Gamma density of λ, in squared units of the coefficients.
    alpha_init : float or None, default=None
        The α of the first of ``scores_``; None for one over the variance of the target.
    lambda_init : float or None, default=None
        The λ of the first of ``scores_``; None for 1.
    compute_score : bool, default=False
        Whether ``scores_`` are computed.
    fit_intercept : bool, default=True
        Whether the model has an intercept a.
    copy_X : bool, default=True
        Accepted for compatibility with scikit-learn; it has no effect.
    verbose : bool, default=False
        Accepted for compatibility with scikit-learn; it has no effect.
    standardize : bool, default=False
        Whether the prior is on the coefficients of standardized columns, with rates in units of
        the target's variance: then nothing depends on units.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Posterior mean of the coefficients b.
    intercept_ : float
        Intercept a.
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
        R² of the posterior mean on the training rows.
    n_rows_ : float
        Number of rows, the sum of their weights.
    spectrum_ : EvidenceSpectrum
        The decomposition, from which ``evidence_curve`` is drawn.
    posterior_ : Posterior or None
        The posterior as a factor; None where it has too many numbers to be stored.
    X_offset_ : ndarray of shape (d,)
        Means of the columns, or zeros without an intercept.
    X_scale_ : ndarray of shape (d,)
        Ones.
    certificate_ : Certificate
        Derivatives of the evidence at α and λ, computed by separate code.
    moments_ : Moments or None
        Moments of the training rows, to which ``partial_fit`` adds.

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

    def __init__(
        self,
        *,
        max_iter: int = 300,
        tol: float = 1e-3,
        alpha_1: float = 1e-6,
        alpha_2: float = 1e-6,
        lambda_1: float = 1e-6,
        lambda_2: float = 1e-6,
        alpha_init: float | None = None,
        lambda_init: float | None = None,
        compute_score: bool = False,
        fit_intercept: bool = True,
        copy_X: bool = True,
        verbose: bool = False,
        standardize: bool = False,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.alpha_init = alpha_init
        self.lambda_init = lambda_init
        self.compute_score = compute_score
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose
        self.standardize = standardize

    def _infer(self, data: TrainingData) -> Solution:
        start = starting_precision(self, "alpha_init"), starting_precision(self, "lambda_init")
        columns = self._columns(data.block or data.source)
        prior = self._hyperprior(columns.variance)
        own, coef_at = self._decompose(data, columns)
        best = evidence.maximize(own, prior)
        coef = coef_at(best.lam / best.alpha) if np.isfinite(best.lam) else np.zeros(own.columns)
        self.alpha_, self.lambda_, self.spectrum_ = best.alpha, best.lam, own
        self.log_evidence_ = evidence.log_evidence(own, best.alpha, best.lam)
        first = (start[0] or 1.0 / (_variance(data) + spectrum.EPS), start[1] or 1.0)
        steps = [first, *best.steps] if self.compute_score else []
        self.scores_ = np.array([self._score(prior, *map(float, step)) for step in steps])
        self.posterior_ = self._factor(own, columns)
        self._place(columns.mean)
        certificate = self._certify(data, columns, prior, coef)
        self._warn_of_rates(prior)
        coef = coef * columns.scale
        intercept = columns.y_mean - float(columns.mean @ coef)
        return Solution(
            coef[:, None], np.array([intercept]), certificate, iterations=len(best.steps)
        )

    def _hyperprior(self, variance: float) -> Hyperprior:
        """Shapes and rates; the latter in units of the target's variance if standardized."""
        given = hyperprior_of(self)
        return given.in_units(variance or 1.0) if self.standardize else given

    def _columns(self, source: Any) -> Columns:
        return Columns.of(
            source, fit_intercept=bool(self.fit_intercept), standardize=bool(self.standardize)
        )

    def _decompose(self, data: TrainingData, columns: Columns) -> tuple[EvidenceSpectrum, Any]:
        """The spectrum, and the coefficients of columns times their scale at any λ/α."""
        if data.block is not None:
            rows = spectrum.from_rows(data.block, columns)
            return rows.spectrum, rows.coef
        assert data.moments is not None
        m = data.moments if self.fit_intercept else data.moments.about_origin()
        own = spectrum.from_moments(m, columns)
        return own, partial(spectrum.coef_from_moments, m, columns, own)

    def _factor(self, own: EvidenceSpectrum, columns: Columns) -> Posterior | None:
        """The posterior at the precisions that were found."""
        d = own.columns
        if not np.isfinite(self.lambda_):
            return Posterior(columns.mean, np.zeros(d), np.zeros((d, 0)), np.zeros(0))
        if own.directions is None:
            return None
        variances = 1.0 / (self.lambda_ + self.alpha_ * own.values)
        rest = 0.0 if own.rank == d else 1.0 / self.lambda_
        scale = columns.scale if self.standardize else np.ones(d)
        return Posterior(columns.mean, scale, own.directions, variances, rest)

    def _rebuilt(self, block: Block) -> Posterior | None:
        columns = self._columns(block)
        return self._factor(spectrum.from_rows(block, columns, store=True).spectrum, columns)

    def _score(self, prior: Hyperprior, alpha: float, lam: float) -> float:
        value = evidence.log_evidence(self.spectrum_, alpha, lam)
        return value + evidence.log_hyperprior(prior, alpha, lam)

    def _certify(
        self, data: TrainingData, columns: Columns, prior: Hyperprior, coef: Floats
    ) -> Certificate:
        """Derivatives by code that shares nothing with the search."""
        alpha, lam, block = self.alpha_, self.lambda_, data.block
        if not np.isfinite(lam):
            found = Recomputed(columns.yy, None, 0.0, 1.0)
        elif block is not None:
            found = recompute_rows(block, columns, coef, alpha, lam)
        else:
            assert data.moments is not None
            m = data.moments if self.fit_intercept else data.moments.about_origin()
            found = recompute_moments(m, columns, coef, alpha, np.full(m.d, lam))
        self.r_squared_ = 1.0 - found.residual / columns.yy if columns.yy else 0.0
        notes = (EXACT,) if found.residual <= 2.0 * prior.alpha_2 and columns.yy else ()
        return certify(
            found,
            prior,
            columns,
            coef,
            alpha,
            lam,
            rank=self.spectrum_.rank,
            statistic="moments" if block is None else "the rows",
            notes=notes,
        )

    def _warn_of_rates(self, prior: Hyperprior) -> None:
        """Warn where the rates, which have units, decide the answer and not the rows."""
        own = self.spectrum_
        if self.standardize or own.exact or not (prior.alpha_2 or prior.lambda_2):
            return
        free = evidence.maximize(own, prior._replace(alpha_2=0.0, lambda_2=0.0))
        ratios = np.array([self.lambda_ / self.alpha_, free.lam / free.alpha])
        fits = 1.0 / (1.0 + np.divide.outer(ratios, own.values))
        moved = np.sqrt(((fits[0] - fits[1]) ** 2 @ own.inner**2) / own.yy)
        noise = np.sqrt(free.alpha / self.alpha_)
        if moved > FELT or abs(np.log(noise)) > FELT:
            warn(
                "SEP019",
                f"the rates alpha_2={self.alpha_2:g} and lambda_2={self.lambda_2:g} have units. In "
                "those of this table they multiply the standard deviation of the noise by "
                f"{noise:.3g} and move the fitted values by {100 * moved:.1f} % of the target's "
                "deviation. Use standardize=True, or rates of 0.",
            )

    def evidence_curve(self, lambdas: Any = None, *, alpha: float | None = None) -> EvidenceCurve:
        """Log evidence over λ from the one decomposition, with its highest point.

        ``lambdas`` None places 201 around the maximum. At every λ the noise precision is the best
        one, or ``alpha`` where that is given. Hyperpriors count, as in ``scores_``.
        """
        check_is_fitted(self)
        if alpha is not None and not 0.0 < alpha < np.inf:
            raise InputError(f"alpha={alpha!r} must be a precision above 0.")
        own = self.spectrum_
        prior = self._hyperprior(own.yy / own.weight)
        best = evidence.maximize(own, prior, alpha=alpha)
        if lambdas is None:
            middle = (
                best.lam if np.isfinite(best.lam) else best.alpha * max(own.values, default=1.0)
            )
            lambdas = middle * np.geomspace(1e-5, 1e5, 201)
        given = np.atleast_1d(np.asarray(lambdas, dtype=float))
        if given.ndim != 1 or not (np.isfinite(given) & (given > 0.0)).all():
            raise InputError("lambdas must be precisions above 0.")
        if alpha is None:
            alphas = evidence.best_alphas(own, prior, given)
        else:
            alphas = np.full(len(given), float(alpha))
        values = [self._score(prior, a, b) for a, b in zip(alphas, given, strict=True)]
        highest = self._score(prior, best.alpha, best.lam)
        return EvidenceCurve(given, alphas, np.array(values), best.lam, best.alpha, highest)


def _variance(data: TrainingData) -> float:
    """Variance of the target about its mean, whether or not there is an intercept."""
    if data.moments is not None:
        return float(data.moments.yy[0, 0] / data.moments.weight)
    assert data.block is not None
    return Columns.of(data.block, fit_intercept=True, standardize=False).variance
