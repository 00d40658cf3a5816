"""Relevance of columns: inverse length scales of a Gaussian process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, number, plural
from separatrix.pictures.inputs import require_fitted
from separatrix.pictures.points import annotate
from separatrix.pictures.style import BLUE, MUTED, PAPER, WIDTH, label_text, log_axis, style_axes
from separatrix.rows.block import Floats

#: Relevance below this part of the largest is drawn at the edge.
SMALLEST = 1e-3


@dataclass(eq=False)
class RelevanceDisplay(Display):
    """Relevance of each column to a Gaussian process: its deviation over its length scale.

        relevance_j = sd(x_j) / ℓ_j

    The function bends within a step of ℓ_j along column j alone. Along a column of small relevance
    it is nearly linear or constant: permutation importance tells which. Lines are 95 %
    intervals from the curvature of the log evidence in log ℓ; hollow dots are columns whose length
    scale the data leave open.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    length_scales : ndarray of shape (k,)
        ℓ in units of the columns; infinite where a column has no effect.
    intervals : ndarray of shape (k, 2) or None, default=None
        95 % intervals of the length scales; NaN or infinite where the data leave them open.
    scale : ndarray of shape (k,) or None, default=None
        Standard deviations of the columns; None: length scales are given in these.
    max_shown : int, default=15
        Number of columns drawn at most.

    Attributes
    ----------
    relevance : ndarray of shape (k,)
        sd(x)/ℓ.
    determined : ndarray of bool
        Where the interval of the length scale is finite.

    See Also
    --------
    PermutationImportanceDisplay : How much worse predictions are without a column.
    CoefficientDisplay : Coefficients of a linear model.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import RelevanceDisplay
    >>> display = RelevanceDisplay(
    ...     ("age", "dose"), np.array([2.0, 0.5]), np.array([[0.5, np.inf], [0.4, 0.6]]))
    >>> display.relevance.tolist(), display.determined.tolist()
    ([0.5, 2.0], [False, True])
    """

    names: Sequence[str]
    length_scales: Floats
    intervals: Floats | None = None
    scale: Floats | None = None
    max_shown: int = 15

    title: ClassVar[str] = "Relevance of columns by length scale"

    def __post_init__(self) -> None:
        self.length_scales = np.asarray(self.length_scales, dtype=float)
        k = len(self.names)
        if not k or self.length_scales.shape != (k,):
            raise InputError(f"{k} names and length scales of shape {self.length_scales.shape}.")
        if self.intervals is not None and np.shape(self.intervals) != (k, 2):
            raise InputError(f"{k} names and intervals of shape {np.shape(self.intervals)}.")
        if not np.isfinite(self.length_scales).any():
            raise InputError("No column has a finite length scale to draw.")

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, max_shown: int = 15) -> Self:
        """From a fitted Gaussian process with a length scale for each column, and rows of numbers.

        Spreads are those of the columns of ``X``, intervals those of ``hyperparameter_intervals``.
        """
        require_fitted(model, "kernel_", problem=f"{type(model).__name__} is not fitted")
        if not hasattr(model, "hyperparameter_intervals"):
            raise InputError(f"{type(model).__name__} has no length scales with intervals.")
        found = [
            one
            for one in model.hyperparameter_intervals(0.95)
            if one.column is not None and one.name.startswith("length scale")
        ]
        spread = np.asarray(X, dtype=float).std(axis=0)
        if len(found) != len(spread):
            raise InputError(
                f"The kernel has {len(found)} length scales of columns, and there are "
                f"{plural(len(spread), 'column')}.",
                remedy="Fit a kernel with a length scale for each column, such as the default one.",
            )
        ends = [(one.lower, one.upper) if one.determined else (np.nan, np.nan) for one in found]
        values = np.array([one.value for one in found])
        return cls([str(one.column) for one in found], values, np.array(ends), spread, max_shown)

    @property
    def unit(self) -> Floats:
        """Standard deviation of each column."""
        return np.ones(len(self.names)) if self.scale is None else np.asarray(self.scale, float)

    @property
    def relevance(self) -> Floats:
        """sd(x)/ℓ."""
        return np.asarray(self.unit / self.length_scales)

    @property
    def determined(self) -> NDArray[np.bool_]:
        """Where the interval of the length scale is finite."""
        if self.intervals is None:
            return np.isfinite(self.length_scales)
        return np.asarray(np.isfinite(self.intervals).all(axis=1))

    @property
    def shown(self) -> list[int]:
        """Positions of the columns drawn, the most relevant first."""
        order = np.argsort(-np.nan_to_num(self.relevance), kind="stable")
        return [int(j) for j in order[: self.max_shown]]

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        return f"Standard deviation of each column over its length scale. {self.caption}"

    @property
    def caption(self) -> str:
        """The three most relevant columns, those left open, and how many are drawn."""
        top = [f"{self.names[j]} {number(self.relevance[j], 3)}" for j in self.shown[:3]]
        text = f"Most relevant: {join_words(top)}."
        total, open_ = len(self.names), int((~self.determined).sum())
        if open_:
            verb = "is" if open_ == 1 else "are"
            text += f" {open_} of {plural(total, 'length scale')} {verb} left open by the data."
        if total > len(self.shown):
            text += f" The first {len(self.shown)} of {total} are shown."
        return text

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return WIDTH, 0.95 + 0.22 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        shown, position = self.shown, -np.arange(len(self.shown), dtype=float)
        values, known = self.relevance, self.determined
        largest = float(np.nanmax(values[np.isfinite(values)]))
        floor = SMALLEST * largest
        ends = None if self.intervals is None else self.unit[:, None] / self.intervals[:, ::-1]
        reach = [largest, *np.maximum(values[shown], floor)]
        for at, j in zip(position, shown, strict=True):
            color = BLUE if known[j] else MUTED
            if ends is not None:
                low, high = np.nan_to_num(ends[j], nan=floor, posinf=values[j])
                reach += [max(float(low), floor), float(high)]
                ax.plot(np.maximum([low, high], floor), [at, at], color=color, linewidth=1.4)
            fill, value = color if known[j] else PAPER, max(float(values[j]), floor)
            ax.plot([value], [at], "o", ms=5, mfc=fill, mec=color, mew=1.2)
        log_axis(ax)
        ax.set_xlim(min(reach) / 1.6, 1.6 * max(reach))
        ax.set_yticks(position, [label_text(self.names[j], 20) for j in shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("standard deviations per length scale (log)")
        raw = ax.secondary_yaxis("right")
        raw.set_yticks(position, [number(self.length_scales[j], 3) for j in shown])
        raw.tick_params(length=0, labelcolor=MUTED)
        raw.spines["right"].set_visible(False)
        raw.patch.set_visible(False)
        annotate(ax, "length scale", (1, 1), (0, 3), "axes fraction", color=MUTED, ha="center")
