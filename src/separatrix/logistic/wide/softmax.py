"""Passes over rows of several classes: product, softmax, product, by chunks that stay in cache.

    s = Zθ,   p = softmax(s),   ∇f = Zᵀ w (p − y)

Scores are never stored for all rows: memory is that of the rows and of θ. In single precision the
standardized rows are copied once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix.logistic.wide.loops import softmax_rows
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map, pieces

#: Scores that are worth a thread, and scores and values of a chunk.
MIN_SCORES, CHUNK = 50_000, 40_000


class ClassPass(NamedTuple):
    """Σ w ℓ, Σ w Σ p log p, the gradient (by column, then by the constant) and smallest margin."""

    value: float
    entropy: float
    gradient: Floats
    margin: float


class ClassRows:
    """Dense rows z = (x − center) / scale of several classes."""

    def __init__(self, x: Any, center: Floats, scale: Floats, codes: Ints, w: Floats) -> None:
        self.x, self.center, self.scale, self.codes, self.w = x, center, scale, codes, w

    def single(self) -> ClassRows:
        """A standardized copy in single precision."""
        z = np.empty(self.x.shape, np.float32)

        def part(rows: slice) -> None:
            z[rows] = (self.x[rows] - self.center) / self.scale

        d = max(z.shape[1], 1)
        parallel_map(part, pieces(len(z), max(1, MIN_SCORES // d)))
        return ClassRows(z, np.zeros(0), np.ones(d), self.codes, self.w)

    def rows(self, here: Any, number: Any = np.float64) -> NDArray[Any]:
        """Some rows of z."""
        if not len(self.center):
            return np.asarray(self.x[here], dtype=number)
        return np.asarray((self.x[here] - self.center) / self.scale, dtype=number)

    def __call__(self, theta: Floats, constant: Floats) -> ClassPass:
        """The pass at coefficients (d x classes) and intercepts."""
        n, (d, k) = len(self.x), theta.shape
        number = np.float64 if len(self.center) else self.x.dtype
        point, shift = theta.astype(number), constant.astype(number)
        chunk = max(8, CHUNK // max(d, k))

        def part(rows: slice) -> tuple[float, float, float, Floats, Floats]:
            gradient, sums = np.zeros((d, k), number), np.zeros(k)
            scores, residual = np.empty((chunk, k), number), np.empty((chunk, k), number)
            value, entropy, margin = 0.0, 0.0, np.inf
            for start in range(rows.start, rows.stop, chunk):
                here = slice(start, min(start + chunk, rows.stop))
                z, m = self.rows(here, number), here.stop - start
                s, r = scores[:m], residual[:m]
                np.matmul(z, point, out=s)
                s += shift
                found = softmax_rows(s, self.codes[here], self.w[here], r)
                value, entropy = value + found[0], entropy + found[1]
                margin = min(margin, found[2])
                gradient += z.T @ r
                sums += r.sum(axis=0)
            return value, entropy, margin, gradient, sums

        found = parallel_map(part, pieces(n, max(1, MIN_SCORES // max(d, k))))
        gradient = np.zeros((d + 1, k))
        for *_, one, sums in found:
            gradient[:d] += one
            gradient[d] += sums
        return ClassPass(
            float(sum(one[0] for one in found)),
            float(sum(one[1] for one in found)),
            gradient,
            float(min(one[2] for one in found)),
        )


def residuals_of_classes(
    scores: Floats, codes: Ints, w: Floats, residual: Floats
) -> tuple[float, float, float]:
    """Σ w (log Σ e^score − score of the true class), Σ w Σ p log p and the smallest margin.

    ``residual`` becomes w (p − indicators).
    """

    def part(rows: slice) -> tuple[float, float, float]:
        found = softmax_rows(scores[rows], codes[rows], w[rows], residual[rows])
        return found[0], found[1], found[2]

    n, k = scores.shape
    found = parallel_map(part, pieces(n, max(1, MIN_SCORES // k)))
    value, entropy = sum(one[0] for one in found), sum(one[1] for one in found)
    return float(value), float(entropy), float(min(one[2] for one in found))
