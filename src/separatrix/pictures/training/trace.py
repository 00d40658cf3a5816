"""The walk of gradient descent: the error that it lowers, and the rows still on the wrong side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, measure, number, scored
from separatrix.pictures.style import BLUE, ORANGE, label_measure, style_axes
from separatrix.rows.block import Floats

#: Points of a line that a picture of this size can show.
POINTS = 240
_ENDS = {
    "solved": "the slope vanished",
    "stopped early": "misclassifications stopped falling",
    "limit reached": "the limit of steps was reached",
    "diverged": "it was climbing: the learning rate is too long",
    "oscillating": "it swung from wall to wall: the learning rate is too long",
}


@dataclass(eq=False)
class TrainingTraceDisplay(Display):
    """Mean loss and share of misclassified rows at the start and after each step."""

    objective: Floats
    misclassified: Floats
    status: str = "solved"

    title: ClassVar[str] = "The walk downhill"

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a fitted :class:`~separatrix.GradientDescent`."""
        trace = model.trace_
        return cls(trace.objective, trace.misclassified, trace.status)

    @property
    def description(self) -> str:
        """Where it began and ended, the fewest misclassifications, and why it stopped."""
        wrong = np.asarray(self.misclassified)
        best = int(wrong.argmin())
        return (
            f"In {counted(len(wrong) - 1, 'step')} the mean loss went from "
            f"{number(self.objective[0], 3)} to {number(self.objective[-1], 3)} and the error rate "
            f"from {scored(wrong[0], 'error')} to {scored(wrong[-1], 'error')}; it was lowest, "
            f"{scored(wrong[best], 'error')}, after {counted(best, 'step')}. "
            f"The walk ended because {_ENDS.get(self.status, self.status)}."
        )

    def _draw(self, ax: Any) -> None:
        steps = len(self.objective) - 1
        shown = np.unique(np.linspace(0, steps, min(POINTS, steps + 1)).round().astype(int))
        ax.plot(
            shown, np.asarray(self.objective)[shown], color=BLUE, marker="." if steps < 2 else ""
        )
        ax.set_xlabel("Step")
        ax.set_ylabel("Mean loss", color=BLUE)
        style_axes(ax)
        other = ax.twinx()
        wrong = np.asarray(self.misclassified)[shown]
        other.plot(shown, wrong, color=ORANGE, linestyle="--", marker="." if steps < 2 else "")
        other.set_ylim(0, max(0.02, 1.1 * float(wrong.max())))
        style_axes(other, grid=None)
        other.spines["right"].set_visible(True)
        label_measure(other.yaxis, measure("error"), side=False)
        other.yaxis.label.set_color(ORANGE)
