"""Value, slope and curvature of the logistic loss at one point: sums over rows, so they add up.

    f(θ) = Σ w (log Σₖ e^sₖ − s_y),    s = θᵀz,    z = (x − centre, 1)
    ∂f/∂θₖ = Σ w (pₖ − yₖ) z,          ∂²f/∂θₖ∂θₗ = Σ w pₖ (δₖₗ − pₗ) z zᵀ

Two classes have one score, that of the second class. A pass runs wherever the rows are: in memory
on threads, over files, or on a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from separatrix.logistic.loops.softmax import dual_point, softmax, two_classes
from separatrix.rows.block import Block, Floats
from separatrix.rows.buffers import scratch
from separatrix.rows.schema import Terms
from separatrix.statistics.class_sums import CHUNK_ROWS, use_compiled

#: Numbers in a piece of rows that stays in cache.
CHUNK = 200_000
Piece = tuple[Floats, Floats, Floats]


@dataclass(frozen=True)
class View:
    """How rows are looked at: moved to ``centre``, perhaps turned, with a constant at the end."""

    targets: Terms
    centre: Floats
    turn: Floats | None
    constant: bool

    @property
    def width(self) -> int:
        """Length of z."""
        columns = len(self.centre) if self.turn is None else self.turn.shape[1]
        return columns + int(self.constant)

    @property
    def scores(self) -> int:
        """One for two classes, else as many as there are classes."""
        return 1 if len(self.targets) == 2 else len(self.targets)

    def pieces(self, block: Block) -> Iterator[Piece]:
        """(z, indicators, weights) of a block, some thousand rows at a time."""
        if block.targets.items != self.targets.items:
            block = block.aligned(block.terms, self.targets)
        width, r = self.width, self.width - int(self.constant)
        size = max(width * len(self.targets) ** 0.5, len(self.centre), 1)
        chunk = min(int(np.clip(CHUNK // size, 64, 8192)), max(block.n, 1))
        buffer = scratch((chunk, width), "C")
        ones = np.ones(chunk)
        for start in range(0, block.n, chunk):
            stop = min(start + chunk, block.n)
            z = buffer[: stop - start]
            x = block.dense(start, stop)
            if self.turn is None:
                np.subtract(x, self.centre, out=z[:, :r])
            else:
                np.matmul(x - self.centre, self.turn, out=z[:, :r])
            z[:, r:] = 1.0
            w = ones[: stop - start] if block.w is None else block.w[start:stop]
            yield z, block.y[start:stop], w

    def sweeps(self, block: Block) -> bool:
        """Whether two classes over many dense rows are worth a compiled sweep."""
        return self.scores == 1 and self.turn is None and use_compiled(block.x)

    def runs(self, block: Block) -> Iterator[Piece]:
        """(x, indicators, weights) as they are, some thousand rows at a time; no weights: none."""
        if block.targets.items != self.targets.items:
            block = block.aligned(block.terms, self.targets)
        none = np.empty(0)
        for start in range(0, block.n, CHUNK_ROWS):
            here = slice(start, start + CHUNK_ROWS)
            hot = np.ascontiguousarray(block.y[here])
            w = none if block.w is None else block.w[here]
            yield np.ascontiguousarray(block.dense(start, start + CHUNK_ROWS)), hot, w


class LogisticSlope:
    """Value and slope (width x scores) at ``point``; ``margin`` is the least lead of a right score.

    A positive margin proves that the point separates the classes.
    """

    def __init__(self, view: View, point: Floats) -> None:
        self.view, self.point = view, point
        self.value, self.margin = 0.0, np.inf
        self.gradient = np.zeros_like(point)

    def fresh(self) -> Self:
        """An empty one at the same point."""
        return type(self)(self.view, self.point)

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        for z, hot, w in self.view.pieces(block):
            scores = z @ self.point
            residual, spread = np.empty_like(scores), np.empty(len(scores))
            if self.view.scores == 1:
                value, margin = two_classes(scores[:, 0], hot[:, 1], w, residual[:, 0], spread)
            else:
                value, margin = softmax(scores, hot, w, residual)
            self.value += value
            self.margin = min(self.margin, margin)
            self.gradient += z.T @ residual
            self._bend(z, scores, spread, w)

    def _bend(self, z: Floats, probability: Floats, spread: Floats, w: Floats) -> None:
        """Nothing more is asked of these rows."""

    def __add__(self, other: Self) -> Self:
        both = self.fresh()
        both.value = self.value + other.value
        both.margin = min(self.margin, other.margin)
        both.gradient = self.gradient + other.gradient
        return both


class LogisticCurvature(LogisticSlope):
    """Also the curvature: a square matrix over (score, column), scores outermost."""

    def __init__(self, view: View, point: Floats) -> None:
        super().__init__(view, point)
        self.hessian = np.zeros((point.size, point.size))

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        if not self.view.sweeps(block):
            super().update(block)
            return
        from separatrix.logistic.loops.binary import curvature_of_two

        width = self.view.width
        side = -(-width // 4) * 4
        point, gradient, gram = self.point[:, 0].copy(), np.zeros(width), np.zeros((side, side))
        for x, hot, w in self.view.runs(block):
            value, margin = curvature_of_two(x, hot, w, self.view.centre, point, gradient, gram)
            self.value += value
            self.margin = min(self.margin, margin)
        self.gradient += gradient[:, None]
        lower = np.tril(gram[:width, :width])
        self.hessian += lower + np.tril(lower, -1).T

    def _bend(self, z: Floats, probability: Floats, spread: Floats, w: Floats) -> None:
        if self.view.scores == 1:
            z *= np.sqrt(spread)[:, None]
            self.hessian += z.T @ z
            return
        width, k = self.point.shape
        shared = (np.sqrt(w)[:, None] * probability)[:, :, None] * z[:, None, :]
        flat = shared.reshape(len(z), k * width)
        gram = flat.T @ flat
        self.hessian -= gram
        own = np.sqrt(w[:, None] * probability * (1.0 - probability))
        for j in range(k):
            at = slice(j * width, (j + 1) * width)
            np.multiply(z, own[:, [j]], out=shared[:, j])
            self.hessian[at, at] += gram[at, at] + shared[:, j].T @ shared[:, j]

    def __add__(self, other: Self) -> Self:
        both = super().__add__(other)
        both.hessian = self.hessian + other.hessian
        return both


class LogisticBlocks(LogisticSlope):
    """Also the curvature of every score by itself: scores x width x width."""

    def __init__(self, view: View, point: Floats) -> None:
        super().__init__(view, point)
        width, k = point.shape
        self.blocks = np.zeros((k, width, width))

    def _bend(self, z: Floats, probability: Floats, spread: Floats, w: Floats) -> None:
        if self.view.scores > 1:
            own = np.sqrt(w[:, None] * probability * (1.0 - probability))
        else:
            own = np.sqrt(spread)[:, None]
        for j in range(own.shape[1]):
            bent = z * own[:, [j]]
            self.blocks[j] += bent.T @ bent

    def __add__(self, other: Self) -> Self:
        both = super().__add__(other)
        both.blocks = self.blocks + other.blocks
        return both


class LogisticDual:
    """What a certificate needs: primal sums at ``point`` − ``step``, dual sums beside them.

    The dual probabilities are those at ``point`` moved by the step to first order. With a Newton
    step they balance every column exactly, which makes them a point of the dual problem.
    ``entropy`` is Σ w Σ p log p of them and ``balance`` is Σ w (p − y) z.
    """

    def __init__(self, view: View, point: Floats, step: Floats) -> None:
        self.view, self.point, self.step = view, point, step
        self.value, self.entropy, self.margin = 0.0, 0.0, np.inf
        self.gradient, self.balance = np.zeros_like(point), np.zeros_like(point)

    def fresh(self) -> Self:
        """An empty one at the same point."""
        return type(self)(self.view, self.point, self.step)

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        if self.view.sweeps(block):
            self._sweep(block)
            return
        for z, hot, w in self.view.pieces(block):
            base, move = self._pair(z @ self.point), self._pair(z @ self.step)
            there, residual = base - move, np.empty_like(base)
            value, margin = softmax(there, hot, w, residual)
            self.value += value
            self.margin = min(self.margin, margin)
            self.gradient += z.T @ residual[:, -self.point.shape[1] :]
            softmax(base, hot, w, residual)
            self.entropy += dual_point(base, move, hot, w)
            self.balance += z.T @ base[:, -self.point.shape[1] :]

    def _sweep(self, block: Block) -> None:
        from separatrix.logistic.loops.binary import dual_of_two

        point, step = self.point[:, 0].copy(), self.step[:, 0].copy()
        gradient, balance = np.zeros(len(point)), np.zeros(len(point))
        for x, hot, w in self.view.runs(block):
            value, entropy, margin = dual_of_two(
                x, hot, w, self.view.centre, point, step, gradient, balance
            )
            self.value += value
            self.entropy += entropy
            self.margin = min(self.margin, margin)
        self.gradient += gradient[:, None]
        self.balance += balance[:, None]

    def _pair(self, scores: Floats) -> Floats:
        """Both scores of two classes, the first being zero."""
        if self.view.scores > 1:
            return scores
        return np.column_stack([np.zeros(len(scores)), scores])

    def __add__(self, other: Self) -> Self:
        both = self.fresh()
        both.value, both.entropy = self.value + other.value, self.entropy + other.entropy
        both.margin = min(self.margin, other.margin)
        both.gradient = self.gradient + other.gradient
        both.balance = self.balance + other.balance
        return both


class LeadOf:
    """Margins under a direction: by how much each row's own score leads every other one.

    ``low`` and ``high`` are the least and the largest lead. ``touching`` sums a aᵀ over the leads
    that are within ``edge`` of zero, a being the row of the lead: leads that a recession direction
    must leave at zero exactly.
    """

    def __init__(self, view: View, direction: Floats, edge: float) -> None:
        self.view, self.direction, self.edge = view, direction, edge
        self.low, self.high = np.inf, -np.inf
        self.touching = np.zeros((direction.size, direction.size))

    def fresh(self) -> Self:
        """An empty one for the same direction."""
        return type(self)(self.view, self.direction, self.edge)

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        for z, hot, w in self.view.pieces(block):
            seen = w > 0.0
            if self.view.scores == 1:
                sign = np.where(hot[seen, 1] > 0.5, 1.0, -1.0)
                self._two(z[seen], sign)
            else:
                self._more(z[seen], hot[seen] > 0.5)

    def _two(self, z: Floats, sign: Floats) -> None:
        lead = sign * (z @ self.direction[:, 0])
        self._extremes(lead)
        near = z[np.abs(lead) <= self.edge]
        self.touching += near.T @ near

    def _more(self, z: Floats, own: NDArray[np.bool_]) -> None:
        scores = z @ self.direction
        lead = np.where(own, np.inf, scores[own][:, None] - scores)
        self._extremes(lead[~own])
        near = np.abs(lead) <= self.edge
        width, k = self.direction.shape
        mine = own.argmax(axis=1)
        whole = self.touching.reshape(k, width, k, width)
        for i in range(k):
            for j in range(k):
                rows = z[near[:, j] & (mine == i)]
                if i != j and len(rows):
                    gram = rows.T @ rows
                    whole[i, :, i] += gram
                    whole[j, :, j] += gram
                    whole[i, :, j] -= gram
                    whole[j, :, i] -= gram

    def _extremes(self, lead: Floats) -> None:
        if lead.size:
            self.low, self.high = min(self.low, lead.min()), max(self.high, lead.max())

    def __add__(self, other: Self) -> Self:
        both = self.fresh()
        both.low, both.high = min(self.low, other.low), max(self.high, other.high)
        both.touching = self.touching + other.touching
        return both
