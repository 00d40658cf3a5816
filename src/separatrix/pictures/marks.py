"""Scatter plots with labeled points: dots, or the density where dots would hide one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.formatting import join_words, number
from separatrix.pictures.style import BLUE, MUTED, ORANGE, PAPER, text_color

#: Above so many points the density is drawn.
MAX_POINTS = 5_000

#: Coordinates of annotations: x in data and y as a fraction of the axes, and the reverse.
ABOVE, BESIDE = ("data", "axes fraction"), ("axes fraction", "data")

_SHADES = (0.22, 0.36, 0.5, 0.66, 0.82, 1.0)


def scatter(
    ax: Any,
    x: Floats,
    y: Floats,
    *,
    max_points: int = MAX_POINTS,
    color: str = BLUE,
    marker: str = "o",
    groups: int = 1,
) -> None:
    """Markers, or the density of more than ``max_points``; coarser where ``groups`` overlap."""
    if x.size > max_points:
        # Cells of the density, across and up.
        columns, rows = (max(8, round(cells / groups**0.5)) for cells in (64, 44))
        _density(ax, x, y, color, (columns, rows))
        return
    alpha = 0.75 if x.size <= 200 else 0.5 if x.size <= 1000 else 0.3
    dot = 3.2  # diameter of a dot
    (dots,) = ax.plot(x, y, marker, ms=dot, mew=0, alpha=alpha, color=color)
    dots.set_gid(f"dots-{dot}{marker}")


def _density(ax: Any, x: Floats, y: Floats, color: str, cells: tuple[int, int]) -> None:
    """A two-dimensional histogram, shaded by log counts."""
    edges = [bin_edges(x, cells[0]), bin_edges(y, cells[1])]
    counts, x_edges, y_edges = np.histogram2d(x, y, bins=edges)
    level = np.log(np.maximum(counts, 1)) / np.log(max(counts.max(), 2))
    shade = np.minimum((level * len(_SHADES)).astype(int), len(_SHADES) - 1)
    for i, alpha in enumerate(_SHADES):
        fill_boxes(ax, _runs((counts > 0) & (shade == i), x_edges, y_edges), color, alpha)
    ax.autoscale_view()


def bin_edges(values: Floats, bins: int) -> Floats:
    """Equal bins over the range of the values, which is widened where they hardly differ."""
    low, high = float(values.min()), float(values.max())
    least = 1e-9 * max(abs(low), abs(high)) or 1.0
    if high - low < least:
        low, high = low - least / 2, high + least / 2
    return np.linspace(low, high, bins + 1)


def _runs(cells: NDArray[np.bool_], x_edges: Floats, y_edges: Floats) -> Floats:
    """Left, right, bottom, top of every unbroken run of cells within a row."""
    padded = np.pad(cells.astype(np.int8), ((1, 1), (0, 0)))
    step = np.diff(padded, axis=0).T
    row, start = np.nonzero(step == 1)
    stop = np.nonzero(step == -1)[1]
    return np.stack([x_edges[start], x_edges[stop], y_edges[row], y_edges[row + 1]], axis=1)


def fill_boxes(ax: Any, boxes: Floats, color: str, alpha: float) -> None:
    """Rectangles (left, right, bottom, top) of one shade as one path: few nodes in the SVG."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not len(boxes):
        return
    left, right, low, high = boxes.T
    corners = np.stack([left, low, right, low, right, high, left, high, left, low], axis=1)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    path = Path(corners.reshape(-1, 2), np.tile(codes, len(boxes)).tolist())
    patch = PathPatch(path, facecolor=color, alpha=alpha, linewidth=0)
    patch.set_gid("cells")
    ax.add_patch(patch)


def running_mean(x: Floats, y: Floats, min_rows: int = 40) -> tuple[Floats, Floats] | None:
    """Means of x and y over groups of equal size along x; None for few rows or a constant x."""
    if x.size < min_rows or np.ptp(x) == 0:
        return None
    order = np.argsort(x, kind="stable")
    groups = np.array_split(order, min(12, x.size // (min_rows // 4)))
    return (
        np.array([x[group].mean() for group in groups]),
        np.array([y[group].mean() for group in groups]),
    )


def largest(values: Floats, count: int = 3) -> Ints:
    """Positions of the largest values, in decreasing order; NaN and infinity are left out."""
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")[:count]
    return order[np.isfinite(values[order])]


def reference_line(ax: Any, value: float, *, horizontal: bool = True) -> None:
    """A thin horizontal or vertical line."""
    (ax.axhline if horizontal else ax.axvline)(value, color=MUTED, linewidth=0.9)


def annotate(
    ax: Any,
    text: str,
    at: tuple[float, float],
    offset: tuple[float, float] = (0, 0),
    coordinates: Any = "data",
    **look: Any,
) -> None:
    """Small text at a point, moved by ``offset`` in points."""
    options = {"fontsize": 8.5, "textcoords": "offset points", **look}
    ax.annotate(text, at, xytext=offset, xycoords=coordinates, **options)


def mark_value(ax: Any, x: float, text: str, *, ha: str = "center", zorder: float = 0.5) -> None:
    """A dashed vertical line with a word above it, such as the chosen penalty."""
    ax.axvline(x, color=text_color(ax), linewidth=1, linestyle=(0, (4, 3)), zorder=zorder)
    annotate(ax, text, (x, 1), (0, 3), ABOVE, ha=ha)


def mark_point(ax: Any, x: float, y: float, label: str, *, color: str = ORANGE) -> None:
    """A ring at a point, such as the minimum of a curve, with a line in the legend."""
    look = {"mfc": PAPER, "mec": color, "mew": 1.6, "linestyle": "none"}
    ax.plot([x], [y], marker="o", ms=6.5, label=label, **look)


def fill_band(
    ax: Any, x: Floats, low: Floats, high: Floats, *, color: str = BLUE, label: str | None = None
) -> None:
    """A light band between two curves."""
    ax.fill_between(x, low, high, color=color, alpha=0.18, linewidth=0, label=label)


def annotate_points(ax: Any, x: Floats, y: Floats, labels: Sequence[object]) -> None:
    """A ring around each point and its label beside it, towards the middle of the axes."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    heights = spread_labels(y, 0.055 * (high - low))
    for a, b, height, label in zip(x, y, heights, labels, strict=True):
        ax.plot([a], [b], "o", ms=6, mfc="none", mec=text_color(ax), mew=0.8)
        inward = -1 if a > left + 0.7 * (right - left) else 1
        side = "left" if inward > 0 else "right"
        annotate(ax, str(label), (a, height), (6 * inward, 0), ha=side, va="center")


def spread_labels(positions: Floats, distance: float) -> Floats:
    """The nearest positions (least squares) in the same order that are ``distance`` apart.

    With yᵢ = zᵢ + i·distance the constraint is that z is nondecreasing: isotonic regression.
    """
    from scipy.optimize import isotonic_regression

    if positions.size == 0:
        return positions
    order = np.argsort(positions, kind="stable")
    steps = distance * np.arange(positions.size)
    apart = np.empty(positions.size)
    apart[order] = isotonic_regression(positions[order] - steps).x + steps
    return apart


# -------------------------------------------------------------------------------------------------
# The rows of largest value: named in a caption, and marked on axes.


Labels = Sequence[object] | None


def row_names(labels: Labels, count: int) -> Sequence[object]:
    """Labels of the rows by position, whatever their index; without labels the positions."""
    return range(count) if labels is None or len(labels) != count else list(labels)


def name_row(name: object) -> str:
    """A row in a sentence: by its name, or as the row of this number."""
    return f"row {name}" if str(name).isdecimal() else str(name)


def largest_rows(values: Floats, labels: Labels, digits: int) -> str:
    """The three rows of largest absolute value, each with its value, in words."""
    names = row_names(labels, values.size)
    top = largest(np.abs(values))
    return join_words([f"{name_row(names[i])} ({number(values[i], digits)})" for i in top])


def mark_largest(ax: Any, x: Floats, y: Floats, size: Floats, labels: Labels) -> None:
    """A ring and a name at the three points of largest absolute ``size``."""
    names = row_names(labels, size.size)
    top = largest(np.abs(size))
    annotate_points(ax, x[top], y[top], [names[i] for i in top])
