"""Permutation importance of columns, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, plural, score_info, score_text
from separatrix.pictures.inputs import column_names
from separatrix.pictures.points import reference_line
from separatrix.pictures.style import (
    BLUE,
    MUTED,
    PAPER,
    WIDTH,
    label_text,
    percent_axis,
    style_axes,
)
from separatrix.rows.block import Floats


@dataclass(eq=False)
class PermutationImportanceDisplay(Display):
    """How much a score gets worse when one column is permuted among the rows.

    A dot is the mean increase, a line its 95 % interval; hollow dots have an interval that holds
    zero. Columns that carry the same information stand in for one another, and each then looks
    less important than both together are.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    increase : ndarray of shape (k,)
        Increase of the score of each.
    intervals : ndarray of shape (k, 2)
        95 % intervals of the increases.
    metric : str, default="rmse"
        Name of the score, of which lower is better.
    base : float or None, default=None
        The score with every column in place.
    n_columns : int or None, default=None
        Number of columns of the table; None: as many as there are names.
    max_shown : int, default=15
        Number of columns drawn at most.

    Attributes
    ----------
    shown : list of int
        Positions of the columns drawn, the most important first.
    above_zero : ndarray of bool
        Where the whole interval is above zero.

    See Also
    --------
    PartialDependenceDisplay : How predictions change along one column.
    CoefficientDisplay : Coefficients of a linear model.

    References
    ----------
    L. Breiman, Random forests, Machine Learning 45, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import PermutationImportanceDisplay
    >>> display = PermutationImportanceDisplay(
    ...     ("age", "dose"), np.array([0.1, 2.0]), np.array([[-0.1, 0.3], [1.5, 2.5]]), base=3.0)
    >>> display.description
    'Increase of the RMSE when a column is permuted: dose 2 and age 0.1000. From 3 with all columns
    in place. 1 of 2 columns has an interval above zero.'
    """

    names: Sequence[str]
    increase: Floats
    intervals: Floats
    metric: str = "rmse"
    base: float | None = None
    n_columns: int | None = None
    max_shown: int = 15

    title: ClassVar[str] = "Permutation importance of columns"

    def __post_init__(self) -> None:
        self.increase = np.asarray(self.increase, dtype=float)
        self.intervals = np.asarray(self.intervals, dtype=float)
        if self.intervals.shape != (len(self.names), 2) or len(self.increase) != len(self.names):
            raise InputError(
                f"{len(self.names)} names, {len(self.increase)} increases and intervals of shape "
                f"{self.intervals.shape}."
            )
        if not len(self.names):
            raise InputError("There is no column whose importance could be drawn.")

    @classmethod
    def from_losses(
        cls,
        names: Sequence[str],
        increase: Any,
        intervals: Any,
        base: float,
        *,
        squared: bool = False,
        metric: str = "rmse",
        n_columns: int | None = None,
    ) -> Self:
        """From increases of a mean loss; of a ``squared`` loss, the root is drawn.

        The root of the mean squared error rises from √base to √(base + increase).
        """
        rise, ends = np.asarray(increase, dtype=float), np.asarray(intervals, dtype=float)
        if squared:
            root = np.sqrt(base)
            rise, ends = (np.sqrt(np.maximum(base + v, 0.0)) - root for v in (rise, ends))
            base = float(root)
        return cls(names, rise, ends, metric, base, n_columns)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        loss: Callable[[Any, Any], Any] | None = None,
        metric: str | None = None,
        n_repeats: int = 10,
        seed: int = 0,
    ) -> Self:
        """From a fitted model and rows with their targets, best ones it was not fitted to.

        ``loss(y, predicted)`` is the loss of each row, ``metric`` its name; by default squared
        errors of numbers, drawn as RMSE, and errors of classes.
        """
        from separatrix.statistics.permutation import donor_rows, mean_rise

        classes = hasattr(model, "classes_")
        value = loss or (_errors if classes else _squares)
        n, d = np.shape(X)
        donors = donor_rows(n, min(n_repeats, n - 1), seed)
        before = np.asarray(value(y, model.predict(X)), dtype=float)
        found = []
        for j in range(d):
            after = [value(y, model.predict(_with_column(X, j, rows))) for rows in donors]
            rise = np.asarray(after, dtype=float) - before
            found.append(mean_rise(rise, donors, np.ones(n)))
        mean, half = np.array(found).T
        return cls.from_losses(
            column_names(X),
            mean,
            np.stack([mean - half, mean + half], axis=1),
            float(before.mean()),
            squared=loss is None and not classes,
            metric=metric or ("loss" if loss else "error" if classes else "rmse"),
        )

    @property
    def shown(self) -> list[int]:
        """Positions of the columns drawn, the most important first."""
        order = np.argsort(-self.increase, kind="stable")
        return [int(j) for j in order[: self.max_shown]]

    @property
    def above_zero(self) -> NDArray[np.bool_]:
        """Where the whole interval is above zero."""
        return np.asarray(self.intervals[:, 0] > 0)

    @property
    def description(self) -> str:
        """The caption, after what is drawn and the three most important columns."""
        top = [
            f"{self.names[j]} {score_text(self.increase[j], self.metric)}" for j in self.shown[:3]
        ]
        return f"{self._axis[0].upper()}{self._axis[1:]}: {join_words(top)}. {self.caption}"

    @property
    def caption(self) -> str:
        """The score before, how many columns matter, and how many are drawn."""
        count, total = int(self.above_zero.sum()), len(self.names)
        text = ""
        if self.base is not None:
            text = f"From {score_text(self.base, self.metric)} with all columns in place. "
        verb = "has" if count == 1 else "have"
        text += f"{count} of {plural(total, 'column')} {verb} an interval above zero."
        whole = self.n_columns or total
        if whole > total:
            text += f" Measured: {total} of {whole:,} columns, those that change the loss most."
        if total > len(self.shown):
            text += f" The first {len(self.shown)} are shown."
        return text

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return WIDTH, 0.95 + 0.2 * max(4, len(self.shown))

    @property
    def _axis(self) -> str:
        short = score_info(self.metric).short
        name = short if short.isupper() else short.lower()
        return f"increase of the {name} when a column is permuted"

    def _draw(self, ax: Any) -> None:
        position = -np.arange(len(self.shown), dtype=float)
        reference_line(ax, 0.0, horizontal=False)
        for at, j in zip(position, self.shown, strict=True):
            color = BLUE if self.above_zero[j] else MUTED
            ax.plot(self.intervals[j], [at, at], color=color, linewidth=1.4)
            fill = color if self.above_zero[j] else PAPER
            ax.plot([self.increase[j]], [at], "o", ms=5, mfc=fill, mec=color, mew=1.2)
        ax.set_yticks(position, [label_text(self.names[j], 20) for j in self.shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style_axes(ax, grid="x")
        if score_info(self.metric).is_rate:
            percent_axis(ax.xaxis)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel(self._axis)


def _squares(y: Any, predicted: Any) -> Any:
    return (np.asarray(y, dtype=float) - np.asarray(predicted, dtype=float)) ** 2


def _errors(y: Any, predicted: Any) -> Any:
    return (np.asarray(y) != np.asarray(predicted)).astype(float)


def _with_column(X: Any, j: int, rows: Any) -> Any:
    """``X`` with column j in the order of ``rows``; a data frame stays one."""
    import narwhals as nw

    frame = nw.from_native(X, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        name = frame.columns[j]
        return frame.with_columns(frame[name][rows.tolist()].alias(name)).to_native()
    changed = np.array(X)
    changed[:, j] = changed[rows, j]
    return changed
