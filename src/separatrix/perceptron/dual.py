"""The perceptron in its dual form: rows remember how often they were mistaken.

    f(x) = Σ αⱼ yⱼ (κ(xⱼ, x) + c),     αᵢ ← αᵢ + w̃ᵢ  where yᵢ f(xᵢ) ≤ 0

c is 1 with an intercept, else 0. The scores of all rows are kept up to date, so a mistake costs one
row of the Gram matrix and a correct row costs nothing. Rows of the matrix are computed when they
are first mistaken, and the most recent ones are kept within a given memory.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from separatrix.kernels.base import PreparedKernel
from separatrix.perceptron.epochs import Plan, epochs
from separatrix.perceptron.loops import next_mistake
from separatrix.rows.block import Floats, Ints

#: Rows of the Gram matrix that are computed together at most, and how far ahead they are sought.
AHEAD, HORIZON = 4, 1024


@dataclass(frozen=True)
class DualWalk:
    """``weights`` αy (n x outputs) to be used, the scores that belong to them, and the history.

    ``computed`` counts rows of the Gram matrix, ``megabytes`` is the most that they took at once.
    """

    weights: Floats
    scores: Floats
    mistakes: NDArray[np.int64]
    status: str
    computed: int
    megabytes: float


class GramRows:
    """Rows κ(xᵢ, ·) + c on demand, the least recently used ones forgotten first."""

    def __init__(self, prepared: PreparedKernel, megabytes: float, constant: float) -> None:
        self.prepared, self.constant = prepared, constant
        self.n = len(prepared)
        self.most = max(1, int(megabytes * 1e6 / (8 * self.n)))
        self.rows: OrderedDict[int, Floats] = OrderedDict()
        self.computed, self.peak = 0, 0

    def get(self, i: int, others: list[int]) -> Floats:
        """Row i; if it must be computed, so are the ``others`` that are not there."""
        row = self.rows.get(i)
        if row is not None:
            self.rows.move_to_end(i)
            return row
        wanted = [i, *(j for j in others if j != i and j not in self.rows)][: self.most]
        block = np.asarray(self.prepared.take(np.array(wanted)), dtype=np.float64)
        block += self.constant
        self.computed += len(wanted)
        for j, values in zip(wanted[::-1], block[::-1], strict=True):
            self.rows[j] = values.copy()
        while len(self.rows) > self.most:
            self.rows.popitem(last=False)
        self.peak = max(self.peak, len(self.rows))
        return self.rows[i]


class _Expansion:
    """Weights αy and scores of all rows (outputs x n), and those that will be returned."""

    def __init__(self, codes: Ints, own: Ints, rate: Floats, plan: Plan) -> None:
        self.rate, self.plan = rate, plan
        self.sides = np.where(codes == own[:, None], 1.0, -1.0)
        shape = self.sides.shape
        self.weights, self.scores = np.zeros(shape), np.zeros(shape)
        # by averaging: sums of steps times rows seen before them; by pocket: the best so far
        self.other_weights, self.other_scores = np.zeros(shape), np.zeros(shape)
        self.fewest = np.full(shape[0], np.inf)

    def learn(self, k: int, i: int, row: Floats, seen: int) -> None:
        """Output k was mistaken about row i."""
        step = float(self.sides[k, i] * self.rate[i])
        blas.daxpy(row, self.scores[k], a=step)
        self.weights[k, i] += step
        if self.plan.average:
            blas.daxpy(row, self.other_scores[k], a=seen * step)
            self.other_weights[k, i] += seen * step
        elif self.plan.pocket:
            wrong = float(self.rate @ (self.sides[k] * self.scores[k] <= 0.0))
            if wrong < self.fewest[k]:
                self.fewest[k] = wrong
                self.other_weights[k], self.other_scores[k] = self.weights[k], self.scores[k]

    def coming(self, order: Ints, position: int) -> list[int]:
        """The next rows of the order that are on a wrong side as things stand."""
        ahead = order[position : position + HORIZON]
        wrong = (self.sides[:, ahead] * self.scores[:, ahead] <= 0.0).any(axis=0)
        return [int(i) for i in ahead[wrong][:AHEAD]]

    def settled(self) -> bool:
        """Whether every row is strictly on its side of every output."""
        return bool((self.sides * self.scores > 0.0).all())

    def chosen(self, seen: int) -> tuple[Floats, Floats]:
        """Weights and scores to be returned."""
        if self.plan.pocket:
            return self.other_weights, self.other_scores
        if self.plan.average:
            share = 1.0 / max(seen, 1)
            return (
                self.weights - share * self.other_weights,
                self.scores - share * self.other_scores,
            )
        return self.weights, self.scores


def walk_dual(
    gram: GramRows,
    codes: Ints,
    own: Ints,
    rate: Floats,
    plan: Plan,
    random: np.random.RandomState | None = None,
) -> DualWalk:
    """Epochs from zero until one is without mistake, or the limit is reached."""
    expansion = _Expansion(codes, own, rate, plan)
    history: list[Ints] = []
    status, seen = "limit reached", 0
    for order in epochs(plan, gram.n, random):
        mistakes, at = np.zeros(len(own), dtype=np.int64), np.zeros(2, dtype=np.int64)
        while next_mistake(expansion.scores, codes, own, order, at):
            i, k = int(order[at[0]]), int(at[1])
            others = [] if i in gram.rows else expansion.coming(order, int(at[0]))
            expansion.learn(k, i, gram.get(i, others), seen + int(at[0]))
            mistakes[k] += 1
            at[1] += 1
        history.append(mistakes)
        seen += len(order)
        if not mistakes.any() and expansion.settled():
            status = "converged"
            break
    weights, scores = expansion.chosen(seen)
    return DualWalk(
        weights.T.copy(),
        scores.T.copy(),
        np.array(history),
        status,
        gram.computed,
        gram.peak * gram.n * 8 / 1e6,
    )
