"""A number for each row on the scale of a boundary at zero: a histogram for each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, number
from separatrix.pictures.style import MUTED, SERIES, WIDTH, ink, plain, style_axes
from separatrix.rows.block import Floats

BINS = 32
_MOST, _TOLD = 12, 6


@dataclass(eq=False)
class ClassHistogramDisplay(Display):
    """Histograms one above the other. With two classes the second is on the side above zero.

    ``own_side`` says that every row is measured from the side of its own class, as with more than
    two. ``axis`` and ``measured`` name what is measured: of two classes, and of more.
    """

    distance: Floats
    y: Any
    labels: Sequence[str]
    own_side: bool = False
    unit: str = ""

    axis: ClassVar[str]
    measured: ClassVar[tuple[str, str]]

    def wrong(self, i: int) -> int:
        """Rows of class i on the wrong side."""
        own = self.distance[np.asarray(self.y) == self.labels[i]]
        positive = self.own_side or i == 1
        return int(np.sum(own < 0 if positive else own > 0))

    @property
    def description(self) -> str:
        """Median and wrong-side count of each class."""
        told = []
        for i, label in enumerate(self.labels[:_MOST]):
            own = self.distance[np.asarray(self.y) == label]
            if own.size:
                text = (
                    f"{label}: median {number(float(np.median(own)), 2)}, "
                    f"{self.wrong(i):,} of {counted(own.size, 'row')} on the wrong side"
                )
                told.append((self.wrong(i) / own.size, text))
        lead = ""
        if len(told) > _TOLD:
            told = sorted(told, key=lambda pair: -pair[0])[:_TOLD]
            lead = "Most often wrong are "
        what = f"{self.measured[self.own_side]}{', ' if self.unit else ''}{self.unit}"
        return f"{what[0].upper()}{what[1:]}. {lead}{'; '.join(text for _, text in told)}."

    @property
    def size(self) -> tuple[float, float]:
        """A strip for each class."""
        strips = min(max(len(self.labels), 2), _MOST)
        return WIDTH, 0.7 + strips * (1.15 if strips < 4 else 0.6)

    def _draw(self, ax: Any) -> None:
        if not self.distance.size:
            raise InputError("There are no rows to draw.")
        labels = list(self.labels)[:_MOST]
        bins = int(np.clip(2 * np.sqrt(self.distance.size), 8, BINS))
        edges = np.histogram_bin_edges(self.distance, bins)
        counts = [
            np.histogram(self.distance[np.asarray(self.y) == label], edges)[0] for label in labels
        ]
        ax.axvline(0.0, color=ink(ax), linewidth=1.0)
        # The names stand on the side that the boundary leaves free.
        on_right = -edges[0] < edges[-1]
        for i, (label, count) in enumerate(zip(labels, counts, strict=True)):
            colour = SERIES[i % len(SERIES)]
            height = 0.76 * count / max(count.max(initial=1), 1)
            ax.stairs(height - i, edges, baseline=-i, fill=True, color=colour, alpha=0.35)
            ax.stairs(height - i, edges, baseline=-i, color=colour, linewidth=1.2)
            ax.axhline(-i, color=MUTED, linewidth=0.6)
            ax.annotate(
                f"{plain(label)}  ({self.wrong(i):,} on the wrong side)",
                (0.99 if on_right else 0.01, 0.97 - i),
                ha="right" if on_right else "left",
                xycoords=("axes fraction", "data"),
                fontsize=8.5,
                color=colour,
                va="top",
            )
        ax.set_ylim(-len(labels) + 0.98, 1.02)
        ax.set_yticks([])
        style_axes(ax, grid=None)
        ax.spines["left"].set_visible(False)
        side = "own side →" if self.own_side else f"side of {plain(self.labels[-1], 14)} →"
        ax.set_xlabel(f"{self.axis}{', ' if self.unit else ''}{self.unit} ({side})")


def known_rows(
    truth: NDArray[np.str_], s: Floats, labels: Sequence[str]
) -> tuple[NDArray[np.str_], Floats, NDArray[np.intp]]:
    """Rows of the classes that the model knows, and the position of each row's class."""
    place = {label: i for i, label in enumerate(labels)}
    met = np.array([label in place for label in truth], dtype=bool)
    own = np.array([place[label] for label in truth[met]], dtype=np.intp)
    return truth[met], s[met], own
