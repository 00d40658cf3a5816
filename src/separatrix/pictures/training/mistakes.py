"""The walk of a perceptron: how many rows it got wrong in each pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted
from separatrix.pictures.style import BLUE, style_axes

#: Points of a line that a picture of this size can show.
POINTS = 240


@dataclass(eq=False)
class PerceptronTraceDisplay(Display):
    """Mistakes in each epoch, all outputs together, out of the ``rows`` of an epoch."""

    mistakes: NDArray[Any]
    rows: int
    status: str = "converged"

    title: ClassVar[str] = "Mistakes by epoch"

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a fitted perceptron, plain or with a kernel."""
        trace = model.trace_
        return cls(trace.mistakes.sum(axis=1), trace.rows, trace.status)

    @property
    def description(self) -> str:
        """The first, the fewest and the last mistakes, and why it stopped."""
        wrong = np.asarray(self.mistakes)
        best = int(wrong.argmin())
        end = (
            "The last epoch was without mistake: the classes are separated."
            if self.status == "converged"
            else "The limit of epochs ended it: the classes are not separated."
        )
        return (
            f"{counted(int(wrong.sum()), 'mistake')} in {counted(len(wrong), 'epoch')} over "
            f"{counted(self.rows, 'row')}: {int(wrong[0])} in the first epoch, fewest "
            f"({int(wrong[best])}) in epoch {best + 1}, {int(wrong[-1])} in the last. {end}"
        )

    def _draw(self, ax: Any) -> None:
        wrong = np.asarray(self.mistakes)
        last = len(wrong) - 1
        shown = np.unique(np.linspace(0, last, min(POINTS, last + 1)).round().astype(int))
        ax.plot(shown + 1, wrong[shown], color=BLUE, marker="." if len(shown) < 60 else "")
        ax.set_ylim(0, max(1.0, 1.05 * float(wrong.max())))
        ax.set_xlabel("Epoch")
        ax.set_ylabel("Mistakes")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.yaxis.get_major_locator().set_params(integer=True)
        style_axes(ax)
