"""Learning curve: score against the number of training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import score_info, score_text
from separatrix.pictures.points import fill_band
from separatrix.pictures.style import BLUE, ORANGE, label_score_axis, style_axes
from separatrix.rows.block import Floats


@dataclass(eq=False)
class LearningCurveDisplay(Display):
    """Training and validation score against the number of training rows.

    Parameters
    ----------
    train_sizes : array-like of shape (m,)
        Numbers of training rows.
    train_scores : array-like of shape (m,) or (m, repetitions)
        Scores on the training rows.
    validation_scores : array-like of shape (m,) or (m, repetitions)
        Scores on validation rows.
    metric : str, default="error"
        Name of the score.

    Attributes
    ----------
    verdict : str
        Whether the curve still improves at its end.

    See Also
    --------
    ValidationCurveDisplay : Error over the penalty.
    GeneralizationGapDisplay : One score on training, validation and test rows.

    Examples
    --------
    >>> from separatrix.pictures import LearningCurveDisplay
    >>> display = LearningCurveDisplay([50, 100, 200], [1.0, 1.4, 1.5], [3.0, 2.0, 1.6], "rmse")
    >>> display.verdict
    'The curve still improves at its end: more rows may help.'
    """

    train_sizes: Floats
    train_scores: Floats
    validation_scores: Floats
    metric: str = "error"

    title: ClassVar[str] = "Learning curve"

    def __post_init__(self) -> None:
        self.train_sizes = np.asarray(self.train_sizes, dtype=float)
        m = self.train_sizes.size
        self.train_scores = np.asarray(self.train_scores, dtype=float).reshape(m, -1)
        self.validation_scores = np.asarray(self.validation_scores, dtype=float).reshape(m, -1)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        metric: str = "rmse",
        train_sizes: Any = (0.1, 0.325, 0.55, 0.775, 1.0),
        cv: Any = None,
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
        sizes, train, validation = learning_curve(
            model, X, y, scoring=scoring, train_sizes=np.asarray(train_sizes), cv=cv
        )[:3]
        return cls(sizes, sign * train, sign * validation, metric)

    @property
    def description(self) -> str:
        """Both ends of the validation curve, the final training score, and the verdict."""
        first, last = self.validation_scores[0].mean(), self.validation_scores[-1].mean()
        train = self.train_scores[-1].mean()
        text = (
            f"{score_info(self.metric).short} on validation rows goes from "
            f"{score_text(first, self.metric)} with {int(self.train_sizes[0]):,} training rows to "
            f"{score_text(last, self.metric)} with {int(self.train_sizes[-1]):,}; on the training "
            f"rows it ends at {score_text(train, self.metric)}."
        )
        return f"{text} {self.verdict}"

    @property
    def verdict(self) -> str:
        """Whether the last doubling of the rows improved the curve beyond its standard error."""
        if self.train_sizes.size < 2:
            return ""
        means = self.validation_scores.mean(axis=1)
        before = int(np.argmin(np.abs(self.train_sizes - self.train_sizes[-1] / 2)))
        before = min(before, self.train_sizes.size - 2)
        gain = means[before] - means[-1]
        if score_info(self.metric).higher_is_better:
            gain = -gain
        spread = self.validation_scores[-1].std() / np.sqrt(
            max(self.validation_scores.shape[1] - 1, 1)
        )
        if gain > max(spread, 0.01 * abs(means[-1])):
            return "The curve still improves at its end: more rows may help."
        return "The curve is flat at its end: more rows of the same kind would change little."

    def _draw(self, ax: Any) -> None:
        for values, color, marker, label in (
            (self.train_scores, ORANGE, "s", "training"),
            (self.validation_scores, BLUE, "o", "validation"),
        ):
            mean, spread = values.mean(axis=1), values.std(axis=1)
            fill_band(ax, self.train_sizes, mean - spread, mean + spread, color=color)
            ax.plot(self.train_sizes, mean, marker=marker, ms=4, color=color, label=label)
        style_axes(ax)
        ax.set_xlabel("training rows")
        label_score_axis(ax.yaxis, score_info(self.metric), direction=False)
        ax.legend(frameon=False, fontsize=9, loc="best")
