"""Values of a column as text and on an axis: numbers, years, dates and times of day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from separatrix.pictures.formatting import number
from separatrix.pictures.style import WIDTH, label_text

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Days from the year 1 to the year 9999: what a date can be.
_FIRST, _LAST = -719_162, 2_932_896


def value_text(value: float, display: str = "", digits: int = 3) -> str:
    """A value as its column is displayed: ``2014``, ``2014-03-01``, ``08:30``, ``1,250``."""
    if not np.isfinite(value):
        return number(value)
    if display == "year":
        return f"{value:.0f}".replace("-", "−")
    if display in ("date", "datetime") and _FIRST <= value <= _LAST:
        moment = _EPOCH + timedelta(days=float(value))
        midnight = display == "date" or float(value).is_integer()
        return moment.strftime("%Y-%m-%d" if midnight else "%Y-%m-%d %H:%M")
    if display == "time" and 0 <= value <= 86_400:
        return _clock(value)
    return number(value, digits)


def short_name(column: object, limit: int = 40) -> str:
    """The name of a column in a sentence or a heading."""
    return label_text(column, limit).replace(r"\$", "$")


def column_size(levels: int) -> tuple[float, float]:
    """Width and height of a plot over a column: a line for each level, or an axis of numbers."""
    return (WIDTH, 0.95 + 0.26 * max(3, levels)) if levels else (WIDTH, 2.7)


def _clock(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def value_axis(axis: Any, display: str = "") -> None:
    """Ticks of an axis with the values of a column; call it after the limits are set."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

    low, high = sorted(axis.get_view_interval())
    if display == "year":
        axis.set_major_locator(MaxNLocator(6, integer=True))
        axis.set_major_formatter(FuncFormatter(lambda v, _: value_text(v, "year")))
    elif display in ("date", "datetime") and low >= _FIRST and high <= _LAST:
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=6, tz=UTC)
        axis.set_major_locator(locator)
        axis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC, show_offset=False))
    elif display == "time" and high - low > 3_600:
        hours = next(h for h in (1, 2, 3, 4, 6, 12, 24) if (high - low) / (3_600 * h) <= 7)
        axis.set_major_locator(MultipleLocator(3_600 * hours))
        axis.set_major_formatter(FuncFormatter(lambda v, _: _clock(v) if v >= 0 else ""))
