"""How many neighbours? The error of every count, each row judged by all others but itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import measure, scored
from separatrix.pictures.style import BLUE, ORANGE, PAPER, label_measure, style_axes
from separatrix.rows.block import Floats


@dataclass(eq=False)
class NeighborCountDisplay(Display):
    """``error`` of each of ``counts`` neighbours, give or take ``spread``; ``chosen`` was taken.

    ``metric`` is "error", the share of wrong classes, or "rmse".
    """

    counts: Any
    error: Floats
    spread: Floats
    chosen: int | None = None
    metric: str = "error"

    title: ClassVar[str] = "Error by number of neighbours"

    def __post_init__(self) -> None:
        self.counts = np.asarray(self.counts, dtype=int).ravel()
        self.error = np.asarray(self.error, dtype=float).ravel()
        self.spread = np.asarray(self.spread, dtype=float).ravel()
        if not self.counts.size or not self.counts.size == self.error.size == self.spread.size:
            raise InputError(
                f"{self.error.size} errors and {self.spread.size} spreads for "
                f"{self.counts.size} counts of neighbours."
            )

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """Of a model that chose ``n_neighbors_`` by its ``leave_one_out_`` errors."""
        found = getattr(model, "leave_one_out_", None)
        if found is None:
            raise InputError(
                f"{type(model).__name__} did not choose its number of neighbours.",
                remedy="Fit with n_neighbors='auto'.",
            )
        if hasattr(model, "classes_"):
            return cls(found.n_neighbors, found.error, found.standard_error, model.n_neighbors_)
        root = np.sqrt(found.error)
        # √(e ± s) ≈ √e ± s / 2√e
        spread = found.standard_error / (2.0 * np.maximum(root, np.finfo(float).tiny))
        return cls(
            found.n_neighbors, root, np.where(root > 0, spread, 0.0), model.n_neighbors_, "rmse"
        )

    @property
    def best(self) -> int:
        """Position of the least error; of equals the largest count."""
        return int(np.flatnonzero(self.error <= self.error.min())[-1])

    @property
    def near(self) -> tuple[int, int]:
        """The fewest and the most neighbours within one standard error of the least error."""
        near = self.counts[self.error <= self.error[self.best] + self.spread[self.best]]
        return int(near.min()), int(near.max())

    @property
    def description(self) -> str:
        """Both ends, the best count, how flat the valley is, and what was chosen."""
        short, first, last = measure(self.metric).short, self.error[0], self.error[-1]
        text = (
            f"{short} of each row as judged by the others: {scored(first, self.metric)} with "
            f"{self.counts[0]} neighbour{'s' if self.counts[0] > 1 else ''}, "
            f"{scored(last, self.metric)} with {self.counts[-1]}; best "
            f"{scored(self.error[self.best], self.metric)} with {self.counts[self.best]}."
        )
        if self.near[0] < self.near[1]:
            text += f" Within one standard error of it: {self.near[0]} to {self.near[1]}."
        if self.chosen is not None:
            text += f" Chosen: {self.chosen}."
        return text

    def _draw(self, ax: Any) -> None:
        if self.spread.any():
            ends = self.error - self.spread, self.error + self.spread
            ax.fill_between(
                self.counts, *ends, color=BLUE, alpha=0.18, linewidth=0, label="± standard error"
            )
        dots = "." if self.counts.size < 40 else ""
        ax.plot(self.counts, self.error, color=BLUE, marker=dots, label="each row by the others")
        if self.chosen is not None:
            at = int(np.argmin(np.abs(self.counts - self.chosen)))
            look = {"mfc": PAPER, "mec": ORANGE, "mew": 1.6, "linestyle": "none"}
            label = f"chosen: {self.chosen}"
            ax.plot([self.chosen], [self.error[at]], marker="o", ms=6.5, label=label, **look)
        style_axes(ax)
        ax.set_xlabel("neighbours")
        label_measure(ax.yaxis, measure(self.metric), side=False)
        ax.set_ylim(bottom=max(0.0, ax.get_ylim()[0]))
        ax.legend(frameon=False, fontsize=9, loc="best")
