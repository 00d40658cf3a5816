"""From probabilities to answers: what errors cost, what doubt costs, and how that turned out.

answer = argmin over j of Σᵢ pᵢ cost[i, j], doubt being one of the answers if it has a price
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from separatrix.estimators.targets import codes_of
from separatrix.messages import InputError
from separatrix.probability.costs import Costs, costs_of
from separatrix.probability.reject import RejectOption
from separatrix.rows.block import Floats, unit_weights
from separatrix.study.measure import mean_score, share_score
from separatrix.study.result import Decision, Predictions, Score

DOUBT = "reject"


@dataclass(frozen=True)
class Prices:
    """What was asked for: costs of every class of the table, and what an answer in doubt is."""

    classes: NDArray[Any]
    costs: Costs
    label: str
    flat: float | None

    def among(self, classes: NDArray[Any]) -> Costs:
        """The same for the classes that a model knows."""
        at = codes_of(classes, self.classes)
        price = None if self.costs.reject_cost is None else self.costs.reject_cost[at]
        return Costs(self.costs.matrix[np.ix_(at, at)], price)

    def from_fitted(self, model: Any) -> RejectOption:
        """The model with these prices; they do not change what it has learned."""
        costs: Any = self.flat
        if costs is None:
            own = self.among(model.classes_)
            columns = (
                [own.matrix] if own.reject_cost is None else [own.matrix, own.reject_cost[:, None]]
            )
            costs = np.hstack(columns)
        option = RejectOption(clone(model), costs=costs, reject_label=self.label)
        return option.from_fitted(model)


def prices_of(costs: Any, reject: float | None, classes: NDArray[Any]) -> Prices | None:
    """Costs and the price of doubt, checked against the classes of the table; None if not asked."""
    if costs is None and reject is None:
        return None
    label = DOUBT
    while label in classes.tolist():
        label = f"({label})"
    if reject is not None and not (math.isfinite(reject) and reject >= 0):
        raise InputError(
            f"A price of doubt of {reject!r} cannot be.",
            remedy="Give a number from 0; an error costs 1 unless --costs says otherwise.",
        )
    if costs is None:
        return Prices(classes, costs_of(reject, classes, label), label, reject)
    found = costs_of(costs, classes, label)
    if reject is not None and found.reject_cost is not None:
        raise InputError(
            "Doubt is priced twice, in the costs and by itself.",
            remedy="Leave out --reject, or the prices of doubt in --costs.",
        )
    if reject is not None:
        found = Costs(found.matrix, np.full(len(classes), float(reject)))
    _refuse_senseless(found, classes)
    return Prices(classes, found, label, None)


def _refuse_senseless(costs: Costs, classes: NDArray[Any]) -> None:
    """A right answer that costs more than a wrong one turns every decision round."""
    right = np.diag(costs.matrix)
    worse = costs.matrix < right[:, None]
    if worse.any():
        i, j = (int(v[0]) for v in np.nonzero(worse))
        raise InputError(
            f"Answering {classes[j]!r} for {classes[i]!r} costs {costs.matrix[i, j]:g}, less than "
            f"the right answer, {right[i]:g}.",
            remedy="Costs are TRUTH:ANSWER=COST; more is worse.",
        )


def about_prices(prices: Prices, classes: NDArray[Any]) -> list[str]:
    """What the prices mean, said before they are used."""
    own = prices.among(classes)
    said = []
    if own.reject_cost is None:
        return ["Answers are those of least expected cost; doubt has no price (add: --reject)."]
    if prices.flat is not None:
        limit = 1 - prices.flat
        said.append(
            f"The answer is {prices.label!r} where no class has a probability of {limit:.4g} or "
            f"more, since doubt costs {prices.flat:g} and an error 1."
        )
    else:
        said.append(f"The answer is {prices.label!r} where that is cheaper than any class.")
    worst = np.full(len(classes), 1 / len(classes))
    if worst @ own.reject_cost >= own.expected(worst[None]).min() and prices.flat is not None:
        said.append(
            f"At a price of {prices.flat:g} doubt is never cheaper than a guess among "
            f"{len(classes)} classes (lower it: --reject)."
        )
    return said


def decided(prices: Prices, known: NDArray[Any], held: Predictions) -> Decision:
    """Costs, coverage and risk of the answers on the test part."""
    assert held.probabilities is not None
    own, truth = prices.among(known), codes_of(held.truth, prices.classes)
    place = codes_of(known, prices.classes)
    w = unit_weights(held.w, len(truth))
    chosen = own.decide(held.probabilities)
    answered = chosen < len(known)
    paid = _paid(prices.costs, truth, place, chosen)
    plain = _paid(prices.costs, truth, place, held.probabilities.argmax(axis=1))
    nothing = Score("risk", math.nan, math.nan, math.nan)
    return Decision(
        own,
        prices.label,
        mean_score("cost", paid, w),
        share_score("coverage", answered, w),
        mean_score("risk", paid[answered], w[answered]) if (w[answered] > 0).any() else nothing,
        mean_score("cost", plain, w),
    )


def _paid(costs: Costs, truth: Any, place: Any, chosen: NDArray[np.int64]) -> Floats:
    """What every answer cost; the position after the last class is doubt."""
    matrix = costs.matrix[:, place]
    price = np.zeros(len(matrix)) if costs.reject_cost is None else costs.reject_cost
    return np.asarray(np.column_stack([matrix, price])[truth, chosen])
