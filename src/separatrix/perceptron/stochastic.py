"""The perceptron as scikit-learn trains it: penalties, a stopping rule, rows in shuffled order.

The epochs themselves are scikit-learn's, so that the same options and seed give the same weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import Perceptron as StochasticPerceptron

from separatrix.estimators.class_labels import CodedRows, outputs_of
from separatrix.estimators.class_weights import weights_by_class
from separatrix.optimize.solution import Certificate
from separatrix.perceptron.training import certify_mistakes
from separatrix.rows.block import Floats

#: Parameters that both have.
SHARED = (
    "penalty", "alpha", "l1_ratio", "fit_intercept", "max_iter", "tol", "shuffle", "verbose",
    "eta0", "n_jobs", "random_state", "early_stopping", "validation_fraction", "n_iter_no_change",
)  # fmt: skip


def stochastic_perceptron(model: Any, given: CodedRows) -> StochasticPerceptron:
    """scikit-learn's perceptron with the parameters of ``model``, for codes of its classes."""
    weight = model.class_weight
    if weight is not None and not isinstance(weight, str):
        labels = model.classes_.tolist()
        total = np.bincount(given.codes, given.w, len(labels)).astype(np.float64)
        weight = dict(enumerate(weights_by_class(weight, labels, total).tolist()))
    shared = {name: getattr(model, name) for name in SHARED}
    return StochasticPerceptron(**shared, class_weight=weight)


def train_epochs(
    model: Any, given: CodedRows, coef: Floats | None, intercept: Floats | None
) -> StochasticPerceptron:
    """Epochs until the loss no longer improves, from these weights or from zero."""
    trained = stochastic_perceptron(model, given)
    return trained.fit(
        given.x, given.codes, coef_init=coef, intercept_init=intercept, sample_weight=given.w
    )


def train_once(model: Any, given: CodedRows, begun: bool) -> StochasticPerceptron:
    """One epoch from the present weights of ``model``, or from zero."""
    trained = stochastic_perceptron(model, given)
    every = np.arange(len(model.classes_))
    if begun:
        trained.classes_, trained.t_ = every, float(model.t_)
        trained.coef_ = np.ascontiguousarray(model.coef_)
        trained.intercept_ = np.array(model.intercept_, dtype=np.float64)
        trained.n_features_in_ = trained.coef_.shape[1]
    return trained.partial_fit(given.x, given.codes, classes=every, sample_weight=given.w)


def certify_epochs(trained: StochasticPerceptron, given: CodedRows, *, last: bool) -> Certificate:
    """The misclassified rows, counted: of all, or of the ``last`` that were given."""
    coef, n = trained.coef_, len(given.codes)
    scores = np.asarray(given.x @ coef.T) + trained.intercept_
    positive = given.codes[:, None] == outputs_of(len(trained.classes_))
    wrong = int((np.where(positive, scores, -scores) <= 0.0).any(axis=1).sum())
    epochs = int(trained.n_iter_)
    notes = [f"{epochs} epoch{'s' * (epochs > 1)}."]
    found = certify_mistakes("Perceptron", wrong, n, notes, np.inf, len(coef))
    if not last:
        return found
    return replace(found, claim=f"Perceptron: {wrong} of the last {n} rows are misclassified")
