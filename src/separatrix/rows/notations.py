"""Notations of values in text: numbers, dates and missing values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.schema import Notation

if TYPE_CHECKING:
    import pyarrow as pa


# -------------------------------------------------------------------------------------------------
# Options of reading: how a table is written, and how much work reading it may take.


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
    tokens = None if na is None else tuple(dict.fromkeys(map(_token, _list_markers(na))))
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


def _list_markers(na: Sequence[object] | str | float) -> Sequence[object]:
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


# -------------------------------------------------------------------------------------------------
# Numbers as text: separators, signs, percent and currencies, read by columns.
#
# text = sign? unit? digits with separators, exponent? unit?      (−1) for (1 234) in parentheses


#: Signs and codes of currencies, longer ones first.
_CURRENCIES = (
    *(r"US\$", r"CA\$", r"AU\$", r"R\$", r"A\$", r"C\$", r"\$", "€", "£", "¥", "₹", "₽", "₩", "₺"),
    *("₪", "₫", "฿", "₴", "₦", "USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK"),
    *("DKK", "PLN", "CZK", "HUF", "BRL", "AUD", "CAD", "RUB", "TRY", "ZAR", "zł", "Kč", "Ft"),
    *(r"Fr\.", r"Rs\.?", r"kr\.?"),
)
_CURRENCY = "|".join(_CURRENCIES)

#: Characters of plain numbers, with separators; texts with others have a unit, or are not numbers.
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


def clean_text(array: pa.Array) -> pa.Array:
    """Text without spaces around it, with one kind of space, apostrophe and minus."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(array if array.type == pa.string() else array.cast(pa.string()))
    if pc.all(pc.string_is_ascii(text)).as_py() is False:
        for other, character in _ALIKE.items():
            text = pc.replace_substring(text, other, character)
    return text


@dataclass(frozen=True)
class NumberParts:
    """Texts taken apart: unsigned digits with separators (null: no number), sign, unit."""

    body: pa.Array
    negative: pa.Array
    unit: pa.Array


def taken_apart(text: pa.Array) -> NumberParts:
    """Sign, digits and unit of cleaned texts; units are only looked for where there may be some."""
    import pyarrow as pa
    import pyarrow.compute as pc

    other = pc.any(pc.match_substring_regex(text, _OTHER)).as_py()
    fields = pc.extract_regex(text, _WITH_UNIT if other else _SIGNED)
    body = pc.utf8_rtrim_whitespace(_field(fields, "body"))
    if not other:
        unit = pa.nulls(len(text), pa.string())
        return NumberParts(body, pc.equal(_field(fields, "sign"), "-"), unit)
    before, after = _field(fields, "before"), _field(fields, "after")
    opened = pc.equal(_field(fields, "open"), "(")
    closed = pc.equal(_field(fields, "close"), ")")
    minus = [pc.equal(_field(fields, name), "-") for name in ("sign", "inner")]
    negative = pc.or_(pc.or_(*minus), opened)
    # one sign, one unit, and both parentheses or none
    twice = pc.or_(
        pc.and_(pc.not_equal(before, ""), pc.not_equal(after, "")),
        pc.and_(*(pc.not_equal(_field(fields, name), "") for name in ("sign", "inner"))),
    )
    wrong = pc.or_(twice, pc.xor(opened, closed))
    body = pc.if_else(pc.fill_null(wrong, False), pa.scalar(None, pa.string()), body)
    unit = pc.if_else(pc.equal(before, ""), after, before)
    unit = pc.if_else(pc.equal(unit, ""), pa.scalar(None, pa.string()), unit)
    return NumberParts(body, negative, unit)


def _field(array: pa.Array, name: str) -> pa.Array:
    import pyarrow.compute as pc

    return pc.struct_field(array, name)


def fits(parts: NumberParts, separators: Separators) -> pa.Array:
    """Whether each text is a number with these separators."""
    import pyarrow.compute as pc

    return pc.fill_null(pc.match_substring_regex(parts.body, separators.pattern), False)


def to_floats(text: pa.Array, notation: Notation) -> pa.Array:
    """Cleaned texts as float64; null where the text is not a number in this notation."""
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


# -------------------------------------------------------------------------------------------------
# Dates as text: the order of day, month and year; as days since 1970-01-01. Times of day.


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    "(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    "sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = "(?P<day>0?[1-9]|[12][0-9]|3[01])"
_MONTH = "(?P<month>0?[1-9]|1[0-2])"
_NAMED = rf"(?P<month>{_NAME})\.?"
_YEAR = "(?P<year>[12][0-9]{3}|[0-9]{2})"
_FULL_YEAR = "(?P<year>[12][0-9]{3})"
_TIME = (
    r"(?:[T ,] *(?P<hour>[01]?[0-9]|2[0-4]):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>[0-5][0-9](?:\.[0-9]+)?))? ?(?P<half>(?i:[ap]\.?m\.?)?)"
    r"(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
#: The notation of times of day, beside the orders of dates; they become seconds.
CLOCK = "time"
_CLOCK = (
    r"^(?P<hour>[01]?[0-9]|2[0-4]):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>[0-5][0-9](?:\.[0-9]+)?))? ?(?P<half>(?i:[ap]\.?m\.?)?)(?P<zone>)$"
)


@dataclass(frozen=True)
class DatePattern:
    """An order of day, month and year, and the regular expression of texts in it."""

    order: str
    pattern: str


def _patterns() -> tuple[DatePattern, ...]:
    patterns = [DatePattern("year-first", rf"^{_FULL_YEAR}[-/.]{_MONTH}(?:[-/.]{_DAY}{_TIME})?$")]
    for separator in ("/", "-", r"\."):
        # versions such as 1.2.34 are not dates; with points, the day is always first
        year = _FULL_YEAR if separator == r"\." else _YEAR
        middle = rf"{_DAY}{separator}{_MONTH}{separator}{year}{_TIME}"
        patterns.append(DatePattern("day-first", f"^{middle}$"))
        middle = rf"{_MONTH}{separator}{_DAY}{separator}{year}{_TIME}"
        if separator != r"\.":
            patterns.append(DatePattern("month-first", f"^{middle}$"))
    patterns.append(DatePattern("day-first", rf"^{_DAY}[- .]+{_NAMED}[- .,]+{_YEAR}{_TIME}$"))
    patterns.append(DatePattern("month-first", rf"^{_NAMED}[- ]+{_DAY},? +{_YEAR}{_TIME}$"))
    return tuple(patterns)


#: Orders of dates by separator; ``22.07.22`` has a pattern of its own, with two digits each.
PATTERNS = (
    *_patterns(),
    DatePattern(
        "day-first",
        r"^(?P<day>[0-3][0-9])\.(?P<month>[01][0-9])\.(?P<year>[0-9]{2})" + _TIME + "$",
    ),
)


def to_days(text: pa.Array, order: str) -> Floats:
    """Cleaned texts as days since 1970-01-01; NaN where the text is not a date of this order.

    Times of day become seconds.
    """
    import pyarrow.compute as pc

    days = np.full(len(text), np.nan)
    if order == CLOCK:
        matched = np.asarray(pc.fill_null(pc.match_substring_regex(text, _CLOCK), False))
        if matched.any():
            fields = pc.extract_regex(text.filter(matched), _CLOCK)
            days[matched] = 86400.0 * _fraction(_fields(fields))
        return days
    for pattern in PATTERNS:
        if pattern.order not in (order, "year-first"):
            continue
        matched = np.asarray(pc.fill_null(pc.match_substring_regex(text, pattern.pattern), False))
        matched = matched & np.isnan(days)
        if matched.any():
            days[matched] = _parse_pattern(text.filter(matched), pattern)
    return days


def _parse_pattern(text: pa.Array, pattern: DatePattern) -> Floats:
    import pyarrow.compute as pc

    fields = pc.extract_regex(text, pattern.pattern)
    parts = _fields(fields)
    year = _integers(parts["year"], 1970)
    short = np.asarray(pc.less_equal(pc.utf8_length(parts["year"]), 2))
    # Two-digit years from this one on are of the twentieth century.
    year = np.where(short, np.where(year < 69, 2000, 1900) + year, year)
    month = _months(parts["month"])
    day = _integers(parts["day"], 1)
    months = (year - 1970) * 12 + month - 1
    first = months.astype("M8[M]").astype("M8[D]")
    date = first + (day - 1)
    valid = date.astype("M8[M]").astype(np.int64) == months  # no 31st of February
    days = np.where(valid, date.astype(np.int64).astype(float), np.nan)
    return days + _fraction(parts)


def _fields(array: pa.Array) -> dict[str, pa.Array]:
    import pyarrow.compute as pc

    return {field.name: pc.struct_field(array, field.name) for field in array.type}


def _months(texts: pa.Array) -> NDArray[np.int64]:
    """Months by number, or by the first three letters of an English name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.all(pc.match_substring_regex(texts, "^[0-9]+$")).as_py():
        return _integers(texts, 1)
    short = pc.utf8_slice_codeunits(pc.utf8_lower(texts), 0, 3)
    return np.asarray(pc.index_in(short, pa.array(_MONTHS))).astype(np.int64) + 1


def _integers(texts: pa.Array, absent: int) -> NDArray[np.int64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = pc.if_else(pc.equal(texts, ""), str(absent), texts)
    return np.asarray(pc.cast(filled, pa.int64())).astype(np.int64)


def _fraction(parts: dict[str, pa.Array]) -> Floats:
    """The time of day as part of a day, less the offset of its zone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.any(pc.not_equal(parts["hour"], "")).as_py():
        return np.zeros(len(parts["hour"]))
    hour, minute = _integers(parts["hour"], 0), _integers(parts["minute"], 0)
    seconds = pc.if_else(pc.equal(parts["second"], ""), "0", parts["second"])
    half = np.asarray(pc.utf8_slice_codeunits(pc.utf8_lower(parts["half"]), 0, 1))
    hour = np.where((half == "a") & (hour == 12), 0, hour)
    hour = np.where((half == "p") & (hour < 12), hour + 12, hour)
    total = hour * 3600.0 + minute * 60.0 + np.asarray(pc.cast(seconds, pa.float64()))
    zone = pc.replace_substring_regex(parts["zone"], "[+:Z]", "")  # -0130, 0200
    offset = _integers(zone, 0)
    size = np.abs(offset)
    total = total - np.sign(offset) * (size // 100 * 3600 + size % 100 * 60)
    return np.asarray(total / 86400.0)


# -------------------------------------------------------------------------------------------------
# Texts and numbers that stand for missing values.


#: Texts that are missing values in every column of a file, whether they were announced or not.
SILENT = frozenset(
    {
        *("", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "NULL", "null", "NaN", "nan"),
        *("-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    }
)
#: Texts that are missing values in every column, with a note.
IN_EVERY_COLUMN = frozenset(("?",))
#: Texts that are missing values among numbers and dates, with a note. Among levels they are levels.
AMONG_NUMBERS = IN_EVERY_COLUMN | {
    *("-", "--", "—", "–", ".", "..", "...", "*", "na", "Na", "n.a.", "N.A.", "none", "None"),
    *("NONE", "nil", "missing", "Missing", "unknown", "Unknown", "#DIV/0!", "#VALUE!", "#REF!"),
    *("<NA>", "NaT", "Null"),
}

#: Numbers that stand for missing values where they are far from all others.
SENTINELS = tuple(
    sorted(
        {sign * (10.0**k - 1) for k in range(3, 10) for sign in (1, -1)} | {-99.0, -999.9, -9999.9}
    )
)
#: Other values that a column must have beside a sentinel; with fewer they may be codes.
MIN_DISTINCT = 3


def sentinels_given(na: Iterable[str]) -> tuple[float, ...]:
    """The given missing values that are numbers."""
    values = []
    for token in na:
        try:
            values.append(float(token))
        except ValueError:
            continue
    return tuple(value for value in values if np.isfinite(value))


def without_sentinels(values: Floats, notation: Notation) -> Floats:
    """The same values with NaN in place of sentinels; a copy only where there are some."""
    for sentinel in notation.sentinels:
        here = values == sentinel
        if here.any():
            values = np.where(here, np.nan, values)
    return values


@dataclass
class SentinelTally:
    """Counts of sentinels in one column, and the range of all other values; mergeable by order."""

    count: int = 0
    lowest: float = np.inf
    highest: float = -np.inf
    distinct: set[float] = field(default_factory=set)
    counts: dict[float, int] = field(default_factory=dict)

    def update(self, values: Floats) -> None:
        """Add values of the column; NaN is missing."""
        values = values[~np.isnan(values)]
        self.count += len(values)
        coded = np.isin(values, SENTINELS)
        if coded.any():
            for value, n in zip(*np.unique(values[coded], return_counts=True), strict=True):
                self.counts[float(value)] = self.counts.get(float(value), 0) + int(n)
            values = values[~coded]
        if len(values):
            self.lowest = min(self.lowest, float(values.min()))
            self.highest = max(self.highest, float(values.max()))
            if len(self.distinct) < MIN_DISTINCT:
                self.distinct.update(np.unique(values)[:MIN_DISTINCT].tolist())

    def sentinels(self) -> tuple[float, ...]:
        """Those that are clearly apart from the rest."""
        if len(self.distinct) < MIN_DISTINCT:
            return ()
        return tuple(
            sorted(value for value in self.counts if self.far(value) and self._often(value))
        )

    def far(self, value: float) -> bool:
        """Whether a value is far from all others; more rows can only refute it."""
        spread = self.highest - self.lowest
        if value < 0:  # far below all others, or the only negative number
            return value < self.lowest and (self.lowest - value > spread or self.lowest >= 0)
        return value - self.highest > max(spread, 4 * abs(self.highest))

    def _often(self, value: float) -> bool:
        """Whether a value occurs more than once, unless it is below all others by far."""
        if value < 0 and self.lowest - value > self.highest - self.lowest:
            return True
        # Positive sentinels (days since: 999) occur at least twice and in at most this part of the
        # rows.
        most = self.count if value < 0 else 0.5 * self.count
        return 1 < self.counts[value] <= most


def coded_value(pair: tuple[float, float], known: tuple[float, float]) -> float | None:
    """A value outside the known range that may stand for missing ones; a cheap test of a batch."""
    for value, outside in ((pair[0], pair[0] < known[0]), (pair[1], pair[1] > known[1])):
        if outside and value in SENTINELS:
            return value
    return None
