"""Names beside points and lines, moved apart where they would collide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.pictures.style import ink
from separatrix.rows.block import Floats


def name_points(ax: Any, x: Floats, y: Floats, labels: Sequence[object]) -> None:
    """A ring around each point and its name beside it, on the side where there is room."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    heights = spread(y, 0.055 * (high - low))
    for a, b, height, label in zip(x, y, heights, labels, strict=True):
        ax.plot([a], [b], "o", ms=6, mfc="none", mec=ink(ax), mew=0.8)
        inward = -1 if a > left + 0.7 * (right - left) else 1
        ax.annotate(
            str(label),
            (a, height),
            xytext=(6 * inward, 0),
            textcoords="offset points",
            ha="left" if inward > 0 else "right",
            va="center",
            fontsize=8.5,
        )


def spread(places: Floats, gap: float) -> Floats:
    """The nearest places (least squares) that keep the order and are ``gap`` apart.

    With yᵢ = zᵢ + i·gap the condition is that z rises: an isotonic regression.
    """
    from scipy.optimize import isotonic_regression

    if places.size == 0:
        return places
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(places.size)
    apart = np.empty(places.size)
    apart[order] = isotonic_regression(places[order] - steps).x + steps
    return apart
