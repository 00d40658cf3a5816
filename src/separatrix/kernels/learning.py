"""What is learned of a kernel: which hyperparameters, within which bounds, from which starts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats
from separatrix.kernels.algebra import Composite, Exponential, Product, Scaled, Sum, Unary
from separatrix.kernels.base import (
    Array,
    Hyperparameter,
    Items,
    Kernel,
    KernelPairs,
    PairTile,
    PreparedKernel,
    as_matrix,
)
from separatrix.kernels.stationary import Constant, RadialKernel, White
from separatrix.kernels.vectors import Linear, Polynomial, Sigmoid
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.schema import n_items
from separatrix.statistics.moments import Standardizer

# -------------------------------------------------------------------------------------------------
# Hyperparameters that learning leaves alone, or changes within given bounds only.


class Constrained(Unary):
    """The kernel itself, with another view of its hyperparameters."""

    def prepare(self, z: Items) -> PreparedKernel:
        """The kernel prepared."""
        return self.kernel.prepare(z)

    def prepare_exact(self, z: Items) -> PreparedKernel:
        """The kernel prepared."""
        return self.kernel.prepare_exact(z)

    def diagonal(self, x: Items) -> Array:
        """That of the kernel."""
        return self.kernel.diagonal(x)

    def gram(self, x: Items, z: Items | None = None, out: Array | None = None) -> Array:
        """That of the kernel."""
        return self.kernel.gram(x, z, out)

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """Those of the kernel."""
        return self.kernel.pairs(x, z)

    def diagonal_derivatives(self, x: Items) -> Array:
        """Those of the kernel."""
        return self.kernel.diagonal_derivatives(x)

    def squared_distance(self, x: Items, z: Items | None = None) -> Array:
        """That of the kernel."""
        return self.kernel.squared_distance(x, z)

    def _derivatives(self, x: Items) -> list[Array]:
        return self.kernel._derivatives(x)

    def _with_values(self, values: Sequence[float]) -> Self:
        return self._with_children((), (self.kernel._with_values(values),))

    def _with_children(self, values: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del values
        return replace(self, kernel=children[0])  # type: ignore[type-var]

    def _noiseless(self) -> Kernel | None:
        kernel = self.kernel._noiseless()
        return self if kernel is self.kernel else kernel


@dataclass(frozen=True)
class Fixed(Constrained):
    """A kernel whose hyperparameters, all or some, are not learned.

        κ(x, z) as it is

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    names : tuple of str, optional
        Names of :attr:`Kernel.parameters` of the kernel that stay as they are; "bandwidth" stands
        for all of "bandwidth_1", "bandwidth_2" …. By default all.

    See Also
    --------
    Bounded : hyperparameters within bounds.
    Scaled : a factor that is learned.

    Examples
    --------
    >>> import separatrix as sx
    >>> kernel = 2.0 * sx.Fixed(sx.Periodic(1.0, period=12.0), ("period",))
    >>> list(kernel.parameters)
    ['factor', 'bandwidth']
    >>> kernel.replace(bandwidth=3.0).gram([[0.0], [12.0]]).round(6)
    array([[2., 2.],
           [2., 2.]])
    """

    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.names is not None:
            names = (self.names,) if isinstance(self.names, str) else tuple(self.names)
            object.__setattr__(self, "names", names)
            _matches(self.kernel, names)

    def _free(self) -> list[bool]:
        """Of the kernel's hyperparameters, those that are not fixed."""
        if self.names is None:
            return [False for _ in self.kernel.parameters]
        fixed = {name for match in _matches(self.kernel, self.names) for name in match}
        return [name not in fixed for name in self.kernel.parameters]

    def _free_theta(self) -> Any:
        pairs = zip(self._free(), self.kernel._hyperparameters(), strict=True)
        return np.array([free for free, (_, p) in pairs if p.continuous], dtype=bool)

    def _hyperparameters(self) -> list[tuple[str, Hyperparameter]]:
        pairs = zip(self._free(), self.kernel._hyperparameters(), strict=True)
        return [parameter for free, parameter in pairs if free]

    def _with_values(self, values: Sequence[float]) -> Self:
        left = iter(values)
        pairs = zip(self._free(), self.kernel._hyperparameters(), strict=True)
        every = [next(left) if free else p.value for free, (_, p) in pairs]
        return super()._with_values(every)

    def pairs(self, x: Items, z: Items | None = None) -> KernelPairs:
        """Those of the kernel, with derivatives by what is not fixed."""
        return SelectedPairs(self.kernel.pairs(x, z), self._free_theta())

    def diagonal_derivatives(self, x: Items) -> Array:
        """Those by what is not fixed."""
        return self.kernel.diagonal_derivatives(x)[:, self._free_theta()]

    def _derivatives(self, x: Items) -> list[Array]:
        derivatives = zip(self._free_theta(), self.kernel._derivatives(x), strict=True)
        return [derivative for free, derivative in derivatives if free]


@dataclass(frozen=True)
class Bounded(Constrained):
    """A kernel some of whose hyperparameters are learned within bounds.

        κ(x, z) as it is

    Without bounds of its own a hyperparameter takes whatever value the data give it.

    Parameters
    ----------
    kernel : Kernel
        Any kernel.
    bounds_by_name : dict of str to (float, float)
        Lower and upper bound by name; "bandwidth" stands for all of "bandwidth_1" ….

    See Also
    --------
    Fixed : hyperparameters that are not learned.
    Kernel.bounds : logarithms of all bounds.

    Examples
    --------
    >>> import separatrix as sx
    >>> kernel = sx.Bounded(sx.Gaussian(2.0), {"bandwidth": (1.0, 10.0)})
    >>> kernel.bounds.round(3)
    array([[0.   , 2.303]])
    """

    bounds_by_name: Mapping[str, tuple[float, float]] | tuple[tuple[str, float, float], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        rows = self._rows()
        object.__setattr__(self, "bounds_by_name", rows)
        matches = _matches(self.kernel, [name for name, _, _ in rows])
        current = self.kernel.parameters
        for (name, low, high), names in zip(rows, matches, strict=True):
            positive = all(current[each].positive for each in names)
            if not low < high or (positive and not low > 0.0):
                raise InputError(
                    f"The bounds of {name} are {low!r} and {high!r}.",
                    remedy="Give a lower bound above zero and a larger upper bound.",
                )

    def _rows(self) -> tuple[tuple[str, float, float], ...]:
        """(name, lower, upper), whichever way they were given."""
        given: Any = self.bounds_by_name
        if isinstance(given, Mapping):
            given = [(name, *pair) for name, pair in given.items()]
        return tuple((str(name), float(low), float(high)) for name, low, high in given)

    def _hyperparameters(self) -> list[tuple[str, Hyperparameter]]:
        limits: dict[str, tuple[float, float]] = {}
        rows = self._rows()
        matches = zip(_matches(self.kernel, [name for name, _, _ in rows]), rows, strict=True)
        for each, (_, low, high) in matches:
            limits |= dict.fromkeys(each, (low, high))
        named = zip(self.kernel.parameters, self.kernel._hyperparameters(), strict=True)
        return [
            (short, _within(p, *limits[name]) if name in limits else p)
            for name, (short, p) in named
        ]


class SelectedPairs(KernelPairs):
    """Pairs with some of their derivatives."""

    def __init__(self, pairs: KernelPairs, selected: Any) -> None:
        super().__init__(*pairs.shape, gram=pairs.gram)
        self.pairs, self.selected = pairs, selected

    def start(self, *, derivatives: bool) -> None:
        """Start the pairs; without derivatives where none is selected."""
        self.pairs.start(derivatives=derivatives and bool(self.selected.any()))

    def values(self, rows: slice, columns: slice) -> Floats:
        """Those of the pairs."""
        return self.pairs.values(rows, columns)

    def tile(self, rows: slice, columns: slice) -> PairTile:
        """A tile with some of its derivatives."""
        return SelectedTile(self, rows, columns)


class SelectedTile(PairTile):
    """A tile with some of its derivatives."""

    def __init__(self, pairs: SelectedPairs, rows: slice, columns: slice) -> None:
        self.selected = pairs.selected
        self.tile = pairs.pairs.tile(rows, columns) if self.selected.any() else None
        self.values = pairs.values(rows, columns) if self.tile is None else self.tile.values

    def sums(self, q: Floats) -> Floats:
        """Those selected."""
        return np.zeros(0) if self.tile is None else self.tile.sums(q)[self.selected]

    def products(self, right: Floats, by: Any) -> Floats:
        """Those selected."""
        if self.tile is None:
            return np.zeros((1, 0, right.shape[1]))
        return self.tile.products(right, by)[:, self.selected]


def _within(p: Hyperparameter, low: float, high: float) -> Hyperparameter:
    return replace(p, low=low, high=high, bounded=True)


def _matches(kernel: Kernel, names: Sequence[str]) -> list[list[str]]:
    """The hyperparameters that each name stands for; a name that stands for none is refused."""
    current, matches = list(kernel.parameters), []
    for name in names:
        each = [own for own in current if own == name or re.fullmatch(rf"{name}_\d+", own)]
        if not each:
            raise InputError(
                f"The kernel {kernel} has no hyperparameter {name!r}.",
                remedy=did_you_mean(name, current),
            )
        matches.append(each)
    return matches


# -------------------------------------------------------------------------------------------------
# Starting values of hyperparameters, from the scales of the data.
#
# bandwidth of a column    its standard deviation times √d: a typical pair is about one apart
# variance of a term       the target's variance, over the mean of its diagonal
# noise                    a tenth of the variance of the smallest term
#
# They follow the units of columns and target. Several radial terms of a sum, which equal starts
# would leave equal, start one below the other: the first explains the long and large changes, every
# further one has a quarter of the bandwidth and a tenth of the variance of the one before.


def natural_scales(
    kernel: Kernel, x: Items, w: Floats | None = None, target_variance: float = 1.0
) -> Kernel:
    """The kernel with its free hyperparameters at starting values taken from the data.

    Parameters
    ----------
    kernel : Kernel
        Any expression; its fixed hyperparameters, integers, periods and decays stay.
    x : items
        The training rows.
    w : ndarray of shape (n,), optional
        Their weights.
    target_variance : float, default=1.0
        The (weighted) variance of the targets.

    Returns
    -------
    Kernel
        The same expression with other hyperparameters.
    """
    variance = target_variance if 0.0 < target_variance < np.inf else 1.0
    return _start_kernel(kernel, _Scales.of(kernel, x, w), float(variance))


@dataclass(frozen=True)
class _Scales:
    """The items with weights, and the standard deviation of every column of numbers."""

    x: Items
    w: Floats
    columns: Floats
    shrink: float = 1.0

    @classmethod
    def of(cls, kernel: Kernel, x: Items, w: Floats | None) -> _Scales:
        weights = np.ones(n_items(x)) if w is None else np.asarray(w, dtype=float)
        numbers = kernel.of_vectors and not kernel.of_anything
        if not numbers or not weights.sum() > 0.0:
            return cls(x, weights, np.empty(0))
        return cls(x, weights, Standardizer.from_rows(as_matrix(x), weights).scale)

    def bandwidths(self) -> Floats:
        """One bandwidth for every column; NaN where it is constant."""
        scaled = self.shrink * np.sqrt(len(self.columns)) * self.columns
        return np.where(self.columns > 0.0, scaled, np.nan)

    def bandwidth(self) -> float:
        """One for all columns together; NaN where all are constant."""
        largest = float(self.columns.max(initial=0.0))
        if not largest > 0.0:
            return float("nan")
        return self.shrink * largest * float(np.sqrt(np.sum((self.columns / largest) ** 2)))

    def mean_diagonal(self, kernel: Kernel) -> float:
        """The weighted mean of κ(x, x), or 1 where that is not a positive number."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            mean = float(self.w @ np.asarray(kernel.diagonal(self.x), dtype=float) / self.w.sum())
        return mean if 0.0 < mean < np.inf else 1.0


def _start_kernel(kernel: Kernel, scales: _Scales, variance: float) -> Kernel:
    """The kernel at its start, if the function it describes is to have this variance."""
    if isinstance(kernel, Constrained):
        return _start_constrained(kernel, scales, variance)
    if isinstance(kernel, Sum):
        return _sum(kernel, scales, variance)
    if isinstance(kernel, Product):
        return _product(kernel, scales, variance)
    if isinstance(kernel, Scaled):
        inner = _start_kernel(kernel.kernel, scales, 1.0)
        return Scaled(inner, variance / scales.mean_diagonal(inner))
    if isinstance(kernel, Exponential):
        return Exponential(_start_kernel(kernel.kernel, scales, 1.0))
    if isinstance(kernel, Composite):
        children = tuple(_start_kernel(child, scales, 1.0) for child in kernel._children())
        return kernel._with_children([p.value for _, p in kernel._own_hyperparameters()], children)
    if isinstance(kernel, White):
        return White(0.1 * variance)  # variance of the noise over that of the smallest term
    if isinstance(kernel, Constant):
        return Constant(variance)
    return _vectors(kernel, scales)


def _vectors(kernel: Kernel, scales: _Scales) -> Kernel:
    """A kernel of rows of numbers in their units."""
    if isinstance(kernel, RadialKernel):
        return kernel.started(scales.bandwidths() if kernel.by_column else scales.bandwidth())
    if isinstance(kernel, Polynomial | Sigmoid):
        scale = 1.0 / scales.mean_diagonal(Linear())
        if isinstance(kernel, Polynomial):
            return replace(kernel, scale=scale, constant=1.0)
        return replace(kernel, scale=scale)
    return kernel


def _sum(kernel: Sum, scales: _Scales, variance: float) -> Kernel:
    """Every radial term is shorter and smaller than the one before, and noise smaller than all."""
    parts, shrink, smallest, at = [], [], variance, 0
    for term in kernel.operands:
        # Bandwidth of a radial term of a sum over that of the radial term before it.
        shrink.append(scales.shrink * 0.25**at)
        # Variance of a radial term of a sum over that of the radial term before it.
        parts.append(variance * 0.1**at if _is_radial(term) else variance)
        if term._noiseless() is not None:
            smallest = min(smallest, parts[-1])
            at += _is_radial(term)
    terms = [
        _start_kernel(
            term, replace(scales, shrink=s), smallest if term._noiseless() is None else part
        )
        for term, s, part in zip(kernel.operands, shrink, parts, strict=True)
    ]
    return Sum(tuple(terms))


def _product(kernel: Product, scales: _Scales, variance: float) -> Kernel:
    """The first factor with a variance of its own takes all of it, others have one."""
    factors = [_start_kernel(factor, scales, 1.0) for factor in kernel.operands]
    at = next((i for i, factor in enumerate(factors) if _has_variance(factor)), None)
    if at is not None:
        rest = variance / scales.mean_diagonal(Product(tuple(factors)))
        factors[at] = _start_kernel(kernel.operands[at], scales, rest)
    return Product(tuple(factors))


def _start_constrained(kernel: Constrained, scales: _Scales, variance: float) -> Kernel:
    """Free hyperparameters only, and those within their bounds."""
    inner = _start_kernel(kernel.kernel, scales, variance)
    if isinstance(kernel, Fixed):
        free = zip(kernel._free(), inner._hyperparameters(), strict=True)
        return kernel._with_values([p.value for is_free, (_, p) in free if is_free])
    started = kernel._with_children((), (inner,))
    if isinstance(started, Bounded):
        values = [
            float(np.clip(p.value, p.low, p.high)) if p.bounded else p.value
            for _, p in started._hyperparameters()
        ]
        return started._with_values(values)
    return started


def _is_radial(kernel: Kernel) -> bool:
    return isinstance(kernel, RadialKernel) or any(map(_is_radial, kernel._children()))


def _has_variance(kernel: Kernel) -> bool:
    """Whether a hyperparameter of the kernel is a factor of it."""
    if isinstance(kernel, Fixed):
        return kernel.names is not None and _has_variance(kernel.kernel)
    if isinstance(kernel, Bounded):
        return _has_variance(kernel.kernel)
    return isinstance(kernel, Constant | Scaled | White)
