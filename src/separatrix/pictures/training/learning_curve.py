"""Error against the amount of training data: would more rows help?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import measure, scored
from separatrix.pictures.style import BLUE, ORANGE, label_measure, style_axes
from separatrix.rows.block import Floats


@dataclass(eq=False)
class LearningCurveDisplay(Display):
    """``train`` and ``validation``: one row per size, one column per repetition."""

    sizes: Floats
    train: Floats
    validation: Floats
    metric: str = "error"

    title: ClassVar[str] = "Learning curve"

    def __post_init__(self) -> None:
        self.sizes = np.asarray(self.sizes, dtype=float)
        count = self.sizes.size
        self.train = np.asarray(self.train, dtype=float).reshape(count, -1)
        self.validation = np.asarray(self.validation, dtype=float).reshape(count, -1)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, metric: str = "rmse", **options: Any
    ) -> Self:
        """Refit ``model`` on growing parts of the rows (scikit-learn's ``learning_curve``)."""
        from sklearn.model_selection import learning_curve

        scorers = {
            "rmse": ("neg_root_mean_squared_error", -1),
            "mae": ("neg_mean_absolute_error", -1),
            "r2": ("r2", 1),
            "accuracy": ("accuracy", 1),
        }
        if metric not in scorers:
            raise InputError(f"Unknown metric {metric!r}; choose one of {', '.join(scorers)}.")
        scoring, sign = scorers[metric]
        sizes, train, validation = learning_curve(model, X, y, scoring=scoring, **options)[:3]
        return cls(sizes, sign * train, sign * validation, metric)

    @property
    def description(self) -> str:
        """Both ends of the validation curve, and the gap that is left at the full size."""
        first, last = self.validation[0].mean(), self.validation[-1].mean()
        train = self.train[-1].mean()
        text = (
            f"{measure(self.metric).short} on rows not trained on goes from "
            f"{scored(first, self.metric)} with {int(self.sizes[0]):,} training rows to "
            f"{scored(last, self.metric)} with {int(self.sizes[-1]):,}; on the training rows it "
            f"ends at {scored(train, self.metric)}."
        )
        return f"{text} {self.verdict}"

    @property
    def verdict(self) -> str:
        """Whether the last doubling or so of the rows still moved the curve beyond its spread."""
        if self.sizes.size < 2:
            return ""
        means = self.validation.mean(axis=1)
        before = int(np.argmin(np.abs(self.sizes - self.sizes[-1] / 2)))
        before = min(before, self.sizes.size - 2)
        gain = means[before] - means[-1]
        if measure(self.metric).higher_is_better:
            gain = -gain
        spread = self.validation[-1].std() / np.sqrt(max(self.validation.shape[1] - 1, 1))
        if gain > max(spread, 0.01 * abs(means[-1])):
            return "The curve still improves at its end: more rows may help."
        return "The curve is level at its end: more rows of the same kind would change little."

    def _draw(self, ax: Any) -> None:
        for values, colour, marker, label in (
            (self.train, ORANGE, "s", "training rows"),
            (self.validation, BLUE, "o", "rows not trained on"),
        ):
            mean, spread = values.mean(axis=1), values.std(axis=1)
            ax.fill_between(
                self.sizes, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0
            )
            ax.plot(self.sizes, mean, marker=marker, ms=4, color=colour, label=label)
        style_axes(ax)
        ax.set_xlabel("training rows")
        label_measure(ax.yaxis, measure(self.metric), side=False)
        ax.legend(frameon=False, fontsize=9, loc="best")
