"""Arrangements of points among which shattered ones are sought: regular ones first, then random."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from separatrix.rows.block import Floats


def arrangements(n: int, d: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Arrangements of n points in d dimensions, without end.

    On the axes, a simplex, a regular polygon; then normal, on a sphere, uniform in a cube and on
    the moment curve (t, t², …), in turn.
    """
    yield from regular_arrangements(n, d)
    while True:
        normal = rng.standard_normal((n, d))
        yield normal
        yield normal / np.linalg.norm(normal, axis=1, keepdims=True)
        yield rng.random((n, d))
        yield rng.uniform(-1.0, 1.0, (n, 1)) ** np.arange(1, d + 1)


def regular_arrangements(n: int, d: int) -> Iterator[Floats]:
    """On the axes on both sides of zero, a simplex, a regular polygon: those that have n points."""
    if d == 1:
        yield np.arange(float(n))[:, None]
        return
    if n <= 2 * d:
        axes = np.repeat(np.eye(d), 2, axis=0)
        axes[1::2] *= -1.0
        yield axes[:n] + 0.0
    if n <= d + 1:
        yield np.vstack([np.zeros(d), np.eye(d)])[:n]
    angles = 2.0 * np.pi * np.arange(n) / n
    polygon = np.zeros((n, d))
    polygon[:, 0], polygon[:, 1] = np.cos(angles), np.sin(angles)
    yield polygon
