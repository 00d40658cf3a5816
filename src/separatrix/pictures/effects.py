"""What columns do to predictions: importance, partial dependence, curves, learned metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.formatting import join_words, number, plural, score_info, score_text
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import column_names, design_deviations, like, require_fitted

# -------------------------------------------------------------------------------------------------
# Permutation importance of columns, with intervals.


@describe_parameters
@dataclass(eq=False)
class PermutationImportanceDisplay(Display):
    """How much a score gets worse when one column is permuted among the rows.

    A dot is the mean increase, a line its 95 % interval; hollow dots have an interval that holds
    zero. Columns that carry the same information stand in for one another, and each then looks
    less important than both together are.

    Parameters
    ----------
    names : sequence of str
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
        from separatrix.statistics.columns import donor_rows, mean_rise

        classes = hasattr(model, "classes_")
        value = loss or (_errors if classes else _squares)
        n, d = np.shape(X)
        donors = donor_rows(n, min(n_repeats, n - 1), seed)
        before = np.asarray(value(y, model.predict(X)), dtype=float)
        importances = []
        for j in range(d):
            after = [value(y, model.predict(_with_column(X, j, rows))) for rows in donors]
            rise = np.asarray(after, dtype=float) - before
            importances.append(mean_rise(rise, donors, np.ones(n)))
        mean, half = np.array(importances).T
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
        return style.WIDTH, 0.95 + 0.2 * max(4, len(self.shown))

    @property
    def _axis(self) -> str:
        short = score_info(self.metric).short
        name = short if short.isupper() else short.lower()
        return f"increase of the {name} when a column is permuted"

    def _draw(self, ax: Any) -> None:
        position = -np.arange(len(self.shown), dtype=float)
        marks.reference_line(ax, 0.0, horizontal=False)
        for at, j in zip(position, self.shown, strict=True):
            color = style.BLUE if self.above_zero[j] else style.MUTED
            ax.plot(self.intervals[j], [at, at], color=color, linewidth=1.4)
            fill = color if self.above_zero[j] else style.PAPER
            ax.plot([self.increase[j]], [at], "o", ms=5, mfc=fill, mec=color, mew=1.2)
        ax.set_yticks(position, [style.label_text(self.names[j], 20) for j in self.shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style.style_axes(ax, grid="x")
        if score_info(self.metric).is_rate:
            style.percent_axis(ax.xaxis)
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


# -------------------------------------------------------------------------------------------------
# Partial dependence of predictions on one column, with the curves of single rows.


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
        from separatrix.statistics.columns import value_grid

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
        return f"{self.title} on {style.short_name(self.column)}"

    @property
    def shown(self) -> list[int]:
        """Outputs drawn: of more than six, those that change most."""
        if len(self.outputs) <= len(style.SERIES):
            return list(range(len(self.outputs)))
        ranges = np.ptp(self.average, axis=0)
        return sorted(np.argsort(-ranges, kind="stable")[: len(style.SERIES)].tolist())

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
        if len(self.outputs) > len(style.SERIES):
            drawn, total = len(style.SERIES), len(self.outputs)
            text += f" The {drawn} of {total} classes that change most are drawn."
        return text

    def _value(self, i: int) -> str:
        return (
            self.levels[i] if self.levels else style.value_text(float(self.values[i]), self.display)
        )

    def _text(self, value: float) -> str:
        return f"{100 * value:.0f} %" if self.scale in _RATES else number(value, 3)

    @property
    def _axis(self) -> str:
        if self.scale == "prediction":
            return "mean prediction"
        what = "probability" if self.scale == "probability" else "proportion predicted"
        if len(self.outputs) > 1:
            return f"mean {what}" if self.scale == "probability" else what
        of = style.label_text(self.outputs[0], 18)
        return f"mean {what} of {of}" if self.scale == "probability" else f"{what} {of}"

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list of levels is long; a little less than other plots for curves."""
        return style.column_size(len(self.levels))

    def _draw(self, ax: Any) -> None:
        (self._bars if self.levels else self._curves)(ax)
        axis = ax.xaxis if self.levels else ax.yaxis
        if self.scale in _RATES:
            style.percent_axis(axis)
        axis.set_label_text(self._axis)

    def _curves(self, ax: Any) -> None:
        x = np.asarray(self.values, dtype=float)
        if self.individual is not None and len(self.individual):
            _thin_lines(ax, x, np.asarray(self.individual, dtype=float))
        for color, k in zip(style.SERIES, self.shown, strict=False):
            label = style.label_text(self.outputs[k], 16)
            ax.plot(x, self.average[:, k], color=color, linewidth=2, label=label)
        if len(self.shown) > 1:
            ax.legend(frameon=False, fontsize=8.5, loc="best", ncols=2, handlelength=1.4)
        if self.deciles is not None and len(self.deciles):
            inside = self.deciles[(self.deciles >= x[0]) & (self.deciles <= x[-1])]
            ax.vlines(inside, 0, 0.035, color=style.MUTED, linewidth=0.9,
                      transform=ax.get_xaxis_transform())  # fmt: skip
        ax.margins(x=0.02)
        style.style_axes(ax)
        style.value_axis(ax.xaxis, self.display)
        ax.set_xlabel(style.label_text(self.column, 40))

    def _bars(self, ax: Any) -> None:
        """Levels from top to bottom: a dot for each output, thin marks for single rows."""
        position = -np.arange(len(self.levels), dtype=float)
        if self.individual is not None and len(self.individual):
            single = np.asarray(self.individual, dtype=float)
            ax.plot(single.ravel(), np.tile(position, len(single)), "|", ms=7, mew=0.6,
                    color=style.BLUE, alpha=0.35)  # fmt: skip
        for color, k in zip(style.SERIES, self.shown, strict=False):
            name = style.label_text(self.outputs[k], 16)
            look = {"ms": 6.5, "color": color, "mec": color}
            ax.plot(self.average[:, k], position, "o", label=name, **look)
        if len(self.shown) > 1:
            ax.legend(frameon=False, fontsize=8.5, ncols=3, loc="lower left", handlelength=1,
                      bbox_to_anchor=(0, 1), borderaxespad=0.2)  # fmt: skip
        ax.set_yticks(position, [style.label_text(level, 18) for level in self.levels])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style.style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)


def _thin_lines(ax: Any, x: Floats, lines: Floats) -> None:
    """Many curves as one line with gaps: one node in the SVG."""
    gap = np.full((len(lines), 1), np.nan)
    across = np.append(x, np.nan)
    y = np.hstack([lines, gap]).ravel()
    ax.plot(np.tile(across, len(lines)), y, color=style.BLUE, linewidth=0.6, alpha=0.3)


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


# -------------------------------------------------------------------------------------------------
# Curves of additive models, and the directions of learned metrics.


@dataclass(eq=False)
class AdditiveCurveDisplay(Display):
    """A curve of an additive model, with its pointwise intervals and its simultaneous band.

    What the column adds to the prediction beyond its mean over the training rows. The darker band
    holds point by point with its level, the lighter one for the whole curve at once: a column whose
    lighter band has zero inside everywhere may have no effect. Marks at the axis are values of the
    column among the training rows.

    Parameters
    ----------
    curve : Curve
        What ``curve`` of an additive model returns.
    unit : str, default="the target"
        What the curve is added to, for the axis.
    display : {"", "year", "date", "datetime", "time"}, default=""
        How the values are written; dates are days since 1970-01-01.

    See Also
    --------
    PartialDependenceDisplay : The same question to any model, without intervals.
    CoefficientDisplay : Coefficients of a linear model.

    References
    ----------
    T. J. Hastie and R. J. Tibshirani, Generalized additive models, 1990.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import AdditiveCurveDisplay
    >>> x = np.linspace(0.0, 3.0, 60)[:, None]
    >>> model = sx.AdditiveRegressor().fit(x, np.sin(2 * x[:, 0]))
    >>> AdditiveCurveDisplay.from_estimator(model, "x0").description
    'What x0 adds to the target. From −1.00 at 2.35 to 0.996 at 0.784, by 18.0 degrees of freedom.'
    """

    curve: Any
    unit: str = "the target"
    display: str = ""

    title: ClassVar[str] = "Curve"

    @classmethod
    def from_estimator(
        cls, model: Any, column: Any, *, level: float = 0.95, output: Any = None, display: str = ""
    ) -> Self:
        """From a fitted additive model and a column; of several classes ``output`` is one."""
        require_fitted(model, "terms_", problem=f"{type(model).__name__} is not fitted")
        unit = "the target"
        if hasattr(model, "classes_"):
            unit = f"the score of {style.label_text(output, 18)}"
            if len(model.classes_) == 2:
                unit = f"log odds of {style.label_text(model.classes_[1], 18)}"
        elif hasattr(model, "dispersion_"):
            unit = "the log mean"
        return cls(model.curve(column, level=level, output=output), unit, display)

    @property
    def levels(self) -> tuple[str, ...]:
        """The values of the column as text, if it has levels."""
        return self.curve.x if isinstance(self.curve.x, tuple) else ()

    @property
    def heading(self) -> str:
        """The name of the column after the title."""
        return f"Curve of {style.short_name(self.curve.column)}"

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"What {self.curve.column} adds to {self.unit}. {self.caption}"

    @property
    def caption(self) -> str:
        """The lowest and the highest value and where, and how far the curve bends."""
        values = np.asarray(self.curve.values, dtype=float)
        if not values.any():
            return "The column is left out: it adds nothing."
        low, high = int(values.argmin()), int(values.argmax())
        return (
            f"From {number(values[low], 3)} at {self._place(low)} to {number(values[high], 3)} at "
            f"{self._place(high)}, by {number(self.curve.freedom, 3)} degrees of freedom."
        )

    def _place(self, i: int) -> str:
        return (
            self.levels[i]
            if self.levels
            else style.value_text(float(self.curve.x[i]), self.display)
        )

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list of levels is long."""
        return style.column_size(len(self.levels))

    def _draw(self, ax: Any) -> None:
        curve = self.curve
        marks.reference_line(ax, 0.0, horizontal=not self.levels)
        axis = style.label_text(f"added to {self.unit}", 34)
        if self.levels:
            position = -np.arange(len(self.levels), dtype=float)
            for (low, high), width in ((curve.band.T, 1.0), (curve.interval.T, 2.6)):
                ax.hlines(position, low, high, color=style.BLUE, linewidth=width)
            ax.plot(curve.values, position, "o", ms=5.5, color=style.BLUE)
            ax.set_yticks(position, [style.label_text(level, 18) for level in self.levels])
            ax.set_ylim(position[-1] - 0.7, 0.7)
            style.style_axes(ax, grid="x")
            ax.set_xlabel(axis)
            return
        marks.fill_band(ax, curve.x, *curve.band.T)
        marks.fill_band(ax, curve.x, *curve.interval.T)
        ax.plot(curve.x, curve.values, color=style.BLUE, linewidth=2)
        ax.vlines(curve.marks, 0, 0.035, color=style.MUTED, linewidth=0.5,
                  transform=ax.get_xaxis_transform())  # fmt: skip
        ax.margins(x=0.02)
        style.style_axes(ax)
        style.value_axis(ax.xaxis, self.display)
        ax.set_xlabel(style.label_text(curve.column, 40))
        ax.set_ylabel(axis)


@describe_parameters
@dataclass(eq=False)
class MetricDirectionsDisplay(Display):
    """Leading directions of a learned metric, by the columns that make them up.

    A direction is an eigenvector of M in ‖x − z‖² = (x − z)ᵀ M (x − z): rows that differ along the
    first are far apart. Columns are those with the largest loadings.

    Parameters
    ----------
    directions : sequence of (float, mapping)
        The share of each direction in the trace of M, and its loading of every column.
    max_shown : int, default=12
        Number of columns drawn at most.

    See Also
    --------
    RelevanceDisplay : Length scales of a Gaussian process.
    PermutationImportanceDisplay : How much worse predictions are without a column.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import MetricDirectionsDisplay
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> model = sx.NeighborhoodComponentsAnalysis(1).fit(x, x[:, 0] > x[:, 2])
    >>> MetricDirectionsDisplay.from_estimator(model).description.split(":")[0]
    'Loadings of 3 columns on 1 direction of the metric. Direction 1 (100 %)'
    """

    directions: Sequence[tuple[float, Mapping[str, float]]]
    max_shown: int = 12

    title: ClassVar[str] = "Directions of the metric"

    def __post_init__(self) -> None:
        if not self.directions or not self.directions[0][1]:
            raise InputError("There is no direction to draw.")

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None, *, count: int = 2) -> Self:
        """From a fitted model with a learned metric.

        ``X``, the rows of the fit, gives the standard deviations of columns whose units differ;
        recursive feature machines have standardized columns of their own.
        """
        if not hasattr(model, "directions"):
            raise InputError(f"{type(model).__name__} has no learned metric.")
        if X is None:
            return cls(model.directions(count))
        width = len(model.components_.T)
        return cls(model.directions(count, design_deviations(model, X, width)))

    @property
    def names(self) -> list[str]:
        """Columns drawn, the largest loading of any direction first, by the share of it."""
        columns = list(self.directions[0][1])
        size = [max(e * abs(v[name]) for e, v in self.directions) for name in columns]
        order = np.argsort(-np.asarray(size), kind="stable")[: self.max_shown]
        return [columns[j] for j in order]

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        count = len(self.directions)
        what = f"{count} direction{'s' if count > 1 else ''}"
        return f"Loadings of {len(self.names)} columns on {what} of the metric. {self.caption}"

    @property
    def caption(self) -> str:
        """The share of each direction, and its largest loadings."""
        sentences = []
        for k, (share, loadings) in enumerate(self.directions, 1):
            top = sorted(loadings, key=lambda name: -abs(loadings[name]))[:3]
            parts = [f"{name} {number(loadings[name], 2)}" for name in top]
            sentences.append(f"Direction {k} ({100 * share:.0f} %): {join_words(parts)}.")
        return " ".join(sentences)

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return style.WIDTH, 1.1 + 0.25 * max(3, len(self.names))

    def _draw(self, ax: Any) -> None:
        names, count = self.names, len(self.directions)
        position, height = -np.arange(len(names), dtype=float), 0.8 / count
        for k, (share, loadings) in enumerate(self.directions):
            at = position + 0.4 - height * (k + 0.5)
            label = f"direction {k + 1}, {100 * share:.0f} %"
            values = [loadings[name] for name in names]
            ax.barh(
                at,
                values,
                height=0.9 * height,
                color=style.SERIES[k % len(style.SERIES)],
                label=label,
            )
        marks.reference_line(ax, 0.0, horizontal=False)
        ax.set_yticks(position, [style.label_text(name, 20) for name in names])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        ax.legend(frameon=False, fontsize=8.5, ncols=3, loc="lower left", handlelength=1,
                  bbox_to_anchor=(0, 1), borderaxespad=0.2)  # fmt: skip
        style.style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("loading")
