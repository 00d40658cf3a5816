"""Hyperparameters of a kernel expression: by name, as a vector of logarithms, with bounds.

A field of a kernel is one hyperparameter, or a tuple of them, one for each column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError, did_you_mean

Floats = NDArray[np.float64]


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


def hyperparameter(default: float, low: float, high: float, *, continuous: bool = True) -> Any:
    """A dataclass field for a hyperparameter, with its customary bounds."""
    return field(default=default, metadata={"low": low, "high": high, "continuous": continuous})


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

    @property
    def theta(self) -> Floats:
        """The continuous hyperparameters as a vector: logarithms of those that are positive."""
        found = self._continuous()
        values = np.array([p.value for p in found], dtype=float)
        positive = np.array([p.positive for p in found], dtype=bool)
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
        found, left = [], iter(np.asarray(theta, dtype=float).tolist())
        for _, p in self._hyperparameters():
            if not p.continuous:
                found.append(p.value)
            else:
                value = next(left)
                found.append(float(np.exp(value)) if p.positive else value)
        return self._with_values(found)

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
        """A copy with these hyperparameters, in the order of :meth:`_hyperparameters`."""
        left, changed = iter(values), {}
        for name, current, _ in self._own_fields():
            several = isinstance(current, tuple)
            changed[name] = tuple(next(left) for _ in current) if several else next(left)
        return replace(self, **changed)  # type: ignore[type-var]


def _unique(names: list[str]) -> list[str]:
    """Repeated names numbered in their order, others unchanged."""
    seen: dict[str, int] = {}
    numbered = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        numbered.append(f"{name}_{seen[name]}" if names.count(name) > 1 else name)
    return numbered
