"""Many points: each a dot, or, where dots would only hide one another, how dense they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.pictures.style import BLUE, MUTED
from separatrix.rows.block import Floats

#: Above so many points the density is drawn.
MANY = 5_000

_DOT = 3.2
_CELLS = (64, 44)
_SHADES = (0.22, 0.36, 0.5, 0.66, 0.82, 1.0)


def scatter(
    ax: Any, x: Floats, y: Floats, *, many: int = MANY, color: str = BLUE, clouds: int = 1
) -> None:
    """Dots, or the density if there are more than ``many``; coarser where ``clouds`` overlap."""
    if x.size > many:
        across, up = (max(8, round(cells / clouds**0.5)) for cells in _CELLS)
        _density(ax, x, y, color, (across, up))
        return
    alpha = 0.75 if x.size <= 200 else 0.5 if x.size <= 1000 else 0.3
    (dots,) = ax.plot(x, y, "o", ms=_DOT, mew=0, alpha=alpha, color=color)
    dots.set_gid(f"dots-{_DOT}")


def _density(ax: Any, x: Floats, y: Floats, color: str, cells: tuple[int, int]) -> None:
    """Cells shaded by the logarithm of their count; all cells of a shade are one path."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    counts, x_edges, y_edges = np.histogram2d(x, y, bins=cells)
    level = np.log(np.maximum(counts, 1)) / np.log(max(counts.max(), 2))
    shade = np.minimum((level * len(_SHADES)).astype(int), len(_SHADES) - 1)
    for i, alpha in enumerate(_SHADES):
        boxes = _runs((counts > 0) & (shade == i), x_edges, y_edges)
        if not len(boxes):
            continue
        left, right, low, high = boxes.T
        corners = np.stack([left, low, right, low, right, high, left, high, left, low], axis=1)
        codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
        path = Path(corners.reshape(-1, 2), np.tile(codes, len(boxes)))
        patch = PathPatch(path, facecolor=color, alpha=alpha, linewidth=0)
        patch.set_gid("cells")
        ax.add_patch(patch)
    ax.autoscale_view()


def _runs(cells: NDArray[np.bool_], x_edges: Floats, y_edges: Floats) -> Floats:
    """Left, right, low, high of every unbroken run of cells within a row."""
    padded = np.pad(cells.astype(np.int8), ((1, 1), (0, 0)))
    step = np.diff(padded, axis=0).T
    row, start = np.nonzero(step == 1)
    stop = np.nonzero(step == -1)[1]
    return np.stack([x_edges[start], x_edges[stop], y_edges[row], y_edges[row + 1]], axis=1)


def running_mean(x: Floats, y: Floats, least: int = 40) -> tuple[Floats, Floats] | None:
    """Means of y over groups of neighbours in x, of equal size: where a trend would show."""
    if x.size < least or np.ptp(x) == 0:
        return None
    order = np.argsort(x, kind="stable")
    groups = np.array_split(order, min(12, x.size // (least // 4)))
    return (
        np.array([x[group].mean() for group in groups]),
        np.array([y[group].mean() for group in groups]),
    )


def worst(size: Floats, count: int = 3) -> NDArray[np.int64]:
    """Positions of the largest values, largest first; nothing where there is no number."""
    order = np.argsort(-np.nan_to_num(size, nan=-np.inf), kind="stable")[:count]
    return order[np.isfinite(size[order])]


def rule(ax: Any, value: float, *, across: bool = True) -> None:
    """A thin line of reference, level or upright."""
    (ax.axhline if across else ax.axvline)(value, color=MUTED, linewidth=0.9)
