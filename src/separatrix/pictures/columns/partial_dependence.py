"""Partial dependence of predictions on one column, with the curves of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.columns.values import column_size, short_name, value_axis, value_text
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number
from separatrix.pictures.inputs import column_names, like
from separatrix.pictures.style import BLUE, MUTED, SERIES, label_text, percent_axis, style_axes
from separatrix.rows.block import Floats

#: Classes that get a curve of their own: those that change most.
MAX_CURVES = 6
#: Averages are of probabilities or proportions on these scales.
_RATES = ("probability", "proportion")


@dataclass(eq=False)
class PartialDependenceDisplay(Display):
    """Mean prediction over the rows with one column set to each of several values.

    Thin lines are single rows (individual conditional expectation): where they are not parallel,
    the column interacts with others. Marks at the axis are the deciles of the column.

    Parameters
    ----------
    column : str
        Name of the column.
    values : ndarray of shape (p,) or sequence of str
        Its values: numbers, or levels.
    average : ndarray of shape (p, k)
        Mean prediction at each value; one column for each output.
    outputs : sequence of str
        Names of the outputs: the target, or classes.
    individual : ndarray of shape (m, p) or None, default=None
        Predictions of single rows.
    deciles : ndarray or None, default=None
        Deciles of the column.
    scale : {"prediction", "probability", "proportion"}, default="prediction"
        What is averaged: predictions, probabilities of classes, or the proportion of rows that are
        predicted to be of a class.
    display : {"", "year", "date", "datetime", "time"}, default=""
        How the values are written; dates are days since 1970-01-01.

    Attributes
    ----------
    shown : list of int
        Outputs drawn: of more than six, those that change most.
    levels : list of str
        The values as text; empty for numbers.

    See Also
    --------
    PermutationImportanceDisplay : Which columns matter.
    ColumnDistributionDisplay : The column and the target in the data.

    References
    ----------
    J. H. Friedman, Greedy function approximation: a gradient boosting machine, Annals of
    Statistics 29, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import PartialDependenceDisplay
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    >>> model = sx.LinearRegression().fit(X, 2 * X[:, 0] + X[:, 1])
    >>> display = PartialDependenceDisplay.from_estimator(model, X, 0)
    >>> display.description
    'Mean prediction over x0. From 0.750 at 0 to 6.75 at 3.'
    """

    column: str
    values: Any
    average: Floats
    outputs: Sequence[str]
    individual: Floats | None = None
    deciles: Floats | None = None
    scale: str = "prediction"
    display: str = ""
    levels: list[str] = field(init=False, repr=False)

    title: ClassVar[str] = "Partial dependence"

    def __post_init__(self) -> None:
        self.average = np.asarray(self.average, dtype=float).reshape(len(self.values), -1)
        if self.average.shape != (len(self.values), len(self.outputs)) or not self.average.size:
            raise InputError(
                f"Averages of shape {self.average.shape} for {len(self.values)} values and "
                f"{len(self.outputs)} outputs."
            )
        text = np.asarray(self.values).dtype.kind not in "fiub"
        self.levels = [str(v) for v in self.values] if text else []

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, column: int | str, *, n_curves: int = 30, display: str = ""
    ) -> Self:
        """From a fitted model, numeric rows to average over, and a column by name or position."""
        from separatrix.statistics.grids import value_grid

        x, names = np.asarray(X, dtype=float), column_names(X)
        j = names.index(column) if isinstance(column, str) else int(column)
        values = value_grid(x[:, j])
        answers = np.stack([_answers(model, like(X, _with_value(x, j, v))) for v in values])
        classes = [str(c) for c in getattr(model, "classes_", ())]
        scale = "prediction"
        if classes:
            scale = "probability" if hasattr(model, "predict_proba") else "proportion"
        if len(classes) == 2:
            answers, classes = answers[:, :, 1:], classes[1:]
        some = np.linspace(0, len(x) - 1, min(n_curves, len(x))).astype(int)
        return cls(
            names[j],
            values,
            answers.mean(axis=1),
            classes or ["prediction"],
            answers[:, some, 0].T if answers.shape[2] == 1 else None,
            np.quantile(x[:, j], np.arange(1, 10) / 10),
            scale,
            display,
        )

    @property
    def heading(self) -> str:
        """The title with the name of the column."""
        return f"{self.title} on {short_name(self.column)}"

    @property
    def shown(self) -> list[int]:
        """Outputs drawn: of more than six, those that change most."""
        if len(self.outputs) <= MAX_CURVES:
            return list(range(len(self.outputs)))
        ranges = np.ptp(self.average, axis=0)
        return sorted(np.argsort(-ranges, kind="stable")[:MAX_CURVES].tolist())

    @property
    def description(self) -> str:
        """The caption, after what is drawn and over which column."""
        axis, caption = self._axis, self.caption
        return f"{axis[0].upper()}{axis[1:]} over {self.column}. {caption}"

    @property
    def caption(self) -> str:
        """Lowest and highest mean and where; of several outputs, that of the largest change."""
        k = int(np.ptp(self.average, axis=0).argmax())
        curve = self.average[:, k]
        low, high = int(curve.argmin()), int(curve.argmax())
        if not self.levels:
            low, high = sorted((low, high))
        text = (
            f"From {self._text(curve[low])} at {self._value(low)} to {self._text(curve[high])} at "
            f"{self._value(high)}."
        )
        if len(self.outputs) > 1:
            text = f"Largest change, {self.outputs[k]}: {text[0].lower()}{text[1:]}"
        if len(self.outputs) > MAX_CURVES:
            text += f" The {MAX_CURVES} of {len(self.outputs)} classes that change most are drawn."
        return text

    def _value(self, i: int) -> str:
        return self.levels[i] if self.levels else value_text(float(self.values[i]), self.display)

    def _text(self, value: float) -> str:
        return f"{100 * value:.0f} %" if self.scale in _RATES else number(value, 3)

    @property
    def _axis(self) -> str:
        if self.scale == "prediction":
            return "mean prediction"
        what = "probability" if self.scale == "probability" else "proportion predicted"
        if len(self.outputs) > 1:
            return f"mean {what}" if self.scale == "probability" else what
        of = label_text(self.outputs[0], 18)
        return f"mean {what} of {of}" if self.scale == "probability" else f"{what} {of}"

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list of levels is long; a little less than other plots for curves."""
        return column_size(len(self.levels))

    def _draw(self, ax: Any) -> None:
        (self._bars if self.levels else self._curves)(ax)
        axis = ax.xaxis if self.levels else ax.yaxis
        if self.scale in _RATES:
            percent_axis(axis)
        axis.set_label_text(self._axis)

    def _curves(self, ax: Any) -> None:
        x = np.asarray(self.values, dtype=float)
        if self.individual is not None and len(self.individual):
            _thin_lines(ax, x, np.asarray(self.individual, dtype=float))
        for color, k in zip(SERIES, self.shown, strict=False):
            label = label_text(self.outputs[k], 16)
            ax.plot(x, self.average[:, k], color=color, linewidth=2, label=label)
        if len(self.shown) > 1:
            ax.legend(frameon=False, fontsize=8.5, loc="best", ncols=2, handlelength=1.4)
        if self.deciles is not None and len(self.deciles):
            inside = self.deciles[(self.deciles >= x[0]) & (self.deciles <= x[-1])]
            ax.vlines(inside, 0, 0.035, color=MUTED, linewidth=0.9,
                      transform=ax.get_xaxis_transform())  # fmt: skip
        ax.margins(x=0.02)
        style_axes(ax)
        value_axis(ax.xaxis, self.display)
        ax.set_xlabel(label_text(self.column, 40))

    def _bars(self, ax: Any) -> None:
        """Levels from top to bottom: a dot for each output, thin marks for single rows."""
        position = -np.arange(len(self.levels), dtype=float)
        if self.individual is not None and len(self.individual):
            single = np.asarray(self.individual, dtype=float)
            ax.plot(single.ravel(), np.tile(position, len(single)), "|", ms=7, mew=0.6,
                    color=BLUE, alpha=0.35)  # fmt: skip
        for color, k in zip(SERIES, self.shown, strict=False):
            name = label_text(self.outputs[k], 16)
            look = {"ms": 6.5, "color": color, "mec": color}
            ax.plot(self.average[:, k], position, "o", label=name, **look)
        if len(self.shown) > 1:
            ax.legend(frameon=False, fontsize=8.5, ncols=3, loc="lower left", handlelength=1,
                      bbox_to_anchor=(0, 1), borderaxespad=0.2)  # fmt: skip
        ax.set_yticks(position, [label_text(level, 18) for level in self.levels])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)


def _thin_lines(ax: Any, x: Floats, lines: Floats) -> None:
    """Many curves as one line with gaps: one node in the SVG."""
    gap = np.full((len(lines), 1), np.nan)
    across = np.append(x, np.nan)
    y = np.hstack([lines, gap]).ravel()
    ax.plot(np.tile(across, len(lines)), y, color=BLUE, linewidth=0.6, alpha=0.3)


def _with_value(x: Floats, j: int, value: float) -> Floats:
    changed = x.copy()
    changed[:, j] = value
    return changed


def _answers(model: Any, X: Any) -> Floats:
    """Predictions (n x 1), or a column for each class."""
    if not hasattr(model, "classes_"):
        return np.asarray(model.predict(X), dtype=float).reshape(-1, 1)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=float)
    return np.asarray(np.asarray(model.predict(X))[:, None] == model.classes_, dtype=float)
