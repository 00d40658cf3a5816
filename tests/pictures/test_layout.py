"""Axes as large as their labels leave room for, by one measurement where that is enough."""

from __future__ import annotations

import io

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from separatrix.pictures import svg as layout
from separatrix.pictures.style import SETTINGS, style_axes
from separatrix.pictures.svg import MeasuredMargins


def plain(ax) -> None:
    ax.plot([0, 1000], [0, 123_456])
    style_axes(ax)
    ax.set_xlabel("rows")
    ax.set_ylabel("root mean squared error")


def names(ax) -> None:
    ax.barh(["a very long name of a level", "short"], [3, 5])
    ax.set_title("two\nlines")


def twins(ax) -> None:
    plain(ax)
    other = ax.twinx()
    other.plot([0, 1000], [1e6, 3e6])
    other.set_ylabel("at the right")
    ax.secondary_xaxis("top").set_xlabel("at the top")


def drawn(draw, engine, size=(4.9, 3.4)):
    with rc_context(SETTINGS):
        figure = Figure(figsize=size, layout=engine)
        draw(figure.add_subplot())
        FigureCanvasSVG(figure).print_svg(io.StringIO())
    box = figure.axes[0].get_position(original=True)
    return figure, 72 * np.array(size * 2) * [box.x0, box.y0, box.x1, box.y1]


@pytest.mark.parametrize("draw", [plain, names, twins])
@pytest.mark.parametrize("size", [(4.9, 3.4), (4.9, 8.0)])
def test_as_constrained_layout_places_them(draw, size) -> None:
    _, expected = drawn(draw, "constrained", size)
    _, found = drawn(draw, MeasuredMargins(), size)
    np.testing.assert_allclose(found, expected, atol=1.5)  # points


def test_text_is_measured_once_unless_the_ticks_change(monkeypatch) -> None:
    passes = []
    place = layout._place
    monkeypatch.setattr(layout, "_place", lambda *a: (passes.append(1), place(*a)))
    drawn(plain, MeasuredMargins())
    assert len(passes) == 1
    monkeypatch.setattr(layout, "START", {"left": 0.45, "right": 0.5, "bottom": 0.14, "top": 0.97})
    drawn(plain, MeasuredMargins())
    assert len(passes) > 2


def test_labels_that_leave_no_room_are_no_error() -> None:
    figure, _ = drawn(lambda ax: ax.set_yticks([0], ["x" * 300]), MeasuredMargins())
    box = figure.axes[0].get_position()
    assert box.x0 < box.x1
