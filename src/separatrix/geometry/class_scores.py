"""Discriminant functions of normal class densities: linear, diagonal quadratic and quadratic.

    gₖ(x) = oₖ − ½ ‖(x − c) Aₖ − mₖ‖²  =  xᵀWₖx + wₖ·x + wₖ₀

The quadratic forms are stored factored, so that they do not cancel for rows far from the origin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.rows.schema import to_array
from separatrix.threads import parallel_map, pieces

#: Numbers of a chunk of rows, so that it stays in the cache.
CHUNK_NUMBERS = 131_072
#: Column blocks of triangular maps.
BLOCKS = 4
#: Multiplications from which threads and compiled loops are faster.
MIN_PARALLEL_WORK = 20_000_000

Coefficients = tuple[Floats, Floats, Floats]
#: A function applied in place to every chunk of scores while it is in the cache.
Postprocess = Callable[[Floats], Any] | None


def _scores_by_chunk(
    x: Matrix,
    k: int,
    width: int,
    work: int,
    score: Callable[[Floats, Floats], Any],
    postprocess: Postprocess,
    multiple: int = 16,
) -> Floats:
    """Scores (n x k) by chunks of dense rows, which ``score(rows, out)`` fills.

    ``width`` and ``work`` are the numbers stored and the multiplications made per row. Chunks have
    a ``multiple`` of rows.
    """
    n = x.shape[0]
    out = np.empty((n, k))
    step = int(np.clip(CHUNK_NUMBERS // max(width, k, 1), multiple, 4096)) // multiple * multiple

    def score_chunk(start: int) -> None:
        part = x[start : start + step]
        scores = out[start : start + step]
        score(to_array(part), scores)
        if postprocess is not None:
            postprocess(scores)

    starts = range(0, n, step)
    if n * work < MIN_PARALLEL_WORK or len(starts) < 2:
        for start in starts:
            score_chunk(start)
    else:
        parallel_map(score_chunk, starts)
    return out


@dataclass(frozen=True)
class LinearScores:
    """Linear discriminant functions gₖ(x) = oₖ + (x − c)·wₖ (one common covariance Σ).

    ``common`` is Σ⁻¹c, the part of Σ⁻¹μₖ = wₖ + Σ⁻¹c that the classes share.
    """

    center: Floats
    coef: Floats
    offset: Floats
    common: Floats | None = None

    def score(self, x: Matrix, postprocess: Postprocess = None) -> Floats:
        """The scores (n x K)."""

        def score_chunk(rows: Floats, out: Floats) -> None:
            np.matmul(rows - self.center, self.coef.T, out=out)
            out += self.offset

        k, d = self.coef.shape
        return _scores_by_chunk(x, k, d, k * d, score_chunk, postprocess)

    def linear(self, about: Floats | float = 0.0) -> tuple[Floats, Floats]:
        """w and w₀ of the scores as functions of x − ``about``."""
        return self.coef.copy(), self.offset + self.coef @ (about - self.center)

    def coefficients(self, about: Floats | float = 0.0) -> Coefficients:
        """W (zero), w and w₀ of the scores as functions of x − ``about``."""
        k, d = self.coef.shape
        return np.zeros((k, d, d)), *self.linear(about)

    def canonical_linear(self) -> tuple[Floats, Floats]:
        """w = Σ⁻¹μₖ and w₀ = ln P(k) − ½ μₖᵀΣ⁻¹μₖ."""
        linear, constant = self.linear()
        if self.common is None:
            return linear, constant
        return linear + self.common, constant - 0.5 * float(self.center @ self.common)

    def canonical(self) -> Coefficients:
        """W (zero), and the w and w₀ of :meth:`canonical_linear`."""
        k, d = self.coef.shape
        return np.zeros((k, d, d)), *self.canonical_linear()


@dataclass(frozen=True)
class DiagonalScores:
    """gₖ(x) = oₖ − ½ Σⱼ ((xⱼ − μₖⱼ) aₖⱼ)² (diagonal covariances)."""

    means: Floats
    scale: Floats
    offset: Floats

    def score(self, x: Matrix, postprocess: Postprocess = None) -> Floats:
        """The scores (n x K)."""

        k, d = self.means.shape
        if 3 * x.shape[0] * k * d >= MIN_PARALLEL_WORK:
            return _scores_by_chunk(x, k, d, 3 * k * d, self._compile(), postprocess)
        return _scores_by_chunk(x, k, k * d, 3 * k * d, self._all_classes, postprocess)

    def _all_classes(self, rows: Floats, out: Floats) -> None:
        """Scores of a few rows, which are compared with all classes at once."""
        z = rows[:, None, :] - self.means
        z *= self.scale
        np.einsum("ikj,ikj->ik", z, z, out=out)
        out *= -0.5
        out += self.offset

    def _compile(self) -> Callable[[Floats, Floats], None]:
        """Scores of a chunk by a compiled loop."""
        from separatrix.geometry.loops import diagonal_scores

        given = tuple(np.ascontiguousarray(v) for v in (self.means, self.scale, self.offset))

        def score_chunk(rows: Floats, out: Floats) -> None:
            diagonal_scores(np.ascontiguousarray(rows, dtype=np.float64), *given, out)

        return score_chunk

    def coefficients(self, about: Floats | float = 0.0) -> Coefficients:
        """W, w and w₀ of the scores as functions of x − ``about``."""
        precision, at = self.scale**2, self.means - about
        k, d = self.means.shape
        quadratic = np.zeros((k, d, d))
        quadratic[:, np.arange(d), np.arange(d)] = -0.5 * precision
        linear = precision * at
        return quadratic, linear, self.offset - 0.5 * np.einsum("kd,kd->k", linear, at)

    def canonical(self) -> Coefficients:
        """W = −½ Σₖ⁻¹, w = Σₖ⁻¹μₖ and w₀ = ln P(k) − ½ ln|Σₖ| − ½ μₖᵀΣₖ⁻¹μₖ."""
        return self.coefficients()


@dataclass(frozen=True)
class QuadraticScores:
    """gₖ(x) = oₖ − ½ ‖(x − c) Aₖ − mₖ‖² (full covariances).

    ``maps`` A is K x d x r, ``means`` m is K x r.
    """

    center: Floats
    maps: Floats
    means: Floats
    offset: Floats

    def score(self, x: Matrix, postprocess: Postprocess = None) -> Floats:
        """The scores (n x K)."""
        k, d, r = self.maps.shape
        work = k * d * r
        # Columns up to which the buffers of the compiled loop stay in the cache.
        if x.shape[0] * work >= MIN_PARALLEL_WORK and d <= 160:
            # Rows that the compiled loop takes together: fewer would take as long.
            return _scores_by_chunk(x, k, d, work, self._compile(), postprocess, 128)
        width = max(d, k * r // BLOCKS)
        return _scores_by_chunk(x, k, width, work, self._matrix_products(), postprocess)

    def _matrix_products(self) -> Callable[[Floats, Floats], None]:
        """Scores of a chunk by matrix products."""
        k, d, _ = self.maps.shape
        blocks = self._blocks()

        def score_chunk(rows: Floats, out: Floats) -> None:
            z = np.ones((len(rows), d + 1))
            np.subtract(rows, self.center, out=z[:, 1:])
            square = np.zeros((k, len(rows)))
            for used, block in blocks:
                part = (block @ z[:, :used].T).reshape(k, -1, len(rows))
                square += np.einsum("kbn,kbn->kn", part, part)
            np.multiply(square.T, -0.5, out=out)
            out += self.offset

        return score_chunk

    def _compile(self) -> Callable[[Floats, Floats], None]:
        """Scores of a chunk by a compiled loop, which skips the zeros of triangular maps."""
        from separatrix.geometry.loops import quadratic_scores

        k, d, r = self.maps.shape
        maps = np.zeros((k, -(-d // 4) * 4, -(-r // 4) * 4))
        means = np.zeros((k, maps.shape[2]))
        maps[:, :d, :r], means[:, :r] = self.maps, self.means
        nonzero = maps.any(axis=0).reshape(maps.shape[1], -1, 4).any(axis=2)
        stop = np.where(nonzero, np.arange(1, maps.shape[1] + 1)[:, None], 0).max(axis=0, initial=0)

        def score_chunk(rows: Floats, out: Floats) -> None:
            quadratic_scores(
                np.ascontiguousarray(rows), self.center, maps, means, self.offset, stop, out
            )

        return score_chunk

    def _blocks(self) -> list[tuple[int, Floats]]:
        """[−m; A] of all classes in blocks of columns, each without its trailing zero rows.

        Triangular maps save a third of the multiplications in this way.
        """
        r = self.maps.shape[2]
        stacked = np.concatenate([-self.means[:, None, :], self.maps], axis=1)
        cuts = np.linspace(0, r, (BLOCKS if r > 8 * BLOCKS else min(r, 1)) + 1).astype(int)
        blocks = []
        for low, high in pairwise(cuts):
            part = stacked[:, :, low:high]
            used = 1 + int(np.flatnonzero(part.any(axis=(0, 2)))[-1])
            blocks.append((used, part[:, :used].transpose(0, 2, 1).reshape(-1, used).copy()))
        return blocks

    def coefficients(self, about: Floats | float = 0.0) -> Coefficients:
        """W, w and w₀ of the scores as functions of x − ``about``."""
        precision = self.maps @ self.maps.transpose(0, 2, 1)
        at = self.means + np.einsum("d,kdr->kr", self.center - about, self.maps)
        linear = np.einsum("kdr,kr->kd", self.maps, at)
        return -0.5 * precision, linear, self.offset - 0.5 * np.einsum("kr,kr->k", at, at)

    def canonical(self) -> Coefficients:
        """W = −½ Σₖ⁻¹, w = Σₖ⁻¹μₖ and w₀ = ln P(k) − ½ ln|Σₖ| − ½ μₖᵀΣₖ⁻¹μₖ."""
        return self.coefficients()


@dataclass(frozen=True)
class ProjectedScores:
    """Quadratic scores of the coordinates (x − c) P of rows, ``projection`` P being d x r."""

    center: Floats
    projection: Floats
    inner: QuadraticScores

    def score(self, x: Matrix, postprocess: Postprocess = None) -> Floats:
        """The scores (n x K)."""
        n, (d, r) = x.shape[0], self.projection.shape
        coordinates = np.empty((n, r))

        def project(rows: slice) -> None:
            np.matmul(to_array(x[rows]) - self.center, self.projection, out=coordinates[rows])

        parallel_map(project, pieces(n, max(1, CHUNK_NUMBERS // max(d, 1)), max(64, n // 64)))
        return self.inner.score(coordinates, postprocess)

    def coefficients(self, about: Floats | float = 0.0) -> Coefficients:
        """W, w and w₀ of the scores as functions of x − ``about``."""
        p, at = self.projection, (about - self.center) @ self.projection
        quadratic, linear, constant = self.inner.coefficients(at)
        return p @ quadratic @ p.T, linear @ p.T, constant

    def canonical(self) -> Coefficients:
        """W, w and w₀ of the scores as functions of x."""
        return self.coefficients()


ClassScores = LinearScores | DiagonalScores | QuadraticScores | ProjectedScores


def softmax(scores: Floats) -> Floats:
    """Softmax exp(gₖ) / Σ exp(gⱼ) in place, without overflow; scores may be −∞."""
    s = _by_class(scores)
    s -= s.max(axis=0)
    np.exp(s, out=s)
    s /= s.sum(axis=0)
    return _by_row(scores, s)


def log_softmax(scores: Floats) -> Floats:
    """Logarithm of the softmax, gₖ − ln Σ exp(gⱼ), in place."""
    s = _by_class(scores)
    s -= s.max(axis=0)
    s -= np.log(np.exp(s).sum(axis=0))
    return _by_row(scores, s)


def most_probable(p: Floats) -> tuple[Ints, Floats]:
    """The class of the largest probability of every row, the first among equals, and that."""
    by_class = _by_class(p)
    if len(by_class) == 2:
        return (by_class[1] > by_class[0]).astype(np.int64), np.maximum(by_class[0], by_class[1])
    best = by_class.argmax(axis=0)
    return best, by_class[best, np.arange(len(best))]


def _by_class(scores: Floats) -> Floats:
    """K x n, with the scores of each class contiguous if there are few classes."""
    # Classes below which the softmax runs over classes, not over the few scores of a row.
    return np.ascontiguousarray(scores.T) if scores.shape[1] < 32 else scores.T


def _by_row(scores: Floats, s: Floats) -> Floats:
    if not np.shares_memory(scores, s):
        scores[:] = s.T
    return scores
