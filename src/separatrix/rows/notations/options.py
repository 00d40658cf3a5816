"""How the caller says that a table is written, and how much work reading it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from separatrix.messages import InputError, did_you_mean

DECIMALS = (".", ",")
#: Thousands separators; an empty text stands for none.
THOUSANDS = ("", ",", ".", " ", "'")
DATES = ("day-first", "month-first", "year-first")
DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Limits:
    """What a query of a database may take, and a workbook, before it is given up.

    Seconds of work of the library that computes it, rows of the result, bytes of memory. Tables of
    a database are as long as their file: of them only the time to the next rows is limited.
    """

    seconds: float = 60.0
    rows: float = 1e8
    bytes: float = 2.0 * 2**30


@dataclass(frozen=True)
class TextOptions:
    """Separators, order of dates, missing values, the layout of a text file; limits of reading.

    None leaves to recognition how a table is written. With ``strict``, a text among numbers or
    dates is refused, however rare such texts are.
    """

    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None
    na: tuple[str, ...] | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    strict: bool = False
    limits: Limits = Limits()

    @property
    def separators(self) -> bool:
        """Whether separators of numbers are given."""
        return self.decimal is not None or self.thousands is not None


def text_options(
    decimal: str | None = None,
    thousands: str | None = None,
    dates: str | None = None,
    na: Sequence[object] | str | float | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    strict: bool = False,
    limits: Mapping[str, Any] | None = None,
) -> TextOptions:
    """Check the options."""
    for name, value, known in (
        ("decimal", decimal, DECIMALS),
        ("thousands", thousands, THOUSANDS),
        ("dates", dates, DATES),
    ):
        if value is not None and value not in known:
            raise InputError(f"`{name}` cannot be {value!r}.", remedy=did_you_mean(value, known))
    if thousands and thousands == (decimal or ("," if thousands == "." else ".")):
        raise InputError(
            f"`decimal` and `thousands` are both {thousands!r}.", remedy="Give two separators."
        )
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(
            f"`delimiter` cannot be {delimiter!r}.", remedy="Give one character, such as ';'."
        )
    tokens = None if na is None else tuple(dict.fromkeys(map(_token, _listed(na))))
    encoding = _known_encoding(encoding)
    most = _limits(limits or {})
    return TextOptions(decimal, thousands, dates, tokens, encoding, delimiter, header, strict, most)


def _limits(given: Mapping[str, Any]) -> Limits:
    known = [field.name for field in fields(Limits)]
    for name, value in given.items():
        if name not in known:
            raise InputError(f"`limits` has no {name!r}.", remedy=did_you_mean(name, known))
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not value > 0:
            raise InputError(
                f"`limits` of {name} cannot be {value!r}.", remedy="Give a positive number, or inf."
            )
    return Limits(**given)


def _listed(na: Sequence[object] | str | float) -> Sequence[object]:
    return [na] if isinstance(na, str | int | float) else na


def _token(value: object) -> str:
    """A missing value as text: −999.0 and "-999" are the same."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _known_encoding(encoding: str | None) -> str | None:
    import codecs

    if encoding is None:
        return None
    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise InputError(
            f"there is no encoding {encoding!r}.",
            remedy="Use for instance 'utf-8', 'cp1252', 'latin-1' or 'utf-16'.",
        ) from None
