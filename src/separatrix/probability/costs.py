"""What answers cost, and the cheapest answer given the probabilities.

    expected(answer j) = Σᵢ pᵢ · cost[i, j],     expected(doubt) = Σᵢ pᵢ · price[i]

With cost 1 for every error and one price c for doubt, doubt is cheapest where the largest
probability is below 1 − c.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError, did_you_mean
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class Costs:
    """``matrix[i, j]``: the truth is class i, the answer j. ``price[i]``: the answer is doubt.

    A price of None means that doubt is no option.
    """

    matrix: Floats
    price: Floats | None

    def expected(self, probabilities: Floats) -> Floats:
        """The expected cost of every answer (n x K)."""
        return np.asarray(probabilities @ self.matrix)

    def decide(self, probabilities: Floats) -> NDArray[np.int64]:
        """The position of the cheapest answer; K stands for doubt, which must be cheaper."""
        expected = self.expected(probabilities)
        chosen = expected.argmin(axis=1)
        if self.price is None:
            return np.asarray(chosen)
        return np.where(probabilities @ self.price < expected.min(axis=1), len(self.price), chosen)


def costs_of(given: Any, classes: NDArray[Any], reject: Any = "reject") -> Costs:
    """Costs from a price of doubt, from a matrix, or from {truth: {answer: cost}}.

    A number is the price of doubt where every error costs 1. A matrix has a row for each class in
    order; a further column holds the price of doubt. In a mapping, answers that are not named cost
    1 if wrong and 0 if right, and doubt is an option if any row prices it.
    """
    k = len(classes)
    wrong = 1.0 - np.eye(k)
    if isinstance(given, Mapping):
        return _checked(*_of_mapping(given, classes, reject, wrong))
    try:
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim == 0 and array < 0.0:
        raise InputError(
            f"costs={float(array):g}: with a price below 0, doubt would answer every row.",
            remedy="Give the price of doubt where an error costs 1, such as 0.2.",
        )
    if array.ndim == 0:
        return _checked(wrong, np.full(k, float(array)))
    if array.shape == (k, k):
        return _checked(array, None)
    if array.shape == (k, k + 1):
        return _checked(array[:, :k], array[:, k])
    raise InputError(
        f"costs fits neither of the forms for {k} classes.",
        remedy=f"Give a number (the price of doubt), a {k} x {k} matrix of costs, {k} x {k + 1} "
        "with the price of doubt as last column, or {truth: {answer: cost}}.",
    )


def _of_mapping(
    given: Mapping[Any, Any], classes: NDArray[Any], reject: Any, wrong: Floats
) -> tuple[Floats, Floats | None]:
    position = {label: i for i, label in enumerate(classes.tolist())}
    matrix, price = wrong.copy(), np.full(len(position), np.nan)
    for truth, answers in given.items():
        _known(truth, position, "class")
        for answer, cost in answers.items():
            if answer == reject:
                price[position[truth]] = cost
            else:
                _known(answer, position, "answer")
                matrix[position[truth], position[answer]] = cost
    priced = ~np.isnan(price)
    if not priced.any():
        return matrix, None
    if not priced.all():
        lacking = classes[~priced].tolist()[0]
        raise InputError(
            f"Doubt has no price for rows of class {lacking!r}.",
            remedy="Name it for every class, or for none.",
        )
    return matrix, price


def _known(label: Any, position: dict[Any, int], role: str) -> None:
    if label not in position:
        near = did_you_mean(str(label), map(str, position))
        raise InputError(
            f"costs names the {role} {label!r}, which is none of the classes.", remedy=near
        )


def _checked(matrix: Floats, price: Floats | None) -> Costs:
    numbers = matrix.ravel() if price is None else np.append(matrix, price)
    if not np.isfinite(numbers).all():
        raise InputError("costs must be finite numbers.")
    return Costs(matrix, price)
