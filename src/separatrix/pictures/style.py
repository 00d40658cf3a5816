"""How pictures look: one palette, told apart by colour-blind readers, on light and on dark paper.

Pictures are drawn in the light palette. Written as SVG every colour becomes a variable with that
colour as its fallback (see :mod:`separatrix.pictures.svg`), so a page can recolour them.
"""

from __future__ import annotations

import textwrap
from typing import Any

from separatrix.pictures.formatting import Measure

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

#: For things that are told apart: told apart in shades of grey as well, in this order.
SERIES = (BLUE, ORANGE, GREEN, PURPLE, GOLD, SKY)

#: Colour → name of the variable that stands for it in an SVG.
VARIABLES = {
    INK: "ink",
    MUTED: "muted",
    GRID: "grid",
    PAPER: "paper",
    **{colour: f"series-{i}" for i, colour in enumerate(SERIES, 1)},
}

#: Inches; 1 inch is 72 units of the SVG. Narrow, so that letters stay readable on a phone.
WIDTH, HEIGHT = 4.9, 3.4

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
    """Axes with no more ink than they need: two spines, no tick marks, a faint grid."""
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
    """So few that long labels beside each other stay apart."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 3, 4, 5, 10]))


def ink(ax: Any) -> Any:
    """The colour of the letters on these axes, whatever style they were made in."""
    return ax.xaxis.label.get_color()


def plain(text: object, limit: int = 26) -> str:
    """A user's text as matplotlib should draw it: shortened, and never read as a formula."""
    whole = " ".join(str(text).split())
    cut = whole if len(whole) <= limit else whole[: limit - 1].rstrip() + "…"
    return cut.replace("$", r"\$")


def wrapped(text: object, width: int = 18) -> str:
    """A label over two lines where one would be long."""
    lines = textwrap.wrap(plain(text, 2 * width), width) or [""]
    return "\n".join(lines)


def label_measure(axis: Any, known: Measure, *, side: bool = True) -> None:
    """Name the measure on an axis, with the better side if asked; shares in per cent."""
    if known.share:
        from matplotlib.ticker import PercentFormatter

        axis.set_major_formatter(PercentFormatter(1, symbol=" %"))
        if axis.axis_name == "x":
            _few_ticks(axis)
    better = "higher" if known.higher_is_better else "lower"
    axis.set_label_text(f"{known.short} ({better} is better)" if side else known.short)


def log_ticks(ax: Any) -> None:
    """Powers of ten as 10⁻² on the x axis, in ordinary letters."""
    from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_minor_locator(NullLocator())


def _power(value: float) -> str:
    exponent = f"{value:.0e}"
    lead, power = exponent.split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if lead == "1" else f"{lead}·10{raised}"
