"""Kernels made of kernels: sums, products, multiples, exponentials and cosines of Mercer kernels

are Mercer again. κ₁ + κ₂ joins two feature maps side by side, κ₁κ₂ multiplies every feature of one
with every feature of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Self

import numpy as np

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel, hyper, take_items
from separatrix.messages import InputError


class Composite(Kernel):
    """A kernel whose entries are computed from the entries of others."""

    def __post_init__(self) -> None:
        for first, second in pairwise(self._children()):
            if first.of_vectors != second.of_vectors:
                raise InputError(
                    f"{first} compares {_kind(first)}, {second} compares {_kind(second)}.",
                    remedy="Kernels that are joined must compare the same kind of items.",
                )
        object.__setattr__(self, "of_vectors", self._children()[0].of_vectors)

    @property
    def mercer(self) -> bool:
        """When all that it is made of are."""
        return all(child.mercer for child in self._children())

    def prepare(self, z: Items) -> PreparedKernel:
        """Every part with its own preparation of the centers."""
        return Combined(self, z, [child.prepare(z) for child in self._children()], self._combine)

    def diagonal(self, x: Items) -> Array:
        """Combined from the parts' diagonals."""
        return self._combine([child.diagonal(x) for child in self._children()])

    def serializable(self, items: Items) -> Items:
        """As the first of the parts keeps them."""
        return self._children()[0].serializable(items)

    def _combine(self, entries: list[Array]) -> Array:
        """The entries of this kernel from its parts', which it may overwrite."""
        raise NotImplementedError(type(self).__name__)

    def _rebuilt(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        """The same operation on other parts."""
        raise NotImplementedError(type(self).__name__)

    def _with(self, values: Sequence[float]) -> Self:
        left = len(self._own())
        own, parts = values[:left], []
        for child in self._children():
            right = left + len(child._hyper())
            parts.append(child._with(values[left:right]))
            left = right
        return self._rebuilt(own, tuple(parts))


@dataclass(frozen=True)
class Sum(Composite):
    """κ₁ + κ₂ + …"""

    terms: tuple[Kernel, ...]

    @classmethod
    def of(cls, *kernels: Kernel) -> Sum:
        """A sum in which sums are dissolved."""
        return cls(tuple(t for k in kernels for t in (k.terms if isinstance(k, Sum) else (k,))))

    def _children(self) -> tuple[Kernel, ...]:
        return self.terms

    def _combine(self, entries: list[Array]) -> Array:
        return reduce(np.add, entries)

    def _rebuilt(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del own
        return type(self)(children)

    def _slopes(self, x: Items) -> list[Array]:
        return [slope for term in self.terms for slope in term._slopes(x)]


@dataclass(frozen=True)
class Product(Composite):
    """κ₁ · κ₂ · …"""

    factors: tuple[Kernel, ...]

    @classmethod
    def of(cls, *kernels: Kernel) -> Product:
        """A product in which products are dissolved."""
        return cls(
            tuple(f for k in kernels for f in (k.factors if isinstance(k, Product) else (k,)))
        )

    def _children(self) -> tuple[Kernel, ...]:
        return self.factors

    def _combine(self, entries: list[Array]) -> Array:
        return reduce(np.multiply, entries)

    def _rebuilt(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del own
        return type(self)(children)

    def _slopes(self, x: Items) -> list[Array]:
        grams = [factor.gram(x) for factor in self.factors]
        slopes = []
        for i, factor in enumerate(self.factors):
            others = reduce(np.multiply, grams[:i] + grams[i + 1 :], np.ones_like(grams[i]))
            slopes += [slope * others for slope in factor._slopes(x)]
        return slopes


@dataclass(frozen=True)
class Scaled(Composite):
    """factor · κ."""

    kernel: Kernel
    factor: float = hyper(1.0, 1e-5, 1e5)

    @property
    def mercer(self) -> bool:
        """With a factor that is not negative."""
        return self.factor >= 0.0 and self.kernel.mercer

    def _children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def _combine(self, entries: list[Array]) -> Array:
        return np.asarray(entries[0] * entries[0].dtype.type(self.factor))

    def _rebuilt(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        return type(self)(children[0], own[0])

    def _slopes(self, x: Items) -> list[Array]:
        return [self.kernel.gram(x)] + [self.factor * slope for slope in self.kernel._slopes(x)]


@dataclass(frozen=True)
class Exponential(Composite):
    """exp κ."""

    kernel: Kernel

    def _children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def _combine(self, entries: list[Array]) -> Array:
        return np.asarray(np.exp(entries[0]))

    def _rebuilt(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del own
        return type(self)(children[0])

    def _slopes(self, x: Items) -> list[Array]:
        entries = self.gram(x)
        return [entries * slope for slope in self.kernel._slopes(x)]


@dataclass(frozen=True)
class Normalized(Composite):
    """κ(x,z) / √(κ(x,x) κ(z,z)): only directions φ count, not their lengths.

    An item without features (φ = 0: an empty string, say) is like nothing, itself included.
    """

    kernel: Kernel

    def _children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def prepare(self, z: Items) -> PreparedKernel:
        """Centers with their lengths."""
        return NormalizedRows(self, z)

    def diagonal(self, x: Items) -> Array:
        """One; zero for items without features."""
        inner = self.kernel.diagonal(x)
        return (inner > 0.0).astype(inner.dtype)

    def _rebuilt(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del own
        return type(self)(children[0])

    def _slopes(self, x: Items) -> list[Array]:
        cosine, inverse = self.gram(x), _inverse_lengths(self.kernel.diagonal(x))
        slopes = []
        for slope in self.kernel._slopes(x):
            own = 0.5 * np.diagonal(slope) * inverse**2
            across = slope * inverse[:, None] * inverse[None, :]
            slopes.append(across - cosine * (own[:, None] + own[None, :]))
        return slopes


class Combined(PreparedKernel):
    """The centers of several kernels side by side."""

    def __init__(
        self,
        kernel: Kernel,
        centers: Items,
        parts: list[PreparedKernel],
        combine: Callable[[list[Array]], Array],
    ) -> None:
        super().__init__(kernel, centers)
        self._parts, self._combine = parts, combine

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """The parts' rows, combined."""
        return _into(self._combine([part.rows(x) for part in self._parts]), out)

    def take(self, indices: Items, out: Array | None = None) -> Array:
        """The parts' own rows, combined."""
        return _into(self._combine([part.take(indices) for part in self._parts]), out)

    def subset(self, indices: Items) -> PreparedKernel:
        """Every part on the chosen centers."""
        parts = [part.subset(indices) for part in self._parts]
        return Combined(self.kernel, take_items(self.centers, indices), parts, self._combine)

    def gram(self) -> Array:
        """Symmetric, because every part is."""
        return self._combine([part.gram() for part in self._parts])


class NormalizedRows(PreparedKernel):
    """Centers z with 1/‖φ(z)‖."""

    def __init__(self, kernel: Normalized, centers: Items) -> None:
        super().__init__(kernel, centers)
        self._inner = kernel.kernel.prepare(centers)
        self._inverse = _inverse_lengths(self._inner.diagonal)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Cosines between x and the centers."""
        out = self._inner.rows(x, out)
        kernel: Normalized = self.kernel  # type: ignore[assignment]
        return self._divide(out, _inverse_lengths(kernel.kernel.diagonal(x)))

    def take(self, indices: Items, out: Array | None = None) -> Array:
        """Cosines between centers."""
        return self._divide(self._inner.take(indices, out), self._inverse[indices])

    def gram(self) -> Array:
        """All cosines, with the exact diagonal."""
        out = self._divide(self._inner.gram(), self._inverse)
        np.fill_diagonal(out, self.diagonal)
        return out

    def _divide(self, out: Array, inverse: Array) -> Array:
        out *= inverse[:, None] * self._inverse[None, :]
        return out


def _into(block: Array, out: Array | None) -> Array:
    if out is None:
        return block
    out[...] = block
    return out


def _inverse_lengths(squares: Array) -> Array:
    """1/√s, and 0 where s = 0."""
    positive = squares > 0.0
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, squares, 1.0)), 0.0).astype(
        squares.dtype, copy=False
    )


def _kind(kernel: Kernel) -> str:
    return "rows of numbers" if kernel.of_vectors else "Python objects"
