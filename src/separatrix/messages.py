"""Errors and warnings: one sentence, the place, the remedy.

Every refusal is an :class:`InputError`; every warning a :class:`SeparatrixWarning` with a code.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass


class InputError(ValueError):
    """The input cannot be used. The text says what is wrong, where, and what to do about it."""

    def __init__(
        self,
        what: str,
        *,
        file: str | None = None,
        row: int | None = None,
        column: str | None = None,
        remedy: str | None = None,
    ) -> None:
        place = ", ".join(
            text
            for text in (
                f"file {file}" if file is not None else "",
                f"row {row}" if row is not None else "",
                f"column {column!r}" if column is not None else "",
            )
            if text
        )
        sentence = f"{place}: {what}" if place else what
        super().__init__(f"{sentence} {remedy}" if remedy else sentence)
        self.what, self.file, self.row, self.column, self.remedy = what, file, row, column, remedy

    def __reduce__(self) -> tuple[object, ...]:
        """Survive the journey between processes (keyword-only arguments would be lost)."""
        return _rebuild, (self.what, self.file, self.row, self.column, self.remedy)


def _rebuild(
    what: str, file: str | None, row: int | None, column: str | None, remedy: str | None
) -> InputError:
    return InputError(what, file=file, row=row, column=column, remedy=remedy)


class SeparatrixWarning(UserWarning):
    """A warning with a code. Mute it with ``warnings.filterwarnings("ignore", "SEP001")``."""


@dataclass(frozen=True)
class WarningEntry:
    """The documentation entry of one warning code."""

    code: str
    title: str
    reason: str


#: Every code that can be raised, with the reason shown in the documentation.
WARNINGS: dict[str, WarningEntry] = {
    warn.code: warn
    for warn in (
        WarningEntry(
            "SEP001",
            "dependent columns",
            "Some columns are combinations of others: the fitted values are unique, the "
            "coefficients are not; the answer with the smallest norm was returned.",
        ),
        WarningEntry(
            "SEP002",
            "few trusted digits",
            "The columns are so nearly dependent that fewer than four digits of the coefficients "
            "can be trusted.",
        ),
        WarningEntry(
            "SEP003",
            "tolerance not reached",
            "The solver stopped at its limit of iterations; the certificate shows the gap that is "
            "left.",
        ),
        WarningEntry(
            "SEP004",
            "solution not unique",
            "The problem has more than one solution of the same quality; one of them was returned.",
        ),
        WarningEntry(
            "SEP005",
            "unseen level",
            "A discrete column holds a level that was absent in training; it was encoded as all "
            "zeros.",
        ),
        WarningEntry(
            "SEP006",
            "separable classes",
            "Some direction puts every row on its own side, so the likelihood of a logistic model "
            "rises for ever along it and no coefficients are the likeliest.",
        ),
        WarningEntry(
            "SEP007",
            "indefinite kernel",
            "The Gram matrix has a negative eigenvalue: the kernel is no inner product, and what "
            "was found need not be the best there is.",
        ),
        WarningEntry(
            "SEP008",
            "distances say little",
            "All rows are about equally far from each other, so that nobody is really near.",
        ),
    )
}


def warn(code: str, text: str) -> None:
    """Warn ``SEP001 text`` as a :class:`SeparatrixWarning`, at the line of the caller outside."""
    assert code in WARNINGS, code
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("separatrix"):
        level, frame = level + 1, frame.f_back
    warnings.warn(f"{code} {text}", SeparatrixWarning, stacklevel=level)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``Did you mean 'income'?``, or the names there are when none is near."""
    names = list(known)
    folded = {other.strip().casefold(): other for other in names}
    near = difflib.get_close_matches(name.strip().casefold(), list(folded), n=1, cutoff=0.6)
    if near:
        return f"Did you mean {folded[near[0]]!r}?"
    shown = ", ".join(repr(other) for other in names[:12])
    more = f", … ({len(names)} in all)" if len(names) > 12 else ""
    return f"There are: {shown}{more}." if names else "There are none."
