"""Composite kernels: sums, products, multiples, powers and exponentials.

Each is Mercer if its operands are. The feature map of κ₁ + κ₂ is the concatenation, that of κ₁κ₂
the tensor product of those of the operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.kernels.base import (
    Array,
    CompositePairs,
    Items,
    Kernel,
    KernelPairs,
    PairTile,
    PreparedKernel,
    are_dense_doubles,
    as_matrix,
    check_positive,
    common_matrices,
    copy_to,
    hyperparameter,
    pair_values,
    weighted_sums,
)
from separatrix.kernels.stationary import Constant
from separatrix.messages import InputError
from separatrix.rows.schema import n_items, take_items


class Composite(Kernel):
    """A kernel computed entrywise from other kernels."""

    def __post_init__(self) -> None:
        particular = self._particular()
        for first, second in pairwise(particular):
            if first.of_vectors != second.of_vectors:
                raise InputError(
                    f"{first} compares {_kind(first)}, {second} compares {_kind(second)}.",
                    remedy="Operands of a composite kernel must compare the same kind of items.",
                )
        object.__setattr__(self, "of_vectors", not particular or particular[0].of_vectors)
        object.__setattr__(self, "of_anything", not particular)
        by_tiles = all(child.by_tiles for child in self._children())
        object.__setattr__(self, "by_tiles", by_tiles and self.of_vectors)

    def _particular(self) -> list[Kernel]:
        """The operands that compare one kind of items only."""
        return [child for child in self._children() if not child.of_anything]

    def _group_factors(self) -> list[str]:
        """The operands as text, sums in parentheses."""
        return [
            f"({factor})" if isinstance(factor, Sum) else str(factor) for factor in self._children()
        ]

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
        """As the first operand that knows them stores them."""
        return (self._particular() or self._children())[0].serializable(items)

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """Those of the operands."""
        z = None if z is x else z
        return CompositePairs(self, [child.pairs(x, z) for child in self._children()])

    def diagonal_derivatives(self, x: Items) -> Array:
        """By the chain rule, from those of the operands."""
        children = self._children()
        entries = [np.asarray(child.diagonal(x), dtype=float) for child in children]
        derivatives = zip(self._own_factors(), self._own_derivatives(entries), strict=True)
        columns = [factor * derivative[:, None] for factor, derivative in derivatives]
        for child, by in zip(children, self._partials(entries), strict=True):
            array = child.diagonal_derivatives(x)
            columns.append(array if by is None else array * np.reshape(by, (-1, 1)))
        return np.concatenate(columns, axis=1)

    def _combine(self, entries: list[Array]) -> Array:
        """Kernel values from those of the operands, which may be overwritten."""
        raise NotImplementedError(type(self).__name__)

    def _partials(self, entries: Sequence[Array]) -> list[Any]:
        """∂κ/∂κ′ of every operand κ′ from all values: an array, a number, or None for 1."""
        raise NotImplementedError(type(self).__name__)

    def _own_derivatives(self, entries: Sequence[Array]) -> list[Array]:
        """Derivatives by the values of the operation's own hyperparameters."""
        del entries
        return []

    def _own_factors(self) -> list[float]:
        """What turns those into derivatives by θ."""
        values = [p for _, p in self._own_hyperparameters() if p.continuous]
        return [p.value if p.positive else 1.0 for p in values]

    def _derivatives(self, x: Items) -> list[Array]:
        entries = [np.asarray(child.gram(x)) for child in self._children()]
        derivatives = list(self._own_derivatives(entries))
        for child, by in zip(self._children(), self._partials(entries), strict=True):
            derivatives += [
                derivative if by is None else derivative * by
                for derivative in child._derivatives(x)
            ]
        return derivatives

    def _with_children(self, values: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        """The same operation on other operands."""
        return type(self)(*children, *values)

    def _with_values(self, values: Sequence[float]) -> Self:
        left = len(self._own_hyperparameters())
        values_here, children = values[:left], []
        for child in self._children():
            right = left + len(child._hyperparameters())
            children.append(child._with_values(values[left:right]))
            left = right
        return self._with_children(values_here, tuple(children))


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
        largest = max(entries, key=np.size)
        if any(entry.dtype != largest.dtype for entry in entries):
            return reduce(self.operation, entries)
        for entry in entries:  # in place: memory costs more than arithmetic
            if entry is not largest and not (
                entry.size == 1 and entry.item() == self.operation.identity
            ):
                self.operation(largest, entry, out=largest)
        return largest

    def _with_children(self, values: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del values
        return type(self)(children)


@dataclass(frozen=True)
class Sum(Associative):
    """The sum κ₁ + κ₂ + …"""

    operation: ClassVar[np.ufunc] = np.add

    def __str__(self) -> str:
        return " + ".join(map(str, self.operands))

    def _noiseless(self) -> Kernel | None:
        terms = [term._noiseless() for term in self.operands]
        left = tuple(term for term in terms if term is not None)
        if all(a is b for a, b in zip(terms, self.operands, strict=True)):
            return self
        return Sum(left) if len(left) > 1 else next(iter(left), None)

    def _partials(self, entries: Sequence[Array]) -> list[Any]:
        return [None] * len(entries)


@dataclass(frozen=True)
class Product(Associative):
    """The product κ₁ · κ₂ · …"""

    operation: ClassVar[np.ufunc] = np.multiply

    def __str__(self) -> str:
        return " * ".join(self._group_factors())

    def _noiseless(self) -> Kernel | None:
        factors = [factor._noiseless() for factor in self.operands]
        left = tuple(factor for factor in factors if factor is not None)
        if all(a is b for a, b in zip(factors, self.operands, strict=True)):
            return self
        return Product(left) if len(left) == len(factors) else None

    def _partials(self, entries: Sequence[Array]) -> list[Any]:
        if len(entries) == 1:
            return [None]
        count = range(len(entries))
        return [reduce(np.multiply, [*entries[:i], *entries[i + 1 :]]) for i in count]


@dataclass(frozen=True)
class Unary(Composite):
    """A function of one kernel."""

    kernel: Kernel

    def _children(self) -> tuple[Kernel, ...]:
        return (self.kernel,)

    def _noiseless(self) -> Kernel | None:
        kernel = self.kernel._noiseless()
        return self if kernel is self.kernel else self._applied_to(kernel)

    def _applied_to(self, noiseless: Kernel | None) -> Kernel | None:
        """The function of the kernel without noise; zero stays zero."""
        values = [p.value for _, p in self._own_hyperparameters()]
        return None if noiseless is None else self._with_children(values, (noiseless,))


@dataclass(frozen=True)
class Scaled(Unary):
    """The multiple factor · κ."""

    factor: float = hyperparameter(1.0, 1e-5, 1e5)

    def __str__(self) -> str:
        return f"{self.factor:g} * {self._group_factors()[0]}"

    @property
    def mercer(self) -> bool:
        """Whether the factor is not negative and the operand is."""
        return self.factor >= 0.0 and self.kernel.mercer

    def _combine(self, entries: list[Array]) -> Array:
        return np.asarray(entries[0] * entries[0].dtype.type(self.factor))

    def _partials(self, _: Sequence[Array]) -> list[Any]:
        return [self.factor]

    def _own_derivatives(self, entries: Sequence[Array]) -> list[Array]:
        return [entries[0]]


@dataclass(frozen=True)
class Exponential(Unary):
    """The exponential exp κ."""

    def __str__(self) -> str:
        return f"exp({self.kernel})"

    def _applied_to(self, noiseless: Kernel | None) -> Kernel | None:
        return Constant(1.0) if noiseless is None else Exponential(noiseless)

    def _combine(self, entries: list[Array]) -> Array:
        return np.asarray(np.exp(entries[0]))

    def _partials(self, entries: Sequence[Array]) -> list[Any]:
        return [np.exp(entries[0])]


@dataclass(frozen=True)
class Power(Unary):
    """The power κ^p; Mercer for whole p, and p itself is not learned."""

    exponent: float = 2.0

    def __str__(self) -> str:
        return f"({self.kernel}) ** {self.exponent:g}"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(self.exponent, "The exponent of a kernel")

    @property
    def mercer(self) -> bool:
        """Whether the exponent is a whole number and the operand is Mercer."""
        return float(self.exponent).is_integer() and self.kernel.mercer

    def _combine(self, entries: list[Array]) -> Array:
        return np.asarray(entries[0] ** entries[0].dtype.type(self.exponent))

    def _partials(self, entries: Sequence[Array]) -> list[Any]:
        return [self.exponent * entries[0] ** (self.exponent - 1.0)]

    def _with_children(self, values: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del values
        return type(self)(children[0], self.exponent)


class PreparedComposite(PreparedKernel):
    """The prepared operands of a composite kernel."""

    kernel: Composite

    def __init__(self, kernel: Composite, centers: Items, operands: list[PreparedKernel]) -> None:
        super().__init__(kernel, centers)
        self._operands = operands

    def _between(self, x: Items) -> KernelPairs | None:
        """Rows with the centers in double precision, where tiles are combined in the cache."""
        if not (self.kernel.by_tiles and are_dense_doubles(x, self.centers)):
            return None
        x, z = common_matrices(x, self.centers)
        return self.kernel.pairs(x, z[:])

    def rows(self, x: Items, out: Array | None = None) -> Array:
        """Combined rows of the operands."""
        pairs = self._between(x)
        if pairs is not None:
            return pair_values(pairs, out)
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

    def dot(self, x: Items, weights: Array) -> Array:
        """Weighted sums over tiles, where the kernel is computed by tiles."""
        pairs = self._between(x)
        if pairs is None:
            return super().dot(x, weights)

        def compute(rows: slice, columns: slice, tile: Array) -> None:
            tile[...] = pairs.values(rows, columns)

        return weighted_sums(compute, weights, np.asarray(as_matrix(x), dtype=float))

    def gram(self, out: Array | None = None) -> Array:
        """Symmetric, because every operand is; no operand has a matrix of its own."""
        if self.kernel.by_tiles and are_dense_doubles(self.centers, None):
            return pair_values(self.kernel.pairs(self.centers), out)
        return copy_to(self.kernel._combine([operand.gram() for operand in self._operands]), out)


def _kind(kernel: Kernel) -> str:
    return "rows of numbers" if kernel.of_vectors else "Python objects"


# -------------------------------------------------------------------------------------------------
# Cosines in feature space: a kernel divided by the lengths of both sides.


@dataclass(frozen=True)
class Normalized(Unary):
    """The cosine in feature space, κ(x, z) / √(κ(x, x) κ(z, z)).

    It is zero for items without features (φ = 0, an empty string for example), also with itself.
    """

    def __str__(self) -> str:
        return f"({self.kernel}).normalized()"

    def _applied_to(self, noiseless: Kernel | None) -> Kernel | None:
        del noiseless
        raise InputError(
            f"The noise of {self} cannot be taken out: it is part of every length.",
            remedy="Add White after .normalized().",
        )

    def prepare(self, z: Items) -> PreparedKernel:
        """The operand prepared, with 1/‖φ(z)‖."""
        return PreparedNormalized(self, z, self.kernel.prepare(z))

    def diagonal(self, x: Items) -> Array:
        """One; zero for items without features."""
        squares = self.kernel.diagonal(x)
        return (squares > 0.0).astype(squares.dtype)

    def diagonal_derivatives(self, x: Items) -> Array:
        """Zero."""
        return np.zeros((n_items(x), len(self._continuous())))

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """Those of the operand, with 1/‖φ‖ of both sides."""
        return NormalizedPairs(self.kernel, x, None if z is x else z)

    def _derivatives(self, x: Items) -> list[Array]:
        cosine, inverse = self.gram(x), _inverse_norms(self.kernel.diagonal(x))
        derivatives = []
        for derivative in self.kernel._derivatives(x):
            norms = 0.5 * np.diagonal(derivative) * inverse**2
            products = derivative * inverse[:, None] * inverse[None, :]
            derivatives.append(products - cosine * (norms[:, None] + norms[None, :]))
        return derivatives


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


class NormalizedPairs(KernelPairs):
    """Pairs of the operand κ, with 1/‖φ‖ of both sides and its derivatives.

    c = κ/(‖φ(x)‖ ‖φ(z)‖),    ∂c = ∂κ/(‖φ(x)‖ ‖φ(z)‖) − ½ c (∂κ(x,x)/κ(x,x) + ∂κ(z,z)/κ(z,z))
    """

    def __init__(self, kernel: Kernel, x: Items, z: Items | None) -> None:
        self.operand = kernel.pairs(x, z)
        super().__init__(*self.operand.shape, gram=z is None)
        sides = [x] if z is None else [x, z]
        inverse = [_inverse_norms(np.asarray(kernel.diagonal(s), dtype=float)) for s in sides]
        self.inverse = inverse * 2 if z is None else inverse
        self._sides, self._kernel = sides, kernel
        self.relative: list[Array] = []

    def start(self, *, derivatives: bool) -> None:
        """Start the operand; derivatives of ½ ln κ(x, x)."""
        self.operand.start(derivatives=derivatives)
        if derivatives and not self.relative:
            diagonals = [
                0.5 * self._kernel.diagonal_derivatives(side) * inverse[:, None] ** 2
                for side, inverse in zip(self._sides, self.inverse, strict=False)
            ]
            self.relative = diagonals * 2 if self.gram else diagonals

    def factors(self, rows: slice, columns: slice) -> Array:
        """1/(‖φ(x)‖ ‖φ(z)‖) of every pair."""
        return np.asarray(self.inverse[0][rows][:, None] * self.inverse[1][columns][None, :])

    def values(self, rows: slice, columns: slice) -> Array:
        """Cosines, exactly one on the diagonal."""
        return self._cosines(self.operand.values(rows, columns), rows, columns)

    def _cosines(self, values: Array, rows: slice, columns: slice) -> Array:
        cosines = values * self.factors(rows, columns)
        if self.gram and rows == columns:
            np.fill_diagonal(cosines, np.sign(self.inverse[0][rows]))
        return cosines

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """Cosines and the operand's tile."""
        return NormalizedTile(self, rows, columns)


class NormalizedTile(PairTile):
    """Cosines of a tile, with the operand's tile."""

    def __init__(self, pairs: NormalizedPairs, rows: slice, columns: slice) -> None:
        self.pairs, self.rows, self.columns = pairs, rows, columns
        self.operand = pairs.operand.tile(rows, columns)
        self.values = pairs._cosines(self.operand.values, rows, columns)

    def sums(self, q: Array) -> Array:
        """Σ q ∂c/∂θ."""
        pairs = self.pairs
        found = self.operand.sums(q * pairs.factors(self.rows, self.columns))
        weighted = q * self.values
        found -= weighted.sum(axis=1) @ pairs.relative[0][self.rows]
        found -= weighted.sum(axis=0) @ pairs.relative[1][self.columns]
        return found

    def products(self, right: Array, by: Any) -> Array:
        """Σ b ∂c/∂θ r."""
        pairs, b = self.pairs, 1.0 if by is None else by
        weighted = self.values * b
        found = self.operand.products(right, b * pairs.factors(self.rows, self.columns))
        found = found - pairs.relative[0][self.rows][:, :, None] * (weighted @ right)[:, None, :]
        scaled = pairs.relative[1][self.columns][:, :, None] * right[:, None, :]
        return np.asarray(found - np.tensordot(weighted, scaled, axes=1))


def _inverse_norms(squares: Array) -> Array:
    """1/√s, and 0 where s = 0."""
    positive = squares > 0.0
    return np.where(positive, 1.0 / np.sqrt(np.where(positive, squares, 1.0)), 0.0).astype(
        squares.dtype, copy=False
    )
