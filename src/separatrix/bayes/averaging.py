"""Averages of models by their evidence (Bayesian model averaging).

P(model | y) ∝ p(y | model) P(model),    p(y* | x) = Σₘ P(m | y) p(y* | x, m)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp, ndtr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats
from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.estimators.averages import MixtureOfModels, refuse_incomparable, regresses
from separatrix.estimators.wrapped import joint_certificate, warn_once
from separatrix.formula import nodes
from separatrix.messages import InputError
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.selection.averaging import evidence_weights, log_evidences
from separatrix.statistics.moments import Moments


@declare_parameters
class EvidenceAveraging(MixtureOfModels):
    """Average of Bayesian models, each weighted by its evidence.

        wₘ ∝ p(y | model m) P(m),    p(y* | x) = Σₘ wₘ pₘ(y* | x)

    The models are fitted to the same rows; the evidence of each, ``log_evidence_``, says how
    probable the training targets were before it saw them. No folds are needed. Evidences of other
    rows, of other targets, or with wide bounds are refused.

    Parameters
    ----------
    estimators : list of estimators
        Models of this library that have ``log_evidence_`` once fitted.
    prior_weights : array of shape (n_estimators,) or None, default=None
        Weights P(m) before the rows are seen; None for equal ones.

    Attributes
    ----------
    estimators_ : list of estimators
        The models, fitted to all rows.
    weights_ : ndarray of shape (n_estimators,)
        Probabilities of the models given the rows; they sum to one.
    log_evidences_ : ndarray of shape (n_estimators,)
        The log evidence of every model.
    log_evidence_ : float
        log Σ P(m) p(y | m), that of the average.
    classes_ : ndarray of shape (K,)
        The class labels in order, of classifiers.
    certificate_ : Certificate
        The worst of those of the models.

    See Also
    --------
    BayesianRidge : A model with evidence.
    ModelAverage : Weights by evidence, by AIC, or by out-of-fold errors.

    References
    ----------
    Hoeting, Madigan, Raftery and Volinsky, Bayesian model averaging: a tutorial, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((100, 8))
    >>> y = x[:, 0] + 0.5 * rng.standard_normal(100)
    >>> model = sx.EvidenceAveraging([sx.BayesianRidge(), sx.ARDRegression()]).fit(x, y)
    >>> model.weights_.round(3)
    array([0., 1.])
    """

    estimators: Any
    prior_weights: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit every model to ``X, y``, to :class:`~separatrix.rows.rows.Rows`, or to moments."""
        self._models()
        with warn_once():
            if isinstance(X, Moments):
                return self.from_fitted(self._fitted_to_moments(X))
            return self.from_fitted(self._fit_models(self._read_rows(X, y, sample_weight)))

    def from_fitted(self, models: Sequence[Any]) -> Self:
        """Average models that are fitted already, to the same rows."""
        refuse_incomparable(models)
        values = log_evidences(models)
        self.weights_ = evidence_weights(values, self.prior_weights)
        self._accept_models(models)
        self.log_evidences_ = values
        prior = np.ones(len(values)) if self.prior_weights is None else self.prior_weights
        prior = np.asarray(prior, dtype=float)
        self.log_evidence_ = float(logsumexp(values, b=prior / prior.sum()))
        self.certificate_: Certificate = joint_certificate(
            f"Average of {len(models)} models by their evidence", models
        )
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the mixture, with its standard deviation; or the most probable class."""
        if return_std and not hasattr(self, "classes_"):
            predictive_distribution = self.predictive(X)
            return predictive_distribution.mean, predictive_distribution.scale
        return super().predict(X)

    @available_if(regresses)  # type: ignore[untyped-decorator]
    def predictive(self, X: Any) -> PredictiveDistribution:
        """The normal distribution with mean and variance of the mixture, for every row."""
        mean, scale = self._components(X)
        middle = mean @ self.weights_
        spread = (scale**2 + (mean - middle[:, None]) ** 2) @ self.weights_
        return PredictiveDistribution(middle, np.sqrt(spread))

    @available_if(regresses)  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any, *, level: float = 0.95) -> Floats:
        """Central intervals (n x 2) of the mixture itself."""
        if not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} must be between 0 and 1.")
        mean, scale = self._components(X)
        ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        return np.stack([self._quantile(mean, scale, end) for end in ends], axis=1)

    def _components(self, X: Any) -> tuple[Floats, Floats]:
        """Means and standard deviations (n x n_estimators) of the models."""
        check_is_fitted(self)
        predictive_distributions = [model.predictive(X) for model in self.estimators_]
        return np.stack([f.mean for f in predictive_distributions], axis=1), np.stack(
            [f.std for f in predictive_distributions], axis=1
        )

    def _quantile(self, mean: Floats, scale: Floats, probability: float) -> Floats:
        reach = 40.0 * scale
        low, high = (mean - reach).min(axis=1), (mean + reach).max(axis=1)
        for _ in range(80):  # halvings of the bracket of a quantile
            middle = 0.5 * (low + high)
            below = ndtr((middle[:, None] - mean) / scale) @ self.weights_
            low, high = (
                np.where(below < probability, middle, low),
                np.where(below < probability, high, middle),
            )
        return np.asarray(0.5 * (low + high))

    def formula(self) -> nodes.Formula:
        """Of numbers, with the standard deviation of the mixture."""
        plain = super().formula()
        if isinstance(plain, nodes.ClassFormula):
            return plain
        models = [nodes.formula_of(one) for one in self.estimators_]
        known = [one for one in models if isinstance(one, nodes.NumberFormula) and one.deviation]
        deviations = tuple(one.deviation for one in known if one.deviation is not None)
        if len(deviations) < len(models):
            return plain
        means = nodes.Joined(tuple(one.mean for one in known))
        spread = nodes.MixtureDeviation(
            means, nodes.Joined(deviations), np.asarray(self.weights_, dtype=np.float64)
        )
        return replace(plain, deviation=spread)
