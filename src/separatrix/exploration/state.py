"""What a page sends: a state of untrusted JSON, read value by value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from separatrix.exploration.table import PageTable
from separatrix.messages import InputError, did_you_mean


class ViewState:
    """The state of a view, as its address has it; each reading refuses what it cannot be."""

    def __init__(self, values: Any) -> None:
        if not isinstance(values, Mapping):
            raise InputError("the state is not an object.")
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

    def class_column(self, table: PageTable) -> str:
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
