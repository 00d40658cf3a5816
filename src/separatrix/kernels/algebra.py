"""Composite kernels: sums, products, multiples, exponentials and cosines.

Each is Mercer if its operands are. The feature map of κ₁ + κ₂ is the concatenation, that of κ₁κ₂
the tensor product of those of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Self

import numpy as np

from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel, hyperparameter, take_items
from separatrix.kernels.tiles import copy_to
from separatrix.messages import InputError


class Composite(Kernel):
    """A kernel computed entrywise from other kernels."""

    def __post_init__(self) -> None:
        for first, second in pairwise(self._children()):
            if first.of_vectors != second.of_vectors:
                raise InputError(
                    f"{first} compares {_kind(first)}, {second} compares {_kind(second)}.",
                    remedy="Operands of a composite kernel must compare the same kind of items.",
                )
        object.__setattr__(self, "of_vectors", self._children()[0].of_vectors)

    @property
    def mercer(self) -> bool:
        """Whether all operands are."""
        return all(child.mercer for child in self._children())

    def prepare(self, z: Items) -> PreparedKernel:
        """All operands prepared."""
        return PreparedComposite(
            self, z, [child.prepare(z) for child in self._children()], self._combine
        )

    def diagonal(self, x: Items) -> Array:
        """From the diagonals of the operands."""
        return self._combine([child.diagonal(x) for child in self._children()])

    def serializable(self, items: Items) -> Items:
        """As the first operand stores them."""
        return self._children()[0].serializable(items)

    def _combine(self, entries: list[Array]) -> Array:
        """Kernel values from those of the operands, which may be overwritten."""
        raise NotImplementedError(type(self).__name__)

    def _with_children(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        """The same operation on other operands."""
        raise NotImplementedError(type(self).__name__)

    def _with_values(self, values: Sequence[float]) -> Self:
        left = len(self._own_hyperparameters())
        own, children = values[:left], []
        for child in self._children():
            right = left + len(child._hyperparameters())
            children.append(child._with_values(values[left:right]))
            left = right
        return self._with_children(own, tuple(children))


@dataclass(frozen=True)
class Sum(Composite):
    """The sum κ₁ + κ₂ + …"""

    terms: tuple[Kernel, ...]

    @classmethod
    def of(cls, *kernels: Kernel) -> Sum:
        """The sum, with nested sums flattened."""
        return cls(tuple(t for k in kernels for t in (k.terms if isinstance(k, Sum) else (k,))))

    def _children(self) -> tuple[Kernel, ...]:
        return self.terms

    def _combine(self, entries: list[Array]) -> Array:
        return reduce(np.add, entries)

    def _with_children(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del own
        return type(self)(children)

    def _derivatives(self, x: Items) -> list[Array]:
        return [derivative for term in self.terms for derivative in term._derivatives(x)]


@dataclass(frozen=True)
class Product(Composite):
    """The product κ₁ · κ₂ · …"""

    factors: tuple[Kernel, ...]

    @classmethod
    def of(cls, *kernels: Kernel) -> Product:
        """The product, with nested products flattened."""
        return cls(
            tuple(f for k in kernels for f in (k.factors if isinstance(k, Product) else (k,)))
        )

    def _children(self) -> tuple[Kernel, ...]:
        return self.factors

    def _combine(self, entries: list[Array]) -> Array:
        return reduce(np.multiply, entries)

    def _with_children(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del own
        return type(self)(children)

    def _derivatives(self, x: Items) -> list[Array]:
        grams = [factor.gram(x) for factor in self.factors]
        derivatives = []
        for i, factor in enumerate(self.factors):
            others = reduce(np.multiply, grams[:i] + grams[i + 1 :], np.ones_like(grams[i]))
            derivatives += [derivative * others for derivative in factor._derivatives(x)]
        return derivatives


@dataclass(frozen=True)
class Scaled(Composite):
    """The multiple factor · κ."""

    kernel: Kernel
    factor: float = hyperparameter(1.0, 1e-5, 1e5)

    @property
    def mercer(self) -> bool:
        """Whether the factor is not negative and the operand is."""
        return self.factor >= 0.0 and self.kernel.mercer

    def _children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def _combine(self, entries: list[Array]) -> Array:
        return np.asarray(entries[0] * entries[0].dtype.type(self.factor))

    def _with_children(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        return type(self)(children[0], own[0])

    def _derivatives(self, x: Items) -> list[Array]:
        return [self.kernel.gram(x)] + [
            self.factor * derivative for derivative in self.kernel._derivatives(x)
        ]


@dataclass(frozen=True)
class Exponential(Composite):
    """The exponential exp κ."""

    kernel: Kernel

    def _children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def _combine(self, entries: list[Array]) -> Array:
        return np.asarray(np.exp(entries[0]))

    def _with_children(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del own
        return type(self)(children[0])

    def _derivatives(self, x: Items) -> list[Array]:
        entries = self.gram(x)
        return [entries * derivative for derivative in self.kernel._derivatives(x)]


@dataclass(frozen=True)
class Normalized(Composite):
    """The cosine in feature space, κ(x, z) / √(κ(x, x) κ(z, z)).

    It is zero for items without features (φ = 0, an empty string for example), also with itself.
    """

    kernel: Kernel

    def _children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def prepare(self, z: Items) -> PreparedKernel:
        """The operand prepared, with 1/‖φ(z)‖."""
        return PreparedNormalized(self, z, self.kernel.prepare(z))

    def diagonal(self, x: Items) -> Array:
        """One; zero for items without features."""
        squares = self.kernel.diagonal(x)
        return (squares > 0.0).astype(squares.dtype)

    def _with_children(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del own
        return type(self)(children[0])

    def _derivatives(self, x: Items) -> list[Array]:
        cosine, inverse = self.gram(x), _inverse_norms(self.kernel.diagonal(x))
        derivatives = []
        for derivative in self.kernel._derivatives(x):
            norms = 0.5 * np.diagonal(derivative) * inverse**2
            products = derivative * inverse[:, None] * inverse[None, :]
            derivatives.append(products - cosine * (norms[:, None] + norms[None, :]))
        return derivatives


class PreparedComposite(PreparedKernel):
    """The prepared operands of a composite kernel."""

    def __init__(
        self,
        kernel: Kernel,
        centers: Items,
        operands: list[PreparedKernel],
        combine: Callable[[list[Array]], Array],
    ) -> None:
        super().__init__(kernel, centers)
        self._operands, self._combine = operands, combine

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Combined rows of the operands."""
        return copy_to(self._combine([operand.rows(x) for operand in self._operands]), out)

    def take(self, indices: Items, out: Array | None = None) -> Array:
        """Combined rows of the operands' Gram matrices."""
        return copy_to(self._combine([operand.take(indices) for operand in self._operands]), out)

    def subset(self, indices: Items) -> PreparedKernel:
        """Every operand prepared for some of the centers."""
        operands = [operand.subset(indices) for operand in self._operands]
        centers = take_items(self.centers, indices)
        return PreparedComposite(self.kernel, centers, operands, self._combine)

    def gram(self) -> Array:
        """Symmetric, because every operand is."""
        return self._combine([operand.gram() for operand in self._operands])


class PreparedNormalized(PreparedKernel):
    """The prepared operand, with 1/‖φ(z)‖ of the centers."""

    def __init__(self, kernel: Kernel, centers: Items, operand: PreparedKernel) -> None:
        super().__init__(kernel, centers)
        self._operand, self._inverse = operand, _inverse_norms(operand.diagonal)

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Cosines between x and the centers."""
        inverse = _inverse_norms(self._operand.kernel.diagonal(x))
        return self._divide(self._operand.rows(x, out), inverse)

    def take(self, indices: Items, out: Array | None = None) -> Array:
        """Cosines between centers."""
        return self._divide(self._operand.take(indices, out), self._inverse[indices])

    def subset(self, indices: Items) -> PreparedKernel:
        """The operand prepared for some of the centers."""
        operand, centers = self._operand.subset(indices), take_items(self.centers, indices)
        return PreparedNormalized(self.kernel, centers, operand)

    def gram(self) -> Array:
        """All cosines among the centers, with the exact diagonal."""
        out = self._divide(self._operand.gram(), self._inverse)
        np.fill_diagonal(out, self.diagonal)
        return out

    def _divide(self, out: Array, inverse: Array) -> Array:
        out *= inverse[:, None] * self._inverse[None, :]
        return out


def _inverse_norms(squares: Array) -> Array:
    """1/√s, and 0 where s = 0."""
    positive = squares > 0.0
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, squares, 1.0)), 0.0).astype(
        squares.dtype, copy=False
    )


def _kind(kernel: Kernel) -> str:
    return "rows of numbers" if kernel.of_vectors else "Python objects"
