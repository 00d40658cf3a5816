"""Perceptron training in the dual: coefficients α count the mistakes on each row.

    f(x) = Σ αⱼ yⱼ (κ(xⱼ, x) + c),     αᵢ ← αᵢ + w̃ᵢ  where yᵢ f(xᵢ) ≤ 0

c is 1 with an intercept, else 0. The scores of all rows are updated at every mistake, so a mistake
costs one row of the Gram matrix and a correctly classified row costs nothing. Rows of the matrix
are computed at their first mistake and cached within a given memory, least recently used out first.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from separatrix.kernels.base import PreparedKernel
from separatrix.optimize.solution import Status
from separatrix.perceptron.loops import next_mistake
from separatrix.perceptron.training import TrainingOptions, epoch_orders
from separatrix.rows.block import Floats, Ints

#: Rows of the Gram matrix computed together at most, and how many rows ahead they are sought.
BATCH, LOOKAHEAD = 4, 1024


@dataclass(frozen=True)
class KernelTrainingResult:
    """Dual coefficients αy (n x outputs), the scores of the training rows, and the history."""

    coefficients: Floats
    scores: Floats
    mistakes: Ints
    status: Status


class GramCache:
    """Rows κ(xᵢ, ·) + c of the Gram matrix on demand, in an LRU cache of bounded size.

    ``computed`` counts kernel rows; ``peak`` is the largest number of rows cached at once.
    """

    def __init__(self, prepared: PreparedKernel, megabytes: float, constant: float) -> None:
        self.prepared, self.constant = prepared, constant
        self.n = len(prepared)
        self.capacity = max(1, int(megabytes * 1e6 / (8 * self.n)))
        self.rows: OrderedDict[int, Floats] = OrderedDict()
        self.computed, self.peak = 0, 0

    @property
    def peak_megabytes(self) -> float:
        """The most memory that cached rows took."""
        return self.peak * self.n * 8 / 1e6

    def get(self, i: int, others: list[int]) -> Floats:
        """Row i; if it must be computed, so are the ``others`` that are not cached."""
        row = self.rows.get(i)
        if row is not None:
            self.rows.move_to_end(i)
            return row
        wanted = [i, *(j for j in others if j != i and j not in self.rows)][: self.capacity]
        block = np.asarray(self.prepared.take(np.array(wanted)), dtype=np.float64)
        block += self.constant
        self.computed += len(wanted)
        for j, values in zip(wanted[::-1], block[::-1], strict=True):
            self.rows[j] = values.copy()
        while len(self.rows) > self.capacity:
            self.rows.popitem(last=False)
        self.peak = max(self.peak, len(self.rows))
        return self.rows[i]


class _DualVariables:
    """Coefficients αy and scores of all rows (outputs x n), and those that will be returned."""

    def __init__(
        self,
        codes: Ints,
        output_class: Ints,
        rate: Floats,
        options: TrainingOptions,
        start: Floats | None = None,
    ) -> None:
        self.rate, self.options = rate, options
        self.signs = np.where(codes == output_class[:, None], 1.0, -1.0)
        shape = self.signs.shape
        self.coefficients = np.zeros(shape)
        self.scores = np.zeros(shape) if start is None else np.ascontiguousarray(start.T)
        # averaging: sums of steps times rows seen before them; pocket: the best so far
        self.other_coefficients, self.other_scores = np.zeros(shape), np.zeros(shape)
        self.fewest = np.full(shape[0], np.inf)

    def update(self, k: int, i: int, row: Floats, seen: int) -> None:
        """Output k misclassified row i."""
        step = float(self.signs[k, i] * self.rate[i])
        blas.daxpy(row, self.scores[k], a=step)
        self.coefficients[k, i] += step
        if self.options.average:
            blas.daxpy(row, self.other_scores[k], a=seen * step)
            self.other_coefficients[k, i] += seen * step
        elif self.options.pocket:
            wrong = float(self.rate @ (self.signs[k] * self.scores[k] <= 0.0))
            if wrong < self.fewest[k]:
                self.fewest[k] = wrong
                self.other_coefficients[k] = self.coefficients[k]
                self.other_scores[k] = self.scores[k]

    def upcoming_mistakes(self, order: Ints, index: int) -> list[int]:
        """The next rows of the order that are misclassified by the present scores."""
        ahead = order[index : index + LOOKAHEAD]
        wrong = (self.signs[:, ahead] * self.scores[:, ahead] <= 0.0).any(axis=0)
        return [int(i) for i in ahead[wrong][:BATCH]]

    def final(self, seen: int) -> tuple[Floats, Floats]:
        """Coefficients and scores to be returned."""
        if self.options.pocket:
            return self.other_coefficients, self.other_scores
        if self.options.average:
            factor = 1.0 / max(seen, 1)
            return (
                self.coefficients - factor * self.other_coefficients,
                self.scores - factor * self.other_scores,
            )
        return self.coefficients, self.scores


def train_kernel(
    gram: GramCache,
    codes: Ints,
    output_class: Ints,
    rate: Floats,
    options: TrainingOptions,
    random: np.random.RandomState | None = None,
    start: Floats | None = None,
) -> KernelTrainingResult:
    """Epochs until one is without mistake, or the limit is reached.

    They begin at zero, or at the scores ``start`` (n x outputs) by what was learned before.
    """
    dual = _DualVariables(codes, output_class, rate, options, start)
    history: list[Ints] = []
    status, seen = Status.LIMIT, 0
    for order in epoch_orders(options, gram.n, random):
        mistakes = np.zeros(len(output_class), dtype=np.int64)
        position = np.zeros(2, dtype=np.int64)
        while next_mistake(dual.scores, codes, output_class, order, position):
            index, k = int(position[0]), int(position[1])
            i = int(order[index])
            others = [] if i in gram.rows else dual.upcoming_mistakes(order, index)
            dual.update(k, i, gram.get(i, others), seen + index)
            mistakes[k] += 1
            position[1] += 1
        history.append(mistakes)
        seen += len(order)
        if not mistakes.any() and (dual.signs * dual.scores > 0.0).all():
            status = Status.CONVERGED
            break
    coefficients, scores = dual.final(seen)
    return KernelTrainingResult(coefficients.T.copy(), scores.T.copy(), np.array(history), status)
