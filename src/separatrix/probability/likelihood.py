"""Value, gradient and Hessian of the logistic loss at a point, as mergeable sums over rows.

    f(θ) = Σ w (log Σₖ e^sₖ − s_y),    s = θᵀz,    z = (x − center, 1)
    ∂f/∂θₖ = Σ w (pₖ − yₖ) z,          ∂²f/∂θₖ∂θₗ = Σ w pₖ (δₖₗ − pₗ) z zᵀ

Two classes have one score, that of the second class. A pass runs wherever the rows are: in memory
on threads, over files, or on a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from separatrix.arrays import Floats
from separatrix.matrices.products import Products
from separatrix.probability import loops
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.schema import Block, Encoding, Terms, identity, scratch
from separatrix.statistics.class_moments import CHUNK_ROWS, ClassMoments
from separatrix.statistics.moments import FieldStatistic, Moments, prepare, use_compiled

Chunk = tuple[Floats, Floats, Floats]


@dataclass(frozen=True)
class LogisticDesign:
    """The design z = ((x − center) · rotation, 1); ``rotation`` is None for the identity.

    ``targets`` are the indicators in the order of the classes; ``intercept`` says whether z ends
    with the constant 1.
    """

    targets: Terms
    center: Floats
    rotation: Floats | None
    intercept: bool

    @property
    def width(self) -> int:
        """Length of z."""
        columns = len(self.center) if self.rotation is None else self.rotation.shape[1]
        return columns + int(self.intercept)

    @property
    def n_scores(self) -> int:
        """One for two classes, else the number of classes."""
        return 1 if len(self.targets) == 2 else len(self.targets)

    def chunks(self, block: Block) -> Iterator[Chunk]:
        """Yield (z, indicators, weights) of a block in chunks."""
        block = self._align(block)
        width, r = self.width, self.width - int(self.intercept)
        size = max(width * len(self.targets) ** 0.5, len(self.center), 1)
        # Values in a chunk of rows that stays in cache.
        chunk = min(int(np.clip(200_000 // size, 64, 8192)), max(block.n, 1))
        buffer = scratch((chunk, width), "C")
        ones = np.ones(chunk)
        for start in range(0, block.n, chunk):
            stop = min(start + chunk, block.n)
            z = buffer[: stop - start]
            x = block.dense(start, stop)
            if self.rotation is None:
                np.subtract(x, self.center, out=z[:, :r])
            else:
                np.matmul(x - self.center, self.rotation, out=z[:, :r])
            z[:, r:] = 1.0
            w = ones[: stop - start] if block.w is None else block.w[start:stop]
            yield z, block.y[start:stop], w

    def use_compiled(self, block: Block) -> bool:
        """Whether the compiled loop over dense rows of two classes pays."""
        return self.n_scores == 1 and self.rotation is None and use_compiled(block.x)

    def raw_chunks(self, block: Block) -> Iterator[Chunk]:
        """Yield (x, indicators, weights) of a block in chunks; weights are empty if all are 1."""
        block = self._align(block)
        none = np.empty(0)
        for start in range(0, block.n, CHUNK_ROWS):
            here = slice(start, start + CHUNK_ROWS)
            indicators = np.ascontiguousarray(block.y[here])
            w = none if block.w is None else block.w[here]
            yield np.ascontiguousarray(block.dense(start, start + CHUNK_ROWS)), indicators, w

    def _align(self, block: Block) -> Block:
        if block.targets.items == self.targets.items:
            return block
        return block.aligned(block.terms, self.targets)


class LogisticGradient(FieldStatistic):
    """Value and gradient (width x scores) at ``point``; ``margin`` is the smallest of all rows.

    A positive margin proves that the point separates the classes.
    """

    sums: ClassVar[tuple[str, ...]] = ("value", "gradient")
    minima = ("margin",)

    def __init__(self, design: LogisticDesign, point: Floats) -> None:
        self.design, self.point = design, point
        self.value, self.margin = 0.0, np.inf
        self.gradient = np.zeros_like(point)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for z, indicators, w in self.design.chunks(block):
            scores = z @ self.point
            residual, variance = np.empty_like(scores), np.empty(len(scores))
            if self.design.n_scores == 1:
                value, margin = loops.binary_loss(
                    scores[:, 0], indicators[:, 1], w, residual[:, 0], variance
                )
            else:
                value, margin = loops.softmax_loss(scores, indicators, w, residual)
                variance = class_variances(scores, residual)
            self.value += value
            self.margin = min(self.margin, margin)
            self.gradient += z.T @ residual
            self._add_hessian(z, scores, variance, w)

    def _add_hessian(self, z: Floats, probability: Floats, variance: Floats, w: Floats) -> None:
        """The gradient alone needs nothing more."""


def class_variances(probability: Floats, residual: Floats) -> Floats:
    """W p (1 − p), from w (p − y) as well: 1 − p keeps its digits where p is nearly one."""
    negative = np.minimum(residual, 0.0)
    return np.asarray(np.maximum(residual, 0.0) * (1.0 - probability) - negative * probability)


class LogisticHessian(LogisticGradient):
    """Also the Hessian: a square matrix over (score, column), scores outermost."""

    sums = (*LogisticGradient.sums, "hessian")

    def __init__(self, design: LogisticDesign, point: Floats) -> None:
        super().__init__(design, point)
        self.hessian = np.zeros((point.size, point.size))

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        if not self.design.use_compiled(block):
            super().update(block)
            return
        width, center = self.design.width, self.design.center
        padded = -(-width // 4) * 4
        point, gradient = self.point[:, 0].copy(), np.zeros(width)
        gram = np.zeros((padded, padded))
        for x, indicators, w in self.design.raw_chunks(block):
            value, margin = loops.binary_hessian(x, indicators, w, center, point, gradient, gram)
            self.value += value
            self.margin = min(self.margin, margin)
        self.gradient += gradient[:, None]
        lower = np.tril(gram[:width, :width])
        self.hessian += lower + np.tril(lower, -1).T

    def _add_hessian(self, z: Floats, probability: Floats, variance: Floats, w: Floats) -> None:
        if self.design.n_scores == 1:
            z *= np.sqrt(variance)[:, None]
            self.hessian += z.T @ z
            return
        width, k = self.point.shape
        weighted = (np.sqrt(w)[:, None] * probability)[:, :, None] * z[:, None, :]
        flat = weighted.reshape(len(z), k * width)
        gram = flat.T @ flat
        value = np.sqrt(variance)
        for j in range(k):
            at = slice(j * width, (j + 1) * width)
            np.multiply(z, value[:, [j]], out=weighted[:, j])
            gram[at, at] = -weighted[:, j].T @ weighted[:, j]
        self.hessian -= gram


class LogisticHessianBlocks(LogisticGradient):
    """Also the diagonal blocks of the Hessian, one for each score: scores x width x width."""

    sums = (*LogisticGradient.sums, "blocks")

    def __init__(self, design: LogisticDesign, point: Floats) -> None:
        super().__init__(design, point)
        width, k = point.shape
        self.blocks = np.zeros((k, width, width))

    def _add_hessian(self, z: Floats, _p: Floats, variance: Floats, _w: Floats) -> None:
        value = np.sqrt(variance).reshape(len(z), -1)
        for j in range(value.shape[1]):
            weighted = z * value[:, [j]]
            self.blocks[j] += weighted.T @ weighted


class LogisticDual(FieldStatistic):
    """Sums of a certificate: primal ones at ``point`` − ``step``, and those of a dual point.

    The dual probabilities are those at ``point`` moved by the step to first order. With a Newton
    step they satisfy the stationarity conditions exactly, which makes them dual feasible.
    ``entropy`` is Σ w Σ p log p of them and ``dual_gradient`` is Σ w (p − y) z.
    """

    sums, minima = ("value", "entropy", "gradient", "dual_gradient"), ("margin",)

    def __init__(self, design: LogisticDesign, point: Floats, step: Floats) -> None:
        self.design, self.point, self.step = design, point, step
        self.value, self.entropy, self.margin = 0.0, 0.0, np.inf
        self.gradient, self.dual_gradient = np.zeros_like(point), np.zeros_like(point)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        if self.design.use_compiled(block):
            self._update_binary(block)
            return
        for z, indicators, w in self.design.chunks(block):
            base, move = self._all_scores(z @ self.point), self._all_scores(z @ self.step)
            there, residual = base - move, np.empty_like(base)
            value, margin = loops.softmax_loss(there, indicators, w, residual)
            self.value += value
            self.margin = min(self.margin, margin)
            self.gradient += z.T @ residual[:, -self.point.shape[1] :]
            loops.softmax_loss(base, indicators, w, residual)
            self.entropy += loops.dual_probabilities(base, move, indicators, w)
            self.dual_gradient += z.T @ base[:, -self.point.shape[1] :]

    def _update_binary(self, block: Block) -> None:
        point, step = self.point[:, 0].copy(), self.step[:, 0].copy()
        gradient, dual_gradient = np.zeros(len(point)), np.zeros(len(point))
        for x, indicators, w in self.design.raw_chunks(block):
            value, entropy, margin = loops.binary_dual(
                x, indicators, w, self.design.center, point, step, gradient, dual_gradient
            )
            self.value += value
            self.entropy += entropy
            self.margin = min(self.margin, margin)
        self.gradient += gradient[:, None]
        self.dual_gradient += dual_gradient[:, None]

    def _all_scores(self, scores: Floats) -> Floats:
        """Both scores of two classes, the first being zero."""
        if self.design.n_scores > 1:
            return scores
        return np.column_stack([np.zeros(len(scores)), scores])


class ScoreMargins(FieldStatistic):
    """Margins under a direction: the score of the true class minus that of each other class.

    ``smallest`` and ``largest`` are over all rows and classes.
    """

    sums, minima, maxima = (), ("smallest",), ("largest",)

    def __init__(self, design: LogisticDesign, direction: Floats) -> None:
        self.design, self.direction = design, direction
        self.smallest, self.largest = np.inf, -np.inf

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        for z, indicators, w in self.design.chunks(block):
            positive = w > 0.0
            scores, is_positive = z[positive] @ self.direction, indicators[positive] > 0.5
            if self.design.n_scores == 1:
                margins = np.where(is_positive[:, 1], scores[:, 0], -scores[:, 0])
            else:
                margins = (scores[is_positive][:, None] - scores)[~is_positive]
            if margins.size:
                self.smallest = min(self.smallest, margins.min())
                self.largest = max(self.largest, margins.max())


# -------------------------------------------------------------------------------------------------
# Rows of a fit by likelihood: encoded once, with their moments where a fit needs them.


@dataclass(frozen=True)
class LogisticRows:
    """Encoded rows; ``known`` are their moments where the encoding needed them.

    ``x`` are the products with their columns where other fits share them.
    """

    rows: Rows
    known: Moments | None
    encoding: Encoding
    targets: Terms
    x: Products | None = None

    @property
    def n_columns(self) -> int:
        """Columns of the design."""
        return len(self.encoding.names)

    @cached_property
    def moments(self) -> Moments:
        """Moments of the rows, computed for the fits that need them."""
        if self.known is not None:
            return self.known
        block = self.rows.collect()
        if not use_compiled(block.x):
            return prepare(self.rows).moments
        # moments by class, in one compiled pass, give those of all
        empty = ClassMoments.empty("pooled", len(block.targets), block.x.shape[1])
        by_class = self.rows.with_parts(block.y.argmax(axis=1)).reduce(empty)
        return by_class.joint(block.terms, block.targets)

    @classmethod
    def of(cls, rows: Rows) -> LogisticRows:
        """Encode the rows."""
        if isinstance(rows, ArrayRows):
            return cls(rows, None, identity(rows.schema), rows.block.targets)
        prepared = prepare(rows)
        moments, encoding = prepared.moments, prepared.encoding
        # Values of a table in memory up to which its design is stored.
        if not isinstance(rows, InMemory) or len(rows) * len(encoding.names) > 20_000_000:
            return cls(prepared.rows, moments, encoding, moments.targets)
        # encoded once: every pass of a solver would do it again
        block = encoding.apply(rows.block)
        encoded = ArrayRows(block.x, block.y, block.w, targets=block.targets.items)
        return cls(encoded, moments, encoding, moments.targets)
