"""Plots as small ``<svg>`` elements that can be embedded in any page: one, or many at once.

matplotlib's output is rewritten: colors become CSS variables with a fallback, fonts are the
page's, the points of a scatter plot become a few paths, coordinates are rounded to a tenth of a
unit, and ids are unique.
"""

from __future__ import annotations

import io
import json
import os
import re
import select
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.layout_engine import LayoutEngine
from matplotlib.transforms import Bbox

from separatrix.pictures.display import Display
from separatrix.pictures.style import SETTINGS, VARIABLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Paths of markers from their middle; dots are strokes.
_SHAPES = {
    "s": "m-1.4-1.4h2.8v2.8h-2.8z",
    "^": "m0-2l1.9 3.3h-3.8z",
    "D": "m0-2.1l2.1 2.1l-2.1 2.1l-2.1-2.1z",
}
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_COLOR = re.compile("|".join(VARIABLES), re.IGNORECASE)
#: Characters that no XML document may hold, even escaped; names of columns may.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def to_svg(display: Display, prefix: str) -> str:
    """The plot as an ``<svg role="img">`` with ``<title>`` and ``<desc>``."""
    root = ET.fromstring(printable(_matplotlib_svg(display)))
    _strip_namespaces(root)
    for points in [g for g in root.iter("g") if g.get("id", "").startswith("dots-")]:
        _merge_points(points)
    for cells in [g for g in root.iter("g") if g.get("id") == "cells"]:
        cells.set("shape-rendering", "crispEdges")
    for element in root.iter():
        _shorten(element)
    _rename_ids(root, prefix)
    _remove_empty(root)
    box = root.get("viewBox", "")
    root.attrib = {
        "class": "picture",
        "viewBox": box,
        "role": "img",
        "aria-labelledby": f"{prefix}-title {prefix}-desc",
        "stroke-linejoin": "round",
        "font-family": "system-ui, sans-serif",
    }
    for tag, text in (("desc", display.description), ("title", display.heading)):
        node = ET.Element(tag, {"id": f"{prefix}-{tag}"})
        node.text = printable(text)
        root.insert(0, node)
    return ET.tostring(root, encoding="unicode")


def printable(text: str) -> str:
    """The text with a replacement character for each that XML has no place for."""
    return _UNPRINTABLE.sub("\ufffd", text)


def _matplotlib_svg(display: Display) -> str:
    """matplotlib's SVG of the plot; deterministic."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    page = io.StringIO()
    with rc_context(SETTINGS), warnings.catch_warnings():
        # Glyphs that matplotlib's font lacks are written as text: the reader's font has them.
        warnings.filterwarnings("ignore", message="Glyph")
        figure = Figure(figsize=display.size, layout=MeasuredMargins())
        ax = figure.add_subplot()
        display._draw(ax)
        figure.patch.set_visible(False)
        ax.patch.set_visible(False)
        FigureCanvasSVG(figure).print_svg(page, metadata={"Date": None, "Creator": None})
    return page.getvalue()


def _strip_namespaces(root: ET.Element) -> None:
    """Tags and attributes without namespace, as in HTML."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for key in [k for k in element.attrib if k.startswith("{")]:
            element.set(key.rpartition("}")[2], element.attrib.pop(key))


def _merge_points(scattered: ET.Element) -> None:
    """Replace one element per point by a few paths: strokes with round caps, or shapes."""
    name = scattered.get("id", "").removeprefix("dots-")
    width, shape = name[:-1], _SHAPES.get(name[-1])
    uses = list(scattered.iter("use"))
    if not uses:
        return
    parent = next(g for g in scattered.iter("g") if any(child.tag == "use" for child in g))
    style = dict(re.findall(r"([\w-]+): ([^;]+)", uses[0].get("style", "")))
    at = [f"M{float(u.get('x', 0)):.1f} {float(u.get('y', 0)):.1f}" for u in uses]
    points = [f"{place}{shape or 'h0'}" for place in at]
    for child in list(scattered):
        scattered.remove(child)
    group = ET.SubElement(scattered, "g", {"clip-path": parent.get("clip-path", "none")})
    opacity = style.get("fill-opacity", 1)
    if shape:
        group.set("style", f"fill: {style['fill']}; fill-opacity: {opacity}")
    else:
        group.set("style", f"stroke: {style['fill']}; stroke-opacity: {opacity}")
        group.attrib |= {"stroke-width": width, "stroke-linecap": "round", "fill": "none"}
    # Points of one scatter plot are split into so many paths, so that overlaps look darker.
    layers = 8
    for layer in range(min(layers, len(points))):
        ET.SubElement(group, "path", {"d": "".join(points[layer::layers])})


def _shorten(element: ET.Element) -> None:
    """Shorter numbers, variables for colors, the page's fonts, no empty space between tags."""
    if element.text and not element.text.strip():
        element.text = None
    element.tail = None
    if element.get("transform", "").startswith("rotate(-0 "):
        del element.attrib["transform"]
    for key in ("d", "x", "y", "transform", "width", "height", "points"):
        if key in element.attrib:
            element.set(key, _round_numbers(element.attrib[key]))
    style = element.get("style")
    if style is None:
        return
    style = re.sub(r"font: ([^;']*?)([\d.]+)px [^;]*", _font, style)
    style = re.sub(r"font-family: [^;]*;? ?", "", style)
    style = re.sub(r"stroke-(?:linecap|linejoin|miterlimit): [^;]+;? ?", "", style)
    element.set("style", _COLOR.sub(_variable, style).strip())


def _round_numbers(text: str) -> str:
    short = _NUMBER.sub(lambda m: f"{float(m[0]):.1f}".removesuffix(".0"), text)
    return re.sub(r"\s*\n\s*|\s*([MLCQzZ])\s*", r"\1", short).strip()


def _font(match: re.Match[str]) -> str:
    weight = f"font-weight: {match[1].strip()}; " if match[1].strip() else ""
    return f"{weight}font-size: {float(match[2]):g}px"


def _variable(match: re.Match[str]) -> str:
    color = match[0].lower()
    return f"var(--{VARIABLES[color]}, {color})"


def _rename_ids(root: ET.Element, prefix: str) -> None:
    """Keep only the ids that something points to, each with the prefix of this picture."""
    wanted: set[str] = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            wanted.update(_REFERENCE.findall(value))
            if key == "href":
                wanted.add(value.removeprefix("#"))
    names = {name: f"{prefix}-{i}" for i, name in enumerate(sorted(wanted))}
    for element in root.iter():
        identifier = element.attrib.pop("id", None)
        if identifier in names:
            element.set("id", names[identifier])
        for key, value in list(element.attrib.items()):
            if key == "href":
                element.set(key, "#" + names[value.removeprefix("#")])
            elif "url(#" in value:
                element.set(key, _REFERENCE.sub(lambda m: f"url(#{names[m[1]]})", value))


def _remove_empty(element: ET.Element) -> None:
    """Take out what draws nothing: metadata, page-wide styles, groups without content."""
    for child in list(element):
        _remove_empty(child)
        empty = child.tag in ("g", "defs") and len(child) == 0
        if empty or child.tag in ("metadata", "style"):
            element.remove(child)


# -------------------------------------------------------------------------------------------------
# Layout of a figure with one plot: the axes as large as their labels leave room for.
#
# Measuring text takes half of the time of a picture, and matplotlib's constrained layout measures
# all of it twice. Margins do not depend on the size of the axes unless the ticks do, so one
# measurement is enough where the ticks stay the same.


#: Margins of a usual plot, as fractions of the figure: the ticks are then right from the start.
START = {"left": 0.13, "right": 0.98, "bottom": 0.14, "top": 0.97}


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
        # Measurements at most.
        padding = 3 / 72  # inches around everything
        for _ in range(3):
            _place(fig, renderer, padding / width, padding / height)
            before, ticks = ticks, _ticks(fig)
            if ticks == before:
                return


def _place(fig: Figure, renderer: Any, horizontal: float, vertical: float) -> None:
    """Measure what is around the axes, and leave as much room for it."""
    inside = fig.axes[0].get_position(original=True)
    boxes = (ax.get_tightbbox(renderer, for_layout_only=True) for ax in fig.axes)
    around = Bbox.union([box for box in boxes if box is not None])
    around = around.transformed(fig.transFigure.inverted())
    left, right = inside.x0 - around.x0, around.x1 - inside.x1
    bottom, top = inside.y0 - around.y0, around.y1 - inside.y1
    sides = (horizontal + left, 1 - horizontal - right, vertical + bottom, 1 - vertical - top)
    if sides[0] < sides[1] and sides[2] < sides[3]:  # else the labels leave no room: as it is
        fig.subplots_adjust(**dict(zip(("left", "right", "bottom", "top"), sides, strict=True)))


def _ticks(fig: Figure) -> list[list[float]]:
    return [list(axis.get_majorticklocs()) for ax in fig.axes for axis in (ax.xaxis, ax.yaxis)]


# -------------------------------------------------------------------------------------------------
# Many plots at once: on every processor, in processes that share the memory of this one.
#
# matplotlib is Python throughout, so threads would wait for one another. A process that is forked
# has everything imported already and gives back text alone; where one cannot be forked, or fails,
# this one draws its plots too. Which process draws a plot does not change a byte of it.


#: A plot, and the prefix of its ids.
Named = tuple[Display, str]

#: Seconds that a process may take for its plots, which need about one.
PATIENCE = 60.0


def to_svgs(plots: Sequence[Named]) -> list[str]:
    """Every plot as SVG, in order."""
    # at most four processes; fewer than three plots are drawn before another one is under way
    count = max(1, min(_processors(), 4, len(plots) // 3))
    helpers = [_start_helper(plots[i::count]) for i in range(1, count)]
    svgs: dict[int, list[str]] = {}
    try:
        svgs[0] = _draw_all(plots[::count])
        for i, helper in enumerate(helpers, start=1):
            texts = None if helper is None else helper.result()
            mine = plots[i::count]
            svgs[i] = texts if texts is not None and len(texts) == len(mine) else _draw_all(mine)
    finally:
        for helper in helpers:
            if helper is not None:
                helper.end()
    return [svgs[i % count][i // count] for i in range(len(plots))]


def _draw_all(plots: Sequence[Named]) -> list[str]:
    return [display.to_svg(prefix) for display, prefix in plots]


def _processors() -> int:
    """Processors that this process may use; one where processes are not forked safely."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


@dataclass(frozen=True)
class Helper:
    """A forked process and the end of a pipe from which its plots are read."""

    pid: int
    pipe: int

    def result(self) -> list[str] | None:
        """Its plots; None if they do not arrive whole."""
        pieces, deadline = [], time.monotonic() + PATIENCE
        while select.select([self.pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            piece = os.read(self.pipe, 1 << 20)
            if not piece:
                break
            pieces.append(piece)
        try:
            texts: list[str] = json.loads(b"".join(pieces))
        except ValueError:
            return None
        return texts

    def end(self) -> None:
        """The process ends, whether or not it is done."""
        os.close(self.pipe)
        with suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def _start_helper(plots: Sequence[Named]) -> Helper | None:
    """A process that draws these plots; None if there can be none."""
    reading, writing = os.pipe()
    try:
        with warnings.catch_warnings():
            # idle threads of readers do not exist in the other process, which needs none of them
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except OSError:  # no memory, or no process left
        os.close(reading)
        os.close(writing)
        return None
    if pid:
        os.close(writing)
        return Helper(pid, reading)
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(_draw_all(plots)).encode())
    finally:  # nothing of this process may run twice: no handlers, no buffers
        os._exit(0)
