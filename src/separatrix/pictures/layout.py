"""Layout of a figure with one plot: the axes as large as their labels leave room for.

Measuring text takes half of the time of a picture, and matplotlib's constrained layout measures all
of it twice. Margins do not depend on the size of the axes unless the ticks do, so one measurement
is enough where the ticks stay the same.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.layout_engine import LayoutEngine
from matplotlib.transforms import Bbox

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Inches around everything.
PADDING = 3 / 72
#: Margins of a usual plot, as fractions of the figure: the ticks are then right from the start.
START = {"left": 0.13, "right": 0.98, "bottom": 0.14, "top": 0.97}
#: Measurements at most.
MOST_PASSES = 3


class MeasuredMargins(LayoutEngine):
    """Margins by measurement, repeated only while the ticks change with the size of the axes."""

    _adjust_compatible = True
    _colorbar_gridspec = True

    def execute(self, fig: Figure) -> None:
        """Place the axes of a figure."""
        width, height = fig.get_size_inches()
        renderer = RendererSVG(72 * width, 72 * height, io.StringIO(), image_dpi=int(fig.dpi))
        fig.subplots_adjust(**START)
        ticks = _ticks(fig)
        for _ in range(MOST_PASSES):
            _place(fig, renderer, PADDING / width, PADDING / height)
            before, ticks = ticks, _ticks(fig)
            if ticks == before:
                return


def _place(fig: Figure, renderer: Any, horizontal: float, vertical: float) -> None:
    """Measure what is around the axes, and leave as much room for it."""
    inside = fig.axes[0].get_position(original=True)
    found = (ax.get_tightbbox(renderer, for_layout_only=True) for ax in fig.axes)
    around = Bbox.union([box for box in found if box is not None])
    around = around.transformed(fig.transFigure.inverted())
    left, right = inside.x0 - around.x0, around.x1 - inside.x1
    bottom, top = inside.y0 - around.y0, around.y1 - inside.y1
    sides = (horizontal + left, 1 - horizontal - right, vertical + bottom, 1 - vertical - top)
    if sides[0] < sides[1] and sides[2] < sides[3]:  # else the labels leave no room: as it is
        fig.subplots_adjust(**dict(zip(("left", "right", "bottom", "top"), sides, strict=True)))


def _ticks(fig: Figure) -> list[list[float]]:
    return [list(axis.get_majorticklocs()) for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)]
