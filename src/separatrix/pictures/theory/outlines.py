"""Outlines of hypotheses in the plane, clipped to a window; intervals are drawn as flat boxes."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

import numpy as np

from separatrix.hypotheses.classes.balls import Ball
from separatrix.hypotheses.classes.base import Hypothesis
from separatrix.hypotheses.classes.boxes import Box
from separatrix.hypotheses.classes.hyperplanes import HalfSpace
from separatrix.hypotheses.classes.interval_unions import IntervalUnion
from separatrix.hypotheses.classes.polygons import Polygon
from separatrix.rows.block import Floats

#: Low and high end of both coordinates.
Window = tuple[Floats, Floats]
#: Height of an interval of numbers, as a part of the window.
FLAT = 0.35


@singledispatch
def outlines(hypothesis: Hypothesis, window: Window) -> list[Floats]:  # noqa: ARG001
    """Closed curves around the hypothesis, as arrays of points; none if its shape is not known."""
    return []


@outlines.register
def _(hypothesis: Box, window: Window) -> list[Floats]:
    low, high = hypothesis.low, hypothesis.high
    margin = 0.04 * (window[1] - window[0])  # around points that are on the sides
    if len(low) == 1:
        ends = np.array([[low[0] - margin[0], high[0] + margin[0]]])
        return _flat(ends, window)
    if (low > high).any():
        return []
    a, b = low - margin, high + margin
    return [clipped(np.array([a, [b[0], a[1]], b, [a[0], b[1]]]), window)]


@outlines.register
def _(hypothesis: IntervalUnion, window: Window) -> list[Floats]:
    margin = 0.04 * float(window[1][0] - window[0][0])
    return _flat(hypothesis.ends + np.array([-margin, margin]), window)


@outlines.register
def _(hypothesis: Polygon, window: Window) -> list[Floats]:
    curve = _frame(window)
    for (u, v), offset in zip(hypothesis.normals, hypothesis.offsets, strict=True):
        size = max(abs(u), abs(v))
        curve = _cut(curve, np.array([-u / size, -v / size]), float(offset / size))
    return [curve]


@outlines.register
def _(hypothesis: Ball, window: Window) -> list[Floats]:
    center, r = np.array([float(c) for c in hypothesis.center]), hypothesis.radius
    if len(center) == 1:
        return _flat(center + np.array([[-r, r]]), window)
    return [clipped(_disk(center, r, window), window)]


@outlines.register
def _(hypothesis: HalfSpace, window: Window) -> list[Floats]:
    size = max(map(abs, hypothesis.coef)) or Fraction(1)
    coef = np.array([float(c / size) for c in hypothesis.coef])
    constant = float(hypothesis.intercept / size)
    if len(coef) == 1:
        edge = -constant / coef[0] if coef[0] else -np.inf
        ends = [edge, np.inf] if coef[0] >= 0 else [-np.inf, edge]
        return _flat(np.array([ends]), window)
    return [_cut(_frame(window), coef, constant)]


def _flat(ends: Floats, window: Window) -> list[Floats]:
    """Intervals as boxes of little height around the line."""
    low, high = window[0][0], window[1][0]
    height = FLAT * (high - low)
    return [
        np.array([[a, -height], [b, -height], [b, height], [a, height]]) / np.array([1, 4])
        for a, b in np.clip(ends, low, high)
        if a < b
    ]


def _disk(center: Floats, r: float, window: Window) -> Floats:
    """A circle of many sides; of a large one, the slice from its center that holds the window."""
    middle, size = (window[0] + window[1]) / 2, float(np.linalg.norm(window[1] - window[0]))
    if r <= 4 * size:
        angles = 2 * np.pi * np.arange(90) / 90
        return np.asarray(center + r * np.column_stack([np.cos(angles), np.sin(angles)]))
    towards = np.arctan2(*(middle - center)[::-1])
    angles = towards + np.linspace(-1, 1, 90) * 2 * size / r
    arc = center + r * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([center, arc])


def _frame(window: Window) -> Floats:
    (a, b), (c, d) = window
    return np.array([[a, b], [c, b], [c, d], [a, d]], dtype=float)


def clipped(polygon: Floats, window: Window) -> Floats:
    """The part of a convex polygon within the window (Sutherland and Hodgman)."""
    for axis in (0, 1):
        for sign, end in ((1.0, window[0][axis]), (-1.0, window[1][axis])):
            normal = np.zeros(2)
            normal[axis] = sign
            polygon = _cut(polygon, normal, -sign * float(end))
    return polygon


def _cut(polygon: Floats, normal: Floats, constant: float) -> Floats:
    """The part of a convex polygon where normal · x + constant ≥ 0."""
    if not len(polygon):
        return polygon
    score = polygon @ normal + constant
    found = []
    for i in range(len(polygon)):
        j = (i + 1) % len(polygon)
        if score[i] >= 0:
            found.append(polygon[i])
        if (score[i] >= 0) != (score[j] >= 0):
            t = score[i] / (score[i] - score[j])
            found.append(polygon[i] + t * (polygon[j] - polygon[i]))
    return np.array(found).reshape(-1, 2)
