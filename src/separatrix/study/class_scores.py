"""Metrics, costs and scores of classifiers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.base import codes_of
from separatrix.messages import InputError
from separatrix.probability.costs import Costs, RejectOption, costs_of
from separatrix.rows.schema import unit_weights
from separatrix.study import measure
from separatrix.study.result import Decision, Predictions, Score, ScoresOfClass

# -------------------------------------------------------------------------------------------------
# Metrics of classifiers as means over rows, so that two models are compared row by row.
#
#     loss = Σ wᵢ vᵢ / Σ wᵢ,     se(loss_a − loss_b) = standard error of the mean of v_a − v_b
#
# Error rate, log loss and cost are means of the losses vᵢ themselves. Balanced error, F1 and the
# area under the ROC curve are ratios or means over pairs of rows: their vᵢ are the metric plus the
# influence of row i on it, which has mean zero (delta method; for the area DeLong's placements).
# Smaller is better throughout: F1 and AUC count as 1 − F1 and 1 − AUC.


#: A probability below this counts as this, so that one row cannot outweigh all others.
SMALLEST = float(np.finfo(float).eps)
#: What classifiers may be compared by.
CLASS_METRICS = ("log_loss", "error", "auc", "f1", "balanced_error", "cost")


def row_losses(
    metric: str,
    truth: Ints,
    probabilities: Floats | None,
    predicted: Ints,
    w: Floats,
    costs: Costs | None = None,
) -> Floats:
    """Values by row whose weighted mean is the loss, and whose differences compare two models.

    Parameters
    ----------
    metric : one of :data:`CLASS_METRICS`.
    truth : codes of the true classes; −1 is a class that the model does not know.
    probabilities : a column for each class; without them log loss and AUC are NaN.
    predicted : codes of the answers; for "cost" the number of classes stands for a rejection.
    w : weights of the rows.
    costs : for "cost" alone.

    Returns
    -------
    Floats
        One value a row; all NaN where the metric is not defined.

    Notes
    -----
    F1 is that of the second of two classes, the mean over classes if there are more; AUC likewise,
    each class against the rest. Balanced error is the mean over classes of their error rates.
    """
    if metric == "cost":
        assert costs is not None
        paid = costs.with_reject[truth, predicted]
        return np.where(truth >= 0, paid, math.nan)
    if metric == "error":
        return np.asarray(truth != predicted, dtype=float)
    if metric == "balanced_error":
        return _balanced_errors(truth, predicted, w)
    if metric == "f1":
        return 1.0 - _f1(truth, predicted, w, _count(truth, probabilities, predicted))
    if probabilities is None:
        return np.full(len(truth), math.nan)
    if metric == "auc":
        return 1.0 - _areas(truth, probabilities, w)
    return log_losses(probabilities, truth)


def log_losses(probabilities: Floats, truth: Ints) -> Floats:
    """−log p of the true class, row by row; an unknown class (code −1) has p = 0."""
    known = truth >= 0
    p = np.zeros(len(truth))
    p[known] = probabilities[np.flatnonzero(known), truth[known]]
    return np.asarray(-np.log(np.clip(p, SMALLEST, 1.0)))


def _count(truth: Ints, probabilities: Floats | None, predicted: Ints) -> int:
    """Number of classes."""
    if probabilities is not None:
        return int(probabilities.shape[1])
    return int(max(truth.max(), predicted.max())) + 1


def _balanced_errors(truth: Ints, predicted: Ints, w: Floats) -> Floats:
    """B + W (1[wrong] − eₖ) / (K Wₖ), where B = Σ eₖ / K over the K classes that have rows."""
    wrong = (truth != predicted).astype(float)
    present = np.unique(truth[w > 0])
    centered, rates = np.zeros(len(truth)), []
    for code in present:
        mine = truth == code
        weight = w[mine].sum()
        rates.append(float(w[mine] @ wrong[mine] / weight))
        centered[mine] = (wrong[mine] - rates[-1]) * w.sum() / (len(present) * weight)
    return np.asarray(np.mean(rates) + centered)


def _f1(truth: Ints, predicted: Ints, w: Floats, k: int) -> Floats:
    """F1 and the influence of each row: of the second of two classes, or the mean over classes."""

    def one(code: int) -> Floats:
        mine, answered = truth == code, predicted == code
        both = mine.astype(float) + answered
        total = w @ both
        if total <= 0:
            return np.zeros(len(truth))
        value = 2.0 * (w @ (mine & answered)) / total
        return np.asarray(value + (2.0 * (mine & answered) - value * both) * w.sum() / total)

    if k <= 2 and truth.min() >= 0:
        return one(1)
    return _mean_over(np.union1d(truth[w > 0], predicted[w > 0]), one)


def _areas(truth: Ints, probabilities: Floats, w: Floats) -> Floats:
    """AUC and the influence of each row: of two classes, or the mean of each against the rest."""
    if probabilities.shape[1] == 2:
        return _area(truth == 1, probabilities[:, 1], w)
    present = np.unique(truth[(w > 0) & (truth >= 0)])
    if not len(present):  # no row of a class that training had
        return np.full(len(truth), math.nan)
    return _mean_over(present, lambda code: _area(truth == code, probabilities[:, code], w))


def _mean_over(codes: NDArray[Any], score_of: Callable[[int], Floats]) -> Floats:
    """The mean of a metric over classes, row by row."""
    total = score_of(int(codes[0]))
    for code in codes[1:]:
        total = total + score_of(int(code))
    return np.asarray(total / len(codes))


def _area(mine: NDArray[np.bool_], score: Floats, w: Floats) -> Floats:
    """A + W (placement − A) / W_side; NaN where one side has no rows."""
    up, down = w[mine].sum(), w[~mine].sum()
    if up <= 0 or down <= 0:
        return np.full(len(mine), math.nan)
    place = np.empty(len(mine))
    place[mine] = measure.placements(score[mine], score[~mine], w[~mine])
    place[~mine] = 1.0 - measure.placements(score[~mine], score[mine], w[mine])
    area = measure.average(place[mine], w[mine])
    return np.asarray(area + (place - area) * w.sum() / np.where(mine, up, down))


# -------------------------------------------------------------------------------------------------
# Decisions of least expected cost, with the option to reject, and their cost on the test set.
#
# answer = argmin over j of Σᵢ pᵢ cost[i, j],  a rejection being one of the answers if it has a cost


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
            costs_among = self.among(model.classes_)
            columns = (
                [costs_among.matrix]
                if costs_among.reject_cost is None
                else [costs_among.matrix, costs_among.reject_cost[:, None]]
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
    costs_given = costs_of(costs, classes, label)
    if reject is not None and costs_given.reject_cost is not None:
        raise InputError(
            "The cost of a rejection is given twice, among the costs and by itself.",
            remedy="Leave out `reject`, or rejections in `costs`.",
        )
    if reject is not None:
        costs_given = Costs(costs_given.matrix, np.full(len(classes), float(reject)))
    _refuse_rewarded_errors(costs_given, classes)
    return DecisionCosts(classes, costs_given, label, None)


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
    costs_among, label = decisions.among(classes), decisions.reject_label
    if costs_among.reject_cost is None:
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
    if uniform @ costs_among.reject_cost >= costs_among.expected(uniform[None]).min():
        messages.append(
            f"At a cost of {decisions.flat:g} a rejection is never cheaper than a guess among "
            f"{len(classes)} classes (lower `reject`)."
        )
    return messages


def evaluate(decisions: DecisionCosts, known: NDArray[Any], test: Predictions) -> Decision:
    """Cost, coverage and risk of the decisions on the test set."""
    assert test.probabilities is not None
    costs_among, truth = decisions.among(known), codes_of(test.truth, decisions.classes)
    at = codes_of(known, decisions.classes)
    w = unit_weights(test.w, len(truth))
    answers = costs_among.decide(test.probabilities)
    covered = answers < len(known)
    costs = _cost_by_row(decisions.costs, truth, at, answers)
    plain = _cost_by_row(decisions.costs, truth, at, test.probabilities.argmax(axis=1))
    none = Score("risk", math.nan, math.nan, math.nan)
    return Decision(
        costs_among,
        decisions.reject_label,
        measure.mean_score("cost", costs, w),
        measure.proportion_score("coverage", covered, w),
        measure.mean_score("risk", costs[covered], w[covered]) if (w[covered] > 0).any() else none,
        measure.mean_score("cost", plain, w),
    )


def _cost_by_row(costs: Costs, truth: Ints, indices: Ints, answers: Ints) -> Floats:
    """What every answer cost; the position after the last class is a rejection."""
    matrix = costs.matrix[:, indices]
    rejection = np.zeros(len(matrix)) if costs.reject_cost is None else costs.reject_cost
    return np.asarray(np.column_stack([matrix, rejection])[truth, answers])


# -------------------------------------------------------------------------------------------------
# Scores of a classifier on the test set with 95 % intervals, over all rows and by class.
#
# Proportions (error rate, precision, recall) have Wilson's interval. F1 = 2J / (1 + J) has that of
# J, the proportion of right answers among the rows that are of the class or are called so. A mean
# over classes combines the intervals of its terms (MOVER, Zou and Donner):
#
#     low = mean − √Σ(termₖ − lowₖ)² / K,      high = mean + √Σ(highₖ − termₖ)² / K


def scores_on_test(
    test: Predictions, classes: NDArray[Any], decision: Decision | None
) -> tuple[Score, ...]:
    """Scores of the answers; where there are costs, theirs, and those of the most probable class.

    F1 and AUC are those of the second of two classes, else means over the classes.
    """
    truth, w = codes_of(test.truth, classes), unit_weights(test.w, len(test.truth))
    p, answers = test.probabilities, codes_of(test.predicted, classes)
    if decision is not None:
        answers = _most_probable(test, classes)
    accuracy = measure.proportion_score("accuracy", truth == answers, w)
    error = Score("error", 1 - accuracy.value, 1 - accuracy.high, 1 - accuracy.low)
    scores = [] if p is None else [measure.mean_score("log_loss", log_losses(p, truth), w)]
    scores += [error, accuracy, *_over_classes(truth, answers, w, len(classes))]
    scores += _test_areas(test, truth, answers, w, len(classes))
    if decision is not None:
        scores.append(decision.cost)
        if decision.costs.reject_cost is not None:
            scores += [decision.coverage, decision.risk]
    return tuple(scores)


def scores_by_class(test: Predictions, classes: NDArray[Any]) -> tuple[ScoresOfClass, ...]:
    """Precision, recall, F1 and AUC of every class against all others."""
    truth, w = codes_of(test.truth, classes), unit_weights(test.w, len(test.truth))
    answers = codes_of(test.predicted, classes)
    if (answers < 0).any():  # rejections are not answers
        answers = _most_probable(test, classes)
    return tuple(
        ScoresOfClass(
            str(label),
            _proportion("precision", truth == code, answers == code, w),
            _proportion("recall", answers == code, truth == code, w),
            _test_f1(truth == code, answers == code, w),
            _area_of(test.probabilities, truth == code, code, w),
            float(w @ (truth == code)),
            float(w @ (answers == code)),
        )
        for code, label in enumerate(classes.tolist())
    )


def _most_probable(test: Predictions, classes: NDArray[Any]) -> Ints:
    """Codes of the most probable classes."""
    if test.probabilities is None:
        return codes_of(test.predicted, classes)
    return np.asarray(test.probabilities.argmax(axis=1), dtype=np.int64)


def _over_classes(truth: Ints, answers: Ints, w: Floats, k: int) -> list[Score]:
    """Balanced error and F1."""
    present = np.unique(truth[w > 0])
    rates = [_proportion("error", answers != c, truth == c, w) for c in present]
    balanced = mean_of_terms("balanced_error", rates)
    if k == 2 and present.min(initial=0) >= 0:
        return [balanced, _test_f1(truth == 1, answers == 1, w)]
    named = np.union1d(present, answers[w > 0])
    macro = mean_of_terms("f1", [_test_f1(truth == c, answers == c, w) for c in named])
    normal = measure.rate_score("f1", 1.0 - row_losses("f1", truth, None, answers, w), w)
    return [balanced, wider(macro, normal)]


def wider(score: Score, other: Score) -> Score:
    """The wider of two intervals.

    That of the terms knows nothing of their correlation (one error lowers two of them), and that
    of a normal distribution is empty where there is no error.
    """
    return Score(score.metric, score.value, min(score.low, other.low), max(score.high, other.high))


def _test_areas(test: Predictions, truth: Ints, answers: Ints, w: Floats, k: int) -> list[Score]:
    """The area under the ROC curve, of the scores of two classes; nothing where not defined."""
    if k == 2 and test.scores is not None:
        margin = np.asarray(test.scores, dtype=float).reshape(len(truth), -1)
        score = measure.auc_score(
            truth == 1, margin[:, -1] - (margin[:, 0] if margin.shape[1] > 1 else 0), w
        )
        return [] if math.isnan(score.value) else [score]
    losses = row_losses("auc", truth, test.probabilities, answers, w)
    if not np.isfinite(losses).all():
        return []
    assert test.probabilities is not None
    present = np.unique(truth[(w > 0) & (truth >= 0)])
    terms = [measure.auc_score(truth == c, test.probabilities[:, c], w) for c in present]
    return [wider(measure.rate_score("auc", 1.0 - losses, w), mean_of_terms("auc", terms))]


def _area_of(p: Floats | None, mine: NDArray[np.bool_], code: int, w: Floats) -> Score:
    if p is None:
        return Score("auc", math.nan, math.nan, math.nan)
    return measure.auc_score(mine, p[:, code], w)


def _proportion(metric: str, hit: NDArray[np.bool_], among: NDArray[np.bool_], w: Floats) -> Score:
    """A proportion of some of the rows; NaN where there are none."""
    if not (w[among] > 0).any():
        return Score(metric, math.nan, math.nan, math.nan)
    return measure.proportion_score(metric, hit[among], w[among])


def _test_f1(mine: NDArray[np.bool_], called: NDArray[np.bool_], w: Floats) -> Score:
    """F1 = 2J / (1 + J); zero for a class that is neither there nor predicted."""
    j = _proportion("f1", mine & called, mine | called, w)
    if math.isnan(j.value):
        return Score("f1", 0.0, math.nan, math.nan)
    return Score("f1", *(2 * v / (1 + v) for v in (j.value, j.low, j.high)))


def mean_of_terms(metric: str, terms: Sequence[Score]) -> Score:
    """The mean over classes, with the interval of its terms combined."""
    value, low, high = (
        np.array([getattr(s, end) for s in terms]) for end in ("value", "low", "high")
    )
    mean = float(value.mean())
    down, up = (float(np.sqrt((d**2).sum()) / len(terms)) for d in (value - low, high - value))
    return Score(metric, mean, max(0.0, mean - down), min(1.0, mean + up))
