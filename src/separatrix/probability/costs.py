"""Costs of decisions, and the decision of least expected cost.

    expected(j) = Σᵢ pᵢ · cost[i, j],     expected(reject) = Σᵢ pᵢ · reject_cost[i]

With cost 1 for every error and one rejection cost c, rejecting is cheapest where the largest
probability is below 1 − c (Chow's rule).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators import wrapped
from separatrix.estimators.base import known_codes
from separatrix.formula import nodes
from separatrix.formula.values import NoFormula
from separatrix.messages import InputError, did_you_mean
from separatrix.parameters import declare_parameters
from separatrix.probability.roc import CoverageRisk, coverage_risk


@dataclass(frozen=True)
class Costs:
    """``matrix[i, j]``: cost of predicting j where i is true; ``reject_cost[i]``: of rejecting.

    A ``reject_cost`` of None means that no row may be rejected.
    """

    matrix: Floats
    reject_cost: Floats | None

    @property
    def with_reject(self) -> Floats:
        """The cost matrix with one more column for rejected rows, zero where there are none."""
        column = np.zeros(len(self.matrix)) if self.reject_cost is None else self.reject_cost
        return np.column_stack([self.matrix, column])

    def expected(self, probabilities: Floats) -> Floats:
        """The expected cost of predicting each class (n x K)."""
        return np.asarray(probabilities @ self.matrix)

    def decide(self, probabilities: Floats) -> Ints:
        """The class of least expected cost; K stands for a rejection, which must be cheaper."""
        expected = self.expected(probabilities)
        decision = expected.argmin(axis=1)
        if self.reject_cost is None:
            return np.asarray(decision)
        rejected = probabilities @ self.reject_cost < expected.min(axis=1)
        return np.where(rejected, len(self.reject_cost), decision)


def costs_of(costs: Any, classes: NDArray[Any], reject_label: Any = "reject") -> Costs:
    """Costs from a rejection cost, from a matrix, or from {truth: {prediction: cost}}.

    A number is the cost of rejecting a row where every error costs 1. A matrix has a row for each
    class in order; one more column holds the rejection cost. In a mapping, predictions that are not
    named cost 1 if wrong and 0 if right, and rows may be rejected if any entry has a cost for it.
    """
    k = len(classes)
    zero_one = 1.0 - np.eye(k)
    if isinstance(costs, Mapping):
        return _check_costs(*_from_mapping(costs, classes, reject_label, zero_one))
    try:
        array = np.asarray(costs, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim == 0 and array < 0.0:
        raise InputError(
            f"costs={float(array):g}: a rejection cost below 0 would reject every row.",
            remedy="Give the cost of a rejection where an error costs 1, such as 0.2.",
        )
    if array.ndim == 0:
        return _check_costs(zero_one, np.full(k, float(array)))
    if array.shape == (k, k):
        return _check_costs(array, None)
    if array.shape == (k, k + 1):
        return _check_costs(array[:, :k], array[:, k])
    raise InputError(
        f"costs fits neither of the forms for {k} classes.",
        remedy=f"Give a number (the rejection cost), a {k} x {k} matrix of costs, {k} x {k + 1} "
        "with the rejection cost as last column, or {truth: {prediction: cost}}.",
    )


def _from_mapping(
    costs: Mapping[Any, Any], classes: NDArray[Any], reject_label: Any, zero_one: Floats
) -> tuple[Floats, Floats | None]:
    position = {label: i for i, label in enumerate(classes.tolist())}
    matrix, reject_cost = zero_one.copy(), np.full(len(position), np.nan)
    for truth, predictions in costs.items():
        _require_class(truth, position, "class")
        for prediction, cost in predictions.items():
            if prediction == reject_label:
                reject_cost[position[truth]] = cost
            else:
                _require_class(prediction, position, "prediction")
                matrix[position[truth], position[prediction]] = cost
    stated = ~np.isnan(reject_cost)
    if not stated.any():
        return matrix, None
    if not stated.all():
        raise InputError(
            f"There is no rejection cost for class {classes[~stated].tolist()[0]!r}.",
            remedy="Give one for every class, or for none.",
        )
    return matrix, reject_cost


def _require_class(label: Any, position: dict[Any, int], role: str) -> None:
    if label not in position:
        near = did_you_mean(str(label), map(str, position))
        raise InputError(
            f"costs names the {role} {label!r}, which is none of the classes.", remedy=near
        )


def _check_costs(matrix: Floats, reject_cost: Floats | None) -> Costs:
    numbers = matrix.ravel() if reject_cost is None else np.append(matrix, reject_cost)
    if not np.isfinite(numbers).all():
        raise InputError("costs must be finite numbers.")
    return Costs(matrix, reject_cost)


# -------------------------------------------------------------------------------------------------
# Reject option: predict the decision of least expected cost, or reject the row.


def reject_label_of(classes: NDArray[Any], given: Any = None) -> Any:
    """The label of a rejection: of the kind of the classes, so that predictions are of one kind.

    None is "reject" among texts, and among numbers −1, or one less than the smallest class.
    """
    labels = classes.tolist()
    numbers = all(isinstance(label, Real) for label in labels)
    if given is None:
        return min(-1, min(labels) - 1) if numbers else "reject"
    if given in labels:
        raise InputError(
            f"reject_label={given!r} is a class: predictions would be ambiguous.",
            remedy="Choose another label for rejected rows.",
        )
    text = all(isinstance(label, str) for label in labels)
    if (numbers and not isinstance(given, Real)) or (text and not isinstance(given, str)):
        kind = "numbers" if numbers else "texts"
        raise InputError(
            f"reject_label={given!r} is of another kind than the classes, which are {kind}: "
            "predictions would mix them.",
            remedy=f"Give {'a number' if numbers else 'a text'}, or None.",
        )
    return given


def labels_with_reject(classes: NDArray[Any], reject_label: Any = None) -> NDArray[Any]:
    """The classes and, last, the label of a rejection; True and False become 1 and 0."""
    reject_label = reject_label_of(classes, reject_label)
    if classes.dtype.kind in "Uiufb":
        found = classes.astype(np.int64) if classes.dtype.kind == "b" else classes
        return np.array([*found.tolist(), reject_label])
    labels = np.empty(len(classes) + 1, dtype=object)
    labels[:-1] = classes.tolist()
    labels[-1] = reject_label
    return labels


@declare_parameters
class RejectOption(wrapped.WrappedClassifier):
    """Classifier that predicts at least expected cost, and rejects where that is cheaper.

        prediction = argmin over j of Σᵢ pᵢ cost[i, j],     rejection being one of the j

    The rule is optimal where the probabilities are right, so calibrate first:
    :class:`~separatrix.CalibratedClassifier` gives probabilities to any classifier.

    Parameters
    ----------
    estimator : classifier
        A classifier with ``predict_proba``.
    costs : float, array-like or mapping, default=0.2
        A number is the cost of a rejection where every error costs 1: a row is rejected when its
        largest probability is below 1 − costs. A K x K matrix holds the cost of each prediction
        (column) for each true class (row); one more column holds the rejection cost.
        ``{truth: {prediction: cost}}`` names what differs from 0 for right and 1 for wrong, with
        ``reject_label`` as a prediction.
    reject_label : str, number or None, default=None
        What ``predict`` returns for rejected rows, of the kind of the classes; None is "reject"
        among texts, and among numbers −1, or one less than the smallest class.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes of the estimator, the columns of ``predict_proba``.
    labels_ : ndarray of shape (K + 1,)
        The classes and ``reject_label``.
    costs_ : Costs
        ``matrix`` (K x K) and ``reject_cost`` (K), None where rows are never rejected.
    estimator_ : classifier
        The fitted estimator.
    certificate_ : Certificate
        That of the estimator.

    See Also
    --------
    CalibratedClassifier : Calibrated probabilities for any classifier.
    coverage_risk : Risk against the fraction of rows predicted.
    OneVsOne : Rejects rows that no class wins outright.

    References
    ----------
    C. K. Chow, On optimum recognition error and reject tradeoff, 1970.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> y = ["a", "a", "b", "a", "b", "b"]
    >>> model = sx.RejectOption(sx.LogisticRegression(C=100.0), costs=0.3).fit(X, y)
    >>> model.predict([[0.0], [2.5], [5.0]]).tolist()
    ['a', 'reject', 'b']
    """

    costs_: Costs = field(init=False)
    labels_: NDArray[Any] = field(init=False)

    estimator: Any
    _: KW_ONLY
    costs: Any = 0.2
    reject_label: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        if not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                f"{type(self.estimator).__name__} has no predict_proba to weight costs with.",
                remedy="Wrap it: RejectOption(CalibratedClassifier(…)).",
            )
        return self.from_fitted(
            wrapped.fit_wrapped(self.estimator, wrapped.labeled_rows(self, X, y, sample_weight))
        )

    def from_fitted(self, model: Any) -> Self:
        """Wrap a classifier that is fitted already: costs need no rows."""
        self._expose(model)
        label = reject_label_of(self.classes_, self.reject_label)
        self.costs_ = costs_of(self.costs, self.classes_, label)
        self.labels_ = labels_with_reject(self.classes_, self.reject_label)
        self.certificate_ = wrapped.joint_certificate(
            "The decision of least expected cost: optimal where the probabilities are right",
            [self.estimator_],
        )
        return self

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities of the estimator."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X), dtype=float)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of least expected cost, or ``reject_label`` where rejecting costs less."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.labels_[self.costs_.decide(probabilities)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Fraction of rows predicted right; a rejected row is not."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    def mean_cost(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean cost of the decisions on these rows; classes not trained on are refused."""
        decision = self.costs_.decide(self.predict_proba(X))
        cost = self.costs_.with_reject[known_codes(y, self.classes_), decision]
        return float(np.average(cost, weights=sample_weight))

    def coverage_risk(self, X: Any, y: Any, sample_weight: Any = None) -> CoverageRisk:
        """Cost of the predictions against the fraction of rows predicted.

        The uncertainty of a row is the expected cost of its best class. Where one rejection cost
        holds for all classes, the rule in use is one point of this curve.
        """
        expected = self.costs_.expected(self.predict_proba(X))
        cost = self.costs_.matrix[known_codes(y, self.classes_), expected.argmin(axis=1)]
        return coverage_risk(expected.min(axis=1), cost, sample_weight=sample_weight)

    def formula(self) -> nodes.ClassFormula:
        """The class of least expected cost, or a rejection where that costs less."""
        inner, costs = nodes.class_formula_of(self.estimator_), self.costs_
        if inner.probabilities is None:
            raise NoFormula("A rejection by costs needs probabilities.")
        matrix, names = costs.matrix, [f"cost of {label}" for label in self.labels_.tolist()]
        if (
            costs.reject_cost is not None
        ):  # the last: it must be cheaper, for the first of equals wins
            matrix = np.column_stack([matrix, costs.reject_cost])
        expected = nodes.Affine(inner.probabilities, matrix, names=tuple(names[: matrix.shape[1]]))
        gains = nodes.Affine(inner.probabilities, -matrix)
        chosen = nodes.Cheapest(expected)
        return nodes.ClassFormula(chosen, self.labels_, None, inner.probabilities, decided_by=gains)
