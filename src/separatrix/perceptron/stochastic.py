"""The perceptron as scikit-learn trains it: penalties, a stopping rule, rows in shuffled order.

The epochs themselves are scikit-learn's, so that the same options and seed give the same weights,
but for two things that must not matter. Every class has a seed of its own, the first one that of
the class of the first row, and so on, whatever the names of the classes. And the intercept of
sparse rows is the coefficient of a column of ones: scikit-learn would divide its steps by 100.
With a penalty, which does not hold for the intercept, it does so here as well.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import Perceptron as StochasticPerceptron

from separatrix.estimators.class_labels import CodedRows, outputs_of
from separatrix.estimators.class_weights import weights_by_class
from separatrix.optimize.solution import Certificate
from separatrix.perceptron.training import certify_mistakes
from separatrix.rows.block import Floats, Ints, Matrix

#: Parameters that both have.
SHARED = (
    "penalty", "alpha", "l1_ratio", "fit_intercept", "max_iter", "tol", "shuffle", "verbose",
    "eta0", "n_jobs", "random_state", "early_stopping", "validation_fraction", "n_iter_no_change",
)  # fmt: skip


def stochastic_perceptron(model: Any, given: CodedRows, place: Ints) -> StochasticPerceptron:
    """scikit-learn's perceptron with the parameters of ``model``; classes by their ``place``."""
    weight = model.class_weight
    if weight is not None and not isinstance(weight, str):
        labels = model.classes_.tolist()
        total = np.bincount(given.codes, given.w, len(labels)).astype(np.float64)
        weight = dict(
            zip(place.tolist(), weights_by_class(weight, labels, total).tolist(), strict=True)
        )
    shared = {name: getattr(model, name) for name in SHARED}
    if _as_column(model, given):
        shared["fit_intercept"] = False
    return StochasticPerceptron(**shared, class_weight=weight)


def _as_column(model: Any, given: CodedRows) -> bool:
    """Whether the intercept is the coefficient of a column of ones."""
    return sparse.issparse(given.x) and bool(model.fit_intercept) and model.penalty is None


def _with_ones(x: Matrix) -> Matrix:
    return sparse.hstack([x, sparse.csr_array(np.ones((x.shape[0], 1)))], format="csr")


def _by_appearance(codes: Ints, k: int) -> Ints:
    """The place of each class in the order in which the rows have them."""
    present, first = np.unique(codes, return_index=True)
    if k == 2 or len(present) < k:  # of two classes there is one seed
        return np.arange(k)
    return np.argsort(present[np.argsort(first)])


def train_epochs(
    model: Any, given: CodedRows, coef: Floats | None, intercept: Floats | None
) -> StochasticPerceptron:
    """Epochs until the loss no longer improves, from these weights or from zero."""
    place = _by_appearance(given.codes, len(model.classes_))
    trained, x = stochastic_perceptron(model, given, place), given.x
    if coef is not None and len(place) > 2:
        coef = np.asarray(coef)[np.argsort(place)]
        intercept = None if intercept is None else np.asarray(intercept)[np.argsort(place)]
    if _as_column(model, given):
        x = _with_ones(x)
        if coef is not None or intercept is not None:
            outputs = len(outputs_of(len(place)))
            coef = np.zeros((outputs, x.shape[1] - 1)) if coef is None else np.atleast_2d(coef)
            base = np.zeros(outputs) if intercept is None else np.ravel(intercept)
            coef, intercept = np.column_stack([coef, base]), None
    trained.fit(
        x, place[given.codes], coef_init=coef, intercept_init=intercept, sample_weight=given.w
    )
    if len(place) > 2:
        trained.coef_, trained.intercept_ = trained.coef_[place], trained.intercept_[place]
    return _without_column(trained) if _as_column(model, given) else trained


def _without_column(trained: StochasticPerceptron) -> StochasticPerceptron:
    """The coefficient of the column of ones is the intercept."""
    coef = trained.coef_
    trained.coef_, trained.intercept_ = np.ascontiguousarray(coef[:, :-1]), coef[:, -1].copy()
    return trained


def train_once(model: Any, given: CodedRows, begun: bool) -> StochasticPerceptron:
    """One epoch from the present weights of ``model``, or from zero."""
    every = np.arange(len(model.classes_))
    trained, x, column = stochastic_perceptron(model, given, every), given.x, False
    if _as_column(model, given):
        x, column = _with_ones(x), True
    if begun:
        trained.classes_, trained.t_ = every, float(model.t_)
        trained.coef_ = np.ascontiguousarray(model.coef_)
        trained.intercept_ = np.array(model.intercept_, dtype=np.float64)
        if column:
            trained.coef_ = np.column_stack([trained.coef_, trained.intercept_])
            trained.intercept_ = np.zeros(len(trained.coef_))
        trained.n_features_in_ = trained.coef_.shape[1]
    trained.partial_fit(x, given.codes, classes=every, sample_weight=given.w)
    return _without_column(trained) if column else trained


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
