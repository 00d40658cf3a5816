"""Scores of the test part from its sums, as from the rows: values, and 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from separatrix.probability.costs import Costs
from separatrix.probability.proportions import wilson
from separatrix.rows.block import Floats, Ints
from separatrix.study.classes.costs import DecisionCosts
from separatrix.study.classes.metrics import row_losses
from separatrix.study.classes.scores import mean_of_terms, wider
from separatrix.study.classes.streaming.test_sums import TestSums
from separatrix.study.measure import Z95
from separatrix.study.result import Decision, Score, ScoresOfClass

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Cells:
    """Pairs of truth and answer with their weights and sums of squared weights.

    A truth of −1 is a class that training does not have, an answer of −1 a rejection.
    """

    truth: Ints
    answer: Ints
    w: Floats
    squares: Floats

    @classmethod
    def of(cls, sums: TestSums, which: int) -> Cells:
        """Those of the answers (0), or of the most probable classes (1)."""
        k = len(sums.targets)
        truth, answer = (index.ravel() for index in np.indices((k + 1, k + 1)))
        w, squares = sums.cells[which].ravel(), sums.squares[which].ravel()
        some = w > 0
        codes = [np.where(v == k, -1, v)[some].astype(np.int64) for v in (truth, answer)]
        return cls(codes[0], codes[1], w[some], squares[some])

    def size(self, among: Mask | None = None) -> float:
        """The effective number of rows."""
        own = slice(None) if among is None else among
        return float(self.w[own].sum() ** 2 / self.squares[own].sum())

    def proportion(self, metric: str, hit: Mask, among: Mask | None = None) -> Score:
        """A proportion of some of the rows with Wilson's interval; NaN where there are none."""
        inside = np.ones(len(self.w), dtype=bool) if among is None else among
        total = float(self.w[inside].sum())
        if not total > 0:
            return Score(metric, math.nan, math.nan, math.nan)
        value = float(self.w[hit & inside].sum()) / total
        return Score(metric, value, *wilson(value, self.size(inside)).tolist())

    def mean(self, metric: str, values: Floats, among: Mask | None = None) -> Score:
        """A mean of values by cell with its normal interval, never below zero if no value is."""
        inside = np.ones(len(self.w), dtype=bool) if among is None else among
        if not inside.any():
            return Score(metric, math.nan, math.nan, math.nan)
        v, w = values[inside], self.w[inside]
        mean = float(np.average(v, weights=w))
        variance = float(np.average((v - mean) ** 2, weights=w))
        half = Z95 * (variance / max(self.size(inside) - 1, 1)) ** 0.5
        low = max(0.0, mean - half) if v.min() >= 0 else mean - half
        return Score(metric, mean, low, mean + half)

    def f1(self, code: int) -> Score:
        """F1 = 2J / (1 + J); zero for a class that is neither there nor predicted."""
        mine, called = self.truth == code, self.answer == code
        j = self.proportion("f1", mine & called, mine | called)
        if math.isnan(j.value):
            return Score("f1", 0.0, math.nan, math.nan)
        return Score("f1", *(2 * v / (1 + v) for v in (j.value, j.low, j.high)))


def stream_scores(sums: TestSums, decision: Decision | None) -> tuple[Score, ...]:
    """As :func:`separatrix.study.classes.scores.scores_on_test`, from sums."""
    cells, k = Cells.of(sums, 1), len(sums.targets)
    accuracy = cells.proportion("accuracy", cells.truth == cells.answer)
    error = Score("error", 1 - accuracy.value, 1 - accuracy.high, 1 - accuracy.low)
    found = [log_loss_score(sums, cells)] if sums.losses.count else []
    found += [error, accuracy, *_over_classes(cells, k), *_areas(sums)]
    if decision is not None:
        found.append(decision.cost)
        if decision.costs.reject_cost is not None:
            found += [decision.coverage, decision.risk]
    return tuple(found)


def log_loss_score(sums: TestSums, cells: Cells) -> Score:
    """The mean log loss with its normal interval."""
    m = sums.losses
    mean, variance = float(m.mean[0]), max(float(m.scatter[0, 0]) / m.weight, 0.0)
    half = Z95 * (variance / max(cells.size() - 1, 1)) ** 0.5
    return Score("log_loss", mean, max(0.0, mean - half), mean + half)


def _over_classes(cells: Cells, k: int) -> list[Score]:
    """Balanced error and F1."""
    present = np.unique(cells.truth)
    rates = [
        cells.proportion("error", cells.answer != c, cells.truth == c) for c in present.tolist()
    ]
    balanced = mean_of_terms("balanced_error", rates)
    if k == 2 and present.min(initial=0) >= 0:
        return [balanced, cells.f1(1)]
    named = np.union1d(present, cells.answer)
    macro = mean_of_terms("f1", [cells.f1(int(c)) for c in named])
    losses = row_losses("f1", cells.truth, None, cells.answer, cells.w)
    normal = cells.mean("f1", 1.0 - losses)
    return [balanced, wider(macro, Score("f1", normal.value, normal.low, min(1.0, normal.high)))]


def _areas(sums: TestSums) -> list[Score]:
    """The area under the ROC curve: of the second of two classes, or the mean over classes."""
    terms = [sums.rankings[code].area for code in sorted(sums.rankings)]
    terms = [term for term in terms if not math.isnan(term.value)]
    if not terms:
        return []
    return [terms[0] if len(sums.targets) == 2 else mean_of_terms("auc", terms)]


def stream_class_scores(sums: TestSums) -> tuple[ScoresOfClass, ...]:
    """Precision, recall, F1 and AUC of every class against all others."""
    cells = Cells.of(sums, 0)
    if (cells.answer < 0).any():  # rejections are no answers
        cells = Cells.of(sums, 1)
    nan = Score("auc", math.nan, math.nan, math.nan)
    found = []
    for code, term in enumerate(sums.targets):
        mine, called = cells.truth == code, cells.answer == code
        ranking = sums.rankings.get(1 if len(sums.targets) == 2 else code)
        found.append(
            ScoresOfClass(
                str(term.level),
                cells.proportion("precision", mine, called),
                cells.proportion("recall", called, mine),
                cells.f1(code),
                nan if ranking is None else ranking.area,
                float(cells.w[mine].sum()),
                float(cells.w[called].sum()),
            )
        )
    return tuple(found)


def stream_decision(sums: TestSums, decisions: DecisionCosts, own: Costs) -> Decision:
    """Cost, coverage and risk of the decisions on the test part."""
    made, plain = Cells.of(sums, 0), Cells.of(sums, 1)
    costs = own.with_reject[made.truth, made.answer]
    without = own.matrix[plain.truth, plain.answer]
    covered = made.answer >= 0
    return Decision(
        own,
        decisions.reject_label,
        made.mean("cost", costs),
        made.proportion("coverage", covered),
        made.mean("risk", costs, covered),
        plain.mean("cost", without),
    )
