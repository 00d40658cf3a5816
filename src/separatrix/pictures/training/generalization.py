"""The same score on rows that were trained on, held out in turn, and never seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import listed, measure, number, scored
from separatrix.pictures.style import BLUE, MUTED, WIDTH, label_measure, style_axes, wrapped


@dataclass(eq=False)
class GeneralizationGapDisplay(Display):
    """One line per part of the data: value with interval (NaN where there is none).

    ``muted`` parts (a baseline) are drawn in grey.
    """

    parts: Sequence[str]
    values: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    metric: str = "error"
    muted: Sequence[str] = ()

    title: ClassVar[str] = "Training, validation and test"

    @property
    def description(self) -> str:
        """Each value, and how far the test part is from the training part."""
        told = []
        for part, value, low, high in zip(
            self.parts, self.values, self.low, self.high, strict=True
        ):
            span = ""
            if np.isfinite(low) and np.isfinite(high):
                span = f" ({scored(low, self.metric)} to {scored(high, self.metric)})"
            told.append(f"{part} {scored(value, self.metric)}{span}")
        return f"{measure(self.metric).short}: {listed(told)}.{self._distance()}"

    def _distance(self) -> str:
        own = {p: v for p, v in zip(self.parts, self.values, strict=True) if p not in self.muted}
        if len(own) < 2:
            return ""
        first, last = next(iter(own.items())), list(own.items())[-1]
        if measure(self.metric).higher_is_better or first[1] == 0:
            return f" From {first[0]} to {last[0]}: {number(last[1] - first[1], 2)}."
        change = 100 * (last[1] / first[1] - 1)
        if abs(change) < 0.5:
            return f" {last[0].capitalize()} and {first[0]} agree within half a per cent."
        if change > 200:
            times = number(round(last[1] / first[1]), 3)
            return f" {last[0].capitalize()} is {times} times that of {first[0]}."
        word = "higher" if change >= 0 else "lower"
        return f" {last[0].capitalize()} is {abs(change):.0f} % {word} than {first[0]}."

    @property
    def size(self) -> tuple[float, float]:
        """As tall as there are parts."""
        return WIDTH, 0.8 + 0.3 * max(3, len(self.parts))

    def _draw(self, ax: Any) -> None:
        rows = zip(self.parts, self.values, self.low, self.high, strict=True)
        for i, (part, value, low, high) in enumerate(rows):
            colour = MUTED if part in self.muted else BLUE
            if np.isfinite(low) and np.isfinite(high):
                ax.plot([low, high], [-i, -i], color=colour, linewidth=1.6)
            ax.plot([value], [-i], "o", ms=6, mew=0, color=colour)
        ax.set_yticks(-np.arange(len(self.parts)), [wrapped(part) for part in self.parts])
        ax.set_ylim(-len(self.parts) + 0.4, 0.6)
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        label_measure(ax.xaxis, measure(self.metric))
