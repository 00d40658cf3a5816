"""Scores of a classifier on the test set with 95 % intervals, over all rows and by class.

Proportions (error rate, precision, recall) have Wilson's interval. F1 = 2J / (1 + J) has that of
J, the proportion of right answers among the rows that are of the class or are called so. A mean
over classes combines the intervals of its terms (MOVER, Zou and Donner):

    low = mean − √Σ(termₖ − lowₖ)² / K,      high = mean + √Σ(highₖ − termₖ)² / K
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.targets import codes_of
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.study.classes.metrics import log_losses, row_losses
from separatrix.study.measure import (
    auc_score,
    mean_score,
    proportion_score,
    rate_score,
)
from separatrix.study.result import Decision, Predictions, Score, ScoresOfClass


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
    accuracy = proportion_score("accuracy", truth == answers, w)
    error = Score("error", 1 - accuracy.value, 1 - accuracy.high, 1 - accuracy.low)
    found = [] if p is None else [mean_score("log_loss", log_losses(p, truth), w)]
    found += [error, accuracy, *_over_classes(truth, answers, w, len(classes))]
    found += _areas(test, truth, answers, w, len(classes))
    if decision is not None:
        found.append(decision.cost)
        if decision.costs.reject_cost is not None:
            found += [decision.coverage, decision.risk]
    return tuple(found)


def scores_by_class(test: Predictions, classes: NDArray[Any]) -> tuple[ScoresOfClass, ...]:
    """Precision, recall, F1 and AUC of every class against all others."""
    truth, w = codes_of(test.truth, classes), unit_weights(test.w, len(test.truth))
    answers = codes_of(test.predicted, classes)
    if (answers < 0).any():  # rejections are no answers
        answers = _most_probable(test, classes)
    return tuple(
        ScoresOfClass(
            str(label),
            _proportion("precision", truth == code, answers == code, w),
            _proportion("recall", answers == code, truth == code, w),
            _f1(truth == code, answers == code, w),
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
        return [balanced, _f1(truth == 1, answers == 1, w)]
    named = np.union1d(present, answers[w > 0])
    macro = mean_of_terms("f1", [_f1(truth == c, answers == c, w) for c in named])
    normal = rate_score("f1", 1.0 - row_losses("f1", truth, None, answers, w), w)
    return [balanced, wider(macro, normal)]


def wider(one: Score, other: Score) -> Score:
    """The wider of two intervals.

    That of the terms knows nothing of their correlation (one error lowers two of them), and that
    of a normal distribution is empty where there is no error.
    """
    return Score(one.metric, one.value, min(one.low, other.low), max(one.high, other.high))


def _areas(test: Predictions, truth: Ints, answers: Ints, w: Floats, k: int) -> list[Score]:
    """The area under the ROC curve, of the scores of two classes; nothing where not defined."""
    if k == 2 and test.scores is not None:
        margin = np.asarray(test.scores, dtype=float).reshape(len(truth), -1)
        score = auc_score(
            truth == 1, margin[:, -1] - (margin[:, 0] if margin.shape[1] > 1 else 0), w
        )
        return [] if math.isnan(score.value) else [score]
    losses = row_losses("auc", truth, test.probabilities, answers, w)
    if not np.isfinite(losses).all():
        return []
    assert test.probabilities is not None
    present = np.unique(truth[(w > 0) & (truth >= 0)])
    terms = [auc_score(truth == c, test.probabilities[:, c], w) for c in present]
    return [wider(rate_score("auc", 1.0 - losses, w), mean_of_terms("auc", terms))]


def _area_of(p: Floats | None, mine: NDArray[np.bool_], code: int, w: Floats) -> Score:
    if p is None:
        return Score("auc", math.nan, math.nan, math.nan)
    return auc_score(mine, p[:, code], w)


def _proportion(metric: str, hit: NDArray[np.bool_], among: NDArray[np.bool_], w: Floats) -> Score:
    """A proportion of some of the rows; NaN where there are none."""
    if not (w[among] > 0).any():
        return Score(metric, math.nan, math.nan, math.nan)
    return proportion_score(metric, hit[among], w[among])


def _f1(mine: NDArray[np.bool_], called: NDArray[np.bool_], w: Floats) -> Score:
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
