"""Comparison of two sets of answers: equal labels, numbers to nine digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Largest difference of numbers, relative to their size; of probabilities as it is.
TOLERANCE = 1e-9


class CheckFailed(Exception):
    """What was written does not give the answers of the model."""


@dataclass(frozen=True)
class Check:
    """How an export was checked.

    ``rows`` is the number of rows, ``engine`` what computed the answers from the export,
    ``largest_difference`` that of numbers and probabilities, ``ties`` the number of rows whose
    label differs as two are equally good up to rounding, ``source`` where the rows come from.
    """

    rows: int
    engine: str
    largest_difference: float = 0.0
    ties: int = 0
    source: str = "rows made up from the columns of the model"

    def __str__(self) -> str:
        text = (
            f"checked on {self.rows:,} rows in {self.engine}: "
            f"largest difference {self.largest_difference:.1g}"
        )
        if self.ties:
            text += f", {self.ties} tie{'s' if self.ties > 1 else ''} decided otherwise"
        return f"{text} ({self.source})"


def compared(
    names: Sequence[str],
    expected: Sequence[NDArray[Any]],
    found: Sequence[Sequence[Any]],
    engine: str,
    tie: NDArray[np.bool_] | None = None,
) -> Check:
    """The check of answers column by column; raises :class:`CheckFailed` where they differ.

    With ``tie``, the rows whose decision is a tie, the first column holds labels.
    """
    largest, ties = 0.0, 0
    for i, (name, wanted, given) in enumerate(zip(names, expected, found, strict=True)):
        if i or tie is None:
            at, difference = _numbers(name, wanted, given)
            largest = max(largest, difference)
            if not difference <= TOLERANCE:
                raise CheckFailed(
                    f"{engine} gives {given[at]!r} as {name} in row {at + 1}, and the model "
                    f"{wanted[at]!r}: the export is not written."
                )
            continue
        wrong = np.array([_other(a, b) for a, b in zip(wanted.tolist(), given, strict=True)])
        ties += int((wrong & tie).sum())
        wrong &= ~tie
        if wrong.any():
            at = int(wrong.argmax())
            raise CheckFailed(
                f"{engine} gives {given[at]!r} as {name} in row {at + 1}, and the model "
                f"{wanted.tolist()[at]!r}: the export is not written."
            )
    return Check(len(expected[0]), engine, largest, ties)


def _other(a: Any, b: Any) -> bool:
    """Whether two labels differ; databases give 1 for true."""
    if isinstance(a, bool | int | float) and isinstance(b, bool | int | float):
        return float(a) != float(b)
    return bool(a != b)


def _numbers(name: str, wanted: NDArray[Any], given: Sequence[Any]) -> tuple[int, float]:
    """The row of the largest difference, and that difference."""
    numbers = np.array([np.nan if v is None else float(v) for v in given])
    difference = np.abs(numbers - wanted)
    if not name.startswith("probability"):
        size = np.maximum(np.abs(wanted), np.median(np.abs(wanted)))
        difference = difference / np.where(size > 0, size, 1.0)
    difference = np.where(np.isnan(difference), np.inf, difference)
    at = int(difference.argmax())
    return at, float(difference[at])
