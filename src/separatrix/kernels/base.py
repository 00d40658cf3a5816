"""What a kernel is: κ(x, z) = φ(x)·φ(z), the inner product after a map φ that is never computed.

Any method written in inner products works with any kernel. A kernel is *Mercer* when its Gram
matrices K, Kᵢⱼ = κ(xᵢ, xⱼ), are positive semi-definite for all data: only then does a map φ exist.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError, did_you_mean

if TYPE_CHECKING:
    from separatrix.kernels.algebra import Exponential, Normalized, Product, Scaled, Sum

#: float32 where both sides are float32, float64 otherwise.
Array = NDArray[Any]
#: Rows of a matrix (dense or CSR), or a list of Python objects.
Items = Any
#: Kernel values that are held at a time where only sums of them are wanted.
BLOCK = 1 << 22


@dataclass(frozen=True)
class Parameter:
    """A hyperparameter's value and the range in which a search may move it.

    ``smooth`` parameters have derivatives; the others are whole numbers.
    """

    value: float
    low: float
    high: float
    smooth: bool = True


def hyper(default: float, low: float, high: float, *, smooth: bool = True) -> Any:
    """A dataclass field that is a hyperparameter with its bounds."""
    return field(default=default, metadata={"low": low, "high": high, "smooth": smooth})


class PreparedKernel(ABC):
    """Centers z, with everything about them that is computed once: κ(·, z) row by row."""

    def __init__(self, kernel: Kernel, centers: Items) -> None:
        self.kernel, self.centers = kernel, centers

    def __len__(self) -> int:
        return n_items(self.centers)

    @abstractmethod
    def rows(self, x: Items, out: Array | None = None) -> Array:
        """κ(xᵢ, zⱼ) as a block (len x, len z), written to ``out`` when given."""

    @cached_property
    def diagonal(self) -> Array:
        """κ(zⱼ, zⱼ)."""
        return self.kernel.diagonal(self.centers)

    def take(self, indices: Any, out: Array | None = None) -> Array:
        """The rows κ(z[indices], z) of the Gram matrix of the centers."""
        return self.rows(take_items(self.centers, indices), out)

    def subset(self, indices: Any) -> PreparedKernel:
        """The same for some of the centers."""
        return self.kernel.prepare(take_items(self.centers, indices))

    def times(self, x: Items, weights: Array) -> Array:
        """Σⱼ κ(xᵢ, zⱼ) wⱼ for every column of ``weights`` (len z, k), a block at a time."""
        many = n_items(x)
        sums = np.zeros((many, weights.shape[1]))
        step = max(1, BLOCK // max(1, len(self)))
        for start in range(0, many, step):
            chosen = np.arange(start, min(start + step, many))
            sums[chosen] = self.rows(take_items(x, chosen)) @ weights
        return sums

    def gram(self) -> Array:
        """κ(zᵢ, zⱼ), exactly symmetric, with the exact diagonal."""
        return mirrored(self.take(np.arange(len(self))), self.diagonal)


class Kernel(ABC):
    """A similarity of two items. Kernels add, multiply, scale and exponentiate to kernels.

    Concrete kernels are frozen dataclasses; hyperparameters are fields made by :func:`hyper`.
    Called like a function, ``kernel(x, z)``, a kernel serves as ``kernel=`` in scikit-learn.
    """

    #: Whether items are rows of numbers (else Python objects in a list).
    of_vectors: bool = True

    @property
    def mercer(self) -> bool:
        """Whether every Gram matrix is known to be positive semi-definite."""
        return True

    @abstractmethod
    def prepare(self, z: Items) -> PreparedKernel:
        """The kernel with its second argument fixed to the centers ``z``."""

    @abstractmethod
    def diagonal(self, x: Items) -> Array:
        """κ(xᵢ, xᵢ) for every item: the squared lengths ‖φ(xᵢ)‖²."""

    def gram(self, x: Items, z: Items | None = None) -> Array:
        """κ(xᵢ, zⱼ) for all pairs; exactly symmetric when ``z`` is left out."""
        return self.prepare(x).gram() if z is None or z is x else self.prepare(z).rows(x)

    def __call__(self, x: Items, z: Items | None = None) -> Array:
        """κ(xᵢ, zⱼ) for all pairs."""
        return self.gram(x, z)

    def squared_distance(self, x: Items, z: Items | None = None) -> Array:
        """‖φ(x) − φ(z)‖² = κ(x,x) − 2 κ(x,z) + κ(z,z) for all pairs, never negative."""
        own = z is None or z is x
        square = -2.0 * self.gram(x, z)
        square += self.diagonal(x)[:, None]
        square += self.diagonal(x if own else z)[None, :]
        if own:
            np.fill_diagonal(square, 0.0)
        return np.maximum(square, 0.0, out=square)

    def serializable(self, items: Items) -> Items:
        """Items in a form that can be kept in a file: arrays, or lists of plain Python values."""
        return items

    # -- hyperparameters -----------------------------------------------------------------------

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Every hyperparameter in the expression, from left to right.

        A name that occurs once stands as it is; one that occurs more often is numbered:
        ``bandwidth_1``, ``bandwidth_2``.
        """
        found = self._hyper()
        return dict(zip(_unique([name for name, _ in found]), (p for _, p in found), strict=True))

    def replace(self, **values: float) -> Self:
        """The same expression with other values of the hyperparameters named."""
        known = self.parameters
        for name in values:
            if name not in known:
                raise InputError(
                    f"The kernel {self} has no hyperparameter {name!r}.",
                    remedy=did_you_mean(name, known),
                )
        return self._with([values.get(name, p.value) for name, p in known.items()])

    def gradient(self, x: Items) -> dict[str, Array]:
        """∂K/∂θ of the Gram matrix of ``x`` for every smooth hyperparameter θ."""
        smooth = [name for name, p in self.parameters.items() if p.smooth]
        return dict(zip(smooth, self._slopes(x), strict=True))

    def _children(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of."""
        return ()

    def _own(self) -> list[tuple[str, Parameter]]:
        return [
            (f.name, Parameter(getattr(self, f.name), **f.metadata))
            for f in fields(self)  # type: ignore[arg-type]
            if f.metadata
        ]

    def _hyper(self) -> list[tuple[str, Parameter]]:
        return self._own() + [pair for child in self._children() for pair in child._hyper()]

    def _with(self, values: Sequence[float]) -> Self:
        """A copy with the values of all hyperparameters, in the order of :meth:`_hyper`."""
        own = [name for name, _ in self._own()]
        return replace(self, **dict(zip(own, values, strict=True)))  # type: ignore[type-var]

    def _slopes(self, x: Items) -> list[Array]:
        """∂K/∂θ for the smooth hyperparameters, in the order of :meth:`_hyper`."""
        del x
        if any(p.smooth for _, p in self._hyper()):
            raise NotImplementedError(f"{type(self).__name__} names smooth hyperparameters")
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
        """exp κ(x, z): all powers of κ at once, each weighed by 1/p!."""
        from separatrix.kernels.algebra import Exponential

        return Exponential(self)

    def normalized(self) -> Normalized:
        """κ(x,z) / √(κ(x,x) κ(z,z)): the cosine of the angle between φ(x) and φ(z)."""
        from separatrix.kernels.algebra import Normalized

        return Normalized(self)


def n_items(items: Items) -> int:
    """The number of rows of a matrix, or the length of a list."""
    return int(items.shape[0]) if hasattr(items, "shape") else len(items)


def take_items(items: Items, indices: Any) -> Items:
    """Some of the items, as a matrix or as a list like the one given."""
    if hasattr(items, "shape"):
        return items[indices]
    chosen = np.arange(len(items))[indices]
    return [items[i] for i in np.atleast_1d(chosen)]


def mirrored(square: Array, diagonal: Array) -> Array:
    """The matrix with its lower triangle copied to the upper, in place, block by block."""
    n, step = len(square), 128
    for left in range(0, n, step):
        columns = slice(left, min(left + step, n))
        for top in range(left, n, step):
            reflect(square, slice(top, min(top + step, n)), columns)
    np.fill_diagonal(square, diagonal)
    return square


def reflect(square: Array, rows: slice, columns: slice) -> None:
    """Copy a tile on or below the diagonal to its place above."""
    if rows == columns:
        lower = np.tril(square[rows, rows], -1)
        square[rows, rows] = lower + lower.T
    else:
        square[columns, rows] = square[rows, columns].T


def _unique(names: list[str]) -> list[str]:
    """Names as they are where unique, else numbered in their order."""
    seen: dict[str, int] = {}
    numbered = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        numbered.append(f"{name}_{seen[name]}" if names.count(name) > 1 else name)
    return numbered
