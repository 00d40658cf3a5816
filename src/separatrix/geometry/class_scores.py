"""One score per class: linear, axis-parallel or fully quadratic, each evaluated in cache.

    gₖ(x) = oₖ − ½ ‖(x − c) Aₖ − mₖ‖²  =  xᵀWₖx + wₖ·x + wₖ₀

Forms are kept factored: the squares never cancel, however far from the origin the rows lie.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.rows.block import Floats, Matrix
from separatrix.threads import one_blas_thread

#: Numbers in a chunk of rows, so that it stays in cache between its uses.
CHUNK = 131_072
#: Cuts of triangular maps.
BLOCKS = 4
#: Multiplications from which threads and compiled loops pay.
MANY = 20_000_000
#: Columns up to which panels of compiled loops stay in cache.
WIDEST = 160
#: Classes below which the scores of a row are too few to be worked on by themselves.
FEW = 32

Coefficients = tuple[Floats, Floats, Floats]
#: What becomes of a chunk of scores, in place, while it is in cache.
Then = Callable[[Floats], Any] | None


def by_chunk(
    x: Matrix, k: int, width: int, work: int, score: Callable[[Floats, Floats], Any], then: Then
) -> Floats:
    """n x k scores: ``score(rows, out)`` fills ``out`` for a chunk of dense rows.

    ``width`` and ``work`` are the numbers held and the multiplications made per row.
    """
    n = x.shape[0]
    out = np.empty((n, k))
    step = int(np.clip(CHUNK // max(width, 1), 16, 4096))

    def one(start: int) -> None:
        part = x[start : start + step]
        scores = out[start : start + step]
        score(part.toarray() if sparse.issparse(part) else part, scores)
        if then is not None:
            then(scores)

    starts = range(0, n, step)
    if n * work < MANY or len(starts) < 2:
        for start in starts:
            one(start)
    else:
        with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(one, starts))
    return out


@dataclass(frozen=True)
class LinearScores:
    """gₖ(x) = oₖ + (x − c)·wₖ: what is left where all classes share one covariance."""

    centre: Floats
    coef: Floats
    offset: Floats

    def score(self, x: Matrix, then: Then = None) -> Floats:
        """n x K."""

        def one(rows: Floats, out: Floats) -> None:
            np.matmul(rows - self.centre, self.coef.T, out=out)
            out += self.offset

        k, d = self.coef.shape
        return by_chunk(x, k, d, k * d, one, then)

    def coefficients(self, about: Floats | float = 0.0) -> Coefficients:
        """W (zero), w and w₀ of the scores as functions of x − ``about``."""
        k, d = self.coef.shape
        constant = self.offset + self.coef @ (about - self.centre)
        return np.zeros((k, d, d)), self.coef.copy(), constant


@dataclass(frozen=True)
class AxisScores:
    """gₖ(x) = oₖ − ½ Σⱼ ((xⱼ − μₖⱼ) aₖⱼ)²: columns independent within classes."""

    means: Floats
    scale: Floats
    offset: Floats

    def score(self, x: Matrix, then: Then = None) -> Floats:
        """n x K."""

        def one(rows: Floats, out: Floats) -> None:
            z = np.empty(rows.shape)
            for k in range(len(self.offset)):
                np.subtract(rows, self.means[k], out=z)
                z *= self.scale[k]
                np.einsum("ij,ij->i", z, z, out=out[:, k])
            out *= -0.5
            out += self.offset

        k, d = self.means.shape
        return by_chunk(x, k, d, 3 * k * d, one, then)

    def coefficients(self, about: Floats | float = 0.0) -> Coefficients:
        """W, w and w₀ of the scores as functions of x − ``about``."""
        precision, at = self.scale**2, self.means - about
        k, d = self.means.shape
        quadratic = np.zeros((k, d, d))
        quadratic[:, np.arange(d), np.arange(d)] = -0.5 * precision
        linear = precision * at
        return quadratic, linear, self.offset - 0.5 * np.einsum("kd,kd->k", linear, at)


@dataclass(frozen=True)
class QuadraticScores:
    """gₖ(x) = oₖ − ½ ‖(x − c) Aₖ − mₖ‖², with ``maps`` A (K x d x r) and ``means`` m (K x r)."""

    centre: Floats
    maps: Floats
    means: Floats
    offset: Floats

    def score(self, x: Matrix, then: Then = None) -> Floats:
        """n x K."""
        k, d, r = self.maps.shape
        many = x.shape[0] * k * d * r >= MANY
        one = self._compiled() if many and d <= WIDEST else self._by_products()
        return by_chunk(x, k, max(d, k * r // BLOCKS), k * d * r, one, then)

    def _by_products(self) -> Callable[[Floats, Floats], None]:
        """Scores of a chunk by products of matrices."""
        k, d, _ = self.maps.shape
        blocks = self._blocks()

        def one(rows: Floats, out: Floats) -> None:
            z = np.ones((len(rows), d + 1))
            np.subtract(rows, self.centre, out=z[:, 1:])
            square = np.zeros((k, len(rows)))
            for used, block in blocks:
                part = (block @ z[:, :used].T).reshape(k, -1, len(rows))
                square += np.einsum("kbn,kbn->kn", part, part)
            np.multiply(square.T, -0.5, out=out)
            out += self.offset

        return one

    def _compiled(self) -> Callable[[Floats, Floats], None]:
        """The same by compiled panels, which skip what is zero in triangular maps."""
        from separatrix.geometry.loops.quadratic_scores import quadratic_scores

        k, d, r = self.maps.shape
        maps = np.zeros((k, -(-d // 4) * 4, -(-r // 4) * 4))
        means = np.zeros((k, maps.shape[2]))
        maps[:, :d, :r], means[:, :r] = self.maps, self.means
        there = maps.any(axis=0).reshape(maps.shape[1], -1, 4).any(axis=2)
        stop = np.where(there, np.arange(1, maps.shape[1] + 1)[:, None], 0).max(axis=0, initial=0)

        def one(rows: Floats, out: Floats) -> None:
            whole = np.ascontiguousarray(rows)
            quadratic_scores(whole, self.centre, maps, means, self.offset, stop, out)

        return one

    def _blocks(self) -> list[tuple[int, Floats]]:
        """[−m; A] of all classes side by side, cut by columns; each cut needs some rows only.

        Triangular maps, which a fit makes, save a third of the multiplications in this way.
        """
        r = self.maps.shape[2]
        whole = np.concatenate([-self.means[:, None, :], self.maps], axis=1)
        cuts = np.linspace(0, r, (BLOCKS if r > 8 * BLOCKS else min(r, 1)) + 1).astype(int)
        blocks = []
        for low, high in pairwise(cuts):
            part = whole[:, :, low:high]
            used = 1 + int(np.flatnonzero(part.any(axis=(0, 2)))[-1])
            blocks.append((used, part[:, :used].transpose(0, 2, 1).reshape(-1, used).copy()))
        return blocks

    def coefficients(self, about: Floats | float = 0.0) -> Coefficients:
        """W, w and w₀ of the scores as functions of x − ``about``."""
        turned = self.maps @ self.maps.transpose(0, 2, 1)
        at = self.means + np.einsum("d,kdr->kr", self.centre - about, self.maps)
        linear = np.einsum("kdr,kr->kd", self.maps, at)
        return -0.5 * turned, linear, self.offset - 0.5 * np.einsum("kr,kr->k", at, at)


ClassScores = LinearScores | AxisScores | QuadraticScores


def softmax(scores: Floats) -> Floats:
    """exp(gₖ) / Σ exp(gⱼ), in place; finite for scores of any size, −∞ included."""
    s = _by_class(scores)
    s -= s.max(axis=0)
    np.exp(s, out=s)
    s /= s.sum(axis=0)
    return _by_row(scores, s)


def log_softmax(scores: Floats) -> Floats:
    """gₖ − ln Σ exp(gⱼ), in place."""
    s = _by_class(scores)
    s -= s.max(axis=0)
    s -= np.log(np.exp(s).sum(axis=0))
    return _by_row(scores, s)


def _by_class(scores: Floats) -> Floats:
    """K x n: the scores of each class side by side in memory, where there are few classes."""
    return np.ascontiguousarray(scores.T) if scores.shape[1] < FEW else scores.T


def _by_row(scores: Floats, s: Floats) -> Floats:
    if not np.shares_memory(scores, s):
        scores[:] = s.T
    return scores
