"""Averages of models by their evidence (Bayesian model averaging).

P(model | y) ∝ p(y | model) P(model),    p(y* | x) = Σₘ P(m | y) p(y* | x, m)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.estimators.averaged import SeveralModels, class_probabilities
from separatrix.estimators.wrapped import (
    fitted,
    fitted_to_numbers,
    joint_certificate,
    labeled_rows,
    numbered_rows,
    warn_once,
)
from separatrix.messages import InputError
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.statistics.moments import Moments

#: Halvings of the bracket of a quantile.
HALVINGS = 80


def evidence_weights(log_evidence: Any, prior_weights: Any = None) -> Floats:
    """Probabilities of models, ∝ exp(log evidence) times their prior weights; they sum to one."""
    values = np.asarray(log_evidence, dtype=float)
    if not np.isfinite(values).all():
        raise InputError("A model has no finite evidence.", remedy="Leave it out.")
    prior = np.ones(len(values)) if prior_weights is None else np.asarray(prior_weights, float)
    if prior.shape != values.shape or not (prior >= 0.0).all() or not 0.0 < prior.sum() < np.inf:
        raise InputError(
            f"prior_weights={prior_weights!r} must hold a number of 0 or more for each of "
            f"{len(values)} models, some above 0."
        )
    with np.errstate(divide="ignore"):
        logs = values + np.log(prior)
    found = np.exp(logs - logs.max())
    return np.asarray(found / found.sum())


def _classifies(model: Any) -> bool:
    return bool(model.estimators) and is_classifier(model.estimators[0])


def _regresses(model: Any) -> bool:
    return not _classifies(model)


class EvidenceAveraging(SeveralModels):
    """Average of Bayesian models, each weighted by its evidence.

        wₘ ∝ p(y | model m) P(m),    p(y* | x) = Σₘ wₘ pₘ(y* | x)

    The models are fitted to the same rows; the evidence of each, ``log_evidence_``, says how
    probable the training targets were before it saw them. No folds are needed. Regression models
    and classifiers cannot be mixed.

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
    AveragedRegressor : Weights by out-of-fold errors, for models without evidence.

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

    def __init__(self, estimators: Any, prior_weights: Any = None) -> None:
        self.estimators = estimators
        self.prior_weights = prior_weights

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit every model to ``X, y``, to :class:`~separatrix.rows.rows.Rows`, or to moments."""
        models = self._models()
        with warn_once():
            if isinstance(X, Moments):
                return self.from_fitted([clone(model).fit(X) for model in models])
            if _classifies(self):
                labeled = labeled_rows(self, X, y, sample_weight)
                return self.from_fitted([fitted(model, labeled) for model in models])
            rows = numbered_rows(self, X, y, sample_weight)
            return self.from_fitted([fitted_to_numbers(model, rows) for model in models])

    def from_fitted(self, models: Sequence[Any]) -> Self:
        """Average models that are fitted already, to the same rows."""
        for model in models:
            if not hasattr(model, "log_evidence_"):
                raise InputError(
                    f"{type(model).__name__} has no evidence.",
                    remedy="Use a Bayesian model, or AveragedRegressor or AveragedClassifier.",
                )
        values = np.array([float(model.log_evidence_) for model in models])
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
        check_is_fitted(self)
        if hasattr(self, "classes_"):
            return self.classes_[self._probabilities(X).argmax(axis=1)]
        if return_std:
            found = self.predictive(X)
            return found.mean, found.scale
        columns = np.stack([np.ravel(model.predict(X)) for model in self.estimators_], axis=1)
        return np.asarray(columns @ self.weights_)

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Σₘ wₘ pₘ for each class in ``classes_``."""
        check_is_fitted(self)
        return self._probabilities(X)

    @available_if(_regresses)  # type: ignore[untyped-decorator]
    def predictive(self, X: Any) -> PredictiveDistribution:
        """The normal distribution with mean and variance of the mixture, for every row."""
        mean, scale = self._components(X)
        middle = mean @ self.weights_
        spread = (scale**2 + (mean - middle[:, None]) ** 2) @ self.weights_
        return PredictiveDistribution(middle, np.sqrt(spread))

    @available_if(_regresses)  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any, *, level: float = 0.95) -> Floats:
        """Central intervals (n x 2) of the mixture itself."""
        if not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} must be between 0 and 1.")
        mean, scale = self._components(X)
        ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        return np.stack([self._quantile(mean, scale, end) for end in ends], axis=1)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², or accuracy of classes."""
        measure = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def _components(self, X: Any) -> tuple[Floats, Floats]:
        """Means and standard deviations (n x n_estimators) of the models."""
        check_is_fitted(self)
        found = [model.predictive(X) for model in self.estimators_]
        return np.stack([f.mean for f in found], axis=1), np.stack([f.std for f in found], axis=1)

    def _quantile(self, mean: Floats, scale: Floats, probability: float) -> Floats:
        reach = 40.0 * scale
        low, high = (mean - reach).min(axis=1), (mean + reach).max(axis=1)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = ndtr((middle[:, None] - mean) / scale) @ self.weights_
            low, high = (
                np.where(below < probability, middle, low),
                np.where(below < probability, high, middle),
            )
        return np.asarray(0.5 * (low + high))

    def _probabilities(self, X: Any) -> Floats:
        classes: NDArray[Any] = self.classes_
        parts = (
            weight * class_probabilities(model, X, classes)
            for weight, model in zip(self.weights_, self.estimators_, strict=True)
        )
        return np.asarray(sum(parts))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(model) for model in self.estimators or ()]
        if inner:
            tags.estimator_type = inner[0].estimator_type
            tags.classifier_tags, tags.regressor_tags = (
                inner[0].classifier_tags,
                inner[0].regressor_tags,
            )
        tags.target_tags.required = True
        return tags
