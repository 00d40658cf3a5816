"""Curves of additive models, and the directions of learned metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.formatting import join_words, number
from separatrix.messages import InputError
from separatrix.parameters import describe_parameters
from separatrix.pictures.columns import column_size, short_name, value_axis, value_text
from separatrix.pictures.display import Display
from separatrix.pictures.inputs import design_deviations, require_fitted
from separatrix.pictures.points import fill_band, reference_line
from separatrix.pictures.style import BLUE, MUTED, SERIES, WIDTH, label_text, style_axes


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
            unit = f"the score of {label_text(output, 18)}"
            if len(model.classes_) == 2:
                unit = f"log odds of {label_text(model.classes_[1], 18)}"
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
        return f"Curve of {short_name(self.curve.column)}"

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
        return self.levels[i] if self.levels else value_text(float(self.curve.x[i]), self.display)

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list of levels is long."""
        return column_size(len(self.levels))

    def _draw(self, ax: Any) -> None:
        curve = self.curve
        reference_line(ax, 0.0, horizontal=not self.levels)
        axis = label_text(f"added to {self.unit}", 34)
        if self.levels:
            position = -np.arange(len(self.levels), dtype=float)
            for (low, high), width in ((curve.band.T, 1.0), (curve.interval.T, 2.6)):
                ax.hlines(position, low, high, color=BLUE, linewidth=width)
            ax.plot(curve.values, position, "o", ms=5.5, color=BLUE)
            ax.set_yticks(position, [label_text(level, 18) for level in self.levels])
            ax.set_ylim(position[-1] - 0.7, 0.7)
            style_axes(ax, grid="x")
            ax.set_xlabel(axis)
            return
        fill_band(ax, curve.x, *curve.band.T)
        fill_band(ax, curve.x, *curve.interval.T)
        ax.plot(curve.x, curve.values, color=BLUE, linewidth=2)
        ax.vlines(curve.marks, 0, 0.035, color=MUTED, linewidth=0.5,
                  transform=ax.get_xaxis_transform())  # fmt: skip
        ax.margins(x=0.02)
        style_axes(ax)
        value_axis(ax.xaxis, self.display)
        ax.set_xlabel(label_text(curve.column, 40))
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

    References
    ----------
    A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, Mechanism for feature learning in
    neural networks and backpropagation-free machine learning models, Science 383, 2024.

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
        return WIDTH, 1.1 + 0.25 * max(3, len(self.names))

    def _draw(self, ax: Any) -> None:
        names, count = self.names, len(self.directions)
        position, height = -np.arange(len(names), dtype=float), 0.8 / count
        for k, (share, loadings) in enumerate(self.directions):
            at = position + 0.4 - height * (k + 0.5)
            label = f"direction {k + 1}, {100 * share:.0f} %"
            values = [loadings[name] for name in names]
            ax.barh(at, values, height=0.9 * height, color=SERIES[k % len(SERIES)], label=label)
        reference_line(ax, 0.0, horizontal=False)
        ax.set_yticks(position, [label_text(name, 20) for name in names])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        ax.legend(frameon=False, fontsize=8.5, ncols=3, loc="lower left", handlelength=1,
                  bbox_to_anchor=(0, 1), borderaxespad=0.2)  # fmt: skip
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("loading")
