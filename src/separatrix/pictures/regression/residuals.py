"""Residual plots: against fitted values, scale–location, and normal quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, number, plural
from separatrix.pictures.largest import largest_rows, mark_largest, row_names
from separatrix.pictures.points import MAX_POINTS, largest, reference_line, running_mean, scatter
from separatrix.pictures.style import MUTED, ORANGE, style_axes
from separatrix.rows.block import Floats

#: Points of a quantile plot at most; the tails are drawn in full.
_POINTS, _TAIL = 1_000, 60


def standardized(residuals: Floats) -> Floats:
    """Residuals over their standard deviation; zeros where all of them are equal."""
    deviation = float(residuals.std())
    return np.asarray(residuals / deviation) if deviation > 0 else np.zeros_like(residuals)


@dataclass(eq=False)
class FittedValueDisplay(Display):
    """Base class: a function of the residuals against fitted values, with a running mean."""

    fitted: Floats
    residuals: Floats
    row_labels: Sequence[object] | None = None
    max_points: int = MAX_POINTS

    axis: ClassVar[str]

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, row_labels: Any = None, max_points: int = MAX_POINTS
    ) -> Self:
        """From observed and predicted targets."""
        truth, fitted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
        if truth.shape != fitted.shape or truth.ndim != 1:
            raise InputError(f"y has shape {truth.shape}, the predictions {fitted.shape}.")
        return cls(fitted, truth - fitted, row_labels, max_points)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, max_points: int = MAX_POINTS) -> Self:
        """From a fitted regressor and rows with their targets."""
        return cls.from_predictions(y, model.predict(X), max_points=max_points)

    @property
    def values(self) -> Floats:
        """What the vertical axis shows."""
        return self.residuals

    def _draw(self, ax: Any) -> None:
        values = self.values
        scatter(ax, self.fitted, values, max_points=self.max_points)
        trend = running_mean(self.fitted, values)
        if trend is not None:
            ax.plot(*trend, color=ORANGE)
        mark_largest(ax, self.fitted, values, values, self.row_labels)
        ax.set_xlabel("fitted value")
        ax.set_ylabel(self.axis)
        style_axes(ax)


@dataclass(eq=False)
class ResidualDisplay(FittedValueDisplay):
    """Residuals against fitted values: nonlinearity, heteroscedasticity, outliers.

    The three largest residuals are labeled; the orange line is a running mean.

    Parameters
    ----------
    fitted : ndarray of shape (n,)
        Fitted values.
    residuals : ndarray of shape (n,)
        Observed minus fitted values.
    row_labels : sequence or None, default=None
        Names of the rows; their positions if None.
    max_points : int, default=5000
        Above so many points their density is drawn.

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
        trend = running_mean(self.fitted, self.residuals)
        if trend is not None:
            low, high = float(trend[1].min()), float(trend[1].max())
            text += f" Their running mean lies between {number(low, 2)} and {number(high, 2)}."
        return f"{text} Largest: {largest_rows(self.residuals, self.row_labels, 3)}."

    def _draw(self, ax: Any) -> None:
        reference_line(ax, 0.0)
        super()._draw(ax)


@dataclass(eq=False)
class ScaleLocationDisplay(FittedValueDisplay):
    """Scale–location plot: √|standardized residual| against fitted values.

    A level running mean indicates homoscedastic errors.

    Parameters
    ----------
    fitted : ndarray of shape (n,)
        Fitted values.
    residuals : ndarray of shape (n,)
        Observed minus fitted values.
    row_labels : sequence or None, default=None
        Names of the rows; their positions if None.
    max_points : int, default=5000
        Above so many points their density is drawn.

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
        return np.asarray(np.sqrt(np.abs(standardized(self.residuals))))

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"{self.axis} against fitted values. {self.caption}"

    @property
    def caption(self) -> str:
        """The running mean at both ends, the rank correlation, and the largest rows."""
        trend = running_mean(self.fitted, self.values)
        names = row_names(self.row_labels, self.values.size)
        far = join_words([f"row {names[i]}" for i in largest(self.values)])
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


@dataclass(eq=False)
class QuantileQuantileDisplay(Display):
    """Normal Q–Q plot: sorted standardized residuals against normal quantiles.

    Parameters
    ----------
    residuals : ndarray of shape (n,)
        Observed minus fitted values.
    row_labels : sequence or None, default=None
        Names of the rows; their positions if None.

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
        z = standardized(self.residuals)
        beyond2, beyond3 = (100 * float(np.mean(np.abs(z) > k)) for k in (2, 3))
        return (
            f"{beyond2:.1f} % lie beyond ±2 and {beyond3:.1f} % beyond ±3 (normal distribution: "
            f"4.6 % and 0.3 %); skewness "
            f"{number(float(np.mean(z**3)), 2)}. Largest: {largest_rows(z, self.row_labels, 2)}."
        )

    def _draw(self, ax: Any) -> None:
        from scipy.stats import norm

        z = standardized(self.residuals)
        order = np.argsort(z, kind="stable")
        expected = norm.ppf((np.arange(z.size) + 0.5) / z.size)
        shown = np.arange(z.size)
        if z.size > _POINTS + 2 * _TAIL:
            middle = np.linspace(_TAIL, z.size - _TAIL - 1, _POINTS).astype(int)
            shown = np.unique(np.concatenate([shown[:_TAIL], middle, shown[-_TAIL:]]))
        ends = expected[[0, -1]]
        ax.plot(ends, ends, color=MUTED, linewidth=0.9)
        scatter(ax, expected[shown], z[order][shown])
        ax.margins(0.06)
        rank = np.empty(z.size, dtype=int)
        rank[order] = np.arange(z.size)
        mark_largest(ax, expected[rank], z, z, self.row_labels)
        style_axes(ax)
        ax.set_xlabel("normal quantile")
        ax.set_ylabel("standardized residual")


def _rounded_mean(residuals: Floats) -> float:
    """The mean, or 0 where it is rounding only."""
    mean = float(residuals.mean())
    return 0.0 if abs(mean) < 1e-9 * float(np.abs(residuals).max(initial=0.0)) else mean
