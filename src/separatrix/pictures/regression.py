"""Regression: coefficients, residuals, leverage, predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.estimators.inference import inference
from separatrix.formatting import join_words, number, plural
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures import marks, style
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import design_deviations

# -------------------------------------------------------------------------------------------------
# Coefficients with confidence intervals, standardized, with the raw ones beside them.


@describe_parameters
@dataclass(eq=False)
class CoefficientDisplay(Display):
    """Coefficients with confidence intervals, in decreasing order of magnitude.

    Parameters
    ----------
    names : tuple of str
    estimates : ndarray of shape (k,)
        Coefficients in raw units.
    intervals : ndarray of shape (k, 2) or None, default=None
        Confidence intervals in raw units.
    scale : ndarray of shape (k,) or None, default=None
        Standard deviation of each column: coefficients are multiplied by it, the raw ones stand
        beside them. None draws raw coefficients.
    max_shown : int, default=20
        Number of coefficients drawn at most.
    axis_label : str
        Label of the axis of scaled coefficients.

    Attributes
    ----------
    shown : list of int
        Positions of the coefficients drawn, the largest first.
    excludes_zero : ndarray of bool
        Where the interval excludes zero; without intervals, where the estimate is not zero.

    See Also
    --------
    RegularizationPathDisplay : Coefficients over the penalty.
    LeverageDisplay : Rows that influence the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import CoefficientDisplay
    >>> intervals = np.array([[0.5, 1.5], [-3.0, 1.0]])
    >>> display = CoefficientDisplay(("age", "dose"), np.array([1.0, -1.0]), intervals)
    >>> display.description
    'Coefficients. Largest: age 1 and dose −1. 1 of 2 has a 95 % interval that excludes zero.'
    """

    names: tuple[str, ...]
    estimates: Floats
    intervals: Floats | None = None
    scale: Floats | None = None
    max_shown: int = 20
    axis_label: str = "change of the prediction per standard deviation"

    title: ClassVar[str] = "Coefficients"

    def __post_init__(self) -> None:
        if not self.estimates.size:
            raise InputError("Coefficients are not drawn: none of them has a finite estimate.")

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None, *, max_shown: int = 20) -> Self:
        """From a fitted linear model; with its table or design ``X`` they are standardized."""
        fit_inference = inference(model)
        if fit_inference is None:
            raise InputError(
                f"{type(model).__name__} has no single coefficient vector to draw.",
                remedy="Build CoefficientDisplay(names, estimates) for one output at a time.",
            )
        scale = None if X is None else design_deviations(model, X, fit_inference.estimates.size)
        axis = f"change of the {_name_change(model)} per standard deviation"
        return cls(
            fit_inference.names,
            fit_inference.estimates,
            fit_inference.intervals,
            scale,
            max_shown,
            axis,
        )

    @property
    def unit(self) -> Floats:
        """Factor of each raw coefficient."""
        return np.ones(self.estimates.size) if self.scale is None else np.asarray(self.scale)

    @property
    def shown(self) -> list[int]:
        """Positions of the coefficients drawn, the largest first."""
        size = np.abs(self.estimates * self.unit)
        return [int(j) for j in np.argsort(-size, kind="stable")[: self.max_shown]]

    @property
    def excludes_zero(self) -> NDArray[np.bool_]:
        """Where the interval excludes zero; without intervals, where the estimate is not zero."""
        if self.intervals is None:
            return np.asarray(self.estimates != 0)
        return np.asarray((self.intervals[:, 0] > 0) | (self.intervals[:, 1] < 0))

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        unit = "" if self.scale is None else f" ({self.axis_label})"
        return f"Coefficients{unit}. {self.caption}"

    @property
    def caption(self) -> str:
        """The three largest, how many differ from zero, and how many are drawn."""
        top = [
            f"{self.names[j]} {number(self.estimates[j] * self.unit[j], 3)}" for j in self.shown[:3]
        ]
        text = f"Largest: {join_words(top)}."
        total = self.estimates.size
        if self.intervals is not None:
            known = int(self.excludes_zero.sum())
            verb = "has" if known == 1 else "have"
            text += f" {known} of {total} {verb} a 95 % interval that excludes zero."
        elif not self.excludes_zero.all():
            text += f" {plural(int(total - self.excludes_zero.sum()), 'coefficient')} exactly zero."
        if total > len(self.shown):
            text += f" The {len(self.shown)} largest of {total} are shown."
        return text

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return style.WIDTH, 0.95 + 0.2 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        shown, unit = self.shown, self.unit
        position = -np.arange(len(shown), dtype=float)
        marks.reference_line(ax, 0.0, horizontal=False)
        for at, j in zip(position, shown, strict=True):
            color = style.BLUE if self.excludes_zero[j] else style.MUTED
            if self.intervals is not None:
                ax.plot(self.intervals[j] * unit[j], [at, at], color=color, linewidth=1.4)
            fill = color if self.excludes_zero[j] else style.PAPER
            value = self.estimates[j] * unit[j]
            ax.plot([value], [at], "o", ms=5, mfc=fill, mec=color, mew=1.2)
        ax.set_yticks(position, [style.label_text(self.names[j], 20) for j in shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style.style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        if self.scale is None:
            ax.set_xlabel("coefficient")
            return
        ax.set_xlabel(self.axis_label)
        raw = ax.secondary_yaxis("right")
        raw.set_yticks(position, [number(self.estimates[j], 3) for j in shown])
        raw.tick_params(length=0, labelcolor=style.MUTED)
        raw.spines["right"].set_visible(False)
        raw.patch.set_visible(False)
        marks.annotate(ax, "per unit", (1, 1), (6, 3), "axes fraction", color=style.MUTED)


def _name_change(model: Any) -> str:
    """What a coefficient changes: of a classifier that models log odds, those."""
    if not hasattr(model, "classes_"):
        return "prediction"
    return "log odds" if hasattr(model, "predict_log_proba") else "score"


# -------------------------------------------------------------------------------------------------
# Residual plots: against fitted values, scale–location, and normal quantiles.


class RegressorDisplay(Display):
    """A plot of observed and predicted targets: those of a regressor, or any others."""

    @classmethod
    @abstractmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, row_labels: Any = None, max_points: int = marks.MAX_POINTS
    ) -> Self:
        """From observed and predicted targets."""

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, max_points: int = marks.MAX_POINTS
    ) -> Self:
        """From a fitted regressor and rows with their targets."""
        return cls.from_predictions(y, model.predict(X), max_points=max_points)


def standardize_residuals(residuals: Floats) -> Floats:
    """Residuals over their standard deviation; zeros where all of them are equal."""
    deviation = float(residuals.std())
    return np.asarray(residuals / deviation) if deviation > 0 else np.zeros_like(residuals)


@dataclass(eq=False)
class FittedValueDisplay(RegressorDisplay):
    """Base class: a function of the residuals against fitted values, with a running mean."""

    fitted: Floats
    residuals: Floats
    row_labels: Sequence[object] | None = None
    max_points: int = marks.MAX_POINTS

    axis: ClassVar[str]

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, row_labels: Any = None, max_points: int = marks.MAX_POINTS
    ) -> Self:
        """From observed and predicted targets."""
        truth, fitted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
        if truth.shape != fitted.shape or truth.ndim != 1:
            raise InputError(f"y has shape {truth.shape}, the predictions {fitted.shape}.")
        return cls(fitted, truth - fitted, row_labels, max_points)

    @property
    def values(self) -> Floats:
        """What the vertical axis shows."""
        return self.residuals

    def _draw(self, ax: Any) -> None:
        values = self.values
        marks.scatter(ax, self.fitted, values, max_points=self.max_points)
        trend = marks.running_mean(self.fitted, values)
        if trend is not None:
            ax.plot(*trend, color=style.ORANGE)
        marks.mark_largest(ax, self.fitted, values, values, self.row_labels)
        ax.set_xlabel("fitted value")
        ax.set_ylabel(self.axis)
        style.style_axes(ax)


@describe_parameters
@dataclass(eq=False)
class ResidualDisplay(FittedValueDisplay):
    """Residuals against fitted values: nonlinearity, heteroscedasticity, outliers.

    The three largest residuals are labeled; the orange line is a running mean.

    Parameters
    ----------
    fitted : ndarray of shape (n,)
        Fitted values.
    residuals : ndarray of shape (n,)
    row_labels : sequence or None, default=None
    max_points : int, default=5000

    See Also
    --------
    QuantileQuantileDisplay : Residuals against normal quantiles.
    ScaleLocationDisplay : Size of the residuals against fitted values.
    LeverageDisplay : Residuals against leverage.

    Examples
    --------
    >>> from separatrix.pictures import ResidualDisplay
    >>> display = ResidualDisplay.from_predictions([1.0, 2.0, 5.0], [1.0, 2.5, 4.0])
    >>> display.description
    '3 residuals with mean 0.167 and standard deviation 0.624. Largest: row 2 (1), row 1 (−0.500)
    and row 0 (0).'
    """

    title: ClassVar[str] = "Residuals against fitted values"
    axis: ClassVar[str] = "residual"

    @property
    def description(self) -> str:
        """Mean, standard deviation, trend and the three largest residuals."""
        text = (
            f"{plural(self.residuals.size, 'residual')} with mean "
            f"{number(_rounded_mean(self.residuals), 3)} and standard deviation "
            f"{number(float(self.residuals.std()), 3)}."
        )
        trend = marks.running_mean(self.fitted, self.residuals)
        if trend is not None:
            low, high = float(trend[1].min()), float(trend[1].max())
            text += f" Their running mean lies between {number(low, 2)} and {number(high, 2)}."
        return f"{text} Largest: {marks.largest_rows(self.residuals, self.row_labels, 3)}."

    def _draw(self, ax: Any) -> None:
        marks.reference_line(ax, 0.0)
        super()._draw(ax)


@describe_parameters
@dataclass(eq=False)
class ScaleLocationDisplay(FittedValueDisplay):
    """Scale–location plot: √|standardized residual| against fitted values.

    A level running mean indicates homoscedastic errors.

    Parameters
    ----------
    fitted : ndarray of shape (n,)
        Fitted values.
    residuals : ndarray of shape (n,)
    row_labels : sequence or None, default=None
    max_points : int, default=5000

    Attributes
    ----------
    values : ndarray of shape (n,)
        √|standardized residual|.

    See Also
    --------
    ResidualDisplay : Residuals against fitted values.
    QuantileQuantileDisplay : Residuals against normal quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import ScaleLocationDisplay
    >>> display = ScaleLocationDisplay(np.arange(4.0), np.array([1.0, -1.0, 2.0, -2.0]))
    >>> display.values.round(3).tolist()
    [0.795, 0.795, 1.125, 1.125]
    """

    title: ClassVar[str] = "Scale–location plot"
    axis: ClassVar[str] = "√|standardized residual|"

    @property
    def values(self) -> Floats:
        """√|standardized residual|."""
        return np.asarray(np.sqrt(np.abs(standardize_residuals(self.residuals))))

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"{self.axis} against fitted values. {self.caption}"

    @property
    def caption(self) -> str:
        """The running mean at both ends, the rank correlation, and the largest rows."""
        trend = marks.running_mean(self.fitted, self.values)
        names = marks.row_names(self.row_labels, self.values.size)
        far = join_words([marks.name_row(names[i]) for i in marks.largest(self.values)])
        if trend is None:
            return f"Too few rows for a trend in the size of the residuals. Largest: {far}."
        from scipy.stats import spearmanr

        constant = np.ptp(self.fitted) == 0 or np.ptp(self.values) == 0
        rho = 0.0 if constant else float(spearmanr(self.fitted, self.values).statistic)
        verdict = "grow" if rho > 0.15 else "shrink" if rho < -0.15 else "keep their size"
        return (
            f"The residuals {verdict} with the fitted value (rank correlation {number(rho, 2)}): "
            f"the running mean goes from {number(trend[1][0], 2)} to {number(trend[1][-1], 2)}. "
            f"Largest: {far}."
        )

    def _draw(self, ax: Any) -> None:
        super()._draw(ax)
        ax.set_ylim(bottom=0)


@describe_parameters
@dataclass(eq=False)
class QuantileQuantileDisplay(Display):
    """Normal Q–Q plot: sorted standardized residuals against normal quantiles.

    Parameters
    ----------
    residuals : ndarray of shape (n,)
    row_labels : sequence or None, default=None

    See Also
    --------
    ResidualDisplay : Residuals against fitted values.
    ScaleLocationDisplay : Size of the residuals against fitted values.

    References
    ----------
    M. B. Wilk and R. Gnanadesikan, Probability plotting methods for the analysis of data,
    Biometrika 55, 1968.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import QuantileQuantileDisplay
    >>> display = QuantileQuantileDisplay(np.array([-1.0, 0.0, 1.0]))
    >>> display.plot().ax_.get_xlabel()
    'normal quantile'
    """

    residuals: Floats
    row_labels: Sequence[object] | None = None

    title: ClassVar[str] = "Normal Q–Q plot of the residuals"

    @classmethod
    def from_predictions(cls, y: Any, predicted: Any, *, row_labels: Any = None) -> Self:
        """From observed and predicted targets."""
        residuals = np.asarray(y, dtype=float) - np.asarray(predicted, dtype=float)
        return cls(residuals, row_labels)

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"Standardized residuals against normal quantiles. {self.caption}"

    @property
    def caption(self) -> str:
        """Proportions beyond two and three deviations, skewness, the largest rows."""
        z = standardize_residuals(self.residuals)
        beyond2, beyond3 = (100 * float(np.mean(np.abs(z) > k)) for k in (2, 3))
        return (
            f"{beyond2:.1f} % lie beyond ±2 and {beyond3:.1f} % beyond ±3 (normal distribution: "
            f"4.6 % and 0.3 %); skewness {number(float(np.mean(z**3)), 2)}. "
            f"Largest: {marks.largest_rows(z, self.row_labels, 2)}."
        )

    def _draw(self, ax: Any) -> None:
        from scipy.stats import norm

        z = standardize_residuals(self.residuals)
        order = np.argsort(z, kind="stable")
        expected = norm.ppf((np.arange(z.size) + 0.5) / z.size)
        shown = np.arange(z.size)
        points = 1_000  # points at most
        tail = 60  # the tails are drawn in full
        if z.size > points + 2 * tail:
            middle = np.linspace(tail, z.size - tail - 1, points).astype(int)
            shown = np.unique(np.concatenate([shown[:tail], middle, shown[-tail:]]))
        ends = expected[[0, -1]]
        ax.plot(ends, ends, color=style.MUTED, linewidth=0.9)
        marks.scatter(ax, expected[shown], z[order][shown])
        ax.margins(0.06)
        rank = np.empty(z.size, dtype=int)
        rank[order] = np.arange(z.size)
        marks.mark_largest(ax, expected[rank], z, z, self.row_labels)
        style.style_axes(ax)
        ax.set_xlabel("normal quantile")
        ax.set_ylabel("standardized residual")


def _rounded_mean(residuals: Floats) -> float:
    """The mean, or 0 where it is rounding only."""
    mean = float(residuals.mean())
    return 0.0 if abs(mean) < 1e-9 * float(np.abs(residuals).max(initial=0.0)) else mean


# -------------------------------------------------------------------------------------------------
# Standardized residuals against leverage, with contours of Cook's distance.
#
# Dᵢ = rᵢ² hᵢ / (p (1 − hᵢ)),     rᵢ = eᵢ / (σ √(1 − hᵢ)):  a contour is r = ±√(D p (1 − h) / h)


LEVELS = (0.5, 1.0)


@describe_parameters
@dataclass(eq=False)
class LeverageDisplay(Display):
    """Standardized residuals against leverage, with contours of Cook's distance.

    Dᵢ = rᵢ² hᵢ / (p (1 − hᵢ)). Rows of leverage 1 are fitted exactly and have no standardized
    residual: they are not drawn, and the description counts them.

    Parameters
    ----------
    leverage : ndarray of shape (n,)
        Diagonal h of the hat matrix.
    residuals : ndarray of shape (n,)
        Standardized residuals r.
    n_parameters : int
        Number p of fitted coefficients.
    row_labels : sequence or None, default=None
    max_points : int, default=5000

    Attributes
    ----------
    cooks_distance : ndarray of shape (n,)
        Cook's distance of each row; NaN where the leverage is 1.

    See Also
    --------
    ResidualDisplay : Residuals against fitted values.
    QuantileQuantileDisplay : Residuals against normal quantiles.

    References
    ----------
    R. D. Cook, Detection of influential observation in linear regression, 1977.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import LeverageDisplay
    >>> x = np.array([[0.0], [1.0], [2.0], [5.0]])
    >>> display = LeverageDisplay.from_design(x, np.array([0.3, -0.2, -0.3, 0.2]))
    >>> display.leverage.round(3).tolist()
    [0.536, 0.321, 0.25, 0.893]
    >>> int(display.cooks_distance.argmax())
    3
    """

    leverage: Floats
    residuals: Floats
    n_parameters: int
    row_labels: Sequence[object] | None = None
    max_points: int = marks.MAX_POINTS

    title: ClassVar[str] = "Residuals against leverage"

    @classmethod
    def from_estimator(
        cls, model: Any, *, row_labels: Any = None, max_points: int = marks.MAX_POINTS
    ) -> Self:
        """From a fitted least-squares model that stores its training rows."""
        fit_inference = inference(model)
        if (
            fit_inference is None
            or fit_inference.leverage is None
            or fit_inference.residuals is None
        ):
            reason = "" if fit_inference is None else fit_inference.reason
            raise InputError(f"{type(model).__name__} gives no leverage.", remedy=reason or None)
        fit = fit_inference.residuals, fit_inference.leverage, fit_inference.sigma
        return cls.from_fit(*fit, row_labels=row_labels, max_points=max_points)

    @classmethod
    def from_fit(
        cls,
        residuals: Floats,
        leverage: Floats,
        sigma: float | None = None,
        n_parameters: int | None = None,
        *,
        row_labels: Any = None,
        max_points: int = marks.MAX_POINTS,
    ) -> Self:
        """From raw residuals, each divided by its own standard deviation σ√(1 − h).

        The hat matrix is a projection: its trace Σh is its rank p.
        """
        h = np.clip(leverage, 0.0, 1.0)
        if n_parameters is None:
            n_parameters = max(1, round(float(h.sum())))
        if sigma is None:
            sigma = float(np.sqrt(np.sum(residuals**2) / max(residuals.size - n_parameters, 1)))
        deviations = sigma * np.sqrt(1 - h)
        exact = (1 - h < 1e-12) | (deviations == 0)
        r = np.divide(residuals, deviations, out=np.full(h.size, np.nan), where=~exact)
        return cls(h, r, n_parameters, row_labels, max_points)

    @classmethod
    def from_design(
        cls,
        x: Any,
        residuals: Any,
        *,
        w: Any = None,
        row_labels: Any = None,
        max_points: int = marks.MAX_POINTS,
    ) -> Self:
        """From the design matrix and the residuals of a least-squares fit with an intercept.

        The leverages are the squared row norms of an orthonormal basis of [1 x].
        """
        from scipy.linalg import qr

        e = np.asarray(residuals, dtype=float)
        root = np.ones(e.size) if w is None else np.sqrt(np.asarray(w, dtype=float))
        design = np.column_stack([np.ones(e.size), np.asarray(x, dtype=float)])
        size = np.linalg.norm(design, axis=0)
        design = design / np.where(size > 0, size, 1.0) * root[:, None]
        q, r, _ = qr(design, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(r))
        rank = int(np.sum(diagonal > 1e-11 * diagonal.max(initial=0.0)))
        h = np.sum(q[:, :rank] ** 2, axis=1)
        return cls.from_fit(e * root, h, None, rank, row_labels=row_labels, max_points=max_points)

    @property
    def cooks_distance(self) -> Floats:
        """Cook's distance of each row; NaN where the leverage is 1."""
        h, r = self.leverage, self.residuals
        defined = np.isfinite(r) & (h < 1)
        cook = np.full(h.size, np.nan)
        cook[defined] = r[defined] ** 2 * h[defined] / (self.n_parameters * (1 - h[defined]))
        return cook

    @property
    def description(self) -> str:
        """Rows beyond a Cook's distance of ½, the most influential rows, the largest leverage."""
        cook = self.cooks_distance
        exact = int(np.sum(~np.isfinite(cook)))
        beyond = int(np.sum(cook > LEVELS[0]))
        h = self.leverage
        text = (
            f"{plural(beyond, 'row')} of {cook.size:,} beyond a Cook's distance of 0.5. "
            f"Most influential: {marks.largest_rows(cook, self.row_labels, 2)}. Largest leverage "
            f"{number(float(h.max()), 2)}, mean {number(float(h.mean()), 2)}."
        )
        return text + (f" {plural(exact, 'row')} with leverage 1 not shown." if exact else "")

    def _draw(self, ax: Any) -> None:
        cook = self.cooks_distance
        defined = np.isfinite(cook)
        marks.reference_line(ax, 0.0)
        marks.scatter(
            ax, self.leverage[defined], self.residuals[defined], max_points=self.max_points
        )
        ax.margins(x=0.08, y=0.1)
        ax.set_xlim(left=0)
        marks.mark_largest(ax, self.leverage, self.residuals, cook, self.row_labels)
        ax.set_xlim(ax.get_xlim())
        ax.set_ylim(ax.get_ylim())
        self._contours(ax)
        style.style_axes(ax)
        ax.set_xlabel("leverage")
        ax.set_ylabel("standardized residual")

    def _contours(self, ax: Any) -> None:
        """Curves of equal Cook's distance, labeled at the right."""
        right, high = ax.get_xlim()[1], ax.get_ylim()[1]
        h = np.linspace(max(right * 1e-3, 1e-9), min(right, 1 - 1e-9), 200)
        for level, dash in zip(LEVELS, ((0, (4, 3)), "solid"), strict=True):
            r = np.sqrt(level * self.n_parameters * (1 - h) / h)
            for sign in (1, -1):
                ax.plot(h, sign * r, color=style.ORANGE, linewidth=1.0, linestyle=dash)
            inside = np.flatnonzero(r < high)
            if inside.size:
                look = {"va": "center", "color": style.MUTED, "annotation_clip": False}
                marks.annotate(ax, f"Cook {level:g}", (h[-1], r[-1]), (3, 0), **look)


# -------------------------------------------------------------------------------------------------
# Actual against predicted values of a numeric target.


@describe_parameters
@dataclass(eq=False)
class PredictedActualDisplay(RegressorDisplay):
    """Actual against predicted values, on equal axes with the line of perfect predictions.

    Points above the line were predicted too low. The orange line is a running mean: where it leaves
    the line, predictions are biased. The three largest errors are labeled.

    Parameters
    ----------
    actual : ndarray of shape (n,)
        Observed values of the target.
    predicted : ndarray of shape (n,)
        Predictions.
    row_labels : sequence or None, default=None
    max_points : int, default=5000
    display : {"", "year", "date", "datetime", "time"}, default=""
        How the values are written; dates are days since 1970-01-01.

    Attributes
    ----------
    r_squared : float
        1 − Σ(y − ŷ)² / Σ(y − ȳ)².

    See Also
    --------
    ResidualDisplay : Residuals against fitted values.
    CalibrationDisplay : The same for probabilities of classes.

    Examples
    --------
    >>> from separatrix.pictures import PredictedActualDisplay
    >>> display = PredictedActualDisplay.from_predictions([1.0, 2.0, 6.0], [1.0, 2.5, 4.0])
    >>> display.description
    'Actual against predicted values of 3 rows: R² 0.696. Half of the errors are below 0.500. The
    largest: row 2 (predicted 4, actually 6), row 1 (predicted 2.50, actually 2) and row 0
    (predicted 1, actually 1).'
    """

    actual: Floats
    predicted: Floats
    row_labels: Sequence[object] | None = None
    max_points: int = marks.MAX_POINTS
    display: str = ""

    title: ClassVar[str] = "Predicted against actual values"
    figure_size: ClassVar[tuple[float, float]] = style.TALL

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predicted: Any,
        *,
        row_labels: Any = None,
        max_points: int = marks.MAX_POINTS,
        display: str = "",
    ) -> Self:
        """From observed and predicted targets."""
        truth, answers = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
        if truth.shape != answers.shape or truth.ndim != 1 or not truth.size:
            raise InputError(f"y has shape {truth.shape}, the predictions {answers.shape}.")
        return cls(truth, answers, row_labels, max_points, display)

    @property
    def r_squared(self) -> float:
        """1 − Σ(y − ŷ)² / Σ(y − ȳ)²; NaN where y does not vary."""
        total = float(((self.actual - self.actual.mean()) ** 2).sum())
        error = float(((self.actual - self.predicted) ** 2).sum())
        return 1.0 - error / total if total > 0 else float("nan")

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"Actual against predicted values of {self.caption}"

    @property
    def caption(self) -> str:
        """Rows, R², the median error, and the three largest errors."""
        error = np.abs(self.actual - self.predicted)
        names = marks.row_names(self.row_labels, error.size)
        far = [
            f"{marks.name_row(names[i])} "
            f"(predicted {style.value_text(self.predicted[i], self.display)}, "
            f"actually {style.value_text(self.actual[i], self.display)})"
            for i in marks.largest(error)
        ]
        fit = "" if np.isnan(self.r_squared) else f": R² {number(self.r_squared, 3)}"
        return (
            f"{plural(error.size, 'row')}{fit}. Half of the errors are below "
            f"{number(float(np.median(error)), 3)}. The largest: {join_words(far)}."
        )

    def _draw(self, ax: Any) -> None:
        values = np.concatenate([self.actual, self.predicted])
        low, high = float(values.min()), float(values.max())
        pad = 0.04 * (high - low) or 1.0
        ends = np.array([low - pad, high + pad])
        ax.plot(ends, ends, color=style.MUTED, linewidth=0.9)
        # below the line, where no error of a large value is: its name stands at the other end
        look = {"ha": "right", "va": "bottom", "color": style.MUTED, "fontsize": 8}
        marks.annotate(
            ax, "line: actual = predicted", (0.99, 0.02), (0, 0), "axes fraction", **look
        )
        marks.scatter(ax, self.predicted, self.actual, max_points=self.max_points)
        trend = marks.running_mean(self.predicted, self.actual)
        if trend is not None:
            ax.plot(*trend, color=style.ORANGE)
        ax.set_xlim(*ends)
        ax.set_ylim(*ends)
        error = self.actual - self.predicted
        marks.mark_largest(ax, self.predicted, self.actual, error, self.row_labels)
        style.style_axes(ax)
        for axis in (ax.xaxis, ax.yaxis):
            style.value_axis(axis, self.display)
        ax.set_xlabel("predicted")
        ax.set_ylabel("actual")
