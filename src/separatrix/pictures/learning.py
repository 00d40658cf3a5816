"""Learning: curves over rows and penalties, scores by fold, traces of iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.formatting import join_words, number, plural, score_info, score_text
from separatrix.messages import InputError
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import require_fitted
from separatrix.selection.curves import LearningCurves

# -------------------------------------------------------------------------------------------------
# Learning curve over training rows, and validation curve over the penalty.


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

    References
    ----------
    C. Cortes, L. D. Jackel, S. A. Solla, V. Vapnik and J. S. Denker, Learning curves:
    asymptotic values and rate of convergence, NIPS, 1993.

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
            (self.train_scores, style.ORANGE, "s", "training"),
            (self.validation_scores, style.BLUE, "o", "validation"),
        ):
            mean, spread = values.mean(axis=1), values.std(axis=1)
            marks.fill_band(ax, self.train_sizes, mean - spread, mean + spread, color=color)
            ax.plot(self.train_sizes, mean, marker=marker, ms=4, color=color, label=label)
        style.style_axes(ax)
        ax.set_xlabel("training rows")
        style.label_score_axis(ax.yaxis, score_info(self.metric), direction=False)
        ax.legend(frameon=False, fontsize=9, loc="best")


@dataclass(eq=False)
class ValidationCurveDisplay(Display):
    """Cross-validation error over the penalty, with a band of one standard error.

    Drawn as root mean squared error over the folds.

    Parameters
    ----------
    alphas : array-like of shape (m,)
        Penalties; zeros are left out.
    errors : array-like of shape (m,) or (m, folds)
        Mean squared error of each fold at each penalty.
    chosen : float or None, default=None
        The selected penalty.
    leave_one_out : bool, default=False
        Whether every row was left out once, and ``errors`` are the means over these rows.

    Attributes
    ----------
    mean : ndarray of shape (m,)
        Mean squared error at each penalty.
    standard_error : ndarray of shape (m,)
        Standard error of that mean over the folds; 0 for one fold.
    best : int
        Position of the minimum; of ties the strongest penalty.

    See Also
    --------
    RegularizationPathDisplay : Coefficients over the penalty.
    SVMPathDisplay : Support vectors and score over C.

    Examples
    --------
    >>> from separatrix.pictures import ValidationCurveDisplay
    >>> display = ValidationCurveDisplay([0.1, 1.0, 10.0], [[4.0], [1.0], [9.0]], chosen=1.0)
    >>> display.description
    'Cross-validation RMSE over the penalty. The minimum is 1, at the chosen penalty 1.'
    """

    alphas: Floats
    errors: Floats
    chosen: float | None = None
    leave_one_out: bool = False

    title: ClassVar[str] = "Validation curve over the penalty"

    def __post_init__(self) -> None:
        alphas, errors = np.asarray(self.alphas, dtype=float), np.asarray(self.errors, dtype=float)
        errors = errors.reshape(len(errors), -1)
        if len(errors) != alphas.size or not (alphas > 0).any():
            raise InputError(
                f"errors has {len(errors)} rows for {alphas.size} penalties.",
                remedy="Give a row of errors for each penalty; one above zero at least.",
            )
        order = np.argsort(alphas)[np.sort(alphas) > 0]
        self.alphas, self.errors = alphas[order], errors[order]

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a fitted RidgeCV or LassoCV: ``alphas_``, ``mse_path_`` and ``alpha_``."""
        require_fitted(
            model,
            "alphas_",
            "mse_path_",
            "alpha_",
            problem=f"{type(model).__name__} stores no errors over the penalty",
            remedy="RidgeCV and LassoCV do.",
        )
        single = np.size(model.mse_path_) == np.size(model.alphas_)
        left_out = single and getattr(model, "cv", False) is None
        return cls(model.alphas_, model.mse_path_, float(model.alpha_), left_out)

    @property
    def mean(self) -> Floats:
        """Mean squared error at each penalty."""
        return np.asarray(self.errors.mean(axis=1))

    @property
    def standard_error(self) -> Floats:
        """Standard error s/√k of that mean over k folds; 0 for one fold."""
        k = self.errors.shape[1]
        if k < 2:
            return np.zeros(self.alphas.size)
        return np.asarray(self.errors.std(axis=1, ddof=1) / np.sqrt(k))

    @property
    def best(self) -> int:
        """Position of the minimum; of ties the strongest penalty."""
        mean = self.mean
        return int(np.flatnonzero(mean <= mean.min())[-1])

    @property
    def within_one_se(self) -> tuple[float, float]:
        """Weakest and strongest penalty within one standard error of the minimum."""
        near = self.alphas[self.mean <= self.mean[self.best] + self.standard_error[self.best]]
        return float(near[0]), float(near[-1])

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        name = self._validation
        return f"{name[0].upper()}{name[1:]} RMSE over the penalty. {self.caption}"

    @property
    def caption(self) -> str:
        """The minimum, the chosen penalty, and the range within one standard error."""
        least = float(self.alphas[self.best])
        text = f"The minimum is {self._error(self.best)}"
        if self.chosen is None:
            text += f", at penalty {number(least, 3)}."
        elif np.isclose(self.chosen, least, rtol=1e-6):
            text += f", at the chosen penalty {number(least, 3)}."
        else:
            index = int(np.argmin(np.abs(self.alphas - self.chosen)))
            text += (
                f", at penalty {number(least, 3)}; at the chosen one, {number(self.chosen, 3)}, "
                f"it is {self._error(index)}."
            )
        if self.errors.shape[1] < 2:
            return text
        low, high = (number(end, 2) for end in self.within_one_se)
        flat = self.within_one_se[0] == self.alphas[0]
        which = f"Penalties up to {high} are" if flat else f"Penalties {low} to {high} are"
        return f"{text} {which} within one standard error ({self.errors.shape[1]} folds)."

    @property
    def _validation(self) -> str:
        return "leave-one-out" if self.leave_one_out else "cross-validation"

    @property
    def _averaged(self) -> str:
        """What the curve is, for the legend."""
        if self.leave_one_out:
            return "mean over rows left out"
        k = self.errors.shape[1]
        return "one fold" if k == 1 else f"mean over {k} folds"

    def _error(self, index: int) -> str:
        return number(float(np.sqrt(self.mean[index])), 4)

    def _draw(self, ax: Any) -> None:
        mean, spread = self.mean, self.standard_error
        root = np.sqrt(mean)
        if spread.any():
            ends = np.sqrt(np.maximum(mean - spread, 0.0)), np.sqrt(mean + spread)
            marks.fill_band(ax, self.alphas, *ends, label="± 1 standard error")
        ax.plot(self.alphas, root, color=style.BLUE, label=self._averaged)
        at = self.alphas[self.best], root[self.best]
        marks.mark_point(ax, *at, f"minimum {self._error(self.best)}")
        style.penalty_axis(ax)
        tallest = 3.0  # errors of more than so many times the minimum are cut off
        if root.max() > tallest * root.min() > 0:  # keeps the minimum visible
            ax.set_ylim(0, tallest * root.min())
        style.style_axes(ax)
        if self.chosen is not None and self.chosen > 0:
            marks.mark_value(ax, self.chosen, "chosen")
        ax.set_ylabel(f"{self._validation} RMSE")
        ax.legend(frameon=False, fontsize=9, loc="best")


# -------------------------------------------------------------------------------------------------
# Error over complexity and number of training rows: as a surface, and as lines.


#: How far lines are extended, in training rows, and the largest error shown, in the median of
#: those with all rows.
BEYOND, TALLEST_SURFACE = 4.0, 2.5


def _some(count: int, most: int, chosen: int) -> Ints:
    """Positions at even steps, the chosen one among them."""
    evenly = np.linspace(0, count - 1, min(count, most)).round().astype(np.int64)
    if chosen not in evenly and len(evenly):
        evenly[np.abs(evenly - chosen).argmin()] = chosen
    return np.unique(evenly)


def _cell(value: float, metric: str) -> str:
    return score_text(value, metric) if score_info(metric).is_rate else number(value, 3)


def _describe(curves: LearningCurves) -> str:
    best, metric = int(curves.best[-1]), curves.metric
    first = int(curves.best[0])
    mean, n = curves.mean, curves.sizes
    ends = (
        f"With {n[0]:,.0f} training rows {curves.names[first]} has the least error, "
        f"{score_text(mean[0, first], metric)}; with {n[-1]:,.0f} {curves.names[best]}, "
        f"{score_text(mean[-1, best], metric)}."
    )
    return f"{score_info(metric).short} on validation rows. {ends}"


@dataclass(eq=False)
class ComplexityDisplay(Display):
    """Errors of models of growing complexity by the number of training rows: ``most_shown``."""

    curves: LearningCurves

    most_shown: ClassVar[int]

    @property
    def shown(self) -> Ints:
        """Positions of the complexities that are drawn."""
        return _some(len(self.curves.names), self.most_shown, int(self.curves.best[-1]))


@dataclass(eq=False)
class LearningSurfaceDisplay(ComplexityDisplay):
    """Validation error over complexity and number of training rows, as a shaded surface.

    Lighter is better; the least error of every number of rows is ringed.

    Parameters
    ----------
    curves : LearningCurves
        What :func:`separatrix.learning_curves` returned.

    See Also
    --------
    LearningLinesDisplay : The same as lines, extended by power laws.
    LearningCurveDisplay : Training and validation score of one model.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import LearningSurfaceDisplay
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> curves = sx.learning_curves([sx.Ridge(100.0), sx.Ridge(1.0)], x, x[:, 0])
    >>> LearningSurfaceDisplay(curves).plot().ax_.get_xlabel()
    'training rows'
    """

    title: ClassVar[str] = "Error over complexity and rows"
    most_shown: ClassVar[int] = 9

    @property
    def size(self) -> tuple[float, float]:
        """Height by the number of complexities."""
        return style.WIDTH, float(np.clip(1.3 + 0.32 * len(self.shown), 2.0, 4.4))

    @property
    def description(self) -> str:
        """The least error of the smallest and of the largest training sets."""
        return _describe(self.curves)

    def _draw(self, ax: Any) -> None:
        curves, shown = self.curves, self.shown
        mean = curves.mean[:, shown].T  # complexities x sizes
        low = float(np.nanmin(mean))
        top = min(float(np.nanmax(mean)), TALLEST_SURFACE * float(np.nanmedian(mean[:, -1])))
        level = np.clip((mean - low) / (top - low if top > low else 1.0), 0.0, 1.0)
        shades = 8  # shades of a surface
        shade = np.where(np.isfinite(mean), np.ceil(shades * level), 0.0)
        for value in np.unique(shade[shade > 0]):
            at = np.argwhere(shade == value)[:, [1, 1, 0, 0]] + [-0.5, 0.5, -0.5, 0.5]
            marks.fill_boxes(ax, at, style.BLUE, 0.62 * value / shades)
        for row, column in np.argwhere(np.isfinite(mean)):
            text = _cell(mean[row, column], curves.metric)
            ax.text(column, row, text, ha="center", va="center", fontsize=7.5)
        for column, best in enumerate(np.nanargmin(np.where(np.isfinite(mean), mean, np.inf), 0)):
            box = np.array([-0.46, 0.46, 0.46, -0.46, -0.46]) + column
            sides = np.array([-0.42, -0.42, 0.42, 0.42, -0.42]) + best
            ax.plot(box, sides, color=style.text_color(ax), linewidth=1.1)
        ax.set_xlim(-0.5, len(curves.sizes) - 0.5)
        ax.set_ylim(-0.5, len(shown) - 0.5)
        ax.set_xticks(range(len(curves.sizes)), [f"{n:,.0f}" for n in curves.sizes])
        ax.set_yticks(range(len(shown)), [style.label_text(curves.names[j], 16) for j in shown])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_xlabel("training rows")
        ax.set_ylabel("simple to complex")


@dataclass(eq=False)
class LearningLinesDisplay(ComplexityDisplay):
    """Validation error over the number of training rows, a line for each complexity.

    Bands are one standard error over the folds. The best line is extended by its power law, dotted,
    with an interval of 90 %.

    Parameters
    ----------
    curves : LearningCurves
        What :func:`separatrix.learning_curves` returned.

    See Also
    --------
    LearningSurfaceDisplay : All complexities and sizes as a surface.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> from separatrix.pictures import LearningLinesDisplay
    >>> x = np.random.default_rng(0).standard_normal((100, 3))
    >>> curves = sx.learning_curves([sx.Ridge(100.0), sx.Ridge(1.0)], x, x[:, 0])
    >>> LearningLinesDisplay(curves).plot().ax_.get_ylabel()
    'RMSE'
    """

    title: ClassVar[str] = "Learning curves"
    most_shown: ClassVar[int] = 6

    @property
    def description(self) -> str:
        """The least error at both ends, and that of twice the rows by the power law."""
        curves = self.curves
        text, best = _describe(curves), int(curves.best[-1])
        n = 2.0 * float(curves.sizes[-1])
        points = [e for e in curves.extrapolate(n) if e.name == curves.names[best]]
        if not points:
            return f"{text} The curve is too short for a power law."
        e, metric = points[0], curves.metric
        ends = f"{score_text(e.low, metric)} to {score_text(e.high, metric)}"
        return f"{text} By its power law {n:,.0f} rows give {score_text(e.error, metric)} ({ends})."

    def _draw(self, ax: Any) -> None:
        curves, shown = self.curves, self.shown
        mean, spread, n = curves.mean, curves.standard_error, curves.sizes
        ends = []
        for color, j in zip(style.SERIES, shown, strict=False):
            band = mean[:, j] - spread[:, j], mean[:, j] + spread[:, j]
            marks.fill_band(ax, n, *band, color=color)
            ax.plot(n, mean[:, j], marker="o", ms=3.5, color=color)
            known = mean[:, j][np.isfinite(mean[:, j])]
            ends.append(float(known[-1]) if len(known) else np.nan)
        self._extend(ax, style.SERIES[int(np.flatnonzero(shown == curves.best[-1])[0])])
        ax.set_xscale("log")
        self._limit(ax, mean[:, shown])
        self._ticks(ax)
        style.style_axes(ax)
        ax.set_xlabel("training rows")
        style.label_score_axis(ax.yaxis, score_info(curves.metric), direction=False)
        self._label(ax, np.array(ends))

    def _extend(self, ax: Any, color: str) -> None:
        best, last = int(self.curves.best[-1]), float(self.curves.sizes[-1])
        law = self.curves.power_laws[best]
        if law is None:
            return
        n = np.geomspace(last, BEYOND * last, 25)
        values = [law.interval(self.curves.draws_at(best, float(m))) for m in n]
        middle, low, high = np.array(values).T
        marks.fill_band(ax, n, low, high, color=color)
        ax.plot(n, middle, color=color, linestyle=(0, (1, 2)))

    def _limit(self, ax: Any, mean: Floats) -> None:
        """Peaks of small training sets do not decide the scale."""
        top = TALLEST_SURFACE * float(np.nanmedian(mean[-1]))
        low, high = ax.get_ylim()
        if 0.0 < top < high:
            ax.set_ylim(max(low, 0.0), top)

    def _ticks(self, ax: Any) -> None:
        from matplotlib.ticker import NullFormatter, NullLocator

        n = self.curves.sizes
        some = [n[0], n[len(n) // 2], n[-1], BEYOND * n[-1]]
        ax.set_xticks(some, [f"{value:,.0f}" for value in some])
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_minor_formatter(NullFormatter())

    def _label(self, ax: Any, ends: Floats) -> None:
        """The name of each line at the right, moved apart where they would overlap."""
        low, high = ax.get_ylim()
        at = np.clip(np.nan_to_num(ends, nan=high), low, high)
        heights = marks.spread_labels(at, 0.062 * (high - low))
        for color, j, y in zip(style.SERIES, self.shown, heights, strict=False):
            look = {"va": "center", "color": color, "annotation_clip": False}
            marks.annotate(
                ax, style.label_text(self.curves.names[j], 16), (1, y), (5, 0), marks.BESIDE, **look
            )


# -------------------------------------------------------------------------------------------------
# Scores of candidates by fold, and of one model on training, validation and test rows.


def _row_axes(ax: Any, names: Sequence[str], metric: str) -> None:
    """One row for each name, the metric on the horizontal axis."""
    ax.set_yticks(-np.arange(len(names)), [style.wrapped_label(name) for name in names])
    ax.set_ylim(-len(names) + 0.4, 0.6)
    style.style_axes(ax, grid="x")
    ax.spines["left"].set_visible(False)
    style.label_score_axis(ax.xaxis, score_info(metric))


@dataclass(eq=False)
class CrossValidationDisplay(Display):
    """Cross-validation score of every candidate and fold, with the score over all of them.

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
    pooled : sequence of float, default=()
        Score of each candidate over all rows left out together, where it is not the mean over the
        folds: a root mean squared error is the root of the mean over rows.

    Attributes
    ----------
    means : ndarray
        Pooled score of each candidate, else the mean of its scores.

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
    pooled: Sequence[float] = ()

    title: ClassVar[str] = "Cross-validation scores by fold"

    @property
    def means(self) -> Floats:
        """Pooled score of each candidate, else the mean of its scores."""
        if len(self.pooled):
            return np.asarray(self.pooled, dtype=float)
        return np.array([np.mean(s) if np.size(s) else np.nan for s in self.scores])

    @property
    def description(self) -> str:
        """The caption, after the name of the score."""
        return f"{score_info(self.metric).short}: {self.caption[0].lower()}{self.caption[1:]}"

    @property
    def caption(self) -> str:
        """Score and range over the folds of the best candidates."""
        means = self.means
        order = np.argsort(-means if score_info(self.metric).higher_is_better else means)
        parts = [
            f"{self.names[i]} {score_text(means[i], self.metric)} "
            f"({score_text(np.min(self.scores[i]), self.metric)} to "
            f"{score_text(np.max(self.scores[i]), self.metric)})"
            for i in order
            if np.size(self.scores[i])
        ]
        described = 6  # numbers that the description names
        what = "All rows left out together" if len(self.pooled) else "Mean"
        return f"{what}, and range over the folds, best first: {join_words(parts[:described])}."

    @property
    def size(self) -> tuple[float, float]:
        """As tall as there are candidates."""
        return style.WIDTH, 0.8 + 0.3 * max(3, len(self.names))

    def _draw(self, ax: Any) -> None:
        named = zip(self.names, self.scores, self.means, strict=True)
        for i, (name, given, mean) in enumerate(named):
            color = style.BLUE if name == self.winner else style.MUTED
            values = np.asarray(given, dtype=float)
            if values.size == 0:
                continue
            ax.plot(values, np.full(values.size, -i), "o", ms=5, mew=0, alpha=0.55, color=color)
            bar = style.text_color(ax) if name == self.winner else style.MUTED
            ax.plot([mean] * 2, [-i - 0.3, -i + 0.3], color=bar, linewidth=2)
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
        pairs = [
            (part, value)
            for part, value in zip(self.parts, self.values, strict=True)
            if part not in self.muted
        ]
        if len(pairs) < 2:
            return ""
        (first, start), (last, end) = pairs[0], pairs[-1]
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
        return style.WIDTH, 0.8 + 0.3 * max(3, len(self.parts))

    def _draw(self, ax: Any) -> None:
        rows = zip(self.parts, self.values, self.low, self.high, strict=True)
        for i, (part, value, low, high) in enumerate(rows):
            color = style.MUTED if part in self.muted else style.BLUE
            if np.isfinite(low) and np.isfinite(high):
                ax.plot([low, high], [-i, -i], color=color, linewidth=1.6)
            ax.plot([value], [-i], "o", ms=6, mew=0, color=color)
        _row_axes(ax, self.parts, self.metric)


# -------------------------------------------------------------------------------------------------
# Training traces of iterative classifiers: gradient descent by step, perceptrons by epoch.


_REASONS = {
    "solved": "the gradient vanished",
    "stopped early": "the error rate stopped falling",
    "limit reached": "the maximum number of steps was reached",
    "diverged": "the loss increased: the learning rate is too large",
    "oscillating": "the iterates oscillated: the learning rate is too large",
}


def _select_epochs(last: int) -> NDArray[np.int_]:
    """Positions 0 … last, evenly thinned if there are many."""
    # Points of a line at most.
    return np.unique(np.linspace(0, last, min(240, last + 1)).round().astype(int))


@dataclass(eq=False)
class TrainingTraceDisplay(Display):
    """Mean loss and training error rate at each step of gradient descent.

    Parameters
    ----------
    losses : array-like of shape (steps + 1,)
        Mean loss at the start and after each step.
    error_rates : array-like of shape (steps + 1,)
        Proportion of misclassified training rows.
    status : str, default="solved"
        Why the descent stopped: "solved", "stopped early", "limit reached", "diverged" or
        "oscillating".

    See Also
    --------
    PerceptronTraceDisplay : Mistakes of a perceptron by epoch.
    LearningCurveDisplay : Error against the number of training rows.

    Examples
    --------
    >>> from separatrix.pictures import TrainingTraceDisplay
    >>> display = TrainingTraceDisplay([0.69, 0.4, 0.3], [0.5, 0.1, 0.2])
    >>> display.description
    'In 2 steps the mean loss went from 0.690 to 0.300 and the error rate from 50.0 % to 20.0 %;
    its minimum, 10.0 %, was after 1 step. The descent stopped because the gradient vanished.'
    """

    losses: Floats
    error_rates: Floats
    status: str = "solved"

    title: ClassVar[str] = "Training trace"

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a fitted :class:`~separatrix.GradientDescent`."""
        trace = model.trace_
        return cls(trace.objective, trace.misclassified, trace.status)

    @property
    def description(self) -> str:
        """First and last values, the lowest error rate, and why the descent stopped."""
        errors = np.asarray(self.error_rates)
        best = int(errors.argmin())
        return (
            f"In {plural(len(errors) - 1, 'step')} the mean loss went from "
            f"{number(self.losses[0], 3)} to {number(self.losses[-1], 3)} and the error rate from "
            f"{score_text(errors[0], 'error')} to {score_text(errors[-1], 'error')}; its minimum, "
            f"{score_text(errors[best], 'error')}, was after {plural(best, 'step')}. The descent "
            f"stopped because {_REASONS.get(self.status, self.status)}."
        )

    def _draw(self, ax: Any) -> None:
        steps = len(self.losses) - 1
        shown, marker = _select_epochs(steps), "." if steps < 2 else ""
        ax.plot(shown, np.asarray(self.losses)[shown], color=style.BLUE, marker=marker)
        ax.set_xlabel("step")
        ax.set_ylabel("mean loss", color=style.BLUE)
        style.style_axes(ax)
        other = style.score_axis_right(ax, score_info("error"), style.ORANGE)
        errors = np.asarray(self.error_rates)[shown]
        other.plot(shown, errors, color=style.ORANGE, linestyle="--", marker=marker)
        other.set_ylim(0, max(0.02, 1.1 * float(errors.max())))


@dataclass(eq=False)
class DescentSigmoidDisplay(Display):
    """The line and its sigmoid after some steps of gradient descent on one column.

        P(second class | x) = 1/(1 + exp(−(w x + b)))

    Dashed lines are the scores w x + b, where they are between −½ and 1½: while they are flat all
    probabilities are near ½, and with every step the sigmoid gets steeper where the classes part.

    Parameters
    ----------
    steps : sequence of int
        Numbers of steps.
    slopes, intercepts : array-like of shape (m,)
        w and b after each.
    x : array-like of shape (n,)
        Values of the column.
    y : array-like of bool, shape (n,)
        Whether the row is of the second class.
    names : tuple of str, default=("x", "0", "1")
        The column, the first and the second class.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        Where each line is zero and each probability ½.

    See Also
    --------
    TrainingTraceDisplay : Loss and error rate at every step.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.pictures import DescentSigmoidDisplay
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 0, 1, 0, 1, 1]
    >>> model = sx.GradientDescent(patience=None).fit(X, y)
    >>> display = DescentSigmoidDisplay.from_estimator(model, X, y, steps=(1, 10))
    >>> display.description
    'Probability of 1 by x0 after 1 and 10 steps of gradient descent. It is ½ at 2.50 and 2.50, \
and rises from 0.800 to 1.20 a unit of x0 in the line.'
    """

    steps: Sequence[int]
    slopes: Floats
    intercepts: Floats
    x: Floats
    y: NDArray[np.bool_]
    names: tuple[str, str, str] = ("x", "0", "1")

    title: ClassVar[str] = "Sigmoid by steps"

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, steps: Sequence[int] = (10, 100, 1000)
    ) -> Self:
        """From a fitted :class:`~separatrix.GradientDescent` of one column and two classes.

        Of steps after the last one the last is drawn.
        """
        trace = getattr(model, "trace_", None)
        if trace is None or trace.coef.shape[1:] != (1, 1) or model.loss != "logistic":
            raise InputError(
                "A sigmoid over a column is drawn of GradientDescent with the logistic loss, one "
                "column and two classes.",
                remedy="Fit it to one column, or draw a TrainingTraceDisplay.",
            )
        at = sorted({min(int(step), len(trace.objective) - 1) for step in steps})
        if not at or at[0] < 0:
            raise InputError(f"steps={steps!r} are not numbers of steps.")
        x = np.asarray(X, dtype=float)[:, 0]
        first, second = (str(label) for label in model.classes_)
        column = str(getattr(model, "feature_names_in_", ["x0"])[0])
        return cls(
            at,
            trace.coef[at, 0, 0],
            trace.intercept[at, 0],
            x,
            np.asarray(y) == model.classes_[1],
            (column, first, second),
        )

    @property
    def thresholds(self) -> Floats:
        """Where each line is zero and each probability ½; infinite where the line is flat."""
        slopes = np.asarray(self.slopes, dtype=float)
        flat = slopes == 0.0
        return np.where(flat, np.inf, -np.asarray(self.intercepts) / np.where(flat, 1.0, slopes))

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        many = join_words([f"{step:,}" for step in self.steps])
        return (
            f"Probability of {self.names[2]} by {self.names[0]} after {many} steps of gradient "
            f"descent. {self.caption}"
        )

    @property
    def caption(self) -> str:
        """Where the probabilities are one half, and how steep the lines are."""
        places = join_words([number(t, 3) for t in self.thresholds])
        low, high = number(self.slopes[0], 3), number(self.slopes[-1], 3)
        rise = f"from {low} to {high}" if len(self.steps) > 1 else f"by {low}"
        return f"It is ½ at {places}, and rises {rise} a unit of {self.names[0]} in the line."

    def _draw(self, ax: Any) -> None:
        x = np.asarray(self.x, dtype=float)
        low, high = float(x.min()), float(x.max())
        margin = 0.08 * (high - low) or 1.0
        grid = np.linspace(low - margin, high + margin, 81)
        few = x[:: max(1, len(x) // 400)], np.asarray(self.y)[:: max(1, len(x) // 400)]
        marks.scatter(ax, few[0], few[1].astype(float), color=style.MUTED)
        for i, step in enumerate(self.steps):
            score = float(self.slopes[i]) * grid + float(self.intercepts[i])
            color = style.SERIES[i % len(style.SERIES)]
            ax.plot(grid, expit(score), color=color, label=f"{step:,}")
            inside = np.where((score >= -0.5) & (score <= 1.5), score, np.nan)
            ax.plot(grid, inside, color=color, linewidth=1.0, linestyle=(0, (4, 3)))
        ax.set_ylim(-0.5, 1.5)
        style.style_axes(ax)
        ax.set_xlabel(style.label_text(self.names[0], 30))
        ax.set_ylabel(f"probability of {style.label_text(self.names[2], 16)}")
        ax.legend(title="steps", frameon=False, fontsize=8, title_fontsize=8, loc="upper left")


@dataclass(eq=False)
class PerceptronTraceDisplay(Display):
    """Mistakes of a perceptron in each epoch.

    Parameters
    ----------
    mistakes : array-like of int, shape (epochs,)
        Updates in each epoch, over all outputs.
    n_rows : int
        Number of training rows.
    status : str, default="converged"
        "converged" if the last epoch was without mistakes.

    See Also
    --------
    TrainingTraceDisplay : Loss and error rate of gradient descent.
    DecisionBoundaryDisplay : The decision regions on a plane.

    References
    ----------
    F. Rosenblatt, The perceptron: a probabilistic model for information storage and
    organization in the brain, Psychological Review 65, 1958.

    Examples
    --------
    >>> from separatrix.pictures import PerceptronTraceDisplay
    >>> PerceptronTraceDisplay([5, 2, 0], n_rows=10).description
    '7 mistakes in 3 epochs over 10 rows: 5 in the first epoch, fewest (0) in epoch 3, 0 in the
    last. Converged: the classes are linearly separable in the feature space.'
    """

    mistakes: Ints
    n_rows: int
    status: str = "converged"

    title: ClassVar[str] = "Perceptron mistakes by epoch"

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a fitted perceptron, with or without kernel."""
        trace = model.trace_
        return cls(trace.mistakes.sum(axis=1), trace.rows, trace.status)

    @property
    def description(self) -> str:
        """Mistakes in the first, best and last epoch, and whether the training converged."""
        mistakes = np.asarray(self.mistakes)
        best = int(mistakes.argmin())
        end = (
            "Converged: the classes are linearly separable in the feature space."
            if self.status == "converged"
            else "Not converged within the maximum number of epochs."
        )
        return (
            f"{plural(int(mistakes.sum()), 'mistake')} in {plural(len(mistakes), 'epoch')} over "
            f"{plural(self.n_rows, 'row')}: {int(mistakes[0])} in the first epoch, fewest "
            f"({int(mistakes[best])}) in epoch {best + 1}, {int(mistakes[-1])} in the last. {end}"
        )

    def _draw(self, ax: Any) -> None:
        mistakes = np.asarray(self.mistakes)
        shown = _select_epochs(len(mistakes) - 1)
        ax.plot(shown + 1, mistakes[shown], color=style.BLUE, marker="." if len(shown) < 60 else "")
        ax.set_ylim(0, max(1.0, 1.05 * float(mistakes.max())))
        ax.set_xlabel("epoch")
        ax.set_ylabel("mistakes")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.yaxis.get_major_locator().set_params(integer=True)
        style.style_axes(ax)
