"""Predictive distributions and conformal sets: bands, intervals, coverage, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.formatting import join_words, number, plural
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import column_names, like
from separatrix.rows.schema import unit_weights

if TYPE_CHECKING:
    from separatrix.bayes.predictive import PredictiveDistribution
    from separatrix.conformal.base import Coverage

# -------------------------------------------------------------------------------------------------
# Predictive distributions of rows: given, or those of a fitted model.


def predictive_of(model: Any, X: Any) -> PredictiveDistribution:
    """The predictive distribution of each row: ``predictive``, or scikit-learn's ``return_std``."""
    from separatrix.bayes.predictive import PredictiveDistribution

    if hasattr(model, "predictive"):
        predictive_distribution: PredictiveDistribution = model.predictive(X)
        return predictive_distribution
    try:
        mean, deviation = model.predict(X, return_std=True)
    except TypeError:
        raise InputError(
            f"{type(model).__name__} predicts numbers without a distribution.",
            remedy="Use BayesianRidge or GaussianProcessRegressor, say.",
        ) from None
    return PredictiveDistribution(np.asarray(mean, float), np.asarray(deviation, float))


def check_observed(y: Any, predictive: PredictiveDistribution) -> Floats:
    """The targets as numbers, one for each distribution."""
    values = np.asarray(y, dtype=float)
    if values.ndim != 1 or values.shape != np.shape(predictive.mean) or not values.size:
        raise InputError(
            f"y has shape {values.shape}, the predictive distributions {predictive.mean.shape}."
        )
    return values


def level_text(level: float) -> str:
    """0.95 as 95 %."""
    return f"{100 * level:.4g} %"


# -------------------------------------------------------------------------------------------------
# The predictive band along one column.


@describe_parameters
@dataclass(eq=False)
class PredictiveBandDisplay(Display):
    """Mean and central intervals of the predictive distribution along one column.

        m(x) ± q s(x),    q the quantile of (1 + level)/2

    Parameters
    ----------
    x : ndarray of shape (k,)
        Values of the column, in increasing order.
    mean : ndarray of shape (k,)
        Predictive means there.
    intervals : ndarray of shape (k, 2)
        Predictive intervals there.
    level : float, default=0.95
    points : ndarray of shape (n, 2) or None, default=None
        Observed rows: value of the column, target.
    column, target : str
        Names of both axes.
    display : {"", "year", "date", "datetime", "time"}, default=""
        How values of the column are written; dates are days since 1970-01-01.
    max_points : int, default=5000

    Attributes
    ----------
    within : float
        Proportion of the points within the band; NaN without points.

    See Also
    --------
    PredictiveIntervalDisplay : Intervals of single rows, for several columns.
    PartialDependenceDisplay : Mean prediction along one of several columns.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import PredictiveBandDisplay
    >>> x = np.linspace(0, 1, 3)
    >>> display = PredictiveBandDisplay(
    ...     x, x, np.stack([x - 0.5, x + 0.5], axis=1), points=np.array([[0.0, 0.1], [1.0, 2.0]]))
    >>> display.within
    0.5
    """

    x: Floats
    mean: Floats
    intervals: Floats
    level: float = 0.95
    points: Floats | None = None
    column: str = "x"
    target: str = "y"
    display: str = ""
    max_points: int = marks.MAX_POINTS

    title: ClassVar[str] = "Predictive band"

    def __post_init__(self) -> None:
        self.x, self.mean = (np.asarray(v, dtype=float).ravel() for v in (self.x, self.mean))
        self.intervals = np.asarray(self.intervals, dtype=float)
        if self.intervals.shape != (self.x.size, 2) or self.mean.size != self.x.size:
            raise InputError(
                f"{self.x.size} values, {self.mean.size} means and intervals of shape "
                f"{self.intervals.shape}."
            )
        if self.x.size < 2:
            raise InputError("A band needs two values of the column at least.")

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predictive: PredictiveDistribution,
        x: Any,
        *,
        level: float = 0.95,
        column: str = "x",
        target: str = "y",
    ) -> Self:
        """From rows with one column ``x``: targets and predictive distributions at the same x."""
        truth, at = check_observed(y, predictive), np.asarray(x, dtype=float).ravel()
        order = np.argsort(at, kind="stable")
        return cls(
            at[order],
            predictive.mean[order],
            predictive.interval(level)[order],
            level,
            np.stack([at, truth], axis=1),
            column,
            target,
        )

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        column: int = 0,
        level: float = 0.95,
        margin: float = 0.05,
        target: str = "y",
    ) -> Self:
        """From a fitted model and rows of numbers; other columns are set to their medians.

        The band reaches a part of ``margin`` beyond the range of the column. Points are drawn where
        the rows have one column alone: others are not on the slice that the band shows.
        """
        values = np.asarray(X, dtype=float)
        value = values[:, column]
        width = margin * float(np.ptp(value))
        # Places along the column at which the band is computed.
        x = np.linspace(value.min() - width, value.max() + width, 120)
        slice_ = np.tile(np.median(values, axis=0), (x.size, 1))
        slice_[:, column] = x
        predictive_distribution = predictive_of(model, like(X, slice_))
        alone = values.shape[1] == 1 and y is not None
        points = np.stack([value, np.asarray(y, dtype=float)], axis=1) if alone else None
        name = column_names(X)[column]
        return cls(
            x,
            predictive_distribution.mean,
            predictive_distribution.interval(level),
            level,
            points,
            name,
            target,
        )

    @property
    def within(self) -> float:
        """Proportion of the points within the band; NaN without points."""
        if self.points is None or not len(self.points):
            return float("nan")
        at, y = np.asarray(self.points, dtype=float).T
        low, high = (np.interp(at, self.x, end) for end in self.intervals.T)
        return float(np.mean((y >= low) & (y <= high)))

    @property
    def heading(self) -> str:
        """The title with the name of the column."""
        return f"{self.title} along {style.short_name(self.column)}"

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return (
            f"Mean and {level_text(self.level)} predictive intervals along "
            f"{style.short_name(self.column)}. {self.caption}"
        )

    @property
    def caption(self) -> str:
        """The mean at both ends, the narrowest and the widest interval, the points within."""
        width = np.diff(self.intervals, axis=1).ravel()
        ends = [style.value_text(self.x[i], self.display) for i in (0, -1)]
        wide, tight = int(width.argmax()), int(width.argmin())
        text = (
            f"From {number(self.mean[0], 3)} at {ends[0]} to {number(self.mean[-1], 3)} at "
            f"{ends[1]}. The intervals are {number(width[tight], 3)} wide near "
            f"{style.value_text(self.x[tight], self.display)} and {number(width[wide], 3)} near "
            f"{style.value_text(self.x[wide], self.display)}."
        )
        if self.points is None or not len(self.points):
            return text
        rows = plural(len(self.points), "row")
        return f"{text} {100 * self.within:.1f} % of {rows} are within the band."

    def _draw(self, ax: Any) -> None:
        marks.fill_band(
            ax,
            self.x,
            *self.intervals.T,
            color=style.ORANGE,
            label=f"{level_text(self.level)} interval",
        )
        if self.points is not None and len(self.points):
            at, y = np.asarray(self.points, dtype=float).T
            marks.scatter(ax, at, y, max_points=self.max_points)
            ax.plot([], [], "o", ms=3.4, mew=0, color=style.BLUE, label="actual")
        ax.plot(self.x, self.mean, color=style.ORANGE, label="predicted")
        ax.margins(x=0.02)
        style.style_axes(ax)
        style.value_axis(ax.xaxis, self.display)
        ax.set_xlabel(style.label_text(self.column, 40))
        ax.set_ylabel(style.label_text(self.target, 30))
        ax.legend(frameon=False, fontsize=8.5, loc="best", handlelength=1.6)


# -------------------------------------------------------------------------------------------------
# Predictive intervals of single rows, in the order of their predictions.


@describe_parameters
@dataclass(eq=False)
class PredictiveIntervalDisplay(Display):
    """The predictive band of rows of several columns: an interval for each, and its target.

    Rows are in the order of their predicted values, which the line shows. Dark squares are
    targets outside their interval.

    Parameters
    ----------
    actual : ndarray of shape (n,)
        Observed targets.
    predicted : ndarray of shape (n,)
        Predictive means.
    intervals : ndarray of shape (n, 2)
        Predictive intervals.
    level : float, default=0.95
    row_labels : sequence or None, default=None
    max_shown : int, default=150
        Rows drawn at most; of more, an even selection.
    display : {"", "year", "date", "datetime", "time"}, default=""
        How the target is written; dates are days since 1970-01-01.

    Attributes
    ----------
    outside : ndarray of bool
        Rows whose target is outside its interval.

    See Also
    --------
    PredictiveBandDisplay : The band along one column.
    CoverageDisplay : Coverage of intervals at every level.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import PredictiveIntervalDisplay
    >>> predictive = sx.PredictiveDistribution(np.array([2.0, 1.0]), np.array([1.0, 0.5]))
    >>> display = PredictiveIntervalDisplay.from_predictions([2.5, 3.0], predictive)
    >>> display.outside.tolist()
    [False, True]
    """

    actual: Floats
    predicted: Floats
    intervals: Floats
    level: float = 0.95
    row_labels: Sequence[object] | None = None
    max_shown: int = 150  # rows drawn at most: an even selection in the order of their predictions
    display: str = ""

    title: ClassVar[str] = "Predictive intervals, row by row"
    figure_size: ClassVar[tuple[float, float]] = style.TALL

    def __post_init__(self) -> None:
        self.actual, self.predicted, self.intervals = (
            np.asarray(v, dtype=float) for v in (self.actual, self.predicted, self.intervals)
        )
        n = self.actual.size
        if not n or self.predicted.shape != (n,) or self.intervals.shape != (n, 2):
            raise InputError(
                f"{n} targets, predictions of shape {self.predicted.shape} and intervals of shape "
                f"{self.intervals.shape}."
            )

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predictive: PredictiveDistribution,
        *,
        level: float = 0.95,
        row_labels: Any = None,
    ) -> Self:
        """From observed targets and their predictive distributions."""
        truth = check_observed(y, predictive)
        return cls(truth, predictive.mean, predictive.interval(level), level, row_labels)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, level: float = 0.95) -> Self:
        """From a fitted model with ``predictive`` (or ``return_std``) and rows it has not seen."""
        return cls.from_predictions(y, predictive_of(model, X), level=level)

    @property
    def outside(self) -> NDArray[np.bool_]:
        """Rows whose target is outside its interval."""
        low, high = self.intervals.T
        return np.asarray((self.actual < low) | (self.actual > high))

    @property
    def shown(self) -> Ints:
        """Positions of the rows drawn, by increasing prediction."""
        order = np.argsort(self.predicted, kind="stable")
        if order.size <= self.max_shown:
            return order
        return np.asarray(order[np.linspace(0, order.size - 1, self.max_shown).astype(int)])

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"{level_text(self.level)} predictive intervals and targets. {self.caption}"

    @property
    def caption(self) -> str:
        """Targets within, widths, the rows farthest outside, and how many are drawn."""
        n, width = self.actual.size, np.diff(self.intervals, axis=1).ravel()
        inside = n - int(self.outside.sum())
        text = (
            f"{inside} of {plural(n, 'target')} ({100 * inside / n:.1f} %) are within their "
            f"{level_text(self.level)} interval. Half of the intervals are narrower than "
            f"{number(float(np.median(width)), 3)}; the widest is {number(float(width.max()), 3)}."
        )
        names = marks.row_names(self.row_labels, n)
        half = np.maximum(width / 2, np.finfo(float).tiny)
        away = np.where(self.outside, np.abs(self.actual - self.intervals.mean(axis=1)) / half, 0.0)
        far = [marks.name_row(names[i]) for i in marks.largest(away) if away[i] > 0]
        if far:
            text += f" Farthest outside: {join_words(far)}."
        if n > self.max_shown:
            text += f" An even selection of {self.max_shown} rows is drawn."
        return text

    def _draw(self, ax: Any) -> None:
        shown = self.shown
        place = np.arange(1.0, shown.size + 1)
        low, high = self.intervals[shown].T
        half = 0.36
        boxes = np.stack([place - half, place + half, low, high], axis=1)
        marks.fill_boxes(ax, boxes, style.ORANGE, 0.22)
        ax.plot(place, self.predicted[shown], color=style.ORANGE, linewidth=1.2, label="predicted")
        out, y = self.outside[shown], self.actual[shown]
        size = 3.4 if shown.size > 60 else 4.2
        if not out.all():
            ax.plot(
                place[~out],
                y[~out],
                "o",
                ms=size,
                mew=0,
                color=style.BLUE,
                alpha=0.8,
                label="actual",
            )
        if out.any():
            name = f"actual, outside the {level_text(self.level)} interval"
            ax.plot(place[out], y[out], "s", ms=size, mew=0, color=style.text_color(ax), label=name)
        ax.autoscale_view()
        ax.set_xlim(0, shown.size + 1)
        style.style_axes(ax, grid="y")
        style.value_axis(ax.yaxis, self.display)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_xlabel("rows by increasing prediction")
        ax.set_ylabel("target")
        ax.legend(frameon=False, fontsize=8.5, loc="upper left", handlelength=1.6)


# -------------------------------------------------------------------------------------------------
# Coverage of predictive intervals against their nominal level.


#: Nominal levels that are drawn.
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(eq=False)
class CoverageDisplay(Display):
    """Proportion of targets within their predictive intervals, against the level of the intervals.

        coverage(ℓ) = Σ w [ |2 F(y) − 1| ≤ ℓ ] / Σ w,    F the predictive distribution of the row

    On the diagonal the intervals hold what they promise; above it they are too wide, below it too
    narrow. Whiskers are Wilson's 95 % intervals; orange ones exclude the diagonal. Use rows that
    the model was not fitted to.

    Parameters
    ----------
    levels : ndarray of shape (k,)
        Nominal levels of central intervals, between 0 and 1.
    coverage : ndarray of shape (k,)
        Proportion of the targets within them.
    n_rows : float
        Number of rows (effective, where they have weights).

    Attributes
    ----------
    confidence_intervals : ndarray of shape (k, 2)
        Wilson intervals (95 %) of the coverage.

    See Also
    --------
    PITDisplay : The same distributions, as a histogram of F(y).
    CalibrationDisplay : The same for probabilities of classes.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import CoverageDisplay
    >>> predictive = sx.PredictiveDistribution(np.zeros(4), np.ones(4))
    >>> display = CoverageDisplay.from_predictions(
    ...     [-0.1, 0.5, 1.0, 3.0], predictive, levels=[0.5, 0.95])
    >>> display.coverage.tolist()
    [0.5, 0.75]
    """

    levels: Floats
    coverage: Floats
    n_rows: float

    title: ClassVar[str] = "Coverage of predictive intervals"
    figure_size: ClassVar[tuple[float, float]] = style.TALL

    def __post_init__(self) -> None:
        self.levels = np.asarray(self.levels, dtype=float).ravel()
        self.coverage = np.asarray(self.coverage, dtype=float).ravel()
        if not self.levels.size or self.levels.size != self.coverage.size:
            raise InputError(f"{self.coverage.size} coverages for {self.levels.size} levels.")
        if not ((self.levels > 0) & (self.levels < 1)).all():
            raise InputError("Levels of intervals must be between 0 and 1.")

    @classmethod
    def from_pit(
        cls, pit: Any, *, levels: Sequence[float] = LEVELS, sample_weight: Any = None
    ) -> Self:
        """From F(y) of every row: the central interval of level ℓ holds y if |2F(y) − 1| ≤ ℓ."""
        from separatrix.probability.reliability import effective_size

        u = np.asarray(pit, dtype=float).ravel()
        if not u.size:
            raise InputError("There is no row to draw.")
        w = unit_weights(
            None if sample_weight is None else np.asarray(sample_weight, float), u.size
        )
        distance = np.abs(2.0 * u - 1.0)
        # a level of 0.95 holds F(y) = 0.975 also after rounding
        coverage = [float(w @ (distance <= level + 1e-12)) / float(w.sum()) for level in levels]
        return cls(np.array(levels), np.array(coverage), effective_size(w))

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predictive: PredictiveDistribution,
        *,
        levels: Sequence[float] = LEVELS,
        sample_weight: Any = None,
    ) -> Self:
        """From observed targets and their predictive distributions."""
        pit = predictive.pit(check_observed(y, predictive))
        return cls.from_pit(pit, levels=levels, sample_weight=sample_weight)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, levels: Sequence[float] = LEVELS
    ) -> Self:
        """From a fitted model with ``predictive`` (or ``return_std``) and rows it has not seen."""
        return cls.from_predictions(y, predictive_of(model, X), levels=levels)

    @property
    def confidence_intervals(self) -> Floats:
        """Wilson intervals (95 %) of the coverage."""
        from separatrix.probability.reliability import wilson

        return wilson(self.coverage, self.n_rows)

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"Proportion of targets within predictive intervals. {self.caption}"

    @property
    def caption(self) -> str:
        """The coverage at 50 and 95 % (or the levels nearest), and where it differs."""
        at = sorted({int(np.argmin(np.abs(self.levels - level))) for level in (0.5, 0.95)})
        ends = self.confidence_intervals
        parts = [
            f"{level_text(self.levels[i])} intervals contain {100 * self.coverage[i]:.1f} % "
            f"({100 * ends[i, 0]:.1f} to {100 * ends[i, 1]:.1f} %)"
            for i in at
        ]
        text = f"{plural(round(self.n_rows), 'row')}: {'; '.join(parts)}."
        low, high = int(self._too_narrow.sum()), int(self._too_wide.sum())
        if not low and not high:
            return f"{text} All confidence intervals include the diagonal."
        return (
            f"{text} Of {plural(self.levels.size, 'level')}, {low} contain too little and {high} "
            "too much."
        )

    @property
    def _too_narrow(self) -> Any:
        return self.confidence_intervals[:, 1] < self.levels

    @property
    def _too_wide(self) -> Any:
        return self.confidence_intervals[:, 0] > self.levels

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=style.MUTED, linewidth=0.9)
        off = self._too_narrow | self._too_wide
        ax.plot(self.levels, self.coverage, color=style.BLUE, linewidth=1.2)
        for level, value, ends, away in zip(
            self.levels, self.coverage, self.confidence_intervals, off, strict=True
        ):
            color = style.ORANGE if away else style.BLUE
            ax.plot([level, level], ends, color=color, linewidth=1.0, alpha=0.7)
            ax.plot([level], [value], "s" if away else "o", ms=4.5, color=color)
        look: dict[str, Any] = {"color": style.MUTED, "fontsize": 8.5}
        marks.annotate(
            ax, "intervals too wide", (0.03, 0.96), (0, 0), "axes fraction", va="top", **look
        )
        marks.annotate(ax, "too narrow", (0.97, 0.04), (0, 0), "axes fraction", ha="right", **look)
        ax.set_xlim(-0.01, 1.02)
        ax.set_ylim(-0.02, 1.03)
        style.style_axes(ax)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
            style.percent_axis(axis)
        ax.set_xlabel("nominal level of the interval")
        ax.set_ylabel("targets within the interval")


# -------------------------------------------------------------------------------------------------
# Histogram of the probability integral transform of a predictive distribution.


@dataclass(eq=False)
class PITDisplay(Display):
    """Histogram of the probability integral transform u = F(y), uniform if F is right.

    High bars at both ends: the distributions are too narrow. A hump: too wide. A slope: biased. The
    band holds each bar with probability 95 % where the distributions are right; bars outside it are
    orange. Use rows that the model was not fitted to.

    Parameters
    ----------
    proportions : ndarray of shape (bins,)
        Proportion of the rows in each of ``bins`` equal parts of [0, 1].
    n_rows : float
        Number of rows (effective, where they have weights).
    mean : float
        Mean of u: 1/2 where the distributions are right.

    Attributes
    ----------
    expected : tuple of float
        The band: lower and upper end.

    See Also
    --------
    CoverageDisplay : Coverage of intervals against their level.
    StandardizedResidualDisplay : (y − m)/s against the predicted value.

    References
    ----------
    A. P. Dawid, Statistical theory: the prequential approach, Journal of the Royal Statistical
    Society A 147, 1984.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import PITDisplay
    >>> predictive = sx.PredictiveDistribution(np.zeros(4), np.ones(4))
    >>> display = PITDisplay.from_predictions([-1.0, -0.1, 0.1, 1.0], predictive, bins=2)
    >>> display.proportions.tolist()
    [0.5, 0.5]
    """

    proportions: Floats
    n_rows: float
    mean: float = 0.5

    title: ClassVar[str] = "Probability integral transform"

    @classmethod
    def from_pit(cls, pit: Any, *, bins: int | None = None, sample_weight: Any = None) -> Self:
        """From F(y) of every row; by default one bin for every 8 rows, from 4 to 20."""
        from separatrix.probability.reliability import effective_size

        u = np.asarray(pit, dtype=float).ravel()
        if not u.size or not ((u >= 0) & (u <= 1)).all():
            raise InputError("F(y) must be between 0 and 1, of one row at least.")
        w = unit_weights(
            None if sample_weight is None else np.asarray(sample_weight, float), u.size
        )
        size = effective_size(w)
        # Rows for each bar at least, and bars at most.
        count = bins or int(np.clip(size // 8, 4, 20))
        bars = np.histogram(u, count, (0, 1), weights=w)[0] / w.sum()
        return cls(bars, size, float(np.average(u, weights=w)))

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predictive: PredictiveDistribution,
        *,
        bins: int | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """From observed targets and their predictive distributions."""
        pit = predictive.pit(check_observed(y, predictive))
        return cls.from_pit(pit, bins=bins, sample_weight=sample_weight)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, bins: int | None = None) -> Self:
        """From a fitted model with ``predictive`` (or ``return_std``) and rows it has not seen."""
        return cls.from_predictions(y, predictive_of(model, X), bins=bins)

    @property
    def expected(self) -> tuple[float, float]:
        """Proportions between which a bar stays with probability 95 %."""
        from separatrix.probability.reliability import expected_range

        return expected_range(1.0 / len(self.proportions), self.n_rows)

    @property
    def _outside(self) -> Any:
        low, high = self.expected
        return (self.proportions < low - 1e-12) | (self.proportions > high + 1e-12)

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"Histogram of F(y), the predictive distribution at the target. {self.caption}"

    @property
    def caption(self) -> str:
        """Bars outside the band, and what the ends and the mean say."""
        count, bars = int(self._outside.sum()), len(self.proportions)
        low, high = self.expected
        text = (
            f"{plural(round(self.n_rows), 'row')}: {count} of {bars} bars outside {100 * low:.1f} "
            f"to {100 * high:.1f} %, where about {number(0.05 * bars, 2)} would be by chance."
        )
        ends = 100 * float(self.proportions[0] + self.proportions[-1])
        return (
            f"{text} Both ends together: {ends:.1f} % ({200 / bars:.1f} % expected); mean "
            f"{number(self.mean, 3)} (0.500 expected)."
        )

    def _draw(self, ax: Any) -> None:
        bars = len(self.proportions)
        low, high = self.expected
        edges = np.linspace(0, 1, bars + 1)
        ax.axhspan(low, high, color=style.MUTED, alpha=0.18, linewidth=0)
        ax.axhline(1.0 / bars, color=style.MUTED, linewidth=0.9)
        for away, color in ((False, style.BLUE), (True, style.ORANGE)):
            heights = np.where(self._outside == away, self.proportions, 0.0)
            if heights.any():
                ax.stairs(heights, edges, fill=True, color=color, alpha=0.45)
        ax.stairs(self.proportions, edges, color=style.BLUE, linewidth=1.0)
        ax.set_ylim(0, 1.06 * max(float(self.proportions.max()), high))
        ax.set_xlim(-0.01, 1.01)
        look = {"ha": "right", "color": style.MUTED}
        marks.annotate(ax, "gray: 95 % of bars expected", (1, 1), (0, 3), "axes fraction", **look)
        style.style_axes(ax, grid="y")
        style.percent_axis(ax.yaxis)
        ax.set_xlabel("F(y), predictive probability of a smaller target")
        ax.set_ylabel("proportion of the rows")


# -------------------------------------------------------------------------------------------------
# Standardized residuals of predictive distributions against the predicted value.


#: 95 % of a normal distribution are within ± this many standard deviations.
WITHIN = 1.959964


@describe_parameters
@dataclass(eq=False)
class StandardizedResidualDisplay(Display):
    """Residuals in units of the predicted spread, z = (y − m)/s, against the predicted value m.

    Where the predictive distributions are right, z has mean 0 and spread 1 all along, and 95 % of
    the rows are between the dashed lines (of a normal distribution). Use rows that the model was
    not fitted to.

    Parameters
    ----------
    predicted : ndarray of shape (n,)
        Means of the predictive distributions.
    residuals : ndarray of shape (n,)
        (y − m)/s.
    row_labels : sequence or None, default=None
    max_points : int, default=5000

    See Also
    --------
    ResidualDisplay : Residuals in units of the target.
    CoverageDisplay : Coverage of intervals against their level.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import StandardizedResidualDisplay
    >>> predictive = sx.PredictiveDistribution(np.arange(3.0), np.array([1.0, 2.0, 0.5]))
    >>> display = StandardizedResidualDisplay.from_predictions([0.5, 2.0, 4.0], predictive)
    >>> display.residuals.tolist()
    [0.5, 0.5, 4.0]
    """

    predicted: Floats
    residuals: Floats
    row_labels: Sequence[object] | None = None
    max_points: int = marks.MAX_POINTS

    title: ClassVar[str] = "Standardized residuals"

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predictive: PredictiveDistribution,
        *,
        row_labels: Any = None,
        max_points: int = marks.MAX_POINTS,
    ) -> Self:
        """From observed targets and their predictive distributions."""
        z = predictive.residuals(check_observed(y, predictive))
        return cls(np.asarray(predictive.mean, dtype=float), z, row_labels, max_points)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, max_points: int = marks.MAX_POINTS
    ) -> Self:
        """From a fitted model with ``predictive`` (or ``return_std``) and rows it has not seen."""
        return cls.from_predictions(y, predictive_of(model, X), max_points=max_points)

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"(y − m)/s against the predicted value m. {self.caption}"

    @property
    def caption(self) -> str:
        """Mean, standard deviation, the proportion beyond ±1.96, and the largest rows."""
        z = self.residuals
        beyond = 100 * float(np.mean(np.abs(z) > WITHIN))
        return (
            f"{plural(z.size, 'row')}: mean {number(float(z.mean()), 2)}, standard deviation "
            f"{number(float(z.std()), 3)}; {beyond:.1f} % beyond ±1.96 (normal distribution: 5 %). "
            f"Largest: {marks.largest_rows(z, self.row_labels, 3)}."
        )

    def _draw(self, ax: Any) -> None:
        marks.reference_line(ax, 0.0)
        for end in (-WITHIN, WITHIN):
            ax.axhline(end, color=style.MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
        marks.scatter(ax, self.predicted, self.residuals, max_points=self.max_points)
        trend = marks.running_mean(self.predicted, self.residuals)
        if trend is not None:
            ax.plot(*trend, color=style.ORANGE)
        marks.mark_largest(ax, self.predicted, self.residuals, self.residuals, self.row_labels)
        style.style_axes(ax)
        ax.set_xlabel("predicted value")
        ax.set_ylabel("residual in predicted deviations")


# -------------------------------------------------------------------------------------------------
# Coverage of intervals or sets in each category, against their level.


@dataclass(eq=False)
class CategoryCoverageDisplay(Display):
    """Proportion of covered rows in each category, with exact intervals.

    The line is the level that was asked for. Coverage that is guaranteed on average may differ
    between categories, unless each is calibrated by itself. Orange intervals are wholly below the
    level.

    Parameters
    ----------
    names : sequence of str
        The categories: classes, or values of a column.
    coverage : ndarray of shape (k,)
        Proportion of covered rows of each.
    intervals : ndarray of shape (k, 2)
        95 % intervals of the proportions.
    level : float, default=0.9
        The level of the intervals or sets.
    max_shown : int, default=20
        Number of categories drawn at most, the least covered first.

    Attributes
    ----------
    shown : list of int
        Positions of the categories drawn.

    See Also
    --------
    SetSizeDisplay : How many labels the sets hold.
    CoverageDisplay : Coverage against the level.

    Examples
    --------
    >>> from separatrix.pictures import CategoryCoverageDisplay
    >>> display = CategoryCoverageDisplay(("a", "b"), [0.95, 0.7], [[0.9, 0.98], [0.6, 0.79]])
    >>> display.description
    'Coverage by category at the level 90 %: b 70.0 % (60.0 to 79.0 %); a 95.0 % (90.0 to 98.0 %). 1 of 2 categories is below the level.'
    """  # noqa: E501

    names: Sequence[str]
    coverage: Floats
    intervals: Floats
    level: float = 0.9
    max_shown: int = 20

    title: ClassVar[str] = "Coverage by category"

    def __post_init__(self) -> None:
        self.coverage = np.asarray(self.coverage, dtype=float).ravel()
        self.intervals = np.asarray(self.intervals, dtype=float).reshape(-1, 2)
        if not len(self.names):
            raise InputError("There is no category whose coverage could be drawn.")
        if not len(self.names) == len(self.coverage) == len(self.intervals):
            raise InputError(
                f"{len(self.names)} names, {len(self.coverage)} proportions and "
                f"{len(self.intervals)} intervals."
            )

    @classmethod
    def from_coverage(cls, coverage: Coverage) -> Self:
        """From what ``coverage`` of a conformal model returns."""
        parts = coverage.by_category
        return cls(
            tuple(str(name) for name in parts),
            np.array([part.proportion for part in parts.values()]),
            np.array([part.interval for part in parts.values()]),
            coverage.level,
        )

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, level: float = 0.9) -> Self:
        """From a conformal model and rows that it has not seen."""
        return cls.from_coverage(model.coverage(X, y, level=level))

    @property
    def shown(self) -> list[int]:
        """Positions of the categories drawn, the least covered first."""
        return [int(j) for j in np.argsort(self.coverage, kind="stable")[: self.max_shown]]

    @property
    def _below(self) -> Any:
        return self.intervals[:, 1] < self.level

    @property
    def description(self) -> str:
        """The caption, after what is drawn and the least covered categories."""
        parts = [
            f"{self.names[j]} {100 * self.coverage[j]:.1f} % "
            f"({100 * self.intervals[j, 0]:.1f} to {100 * self.intervals[j, 1]:.1f} %)"
            for j in self.shown[:3]
        ]
        text = f"Coverage by category at the level {level_text(self.level)}: {'; '.join(parts)}."
        return f"{text} {self.caption}"

    @property
    def caption(self) -> str:
        """How many categories are below the level."""
        count, total = int(self._below.sum()), len(self.names)
        verb = "is" if count == 1 else "are"
        noun = plural(total, "category", "categories")
        text = f"{count} of {noun} {verb} below the level."
        return (
            text if total <= len(self.shown) else f"{text} The first {len(self.shown)} are shown."
        )

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return style.WIDTH, 0.95 + 0.2 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        shown = self.shown
        marks.reference_line(ax, self.level, horizontal=False)
        for row, j in enumerate(shown):
            color = style.ORANGE if self._below[j] else style.BLUE
            ax.plot(self.intervals[j], [row, row], color=color, linewidth=1.4)
            ax.plot([self.coverage[j]], [row], "s" if self._below[j] else "o", ms=5, color=color)
        ax.set_yticks(range(len(shown)), [style.label_text(self.names[j]) for j in shown])
        ax.set_ylim(len(shown) - 0.5, -0.5)
        style.style_axes(ax, grid="x")
        style.percent_axis(ax.xaxis)
        ax.set_xlabel(f"rows covered at the level {level_text(self.level)}")


# -------------------------------------------------------------------------------------------------
# How many labels conformal sets hold.


@dataclass(eq=False)
class SetSizeDisplay(Display):
    """Histogram of the numbers of labels in sets of a guaranteed coverage.

    Sets of one label are decisions; larger ones say which labels cannot be told apart. An empty set
    is a row that resembles none of the classes enough.

    Parameters
    ----------
    counts : ndarray of shape (K + 1,)
        The number of sets with 0, 1, …, K labels.
    level : float, default=0.9
        The level of the sets.

    Attributes
    ----------
    mean : float
        Mean number of labels.

    See Also
    --------
    CategoryCoverageDisplay : How often the sets hold the label, by class.

    Examples
    --------
    >>> from separatrix.pictures import SetSizeDisplay
    >>> SetSizeDisplay([1, 90, 9, 0]).description
    'Labels in a set at the level 90 %: 1 empty, 90 of one label, 9 of more. 1.08 labels on average over 100 rows.'
    """  # noqa: E501

    counts: Floats
    level: float = 0.9

    title: ClassVar[str] = "Labels in a set"

    def __post_init__(self) -> None:
        self.counts = np.asarray(self.counts, dtype=float).ravel()
        if len(self.counts) < 2 or not self.counts.sum() > 0:
            raise InputError("There is no set whose labels could be counted.")

    @classmethod
    def from_sets(cls, sets: Any, *, level: float = 0.9) -> Self:
        """From which labels are in the set of every row (n x K)."""
        inside = np.asarray(sets, dtype=bool)
        counts = np.bincount(inside.sum(axis=1), minlength=inside.shape[1] + 1)
        return cls(counts.astype(float), level)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, level: float = 0.9) -> Self:
        """From a conformal classifier and rows that it has not seen."""
        return cls.from_sets(model.predict_set(X, level=level), level=level)

    @property
    def mean(self) -> float:
        """Mean number of labels."""
        return float(np.average(np.arange(len(self.counts)), weights=self.counts))

    @property
    def description(self) -> str:
        """The caption, after how many sets are empty, of one label, and larger."""
        more = self.counts[2:].sum()
        return (
            f"Labels in a set at the level {level_text(self.level)}: {self.counts[0]:g} empty, "
            f"{self.counts[1]:g} of one label, {more:g} of more. {self.caption}"
        )

    @property
    def caption(self) -> str:
        """The mean."""
        rows = plural(round(float(self.counts.sum())), "row")
        return f"{self.mean:.3g} labels on average over {rows}."

    def _draw(self, ax: Any) -> None:
        used = int(np.flatnonzero(self.counts)[-1]) + 1
        sizes = np.arange(max(used, 2))
        ax.bar(sizes, self.counts[: len(sizes)] / self.counts.sum(), width=0.7, color=style.BLUE)
        style.style_axes(ax, grid="y")
        if len(sizes) <= 12:  # sizes of sets that get a tick each
            ax.set_xticks(sizes)
        style.percent_axis(ax.yaxis)
        ax.set_xlabel(f"labels in the set at the level {level_text(self.level)}")
        ax.set_ylabel("rows")
