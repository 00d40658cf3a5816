"""Scores of a stream's test part, from sums of one pass: losses, confusions, rankings, bins.

Everything but rankings is exact: proportions follow from the weights of each pair of truth and
answer, and from the sums of their squares, which the effective number of rows needs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from separatrix.estimators.targets import codes_of
from separatrix.probability.costs import Costs
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.rows import InMemory, merged
from separatrix.rows.schema import NO_TERMS, Schema, Term, Terms
from separatrix.statistics.moments import Moments
from separatrix.study.classes.metrics import log_losses
from separatrix.study.classes.out_of_fold import aligned_probabilities
from separatrix.study.classes.streaming.comparison import BINS
from separatrix.study.classes.streaming.ranking import ALL_KEYS, MOST_KEYS, Ranking
from separatrix.study.design import scores_for
from separatrix.study.folds import TEST


class TestSums:
    """Sums over the test rows for one model; ``core`` is the estimator that scores are of.

    ``cells`` and ``squares`` (2 x (K + 1) x (K + 1)) are Σw and Σw² by truth (the last one: a class
    that training does not have) and answer (the last one: a rejection), first for the answers of
    the model, then for the most probable class. ``bins`` are as in a comparison, ``losses`` the
    moments of log loss and Brier score, and ``rankings`` those of each class, or of the second of
    two.
    """

    __test__ = False

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
        found, w = rows.block.indicators(self.targets), rows.block.weights
        truth = np.where(found.max(axis=1, initial=0.0) > 0.5, found.argmax(axis=1), -1)
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
        x = np.column_stack([log_losses(p, truth), ((p - known) ** 2).sum(axis=1)])
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
        total.rankings = merged(self.rankings, other.rankings)
        return total
