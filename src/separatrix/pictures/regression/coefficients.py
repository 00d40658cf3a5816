"""Coefficients with their intervals: standardised, so that lengths compare, and raw beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.estimators.coefficient_inference import inference
from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, listed, number
from separatrix.pictures.scatter import rule
from separatrix.pictures.style import BLUE, MUTED, PAPER, WIDTH, plain, style_axes
from separatrix.rows.block import Floats


@dataclass(eq=False)
class CoefficientDisplay(Display):
    """A dot and a whisker for each coefficient, the longest first.

    ``scale`` holds the standard deviation of each column: coefficient x scale is the change of the
    prediction per standard deviation (``axis`` names another scale). Without it the raw
    coefficients are drawn. ``intervals`` is k x 2, in raw units, or None.
    """

    names: tuple[str, ...]
    estimates: Floats
    intervals: Floats | None = None
    scale: Floats | None = None
    most: int = 20
    axis: str = "change of the prediction per standard deviation"

    title: ClassVar[str] = "Coefficients"

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None, *, most: int = 20) -> Self:
        """Of a fitted linear model; with the design ``X`` the standardised ones are drawn."""
        found = inference(model)
        if found is None:
            raise InputError(
                f"{type(model).__name__} has no single coefficient vector to draw.",
                remedy="Build CoefficientDisplay(names, estimates) for one output at a time.",
            )
        scale = None if X is None else np.std(np.asarray(X, dtype=float), axis=0)
        return cls(found.names, found.estimates, found.intervals, scale, most)

    @property
    def unit(self) -> Floats:
        """What each raw coefficient is multiplied by before it is drawn."""
        return np.ones(self.estimates.size) if self.scale is None else np.asarray(self.scale)

    @property
    def shown(self) -> list[int]:
        """Positions of the coefficients that are drawn, the longest first."""
        length = np.abs(self.estimates * self.unit)
        return [int(j) for j in np.argsort(-length, kind="stable")[: self.most]]

    @property
    def clear(self) -> Floats:
        """1 where the interval leaves out zero; without intervals, where the estimate is not 0."""
        if self.intervals is None:
            return np.asarray(self.estimates != 0, dtype=float)
        return np.asarray((self.intervals[:, 0] > 0) | (self.intervals[:, 1] < 0), dtype=float)

    @property
    def description(self) -> str:
        """The three longest, how many are clear of zero, and what was left out."""
        top = [
            f"{self.names[j]} {number(self.estimates[j] * self.unit[j], 3)}" for j in self.shown[:3]
        ]
        kind = "" if self.scale is None else f" ({self.axis})"
        text = f"Largest coefficients{kind}: {listed(top)}."
        total = self.estimates.size
        if self.intervals is not None:
            text += (
                f" {int(self.clear.sum())} of {total} have a 95 % interval that leaves out zero."
            )
        elif not self.clear.all():
            text += f" {counted(int(total - self.clear.sum()), 'coefficient')} exactly zero."
        if total > len(self.shown):
            text += f" The {len(self.shown)} largest of {total} are shown."
        return text

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return WIDTH, 0.95 + 0.2 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        shown, unit = self.shown, self.unit
        place = -np.arange(len(shown), dtype=float)
        rule(ax, 0.0, across=False)
        for at, j in zip(place, shown, strict=True):
            colour = BLUE if self.clear[j] else MUTED
            if self.intervals is not None:
                ax.plot(self.intervals[j] * unit[j], [at, at], color=colour, linewidth=1.4)
            fill = colour if self.clear[j] else PAPER
            value = self.estimates[j] * unit[j]
            ax.plot([value], [at], "o", ms=5, mfc=fill, mec=colour, mew=1.2)
        ax.set_yticks(place, [plain(self.names[j], 20) for j in shown])
        ax.set_ylim(place[-1] - 0.7, 0.7)
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        if self.scale is None:
            ax.set_xlabel("coefficient")
            return
        ax.set_xlabel(self.axis)
        raw = ax.secondary_yaxis("right")
        raw.set_yticks(place, [number(self.estimates[j], 3) for j in shown])
        raw.tick_params(length=0, labelcolor=MUTED)
        raw.spines["right"].set_visible(False)
        raw.patch.set_visible(False)
        ax.annotate(
            "per unit",
            (1, 1),
            xytext=(6, 3),
            xycoords="axes fraction",
            textcoords="offset points",
            color=MUTED,
            fontsize=8.5,
        )
