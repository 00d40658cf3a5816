"""What a page sends: a state of untrusted JSON, read value by value; and arrays that go back."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.messages import InputError, did_you_mean

if TYPE_CHECKING:
    from separatrix.exploration.table import Table


class State:
    """The state of a view, as its address has it; each reading refuses what it cannot be."""

    def __init__(self, values: Any) -> None:
        if not isinstance(values, Mapping):
            raise InputError("the state is no object.")
        # null is a value that the address leaves out
        self.values = {name: value for name, value in values.items() if value is not None}

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """A number within bounds."""
        value = self.values.get(name, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not low <= value <= high
        ):
            raise InputError(f"{name} is {brief(value)}, not a number from {low:g} to {high:g}.")
        return float(value)

    def whole(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number within bounds."""
        value = self.number(name, default, low, high)
        if value != int(value):
            raise InputError(f"{name} is {brief(value)}, not a whole number.")
        return int(value)

    def choice(self, name: str, options: Iterable[str], default: str | None = None) -> str:
        """One of several words; the first of them, or ``default``, where none is given."""
        known = list(options)
        if not known:
            raise InputError(f"the table has nothing to choose for {name}.")
        value = self.values.get(name, known[0] if default is None else default)
        if value not in known:
            near = did_you_mean(value if isinstance(value, str) else "", known)
            raise InputError(f"{name} is {brief(value)}.", remedy=near)
        return str(value)

    def class_column(self, table: Table) -> str:
        """The column whose classes are meant: as chosen, else the target if it has classes."""
        if not table.classes:
            raise InputError(
                "no column of the table has two classes or more, and not too many of them.",
                remedy="Choose another view, or another table.",
            )
        default = table.target if table.target in table.classes else None
        return self.choice("target", table.classes, default)

    def flag(self, name: str, default: bool = False) -> bool:
        """Yes or no."""
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise InputError(f"{name} is {brief(value)}, not true or false.")
        return value

    def items(self, name: str, most: int = 1_000) -> Sequence[Any]:
        """A list, empty where none is given."""
        value = self.values.get(name, [])
        if not isinstance(value, list) or len(value) > most:
            raise InputError(f"{name} is not a list of at most {most:,} items.")
        return value


def brief(value: Any) -> str:
    """A value of a state in a message, not the whole of a long one."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def packed(values: ArrayLike, dtype: str = "float32") -> dict[str, Any]:
    """An array for the page: its shape, and its bytes as base64 (``unpack`` of ``server.js``)."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    data = base64.b64encode(array.tobytes()).decode("ascii")
    return {"dtype": dtype, "shape": list(array.shape), "data": data}


def certified(certificate: Any) -> dict[str, Any] | None:
    """A certificate for the page: whether it holds, and its words; None where there is none."""
    if certificate is None:
        return None
    return {"holds": bool(certificate.holds), "text": str(certificate)}


def finite(value: float | None) -> float | None:
    """A number that JSON can say: None where it is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)
