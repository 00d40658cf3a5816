"""Scores of the test part from its sums, as from the rows: values, and 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.estimators.base import codes_of
from separatrix.probability.costs import Costs
from separatrix.probability.reliability import wilson
from separatrix.rows.rows import InMemory, merge
from separatrix.rows.schema import NO_TERMS, Block, Schema, Term, Terms
from separatrix.rows.split import TEST
from separatrix.statistics.moments import Moments
from separatrix.study import class_scores
from separatrix.study.design import scores_for
from separatrix.study.measure import Z95
from separatrix.study.out_of_fold import aligned_probabilities
from separatrix.study.result import Decision, Score, ScoresOfClass
from separatrix.study.streaming.comparison import BINS

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class ConfusionCells:
    """Pairs of truth and answer with their weights and sums of squared weights.

    A truth of −1 is a class that training does not have, an answer of −1 a rejection.
    """

    truth: Ints
    answer: Ints
    w: Floats
    squares: Floats

    @classmethod
    def of(cls, sums: SumsOverTestRows, which: int) -> ConfusionCells:
        """Those of the answers (0), or of the most probable classes (1)."""
        k = len(sums.targets)
        truth, answer = (index.ravel() for index in np.indices((k + 1, k + 1)))
        w, squares = sums.cells[which].ravel(), sums.squares[which].ravel()
        some = w > 0
        codes = [np.where(v == k, -1, v)[some].astype(np.int64) for v in (truth, answer)]
        return cls(codes[0], codes[1], w[some], squares[some])

    def size(self, among: Mask | None = None) -> float:
        """The effective number of rows."""
        rows = slice(None) if among is None else among
        return float(self.w[rows].sum() ** 2 / self.squares[rows].sum())

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


def stream_scores(sums: SumsOverTestRows, decision: Decision | None) -> tuple[Score, ...]:
    """As :func:`separatrix.study.class_scores.scores_on_test`, from sums."""
    cells, k = ConfusionCells.of(sums, 1), len(sums.targets)
    accuracy = cells.proportion("accuracy", cells.truth == cells.answer)
    error = Score("error", 1 - accuracy.value, 1 - accuracy.high, 1 - accuracy.low)
    scores = [log_loss_score(sums, cells)] if sums.losses.count else []
    scores += [error, accuracy, *_over_classes(cells, k), *_areas(sums)]
    if decision is not None:
        scores.append(decision.cost)
        if decision.costs.reject_cost is not None:
            scores += [decision.coverage, decision.risk]
    return tuple(scores)


def log_loss_score(sums: SumsOverTestRows, cells: ConfusionCells) -> Score:
    """The mean log loss with its normal interval."""
    m = sums.losses
    mean, variance = float(m.mean[0]), max(float(m.scatter[0, 0]) / m.weight, 0.0)
    half = Z95 * (variance / max(cells.size() - 1, 1)) ** 0.5
    return Score("log_loss", mean, max(0.0, mean - half), mean + half)


def _over_classes(cells: ConfusionCells, k: int) -> list[Score]:
    """Balanced error and F1."""
    present = np.unique(cells.truth)
    rates = [
        cells.proportion("error", cells.answer != c, cells.truth == c) for c in present.tolist()
    ]
    balanced = class_scores.mean_of_terms("balanced_error", rates)
    if k == 2 and present.min(initial=0) >= 0:
        return [balanced, cells.f1(1)]
    named = np.union1d(present, cells.answer)
    macro = class_scores.mean_of_terms("f1", [cells.f1(int(c)) for c in named])
    losses = class_scores.row_losses("f1", cells.truth, None, cells.answer, cells.w)
    normal = cells.mean("f1", 1.0 - losses)
    return [
        balanced,
        class_scores.wider(macro, Score("f1", normal.value, normal.low, min(1.0, normal.high))),
    ]


def _areas(sums: SumsOverTestRows) -> list[Score]:
    """The area under the ROC curve: of the second of two classes, or the mean over classes."""
    terms = [sums.rankings[code].area for code in sorted(sums.rankings)]
    terms = [term for term in terms if not math.isnan(term.value)]
    if not terms:
        return []
    return [terms[0] if len(sums.targets) == 2 else class_scores.mean_of_terms("auc", terms)]


def stream_class_scores(sums: SumsOverTestRows) -> tuple[ScoresOfClass, ...]:
    """Precision, recall, F1 and AUC of every class against all others."""
    cells = ConfusionCells.of(sums, 0)
    if (cells.answer < 0).any():  # rejections are not answers
        cells = ConfusionCells.of(sums, 1)
    nan = Score("auc", math.nan, math.nan, math.nan)
    scores = []
    for code, term in enumerate(sums.targets):
        mine, called = cells.truth == code, cells.answer == code
        ranking = sums.rankings.get(1 if len(sums.targets) == 2 else code)
        scores.append(
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
    return tuple(scores)


def stream_decision(
    sums: SumsOverTestRows, decisions: class_scores.DecisionCosts, costs_among: Costs
) -> Decision:
    """Cost, coverage and risk of the decisions on the test part."""
    made, plain = ConfusionCells.of(sums, 0), ConfusionCells.of(sums, 1)
    costs = costs_among.with_reject[made.truth, made.answer]
    without = costs_among.matrix[plain.truth, plain.answer]
    covered = made.answer >= 0
    return Decision(
        costs_among,
        decisions.reject_label,
        made.mean("cost", costs),
        made.proportion("coverage", covered),
        made.mean("risk", costs, covered),
        plain.mean("cost", without),
    )


# -------------------------------------------------------------------------------------------------
# Scores of a stream's test part, from sums of one pass: losses, confusions, rankings, bins.
#
# Everything but rankings is exact: proportions follow from the weights of each pair of truth and
# answer, and from the sums of their squares, which the effective number of rows needs.


class SumsOverTestRows:
    """Sums over the test rows for one model; ``core`` is the estimator that scores are of.

    ``cells`` and ``squares`` (2 x (K + 1) x (K + 1)) are Σw and Σw² by truth (the last one: a class
    that training does not have) and answer (the last one: a rejection), first for the answers of
    the model, then for the most probable class. ``bins`` are as in a comparison, ``losses`` the
    moments of log loss and Brier score, and ``rankings`` those of each class, or of the second of
    two.
    """

    def __init__(
        self, schema: Schema, targets: Terms, core: Any, model: Any, costs: Costs | None = None
    ) -> None:
        self.schema, self.targets = schema, targets
        self.core, self.model, self.costs = core, model, costs
        k = len(targets)
        self.cells, self.squares = np.zeros((2, k + 1, k + 1)), np.zeros((2, k + 1, k + 1))
        self.bins, self.losses = np.zeros((3, BINS)), Moments()
        self.rankings: dict[int, Ranking] = {}

    def fresh(self) -> Self:
        """An empty one for the same model."""
        return type(self)(self.schema, self.targets, self.core, self.model, self.costs)

    def update(self, block: Block) -> None:
        """Add the rows of a block that are of the test part."""
        assert block.parts is not None, "the rows have no parts"
        block = block.take(np.flatnonzero(block.parts == TEST))
        if block.n:
            self._add(InMemory(self.schema, block))

    def _add(self, rows: InMemory) -> None:
        classes = np.array([str(term.level) for term in self.targets], dtype=object)
        indicators, w = rows.block.indicators(self.targets), rows.block.weights
        truth = np.where(indicators.max(axis=1, initial=0.0) > 0.5, indicators.argmax(axis=1), -1)
        p = aligned_probabilities(self.model, rows, classes)
        likeliest = codes_of(self.model.predict(rows), classes) if p is None else p.argmax(axis=1)
        answers = likeliest if self.costs is None or p is None else self.costs.decide(p)
        for which, given in enumerate((answers, likeliest)):
            self._count(which, truth, np.asarray(given, dtype=np.int64), w)
        if p is None:
            return
        self._add_losses(truth, p, w)
        self._add_ranks(rows, truth, p, w)

    def _count(self, which: int, truth: Ints, answers: Ints, w: Floats) -> None:
        k = len(self.targets)
        at = np.where(truth < 0, k, truth) * (k + 1) + np.where(answers < 0, k, answers)
        for total, values in ((self.cells, w), (self.squares, w * w)):
            total[which] += np.bincount(at, values, (k + 1) ** 2).reshape(k + 1, k + 1)

    def _add_losses(self, truth: Ints, p: Floats, w: Floats) -> None:
        known = truth[:, None] == np.arange(p.shape[1])
        x = np.column_stack([class_scores.log_losses(p, truth), ((p - known) ** 2).sum(axis=1)])
        terms = Terms((Term("log_loss"), Term("brier")))
        self.losses.update(Block(x, np.empty((len(w), 0)), w, terms, NO_TERMS))
        confidence = np.clip(p.max(axis=1), 0.0, 1.0)
        at = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
        right = p.argmax(axis=1) == truth
        sums = [np.bincount(at, v, BINS) for v in (w, w * confidence, w * right)]
        self.bins += np.array(sums)

    def _add_ranks(self, rows: InMemory, truth: Ints, p: Floats, w: Floats) -> None:
        positive = w > 0
        truth, p, w = truth[positive], p[positive], w[positive]
        k = p.shape[1]
        most = min(MOST_KEYS, max(256, ALL_KEYS // k))
        scores = scores_for(self.core, rows) if k == 2 else None
        for code in range(k) if k > 2 else (1,):
            values = p[:, code]
            if scores is not None:
                line = np.asarray(scores, dtype=float).reshape(rows.block.n, -1)[positive]
                values = line[:, -1] - (line[:, 0] if line.shape[1] > 1 else 0.0)
            start = self.rankings.get(code, Ranking(most))
            self.rankings[code] = start + start.of(values, truth == code, w)

    def counted_as(self, n: int) -> None:
        """Let intervals count so many rows, for which simulated ones stand."""
        factor = self.cells[1].sum() ** 2 / self.squares[1].sum() / n
        self.squares *= factor
        self.rankings = {
            code: replace(r, squares=(factor * r.squares[0], factor * r.squares[1]))
            for code, r in self.rankings.items()
        }

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.cells, total.squares = self.cells + other.cells, self.squares + other.squares
        total.bins, total.losses = self.bins + other.bins, self.losses + other.losses
        total.rankings = merge(self.rankings, other.rankings)
        return total


# -------------------------------------------------------------------------------------------------
# A sketch of scores by which a stream is ranked: ROC curves and areas at a stated resolution.
#
#     key = the bits of a score, in the order of numbers, without the last ``shift`` of them
#
# Scores of equal key are ties. The sketch is exact while there are few distinct scores; beyond
# ``most`` keys the last bit is dropped from all. It merges with ``+``. The area is that of the
# curve with ties; half of the pairs that are tied bound what the ties may change.


#: Distinct keys of the scores of one class, and of all classes together.
MOST_KEYS, ALL_KEYS = 16_384, 131_072
_SIGN = np.uint64(1) << np.uint64(63)

Keys = NDArray[np.uint64]


def ordered_bits(values: Floats) -> Keys:
    """Whole numbers in the order of the values."""
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


@dataclass(frozen=True)
class Ranking:
    """Weights of positive and other rows by key, in order; ``squares`` are Σw² of both kinds."""

    most: int = MOST_KEYS
    shift: int = 0
    keys: Keys = field(default_factory=lambda: np.zeros(0, dtype=np.uint64))
    positive: Floats = field(default_factory=lambda: np.zeros(0))
    other: Floats = field(default_factory=lambda: np.zeros(0))
    squares: tuple[float, float] = (0.0, 0.0)

    def of(self, scores: Floats, is_positive: NDArray[np.bool_], w: Floats) -> Ranking:
        """The sketch of some rows."""
        keys, at = np.unique(ordered_bits(scores), return_inverse=True)
        up, down = w * is_positive, w * ~is_positive
        sums = [np.bincount(at, v, len(keys)).astype(float) for v in (up, down)]
        squares = float(up @ up), float(down @ down)
        return Ranking(self.most, 0, keys, sums[0], sums[1], squares).coarser(self.shift)

    def coarser(self, shift: int) -> Ranking:
        """With at least so many bits dropped, and no more keys than allowed."""
        ranking = self
        if shift > ranking.shift:
            ranking = ranking._shift(shift)
        while len(ranking.keys) > ranking.most:
            ranking = ranking._shift(ranking.shift + 1)
        return ranking

    def _shift(self, shift: int) -> Ranking:
        keys, at = np.unique(self.keys >> np.uint64(shift - self.shift), return_inverse=True)
        sums = [np.bincount(at, v, len(keys)).astype(float) for v in (self.positive, self.other)]
        return replace(self, shift=shift, keys=keys, positive=sums[0], other=sums[1])

    def __add__(self, other: Ranking) -> Ranking:
        shift = max(self.shift, other.shift)
        a, b = self.coarser(shift), other.coarser(shift)
        shift = max(a.shift, b.shift)
        a, b = a.coarser(shift), b.coarser(shift)
        keys, at = np.unique(np.concatenate([a.keys, b.keys]), return_inverse=True)
        sums = [
            np.bincount(at, np.concatenate(pair), len(keys)).astype(float)
            for pair in ((a.positive, b.positive), (a.other, b.other))
        ]
        squares = (a.squares[0] + b.squares[0], a.squares[1] + b.squares[1])
        return Ranking(self.most, shift, keys, sums[0], sums[1], squares).coarser(shift)

    # -- finished numbers ----------------------------------------------------------------------

    @property
    def area(self) -> Score:
        """The area under the ROC curve, ties counting one half, with DeLong's interval.

        NaN where there are rows of one kind alone.
        """
        up, down = float(self.positive.sum()), float(self.other.sum())
        if not (up > 0 and down > 0):
            return Score("auc", np.nan, np.nan, np.nan)
        below = np.cumsum(self.other) - 0.5 * self.other
        above = up - np.cumsum(self.positive) + 0.5 * self.positive
        area = float(self.positive @ below) / (up * down)
        sizes = [up**2 / self.squares[0], down**2 / self.squares[1]]
        spread = (
            float(self.positive @ (below / down - area) ** 2) / up,
            float(self.other @ (above / up - area) ** 2) / down,
        )
        variance = sum(v / max(n - 1, 1) for v, n in zip(spread, sizes, strict=True))
        if variance == 0.0 and area in (0.0, 1.0):  # every pair in order, on so few rows
            return Score("auc", area, *wilson(area, min(sizes)).tolist())
        half = Z95 * variance**0.5
        return Score("auc", area, max(0.0, area - half), min(1.0, area + half))

    @property
    def resolution(self) -> float:
        """What ties may change of the area at most: half the share of pairs that are tied."""
        up, down = float(self.positive.sum()), float(self.other.sum())
        if not (up > 0 and down > 0) or not self.shift:
            return 0.0
        return 0.5 * float(self.positive @ self.other) / (up * down)
