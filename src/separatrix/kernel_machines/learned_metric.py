"""Kernels whose metric is learned: a kernel fit, the average of its gradients, and again.

    κ(x, z) = (1 − τ) exp(−(‖x − z‖_M / h)^1.5) + τ exp(−Σⱼ √Mⱼⱼ |xⱼ − zⱼ| / g)
    f = b + Σⱼ aⱼ κ(zⱼ, ·),    (K + λ W⁻¹) a = y − b,    Σ a = 0
    M ← Σ w ∇f(x) ∇f(x)ᵀ / Σ w,   to trace one

with ‖x − z‖_M² = (x − z)ᵀ M (x − z). The first part turns to the directions in which f varies, the
second keeps to the columns: f is rough where single columns have steps, smooth where combinations
of them count, and τ says how much of each. Bandwidths h and g are a multiple (the ``spread``) of
the mean distance of two rows, whatever M is. Each fit is exact, given M; M is found, not optimal.

A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in neural
networks and backpropagation-free machine learning models, Science 383, 2024; D. Beaglehole, D.
Holzmüller, A. Radhakrishnan and M. Belkin, xRFM, 2025.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.threads import parallel_map

Array = NDArray[Any]

#: Power of the distance in the first part of the kernel: between Laplace (1) and Gaussian (2).
EXPONENT = 1.5
#: Share of the identity in a learned metric: no direction is ever out of sight.
FLOOR = 0.02
#: λ with which metrics are learned, in multiples of the kernel's variance.
LEARNING = 0.1
#: Rows at which gradients are averaged, and from which mean distances are taken, at most.
AVERAGED = 2_000
#: Rows of a strip of kernel values.
STRIP = 256


# -------------------------------------------------------------------------------------------------
# Columns: free of units, and no farther apart than ranks where a few values are far out.


@dataclass(frozen=True)
class ColumnMaps:
    """A piecewise linear function of every column, constant beyond its ends.

    A column of two values becomes 0 and 1: a level differs from the others by as much as it does,
    however rare it is. Others are standardized, and go on for a standard deviation beyond their
    range. One with outliers (its skewness beyond 1, or its kurtosis beyond 6) becomes the normal
    scores of its ranks.
    """

    knots: tuple[Floats, ...]
    values: tuple[Floats, ...]

    @classmethod
    def of(cls, x: Floats, w: Floats) -> ColumnMaps:
        """For rows of positive weight."""
        maps = [_column_map(column, w) for column in x.T]
        return cls(tuple(knots for knots, _ in maps), tuple(values for _, values in maps))

    def apply(self, x: Floats) -> Floats:
        """The columns of new rows."""
        out = np.empty(x.shape)
        for j, (knots, values) in enumerate(zip(self.knots, self.values, strict=True)):
            out[:, j] = np.interp(x[:, j], knots, values) if len(knots) > 1 else 0.0
        return out


#: Knots of the normal scores of a column, at most.
KNOTS = 200


def _column_map(x: Floats, w: Floats) -> tuple[Floats, Floats]:
    values, place = np.unique(x, return_inverse=True)
    if len(values) == 1:
        return values, np.zeros(1)
    if len(values) == 2:
        return values, np.array([0.0, 1.0])
    share = np.bincount(place, w) / w.sum()
    middle = 0.5 * (values[0] + values[-1])
    unit = 0.5 * (values[-1] - values[0])
    t = (values - middle) / unit
    mean = share @ t
    deviation = np.sqrt(share @ (t - mean) ** 2)
    z = (t - mean) / deviation
    if abs(share @ z**3) <= 1.0 and share @ z**4 <= 6.0:
        beyond = deviation * unit
        return np.array([values[0] - beyond, values[-1] + beyond]), np.array([z[0] - 1, z[-1] + 1])
    eps = np.finfo(float).eps
    ranks = np.clip(np.cumsum(share) - 0.5 * share, eps, 1.0 - eps)
    scores = ndtri(ranks)
    mean = share @ scores
    scores = (scores - mean) / np.sqrt(share @ (scores - mean) ** 2)
    if len(values) > KNOTS:
        some = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], KNOTS)))
        some = np.union1d(some[some < len(values)], [0, len(values) - 1])
        values, scores = values[some], scores[some]
    return values, scores


# -------------------------------------------------------------------------------------------------
# The kernel of a metric.


@dataclass(frozen=True)
class KernelShape:
    """What is chosen about a kernel beside its metric: τ, and bandwidths in mean distances."""

    share: float
    spread: float


@dataclass(frozen=True)
class MetricKernel:
    """κ of a metric: rows times ``turn`` are ‖x − z‖_M/h apart, times ``scale`` as columns are."""

    metric: Floats
    share: float
    turn: Floats
    scale: Floats

    @classmethod
    def of(cls, metric: Floats, shape: KernelShape, z: Floats, w: Floats) -> MetricKernel:
        """Bandwidths from the mean distances of rows."""
        some = spread_rows(len(z), AVERAGED // 2)
        e, v = np.linalg.eigh(metric)
        turn = (v * np.sqrt(np.maximum(e, 0.0))) @ v.T  # unlike v, without a choice where e repeats
        scale = np.sqrt(np.diagonal(metric))
        rows, weights = z[some], w[some] / w[some].sum()
        square, city = _distances(rows @ turn, rows * scale, rows @ turn, rows * scale)
        near = weights @ np.sqrt(square) @ weights, weights @ city @ weights
        h, g = (shape.spread * mean if mean > 0.0 else 1.0 for mean in near)
        return cls(metric, shape.share, turn / h, scale / g)

    def prepare(self, z: Floats, dtype: Any = np.float64) -> MetricCenters:
        """Rows as centers."""
        middle = z.mean(axis=0)
        z = z - middle
        u = np.ascontiguousarray(z @ self.turn, dtype=dtype)
        v = np.ascontiguousarray(z * self.scale, dtype=dtype)
        return MetricCenters(self, middle, u, v)


def spread_rows(n: int, most: int) -> Ints:
    """All rows, or so many of them at equal steps."""
    if n <= most:
        return np.arange(n)
    return np.linspace(0, n - 1, most).astype(np.int64)


def _distances(u: Array, v: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """‖u − x‖² and Σ|v − y| of all pairs of rows."""
    from separatrix.kernels.loops import absolute_differences

    square = u @ x.T
    square *= -2.0
    square += np.einsum("ij,ij->i", u, u)[:, None]
    square += np.einsum("ij,ij->i", x, x)
    np.maximum(square, 0.0, out=square)
    city = np.empty_like(square)
    absolute_differences(city, v, np.ascontiguousarray(y.T), np.ones(v.shape[1], v.dtype))
    return square, city


@dataclass(frozen=True, eq=False)
class MetricCenters:
    """Rows with which a kernel compares others."""

    kernel: MetricKernel
    middle: Floats
    u: Array
    v: Array

    def __len__(self) -> int:
        return len(self.u)

    def take(self, rows: Any) -> MetricCenters:
        """Some of them."""
        return MetricCenters(self.kernel, self.middle, self.u[rows], self.v[rows])

    def rows(self, z: Floats) -> MetricCenters:
        """New rows in the same coordinates."""
        z = z - self.middle
        u = np.ascontiguousarray(z @ self.kernel.turn, dtype=self.u.dtype)
        return MetricCenters(
            self.kernel, self.middle, u, (z * self.kernel.scale).astype(self.v.dtype)
        )

    def parts(self, x: MetricCenters, stop: int | None = None) -> tuple[Array, Array, Array]:
        """Both parts of κ without their shares, and the Euclidean distances, up to a center."""
        square, city = _distances(x.u, x.v, self.u[:stop], self.v[:stop])
        distance = np.sqrt(square, out=square)
        round_part = np.sqrt(distance)
        round_part *= distance
        np.negative(round_part, out=round_part)
        np.exp(round_part, out=round_part)
        np.negative(city, out=city)
        np.exp(city, out=city)
        return round_part, city, distance

    def values(self, x: MetricCenters, stop: int | None = None) -> Array:
        """κ of rows with the centers."""
        tau = self.kernel.share
        round_part, city, _ = self.parts(x, stop)
        round_part *= 1.0 - tau
        city *= tau
        round_part += city
        return round_part

    def dot(self, x: MetricCenters, coef: Array) -> Array:
        """Σⱼ κ(x, zⱼ) aⱼ, strip by strip."""
        out = np.empty((len(x), coef.shape[1]), dtype=coef.dtype)

        def strip(rows: slice) -> None:
            out[rows] = self.values(x.take(rows)) @ coef

        parallel_map(strip, strips(len(x)))
        return out

    def gram(self) -> Array:
        """The lower half of K; above the diagonal are zeros."""
        n = len(self)
        k = np.zeros((n, n), dtype=self.u.dtype)

        def strip(rows: slice) -> None:
            values = self.values(self.take(rows), rows.stop)
            k[rows, : rows.stop] = np.tril(values, rows.start)

        parallel_map(strip, strips(n)[::-1])
        np.fill_diagonal(k, 1.0)
        return k

    def gradient_outer_product(self, coef: Array, w: Floats) -> Floats:
        """Σ w ∇f(x) ∇f(x)ᵀ / Σ w at the centers, summed over the functions (d x d)."""
        some = spread_rows(len(self), AVERAGED)
        weight = w[some] / w[some].sum()
        right = self._right(coef)

        def strip(part: slice) -> Floats:
            gradients = self._gradients(some[part], coef, right)
            return np.asarray(
                np.einsum("i,ikd,ike->de", weight[part], gradients, gradients, optimize=True)
            )

        total: Floats = sum(parallel_map(strip, strips(len(some))), start=np.zeros(()))
        return total

    def _right(self, coef: Array) -> Array:
        """a, and a times every column of u."""
        moved = (coef[:, :, None] * self.u[:, None, :]).reshape(len(coef), -1)
        return np.concatenate([coef, moved], axis=1).astype(self.u.dtype)

    def _gradients(self, rows: Ints, coef: Array, right: Array) -> Floats:
        """∇f of every function at some of the centers (n x k x d)."""
        from separatrix.kernel_machines.loops import sign_sums

        k, d, tau = coef.shape[1], len(self.kernel.scale), self.kernel.share
        x = self.take(rows)
        round_part, city, distance = self.parts(x)
        near = distance < 1e-5  # itself and its copies: no gradient there
        distance[near] = 1.0
        round_part /= np.sqrt(distance)
        round_part[near] = 0.0
        sums = EXPONENT * (round_part @ right)
        total, moved = sums[:, :k], sums[:, k:].reshape(len(rows), k, -1)
        gradients = np.zeros((len(rows), k, d))
        gradients += (moved - total[:, :, None] * x.u[:, None, :]) @ self.kernel.turn.T
        gradients *= 1.0 - tau
        if tau:
            signs, columns = np.empty_like(x.v), np.ascontiguousarray(self.v.T)
            for j in range(k):
                sign_sums(city * coef[:, j].astype(city.dtype), x.v, columns, signs)
                gradients[:, j] -= tau * signs * self.kernel.scale
        return gradients


def strips(n: int) -> list[slice]:
    """Rows, cut into strips."""
    return [slice(top, min(top + STRIP, n)) for top in range(0, n, STRIP)]


# -------------------------------------------------------------------------------------------------
# Fits given a metric, and the metric of a fit.


@dataclass(frozen=True, eq=False)
class KernelFit:
    """Kernel ridge regression with one kernel, for any λ: the offset is not penalized."""

    kernel: MetricKernel
    centers: MetricCenters
    right: Floats
    w: Floats

    @cached_property
    def gram(self) -> Array:
        """K, its lower half."""
        return self.centers.gram()

    @cached_property
    def unit(self) -> float:
        """Mean of 1 − κ: what λ is measured in. Functions vary by as much of their scale."""
        k = self.gram
        share = (self.w / self.w.sum()).astype(k.dtype)
        lower = float(share @ k @ share)
        return max(1.0 - 2.0 * lower + float(share @ share), 1e-6)

    def solve(self, alpha: float) -> tuple[Floats, Floats]:
        """Coefficients a (n x k), which sum to zero, and offsets b for λ = ``alpha`` units."""
        a = self.gram.copy()
        at = np.arange(len(a))
        # of a heavy row λ/w is nothing: its equations hold to rounding
        rounding = 10.0 * len(a) * np.finfo(np.float64).eps
        a[at, at] += np.maximum(alpha * self.unit / self.w, rounding).astype(a.dtype)
        factor = cholesky_factor(a)
        if factor is None:
            if a.dtype == np.float64:
                raise np.linalg.LinAlgError("K + λ W⁻¹ is not positive definite")
            wide = KernelFit(self.kernel, _to_double(self.centers), self.right, self.w)
            return wide.solve(alpha)
        right = np.column_stack([self.right, np.ones(len(a))]).astype(a.dtype)
        solved = np.asarray(cholesky_solve(factor, right), dtype=np.float64)
        coef, ones = solved[:, :-1], solved[:, -1:]
        offset = coef.sum(axis=0) / ones.sum()
        return coef - ones * offset, offset

    def learn(self) -> Floats:
        """The average gradient outer product, with a floor, to trace one."""
        m = self.centers.gradient_outer_product(self.solve(LEARNING)[0], self.w)
        trace, d = float(np.trace(m)), len(m)
        even = np.eye(d) / d
        return even if not trace > 0.0 else (1.0 - FLOOR) * (m / trace) + FLOOR * even


def _to_double(centers: MetricCenters) -> MetricCenters:
    u, v = (side.astype(np.float64) for side in (centers.u, centers.v))
    return MetricCenters(centers.kernel, centers.middle, u, v)


def learn_rounds(
    z: Floats, right: Floats, w: Floats, shape: KernelShape, rounds: int, dtype: Any = np.float64
) -> Iterator[KernelFit]:
    """The fit with the even metric, and after every round the one with the metric learned."""
    metric = np.eye(z.shape[1]) / z.shape[1]
    for number in range(rounds + 1):
        kernel = MetricKernel.of(metric, shape, z, w)
        fit = KernelFit(kernel, kernel.prepare(z, dtype), right, w)
        yield fit
        if number < rounds:
            metric = fit.learn()
