"""A ROC curve for each class against all the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import listed
from separatrix.pictures.style import MUTED, SERIES, plain, style_axes
from separatrix.probability.roc import RocCurve, roc_curve

#: More curves are not told apart.
MOST = 10
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)))


@dataclass(eq=False)
class OneVsRestRocDisplay(Display):
    """One against the rest: ``curves[k]`` belongs to the class ``labels[k]``."""

    curves: Sequence[RocCurve]
    labels: Sequence[str]

    title: ClassVar[str] = "ROC curve of each class against the rest"

    @classmethod
    def from_predictions(
        cls, y: Any, scores: Any, classes: Any, *, sample_weight: Any = None
    ) -> Self:
        """From labels and scores or probabilities (n x K, a column for each class).

        A class without rows, or with all of them, has no curve.
        """
        s, truth = np.asarray(scores, dtype=float), np.array([str(v) for v in y])
        labels = [str(c) for c in classes]
        if len(labels) > MOST:
            raise InputError(
                f"ROC curves are drawn for up to {MOST} classes; there are {len(labels)}."
            )
        if s.shape != (truth.size, len(labels)):
            raise InputError(f"scores has shape {s.shape}: one for each row and class is needed.")
        met = [k for k, label in enumerate(labels) if 0 < np.sum(truth == label) < truth.size]
        if not met:
            raise InputError("A ROC curve compares two classes; the rows hold 1.")
        curves = [
            roc_curve(truth == labels[k], s[:, k], positive=True, sample_weight=sample_weight)
            for k in met
        ]
        return cls(curves, [labels[k] for k in met])

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """Of a fitted classifier, by its probabilities or, without them, its scores."""
        given = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        return cls.from_predictions(y, getattr(model, given)(X), model.classes_)

    @property
    def areas(self) -> list[float]:
        """The area under each curve."""
        return [curve.area for curve in self.curves]

    @property
    def description(self) -> str:
        """The area of each class, and their mean."""
        told = [f"{label} {area:.3f}" for label, area in zip(self.labels, self.areas, strict=True)]
        return (
            "The probability that a row of the class scores above one of another (area under the "
            f"curve): {listed(told)}; {np.mean(self.areas):.3f} on average."
        )

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9)
        for i, (curve, label) in enumerate(zip(self.curves, self.labels, strict=True)):
            ax.plot(
                curve.fpr,
                curve.tpr,
                color=SERIES[i % len(SERIES)],
                linestyle=_DASHES[i // len(SERIES) % 2],
                label=f"{plain(label, 18)}, area {curve.area:.3f}",
            )
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(-0.01, 1.02)
        style_axes(ax)
        ax.set_xlabel("false positive rate")
        ax.set_ylabel("true positive rate")
        small = 9 if len(self.labels) <= 5 else 7.5
        ax.legend(frameon=False, fontsize=small, loc="lower right", labelspacing=0.3)
