"""Hyperparameters that learning leaves alone, or changes within given bounds only."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from separatrix.kernels.algebra import Unary
from separatrix.kernels.base import Array, Items, Kernel, PreparedKernel
from separatrix.kernels.derivatives import KernelPairs, PairTile
from separatrix.kernels.parameters.hyperparameters import Floats, Hyperparameter
from separatrix.messages import InputError, did_you_mean


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

    def _with_children(self, own: Sequence[float], children: tuple[Kernel, ...]) -> Self:
        del own
        return replace(self, kernel=children[0])  # type: ignore[type-var]

    def _noiseless(self) -> Kernel | None:
        found = self.kernel._noiseless()
        return self if found is self.kernel else found


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
        fixed = {name for found in _matches(self.kernel, self.names) for name in found}
        return [name not in fixed for name in self.kernel.parameters]

    def _free_theta(self) -> Any:
        pairs = zip(self._free(), self.kernel._hyperparameters(), strict=True)
        return np.array([free for free, (_, p) in pairs if p.continuous], dtype=bool)

    def _hyperparameters(self) -> list[tuple[str, Hyperparameter]]:
        pairs = zip(self._free(), self.kernel._hyperparameters(), strict=True)
        return [found for free, found in pairs if free]

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
        found = zip(self._free_theta(), self.kernel._derivatives(x), strict=True)
        return [one for free, one in found if free]


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
        found = _matches(self.kernel, [name for name, _, _ in rows])
        current = self.kernel.parameters
        for (name, low, high), names in zip(rows, found, strict=True):
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
        found = zip(_matches(self.kernel, [name for name, _, _ in rows]), rows, strict=True)
        for each, (_, low, high) in found:
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
    current, found = list(kernel.parameters), []
    for name in names:
        each = [own for own in current if own == name or re.fullmatch(rf"{name}_\d+", own)]
        if not each:
            raise InputError(
                f"The kernel {kernel} has no hyperparameter {name!r}.",
                remedy=did_you_mean(name, current),
            )
        found.append(each)
    return found
