"""Decisions of least expected cost, with the option to reject, and their cost on the test set.

answer = argmin over j of Σᵢ pᵢ cost[i, j],  a rejection being one of the answers if it has a cost
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
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.study.measure import mean_score, proportion_score
from separatrix.study.result import Decision, Predictions, Score

REJECT = "reject"


@dataclass(frozen=True)
class DecisionCosts:
    """Costs for every class; ``flat`` is the cost of a rejection where all errors cost 1."""

    classes: NDArray[Any]
    costs: Costs
    reject_label: str
    flat: float | None

    def among(self, classes: NDArray[Any]) -> Costs:
        """The same for the classes that a model knows."""
        at = codes_of(classes, self.classes)
        rejection = None if self.costs.reject_cost is None else self.costs.reject_cost[at]
        return Costs(self.costs.matrix[np.ix_(at, at)], rejection)

    def from_fitted(self, model: Any) -> RejectOption:
        """The fitted model with these costs; they do not change what it has learned."""
        costs: Any = self.flat
        if costs is None:
            own = self.among(model.classes_)
            columns = (
                [own.matrix] if own.reject_cost is None else [own.matrix, own.reject_cost[:, None]]
            )
            costs = np.hstack(columns)
        option = RejectOption(clone(model), costs=costs, reject_label=self.reject_label)
        return option.from_fitted(model)


def decision_costs(costs: Any, reject: float | None, classes: NDArray[Any]) -> DecisionCosts | None:
    """Costs checked against the classes of the table; None if there are none."""
    if costs is None and reject is None:
        return None
    label = REJECT
    while label in classes.tolist():
        label = f"({label})"
    if reject is not None and not (math.isfinite(reject) and reject >= 0):
        raise InputError(
            f"The cost of a rejection is {reject!r}.",
            remedy="Give `reject` a number from 0; an error costs 1 unless `costs` says otherwise.",
        )
    if costs is None:
        return DecisionCosts(classes, costs_of(reject, classes, label), label, reject)
    found = costs_of(costs, classes, label)
    if reject is not None and found.reject_cost is not None:
        raise InputError(
            "The cost of a rejection is given twice, among the costs and by itself.",
            remedy="Leave out `reject`, or rejections in `costs`.",
        )
    if reject is not None:
        found = Costs(found.matrix, np.full(len(classes), float(reject)))
    _refuse_rewarded_errors(found, classes)
    return DecisionCosts(classes, found, label, None)


def _refuse_rewarded_errors(costs: Costs, classes: NDArray[Any]) -> None:
    """A correct answer that costs more than an error inverts every decision."""
    correct = np.diag(costs.matrix)
    cheaper = costs.matrix < correct[:, None]
    if cheaper.any():
        i, j = (int(v[0]) for v in np.nonzero(cheaper))
        raise InputError(
            f"Predicting {classes[j]!r} for {classes[i]!r} costs {costs.matrix[i, j]:g}, less than "
            f"the correct answer, {correct[i]:g}.",
            remedy="Costs are by truth, then answer; more is worse.",
        )


def about_costs(decisions: DecisionCosts | None, classes: NDArray[Any]) -> list[str]:
    """Messages on what the costs mean for predictions; none where there are no costs."""
    if decisions is None:
        return []
    own, label = decisions.among(classes), decisions.reject_label
    if own.reject_cost is None:
        return [
            "Predictions minimize the expected cost; there is no reject option (add: `reject`)."
        ]
    if decisions.flat is None:
        return [f"Rows are rejected ({label!r}) where that costs less than any class."]
    messages = [
        f"Rows are rejected ({label!r}) where no class has a probability of at least "
        f"{1 - decisions.flat:.4g}, since a rejection costs {decisions.flat:g} and an error 1."
    ]
    uniform = np.full(len(classes), 1 / len(classes))
    if uniform @ own.reject_cost >= own.expected(uniform[None]).min():
        messages.append(
            f"At a cost of {decisions.flat:g} a rejection is never cheaper than a guess among "
            f"{len(classes)} classes (lower `reject`)."
        )
    return messages


def evaluate(decisions: DecisionCosts, known: NDArray[Any], test: Predictions) -> Decision:
    """Cost, coverage and risk of the decisions on the test set."""
    assert test.probabilities is not None
    own, truth = decisions.among(known), codes_of(test.truth, decisions.classes)
    at = codes_of(known, decisions.classes)
    w = unit_weights(test.w, len(truth))
    answers = own.decide(test.probabilities)
    covered = answers < len(known)
    costs = _cost_by_row(decisions.costs, truth, at, answers)
    plain = _cost_by_row(decisions.costs, truth, at, test.probabilities.argmax(axis=1))
    none = Score("risk", math.nan, math.nan, math.nan)
    return Decision(
        own,
        decisions.reject_label,
        mean_score("cost", costs, w),
        proportion_score("coverage", covered, w),
        mean_score("risk", costs[covered], w[covered]) if (w[covered] > 0).any() else none,
        mean_score("cost", plain, w),
    )


def _cost_by_row(costs: Costs, truth: Ints, at: Ints, answers: Ints) -> Floats:
    """What every answer cost; the position after the last class is a rejection."""
    matrix = costs.matrix[:, at]
    rejection = np.zeros(len(matrix)) if costs.reject_cost is None else costs.reject_cost
    return np.asarray(np.column_stack([matrix, rejection])[truth, answers])
