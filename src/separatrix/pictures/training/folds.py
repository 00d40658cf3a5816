"""Every candidate, every fold: a dot for each score, a bar at the mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import listed, measure, scored
from separatrix.pictures.style import BLUE, MUTED, WIDTH, ink, label_measure, style_axes, wrapped
from separatrix.rows.block import Floats


@dataclass(eq=False)
class CrossValidationDisplay(Display):
    """``scores[i]`` are those of ``labels[i]`` over the folds; the ``winner`` is in colour."""

    labels: Sequence[str]
    scores: Sequence[Floats]
    metric: str = "error"
    winner: str | None = None

    title: ClassVar[str] = "Score of every fold"

    @property
    def means(self) -> Floats:
        """The mean of each candidate over its folds."""
        return np.array([np.mean(s) if np.size(s) else np.nan for s in self.scores])

    @property
    def description(self) -> str:
        """The mean and the range of the folds of the best candidates."""
        means = self.means
        order = np.argsort(-means if measure(self.metric).higher_is_better else means)
        told = [
            f"{self.labels[i]} {scored(means[i], self.metric)} "
            f"({scored(np.min(self.scores[i]), self.metric)} to "
            f"{scored(np.max(self.scores[i]), self.metric)})"
            for i in order
            if np.size(self.scores[i])
        ]
        return (
            f"{measure(self.metric).short}, mean and range over the folds, best first: "
            f"{listed(told[:6])}."
        )

    @property
    def size(self) -> tuple[float, float]:
        """As tall as there are candidates."""
        return WIDTH, 0.8 + 0.3 * max(3, len(self.labels))

    def _draw(self, ax: Any) -> None:
        for i, (label, values) in enumerate(zip(self.labels, self.scores, strict=True)):
            colour = BLUE if label == self.winner else MUTED
            values = np.asarray(values, dtype=float)
            if values.size == 0:
                continue
            ax.plot(values, np.full(values.size, -i), "o", ms=5, mew=0, alpha=0.55, color=colour)
            mark = ink(ax) if label == self.winner else MUTED
            ax.plot([values.mean()] * 2, [-i - 0.3, -i + 0.3], color=mark, linewidth=2)
        ax.set_yticks(-np.arange(len(self.labels)), [wrapped(label) for label in self.labels])
        ax.set_ylim(-len(self.labels) + 0.4, 0.6)
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        label_measure(ax.xaxis, measure(self.metric))
