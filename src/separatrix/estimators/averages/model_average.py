"""Averages of models with weights by evidence, by AIC, or learned out of fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from separatrix.estimators.averages.several import (
    MixtureOfModels,
    classifies,
    refuse_incomparable,
)
from separatrix.estimators.averages.stacking import (
    stacked_classes,
    stacked_numbers,
    stacking_certificate,
)
from separatrix.estimators.wrapped import LabeledRows, joint_certificate, warn_once
from separatrix.messages import InputError, check_option
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats
from separatrix.selection.averaging import (
    Average,
    corrected_aics,
    evidence_weights,
    log_evidences,
)
from separatrix.selection.routing import fold_router, named_folds, routed
from separatrix.statistics.moments import Moments

WEIGHTS = ("stacking", "akaike", "evidence")
#: Rows for AICc of the least model, a mean with a variance: n > k + 1.
FEWEST = 4


class ModelAverage(MixtureOfModels):
    """Average of candidates in place of the choice of one.

        ŷ(x) = Σₘ aₘ ŷₘ(x),  or  p(x) = Σₘ aₘ pₘ(x),      a ≥ 0, Σ a = 1

        stacking:  a = argmin of the loss out of fold      no model needs to be true
        akaike:    aₘ ∝ P(m) exp(−AICcₘ/2)                  maximum likelihood, no folds
        evidence:  aₘ ∝ P(m) p(y | model m)                 Bayesian models, no folds

    A choice by any criterion depends on chance where two candidates are nearly as good; their
    average does not jump. Weights by evidence or AIC tend to one model as rows become many, be it
    true or merely the best; stacking mixes where a mixture predicts better.

    Parameters
    ----------
    estimators : list of estimators
        Classifiers with ``predict_proba``, or regression models of one target.
    weights : {"stacking", "akaike", "evidence"}, default="stacking"
        What weighs them. "akaike" takes models with a likelihood and degrees of freedom:
        LinearRegression, PolynomialRegression, LogisticRegression without penalty, and the paths
        (RidgePath, LassoPath, LogisticPath) at their chosen point. "evidence" takes models with
        ``log_evidence_``.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of stacking; a number is stratified for classes, in row order for numbers.
    prior_weights : array of shape (n_estimators,) or None, default=None
        Weights P(m) before the rows are seen; None for equal ones. Stacking has none.

    Attributes
    ----------
    estimators_ : list of estimators
        The models, fitted to all rows.
    weights_ : ndarray of shape (n_estimators,)
        The weights a.
    log_scores_ : ndarray of shape (n_estimators,)
        log p(y | m), or −AICc/2; NaN for stacking.
    classes_ : ndarray of shape (K,)
        The class labels in order, of classifiers.
    certificate_ : Certificate
        The worst of those of the models, and of the weights of stacking.

    See Also
    --------
    EvidenceAveraging : Weights by evidence, with the predictive distribution of the mixture.
    AveragedClassifier : Stacking of classifiers.
    AveragedRegressor : Stacking of regression models.
    criteria : Compares the same candidates, and says what each criterion would choose.

    References
    ----------
    - Burnham and Anderson, Model Selection and Multimodel Inference, 2002.
    - Yao, Vehtari, Simpson and Gelman, Using stacking to average Bayesian predictive distributions,
      Bayesian Analysis 13, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 5, (50, 1))
    >>> y = 2 * np.sin(1.5 * x[:, 0]) + rng.standard_normal(50)
    >>> degrees = [sx.PolynomialRegression(k) for k in range(1, 7)]
    >>> sx.ModelAverage(degrees, "akaike").fit(x, y).weights_.round(2)
    array([0.  , 0.  , 0.01, 0.41, 0.46, 0.13])
    """

    def __init__(
        self,
        estimators: Any,
        weights: str = "stacking",
        *,
        cv: Any = 5,
        prior_weights: Any = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.cv = cv
        self.prior_weights = prior_weights

    def get_metadata_routing(self) -> Any:
        """Which arguments of ``fit`` go to the splitter."""
        return fold_router(self)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Fit to ``X, y``, to :class:`~separatrix.rows.rows.Rows`, or to moments.

        ``params`` such as ``groups`` go to the splitter by scikit-learn's metadata routing.
        Stacking needs rows.
        """
        check_option("weights", self.weights, WEIGHTS)
        self._models()
        with warn_once():
            if isinstance(X, Moments):
                return self.from_fitted(self._fitted_to_moments(X))
            cv = named_folds(self.cv, X, y, routed(self, params, None)["split"])
            rows = self._read_rows(X, y, sample_weight)
            if self.weights == "akaike" and len(rows.y) < FEWEST:
                raise InputError(
                    f"AICc needs more rows than parameters, and n_samples={len(rows.y)}.",
                    remedy=f"Give at least {FEWEST} rows.",
                )
            models = self._fitted(rows)
            if self.weights == "stacking":
                return self._stacked(models, self._stacking(models, rows, cv))
            return self.from_fitted(models)

    def from_fitted(self, models: Sequence[Any]) -> Self:
        """Average models that are fitted already, to the same rows; by evidence or AIC alone."""
        check_option("weights", self.weights, WEIGHTS)
        if self.weights == "stacking":
            raise InputError(
                "Stacking learns its weights from rows out of fold, and there are none.",
                remedy='Call fit(X, y), or use weights="akaike" or "evidence".',
            )
        return self._weighted(models)

    def _weighted(self, models: Sequence[Any]) -> Self:
        """Weights by evidence, or by AICc in its place."""
        refuse_incomparable(models)
        by_evidence = self.weights == "evidence"
        scores = log_evidences(models) if by_evidence else -0.5 * corrected_aics(models)
        self.weights_ = evidence_weights(scores, self.prior_weights)
        return self._accept(models, scores, "their evidence" if by_evidence else "AICc", models)

    def _stacking(self, models: list[Any], rows: LabeledRows, cv: Any) -> Average:
        if self.prior_weights is not None:
            raise InputError(
                "Stacking has no prior_weights: the folds alone decide.",
                remedy='Leave them out, or use weights="akaike" or "evidence".',
            )
        if classifies(self):
            return stacked_classes(self._models(), rows, models[0].classes_, cv)
        return stacked_numbers(self._models(), rows, cv)

    def _stacked(self, models: Sequence[Any], average: Average) -> Self:
        self.weights_ = np.asarray(average.weights, dtype=float)
        proof = stacking_certificate(average)
        nothing = np.full(len(models), np.nan)
        return self._accept(models, nothing, "their loss out of fold", [proof, *models])

    def _accept(
        self, models: Sequence[Any], scores: Floats, by: str, certified: Sequence[Any]
    ) -> Self:
        self._accept_models(models)
        self.log_scores_ = scores
        claim = f"Average of {len(models)} models by {by}"
        self.certificate_: Certificate = joint_certificate(claim, certified)
        return self
