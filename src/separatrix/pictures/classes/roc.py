"""The ROC curve with its convex hull, the areas under both, and how far the folds differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number
from separatrix.pictures.style import BLUE, MUTED, ORANGE, PAPER, style_axes
from separatrix.probability.roc import RocCurve, roc_curve

#: False positive rates at which the folds are compared.
BAND = 121


@dataclass(eq=False)
class RocDisplay(Display):
    """``threshold`` marks the point at which the model decides; None marks nothing.

    ``folds`` are the curves of cross-validation: a band behind the curve spans them.
    """

    curve: RocCurve
    threshold: float | None = 0.0
    folds: Sequence[RocCurve] = ()

    title: ClassVar[str] = "ROC curve with its hull"

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        score: Any,
        *,
        positive: Any = None,
        sample_weight: Any = None,
        threshold: float | None = 0.0,
        folds: Sequence[RocCurve] = (),
    ) -> Self:
        """From labels of two classes and scores."""
        curve = roc_curve(y, score, positive=positive, sample_weight=sample_weight)
        return cls(curve, threshold, folds)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """Of a fitted classifier of two classes, by its ``decision_function``."""
        return cls.from_predictions(y, model.decision_function(X), positive=model.classes_[1])

    @property
    def decided(self) -> tuple[float, float] | None:
        """False and true positive rate where the model decides."""
        if self.threshold is None:
            return None
        above = self.curve.thresholds >= self.threshold
        at = int(np.flatnonzero(above)[-1])
        return float(self.curve.fpr[at]), float(self.curve.tpr[at])

    @property
    def fold_areas(self) -> tuple[float, float] | None:
        """The smallest and the largest area under the curve of a fold."""
        areas = [fold.area for fold in self.folds]
        return (min(areas), max(areas)) if areas else None

    @property
    def description(self) -> str:
        """Both areas, and the rates at the threshold in use."""
        text = (
            f"A row of class {self.curve.positive} scores above one of the other class with "
            f"probability {self.curve.area:.3f} (area under the curve); the area under the "
            f"convex hull is {self.curve.hull_area:.3f}, with {self.curve.hull.size} corners."
        )
        if self.fold_areas is not None:
            low, high = self.fold_areas
            text += f" In cross-validation the area was {low:.3f} to {high:.3f}, fold by fold."
        if self.decided is not None:
            text += (
                f" At the threshold in use, {number(self.threshold or 0.0, 3)}, "
                f"{100 * self.decided[1]:.0f} % of that class are found and "
                f"{100 * self.decided[0]:.0f} % of the other are taken for it."
            )
        return text

    def _draw(self, ax: Any) -> None:
        curve = self.curve
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9)
        if self.fold_areas is not None:
            self._span(ax, *self.fold_areas)
        ax.plot(
            curve.fpr[curve.hull],
            curve.tpr[curve.hull],
            color=ORANGE,
            linewidth=1.2,
            linestyle=(0, (4, 3)),
            label=f"convex hull, area {curve.hull_area:.3f}",
        )
        ax.plot(curve.fpr, curve.tpr, color=BLUE, label=f"curve, area {curve.area:.3f}")
        if self.decided is not None:
            look = {"ms": 7, "mfc": PAPER, "mec": BLUE, "mew": 1.6, "linestyle": "none"}
            ax.plot(*self.decided, marker="o", label="threshold in use", **look)
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(-0.01, 1.02)
        style_axes(ax)
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        ax.legend(frameon=False, fontsize=9, loc="lower right")

    def _span(self, ax: Any, low: float, high: float) -> None:
        """From the lowest to the highest curve of the folds."""
        grid = np.linspace(0, 1, BAND)
        heights = np.array([fold.tpr_at(grid) for fold in self.folds])
        ax.fill_between(
            np.append(0.0, grid),
            np.append(0.0, heights.min(axis=0)),
            np.append(0.0, heights.max(axis=0)),
            color=BLUE,
            alpha=0.18,
            linewidth=0,
            label=f"{len(self.folds)} folds, area {low:.3f} to {high:.3f}",
        )
