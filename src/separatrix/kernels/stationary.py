"""Radial kernels: functions of the distance of two rows, measured in bandwidths.

κ(x, z) = f(s),    s = Σ_c ((x_c − z_c)/σ_c)²,    ∂κ/∂log σ_c = g(s) ((x_c − z_c)/σ_c)²,  g = −2 f′

One bandwidth serves all columns, or each column has its own (automatic relevance determination: a
column whose bandwidth grows without bound no longer counts).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats
from separatrix.kernels.base import (
    Array,
    GivenTile,
    Items,
    Kernel,
    KernelPairs,
    PairTile,
    PreparedKernel,
    PreparedTiles,
    are_dense_doubles,
    as_matrix,
    check_positive,
    common_matrices,
    copy_to,
    hyperparameter,
    output_block,
    pair_values,
    product_into,
    squared_norms,
    stacked_products,
    weighted_sum,
    weighted_sums,
)
from separatrix.kernels.vectors import Linear
from separatrix.messages import InputError
from separatrix.rows.schema import n_items, take_items

#: One number for all columns, or one for each.
Bandwidth = float | tuple[float, ...]


class RadialKernel(Kernel):
    """κ(x, z) = f(s) with s the squared distance in bandwidths; f(0) = 1."""

    bandwidth: Bandwidth
    by_tiles = True

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, list | tuple | np.ndarray):
            values = tuple(float(value) for value in np.ravel(self.bandwidth))
            object.__setattr__(self, "bandwidth", values)
            if not values:
                raise InputError(
                    "There is no bandwidth.", remedy="Give one for every column, or one for all."
                )
        name = type(self).__name__
        several = self.bandwidth if isinstance(self.bandwidth, tuple) else (self.bandwidth,)
        for value in several:
            check_positive(value, f"The bandwidth of {name}")

    @property
    def by_column(self) -> bool:
        """Whether each column has a bandwidth of its own."""
        return isinstance(self.bandwidth, tuple)

    def inverse_bandwidths(self, d: int) -> Floats:
        """1/σ of every column."""
        if isinstance(self.bandwidth, tuple) and len(self.bandwidth) != d:
            raise InputError(
                f"{type(self).__name__} has {len(self.bandwidth)} bandwidths, the rows have {d} "
                "columns.",
                remedy="Give one bandwidth for every column, or one number for all of them.",
            )
        return np.broadcast_to(1.0 / np.asarray(self.bandwidth, dtype=float), (d,)).copy()

    def started(self, bandwidth: Any) -> Self:
        """With these bandwidths, the present one where NaN is given: nothing is known there."""
        values = np.where(np.isnan(bandwidth), self.bandwidth, bandwidth).tolist()
        bandwidth = tuple(values) if self.by_column else values
        return replace(self, bandwidth=bandwidth)  # type: ignore[type-var]

    @abstractmethod
    def apply(self, tile: Floats, slopes: Floats, a: float, b: float) -> list[Floats]:
        """f(s) in place of s, g(s)·(a + b s) in ``slopes``; returns derivatives by other θ, if any.

        Those come after the bandwidths. ``slopes`` of one row are not needed.
        """

    def prepare(self, z: Items) -> PreparedKernel:
        """The centers as a matrix."""
        return PreparedRadial(self, as_matrix(z))

    def diagonal(self, x: Items) -> Array:
        """One."""
        x = as_matrix(x)
        return np.ones(x.shape[0], dtype=x.dtype)

    def diagonal_derivatives(self, x: Items) -> Array:
        """Zero, since κ(x, x) = 1."""
        return np.zeros((as_matrix(x).shape[0], len(self._continuous())))

    def gram(self, x: Items, z: Items | None = None, out: Array | None = None) -> Array:
        """The matrix κ(xᵢ, zⱼ) from differences of coordinates, for dense rows of float64."""
        if are_dense_doubles(x, z):
            return pair_values(self.pairs(x, z), out)
        return super().gram(x, z, out)

    def pairs(self, x: Items, z: Items | None = None) -> RadialPairs:
        """Both sides as matrices."""
        return RadialPairs(self, x, z)

    def _derivatives(self, x: Items) -> list[Array]:
        pairs = self.pairs(x)
        n, d = pairs.shape[0], pairs.x.shape[1]
        tile = pairs.tile(slice(0, n), slice(0, n))
        if not self.by_column:
            derivatives = [tile.slopes]
        else:
            derivatives = []
            x = pairs.x.toarray() if sparse.issparse(pairs.x) else pairs.x
            for c in range(d):
                differences = (x[:, c][:, None] - x[:, c][None, :]) * pairs.inverse[c]
                derivatives.append(tile.slopes * differences**2)
        derivatives += tile.others
        return [
            derivative / f for derivative, f in zip(derivatives, self._theta_factors(), strict=True)
        ]


class RadialPairs(KernelPairs):
    """Rows of two tables, compared coordinate by coordinate; sparse ones by products."""

    def __init__(self, kernel: RadialKernel, x: Items, z: Items | None) -> None:
        gram = z is None or z is x
        x, z = common_matrices(x, x if gram else z)
        super().__init__(x.shape[0], z.shape[0], gram=gram)
        self.kernel = kernel
        self.x = x.astype(np.float64, copy=False)
        self.z = self.x if gram else z.astype(np.float64, copy=False)
        self.inverse = kernel.inverse_bandwidths(x.shape[1])
        self.dense = not sparse.issparse(x)
        # Columns from which distances are computed by products of rows.
        self.wide = self.dense and x.shape[1] >= 64
        if self.wide:
            with np.errstate(over="ignore", invalid="ignore"):
                center = self.z.mean(axis=0) if len(self.z) else 0.0
                self.v = (self.z - center) * self.inverse
                self.u = self.v if gram else (self.x - center) * self.inverse
                self.norms = [squared_norms(self.u), squared_norms(self.v)]
            self.wide = bool(all(np.isfinite(norm).all() for norm in self.norms))
        #: Wide rows within so many bandwidths that weighted squares may be sums of products.
        # Bandwidths from the mean within which differences of squares leave enough digits of a sum.
        self.moderate = self.wide and all(
            np.abs(side).max(initial=0.0) < 50.0 for side in (self.u, self.v)
        )

    def _distances(self, rows: slice, columns: slice) -> Floats:
        """s of every pair of the tile."""
        from separatrix.kernels import loops

        x, z = self.x[rows], self.z[columns]
        if not self.dense:
            return sparse_distances(x, z, self.inverse)
        tile = np.empty((x.shape[0], z.shape[0]))
        if self.wide:
            np.matmul(self.u[rows], self.v[columns].T, out=tile)
            norms = self.norms[0][rows], self.norms[1][columns]
            # The squared distance, as a part of both squared lengths, below which it is computed
            # from differences all the same.
            loops.distances_from_products(tile, *norms, x, z, self.inverse, 0.05)
            return tile
        loops.squared_differences(tile, x, np.ascontiguousarray(z.T), self.inverse)
        return tile

    def values(self, rows: slice, columns: slice) -> Floats:
        """f(s)."""
        tile = self._distances(rows, columns)
        self.kernel.apply(tile, np.empty((1, tile.shape[1])), 1.0, 0.0)
        return tile

    def tile(self, rows: slice, columns: slice) -> RadialTile:
        """f(s) and g(s)."""
        tile = self._distances(rows, columns)
        slopes = np.empty_like(tile)
        a, b = (1.0, 0.0) if self.kernel.by_column else (0.0, 1.0)
        others = self.kernel.apply(tile, slopes, a, b)
        return RadialTile(self, rows, columns, tile, slopes, others)


class RadialTile(PairTile):
    """f(s), g(s) (times s with one bandwidth for all), and derivatives by other parameters."""

    def __init__(
        self,
        pairs: RadialPairs,
        rows: slice,
        columns: slice,
        values: Floats,
        slopes: Floats,
        others: list[Floats],
    ) -> None:
        self.pairs, self.rows, self.columns = pairs, rows, columns
        self.values, self.slopes, self.others = values, slopes, others

    def sums(self, q: Floats) -> Floats:
        """Σ q ∂κ/∂θ."""
        from separatrix.kernels import loops

        others = [np.vdot(q, other) for other in self.others]
        if not self.pairs.kernel.by_column:
            return np.array([np.vdot(q, self.slopes), *others])
        weights = q * self.slopes
        x, z = self.pairs.x[self.rows], self.pairs.z[self.columns]
        inverse = self.pairs.inverse
        if self.pairs.moderate:
            sums = product_weighted_squares(
                weights, self.pairs.u[self.rows], self.pairs.v[self.columns]
            )
        elif self.pairs.dense:
            sums = np.zeros(len(inverse))
            loops.weighted_squares(weights, x, np.ascontiguousarray(z.T), inverse, sums)
        else:
            sums = sparse_weighted_squares(weights, x, z, inverse)
        return np.concatenate([sums, others])

    def products(self, right: Floats, by: Any) -> Floats:
        """Σ b ∂κ/∂θ r."""
        if not self.pairs.kernel.by_column:
            return stacked_products([self.slopes, *self.others], right, by)
        sides = self.pairs.x[self.rows], self.pairs.z[self.columns]
        x, z = (side.toarray() if sparse.issparse(side) else side for side in sides)
        center = z.mean(axis=0)
        u, v = ((side - center) * self.pairs.inverse for side in (x, z))
        weights = self.slopes if by is None else self.slopes * by
        found = squares_times(weights, u, v, right)
        if not self.others:
            return found
        return np.concatenate([found, stacked_products(self.others, right, by)], axis=1)


class PreparedRadial(PreparedKernel):
    """Rows with the centers, from differences of coordinates."""

    kernel: RadialKernel

    def _between(self, x: Items) -> tuple[Any, RadialPairs]:
        x, z = common_matrices(x, self.centers)
        return x, self.kernel.pairs(x, z[:])

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """The matrix κ(xᵢ, zⱼ), tile by tile."""
        x, pairs = self._between(x)
        return copy_to(pair_values(pairs, output_block(x, self.centers, out)), out)

    def dot(self, x: Items, weights: Array) -> Array:
        """Weighted sums over tiles; the kernel matrix is not stored."""
        x, pairs = self._between(x)

        def compute(rows: slice, columns: slice, tile: Array) -> None:
            tile[...] = pairs.values(rows, columns)

        return weighted_sums(compute, weights, x)

    def gram(self, out: Array | None = None) -> Array:
        """The tiles below the diagonal, mirrored."""
        block = output_block(self.centers, self.centers, out)
        pair_values(self.kernel.pairs(self.centers), block)
        np.fill_diagonal(block, 1.0)
        return copy_to(block, out)


def product_weighted_squares(w: Floats, u: Floats, v: Floats) -> Floats:
    """Σ w (u − v)², column by column, by products."""
    squares = w.sum(axis=1) @ u**2 + w.sum(axis=0) @ v**2
    return np.asarray(squares - 2.0 * np.einsum("ic,ic->c", u, w @ v))


def squares_times(w: Floats, u: Floats, v: Floats, right: Floats) -> Floats:
    """Σⱼ w (u − v)² rⱼ for every row, column of u and v, and column of r, by products."""
    d, k = v.shape[1], right.shape[1]
    once = v[:, :, None] * right[:, None, :]
    parts = [term.reshape(len(v), d * k) for term in (once, v[:, :, None] * once)]
    first, second = (part.reshape(-1, d, k) for part in (w @ term for term in parts))
    u = u[:, :, None]
    return np.asarray(second - 2.0 * u * first + u**2 * (w @ right)[:, None, :])


def sparse_distances(x: Any, z: Any, inverse: Floats) -> Floats:
    """Σ ((x − z)/σ)² of sparse rows, by products; pairs much nearer than far out are corrected."""
    u, v = x.multiply(inverse).tocsr(), z.multiply(inverse).tocsr()
    norms = [np.asarray(side.multiply(side).sum(axis=1)).ravel() for side in (u, v)]
    size = norms[0][:, None] + norms[1][None, :]
    square = np.maximum(size - 2.0 * (u @ v.T).toarray(), 0.0)
    near = np.nonzero(square <= 1e-3 * size)
    for start in range(0, len(near[0]), 1024):
        at = slice(start, start + 1024)
        difference = u[near[0][at]] - v[near[1][at]]
        square[near[0][at], near[1][at]] = difference.multiply(difference).sum(axis=1)
    return cast(Floats, square)


def sparse_weighted_squares(w: Floats, x: Any, z: Any, inverse: Floats) -> Floats:
    """Σ w ((x − z)/σ)² of sparse rows, column by column."""
    squares = w.sum(axis=1) @ x.multiply(x) + w.sum(axis=0) @ z.multiply(z)
    mixed = np.asarray(x.multiply(w @ z).sum(axis=0)).ravel()
    return np.asarray((squares - 2.0 * mixed) * inverse**2)


# -------------------------------------------------------------------------------------------------
# The Gaussian (radial basis function) kernel, with one bandwidth or one for each column.
#
# κ(x, z) = exp(−½ Σ ((x − z)/σ)²),    κ(x, x) = 1: all φ(x) lie on the unit sphere


@dataclass(frozen=True)
class Gaussian(RadialKernel):
    """Gaussian (radial basis function) kernel.

        κ(x, z) = exp(−‖x − z‖² / 2σ²) = exp(−½ Σ_c ((x_c − z_c)/σ_c)²)

    With γ = 1/2σ² it is scikit-learn's ``rbf``; :meth:`from_ab` takes a·exp(−‖x − z‖²/b).

    Parameters
    ----------
    bandwidth : float or tuple of float, default=1.0
        σ, above zero: one for all columns, or one for each. Learned from data, those of each
        column tell which columns count (automatic relevance determination).

    See Also
    --------
    Linear : the inner product.
    Matern : rougher functions.
    RationalQuadratic : a mixture of Gaussian kernels of all bandwidths.
    KernelDistance : the distance in its feature space.

    References
    ----------
    B. Schölkopf and A. J. Smola, Learning with Kernels, MIT Press, 2002.

    Examples
    --------
    >>> import separatrix as sx
    >>> kernel = sx.Gaussian(bandwidth=2.0)
    >>> kernel.gram([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    >>> kernel.gradient([[0.0], [2.0]])["bandwidth"].round(4)
    array([[0.    , 0.3033],
           [0.3033, 0.    ]])
    >>> sx.Gaussian((2.0, 50.0)).gram([[0.0, 7.0], [2.0, 8.0]]).round(4)
    array([[1.    , 0.6064],
           [0.6064, 1.    ]])
    """

    bandwidth: float | tuple[float, ...] = hyperparameter(1.0, 1e-5, 1e5)

    @classmethod
    def from_ab(cls, a: float, b: float) -> Kernel:
        """The kernel a·exp(−‖x − z‖²/b), where b = 2σ²."""
        if not b > 0.0:
            raise InputError(f"b = 2σ² of a Gaussian kernel is {b!r}.", remedy="Take b > 0.")
        kernel = cls(float(np.sqrt(b / 2.0)))
        return kernel if a == 1.0 else a * kernel

    def prepare(self, z: Items) -> PreparedKernel:
        """The centers shifted by their mean and divided by the bandwidth."""
        return self.prepare_exact(z) if self.by_column else PreparedGaussian(self, as_matrix(z))

    def prepare_exact(self, z: Items) -> PreparedKernel:
        """Dense centers in double precision as they are, for differences of coordinates."""
        z = as_matrix(z)
        return PreparedRadial(self, z) if are_dense_doubles(z, None) else PreparedGaussian(self, z)

    def apply(self, tile: Array, slopes: Array, a: float, b: float) -> list[Array]:
        """exp(−s/2)."""
        from separatrix.kernels.loops import gaussian

        gaussian(tile, slopes, a, b)
        return []

    def squared_distance(self, x: Items, z: Items | None = None) -> Array:
        """2 (1 − κ), without cancellation for near points."""
        if isinstance(self.bandwidth, tuple):
            x, z = common_matrices(x, x if z is None else z)
            inverse = self.inverse_bandwidths(x.shape[1])
            x, z = (scaled_columns(side, inverse) for side in (x, z))
        square = Linear().squared_distance(x, z)
        if not isinstance(self.bandwidth, tuple):
            square /= self.bandwidth**2
        return np.asarray(-2.0 * np.expm1(-0.5 * square))


class PreparedGaussian(PreparedTiles):
    """exp(u·v − ½‖u‖² − ½‖v‖²) with u = (x − c)/σ, v = (z − c)/σ and c the mean of the centers.

    The shift by c leaves the kernel unchanged and avoids cancellation. Rows so far out that
    ‖u‖² dwarfs the squared distances between neighbors are computed from coordinate differences.
    """

    def __init__(self, kernel: Gaussian, centers: Items) -> None:
        super().__init__(kernel, centers)
        self._bandwidth = kernel.bandwidth
        self._inverse = kernel.inverse_bandwidths(centers.shape[1])
        self._center = 0.0 if sparse.issparse(centers) else _column_means(centers)
        self._scaled = self._scale(centers)
        self._half_squares = _half_squared_norms(self._scaled)
        dense = isinstance(centers, np.ndarray)
        self._columns = np.ascontiguousarray(self._scaled.T) if dense else self._scaled.T
        self._far_limit = _LIMIT[centers.dtype.name] if dense else np.inf
        self._any_far = bool((self._half_squares > self._far_limit).any())
        self._exponentials, self._differences = _loops(centers.dtype)

    def _scale(self, x: Items) -> Items:
        if isinstance(self._bandwidth, tuple):
            shifted = x if sparse.issparse(x) else x - self._center
            return scaled_columns(shifted, self._inverse).astype(x.dtype, copy=False)
        if sparse.issparse(x):
            return (x / self._bandwidth).astype(x.dtype)
        return ((x - self._center) / self._bandwidth).astype(x.dtype, copy=False)

    def _arrays(self, x: Items) -> tuple[Any, ...]:
        """Rows, scaled rows u and ½‖u‖²."""
        if x is self.centers:
            return x, self._scaled, self._half_squares
        u = self._scale(x)
        return x, u, _half_squared_norms(u)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of the Gram matrix of the centers, with the exact diagonal."""
        indices = np.arange(len(self))[indices]
        u = self._scaled[indices]
        block = output_block(u, self._scaled, out)
        x = self.centers[indices] if self._any_far else u
        self._fill((x, u, self._half_squares[indices]), block)
        block[np.arange(len(indices)), indices] = 1.0
        return copy_to(block, out)

    def _tile(self, rows: tuple[Any, ...], columns: slice, tile: Array) -> None:
        x, u, half = rows
        far = (
            np.flatnonzero(half > self._far_limit) if self._any_far else np.empty(0, dtype=np.int64)
        )
        if len(far) < len(half):
            product_into(u, self._columns[:, columns], tile)
            self._exponentials(tile, half, self._half_squares[columns])
        if len(far):
            if isinstance(self._bandwidth, tuple):
                x, unit, centers = u, 1.0, self._columns[:, columns]
            else:
                unit, centers = 1.0 / self._bandwidth, self.centers[columns].T
            centers = np.ascontiguousarray(centers)
            self._differences(tile, far, x, centers, tile.dtype.type(unit))


#: ½‖u‖² up to which a product keeps enough digits: 5 in single precision, 10 in double. A row
#: within the limit and a center far beyond it are so far apart that their kernel value vanishes.
_LIMIT = {"float32": 128.0, "float64": 1e5}


def _loops(dtype: Any) -> tuple[Any, Any]:
    """The loops over tiles by products, and by differences of coordinates, of this precision."""
    from separatrix.kernels import loops

    if dtype == np.float32:
        return loops.gaussian_tile32, loops.gaussian_rows32
    return loops.gaussian_tile64, loops.gaussian_rows64


def scaled_columns(x: Items, inverse: Array) -> Items:
    """Every column times its factor."""
    return sparse.csr_array(x.multiply(inverse)) if sparse.issparse(x) else x * inverse


def _column_means(x: Array) -> Array:
    """The mean of every column, in double precision."""
    return np.asarray(x.mean(axis=0, dtype=float)) if len(x) else np.zeros(x.shape[1])


def _half_squared_norms(x: Items) -> Array:
    with np.errstate(over="ignore"):
        return 0.5 * squared_norms(x)


# -------------------------------------------------------------------------------------------------
# Matérn kernels: functions that are rough, once or twice differentiable.
#
# κ(x, z) = 2^{1−ν}/Γ(ν) tᵛ K_ν(t),    t = √(2ν s),    s = Σ ((x − z)/σ)²


@dataclass(frozen=True)
class Matern(RadialKernel):
    """Matérn kernel: functions with as many derivatives as ν is above.

        ν = ½    exp(−r)
        ν = 3⁄2  (1 + √3 r) exp(−√3 r)
        ν = 5⁄2  (1 + √5 r + 5r²/3) exp(−√5 r),    r² = Σ ((x − z)/σ)² over columns

    In general 2 (t/2)ᵛ K(t)/Γ(ν) with t = √(2ν) r and the Bessel function K of order ν; the limit
    ν → ∞ is the Gaussian kernel. It is scikit-learn's ``Matern``.

    Parameters
    ----------
    bandwidth : float or tuple of float, default=1.0
        σ, above zero: one for all columns, or one for each.
    nu : float, default=1.5
        ν, above zero, which is not learned. The three named are fast; others need Bessel functions.

    See Also
    --------
    Gaussian : infinitely smooth functions.
    RationalQuadratic : smooth functions of several bandwidths.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, ch. 4.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Matern(2.0, nu=0.5).gram([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    >>> sx.Matern((1.0, 3.0), nu=2.5).gram([[0.0, 0.0]], [[1.0, 3.0]]).round(4)
    array([[0.3173]])
    """

    bandwidth: float | tuple[float, ...] = hyperparameter(1.0, 1e-5, 1e5)
    nu: float = 1.5
    #: Names of the compiled loops.
    _loops: ClassVar[dict[float, str]] = {
        0.5: "matern1",
        1.5: "matern3",
        2.5: "matern5",
        np.inf: "gaussian",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.nu > 0.0:
            raise InputError(
                f"nu of a Matérn kernel is {self.nu!r}.", remedy="Take 0.5, 1.5, 2.5 or another."
            )

    def apply(self, tile: Array, slopes: Array, a: float, b: float) -> list[Array]:
        """f(s), and its slope."""
        if self.nu not in self._loops:
            self._bessel(tile, slopes, a, b)
            return []
        from separatrix.kernels import loops

        loop: Any = getattr(loops, self._loops[self.nu])
        loop(tile, slopes, a, b)
        return []

    def _bessel(self, tile: Array, slopes: Array, a: float, b: float) -> None:
        """Any ν: d/dt (tᵛ K_ν) = −tᵛ K_{ν−1}, so g = 2ν 2^{1−ν}/Γ(ν) t^{ν−1} K_{ν−1}."""
        from scipy.special import gammaln, kve  # slow to import

        nu, square = self.nu, tile.copy()
        t = np.sqrt(2.0 * nu * square)
        far = 700.0  # t beyond which the kernel is zero in double precision
        inside = (t > 0.0) & (t < far)
        near = t[inside]
        log = np.log(near)
        constant = (1.0 - nu) * np.log(2.0) - gammaln(nu)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            values = np.exp(constant + nu * log - near + np.log(kve(nu, near)))
            lower = kve(nu - 1.0, near)
            outer = np.exp(constant + (nu - 1.0) * log - near + np.log(lower))
        tile[...] = np.where(t >= far, 0.0, 1.0)
        # K_ν overflows where t is tiny: the kernel is one there
        tile[inside] = np.where(np.isfinite(values), np.minimum(values, 1.0), 1.0)
        if slopes.shape == tile.shape:
            slopes[...] = 0.0
            slopes[inside] = np.where(np.isfinite(outer), 2.0 * nu * outer, 0.0) * (
                a + b * square[inside]
            )


# -------------------------------------------------------------------------------------------------
# Laplace kernels: exponentials of a distance, or of a power of it.
#
# κ(x, z) = exp(−‖u‖^p),  u = (x − z)/σ by column,    ∂κ/∂log σ_c = p ‖u‖^{p−q} |u_c|^q exp(−‖u‖^p)
#
# with ‖u‖ the ℓ_q norm, q = 2 or 1. Powers of distances stay conditionally negative definite, and
# so their exponentials positive definite: p ≤ 2 for ℓ₂, p ≤ 1 for ℓ₁ (Schoenberg, 1938).


@dataclass(frozen=True)
class Laplace(RadialKernel):
    """Laplace kernel: the exponential of a distance, or of a power of it.

        κ(x, z) = exp(−‖(x − z)/σ‖^p)    with the Euclidean (norm=2) or Manhattan (norm=1) distance

    Functions are rougher the smaller p is; p = 2 of the Euclidean distance is the Gaussian kernel
    of bandwidth σ/√2. With the Manhattan distance and p = 1 it is scikit-learn's ``laplacian``, of
    γ = 1/σ: a product of one factor for each column.

    Parameters
    ----------
    bandwidth : float or tuple of float, default=1.0
        σ, above zero: one for all columns, or one for each.
    exponent : float, default=1.0
        p, above zero, at most 2 with the Euclidean and at most 1 with the Manhattan distance. It
        is not learned.
    norm : {2, 1}, default=2
        The distance: Euclidean or Manhattan.

    See Also
    --------
    Matern : the Laplace kernel is that of ν = ½.
    Gaussian : smooth functions.

    References
    ----------
    I. J. Schoenberg, Metric spaces and positive definite functions, Transactions of the AMS, 1938.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Laplace(2.0).gram([[0.0], [2.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    >>> sx.Laplace(2.0, norm=1).gram([[0.0, 0.0]], [[2.0, 4.0]]).round(4)
    array([[0.0498]])
    """

    bandwidth: float | tuple[float, ...] = hyperparameter(1.0, 1e-5, 1e5)
    exponent: float = 1.0
    norm: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in (1, 2):
            raise InputError(f"norm of a Laplace kernel is {self.norm!r}.", remedy="Take 1 or 2.")
        if not 0.0 < self.exponent <= self.norm:
            raise InputError(
                f"The exponent of a Laplace kernel with norm={self.norm} is {self.exponent!r}.",
                remedy=f"It is above zero and at most {self.norm}: others are not Mercer.",
            )

    def pairs(self, x: Items, z: Items | None = None) -> RadialPairs:
        """Both sides as matrices."""
        return RadialPairs(self, x, z) if self.norm == 2 else ManhattanPairs(self, x, z)

    def apply(self, tile: Array, slopes: Array, a: float, b: float) -> list[Array]:
        """f of the squared distance, or of the Manhattan distance."""
        from separatrix.kernels.loops import exponential_power, matern1

        if self.norm == 2 and self.exponent == 1.0:
            matern1(tile, slopes, a, b)
        else:
            exponential_power(
                tile, slopes, a, b, float(self.exponent) / self.norm, float(self.norm)
            )
        return []

    def _derivatives(self, x: Items) -> list[Array]:
        if self.norm == 2 or not self.by_column:
            return super()._derivatives(x)
        pairs = self.pairs(x)
        whole = slice(0, pairs.shape[0])
        tile = pairs.tile(whole, whole)
        rows = pairs.x.toarray() if sparse.issparse(pairs.x) else pairs.x
        return [
            tile.slopes * np.abs(rows[:, c][:, None] - rows[:, c]) * pairs.inverse[c] / f
            for c, f in enumerate(self._theta_factors())
        ]


class ManhattanPairs(RadialPairs):
    """Rows of two tables, compared by t = Σ |x − z|/σ in place of s."""

    def _dense(self, rows: slice, columns: slice) -> tuple[Floats, Floats]:
        """Some rows, and some centers as columns."""
        x, z = self.x[rows], self.z[columns]
        if not self.dense:
            x, z = x.toarray(), z.toarray()
        return np.ascontiguousarray(x), np.ascontiguousarray(z.T)

    def _distances(self, rows: slice, columns: slice) -> Floats:
        from separatrix.kernels import loops

        x, zt = self._dense(rows, columns)
        tile = np.empty((len(x), zt.shape[1]))
        loops.absolute_differences(tile, x, zt, self.inverse)
        return tile

    def tile(self, rows: slice, columns: slice) -> RadialTile:
        """f(t) and g(t)."""
        tile = super().tile(rows, columns)
        return ManhattanTile(self, tile.rows, tile.columns, tile.values, tile.slopes, tile.others)


class ManhattanTile(RadialTile):
    """Derivatives by bandwidths of columns from absolute differences."""

    pairs: ManhattanPairs

    def sums(self, q: Floats) -> Floats:
        """Σ q ∂κ/∂θ."""
        if not self.pairs.kernel.by_column:
            return super().sums(q)
        ones = np.ones((q.shape[1], 1))
        return np.asarray(self._weighted(q * self.slopes, ones).sum(axis=0)[:, 0])

    def products(self, right: Floats, by: Any) -> Floats:
        """Σ b ∂κ/∂θ r."""
        if not self.pairs.kernel.by_column:
            return super().products(right, by)
        return self._weighted(self.slopes if by is None else self.slopes * by, right)

    def _weighted(self, weights: Floats, right: Floats) -> Floats:
        from separatrix.kernels import loops

        x, zt = self.pairs._dense(self.rows, self.columns)
        sums = np.empty((len(x), len(zt), right.shape[1]))
        loops.weighted_absolutes(
            weights, x, zt, self.pairs.inverse, np.ascontiguousarray(right.T), sums
        )
        return sums


# -------------------------------------------------------------------------------------------------
# The rational quadratic kernel: Gaussian kernels of all bandwidths, mixed.


@dataclass(frozen=True)
class RationalQuadratic(RadialKernel):
    """Rational quadratic kernel: smooth functions that vary on several scales.

        κ(x, z) = (1 + s/2α)^−α,    s = Σ_c ((x_c − z_c)/σ_c)²

    It is a mixture of Gaussian kernels whose σ⁻² has a gamma distribution; as α grows it becomes
    the Gaussian kernel of bandwidth σ. With one bandwidth it is scikit-learn's
    ``RationalQuadratic``.

    Parameters
    ----------
    bandwidth : float or tuple of float, default=1.0
        σ, above zero: one for all columns, or one for each.
    alpha : float, default=1.0
        α, above zero: the smaller, the wider the mixture.

    See Also
    --------
    Gaussian : one bandwidth.
    Matern : rougher functions.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press,
    2006.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.RationalQuadratic(1.0, alpha=0.5).gram([[0.0], [1.0], [3.0]]).round(4)
    array([[1.    , 0.7071, 0.3162],
           [0.7071, 1.    , 0.4472],
           [0.3162, 0.4472, 1.    ]])
    """

    bandwidth: float | tuple[float, ...] = hyperparameter(1.0, 1e-5, 1e5)
    alpha: float = hyperparameter(1.0, 1e-5, 1e5)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.alpha, "alpha of RationalQuadratic")

    def apply(self, tile: Array, slopes: Array, a: float, b: float) -> list[Array]:
        """f(s), its slope, and ∂f/∂log α."""
        from separatrix.kernels.loops import rational_quadratic

        others = np.empty_like(slopes)
        rational_quadratic(tile, slopes, others, a, b, float(self.alpha))
        return [others]


# -------------------------------------------------------------------------------------------------
# The periodic kernel: functions that repeat themselves.


@dataclass(frozen=True)
class Periodic(RadialKernel):
    """Periodic kernel: functions of one column that repeat themselves.

        κ(x, z) = exp(−2 sin²(π ‖x − z‖/p) / ℓ²)

    It is scikit-learn's ``ExpSineSquared``, and Mercer for rows of one column only: with several,
    no periodic function of the distance is.

    Parameters
    ----------
    bandwidth : float, default=1.0
        ℓ, above zero, relative to a period: the smaller, the more turns within one.
    period : float, default=1.0
        p, above zero, in the units of the column.

    See Also
    --------
    Gaussian : a factor of this bandwidth lets the period's shape change slowly.
    Fixed : a period that is known is not learned.

    References
    ----------
    D. J. C. MacKay, Introduction to Gaussian processes, 1998.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.Periodic(1.0, period=12.0).gram([[0.0], [6.0], [12.0]]).round(4)
    array([[1.    , 0.1353, 1.    ],
           [0.1353, 1.    , 0.1353],
           [1.    , 0.1353, 1.    ]])
    """

    bandwidth: float = hyperparameter(1.0, 1e-5, 1e5)
    period: float = hyperparameter(1.0, 1e-5, 1e5)

    def __post_init__(self) -> None:
        check_positive(self.bandwidth, "The bandwidth of Periodic")
        check_positive(self.period, "The period of Periodic")

    @property
    def mercer(self) -> bool:
        """False, since rows may have several columns; with one column it is Mercer."""
        return False

    def inverse_bandwidths(self, d: int) -> Floats:
        """1/p: distances are measured in periods."""
        return np.full(d, 1.0 / self.period)

    def started(self, bandwidth: Any) -> Self:
        """A bandwidth of one; the period stays."""
        del bandwidth
        return replace(self, bandwidth=1.0)

    def apply(self, tile: Array, slopes: Array, a: float, b: float) -> list[Array]:
        """f(s), ∂f/∂log ℓ in ``slopes`` and ∂f/∂log p."""
        del a, b
        from separatrix.kernels.loops import periodic

        others = np.empty_like(slopes)
        periodic(tile, slopes, others, 2.0 / self.bandwidth**2)
        return [others]


# -------------------------------------------------------------------------------------------------
# Kernels that compare nothing: a constant, and white noise. They join kernels of any items.


@dataclass(frozen=True)
class Constant(Kernel):
    """Constant kernel: an offset that all items share, or the variance that a product has.

        κ(x, z) = c

    In a sum it adds an unknown constant of variance c to functions, as a factor it scales them.
    It joins kernels of rows of numbers as well as kernels of structures.

    Parameters
    ----------
    constant : float, default=1.0
        c, above zero.

    See Also
    --------
    White : noise, independent from row to row.
    Linear : with a constant, linear functions with an intercept.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press,
    2006.

    Examples
    --------
    >>> import separatrix as sx
    >>> (sx.Constant(2.0) * sx.Gaussian(1.0) + sx.Constant(0.5)).gram([[0.0], [1.0]]).round(3)
    array([[2.5  , 1.713],
           [1.713, 2.5  ]])
    """

    constant: float = hyperparameter(1.0, 1e-5, 1e5)
    of_anything = True
    by_tiles = True

    def __post_init__(self) -> None:
        check_positive(self.constant, "The constant of Constant")

    def prepare(self, z: Items) -> PreparedKernel:
        """Nothing to prepare."""
        return PreparedConstant(self, z)

    def diagonal(self, x: Items) -> Array:
        """c."""
        return np.full(n_items(x), self.constant, dtype=_dtype(x))

    def diagonal_derivatives(self, x: Items) -> Array:
        """∂c/∂log c = c."""
        return np.full((n_items(x), 1), self.constant)

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """c for every pair."""
        return ConstantPairs(self.constant, x, z)

    def _derivatives(self, x: Items) -> list[Array]:
        return [np.ones((n_items(x), n_items(x)))]


class PreparedConstant(PreparedKernel):
    """c for every pair."""

    kernel: Constant

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """c for every pair."""
        shape = (n_items(x), len(self))
        return copy_to(np.full(shape, self.kernel.constant, dtype=_dtype(x, self.centers)), out)


class ConstantPairs(KernelPairs):
    """c for every pair."""

    def __init__(self, constant: float, x: Items, z: Items | None) -> None:
        gram = z is None or z is x
        super().__init__(n_items(x), n_items(x if gram else z), gram=gram)
        self.constant = constant

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """c, which is its own derivative by log c."""
        del rows, columns
        return ConstantTile(self.constant)


class ConstantTile(PairTile):
    """c for every pair of a tile."""

    def __init__(self, constant: float) -> None:
        self.values = np.full((1, 1), constant)

    def sums(self, q: Floats) -> Floats:
        """c Σ q."""
        return np.array([weighted_sum(q, self.values)])

    def chained_sums(self, q: Floats, by: Any) -> Floats:
        """c Σ q b, without the products."""
        return self.sums(q) if by is None else self.values[0] * weighted_sum(q, np.atleast_2d(by))

    def products(self, right: Floats, by: Any) -> Floats:
        """c Σ b r."""
        return stacked_products([self.values], right, by)


@dataclass(frozen=True)
class White(Kernel):
    """White noise: independent from row to row.

        κ(xᵢ, xⱼ) = σ² if i = j, else 0

    It adds σ² to the diagonal of a Gram matrix, and nothing between two different sets of rows,
    even where they hold equal rows: their noise is not the same. It joins kernels of rows of
    numbers as well as kernels of structures.

    Parameters
    ----------
    variance : float, default=1.0
        σ², above zero.

    See Also
    --------
    Constant : what all rows share.
    Kernel.without_noise : an expression without its noise.

    References
    ----------
    C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, MIT Press,
    2006.

    Examples
    --------
    >>> import separatrix as sx
    >>> kernel = sx.Gaussian(1.0) + sx.White(0.1)
    >>> kernel.gram([[0.0], [1.0]]).round(3)
    array([[1.1  , 0.607],
           [0.607, 1.1  ]])
    >>> kernel.gram([[0.0], [1.0]], [[0.0]]).round(3)
    array([[1.   ],
           [0.607]])
    """

    variance: float = hyperparameter(1.0, 1e-5, 1e5)
    of_anything = True
    by_tiles = True

    def __post_init__(self) -> None:
        check_positive(self.variance, "The variance of White")

    def prepare(self, z: Items) -> PreparedKernel:
        """Nothing to prepare."""
        return PreparedNoise(self, z)

    def diagonal(self, x: Items) -> Array:
        """σ²."""
        return np.full(n_items(x), self.variance, dtype=_dtype(x))

    def diagonal_derivatives(self, x: Items) -> Array:
        """∂σ²/∂log σ² = σ²."""
        return np.full((n_items(x), 1), self.variance)

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """σ² on the diagonal of a Gram matrix."""
        return NoisePairs(self.variance, x, z)

    def _derivatives(self, x: Items) -> list[Array]:
        return [np.eye(n_items(x))]

    def _noiseless(self) -> Kernel | None:
        return None


class PreparedNoise(PreparedKernel):
    """σ² of every center with itself, zero between it and any other row."""

    kernel: White

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Zero: noise of other rows is independent."""
        return copy_to(np.zeros((n_items(x), len(self)), dtype=_dtype(x, self.centers)), out)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of σ² I."""
        at = np.arange(len(self))[indices]
        block = np.zeros((len(at), len(self)), dtype=_dtype(self.centers))
        block[np.arange(len(at)), at] = self.kernel.variance
        return copy_to(block, out)

    def subset(self, indices: Any) -> PreparedKernel:
        """Some of the centers."""
        return PreparedNoise(self.kernel, take_items(self.centers, indices))


class NoisePairs(KernelPairs):
    """σ² where a row meets itself."""

    def __init__(self, variance: float, x: Items, z: Items | None) -> None:
        gram = z is None or z is x
        super().__init__(n_items(x), n_items(x if gram else z), gram=gram)
        self.variance = variance

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """The part of σ² I within the tile."""
        same = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
        if not self.gram or not len(same):
            values = np.zeros((1, 1))
        else:
            values = np.zeros((rows.stop - rows.start, columns.stop - columns.start))
            values[same - rows.start, same - columns.start] = self.variance
        return GivenTile(values, [values])


def _dtype(*sides: Items) -> Any:
    """float32 if all sides are, else float64."""
    single = all(getattr(side, "dtype", None) == np.float32 for side in sides)
    return np.float32 if single else np.float64
