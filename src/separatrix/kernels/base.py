"""Interface of a kernel, κ(x, z) = φ(x)·φ(z): an inner product in a feature space.

The feature map φ is never computed. A kernel is *Mercer* if its Gram matrices K, Kᵢⱼ = κ(xᵢ, xⱼ),
are positive semi-definite for all data; only then does a feature map exist.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.kernels.parameters.hyperparameters import Parametrized
from separatrix.matrices.inverse import mirrored
from separatrix.messages import InputError

if TYPE_CHECKING:
    from separatrix.kernels.algebra import Exponential, Power, Product, Scaled, Sum
    from separatrix.kernels.derivatives import KernelPairs
    from separatrix.kernels.normalized import Normalized

#: float32 where both sides are float32, float64 otherwise.
Array = NDArray[Any]
#: Rows of a matrix (dense or CSR), or a list of Python objects.
Items = Any
#: Kernel values in memory at a time where only sums of them are needed.
MAX_VALUES = 1 << 22


class PreparedKernel(ABC):
    """A kernel with its second argument fixed to the ``centers`` z: rows of κ(·, z)."""

    def __init__(self, kernel: Kernel, centers: Items) -> None:
        self.kernel, self.centers = kernel, centers

    def __len__(self) -> int:
        return n_items(self.centers)

    @abstractmethod
    def rows(self, x: Items, out: Array | None = None) -> Array:
        """The matrix κ(xᵢ, zⱼ), written to ``out`` if given."""

    @cached_property
    def diagonal(self) -> Array:
        """κ(zⱼ, zⱼ)."""
        return self.kernel.diagonal(self.centers)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows κ(z[indices], z) of the Gram matrix of the centers."""
        return self.rows(take_items(self.centers, indices), out)

    def subset(self, indices: Any) -> PreparedKernel:
        """The kernel prepared for some of the centers."""
        return self.kernel.prepare(take_items(self.centers, indices))

    def dot(self, x: Items, weights: Array) -> Array:
        """Σⱼ κ(xᵢ, zⱼ) wⱼ for every column of ``weights`` (len z, k), by blocks of rows."""
        n = n_items(x)
        sums = np.zeros((n, weights.shape[1]))
        step = max(1, MAX_VALUES // max(1, len(self)))
        for start in range(0, n, step):
            rows = np.arange(start, min(start + step, n))
            sums[rows] = self.rows(take_items(x, rows)) @ weights
        return sums

    def gram(self, out: Array | None = None) -> Array:
        """The Gram matrix κ(zᵢ, zⱼ), exactly symmetric, with the exact diagonal."""
        return mirror_lower(self.take(np.arange(len(self)), out), self.diagonal)


class Kernel(Parametrized, ABC):
    """A kernel function κ(x, z); sums, products, multiples and exponentials are kernels again.

    Concrete kernels are frozen dataclasses; hyperparameters are fields declared by
    ``hyperparameter``. ``kernel(x, z)`` makes every kernel a ``kernel=`` of scikit-learn.
    """

    #: Whether items are rows of numbers (else Python objects in a list).
    of_vectors: bool = True
    #: Whether any items will do, so that the kernel joins kernels of all kinds.
    of_anything: bool = False
    #: Whether any tile of values is computed by itself, without those of all pairs.
    by_tiles: bool = False

    @property
    def mercer(self) -> bool:
        """Whether every Gram matrix is known to be positive semi-definite."""
        return True

    @abstractmethod
    def prepare(self, z: Items) -> PreparedKernel:
        """The kernel with its second argument fixed to the centers z."""

    def prepare_exact(self, z: Items) -> PreparedKernel:
        """The same with all digits in double precision, as :meth:`gram` has them.

        For whoever inverts Gram matrices, which magnifies rounding errors of products of rows.
        """
        return self.prepare(z)

    @abstractmethod
    def diagonal(self, x: Items) -> Array:
        """κ(xᵢ, xᵢ) = ‖φ(xᵢ)‖² for every item."""

    def gram(self, x: Items, z: Items | None = None, out: Array | None = None) -> Array:
        """The matrix κ(xᵢ, zⱼ); without ``z`` the Gram matrix of x, exactly symmetric."""
        same = z is None or z is x
        return self.prepare(x).gram(out) if same else self.prepare(z).rows(x, out)

    def __call__(self, x: Items, z: Items | None = None) -> Array:
        """The matrix κ(xᵢ, zⱼ)."""
        return self.gram(x, z)

    def squared_distance(self, x: Items, z: Items | None = None) -> Array:
        """‖φ(x) − φ(z)‖² = κ(x,x) − 2 κ(x,z) + κ(z,z) for all pairs, never negative."""
        symmetric = z is None or z is x
        square = -2.0 * self.gram(x, z)
        square += self.diagonal(x)[:, None]
        square += self.diagonal(x if symmetric else z)[None, :]
        if symmetric:
            np.fill_diagonal(square, 0.0)
        return np.maximum(square, 0.0, out=square)

    def serializable(self, items: Items) -> Items:
        """Items as arrays, or as lists of built-in Python values, for storage in a file."""
        return items

    # -- derivatives ---------------------------------------------------------------------------

    def gradient(self, x: Items) -> dict[str, Array]:
        """∂K/∂θ of the Gram matrix of ``x`` for every continuous hyperparameter θ."""
        return dict(zip(self.theta_names, self._derivatives(x), strict=True))

    def gradient_sums(self, x: Items, q: Array, z: Items | None = None) -> Array:
        """Σᵢⱼ qᵢⱼ ∂κ(xᵢ, zⱼ)/∂θ for every entry of :attr:`theta`; without ``z`` of the Gram matrix.

        Derivatives of an objective of kernel values, from its derivatives q by those values. That
        of a Gram matrix is symmetric, and only its lower triangle is read. Tile by tile: no
        matrix of derivatives is stored.
        """
        from separatrix.kernels.derivatives import gradient_sums

        size = len(self._continuous())
        if z is x:  # two sets all the same: q need not be symmetric, and noise is not shared
            z = take_items(x, slice(None))
        return gradient_sums(self.pairs(x, z), q) if size and n_items(x) else np.zeros(size)

    def diagonal_gradient_sums(self, x: Items, q: Array) -> Array:
        """Σᵢ qᵢ ∂κ(xᵢ, xᵢ)/∂θ for every entry of :attr:`theta`."""
        return np.asarray(np.asarray(q, dtype=float) @ self.diagonal_derivatives(x))

    def diagonal_derivatives(self, x: Items) -> Array:
        """∂κ(xᵢ, xᵢ)/∂θ, a row for every item and a column for every entry of :attr:`theta`."""
        found = [np.diagonal(one) for one in self._derivatives(x)]
        return np.array(found, dtype=float).reshape(-1, n_items(x)).T * self._theta_factors()

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """κ between two sets of items (without ``z`` of one with itself), with derivatives."""
        from separatrix.kernels.derivatives import WholePairs

        return WholePairs(self, x, z)

    def _derivatives(self, x: Items) -> list[Array]:
        """∂K/∂θ of the continuous hyperparameters, in the order of :meth:`_hyperparameters`."""
        del x
        if any(p.continuous for _, p in self._hyperparameters()):
            raise NotImplementedError(
                f"{type(self).__name__} lacks derivatives of its hyperparameters"
            )
        return []

    def _children(self) -> tuple[Kernel, ...]:
        """The operands of a composite kernel."""
        return ()

    def without_noise(self) -> Kernel:
        """The expression without white noise: the covariance of the function itself."""
        from separatrix.kernels.algebra import Scaled
        from separatrix.kernels.stationary.constant import Constant

        found = self._noiseless()
        return Scaled(Constant(1.0), 0.0) if found is None else found

    def _noiseless(self) -> Kernel | None:
        """Without white noise; None where nothing else is left."""
        return self

    # -- algebra -------------------------------------------------------------------------------

    def __add__(self, other: Kernel) -> Sum:
        from separatrix.kernels.algebra import Sum

        return Sum.of(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: int) -> Kernel:
        """So that ``sum(kernels)`` works, which starts from 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, other: Kernel | float) -> Product | Scaled:
        from separatrix.kernels.algebra import Product, Scaled

        if isinstance(other, Kernel):
            return Product.of(self, other)
        number = isinstance(other, int | float | np.number)
        return Scaled(self, float(other)) if number else NotImplemented

    def __rmul__(self, factor: float) -> Product | Scaled:
        return self * factor

    def __pow__(self, exponent: float) -> Power:
        from separatrix.kernels.algebra import Power

        number = isinstance(exponent, int | float | np.number)
        return Power(self, float(exponent)) if number else NotImplemented

    def exp(self) -> Exponential:
        """The kernel exp κ(x, z)."""
        from separatrix.kernels.algebra import Exponential

        return Exponential(self)

    def normalized(self) -> Normalized:
        """The kernel κ(x, z) / √(κ(x, x) κ(z, z)), the cosine in feature space."""
        from separatrix.kernels.normalized import Normalized

        return Normalized(self)


def n_items(items: Items) -> int:
    """The number of rows of a matrix, or the length of a list."""
    return int(items.shape[0]) if hasattr(items, "shape") else len(items)


def take_items(items: Items, indices: Any) -> Items:
    """The rows of a matrix, or the items of a list, at ``indices``."""
    if hasattr(items, "shape"):
        return items[indices]
    return [items[i] for i in np.atleast_1d(np.arange(len(items))[indices])]


def join_items(first: Items, second: Items) -> Items:
    """The rows of two matrices, or the items of two lists."""
    if not hasattr(first, "shape"):
        return [*first, *second]
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([first, second], format="csr")
    return np.concatenate([first, second])


def finite_diagonal(kernel: Kernel, x: Items) -> NDArray[np.float64]:
    """κ(xᵢ, xᵢ) of every item, refused where it is too large for a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        diagonal = np.asarray(kernel.diagonal(x), dtype=float)
    finite = np.isfinite(diagonal)
    if not finite.all():
        raise InputError(
            "The kernel of the row with itself is too large for a number.",
            row=int(np.argmin(finite)) + 1,
            remedy="Divide the columns by their size, or use standardize=True where it is offered.",
        )
    return diagonal


def mirror_lower(square: Array, diagonal: Array) -> Array:
    """Copy the lower triangle to the upper in place, and set the diagonal."""
    mirrored(square)
    np.fill_diagonal(square, diagonal)
    return square
