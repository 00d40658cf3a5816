"""Scores of candidates by fold, and of one model on training, validation and test rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, number, score_info, score_text
from separatrix.pictures.style import (
    BLUE,
    MUTED,
    WIDTH,
    label_score_axis,
    style_axes,
    text_color,
    wrapped_label,
)
from separatrix.rows.block import Floats

_DESCRIBED = 6


def _row_axes(ax: Any, names: Sequence[str], metric: str) -> None:
    """One row for each name, the metric on the horizontal axis."""
    ax.set_yticks(-np.arange(len(names)), [wrapped_label(name) for name in names])
    ax.set_ylim(-len(names) + 0.4, 0.6)
    style_axes(ax, grid="x")
    ax.spines["left"].set_visible(False)
    label_score_axis(ax.xaxis, score_info(metric))


@dataclass(eq=False)
class CrossValidationDisplay(Display):
    """Cross-validation score of every candidate and fold, with the means.

    Parameters
    ----------
    names : sequence of str
        Names of the candidates.
    scores : sequence of ndarray
        Scores of each candidate over the folds.
    metric : str, default="error"
        Name of the score.
    winner : str or None, default=None
        The candidate that is highlighted.

    Attributes
    ----------
    means : ndarray
        Mean score of each candidate.

    See Also
    --------
    GeneralizationGapDisplay : One score on training, validation and test rows.
    LearningCurveDisplay : Score against the number of training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import CrossValidationDisplay
    >>> scores = [np.array([0.2, 0.4]), np.array([0.1, 0.2])]
    >>> CrossValidationDisplay(["ridge", "lasso"], scores).means.round(2).tolist()
    [0.3, 0.15]
    """

    names: Sequence[str]
    scores: Sequence[Floats]
    metric: str = "error"
    winner: str | None = None

    title: ClassVar[str] = "Cross-validation scores by fold"

    @property
    def means(self) -> Floats:
        """Mean score of each candidate."""
        return np.array([np.mean(s) if np.size(s) else np.nan for s in self.scores])

    @property
    def description(self) -> str:
        """The caption, after the name of the score."""
        return f"{score_info(self.metric).short}: {self.caption[0].lower()}{self.caption[1:]}"

    @property
    def caption(self) -> str:
        """Mean and range over the folds of the best candidates."""
        means = self.means
        order = np.argsort(-means if score_info(self.metric).higher_is_better else means)
        parts = [
            f"{self.names[i]} {score_text(means[i], self.metric)} "
            f"({score_text(np.min(self.scores[i]), self.metric)} to "
            f"{score_text(np.max(self.scores[i]), self.metric)})"
            for i in order
            if np.size(self.scores[i])
        ]
        return f"Mean and range over the folds, best first: {join_words(parts[:_DESCRIBED])}."

    @property
    def size(self) -> tuple[float, float]:
        """As tall as there are candidates."""
        return WIDTH, 0.8 + 0.3 * max(3, len(self.names))

    def _draw(self, ax: Any) -> None:
        for i, (name, given) in enumerate(zip(self.names, self.scores, strict=True)):
            color = BLUE if name == self.winner else MUTED
            values = np.asarray(given, dtype=float)
            if values.size == 0:
                continue
            ax.plot(values, np.full(values.size, -i), "o", ms=5, mew=0, alpha=0.55, color=color)
            bar = text_color(ax) if name == self.winner else MUTED
            ax.plot([values.mean()] * 2, [-i - 0.3, -i + 0.3], color=bar, linewidth=2)
        _row_axes(ax, self.names, self.metric)


@dataclass(eq=False)
class GeneralizationGapDisplay(Display):
    """Generalization gap: one score on training, validation and test rows.

    Parameters
    ----------
    parts : sequence of str
        Names of the parts of the data.
    values : sequence of float
        Score on each part.
    low : sequence of float
        Lower end of the confidence interval, NaN without one.
    high : sequence of float
        Upper end of the confidence interval, NaN without one.
    metric : str, default="error"
        Name of the score.
    muted : sequence of str, default=()
        Parts drawn in grey, such as a baseline.

    See Also
    --------
    CrossValidationDisplay : Scores of every candidate and fold.
    LearningCurveDisplay : Score against the number of training rows.

    Examples
    --------
    >>> from separatrix.pictures import GeneralizationGapDisplay
    >>> nan = float("nan")
    >>> GeneralizationGapDisplay(
    ...     ["training", "test"], [50.0, 60.0], [nan, 55.0], [nan, 65.0], "rmse").description
    'RMSE: training 50 and test 60 (55 to 65). Test is 20 % higher than training.'
    """

    parts: Sequence[str]
    values: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    metric: str = "error"
    muted: Sequence[str] = ()

    title: ClassVar[str] = "Generalization gap"

    @property
    def description(self) -> str:
        """The caption, after the name of the score."""
        return f"{score_info(self.metric).short}: {self.caption[0].lower()}{self.caption[1:]}"

    @property
    def caption(self) -> str:
        """Each value with its interval, and the gap between training and test."""
        parts = []
        for part, value, low, high in zip(
            self.parts, self.values, self.low, self.high, strict=True
        ):
            interval = ""
            if np.isfinite(low) and np.isfinite(high):
                interval = f" ({score_text(low, self.metric)} to {score_text(high, self.metric)})"
            parts.append(f"{part} {score_text(value, self.metric)}{interval}")
        text = join_words(parts)
        return f"{text[0].upper()}{text[1:]}.{self._gap()}"

    def _gap(self) -> str:
        own = [
            (part, value)
            for part, value in zip(self.parts, self.values, strict=True)
            if part not in self.muted
        ]
        if len(own) < 2:
            return ""
        (first, start), (last, end) = own[0], own[-1]
        if score_info(self.metric).higher_is_better or start == 0:
            return f" Gap from {first} to {last}: {number(end - start, 2)}."
        change = 100 * (end / start - 1)
        if abs(change) < 0.5:
            return f" {last.capitalize()} and {first} agree within half a per cent."
        if change > 200:
            return f" {last.capitalize()} is {number(round(end / start), 3)} times that of {first}."
        word = "higher" if change >= 0 else "lower"
        return f" {last.capitalize()} is {abs(change):.0f} % {word} than {first}."

    @property
    def size(self) -> tuple[float, float]:
        """As tall as there are parts."""
        return WIDTH, 0.8 + 0.3 * max(3, len(self.parts))

    def _draw(self, ax: Any) -> None:
        rows = zip(self.parts, self.values, self.low, self.high, strict=True)
        for i, (part, value, low, high) in enumerate(rows):
            color = MUTED if part in self.muted else BLUE
            if np.isfinite(low) and np.isfinite(high):
                ax.plot([low, high], [-i, -i], color=color, linewidth=1.6)
            ax.plot([value], [-i], "o", ms=6, mew=0, color=color)
        _row_axes(ax, self.parts, self.metric)
