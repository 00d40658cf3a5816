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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
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
#: Rows at which gradients are averaged, at least: entries of M are then known to 1/√300 or so.
AVERAGED = 300
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
    knots = 200  # at most: the scores are known to less than their distances
    if len(values) > knots:
        some = np.unique(np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], knots)))
        some = np.union1d(some[some < len(values)], [0, len(values) - 1])
        values, scores = values[some], scores[some]
    return values, scores


# -------------------------------------------------------------------------------------------------
# Metrics.


@dataclass(frozen=True, eq=False)
class LearnedMetric:
    """M = V diag(e − ε) Vᵀ + ε I of trace one, e the largest first, V with orthonormal columns."""

    e: Floats
    v: Floats
    rest: float

    @classmethod
    def even(cls, d: int) -> LearnedMetric:
        """I/d."""
        return cls(np.zeros(0), np.zeros((d, 0)), 1.0 / d)

    @classmethod
    def of_gradients(cls, gradients: Floats) -> LearnedMetric:
        """Average outer product of gradients (m x d), with a floor, to trace one.

        Of fewer gradients than columns its eigenvectors come from their products with each other.
        """
        m, d = gradients.shape
        trace, rest = float(np.vdot(gradients, gradients)), FLOOR / d
        if not trace > 0.0:
            return cls.even(d)
        if m >= d:
            e, v = np.linalg.eigh(gradients.T @ gradients)
            e, v = np.maximum(e[::-1], 0.0), v[:, ::-1]
        else:
            e, u = np.linalg.eigh(gradients @ gradients.T)
            some = e > m * np.finfo(float).eps * e[-1]
            e, v = e[some][::-1], gradients.T @ (u[:, some] / np.sqrt(e[some]))[:, ::-1]
        return cls((1.0 - FLOOR) * (e / trace) + rest, np.ascontiguousarray(v), rest)

    @cached_property
    def diagonal(self) -> Floats:
        """Mⱼⱼ."""
        return self.rest + (self.v**2) @ (self.e - self.rest)

    @cached_property
    def matrix(self) -> Floats:
        """M."""
        return self._with(self.e, self.rest)

    @cached_property
    def root(self) -> Floats:
        """M^½, symmetric: unlike V without a choice where e repeats."""
        return self._with(np.sqrt(self.e), np.sqrt(self.rest))

    def _with(self, e: Floats, rest: float) -> Floats:
        full = (self.v * (e - rest)) @ self.v.T
        full[np.diag_indices(len(full))] += rest
        return np.asarray(full)

    def turn(self, z: Floats) -> Floats:
        """z M^½."""
        if 2 * len(self.e) >= len(self.v):
            return np.asarray(z @ self.root)
        least = np.sqrt(self.rest)
        return np.asarray(least * z + (z @ self.v * (np.sqrt(self.e) - least)) @ self.v.T)


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

    share: float
    turn: Floats
    scale: Floats

    @classmethod
    def of(cls, metric: LearnedMetric, shape: KernelShape, z: Floats, w: Floats) -> MetricKernel:
        """Bandwidths from the mean distances of 500 rows: known to a few per cent."""
        some = spread_rows(len(z), 500)
        rows = MetricRows.of(metric, z[some], w[some])
        h, g = rows.bandwidths(shape)
        return cls(shape.share, metric.root / h, np.sqrt(metric.diagonal) / g)

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


def _round_distances(u: Array, x: Array) -> Array:
    """‖u − x‖ of all pairs of rows."""
    square = u @ x.T
    square *= -2.0
    square += np.einsum("ij,ij->i", u, u)[:, None]
    square += np.einsum("ij,ij->i", x, x)
    np.maximum(square, 0.0, out=square)
    return np.asarray(np.sqrt(square, out=square))


def _column_distances(v: Array, y: Array) -> Array:
    """Σ|v − y| of all pairs of rows."""
    from separatrix.kernels.loops import absolute_differences

    city = np.empty((len(v), len(y)), dtype=v.dtype)
    absolute_differences(city, v, np.ascontiguousarray(y.T), np.ones(v.shape[1], v.dtype))
    return city


def _mix(tau: float, along: Callable[[], Array], columns: Callable[[], Array]) -> Array:
    """κ from its parts, of which none is computed that has no share."""
    if tau == 0.0:
        return along()
    values = columns()
    if tau < 1.0:
        values *= tau
        other = along()
        other *= 1.0 - tau
        values += other
    return values


def _round_part(distance: Array, h: float) -> Array:
    """exp(−(‖x − z‖_M/h)^1.5)."""
    power = np.sqrt(distance)
    power *= distance
    power *= power.dtype.type(-(h**-EXPONENT))
    return np.asarray(np.exp(power, out=power))


def _column_part(city: Array, g: float) -> Array:
    """exp(−Σⱼ √Mⱼⱼ |xⱼ − zⱼ|/g)."""
    power = city * city.dtype.type(-1.0 / g)
    return np.asarray(np.exp(power, out=power))


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

    def values(self, x: MetricCenters, stop: int | None = None) -> Array:
        """κ of rows with the centers, up to one of them."""
        u, v = self.u[:stop], self.v[:stop]
        return _mix(
            self.kernel.share,
            lambda: _round_part(_round_distances(x.u, u), 1.0),
            lambda: _column_part(_column_distances(x.v, v), 1.0),
        )

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


def strips(n: int) -> list[slice]:
    """Rows, cut into strips."""
    return [slice(top, min(top + STRIP, n)) for top in range(0, n, STRIP)]


# -------------------------------------------------------------------------------------------------
# Fits given a metric, and the metric of a fit.


@dataclass(frozen=True, eq=False)
class KernelFit:
    """Kernel ridge regression with one kernel, for any λ: the offset is not penalized.

    Only the lower half of K is read.
    """

    gram: Array
    right: Floats
    w: Floats
    solved: dict[float, tuple[Floats, Floats]] = field(default_factory=dict)

    @cached_property
    def unit(self) -> float:
        """Mean of 1 − κ: what λ is measured in. Functions vary by as much of their scale."""
        share = (self.w / self.w.sum()).astype(self.gram.dtype)
        product = linalg.get_blas_funcs("symv", (self.gram,))(1.0, self.gram.T, share)
        return max(1.0 - float(share @ product), 1e-6)

    def solve(self, alpha: float) -> tuple[Floats, Floats]:
        """Coefficients a (n x k), which sum to zero, and offsets b for λ = ``alpha`` units."""
        if alpha not in self.solved:
            # of a heavy row λ/w is nothing: its equations hold to rounding
            rounding = 10.0 * len(self.w) * np.finfo(np.float64).eps
            penalty = np.maximum(alpha * self.unit / self.w, rounding)
            self.solved[alpha] = _solve_ridge(self.gram, penalty, self.right)
        return self.solved[alpha]


def _solve_ridge(gram: Array, penalty: Floats, right: Floats) -> tuple[Floats, Floats]:
    """(K + diag(penalty)) a + b = y with Σ a = 0; in double precision where single will not do."""
    a = gram.copy()
    a[np.diag_indices(len(a))] += penalty.astype(a.dtype)
    factor = cholesky_factor(a)
    if factor is None:
        if a.dtype == np.float64:
            raise np.linalg.LinAlgError("K + λ W⁻¹ is not positive definite")
        # K in single precision is not positive by its own rounding
        rounding = len(a) * float(np.finfo(a.dtype).eps)
        return _solve_ridge(gram.astype(np.float64), penalty + rounding, right)
    columns = np.column_stack([right, np.ones(len(a))]).astype(a.dtype)
    solved = np.asarray(cholesky_solve(factor, columns), dtype=np.float64)
    coef, ones = solved[:, :-1], solved[:, -1:]
    offset = coef.sum(axis=0) / ones.sum()
    return coef - ones * offset, offset


@dataclass(frozen=True, eq=False)
class MetricPairs:
    """Pairs of rows of ``u`` with those of ``x``, of ``v`` with ``y``: both distances, once."""

    u: Array
    v: Array
    x: Array
    y: Array

    @cached_property
    def distance(self) -> Array:
        """‖x − z‖_M."""
        return _round_distances(self.u, self.x)

    @cached_property
    def city(self) -> Array:
        """Σⱼ √Mⱼⱼ |xⱼ − zⱼ|."""
        return _column_distances(self.v, self.y)


@dataclass(frozen=True, eq=False)
class MetricRows:
    """Rows with all of their distances in a metric, from which kernels of any shape are made."""

    metric: LearnedMetric
    middle: Floats
    u: Array
    v: Array
    w: Floats
    fits: dict[KernelShape, KernelFit] = field(default_factory=dict)

    @classmethod
    def of(cls, metric: LearnedMetric, z: Floats, w: Floats, dtype: Any = np.float64) -> MetricRows:
        """In the coordinates of the metric."""
        middle = z.mean(axis=0)
        return cls(metric, middle, *_coordinates(metric, z - middle, dtype), w)

    @cached_property
    def pairs(self) -> MetricPairs:
        """Those of the rows with one another."""
        return MetricPairs(self.u, self.v, self.u, self.v)

    def pairs_with(self, z: Floats) -> MetricPairs:
        """Those of new rows with these."""
        u, v = _coordinates(self.metric, z - self.middle, self.u.dtype)
        return MetricPairs(u, v, self.u, self.v)

    @cached_property
    def _share(self) -> Array:
        return np.asarray((self.w / self.w.sum()).astype(self.u.dtype))

    @cached_property
    def _mean_distance(self) -> float:
        return float(self._share @ self.pairs.distance @ self._share) or 1.0

    @cached_property
    def _mean_city(self) -> float:
        return float(self._share @ self.pairs.city @ self._share) or 1.0

    def bandwidths(self, shape: KernelShape) -> tuple[float, float]:
        """h and g: multiples of the mean distances of two rows."""
        return shape.spread * self._mean_distance, shape.spread * self._mean_city

    def values(self, shape: KernelShape, pairs: MetricPairs) -> Array:
        """κ of pairs."""
        return _mix(
            shape.share,
            lambda: _round_part(pairs.distance, shape.spread * self._mean_distance),
            lambda: _column_part(pairs.city, shape.spread * self._mean_city),
        )

    def fit(self, shape: KernelShape, right: Floats) -> KernelFit:
        """Fits with the kernel of a shape."""
        if shape not in self.fits:
            gram = self.values(shape, self.pairs)
            np.fill_diagonal(gram, 1.0)
            self.fits[shape] = KernelFit(gram, right, self.w)
        return self.fits[shape]

    def learn(self, shape: KernelShape, right: Floats) -> LearnedMetric:
        """The average gradient outer product of a fit, with a floor, to trace one."""
        coef, _ = self.fit(shape, right).solve(LEARNING)
        n, k = coef.shape
        some = spread_rows(n, max(AVERAGED, 2 * self.u.shape[1]))
        gradients = self._gradients(shape, some, coef)
        gradients *= np.sqrt(self.w[some] / self.w[some].sum())[:, None, None]
        return LearnedMetric.of_gradients(gradients.reshape(len(some) * k, -1))

    def _gradients(self, shape: KernelShape, rows: Ints, coef: Floats) -> Floats:
        """∇f of every function at some of the rows (m x k x d)."""
        from separatrix.kernel_machines.loops import sign_sums

        tau, k = shape.share, coef.shape[1]
        u, dtype = self.u[rows], self.u.dtype
        gradients = np.zeros((len(rows), k, u.shape[1]))
        if tau < 1.0:
            h = shape.spread * self._mean_distance
            distance = self.pairs.distance[rows]
            near = distance < 1e-5 * h  # itself and its copies: no gradient there
            slope = _round_part(distance, h)
            distance[near] = 1.0
            slope /= np.sqrt(distance)
            slope[near] = 0.0
            moved = (coef[:, :, None] * self.u[:, None, :]).reshape(len(coef), -1)
            sums = slope @ np.concatenate([coef, moved], axis=1).astype(dtype)
            total, moved = sums[:, :k], sums[:, k:].reshape(gradients.shape)
            inner = (moved - total[:, :, None] * u[:, None, :]).reshape(len(rows) * k, -1)
            factor = (1.0 - tau) * EXPONENT * h**-EXPONENT
            gradients += factor * self.metric.turn(inner).reshape(gradients.shape)
        if tau > 0.0:
            g = shape.spread * self._mean_city
            values = _column_part(self.pairs.city[rows], g)
            x, columns = np.ascontiguousarray(self.v[rows]), np.ascontiguousarray(self.v.T)
            signs, scale = np.empty_like(x), np.sqrt(self.metric.diagonal) / g
            for j in range(k):
                sign_sums(values * coef[:, j].astype(dtype), x, columns, signs)
                gradients[:, j] -= tau * signs * scale
        return gradients


def _coordinates(metric: LearnedMetric, z: Floats, dtype: Any) -> tuple[Array, Array]:
    """Rows whose Euclidean distances are ‖x − z‖_M, and whose ℓ₁ distances are along columns."""
    u, v = metric.turn(z), z * np.sqrt(metric.diagonal)
    return np.ascontiguousarray(u, dtype=dtype), np.ascontiguousarray(v, dtype=dtype)


def learn_rounds(
    z: Floats, right: Floats, w: Floats, shape: KernelShape, rounds: int
) -> Iterator[MetricRows]:
    """Rows in the even metric, and after every round in the metric learned.

    In single precision: the metric is found, and not claimed to be more.
    """
    metric = LearnedMetric.even(z.shape[1])
    for number in range(rounds + 1):
        rows = MetricRows.of(metric, z, w, np.float32)
        yield rows
        if number < rounds:
            metric = rows.learn(shape, right)


def learn_metric(
    z: Floats, right: Floats, w: Floats, shape: KernelShape, rounds: int
) -> LearnedMetric:
    """The metric after so many rounds."""
    if rounds == 0:
        return LearnedMetric.even(z.shape[1])
    *_, rows = learn_rounds(z, right, w, shape, rounds - 1)
    return rows.learn(shape, right)
