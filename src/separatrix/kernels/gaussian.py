"""The Gaussian (radial basis function) kernel, with one bandwidth or one for each column.

κ(x, z) = exp(−½ Σ ((x − z)/σ)²),    κ(x, x) = 1: all φ(x) lie on the unit sphere
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel
from separatrix.kernels.parameters.hyperparameters import hyperparameter
from separatrix.kernels.stationary.radial import PreparedRadial, RadialKernel
from separatrix.kernels.tiles import (
    PreparedTiles,
    are_dense_doubles,
    as_matrix,
    common_matrices,
    copy_to,
    output_block,
    product_into,
    squared_norms,
)
from separatrix.kernels.vectors import Linear
from separatrix.messages import InputError


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
        from separatrix.kernels.loops.radial import gaussian

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
        far = np.flatnonzero(half > self._far_limit) if self._any_far else _NONE
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
_NONE = np.empty(0, dtype=np.int64)


def _loops(dtype: Any) -> tuple[Any, Any]:
    """The loops over tiles by products, and by differences of coordinates, of this precision."""
    from separatrix.kernels.loops import gaussian as loops

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
