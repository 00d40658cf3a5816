"""The ROC curve with its convex hull and the areas under both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.decision.roc import RocCurve, roc_curve
from separatrix.pictures.display import Display
from separatrix.pictures.style import BLUE, MUTED, ORANGE, PAPER, dress
from separatrix.pictures.wording import number


@dataclass(eq=False)
class RocDisplay(Display):
    """``threshold`` marks the point at which the model decides; None marks nothing."""

    curve: RocCurve
    threshold: float | None = 0.0

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
    ) -> Self:
        """From labels of two classes and scores."""
        curve = roc_curve(y, score, positive=positive, sample_weight=sample_weight)
        return cls(curve, threshold)

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
    def description(self) -> str:
        """Both areas, and the rates at the threshold in use."""
        text = (
            f"A row of class {self.curve.positive} scores above one of the other class with "
            f"probability {self.curve.area:.3f} (area under the curve); the area under the "
            f"convex hull is {self.curve.hull_area:.3f}, with {self.curve.hull.size} corners."
        )
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
        dress(ax)
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        ax.legend(frameon=False, fontsize=9, loc="lower right")
