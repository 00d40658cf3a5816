"""Precision against recall over every threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.style import BLUE, MUTED, style_axes
from separatrix.probability.roc import RocCurve, roc_curve


@dataclass(eq=False)
class PrecisionRecallDisplay(Display):
    """Steps, since precision between two thresholds is not on the line that joins them."""

    curve: RocCurve

    title: ClassVar[str] = "Precision against recall"

    @classmethod
    def from_predictions(
        cls, y: Any, score: Any, *, positive: Any = None, sample_weight: Any = None
    ) -> Self:
        """From labels of two classes and scores."""
        return cls(roc_curve(y, score, positive=positive, sample_weight=sample_weight))

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """Of a fitted classifier of two classes, by its ``decision_function``."""
        return cls.from_predictions(y, model.decision_function(X), positive=model.classes_[1])

    @property
    def prevalence(self) -> float:
        """Share of the positive class: the precision of guessing."""
        found, missed = self.curve.true_positives[-1], self.curve.false_positives[-1]
        return float(found / (found + missed))

    @property
    def description(self) -> str:
        """Average precision against the prevalence, and the price of finding nearly all."""
        enough = np.flatnonzero(self.curve.tpr >= 0.9)[0]
        return (
            f"Average precision {self.curve.average_precision:.3f}, against "
            f"{self.prevalence:.3f} for guessing. To find 90 % of class {self.curve.positive}, "
            f"{100 * self.curve.precision[enough]:.0f} % of the rows called so are so."
        )

    def _draw(self, ax: Any) -> None:
        ax.axhline(self.prevalence, color=MUTED, linewidth=0.9)
        ax.annotate(
            "guessing",
            (0, self.prevalence),
            xytext=(3, 3),
            textcoords="offset points",
            fontsize=8.5,
            color=MUTED,
        )
        # A threshold that finds no more positives is worse than the one before it: left out.
        rises = np.append(True, np.diff(self.curve.tpr) > 0)
        ax.step(self.curve.tpr[rises], self.curve.precision[rises], where="pre", color=BLUE)
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(0, 1.03)
        style_axes(ax)
        ax.set_xlabel("recall")
        ax.set_ylabel("precision")
