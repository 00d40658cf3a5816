"""Numbers as text: separators, signs, percent and currencies, read by columns.

text = sign? unit? digits with separators, exponent? unit?      (−1) for (1 234) in parentheses
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from separatrix.rows.schema import Notation

if TYPE_CHECKING:
    import pyarrow as pa

#: Signs and codes of currencies, longer ones first.
_CURRENCIES = (
    *(r"US\$", r"CA\$", r"AU\$", r"R\$", r"A\$", r"C\$", r"\$", "€", "£", "¥", "₹", "₽", "₩", "₺"),
    *("₪", "₫", "฿", "₴", "₦", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK"),
    *("DKK", "PLN", "CZK", "HUF", "BRL", "AUD", "CAD", "RUB", "TRY", "ZAR", "zł", "Kč", "Ft"),
    *(r"Fr\.", r"Rs\.?", r"kr\.?"),
)
_CURRENCY = "|".join(_CURRENCIES)

#: Characters of plain numbers, with separators; texts with others have a unit, or are no numbers.
_OTHER = r"[^0-9.,' +\-eE]"
_SIGNED = r"^(?P<sign>[+-]?) *(?P<body>[0-9.,][0-9.,' ]*(?:[eE][+-]?[0-9]+)?)$"
_WITH_UNIT = (
    rf"^(?P<open>\(?)(?P<sign>[+-]?) *(?P<before>{_CURRENCY})? *(?P<inner>[+-]?)"
    rf"(?P<body>[0-9.,][0-9.,' ]*(?:[eE][+-]?[0-9]+)?) *(?P<after>%|{_CURRENCY})?(?P<close>\)?)$"
)


@dataclass(frozen=True)
class Separators:
    """A decimal separator and a thousands separator (empty: none)."""

    decimal: str
    thousands: str

    @property
    def pattern(self) -> str:
        """The regular expression of an unsigned number without unit."""
        point = re.escape(self.decimal)
        exponent = r"([eE][+-]?[0-9]+)?"
        plain = rf"[0-9]+({point}[0-9]*)?{exponent}|{point}[0-9]+{exponent}"
        if not self.thousands:
            return rf"^({plain})$"
        group = re.escape(self.thousands)
        # lakh and crore (1,23,456) have groups of two
        inner = rf"({group}[0-9]{{2,3}})*{group}[0-9]{{3}}"
        if self.thousands != ",":
            inner = rf"({group}[0-9]{{3}})+"
        return rf"^({plain}|[1-9][0-9]{{0,2}}{inner}({point}[0-9]*)?)$"


#: In order of preference where several fit all values of a column.
SEPARATORS = (
    Separators(".", ""),
    Separators(".", ","),
    Separators(",", ""),
    Separators(",", "."),
    Separators(".", " "),
    Separators(",", " "),
    Separators(".", "'"),
    Separators(",", "'"),
)

#: Characters that look alike, as one of them.
_ALIKE = {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'", "−": "-"}


def cleaned(array: pa.Array) -> pa.Array:
    """Text without spaces around it, with one kind of space, apostrophe and minus."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(array if array.type == pa.string() else array.cast(pa.string()))
    if pc.all(pc.string_is_ascii(text)).as_py() is False:
        for other, character in _ALIKE.items():
            text = pc.replace_substring(text, other, character)
    return text


@dataclass(frozen=True)
class Parts:
    """Texts taken apart: unsigned digits with separators (null: no number), sign, unit."""

    body: pa.Array
    negative: pa.Array
    unit: pa.Array


def taken_apart(text: pa.Array) -> Parts:
    """Sign, digits and unit of cleaned texts; units are only looked for where there may be some."""
    import pyarrow as pa
    import pyarrow.compute as pc

    other = pc.any(pc.match_substring_regex(text, _OTHER)).as_py()
    found = pc.extract_regex(text, _WITH_UNIT if other else _SIGNED)
    body = pc.utf8_rtrim_whitespace(_field(found, "body"))
    if not other:
        unit = pa.nulls(len(text), pa.string())
        return Parts(body, pc.equal(_field(found, "sign"), "-"), unit)
    before, after = _field(found, "before"), _field(found, "after")
    opened = pc.equal(_field(found, "open"), "(")
    closed = pc.equal(_field(found, "close"), ")")
    minus = [pc.equal(_field(found, name), "-") for name in ("sign", "inner")]
    negative = pc.or_(pc.or_(*minus), opened)
    # one sign, one unit, and both parentheses or none
    twice = pc.or_(
        pc.and_(pc.not_equal(before, ""), pc.not_equal(after, "")),
        pc.and_(*(pc.not_equal(_field(found, name), "") for name in ("sign", "inner"))),
    )
    wrong = pc.or_(twice, pc.xor(opened, closed))
    body = pc.if_else(pc.fill_null(wrong, False), pa.scalar(None, pa.string()), body)
    unit = pc.if_else(pc.equal(before, ""), after, before)
    unit = pc.if_else(pc.equal(unit, ""), pa.scalar(None, pa.string()), unit)
    return Parts(body, negative, unit)


def _field(found: pa.Array, name: str) -> pa.Array:
    import pyarrow.compute as pc

    return pc.struct_field(found, name)


def fits(parts: Parts, separators: Separators) -> pa.Array:
    """Whether each text is a number with these separators."""
    import pyarrow.compute as pc

    return pc.fill_null(pc.match_substring_regex(parts.body, separators.pattern), False)


def to_floats(text: pa.Array, notation: Notation) -> pa.Array:
    """Cleaned texts as float64; null where the text is no number in this notation."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = taken_apart(text)
    separators = Separators(notation.decimal, notation.thousands)
    good = fits(parts, separators)
    if notation.unit == "%":  # 0.12 beside 12% may mean the same: both cannot be read
        good = pc.and_(good, pc.fill_null(pc.equal(parts.unit, "%"), False))
    elif notation.unit:
        good = pc.and_(good, pc.fill_null(pc.equal(parts.unit, notation.unit), True))
    else:
        good = pc.and_(good, pc.is_null(parts.unit))
    body = pc.if_else(good, parts.body, pa.scalar(None, pa.string()))
    if notation.thousands:
        body = pc.replace_substring(body, notation.thousands, "")
    if notation.decimal != ".":
        body = pc.replace_substring(body, notation.decimal, ".")
    values = pc.cast(body, pa.float64())
    return pc.if_else(pc.fill_null(parts.negative, False), pc.negate(values), values)


@cache
def shown_example(separators: Separators) -> str:
    """A number in this notation, and what it means."""
    group, point = separators.thousands, separators.decimal
    return f"'1{group}234{point}5' is 1234.5"
