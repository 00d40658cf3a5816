"""Style of the plots: one palette, safe for color-blind readers, on light and on dark pages.

Plots are drawn in the light palette. In SVG every color becomes a CSS variable with that color as
its fallback (see :mod:`separatrix.pictures.display`), so that a page can recolor them.
"""

from __future__ import annotations

import math
import textwrap
from datetime import UTC, datetime, timedelta
from typing import Any

from separatrix.formatting import ScoreInfo, number

INK = "#1f2328"
MUTED = "#6a7280"
GRID = "#e2e5ea"
PAPER = "#fefefe"
BLUE = "#0f6cb0"
ORANGE = "#c8550c"
GREEN = "#0a8a66"
PURPLE = "#a8488f"
GOLD = "#9a7400"
SKY = "#3d9bd1"

#: Qualitative palette; the colors differ in lightness as well, in this order.
SERIES = (BLUE, ORANGE, GREEN, PURPLE, GOLD, SKY)

#: Twenty colors for many groups: six, then six that go with squares, six with triangles, two with
#: diamonds. Colors of one shape differ for color-blind readers, too.
GROUPS = (
    *SERIES,
    *("#18319e", "#92b6ce", "#9e7992", "#49ce6d", "#790000", "#55496d"),
    *("#615500", "#610c6d", "#ce92ff", "#ff799e", "#796de7", "#ff9200"),
    *("#869e6d", "#00493d"),
)
SHAPES = "os^D"


def group_style(i: int) -> tuple[str, str]:
    """Color and marker of the i-th group; both begin anew after the twentieth."""
    place = i % len(GROUPS)
    return GROUPS[place], SHAPES[place // len(SERIES)]


#: Color → name of the CSS variable that stands for it in an SVG.
VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    PAPER: "paper",
    **{color: f"series-{i}" for i, color in enumerate(GROUPS, 1)},
}

#: Inches; 1 inch is 72 units of the SVG. Narrow, so that text stays readable on a phone.
WIDTH, HEIGHT = 4.9, 3.4
#: Width and height of a plane of rows.
TALL = 4.9, 3.9

SETTINGS: dict[str, Any] = {
    "font.size": 9.5,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.7,
    "lines.linewidth": 1.6,
    "svg.fonttype": "none",
    "svg.hashsalt": "separatrix",
    "path.simplify": True,
    "path.simplify_threshold": 0.2,
}


def style_axes(ax: Any, *, grid: str | None = "both") -> None:
    """Two spines, no tick marks, a light grid, thousands separators."""
    for axis in (ax.xaxis, ax.yaxis):
        _thousands(axis)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=0)
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(True, axis=grid, color=GRID, linewidth=0.7)


def _thousands(axis: Any) -> None:
    """Large round numbers with separators: 400,000 rather than 400000."""
    from matplotlib.ticker import FuncFormatter, ScalarFormatter

    if not isinstance(axis.get_major_formatter(), ScalarFormatter):
        return
    low, high = sorted(axis.get_view_interval())
    if 1e4 <= max(-low, high) < 1e7 and high - low >= 100:
        axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}".replace("-", "−")))
        if axis.axis_name == "x":
            _few_ticks(axis)


def _few_ticks(axis: Any) -> None:
    """At most five ticks, so that long labels do not overlap."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 3, 4, 5, 10]))


def text_color(ax: Any) -> Any:
    """The text color of these axes, whatever style they were created in."""
    return ax.xaxis.label.get_color()


def label_text(text: object, limit: int = 26) -> str:
    """A name from the data as a label: shortened, and never parsed as mathtext."""
    whole = " ".join(str(text).split())
    cut = whole if len(whole) <= limit else whole[: limit - 1].rstrip() + "…"
    return cut.replace("$", r"\$")


def wrapped_label(text: object, width: int = 18) -> str:
    """A label over two lines where one would be too long, broken at spaces and underscores."""
    lines = textwrap.wrap(label_text(text, 2 * width).replace("_", "_ "), width) or [""]
    return "\n".join(line.replace("_ ", "_") for line in lines)


def label_score_axis(axis: Any, score: ScoreInfo, *, direction: bool = True) -> None:
    """Label an axis with a score, with the better direction on request; rates in per cent."""
    if score.is_rate:
        from matplotlib.ticker import PercentFormatter

        axis.set_major_formatter(PercentFormatter(1, symbol=" %"))
        if axis.axis_name == "x":
            _few_ticks(axis)
    better = "higher" if score.higher_is_better else "lower"
    axis.set_label_text(f"{score.short} ({better} is better)" if direction else score.short)


def percent_axis(axis: Any) -> None:
    """Proportions in per cent, without zeros after the point."""
    from matplotlib.ticker import FuncFormatter

    axis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g} %".replace("-", "−")))


def score_axis_right(ax: Any, score: ScoreInfo, color: str) -> Any:
    """A second vertical axis for a score, at the right and in the color of its line."""
    other = ax.twinx()
    style_axes(other, grid=None)
    other.spines["right"].set_visible(True)
    label_score_axis(other.yaxis, score, direction=False)
    other.yaxis.label.set_color(color)
    return other


def penalty_axis(ax: Any) -> None:
    """A logarithmic x axis of penalties, from strong to weak."""
    log_axis(ax)
    ax.invert_xaxis()
    ax.set_xlabel("penalty (strong to weak)")


def log_axis(ax: Any) -> None:
    """A logarithmic x axis with powers of ten as plain text, 10⁻²; 1, 2, 5 in a narrow range."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    def narrow() -> bool:
        low, high = sorted(ax.get_xlim())  # of penalties the axis is inverted
        powers = math.floor(math.log10(high)) - math.ceil(math.log10(low)) + 1
        return bool(high < 30 * low or powers < 2)

    class Decades(LogLocator):  # type: ignore[misc]
        def __call__(self) -> Any:
            self.set_params(subs=(1.0, 2.0, 5.0) if narrow() else (1.0,))
            return super().__call__()

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(Decades())
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda x, _: f"{x:g}" if narrow() and 1e-3 <= x < 1e4 else _power(x))
    )
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_minor_locator(NullLocator())


def _power(value: float) -> str:
    lead, power = f"{value:.3e}".split("e")
    lead = lead.rstrip("0").rstrip(".")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if lead == "1" else f"{lead}·10{raised}"


# -------------------------------------------------------------------------------------------------
# Values of a column as text and on an axis: numbers, years, dates and times of day.


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Days from the year 1 to the year 9999: what a date can be.
_FIRST, _LAST = -719_162, 2_932_896


def value_text(value: float, display: str = "", digits: int = 3) -> str:
    """A value as its column is displayed: ``2014``, ``2014-03-01``, ``08:30``, ``1,250``."""
    if not math.isfinite(value):
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
