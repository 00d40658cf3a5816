"""Loops in a graph: over the columns of rows, and over tiles of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from separatrix.export.onnx.graph import Graph, Value, integers


def accumulate(
    start: Value, items: Sequence[Value], step: Callable[[Value, list[Value]], Value]
) -> Value:
    """``state = step(state, items[i])`` for i along the first axis of the items."""
    outer = start.graph
    inner = Graph(outer)
    state = inner.input(inner.fresh("state"), np.float64, [None, None])
    each = [inner.input(inner.fresh("item"), np.float64, [None, None]) for _ in items]
    inner.output(inner.fresh("next"), step(state, each), np.float64, [None, None])
    body = inner.body(inner.fresh("step"))
    return outer.several("Scan", 1, start, *items, body=body, num_scan_inputs=len(items))[0]


def by_tiles(
    x: Value, rows: int, work: Callable[[Value], Sequence[tuple[Value, Any]]]
) -> list[Value]:
    """``work`` for at most ``rows`` rows of ``x`` at a time: n x k tensors with their kind.

    What is in memory at a time does not grow with the number of rows. Rows of zeros fill up the
    last tile, and their answers are cut off.
    """
    graph = x.graph
    shape = x.op("Shape")
    n, d = (shape.op("Gather", integers(axis), axis=0) for axis in (0, 1))
    one = graph.constant(integers(1))
    tile = n.op("Min", integers(rows)).op("Max", one)
    count = (n + (tile - one)).op("Div", tile).op("Max", one)
    fill = graph.concat([count * tile - n, d], axis=0)
    zeros = graph.node("Expand", graph.constant(np.zeros((1, 1))), fill)
    padded = graph.concat([x, zeros], axis=0)
    tiles = padded.op("Reshape", graph.concat([count, tile, d], axis=0))
    inner = Graph(graph)
    answers = list(work(inner.input(inner.fresh("tile"), np.float64, [None, None])))
    for value, kind in answers:
        inner.output(inner.fresh("answer"), value, kind, [None, None])
    body = inner.body(inner.fresh("tile_graph"))
    found = graph.several("Scan", len(answers), tiles, body=body, num_scan_inputs=1)
    return [_joined(each).rows(integers(0), n) for each in found]


def _joined(tiles: Value) -> Value:
    """Tiles one below another: (tiles · rows) x columns."""
    width = tiles.op("Shape").op("Gather", integers(2), axis=0)
    graph = tiles.graph
    return tiles.op("Reshape", graph.concat([graph.constant(integers(-1)), width], axis=0))
