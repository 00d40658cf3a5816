"""Drawing of a decision surface: filled regions, and contours between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.pictures.style import text_color
from separatrix.rows.block import Floats

#: Contours are traced on a grid so many times as fine, interpolated linearly.
_REFINEMENT = 3


def fill_regions(
    ax: Any, x: Floats, y: Floats, utility: Floats, colors: Sequence[str], alphas: Sequence[float]
) -> None:
    """Fill where each answer has the greatest ``utility[i, j, answer]`` at (x[j], y[i])."""
    for answer, (color, alpha) in enumerate(zip(colors, alphas, strict=True)):
        advantage = advantage_of(utility, answer)
        if advantage.max() > 0:
            levels = [0, 2 * float(advantage.max())]
            ax.contourf(x, y, advantage, levels=levels, colors=[color], alpha=alpha)


def draw_contour(
    ax: Any, x: Floats, y: Floats, values: Floats, level: float = 0.0, style: str = "solid"
) -> None:
    """The contour ``values`` = ``level``, where there is one."""
    from contourpy import contour_generator

    lines: Any = contour_generator(x, y, values).lines(level)
    for line in lines:
        look = {"color": text_color(ax), "linewidth": 1.15, "linestyle": style}
        ax.plot(line[:, 0], line[:, 1], **look)


def advantage_of(utility: Floats, answer: int) -> Floats:
    """Utility of an answer minus that of the best other one."""
    others = np.delete(utility, answer, axis=2).max(axis=2)
    return np.asarray(utility[:, :, answer] - others)


def refined(x: Floats, y: Floats, utility: Floats) -> tuple[Floats, Floats, Floats]:
    """Linear interpolation on a finer grid, so that regions that meet in a point look so."""
    fine_x, fine_y = (
        np.interp(np.arange(_REFINEMENT * (len(at) - 1) + 1) / _REFINEMENT, np.arange(len(at)), at)
        for at in (x, y)
    )
    for axis, count in ((0, len(fine_y)), (1, len(fine_x))):
        at = np.arange(count) / _REFINEMENT
        left = np.minimum(at.astype(int), utility.shape[axis] - 2)
        part = (at - left).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        low, high = (np.take(utility, left + step, axis=axis) for step in (0, 1))
        utility = (1 - part) * low + part * high
    return fine_x, fine_y, utility
