"""Composite kernels: sums, products, multiples, exponentials and cosines.

Each is Mercer if its operands are. The feature map of κ₁ + κ₂ is the concatenation, that of κ₁κ₂
the tensor product of those of the operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import ClassVar, Self

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
        return PreparedComposite(self, z, [child.prepare(z) for child in self._children()])

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
        return type(self)(*children, *own)

    def _with_values(self, values: Sequence[float]) -> Self:
        left = len(self._own_hyperparameters())
        own, children = values[:left], []
        for child in self._children():
            right = left + len(child._hyperparameters())
            children.append(child._with_values(values[left:right]))
            left = right
        return self._with_children(own, tuple(children))


@dataclass(frozen=True)
class Associative(Composite):
    """An associative operation on any number of operands."""

    operands: tuple[Kernel, ...]
    operation: ClassVar[np.ufunc]

    @classmethod
    def of(cls, *kernels: Kernel) -> Self:
        """The operation on these kernels, with nested ones flattened."""
        return cls(tuple(o for k in kernels for o in (k.operands if isinstance(k, cls) else (k,))))

    def _children(self) -> tuple[Kernel, ...]:
        return self.operands

    def _combine(self, entries: list[Array]) -> Array:
        return reduce(self.operation, entries)

    def _with_children(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del own
        return type(self)(children)


@dataclass(frozen=True)
class Sum(Associative):
    """The sum κ₁ + κ₂ + …"""

    operation: ClassVar[np.ufunc] = np.add

    def _derivatives(self, x: Items) -> list[Array]:
        return [derivative for term in self.operands for derivative in term._derivatives(x)]


@dataclass(frozen=True)
class Product(Associative):
    """The product κ₁ · κ₂ · …"""

    operation: ClassVar[np.ufunc] = np.multiply

    def _derivatives(self, x: Items) -> list[Array]:
        grams = [factor.gram(x) for factor in self.operands]
        derivatives = []
        for i, factor in enumerate(self.operands):
            others = reduce(np.multiply, grams[:i] + grams[i + 1 :], np.ones_like(grams[i]))
            derivatives += [derivative * others for derivative in factor._derivatives(x)]
        return derivatives


@dataclass(frozen=True)
class Unary(Composite):
    """A function of one kernel."""

    kernel: Kernel

    def _children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)


@dataclass(frozen=True)
class Scaled(Unary):
    """The multiple factor · κ."""

    factor: float = hyperparameter(1.0, 1e-5, 1e5)

    @property
    def mercer(self) -> bool:
        """Whether the factor is not negative and the operand is."""
        return self.factor >= 0.0 and self.kernel.mercer

    def _combine(self, entries: list[Array]) -> Array:
        return np.asarray(entries[0] * entries[0].dtype.type(self.factor))

    def _derivatives(self, x: Items) -> list[Array]:
        return [self.kernel.gram(x)] + [
            self.factor * derivative for derivative in self.kernel._derivatives(x)
        ]


@dataclass(frozen=True)
class Exponential(Unary):
    """The exponential exp κ."""

    def _combine(self, entries: list[Array]) -> Array:
        return np.asarray(np.exp(entries[0]))

    def _derivatives(self, x: Items) -> list[Array]:
        entries = self.gram(x)
        return [entries * derivative for derivative in self.kernel._derivatives(x)]


@dataclass(frozen=True)
class Normalized(Unary):
    """The cosine in feature space, κ(x, z) / √(κ(x, x) κ(z, z)).

    It is zero for items without features (φ = 0, an empty string for example), also with itself.
    """

    def prepare(self, z: Items) -> PreparedKernel:
        """The operand prepared, with 1/‖φ(z)‖."""
        return PreparedNormalized(self, z, self.kernel.prepare(z))

    def diagonal(self, x: Items) -> Array:
        """One; zero for items without features."""
        squares = self.kernel.diagonal(x)
        return (squares > 0.0).astype(squares.dtype)

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

    kernel: Composite

    def __init__(self, kernel: Composite, centers: Items, operands: list[PreparedKernel]) -> None:
        super().__init__(kernel, centers)
        self._operands = operands

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Combined rows of the operands."""
        return copy_to(self.kernel._combine([operand.rows(x) for operand in self._operands]), out)

    def take(self, indices: Items, out: Array | None = None) -> Array:
        """Combined rows of the operands' Gram matrices."""
        return copy_to(
            self.kernel._combine([operand.take(indices) for operand in self._operands]), out
        )

    def subset(self, indices: Items) -> PreparedKernel:
        """Every operand prepared for some of the centers."""
        operands = [operand.subset(indices) for operand in self._operands]
        centers = take_items(self.centers, indices)
        return PreparedComposite(self.kernel, centers, operands)

    def gram(self, out: Array | None = None) -> Array:
        """Symmetric, because every operand is."""
        return copy_to(self.kernel._combine([operand.gram() for operand in self._operands]), out)


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

    def gram(self, out: Array | None = None) -> Array:
        """All cosines among the centers, with the exact diagonal."""
        out = self._divide(self._operand.gram(out), self._inverse)
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
