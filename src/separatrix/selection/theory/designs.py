"""Inputs of simulated data sets: fixed, or drawn for each anew; and where fits are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Even points between two ends, and draws of a callable, on which fits are compared.
EVEN, DRAWN = 100, 1000


@dataclass(frozen=True)
class Design:
    """How n inputs are drawn, and the points ``at`` which fits are compared."""

    draw: Callable[[np.random.Generator, int], Floats]
    at: Floats
    n: int
    fixed: bool


def design_of(x: Any, at: Any, n: int, seed: int) -> Design:
    """The design that ``x`` describes: two ends, an array, or a callable."""
    points = None if at is None else columns_of(at, "at")
    if callable(x):
        _check_n(n)

        def drawn(rng: np.random.Generator, size: int) -> Floats:
            return columns_of(x(rng, size), "x")

        fresh = np.random.default_rng((seed, 1))  # not the numbers of the data sets
        return Design(drawn, drawn(fresh, DRAWN) if points is None else points, n, False)
    if isinstance(x, tuple) and len(x) == 2:
        _check_n(n)
        low, high = float(x[0]), float(x[1])
        if not (np.isfinite([low, high]).all() and low < high):
            raise InputError(f"x must be (low, high) with low below high, not {x!r}.")
        even = low + (high - low) * (np.arange(EVEN) + 0.5) / EVEN
        middle = even[:, None] if points is None else points
        return Design(lambda rng, size: rng.uniform(low, high, (size, 1)), middle, n, False)
    inputs = columns_of(x, "x")
    return Design(lambda *_: inputs, inputs if points is None else points, len(inputs), True)


def columns_of(values: Any, name: str) -> Floats:
    """An array of finite numbers with one row for each point."""
    found = np.asarray(values, dtype=np.float64)
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise InputError(
            f"{name} must be finite numbers, one row for each point; its shape is {found.shape}."
        )
    return found


def values_of(function: Callable[[Floats], Any], x: Floats) -> Floats:
    """The function at each point."""
    found = np.asarray(function(x), dtype=np.float64)
    if found.shape != (len(x),) or not np.isfinite(found).all():
        raise InputError(
            f"The truth has shape {found.shape} for {len(x)} points, or is not finite.",
            remedy="It takes an n x d array and returns n numbers, such as lambda x: x[:, 0] ** 2.",
        )
    return found


def check_repeats(repeats: int, level: float) -> int:
    """Two or more repetitions, and a level between 0 and 1."""
    if not hasattr(repeats, "__index__") or repeats < 2:
        raise InputError(f"repeats must be a whole number of at least 2, not {repeats!r}.")
    if not 0.0 < level < 1.0:
        raise InputError(f"level must be between 0 and 1, not {level!r}.")
    return int(repeats)


def _check_n(n: int) -> None:
    if not hasattr(n, "__index__") or n < 1:
        raise InputError(f"n must be a whole number of at least 1, not {n!r}.")
