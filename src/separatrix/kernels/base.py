"""Interface of a kernel, κ(x, z) = φ(x)·φ(z): an inner product in a feature space.

The feature map φ is never computed. A kernel is *Mercer* if its Gram matrices K, Kᵢⱼ = κ(xᵢ, xⱼ),
are positive semi-definite for all data; only then does a feature map exist.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.messages import InputError, did_you_mean
from separatrix.notebook import Shown
from separatrix.rows.schema import largest_magnitude, n_items, take_items, to_array
from separatrix.rows.sources.frames import refuse_not_finite
from separatrix.threads import MIN_PIECES, parallel_map, pieces

if TYPE_CHECKING:
    from separatrix.kernels.algebra import (
        Composite,
        Exponential,
        Normalized,
        Power,
        Product,
        Scaled,
        Sum,
    )


# -------------------------------------------------------------------------------------------------
# Hyperparameters of a kernel expression: by name, as a vector of logarithms, with bounds.
#
# A field of a kernel is one hyperparameter, or a tuple of them, one for each column.


@dataclass(frozen=True)
class Hyperparameter:
    """Value and bounds of a hyperparameter; continuous ones have derivatives, others integers.

    ``bounded`` says whether the bounds were given for this kernel; others are customary only, and
    data in other units may need values beyond them.
    """

    value: float
    low: float
    high: float
    continuous: bool = True
    bounded: bool = False

    @property
    def positive(self) -> bool:
        """Whether it is above zero by its nature, so that its logarithm is learned."""
        return self.low > 0.0


def hyperparameter(
    default: float, low: float, high: float, *, continuous: bool = True, bounded: bool = False
) -> Any:
    """A dataclass field for a hyperparameter, with its customary bounds, or its domain."""
    facts = {"low": low, "high": high, "continuous": continuous, "bounded": bounded}
    return field(default=default, metadata=facts)


def check_integer(value: float, what: str, low: int) -> None:
    """Refuse anything but an integer of at least ``low``, 0 or 1."""
    if value != int(value) or value < low:
        remedy = "Give a positive integer." if low else "Give an integer, 0 or more."
        raise InputError(f"{what} is {value!r}.", remedy=remedy)


def check_positive(value: float, what: str) -> None:
    """Refuse anything but a positive, finite number."""
    if not 0.0 < value < np.inf:
        raise InputError(f"{what} is {value!r}.", remedy="It is a positive, finite number.")


class Parametrized:
    """Hyperparameters of an expression: its own fields, then those of its operands."""

    @property
    def parameters(self) -> dict[str, Hyperparameter]:
        """All hyperparameters of the expression, from left to right.

        A name that occurs more than once is numbered: ``bandwidth_1``, ``bandwidth_2``. So are
        the values for each column.
        """
        values = self._hyperparameters()
        return dict(zip(_unique([name for name, _ in values]), (p for _, p in values), strict=True))

    def replace(self, **values: float) -> Self:
        """A copy of the expression with other values of the named hyperparameters."""
        current = self.parameters
        for name in values:
            if name not in current:
                raise InputError(
                    f"The kernel {self} has no hyperparameter {name!r}.",
                    remedy=did_you_mean(name, current),
                )
        return self._with_values([values.get(name, p.value) for name, p in current.items()])

    @property
    def theta(self) -> Floats:
        """The continuous hyperparameters as a vector: logarithms of those that are positive."""
        hyperparameters = self._continuous()
        values = np.array([p.value for p in hyperparameters], dtype=float)
        positive = np.array([p.positive for p in hyperparameters], dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(positive, np.log(values), values)

    @property
    def bounds(self) -> Floats:
        """The bounds of :attr:`theta`, (p, 2): given ones, or customary ones."""
        return np.array(
            [
                np.log([p.low, p.high]) if p.positive else [p.low, p.high]
                for p in self._continuous()
            ],
            dtype=float,
        ).reshape(-1, 2)

    @property
    def theta_names(self) -> list[str]:
        """The names of the entries of :attr:`theta`, as in :attr:`parameters`."""
        return [name for name, p in self.parameters.items() if p.continuous]

    def with_theta(self, theta: Any) -> Self:
        """A copy of the expression with other continuous hyperparameters, see :attr:`theta`."""
        values, left = [], iter(np.asarray(theta, dtype=float).tolist())
        for _, p in self._hyperparameters():
            if not p.continuous:
                values.append(p.value)
            else:
                value = next(left)
                values.append(float(np.exp(value)) if p.positive else value)
        return self._with_values(values)

    def _continuous(self) -> list[Hyperparameter]:
        return [p for _, p in self._hyperparameters() if p.continuous]

    def _theta_factors(self) -> Floats:
        """What turns derivatives by values into those by :attr:`theta`: ∂/∂log v = v ∂/∂v."""
        return np.array([p.value if p.positive else 1.0 for p in self._continuous()], dtype=float)

    def _children(self) -> tuple[Parametrized, ...]:
        """The operands of a composite kernel."""
        return ()

    def _own_hyperparameters(self) -> list[tuple[str, Hyperparameter]]:
        return self._found

    @cached_property
    def _found(self) -> list[tuple[str, Hyperparameter]]:
        """Those of the fields, made once: there may be hundreds of columns."""
        return [
            (name, Hyperparameter(value, **metadata))
            for name, values, metadata in self._own_fields()
            for value in (values if isinstance(values, tuple) else (values,))
        ]

    def _own_fields(self) -> Iterator[tuple[str, Any, Any]]:
        for f in fields(self):  # type: ignore[arg-type]
            if f.metadata:
                yield f.name, getattr(self, f.name), f.metadata

    def _hyperparameters(self) -> list[tuple[str, Hyperparameter]]:
        return self._own_hyperparameters() + [
            pair for operand in self._children() for pair in operand._hyperparameters()
        ]

    def _with_values(self, values: Sequence[float]) -> Self:
        """A copy with these hyperparameters, in the order of :meth:`_hyperparameters`.

        A step of learning across the end of a domain goes to its end.
        """
        left, changed = iter(values), {}
        for name, current, facts in self._own_fields():
            several = isinstance(current, tuple)
            changed[name] = tuple(next(left) for _ in current) if several else next(left)
            if facts["bounded"]:
                changed[name] = min(max(changed[name], facts["low"]), facts["high"])
        return replace(self, **changed)  # type: ignore[type-var]


def _unique(names: list[str]) -> list[str]:
    """Repeated names numbered in their order, others unchanged."""
    seen: dict[str, int] = {}
    numbered = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        numbered.append(f"{name}_{seen[name]}" if names.count(name) > 1 else name)
    return numbered


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

        size = len(self._continuous())
        if z is x:  # two sets all the same: q need not be symmetric, and noise is not shared
            z = take_items(x, slice(None))
        return gradient_sums(self.pairs(x, z), q) if size and n_items(x) else np.zeros(size)

    def diagonal_gradient_sums(self, x: Items, q: Array) -> Array:
        """Σᵢ qᵢ ∂κ(xᵢ, xᵢ)/∂θ for every entry of :attr:`theta`."""
        return np.asarray(np.asarray(q, dtype=float) @ self.diagonal_derivatives(x))

    def diagonal_derivatives(self, x: Items) -> Array:
        """∂κ(xᵢ, xᵢ)/∂θ, a row for every item and a column for every entry of :attr:`theta`."""
        diagonals = [np.diagonal(derivative) for derivative in self._derivatives(x)]
        return np.array(diagonals, dtype=float).reshape(-1, n_items(x)).T * self._theta_factors()

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """κ between two sets of items (without ``z`` of one with itself), with derivatives."""

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
        from separatrix.kernels.stationary import Constant

        kernel = self._noiseless()
        return Scaled(Constant(1.0), 0.0) if kernel is None else kernel

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
        from separatrix.kernels.algebra import Normalized

        return Normalized(self)


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


def mirror_lower(square: Array, diagonal: Array | None = None) -> Array:
    """Copy the lower half to the upper in place, tile by tile on threads, and set the diagonal."""
    n, step = len(square), 256

    def part(left: int) -> None:
        columns = slice(left, min(left + step, n))
        tile = square[columns, columns]
        lower = np.tril(tile, -1)
        tile[...] = lower + lower.T + np.diag(np.diagonal(tile))
        for top in range(left + step, n, step):
            rows = slice(top, min(top + step, n))
            square[columns, rows] = square[rows, columns].T

    parallel_map(part, range(0, n, step))
    if diagonal is not None:
        np.fill_diagonal(square, diagonal)
    return square


# -------------------------------------------------------------------------------------------------
# Kernel matrices by matrix products, in tiles that stay in the cache, on all processors.


#: Rows and columns of a tile: multiplied, then transformed while it is still in the cache. Columns
#: of a tile whose side is a power of two would compete for the same few lines of it.
SIDE = 240


class PreparedTiles(PreparedKernel):
    """Kernel values by tiles: products of some rows with some centers, then a function of them."""

    @abstractmethod
    def _arrays(self, x: Items) -> tuple[Any, ...]:
        """The arrays that a tile needs of the rows x, as many rows in each."""

    @abstractmethod
    def _tile(self, rows: tuple[Any, ...], columns: slice, tile: Array) -> None:
        """Rows with some of the centers, in a contiguous tile."""

    def _convert(self, x: Items) -> tuple[Items, Self]:
        """The rows, and the prepared kernel, as matrices of one type."""
        x, z = common_matrices(x, self.centers)
        same = z.dtype == self.centers.dtype and type(z) is type(self.centers)
        return x, self if same else type(self)(self.kernel, z)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """The matrix κ(xᵢ, zⱼ), tile by tile."""
        x, prepared = self._convert(x)
        block = output_block(x, prepared.centers, out)
        prepared._fill(prepared._arrays(x), block)
        return copy_to(block, out)

    def _fill(self, arrays: tuple[Any, ...], block: Array, *, symmetric: bool = False) -> None:
        """Fill the block; of a symmetric one the tiles below the diagonal, mirrored."""

        def fill(rows: slice, columns: slice) -> None:
            # a tile of its own: rows of the block are so far apart that the cache holds few
            shape = (rows.stop - rows.start, columns.stop - columns.start)
            tile = np.empty(shape, dtype=block.dtype)
            self._tile(tuple(array[rows] for array in arrays), columns, tile)
            if symmetric and rows == columns:
                mirror_lower(tile, self.diagonal[rows])
            elif symmetric:
                block[columns, rows] = tile.T
            block[rows, columns] = tile

        todo = lower_tiles(len(self)) if symmetric else tiles(*block.shape)
        for_each_tile(fill, todo, arrays[0].shape[1])

    def dot(self, x: Items, weights: Array) -> Array:
        """Weighted sums over tiles; the kernel matrix is not stored."""
        x, prepared = self._convert(x)
        arrays = prepared._arrays(x)

        def compute(rows: slice, columns: slice, tile: Array) -> None:
            prepared._tile(tuple(array[rows] for array in arrays), columns, tile)

        return weighted_sums(compute, weights, x)

    def gram(self, out: Array | None = None) -> Array:
        """The tiles below the diagonal, mirrored."""
        block = output_block(self.centers, self.centers, out)
        self._fill(self._arrays(self.centers), block, symmetric=True)
        return copy_to(block, out)


Tile = tuple[slice, slice]


def tiles(n: int, m: int, side: int = SIDE) -> list[Tile]:
    """Tiles of about equal size; few rows have wider tiles."""
    height = min(side, n)
    width = side * side // max(height, 1)
    return [
        (slice(top, min(top + height, n)), slice(left, min(left + width, m)))
        for top in range(0, n, max(height, 1))
        for left in range(0, m, width)
    ]


def lower_tiles(n: int, side: int = SIDE) -> list[Tile]:
    """Square tiles that cover the lower triangle of an n x n matrix."""
    cuts = [slice(top, min(top + side, n)) for top in range(0, n, side)]
    return [(rows, columns) for i, rows in enumerate(cuts) for columns in cuts[: i + 1]]


def for_each_tile(fill: Callable[[slice, slice], None], todo: list[Tile], depth: int) -> None:
    """Call ``fill`` for every tile, on several threads if there is enough work."""
    entries = sum((r.stop - r.start) * (c.stop - c.start) for r, c in todo)
    # Multiplications below which a second thread costs more than it saves.
    if entries * (depth + 16) < 1 << 21:
        for tile in todo:
            fill(*tile)
        return
    parallel_map(lambda tile: fill(*tile), todo)


def weighted_sums(compute: Callable[[slice, slice, Array], None], weights: Array, x: Any) -> Array:
    """Σⱼ κ(xᵢ, zⱼ) wⱼ by strips of rows, each on one thread; ``compute`` fills a tile."""
    n, m = int(x.shape[0]), len(weights)
    sums = np.zeros((n, weights.shape[1]))
    weights = weights.astype(x.dtype, copy=False)

    def strip(rows: slice, _: slice) -> None:
        height = rows.stop - rows.start
        width = max(1, min(m, max(SIDE, (1 << 15) // height)))  # entries of a tile of a strip
        buffer = np.empty(height * width, dtype=x.dtype)
        for left in range(0, m, width):
            columns = slice(left, min(left + width, m))
            tile = buffer[: height * (columns.stop - left)].reshape(height, -1)
            compute(rows, columns, tile)
            sums[rows] += tile @ weights[columns]

    # Fewest rows of a strip whose weighted sums are accumulated without storing the kernel matrix.
    strips = pieces(n, 64, max(MIN_PIECES, n // SIDE))
    for_each_tile(strip, [(rows, slice(0, m)) for rows in strips], int(x.shape[1]))
    return sums


def product_into(x: Any, columns: Any, block: Array) -> None:
    """x times ``columns`` (the centers as columns), dense or sparse, written to ``block``."""
    if sparse.issparse(x):
        block[...] = (x @ columns).toarray()
    else:
        np.matmul(x, columns, out=block)


def output_block(x: Any, z: Any, out: Array | None) -> Array:
    """The array to compute κ(x, z) in: ``out`` if it is contiguous and of the right type."""
    shape = (x.shape[0], z.shape[0])
    if out is None:
        return np.empty(shape, dtype=x.dtype)
    if out.shape != shape or out.dtype.kind != "f":
        raise InputError(
            f"The block to write to is {out.shape} of {out.dtype}, the kernel matrix {shape}.",
            remedy="Give a float array of that shape.",
        )
    usable = out.dtype == x.dtype and out.flags.c_contiguous
    return out if usable else np.empty(shape, dtype=x.dtype)


def copy_to(block: Array, out: Array | None) -> Array:
    """``block``, copied to ``out`` if that is another array."""
    if out is None or block is out:
        return block
    out[...] = block
    return out


def common_matrices(x: Items, z: Items) -> tuple[Any, Any]:
    """Both as matrices of one type: CSR if either is, float64 unless both are float32."""
    identical = x is z
    x, z = as_matrix(x), as_matrix(z)
    if x.shape[1] != z.shape[1]:
        raise InputError(
            f"One side has {x.shape[1]} columns, the other {z.shape[1]}.",
            remedy="A kernel compares rows of equal length.",
        )
    if identical:
        return x, x
    dtype = np.result_type(x.dtype, z.dtype)
    if sparse.issparse(x) or sparse.issparse(z):
        return sparse.csr_array(x, dtype=dtype), sparse.csr_array(z, dtype=dtype)
    return x.astype(dtype, copy=False), z.astype(dtype, copy=False)


def as_matrix(x: Items) -> Any:
    """Rows of finite numbers as a C-contiguous array or as CSR, in float32 or float64."""
    if sparse.issparse(x):
        dtype = np.float32 if x.dtype == np.float32 else np.float64
        x = sparse.csr_array(x, dtype=dtype)
        refuse_not_finite(x)
        return x
    try:
        x = np.asarray(x)
        x = np.ascontiguousarray(x, dtype=np.float32 if x.dtype == np.float32 else np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(
            f"These are not rows of numbers: {problem}.",
            remedy="Strings, sets, trees and graphs have kernels of their own.",
        ) from problem
    if x.ndim != 2:
        raise InputError(
            f"A kernel of rows of numbers needs a matrix; this has {x.ndim} dimension(s).",
            remedy="One column is x.reshape(-1, 1), one row is x.reshape(1, -1).",
        )
    if x.size and not np.isfinite(largest_magnitude(x)):
        refuse_not_finite(x)
    return x


def are_dense_doubles(x: Items, z: Items | None) -> bool:
    """Whether κ(x, z) of these rows is of double precision, and the rows not sparse."""
    sides = [x] if z is None else [x, z]
    if any(sparse.issparse(side) for side in sides):
        return False
    return not all(getattr(side, "dtype", None) == np.float32 for side in sides)


def squared_norms(x: Any) -> Array:
    """‖x‖² of every row."""
    if sparse.issparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=x.dtype).ravel()
    return np.asarray(np.einsum("ij,ij->i", x, x))


# -------------------------------------------------------------------------------------------------
# Kernel values between two sets of items, and sums of their derivatives, tile by tile.
#
# g_k = Σᵢⱼ qᵢⱼ ∂κ(xᵢ, zⱼ)/∂θ_k    for every entry of θ at once, from one evaluation of every tile
#
# An objective of kernel values (an evidence, a bound) needs no more of the derivatives than these
# sums. A product hands the values of its other factors down as part of q, a sum hands down q
# itself: what is in memory at a time is a few tiles, whatever the expression and however many
# hyperparameters it has. Everything is in double precision.


class PairTile(ABC):
    """A tile of kernel values that remembers what its derivatives need."""

    #: κ of every pair of the tile; (1, 1) if all are the same.
    values: Floats

    @abstractmethod
    def sums(self, q: Floats) -> Floats:
        """Σ q ∂κ/∂θ over the tile, for every entry of θ."""

    def chained_sums(self, q: Floats, by: Any) -> Floats:
        """Σ q b ∂κ/∂θ; b is None for one, a number, or an array."""
        if by is None:
            return self.sums(q)
        if np.size(by) == 1:
            return self.sums(q) * float(np.ravel(by)[0])
        return self.sums(q * by)

    @abstractmethod
    def products(self, right: Floats, by: Any) -> Floats:
        """Σⱼ b ∂κ/∂θ rⱼ over the columns of the tile: (rows, entries of θ, columns of r)."""


class KernelPairs(ABC):
    """A kernel between two fixed sets of items; ``gram`` says that they are the same."""

    def __init__(self, n: int, m: int, *, gram: bool) -> None:
        self.shape, self.gram = (n, m), gram

    @abstractmethod
    def tile(self, rows: slice, columns: slice) -> PairTile:
        """Kernel values of a tile, ready for derivatives."""

    def values(self, rows: slice, columns: slice) -> Floats:
        """Kernel values of a tile alone, in an array of its own; (1, 1) if all are the same."""
        return self.tile(rows, columns).values

    def start(self, *, derivatives: bool) -> None:
        """Compute what tiles have in common, before threads ask for them."""
        del derivatives


class WholePairs(KernelPairs):
    """Values and derivatives that are computed for all pairs at once, as those of structures."""

    def __init__(self, kernel: Kernel, x: Items, z: Items | None) -> None:
        z = None if z is x else z
        super().__init__(n_items(x), n_items(x if z is None else z), gram=z is None)
        self.kernel, self.x, self.z = kernel, x, z
        self._values: Floats | None = None
        self._derivatives: list[Floats] | None = None

    def _compute_now(self) -> Floats:
        if self._values is None:
            if self.z is None:
                values = self.kernel.prepare(self.x).gram()
            else:
                values = self.kernel.prepare(self.z).rows(self.x)
            self._values = np.asarray(values, dtype=float)
        return self._values

    def _differentiate(self) -> list[Floats]:
        if self._derivatives is None:
            n = self.shape[0]
            if self.z is None:
                derivatives = self.kernel._derivatives(self.x)
            elif self.kernel._continuous():
                both = self.kernel._derivatives(join_items(self.x, self.z))
                derivatives = [derivative[:n, n:] for derivative in both]
            else:
                derivatives = []
            factors = self.kernel._theta_factors()
            self._derivatives = [f * d for f, d in zip(factors, derivatives, strict=True)]
        return self._derivatives

    def start(self, *, derivatives: bool) -> None:
        """Compute everything now, before threads ask for it."""
        self._compute_now()
        if derivatives:
            self._differentiate()

    def values(self, rows: slice, columns: slice) -> Floats:
        """A copy of the values."""
        return self._compute_now()[rows, columns].copy()

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """A copy of the values, and the derivatives."""
        derivatives = [derivative[rows, columns] for derivative in self._differentiate()]
        return GivenTile(self.values(rows, columns), derivatives)


class GivenTile(PairTile):
    """A tile whose derivatives are at hand, one tile for each entry of θ."""

    def __init__(self, values: Floats, derivatives: list[Floats]) -> None:
        self.values, self.derivatives = values, derivatives

    def sums(self, q: Floats) -> Floats:
        """Σ q ∂κ/∂θ."""
        return np.array(
            [weighted_sum(q, derivative) for derivative in self.derivatives], dtype=float
        )

    def products(self, right: Floats, by: Any) -> Floats:
        """Products with every derivative."""
        return stacked_products(self.derivatives, right, by)


def weighted_sum(q: Floats, values: Floats) -> float:
    """Σ q v over a tile, of which (1, 1) stands for equal values."""
    return float(np.vdot(q, values) if values.shape == q.shape else values[0, 0] * q.sum())


def stacked_products(derivatives: Sequence[Floats], right: Floats, by: Any) -> Floats:
    """Σⱼ b d rⱼ of several arrays d, of which (1, 1) stands for equal values."""
    products = [
        _product(derivative if by is None else derivative * by, right) for derivative in derivatives
    ]
    rows = max((len(derivative) for derivative in products), default=1)
    stacked = np.empty((rows, len(products), right.shape[1]))
    for i, derivative in enumerate(products):
        stacked[:, i] = derivative
    return stacked


def _product(values: Floats, right: Floats) -> Floats:
    equal = values.shape[1] != len(right)
    return np.asarray(values * right.sum(axis=0) if equal else values @ right)


class CompositePairs(KernelPairs):
    """The operands of a composite kernel, combined entry by entry while a tile is in the cache."""

    def __init__(self, kernel: Composite, operands: list[KernelPairs]) -> None:
        super().__init__(*operands[0].shape, gram=operands[0].gram)
        self.kernel, self.operands = kernel, operands

    def start(self, *, derivatives: bool) -> None:
        """Start all operands."""
        for operand in self.operands:
            operand.start(derivatives=derivatives)

    def values(self, rows: slice, columns: slice) -> Floats:
        """Combined values of the operands."""
        return self.kernel._combine([operand.values(rows, columns) for operand in self.operands])

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """Combined tiles of the operands."""
        return CompositeTile(
            self.kernel, [operand.tile(rows, columns) for operand in self.operands]
        )


class TileValues(Sequence[Floats]):
    """Values of several tiles, computed where they are needed: a sum needs none."""

    def __init__(self, tiles: list[PairTile]) -> None:
        self.tiles = tiles

    def __len__(self) -> int:
        return len(self.tiles)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [operand_tile.values for operand_tile in self.tiles[at]]
        return self.tiles[at].values


class CompositeTile(PairTile):
    """Tiles of the operands: each sums its derivatives with q times ∂κ/∂(its values)."""

    def __init__(self, kernel: Composite, operands: list[PairTile]) -> None:
        self.kernel, self.operands = kernel, operands

    @cached_property
    def values(self) -> Floats:  # type: ignore[override]
        """Combined values, where somebody needs them."""
        return self.kernel._combine([operand.values.copy() for operand in self.operands])

    def sums(self, q: Floats) -> Floats:
        """The chain rule."""
        entries = TileValues(self.operands)
        partials = self.kernel._partials(entries)
        sums_here = [weighted_sum(q, operand) for operand in self.kernel._own_derivatives(entries)]
        sums_here = [
            f * operand for f, operand in zip(self.kernel._own_factors(), sums_here, strict=True)
        ]
        operands = zip(self.operands, partials, strict=True)
        return np.concatenate(
            [sums_here, *(operand.chained_sums(q, by) for operand, by in operands)]
        )

    def products(self, right: Floats, by: Any) -> Floats:
        """The chain rule."""
        entries = TileValues(self.operands)
        derivatives_here = [
            f * operand
            for f, operand in zip(
                self.kernel._own_factors(), self.kernel._own_derivatives(entries), strict=True
            )
        ]
        parts = [stacked_products(derivatives_here, right, by)] if derivatives_here else []
        for operand, partial in zip(self.operands, self.kernel._partials(entries), strict=True):
            both = partial if by is None else by if partial is None else by * partial
            parts.append(operand.products(right, both))
        rows = max(len(operand) for operand in parts)
        return np.concatenate(
            [np.broadcast_to(operand, (rows, *operand.shape[1:])) for operand in parts], axis=1
        )


def gradient_sums(pairs: KernelPairs, q: Array) -> Floats:
    """Σᵢⱼ qᵢⱼ ∂κ(xᵢ, zⱼ)/∂θ; of a Gram matrix only the lower triangle of q is read.

    Tiles are summed in their order, so the bits are the same on any number of threads.
    """
    pairs.start(derivatives=True)
    n, m = pairs.shape

    def one(at: tuple[slice, slice]) -> Floats:
        rows, columns = at
        part = np.ascontiguousarray(q[rows, columns], dtype=float)
        if pairs.gram and rows == columns:
            below = np.tril(part, -1)
            part = below + below.T
            np.fill_diagonal(part, np.diagonal(q)[rows])
        sums = pairs.tile(rows, columns).sums(part)
        return 2.0 * sums if pairs.gram and rows != columns else sums

    todo = lower_tiles(n) if pairs.gram else tiles(n, m)
    found = parallel_map(one, todo)
    return np.asarray(sum(found[1:], start=found[0])) if found else np.zeros(0)


def derivative_products(pairs: KernelPairs, right: Array) -> Floats:
    """Σⱼ ∂κ(xᵢ, zⱼ)/∂θ rⱼ for every row, entry of θ and column of ``right``: (n, p, k).

    No matrix of derivatives is stored; a strip of rows is summed by one thread, in order.
    """
    pairs.start(derivatives=True)
    n, m = pairs.shape

    def strip(rows: slice) -> Floats:
        product: Any = 0.0
        for left in range(0, m, SIDE):
            columns = slice(left, min(left + SIDE, m))
            product = product + pairs.tile(rows, columns).products(right[columns], None)
        return np.asarray(np.broadcast_to(product, (rows.stop - rows.start, *product.shape[1:])))

    strips = [slice(top, min(top + SIDE, n)) for top in range(0, n, SIDE)]
    return np.concatenate(parallel_map(strip, strips))


def pair_values(pairs: KernelPairs, out: Array | None = None) -> Array:
    """The matrix κ(xᵢ, zⱼ), tile by tile; a Gram matrix is exactly symmetric."""
    pairs.start(derivatives=False)
    block: Any = np.empty(pairs.shape) if out is None else out

    def fill(at: tuple[slice, slice]) -> None:
        rows, columns = at
        tile = pairs.values(rows, columns)
        if pairs.gram and rows == columns and tile.shape != (1, 1):
            mirror_lower(tile, np.diagonal(tile).copy())
        elif pairs.gram:
            block[columns, rows] = tile.T
        block[rows, columns] = tile

    n, m = pairs.shape
    parallel_map(fill, lower_tiles(n) if pairs.gram else tiles(n, m))
    return copy_to(block, out)


# -------------------------------------------------------------------------------------------------
# Precomputed Gram matrices, and kernels given by a function of two matrices.


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Precomputed kernel: rows hold kernel values instead of features.

        κ(xᵢ, zⱼ) = X[i, j]

    Training takes the square Gram matrix, prediction the matrix (new rows x training rows).

    See Also
    --------
    is_mercer : tests a Gram matrix for negative eigenvalues.
    Linear : computes inner products from features.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> model = sx.SVC(kernel="precomputed").fit(x @ x.T, ["a", "a", "b", "b"])
    >>> model.predict([[3.0]] @ x.T).tolist()
    ['b']
    """

    @property
    def mercer(self) -> bool:
        """False, since it is unknown."""
        return False

    def prepare(self, z: Items) -> PreparedGram:
        """The Gram matrix of the centers."""
        return PreparedGram(self, square_matrix(z))

    def diagonal(self, x: Items) -> Array:
        """The diagonal of the Gram matrix."""
        return np.diagonal(square_matrix(x)).copy()


class PreparedGram(PreparedKernel):
    """A precomputed Gram matrix, stored as the ``centers``."""

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """A copy of the given kernel values."""
        x = as_matrix(x)
        if x.shape[1] != len(self):
            raise InputError(
                f"The kernel matrix has {x.shape[1]} columns for {len(self)} training rows.",
                remedy="Give one column for every training row.",
            )
        return copy_to(np.array(x) if out is None else x, out)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """Rows of the Gram matrix."""
        return copy_to(np.array(self.centers[indices]), out)

    def subset(self, indices: Any) -> PreparedKernel:
        """The rows and columns at ``indices``."""
        return PreparedGram(self.kernel, self.centers[indices][:, indices])


@dataclass(frozen=True)
class Custom(Kernel):
    """A kernel given by a function of two matrices (or lists), ``function(x, z)`` → (n, m)."""

    function: Callable[..., Any]
    of_vectors: bool = True

    @property
    def mercer(self) -> bool:
        """False, since it is unknown."""
        return False

    def prepare(self, z: Items) -> PreparedCustom:
        """The centers unchanged."""
        return PreparedCustom(self, self.validate(z))

    def diagonal(self, x: Items) -> Array:
        """The diagonals of small Gram matrices, block by block."""
        x = self.validate(x)
        blocks = [x[start : start + 64] for start in range(0, n_items(x), 64)]
        diagonals = [np.diagonal(self.values(block, block)) for block in blocks]
        return np.concatenate(diagonals) if diagonals else np.empty(0)

    def validate(self, x: Items) -> Items:
        """Rows as a matrix, other items as a list."""
        return as_matrix(x) if self.of_vectors else list(x)

    def values(self, x: Items, z: Items) -> Array:
        """function(x, z), dense, checked for its shape and its numbers."""
        kernel = self.function(x, z)
        block = np.asarray(kernel.toarray() if sparse.issparse(kernel) else kernel)
        shape = (n_items(x), n_items(z))
        if block.shape != shape or block.dtype.kind not in "fiub":
            raise InputError(
                f"The kernel function returned {block.shape} of {block.dtype} for {shape}.",
                remedy="function(x, z) returns one number for every pair: (len x, len z).",
            )
        if not np.isfinite(block).all():
            raise InputError(
                "The kernel function returned NaN or infinity.",
                remedy="Every pair of rows needs a finite number.",
            )
        return block


class PreparedCustom(PreparedKernel):
    """Values of a user-defined function, checked for their shape."""

    kernel: Custom

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """function(x, z)."""
        x = self.kernel.validate(x)
        block = self.kernel.values(x, self.centers)
        return copy_to(np.array(block, dtype=float), out)


def square_matrix(x: Items) -> Array:
    """A dense square matrix."""
    dense: Array = to_array(as_matrix(x))
    if dense.shape[0] != dense.shape[1]:
        raise InputError(
            f"A precomputed kernel is {dense.shape[0]} x {dense.shape[1]}.",
            remedy="Training needs the square Gram matrix of all rows.",
        )
    return dense


def training_gram(x: Items, rows: Ints, n: int) -> Array:
    """The dense Gram matrix of some of n rows, given theirs; refused unless n x n and symmetric."""
    dense: Array = to_array(as_matrix(x))
    if dense.shape[1] != n:
        raise InputError(
            f"The precomputed kernel is {n} x {dense.shape[1]}.",
            remedy="Training needs the square Gram matrix of all rows.",
        )
    dense = np.ascontiguousarray(dense[:, rows]) if len(rows) < n else dense
    require_symmetric(dense)
    return dense


def require_symmetric(gram: Array) -> None:
    """Refuse a Gram matrix that is not symmetric up to rounding."""
    difference = np.abs(gram - gram.T)
    largest = float(difference.max(initial=0.0))
    if largest > 1e-5 * float(np.abs(gram).max(initial=0.0)):
        i, j = (int(k) for k in np.unravel_index(int(difference.argmax()), difference.shape))
        raise InputError(
            f"The precomputed kernel is not symmetric: {gram[i, j]:.6g} in row {i}, column {j}, "
            f"and {gram[j, i]:.6g} in row {j}, column {i}.",
            remedy="Give (K + K.T) / 2 if either direction is as good.",
        )


# -------------------------------------------------------------------------------------------------
# Kernel expansions f(x) = Σⱼ aⱼ κ(zⱼ, x) + b, the functions that kernel methods learn.


@dataclass(frozen=True, repr=False)
class KernelExpansion(Shown):
    """Linear combination of kernel functions around centers (k functions at once).

        f(x) = Σⱼ aⱼ κ(zⱼ, x) + b

    In feature space it is a hyperplane with the normal w = Σⱼ aⱼ φ(zⱼ). Centers whose weights are
    all zero are dropped.

    Parameters
    ----------
    kernel : Kernel
        κ.
    centers : array-like or list of m items
        zⱼ. With a precomputed kernel, the indices of the columns to read.
    weights : array of shape (m,) or (m, k)
        aⱼ.
    intercept : float or array of shape (k,)
        b.
    n_train : int, default=0
        Number of training rows, that is of columns of a precomputed kernel matrix; m if zero.

    See Also
    --------
    SVC : learns such a function.
    KernelPerceptron : learns such a function, too.

    References
    ----------
    B. Schölkopf, R. Herbrich and A. J. Smola, A generalized representer theorem, COLT, 2001.

    Examples
    --------
    >>> import separatrix as sx
    >>> f = sx.KernelExpansion(sx.Gaussian(1.0), [[0.0], [1.0], [2.0]], [1.0, 0.0, -1.0], 0.5)
    >>> len(f), f.scores([[1.0]]).round(6).tolist()
    (2, [[0.5]])
    """

    kernel: Kernel
    centers: Any
    weights: Floats
    intercept: Floats
    n_train: int = 0

    def __post_init__(self) -> None:
        weights = np.asarray(self.weights, dtype=float)
        weights = weights.reshape(len(weights), -1)
        intercept = np.broadcast_to(np.asarray(self.intercept, dtype=float), weights.shape[1:])
        centers = self.centers
        if isinstance(self.kernel, Precomputed):
            column_indices = np.ndim(centers) == 1
            centers = np.asarray(centers) if column_indices else np.arange(len(weights))
        else:
            centers = self.kernel.serializable(centers)
        if self.kernel.of_vectors and not sparse.issparse(centers):
            centers = np.asarray(centers)
        if n_items(centers) != len(weights):
            raise InputError(
                f"There are {len(weights)} weights for {n_items(centers)} centers.",
                remedy="Give one weight (or row of weights) for every center.",
            )
        nonzero = np.flatnonzero((weights != 0.0).any(axis=1))
        object.__setattr__(self, "n_train", int(self.n_train) or len(weights))
        if len(nonzero) < len(weights):
            centers, weights = take_items(centers, nonzero), weights[nonzero]
        object.__setattr__(self, "centers", centers)
        object.__setattr__(self, "weights", np.ascontiguousarray(weights))
        object.__setattr__(self, "intercept", intercept.copy())

    def __add__(self, other: KernelExpansion) -> KernelExpansion:
        """f + g of functions with the same kernel."""
        if self.kernel is not other.kernel or isinstance(self.kernel, Precomputed):
            raise InputError("Only expansions in one kernel of rows can be added.")
        return KernelExpansion(
            self.kernel,
            join_items(self.centers, other.centers),
            np.concatenate([self.weights, other.weights]),
            self.intercept + other.intercept,
            self.n_train + other.n_train,
        )

    def __len__(self) -> int:
        """The number of centers."""
        return len(self.weights)

    def scores(self, x: Items) -> Floats:
        """f(x) of every item and function (n x k), by blocks of bounded memory."""
        if isinstance(self.kernel, Precomputed):
            return self._scores_precomputed(x)
        x = as_matrix(x) if self.kernel.of_vectors else x
        if len(self) == 0:
            return np.tile(self.intercept, (n_items(x), 1))
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.asarray(self._prepared.dot(x, self.weights) + self.intercept)
        finite = np.isfinite(scores).all(axis=1)
        if not finite.all():
            raise InputError(
                "The kernel of the row with the training rows is too large for a number.",
                row=int(np.argmin(finite)) + 1,
                remedy="Give rows in the units of the training rows.",
            )
        return scores

    def _scores_precomputed(self, x: Items) -> Floats:
        x = as_matrix(x)
        if x.shape[1] != self.n_train:
            raise InputError(
                f"The kernel matrix has {x.shape[1]} columns.",
                remedy=f"Give one column for each of the {self.n_train} training rows.",
            )
        return np.asarray(x[:, self.centers] @ self.weights + self.intercept)

    @cached_property
    def _prepared(self) -> PreparedKernel:
        return self.kernel.prepare(self.centers)

    def __str__(self) -> str:
        """Number of centers and their memory."""
        text = f"{len(self)} of {self.n_train} training rows are centers"
        if isinstance(self.kernel, Precomputed) or not hasattr(self.centers, "shape"):
            return text
        data = self.centers.data if sparse.issparse(self.centers) else self.centers
        return f"{text}, {data.nbytes / 1e6:.1f} MB"

    def squared_norm(self) -> Floats:
        """‖w‖² = Σᵢⱼ aᵢ aⱼ κ(zᵢ, zⱼ) of every function, by blocks of rows."""
        total = np.zeros(self.weights.shape[1])
        if isinstance(self.kernel, Precomputed):
            raise InputError(
                "The Gram matrix of the centers is not stored by a precomputed kernel."
            )
        step = max(1, MAX_VALUES // max(1, len(self)))
        for start in range(0, len(self), step):
            rows = np.arange(start, min(start + step, len(self)))
            total += np.einsum(
                "ik,ik->k", self.weights[rows], self._prepared.take(rows) @ self.weights
            )
        return total
