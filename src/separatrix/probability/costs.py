"""Costs of decisions, and the decision of least expected cost.

    expected(j) = Σᵢ pᵢ · cost[i, j],     expected(reject) = Σᵢ pᵢ · reject_cost[i]

With cost 1 for every error and one rejection cost c, rejecting is cheapest where the largest
probability is below 1 − c (Chow's rule).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.messages import InputError, did_you_mean


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
