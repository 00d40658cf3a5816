"""Dates as text: the order of day, month and year; as days since 1970-01-01. Times of day."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Floats

if TYPE_CHECKING:
    import pyarrow as pa

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
#: Two-digit years from this one on are of the twentieth century.
PIVOT = 69


@dataclass(frozen=True)
class DatePattern:
    """An order of day, month and year, and the regular expression of texts in it."""

    order: str
    pattern: str


def _patterns() -> tuple[DatePattern, ...]:
    found = [DatePattern("year-first", rf"^{_FULL_YEAR}[-/.]{_MONTH}(?:[-/.]{_DAY}{_TIME})?$")]
    for separator in ("/", "-", r"\."):
        # versions such as 1.2.34 are no dates; with points, the day is always first
        year = _FULL_YEAR if separator == r"\." else _YEAR
        middle = rf"{_DAY}{separator}{_MONTH}{separator}{year}{_TIME}"
        found.append(DatePattern("day-first", f"^{middle}$"))
        middle = rf"{_MONTH}{separator}{_DAY}{separator}{year}{_TIME}"
        if separator != r"\.":
            found.append(DatePattern("month-first", f"^{middle}$"))
    found.append(DatePattern("day-first", rf"^{_DAY}[- .]+{_NAMED}[- .,]+{_YEAR}{_TIME}$"))
    found.append(DatePattern("month-first", rf"^{_NAMED}[- ]+{_DAY},? +{_YEAR}{_TIME}$"))
    return tuple(found)


#: Orders of dates by separator; ``22.07.22`` has a pattern of its own, with two digits each.
PATTERNS = (
    *_patterns(),
    DatePattern(
        "day-first",
        r"^(?P<day>[0-3][0-9])\.(?P<month>[01][0-9])\.(?P<year>[0-9]{2})" + _TIME + "$",
    ),
)


@cache
def pattern_of(order: str) -> str:
    """One regular expression for all dates of an order, and those with the year first."""
    if order == CLOCK:
        return _CLOCK
    usable = [p.pattern for p in PATTERNS if p.order in (order, "year-first")]
    return "|".join(re.sub(r"\(\?P<\w+>", "(?:", pattern) for pattern in usable)


def to_days(text: pa.Array, order: str) -> Floats:
    """Cleaned texts as days since 1970-01-01; NaN where the text is no date of this order.

    Times of day become seconds.
    """
    import pyarrow.compute as pc

    days = np.full(len(text), np.nan)
    if order == CLOCK:
        matched = np.asarray(pc.fill_null(pc.match_substring_regex(text, _CLOCK), False))
        if matched.any():
            found = pc.extract_regex(text.filter(matched), _CLOCK)
            days[matched] = 86400.0 * _fraction(_fields(found))
        return days
    for pattern in PATTERNS:
        if pattern.order not in (order, "year-first"):
            continue
        matched = np.asarray(pc.fill_null(pc.match_substring_regex(text, pattern.pattern), False))
        matched = matched & np.isnan(days)
        if matched.any():
            days[matched] = _parsed(text.filter(matched), pattern)
    return days


def _parsed(text: pa.Array, pattern: DatePattern) -> Floats:
    import pyarrow.compute as pc

    found = pc.extract_regex(text, pattern.pattern)
    parts = _fields(found)
    year = _integers(parts["year"], 1970)
    short = np.asarray(pc.less_equal(pc.utf8_length(parts["year"]), 2))
    year = np.where(short, np.where(year < PIVOT, 2000, 1900) + year, year)
    month = _months(parts["month"])
    day = _integers(parts["day"], 1)
    months = (year - 1970) * 12 + month - 1
    first = months.astype("M8[M]").astype("M8[D]")
    date = first + (day - 1)
    valid = date.astype("M8[M]").astype(np.int64) == months  # no 31st of February
    days = np.where(valid, date.astype(np.int64).astype(float), np.nan)
    return days + _fraction(parts)


def _fields(found: pa.Array) -> dict[str, pa.Array]:
    import pyarrow.compute as pc

    return {field.name: pc.struct_field(found, field.name) for field in found.type}


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
