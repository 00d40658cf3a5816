"""How the caller says that a table is written; None leaves it to recognition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from separatrix.messages import InputError, did_you_mean

DECIMALS = (".", ",")
#: Thousands separators; an empty text stands for none.
THOUSANDS = ("", ",", ".", " ", "'")
DATES = ("day-first", "month-first", "year-first")
DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class TextOptions:
    """Separators, order of dates, missing values, and the layout of a text file.

    With ``strict``, a text among numbers or dates is refused, however rare such texts are.
    """

    decimal: str | None = None
    thousands: str | None = None
    dates: str | None = None
    na: tuple[str, ...] | None = None
    encoding: str | None = None
    delimiter: str | None = None
    header: bool | None = None
    strict: bool = False

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
    return TextOptions(decimal, thousands, dates, tokens, encoding, delimiter, header, strict)


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
