"""Interface of a kernel, κ(x, z) = φ(x)·φ(z): an inner product in a feature space.

The feature map φ is never computed. A kernel is *Mercer* if its Gram matrices K, Kᵢⱼ = κ(xᵢ, xⱼ),
are positive semi-definite for all data; only then does a feature map exist.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from separatrix.messages import InputError, did_you_mean

if TYPE_CHECKING:
    from separatrix.kernels.algebra import Exponential, Normalized, Product, Scaled, Sum

#: float32 where both sides are float32, float64 otherwise.
Array = NDArray[Any]
#: Rows of a matrix (dense or CSR), or a list of Python objects.
Items = Any
#: Kernel values in memory at a time where only sums of them are needed.
MAX_VALUES = 1 << 22


@dataclass(frozen=True)
class Hyperparameter:
    """Value and bounds of a hyperparameter; continuous ones have derivatives, others integers."""

    value: float
    low: float
    high: float
    continuous: bool = True


def hyperparameter(default: float, low: float, high: float, *, continuous: bool = True) -> Any:
    """A dataclass field for a hyperparameter, with its bounds."""
    return field(default=default, metadata={"low": low, "high": high, "continuous": continuous})


def check_integer(value: float, what: str, low: int) -> None:
    """Refuse anything but an integer of at least ``low``, 0 or 1."""
    if value != int(value) or value < low:
        remedy = "Give a positive integer." if low else "Give an integer, 0 or more."
        raise InputError(f"{what} is {value!r}.", remedy=remedy)


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


class Kernel(ABC):
    """A kernel function κ(x, z); sums, products, multiples and exponentials are kernels again.

    Concrete kernels are frozen dataclasses; hyperparameters are fields declared by
    :func:`hyperparameter`. ``kernel(x, z)`` makes every kernel a ``kernel=`` of scikit-learn.
    """

    #: Whether items are rows of numbers (else Python objects in a list).
    of_vectors: bool = True

    @property
    def mercer(self) -> bool:
        """Whether every Gram matrix is known to be positive semi-definite."""
        return True

    @abstractmethod
    def prepare(self, z: Items) -> PreparedKernel:
        """The kernel with its second argument fixed to the centers z."""

    @abstractmethod
    def diagonal(self, x: Items) -> Array:
        """κ(xᵢ, xᵢ) = ‖φ(xᵢ)‖² for every item."""

    def gram(self, x: Items, z: Items | None = None) -> Array:
        """The matrix κ(xᵢ, zⱼ); without ``z`` the Gram matrix of x, exactly symmetric."""
        return self.prepare(x).gram() if z is None or z is x else self.prepare(z).rows(x)

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

    # -- hyperparameters -----------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Hyperparameter]:
        """All hyperparameters of the expression, from left to right.

        A name that occurs more than once is numbered: ``bandwidth_1``, ``bandwidth_2``.
        """
        found = self._hyperparameters()
        return dict(zip(_unique([name for name, _ in found]), (p for _, p in found), strict=True))

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

    def gradient(self, x: Items) -> dict[str, Array]:
        """∂K/∂θ of the Gram matrix of ``x`` for every continuous hyperparameter θ."""
        names = [name for name, p in self.parameters.items() if p.continuous]
        return dict(zip(names, self._derivatives(x), strict=True))

    @property
    def theta(self) -> Array:
        """The continuous hyperparameters as a vector: logarithms of those that are positive."""
        return np.array(
            [np.log(p.value) if p.low > 0.0 else p.value for p in self._continuous()], dtype=float
        )

    def with_theta(self, theta: Array) -> Self:
        """A copy of the expression with other continuous hyperparameters, see :attr:`theta`."""
        found, left = [], iter(np.asarray(theta, dtype=float).tolist())
        for _, p in self._hyperparameters():
            if not p.continuous:
                found.append(p.value)
            else:
                value = next(left)
                found.append(float(np.exp(value)) if p.low > 0.0 else value)
        return self._with_values(found)

    def gradient_sums(self, x: Items, q: Array, z: Items | None = None) -> Array:
        """Σᵢⱼ qᵢⱼ ∂κ(xᵢ, zⱼ)/∂θ for every entry of :attr:`theta`; without ``z`` of the Gram matrix.

        Derivatives of an objective of kernel values, from its derivatives q by those values.
        """
        n = n_items(x)
        if z is None:
            found = self._derivatives(x)
        else:
            found = [one[:n, n:] for one in self._derivatives(join_items(x, z))]
        return self._per_theta([float(np.vdot(q, one)) for one in found])

    def diagonal_gradient_sums(self, x: Items, q: Array) -> Array:
        """Σᵢ qᵢ ∂κ(xᵢ, xᵢ)/∂θ for every entry of :attr:`theta`."""
        return self._per_theta([float(q @ np.diagonal(one)) for one in self._derivatives(x)])

    def _continuous(self) -> list[Hyperparameter]:
        return [p for _, p in self._hyperparameters() if p.continuous]

    def _per_theta(self, sums: list[float]) -> Array:
        """Derivatives by values as derivatives by :attr:`theta`: ∂/∂log v = v ∂/∂v."""
        factors = [p.value if p.low > 0.0 else 1.0 for p in self._continuous()]
        return np.asarray(np.array(sums, dtype=float) * factors)

    def _children(self) -> tuple[Kernel, ...]:
        """The operands of a composite kernel."""
        return ()

    def _own_hyperparameters(self) -> list[tuple[str, Hyperparameter]]:
        return [
            (f.name, Hyperparameter(getattr(self, f.name), **f.metadata))
            for f in fields(self)  # type: ignore[arg-type]
            if f.metadata
        ]

    def _hyperparameters(self) -> list[tuple[str, Hyperparameter]]:
        return self._own_hyperparameters() + [
            pair for child in self._children() for pair in child._hyperparameters()
        ]

    def _with_values(self, values: Sequence[float]) -> Self:
        """A copy with these hyperparameters, in the order of :meth:`_hyperparameters`."""
        own = [name for name, _ in self._own_hyperparameters()]
        return replace(self, **dict(zip(own, values, strict=True)))  # type: ignore[type-var]

    def _derivatives(self, x: Items) -> list[Array]:
        """∂K/∂θ of the continuous hyperparameters, in the order of :meth:`_hyperparameters`."""
        del x
        if any(p.continuous for _, p in self._hyperparameters()):
            raise NotImplementedError(
                f"{type(self).__name__} lacks derivatives of its hyperparameters"
            )
        return []

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

    def exp(self) -> Exponential:
        """The kernel exp κ(x, z)."""
        from separatrix.kernels.algebra import Exponential

        return Exponential(self)

    def normalized(self) -> Normalized:
        """The kernel κ(x, z) / √(κ(x, x) κ(z, z)), the cosine in feature space."""
        from separatrix.kernels.algebra import Normalized

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
    """Copy the lower triangle to the upper in place, tile by tile, and set the diagonal."""
    n, step = len(square), 128
    for left in range(0, n, step):
        columns = slice(left, min(left + step, n))
        lower = np.tril(square[columns, columns], -1)
        square[columns, columns] = lower + lower.T
        for top in range(left + step, n, step):
            rows = slice(top, min(top + step, n))
            square[columns, rows] = square[rows, columns].T
    np.fill_diagonal(square, diagonal)
    return square


def _unique(names: list[str]) -> list[str]:
    """Repeated names numbered in their order, others unchanged."""
    seen: dict[str, int] = {}
    numbered = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        numbered.append(f"{name}_{seen[name]}" if names.count(name) > 1 else name)
    return numbered
