"""Inducing points: the sums behind a process, bounds on its evidence, the posterior."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any, Self

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.bayes.gaussian_process.evidence import LOG_2PI
from separatrix.bayes.gaussian_process.model import TrendBasis
from separatrix.kernels import Constant, Kernel
from separatrix.kernels.algebra import Product, Scaled, Sum
from separatrix.kernels.base import Items, PreparedKernel
from separatrix.kernels.stationary import RadialKernel
from separatrix.matrices.cholesky import cholesky_factor
from separatrix.messages import InputError
from separatrix.rows.parts import Hashes, hash_block
from separatrix.rows.rows import InMemory, MappedRows, Rows, S
from separatrix.rows.schema import Block, n_items, take_items, to_array
from separatrix.threads import parallel_map, pieces

# -------------------------------------------------------------------------------------------------
# Inducing points Z: some rows whose kernel stands for that of all of them.
#
#     K ≈ Q = K_nm (K_mm + εI)⁻¹ K_mn,     K_mm + εI = L Lᵀ,     0 ⪯ Q ⪯ K for every ε ≥ 0
#
# so that bounds on the evidence hold with any ε; the least that leaves a factor is taken and said.


@dataclass(frozen=True)
class InducingPoints:
    """A kernel with its inducing points: k(x) = L⁻¹ κ(Z, x) are m numbers for every row.

    ``jitter`` is ε relative to the mean of κ(z, z).
    """

    kernel: Kernel
    points: Items
    factor: Floats
    jitter: float

    @classmethod
    def of(cls, kernel: Kernel, points: Items) -> InducingPoints:
        """Factor the kernel matrix of the points, with the least jitter that allows it."""
        gram = np.asarray(cross_values(kernel, points, points), dtype=float)
        gram = 0.5 * (gram + gram.T)
        diagonal = np.diagonal(gram).copy()
        size = float(diagonal.mean()) if len(diagonal) else 1.0
        # ε relative to the mean of κ(z, z), in the order in which they are tried.
        for jitter in (0.0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6):
            raised = gram.copy()
            raised[np.diag_indices(len(gram))] = diagonal + jitter * size
            factor = cholesky_factor(raised)
            # The smallest pivot of the factor, relative to κ(z, z), at which rounding leaves
            # digits.
            if factor is not None and (np.diagonal(factor) ** 2 > 1e-11 * size).all():
                return cls(kernel, points, np.tril(factor), jitter)
        raise InputError(
            "The kernel matrix of the inducing points is not positive, whatever is added to it.",
            remedy="Use a kernel that is positive semi-definite, and finite on these rows.",
        )

    def __len__(self) -> int:
        return n_items(self.points)

    @cached_property
    def prepared(self) -> PreparedKernel:
        """The kernel prepared for the points."""
        return self.kernel.prepare_exact(self.points)

    @cached_property
    def whitening(self) -> Floats:
        """L⁻ᵀ, by which rows κ(x, Z) are whitened."""
        inverse = linalg.solve_triangular(
            self.factor, np.eye(len(self)), lower=True, check_finite=False
        )
        return np.ascontiguousarray(inverse.T)

    @cached_property
    def well_conditioned(self) -> bool:
        """Whether whitened rows have digits enough in single precision, for a search."""
        pivots = np.diagonal(self.factor) ** 2
        # The smallest pivot, relative to the largest, with which single precision will do in a
        # search.
        return bool((pivots > 1e-4 * pivots.max(initial=0.0)).all())

    @cached_property
    def _single_whitening(self) -> NDArray[np.float32]:
        return self.whitening.astype(np.float32)

    def diagonal(self, x: Items) -> Floats:
        """κ(x, x) of every row."""
        return np.asarray(self.kernel.diagonal(x), dtype=float)

    def rows(self, x: Items) -> Floats:
        """κ(x, Z), n x m."""
        return np.asarray(self.prepared.rows(x), dtype=float)

    def whiten(self, x: Items, *, single: bool = False) -> NDArray[Any]:
        """κ(x, Z) L⁻ᵀ, n x m: their inner products are Q; in single precision where that will do.

        Kernel values are computed for a few rows at a time, which stay in the cache.
        """
        whitening: NDArray[Any] = self.whitening
        if single and self.well_conditioned:
            whitening = self._single_whitening
        a = np.empty((n_items(x), len(self)), whitening.dtype)
        for rows in strips(*a.shape):
            values = self.rows(take_items(x, rows))
            np.matmul(values.astype(a.dtype, copy=False), whitening, out=a[rows])
        return a

    def __getstate__(self) -> dict[str, Any]:
        """What is computed on demand is not pickled."""
        names = ("kernel", "points", "factor", "jitter")
        return {name: getattr(self, name) for name in names}


def cross_values(kernel: Kernel, x: Items, z: Items) -> Floats:
    """κ(xᵢ, zⱼ) as of different rows: noise on the diagonal of a Gram matrix is left out."""
    return np.asarray(kernel.prepare_exact(z).rows(x), dtype=float)


def groups(n: int, m: int) -> list[list[slice]]:
    """Pieces of a million kernel values, 16 at a time; they depend on the shape alone."""
    step = max(64, (1 << 20) // max(m, 1))
    cuts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    return [cuts[i : i + 16] for i in range(0, len(cuts), 16)]


def strips(n: int, m: int) -> list[slice]:
    """Rows whose kernel values stay in the cache: half a megabyte."""
    step = max(16, (1 << 16) // max(m, 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


# -------------------------------------------------------------------------------------------------
# The sums behind a process with inducing points: one pass over the rows, merged with ``+``.
#
#     A = K_nm L⁻ᵀ:     Φ = AᵀWA,   b = AᵀWY,   S = YᵀWY,   t = Σ w κ(x, x),   n = Σ w
#
# A weight of w adds what w equal rows add.


@dataclass(frozen=True)
class Targets:
    """What a row has as targets: its outputs, centered and scaled, then the trend's columns."""

    outputs: int = 1
    center: Floats = field(default_factory=lambda: np.zeros(1))
    scale: Floats = field(default_factory=lambda: np.ones(1))
    basis: TrendBasis = field(default_factory=lambda: TrendBasis.of("none", None, None))

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return self.outputs + len(self.basis)

    def of(self, x: Items, y: Floats) -> Floats:
        """The columns of some rows."""
        standard = (y - self.center) / self.scale
        return np.column_stack([standard, self.basis.of_rows(x)]) if len(self.basis) else standard


class InducingSums:
    """Φ, b, S, t and n of some rows, for given inducing points."""

    def __init__(
        self, inducing: InducingPoints, targets: Targets | None = None, single: bool = False
    ) -> None:
        self.inducing, self.targets = inducing, Targets() if targets is None else targets
        self.single = single
        m, k = len(inducing), self.targets.columns
        self.weight, self.count, self.trace = 0.0, 0, 0.0
        self.gram = np.zeros((m, m))
        self.inner = np.zeros((m, k))
        self.squares = np.zeros((k, k))

    def fresh(self) -> Self:
        """The sums of no rows."""
        return type(self)(self.inducing, self.targets, self.single)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        self.add(block.dense(), block.y, block.w)

    def add(self, x: Items, y: Floats, w: Floats | None = None) -> None:
        """Add rows (or objects) with targets n x outputs and weights."""

        def part(rows: slice) -> tuple[Any, ...]:
            return self._part(take_items(x, rows), y[rows], None if w is None else w[rows])

        for group in groups(n_items(x), len(self.inducing)):
            for gram, inner, squares, trace in parallel_map(part, group):
                self.gram += gram
                self.inner += inner
                self.squares += squares
                self.trace += trace
        self.count += n_items(x) if w is None else int(np.count_nonzero(w))
        self.weight += float(n_items(x) if w is None else w.sum())

    def _part(self, x: Items, y: Floats, w: Floats | None) -> tuple[Any, ...]:
        a = self.inducing.whiten(x, single=self.single)
        y, diagonal = self.targets.of(x, y), self.inducing.diagonal(x)
        if w is not None:
            root = np.sqrt(w)[:, None]
            a *= root.astype(a.dtype)
            y, diagonal = y * root, diagonal * w
        return a.T @ a, a.T @ y.astype(a.dtype, copy=False), y.T @ y, float(diagonal.sum())

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        for name in ("weight", "count", "trace", "gram", "inner", "squares"):
            setattr(total, name, getattr(self, name) + getattr(other, name))
        return total


def reduce_rows(rows: Rows, statistic: S) -> S:
    """A statistic of all rows; one that works on threads itself takes rows in memory whole."""
    if not isinstance(rows, InMemory):
        return rows.reduce(statistic)
    total = statistic.fresh()
    total.update(rows.block)
    return total


def store_rows(rows: Rows) -> Rows:
    """The rows of a design; encoded once where the table is in memory."""
    in_memory = isinstance(rows, MappedRows) and isinstance(rows.rows, InMemory)
    return rows.read() if in_memory else rows


# -------------------------------------------------------------------------------------------------
# Bounds on the evidence of a Gaussian process from the sums of its inducing points.
#
# With Q = A Aᵀ, B = I + Φ/σ² and r = t − tr Φ = tr(K − Q), for each output y,
#
#     F = −½ n log 2πσ² − ½ log|B| − ½ yᵀ(Q + σ²I)⁻¹y − r/2σ²          (Titsias 2009)
#     U = −½ n log 2πσ² − ½ log|B| − ½ yᵀ(Q + (σ² + r)I)⁻¹y            (Titsias 2014)
#
#     F ≤ log p(y) ≤ U
#
# and both are equal where the points span the rows.


@dataclass(frozen=True)
class CollapsedBound:
    """F, U, their derivatives and the posterior, at a noise variance σ²."""

    sums: InducingSums
    noise: float

    @property
    def inducing(self) -> InducingPoints:
        """The inducing points."""
        return self.sums.inducing

    @cached_property
    def factor(self) -> Floats:
        """The Cholesky factor of B = I + Φ/σ²."""
        found = cholesky_factor(np.eye(len(self.inducing)) + self.sums.gram / self.noise)
        if found is None:  # Φ is positive semi-definite unless it is not finite
            raise FloatingPointError("the sums of the inducing points are not finite")
        return np.tril(found)

    @cached_property
    def residual_trace(self) -> float:
        """r = tr(K − Q), the variance that the points leave; never negative."""
        return max(self.sums.trace - float(np.trace(self.sums.gram)), 0.0)

    @cached_property
    def half_solved(self) -> Floats:
        """L_B⁻¹ b/σ, whose squares are what the points explain of yᵀy/σ²."""
        solved = linalg.solve_triangular(
            self.factor, self.sums.inner, lower=True, check_finite=False
        )
        return np.asarray(solved / self.noise)

    @cached_property
    def solved(self) -> Floats:
        """ν = B⁻¹ b/σ², the mean of the whitened process at the points."""
        return np.asarray(
            linalg.solve_triangular(
                self.factor, self.half_solved, lower=True, trans=1, check_finite=False
            )
        )

    @property
    def outputs(self) -> int:
        """How many outputs share the process."""
        return self.sums.targets.outputs

    @cached_property
    def _shared(self) -> float:
        """−½ n log 2πσ² − ½ log|B| of one output."""
        n = self.sums.weight
        log_determinant = 2.0 * float(np.log(np.diagonal(self.factor)).sum())
        return -0.5 * (n * (LOG_2PI + float(np.log(self.noise))) + log_determinant)

    @cached_property
    def _products(self) -> Floats:
        """[Y H]ᵀ(Q + σ²I)⁻¹[Y H]."""
        return np.asarray(self.sums.squares / self.noise - self.half_solved.T @ self.half_solved)

    @cached_property
    def trend(self) -> tuple[Floats, Floats]:
        """β̂ (p x outputs) of the trend, and the Cholesky factor of Hᵀ(Q + σ²I)⁻¹H."""
        return generalized_least_squares(self._products, self.outputs)

    @cached_property
    def lower(self) -> float:
        """F, summed over outputs."""
        value = self._shared - 0.5 * self.residual_trace / self.noise
        return self.outputs * value + self._explain(self._products)

    @cached_property
    def upper(self) -> float:
        """U, summed over outputs."""
        raised = self.noise + self.residual_trace
        system = cholesky_factor(np.eye(len(self.inducing)) + self.sums.gram / raised)
        if system is None:
            return np.inf
        half = linalg.solve_triangular(
            np.tril(system), self.sums.inner / raised, lower=True, check_finite=False
        )
        products = self.sums.squares / raised - half.T @ half
        return self.outputs * self._shared + self._explain(products)

    def _explain(self, products: Floats) -> float:
        """−½ yᵀC⁻¹y, with a trend of flat prior integrated out: from [Y H]ᵀC⁻¹[Y H]."""
        k = self.outputs
        coef, factor = generalized_least_squares(products, k)
        left = np.diagonal(products)[:k] - (products[:k, k:] * coef.T).sum(axis=1)
        value = -0.5 * float(np.maximum(left, 0.0).sum())
        if len(factor):
            size = np.linalg.slogdet(self.sums.squares[k:, k:])[1]
            value += k * (0.5 * float(size) - float(np.log(np.diagonal(factor)).sum()))
            value += 0.5 * k * len(factor) * LOG_2PI
        return value

    # -- derivatives of F ----------------------------------------------------------------------

    @cached_property
    def combination(self) -> Floats:
        """T: the columns [Y H] T whose quadratic forms are what F depends on through C⁻¹.

        Those are the residuals Y − H β̂, and H A^−½ for each output, A = HᵀC⁻¹H.
        """
        k, p = self.outputs, len(self.sums.targets.basis)
        combined = np.eye(k + p)
        if p:
            coef, factor = self.trend
            combined[k:, :k] = -coef
            inverse = linalg.solve_triangular(factor, np.eye(p), lower=True)
            combined[k:, k:] = np.sqrt(k) * inverse.T
        return combined

    @cached_property
    def _whitened_columns(self) -> Floats:
        """ν of the combined columns."""
        return np.asarray(self.solved @ self.combination)

    @cached_property
    def slopes(self) -> Floats:
        """∂F by b: times the combined targets of a row it is ∂F by κ(x, Z)."""
        return np.asarray(self.inducing.whitening @ self._whitened_columns / self.noise)

    @cached_property
    def _shrinkage(self) -> Floats:
        """I − B⁻¹."""
        m = len(self.inducing)
        inverse = linalg.cho_solve((self.factor, True), np.eye(m), check_finite=False)
        return np.asarray(np.eye(m) - inverse)

    def by_rows(self) -> Floats:
        """2 ∂F/∂(K_mn W K_nm), m x m: times a row κ(x, Z) it is ∂F by that row."""
        nu = self._whitened_columns
        inside = self.outputs * self._shrinkage - nu @ nu.T
        return self._sandwich(inside / self.noise)

    def by_points(self) -> Floats:
        """∂F/∂K_mm, m x m."""
        nu = self._whitened_columns
        inside = self.outputs * (self._shrinkage - self.sums.gram / self.noise) - nu @ nu.T
        return self._sandwich(0.5 * inside)

    def by_log_noise(self) -> float:
        """∂F/∂ log σ²."""
        sums, nu, t = self.sums, self._whitened_columns, self.combination
        fit = float(np.trace(t.T @ sums.squares @ t))
        fit += float(np.vdot(nu, sums.gram @ nu)) - 2.0 * float(np.vdot(nu, sums.inner @ t))
        value = -0.5 * sums.weight + 0.5 * float(np.trace(self._shrinkage))
        value += 0.5 * self.residual_trace / self.noise
        return self.outputs * value + 0.5 * fit / self.noise

    def _sandwich(self, inside: Floats) -> Floats:
        whitening = self.inducing.whitening
        return np.asarray(whitening @ inside @ whitening.T)


def generalized_least_squares(products: Floats, outputs: int) -> tuple[Floats, Floats]:
    """β̂ (p x outputs) and the Cholesky factor of A, from [Y H]ᵀC⁻¹[Y H]."""
    a = products[outputs:, outputs:]
    if not len(a):
        return np.zeros((0, outputs)), a
    factor = np.asarray(np.linalg.cholesky(a), dtype=float)
    return np.asarray(linalg.cho_solve((factor, True), products[outputs:, :outputs])), factor


# -------------------------------------------------------------------------------------------------
# Derivatives of the collapsed bound by hyperparameters and points: one more pass over the rows.
#
#     ∂F = Σᵢⱼ qᵢⱼ ∂κ(xᵢ, zⱼ) + Σⱼₗ Pⱼₗ ∂κ(zⱼ, zₗ) − (1/2σ²) Σᵢ wᵢ ∂κ(xᵢ, xᵢ)
#     qᵢ = wᵢ (2H κ(Z, xᵢ) + μ yᵢ/σ²)
#
# A trend with a flat prior adds columns to y: see :attr:`CollapsedBound.combination`.


class GradientSums:
    """The derivatives of F by θ of the kernel, and by the points, through some rows.

    ``points`` is empty where the kernel has no derivatives by them.
    """

    def __init__(self, bound: CollapsedBound, curved: NDArray[Any]) -> None:
        self.bound, self.curved = bound, curved
        inducing = bound.inducing
        self.moves = movable(inducing.kernel, inducing.points)
        self.theta = np.zeros(len(inducing.kernel.theta))
        self.points = np.zeros(inducing.points.shape if self.moves else (0, 0))

    @classmethod
    def of(cls, bound: CollapsedBound) -> Self:
        """Empty sums at this bound."""
        curved, single = bound.by_rows(), bound.sums.single and bound.inducing.well_conditioned
        return cls(bound, curved.astype(np.float32) if single else curved)

    def fresh(self) -> Self:
        """The sums of no rows."""
        return type(self)(self.bound, self.curved)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        self.add(block.dense(), block.y, block.w)

    def add(self, x: Items, y: Floats, w: Floats | None = None) -> None:
        """Add rows (or objects) with targets and weights."""

        def part(rows: slice) -> tuple[Floats, Floats]:
            return self._part(take_items(x, rows), y[rows], None if w is None else w[rows])

        for group in groups(n_items(x), len(self.bound.inducing)):
            for theta, points in parallel_map(part, group):
                self.theta = self.theta + theta
                self.points = self.points + points

    def _part(self, x: Items, y: Floats, w: Floats | None) -> tuple[Floats, Floats]:
        """Some rows, a strip at a time."""
        bound, n = self.bound, n_items(x)
        targets = bound.sums.targets.of(x, y) @ bound.combination
        ones = np.full(n, -0.5 * bound.outputs / bound.noise)
        if w is not None:
            ones *= w
        theta = bound.inducing.kernel.diagonal_gradient_sums(x, ones)
        points = np.zeros_like(self.points)
        for rows in strips(n, len(bound.inducing)):
            here = None if w is None else w[rows, None]
            block = self._strip(take_items(x, rows), targets[rows], here)
            theta, points = theta + block[0], points + block[1]
        return theta, points

    def _strip(self, x: Items, targets: Floats, w: Floats | None) -> tuple[Floats, Any]:
        inducing = self.bound.inducing
        moves = self.moves and isinstance(x, np.ndarray)
        near = tangent(inducing.kernel, x, inducing.points) if moves else None
        values = inducing.rows(x) if near is None else near.values
        q = values.astype(self.curved.dtype, copy=False) @ self.curved
        q = q + targets @ self.bound.slopes.T
        if w is not None:
            q *= w
        if near is None:
            return inducing.kernel.gradient_sums(x, q, inducing.points), 0.0
        return near.sums(q)

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.theta, total.points = self.theta + other.theta, self.points + other.points
        return total

    def total(self) -> tuple[Floats, Floats]:
        """∂F/∂(θ, log σ²) and ∂F/∂Z, the points' own kernel included."""
        inducing, by_point = self.bound.inducing, self.bound.by_points()
        kernel, z, m = inducing.kernel, inducing.points, len(inducing)
        if self.moves:
            theta, points = tangent(kernel, z, z).sums(by_point)
            points = self.points + 2.0 * points  # a point is on both sides
        else:
            theta, points = kernel.gradient_sums(z, by_point), self.points
        theta = self.theta + theta
        if inducing.jitter:
            share = np.full(m, inducing.jitter * float(np.trace(by_point)) / m)
            theta = theta + kernel.diagonal_gradient_sums(z, share)
        return np.append(theta, self.bound.by_log_noise()), points


# -------------------------------------------------------------------------------------------------
# Derivatives of sums of kernel values by the hyperparameters and by the inducing points, together.
#
#     Σᵢⱼ qᵢⱼ κ(xᵢ, zⱼ):     ∂/∂θ, and ∂/∂zⱼ for every point
#
# For a radial kernel κ = f(s) with slope g = −2 f′(s), all of them are products of G = q ∘ g with
# the rows: with u = x/σ and v = z/σ,
#
#     ∂/∂log σ_c = Σ G (u_c − v_c)² = Σᵢ (G1)ᵢ u²ᵢ − 2 Σⱼ (Gᵀu)ⱼ vⱼ + Σⱼ (Gᵀ1)ⱼ v²ⱼ
#     ∂/∂zⱼ = ((Gᵀu)ⱼ − (Gᵀ1)ⱼ vⱼ)/σ
#
# Sums, products and multiples hand q down. Other kernels have derivatives by θ alone: their points
# stay where they are.


def movable(kernel: Kernel, points: Any) -> bool:
    """Whether the derivatives of this kernel by its points are known."""
    if not isinstance(points, np.ndarray):
        return False
    if isinstance(kernel, Sum | Product):
        return all(movable(operand, points) for operand in kernel.operands)
    if isinstance(kernel, Scaled):
        return movable(kernel.kernel, points)
    return isinstance(kernel, RadialKernel | Constant)


class Tangent(ABC):
    """Kernel values of some rows with the points, and sums of their derivatives."""

    values: Floats

    @abstractmethod
    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        """Σ q ∂κ by θ, and by the points (m x d)."""


def tangent(kernel: Kernel, x: Floats, z: Floats) -> Tangent:
    """The values κ(x, z), ready for derivatives."""
    if isinstance(kernel, Sum):
        return _SumTangent([tangent(operand, x, z) for operand in kernel.operands])
    if isinstance(kernel, Product):
        return _ProductTangent([tangent(operand, x, z) for operand in kernel.operands])
    if isinstance(kernel, Scaled):
        return _ScaledTangent(kernel.factor, tangent(kernel.kernel, x, z))
    if isinstance(kernel, Constant):
        return _ConstantTangent(kernel.constant, x, z)
    assert isinstance(kernel, RadialKernel)
    return _RadialTangent(kernel, x, z)


class _RadialTangent(Tangent):
    def __init__(self, kernel: RadialKernel, x: Floats, z: Floats) -> None:
        self.kernel = kernel
        self.inverse = kernel.inverse_bandwidths(x.shape[1])
        center = z.mean(axis=0)
        self.u, self.v = (x - center) * self.inverse, (z - center) * self.inverse
        squares = -2.0 * (self.u @ self.v.T)
        squares += np.einsum("ij,ij->i", self.u, self.u)[:, None]
        squares += np.einsum("ij,ij->i", self.v, self.v)[None, :]
        self.values = np.maximum(squares, 0.0, out=squares)
        self.slopes = np.empty_like(squares)
        self.others = kernel.apply(self.values, self.slopes, 1.0, 0.0)

    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        others = [float(np.vdot(q, other)) for other in self.others]
        g = q * self.slopes
        products, columns = g.T @ self.u, g.sum(axis=0)
        by_bandwidth = g.sum(axis=1) @ self.u**2 + columns @ self.v**2
        by_bandwidth -= 2.0 * (products * self.v).sum(axis=0)
        if not self.kernel.by_column:
            by_bandwidth = np.array([by_bandwidth.sum()])
        by_points = (products - columns[:, None] * self.v) * self.inverse
        return np.concatenate([others, by_bandwidth]), by_points


class _ConstantTangent(Tangent):
    def __init__(self, constant: float, x: Floats, z: Floats) -> None:
        self.constant, self.shape = constant, z.shape
        self.values = np.full((len(x), len(z)), constant)

    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        return np.array([self.constant * q.sum()]), np.zeros(self.shape)


class _ScaledTangent(Tangent):
    def __init__(self, factor: float, inner: Tangent) -> None:
        self.factor, self.inner = factor, inner
        self.values = factor * inner.values

    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        theta, points = self.inner.sums(q)
        value_sum = float(np.vdot(q, self.values))
        return np.append(value_sum, self.factor * theta), self.factor * points


class _SumTangent(Tangent):
    def __init__(self, operands: list[Tangent]) -> None:
        self.operands = operands
        self.values = reduce(np.add, [operand.values for operand in operands])

    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        found = [operand.sums(q) for operand in self.operands]
        return np.concatenate([theta for theta, _ in found]), reduce(np.add, [p for _, p in found])


class _ProductTangent(Tangent):
    def __init__(self, operands: list[Tangent]) -> None:
        self.operands = operands
        self.values = reduce(np.multiply, [operand.values for operand in operands])

    def sums(self, q: Floats) -> tuple[Floats, Floats]:
        products = []
        for i, operand in enumerate(self.operands):
            others = [other.values for j, other in enumerate(self.operands) if j != i]
            products.append(operand.sums(reduce(np.multiply, others, q)))
        return np.concatenate([theta for theta, _ in products]), reduce(
            np.add, [p for _, p in products]
        )


# -------------------------------------------------------------------------------------------------
# The posterior of f, and of y, at new rows, given the sums of the inducing points.
#
#   a = L⁻¹ κ(Z, x):   E f = a·ν + h·β̂,   Var f = κ(x, x) − ‖a‖² + ‖L_B⁻¹a‖² + ‖L_A⁻¹(h − ν_Hᵀ a)‖²
#
# What the points do not span of f keeps its prior variance κ(x, x) − ‖a‖²; the last term is the
# uncertainty of the trend.


@dataclass(frozen=True)
class InducingPosterior:
    """Means, variances and covariances of f, in units of the standardized targets.

    ``noise`` is the variance of y about f that new rows have.
    """

    bound: CollapsedBound
    noise: float

    def mean(self, new: Items) -> Floats:
        """E f (n x outputs)."""
        return self._by_strips(new, self._mean_of, self.bound.outputs)

    def variance(self, new: Items, *, noise: bool) -> Floats:
        """Variance of f, or of y with ``noise``, at every new row; never below zero."""
        left = self._by_strips(new, self._variance_of, 1)[:, 0]
        return left + self.noise if noise else left

    def covariance(self, new: Items, *, noise: bool) -> Floats:
        """The joint covariance of f, or of y with ``noise``, at new rows."""
        kernel = self.bound.inducing.kernel
        whole = np.array(kernel.prepare_exact(new).rows(new), dtype=float)
        a = self.bound.inducing.whiten(new)
        shrunk, trend = self._shrunk(a), self._trend_residual(a, new)
        whole += shrunk.T @ shrunk + trend.T @ trend - a @ a.T
        whole = 0.5 * (whole + whole.T)
        diagonal = np.maximum(np.diagonal(whole), 0.0)
        whole[np.diag_indices(len(whole))] = diagonal + (self.noise if noise else 0.0)
        return np.asarray(whole)

    def _by_strips(self, new: Items, of: object, columns: int) -> Floats:
        n = n_items(new)
        strips = np.empty((n, columns))

        def strip(rows: slice) -> None:
            strips[rows] = of(take_items(new, rows))  # type: ignore[operator]

        rows_at_once = 512  # rows of one piece of work
        parallel_map(strip, pieces(n, rows_at_once, max(64, n // rows_at_once)))
        return strips

    def _mean_of(self, new: Items) -> Floats:
        bound = self.bound
        combined = bound.inducing.whitening @ (bound.solved @ bound.combination)[:, : bound.outputs]
        mean = bound.inducing.rows(new) @ combined
        basis = bound.sums.targets.basis
        return mean + basis.of_rows(new) @ bound.trend[0] if len(basis) else mean

    def _variance_of(self, new: Items) -> Floats:
        a = self.bound.inducing.whiten(new)
        shrunk, trend = self._shrunk(a), self._trend_residual(a, new)
        left = self.bound.inducing.diagonal(new) - np.einsum("ij,ij->i", a, a)
        left = np.maximum(left, 0.0) + np.einsum("ij,ij->j", shrunk, shrunk)
        return np.asarray(left + np.einsum("ij,ij->j", trend, trend))[:, None]

    def _shrunk(self, a: Floats) -> Floats:
        return np.asarray(
            linalg.solve_triangular(self.bound.factor, a.T, lower=True, check_finite=False)
        )

    def _trend_residual(self, a: Floats, new: Items) -> Floats:
        basis = self.bound.sums.targets.basis
        if not len(basis):
            return np.zeros((0, len(a)))
        nu = self.bound.solved[:, self.bound.outputs :]
        difference = basis.of_rows(new) - a @ nu
        return np.asarray(linalg.solve_triangular(self.bound.trend[1], difference.T, lower=True))


# -------------------------------------------------------------------------------------------------
# Choice of inducing points: pivoted Cholesky on the conditional variance.
#
#     zⱼ₊₁ = argmax over rows x of Var(f(x) | f(z₁) … f(zⱼ)) = κ(x, x) − Σ lᵢ(x)²
#
# The variance that is left in all, tr(K − Q), is what the bounds on the evidence lose. Greedy
# choice is within a factor of the best one. Ties go to the row nearest the middle of the table, so
# that neither the order of the rows nor copies of them matter.
#
# D. Burt, C. Rasmussen and M. van der Wilk, "Convergence of sparse variational inference in
# Gaussian processes regression", Journal of Machine Learning Research 21, 2020.


@dataclass(frozen=True)
class InducingSelection:
    """Rows chosen as inducing points, in order, and the variance left in all after each."""

    rows: Ints
    left: Floats
    candidates: int


def choose_points(
    kernel: Kernel, x: Items, count: int, order: Ints | None = None
) -> InducingSelection:
    """At most ``count`` rows of x; fewer where these span all others.

    Of rows with equal variance the first in ``order`` (ranks; by default that of the rows) is
    taken. ``kernel`` is without noise.
    """
    n = n_items(x)
    rank = np.arange(n) if order is None else order
    diagonal = np.asarray(kernel.diagonal(x), dtype=float)
    variance = diagonal.copy()
    # Variance left of a row, relative to its own, below which rounding is all that is left.
    floor = 1e-9 * np.maximum(diagonal, np.finfo(float).tiny)
    columns = np.empty((min(count, n), n))
    rows: list[int] = []
    left: list[float] = []
    while len(rows) < len(columns):
        best = float(variance.max(initial=0.0))
        # Variances whose relative difference is below this are equal.
        ties = np.flatnonzero(variance >= best * (1.0 - 1e-10))
        pivot = int(ties[np.argmin(rank[ties])])
        if variance[pivot] <= floor[pivot] or not np.isfinite(best):
            break
        j = len(rows)
        column = np.asarray(
            kernel.prepare_exact(take_items(x, np.array([pivot]))).rows(x), dtype=float
        )
        column = column[:, 0] - columns[:j, pivot] @ columns[:j]
        column /= np.sqrt(variance[pivot])
        columns[j] = column
        variance -= column**2
        np.maximum(variance, 0.0, out=variance)
        variance[pivot] = 0.0
        rows.append(pivot)
        left.append(float(variance.sum()))
    return InducingSelection(np.array(rows, dtype=np.int64), np.array(left), n)


def middle_first(x: Items) -> Ints:
    """The rank of each row by its distance from the mean in standard deviations; ties by value."""
    if not isinstance(x, np.ndarray):
        return np.arange(n_items(x))
    center, spread = x.mean(axis=0), x.std(axis=0)
    standard = (x - center) / np.where(spread > 0.0, spread, 1.0)
    distance = np.round((standard**2).sum(axis=1), 8)
    keys = [*np.round(standard, 8).T[::-1], distance]
    rank = np.empty(len(x), dtype=np.int64)
    rank[np.lexsort(keys)] = np.arange(len(x))
    return rank


# -------------------------------------------------------------------------------------------------
# Some rows of a table in memory: those of the smallest hashes of their content.
#
# Which rows they are depends neither on the order of the rows nor on how they are stored, and
# copies of a row are one row with the sum of their weights. A table of fewer rows is in the sample
# whole; of a larger one other units give another sample.


class HashedSample:
    """At most ``size`` distinct rows with their targets and weights, and how many there are."""

    def __init__(self, size: int) -> None:
        self.size, self.weight = size, 0.0
        self.hashes: Hashes = np.zeros(0, dtype=np.uint64)
        self.x: Floats | None = None
        self.y: Floats = np.zeros((0, 0))
        self.w: Floats = np.zeros(0)

    def fresh(self) -> Self:
        """A sample of no rows."""
        return type(self)(self.size)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        hashes, w = hash_block(block), block.weights
        self.weight += float(w.sum())
        here = w > 0.0
        if len(self.hashes) >= self.size:  # rows beyond the largest hash are not looked at
            here &= hashes <= self.hashes[-1]
        index = np.flatnonzero(here)
        if len(index) > 4 * self.size:
            nearest = np.unique(hashes[index])[: self.size]
            index = index[hashes[index] <= nearest[-1]]
        if len(index):
            self._take(hashes[index], to_array(block.x[index]), block.y[index], w[index])

    def _take(self, hashes: Hashes, x: Floats, y: Floats, w: Floats) -> None:
        if self.x is not None:
            hashes = np.concatenate([self.hashes, hashes])
            x, y, w = np.concatenate([self.x, x]), np.concatenate([self.y, y]), np.append(self.w, w)
        self.hashes, first, at = np.unique(hashes, return_index=True, return_inverse=True)
        total = np.bincount(at, w, len(self.hashes)).astype(float)
        stay = slice(0, self.size)
        self.hashes, self.w = self.hashes[stay], total[stay]
        self.x, self.y = x[first[stay]], y[first[stay]]

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.weight = self.weight + other.weight
        for side in (self, other):
            if side.x is not None:
                total._take(side.hashes, side.x, side.y, side.w)
        return total

    @property
    def whole(self) -> bool:
        """Whether every row is in the sample."""
        return bool(np.isclose(self.w.sum(), self.weight, rtol=1e-12))


def sample_rows(rows: Rows, size: int) -> HashedSample:
    """The sample of all rows, in one pass."""
    if not isinstance(rows, InMemory):
        return rows.reduce(HashedSample(size))
    sample = HashedSample(size)
    sample.update(rows.block)
    return sample
