"""Coverage of predictive intervals against their nominal level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.bayes.inputs import level_text, observed, predictive_of
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import plural
from separatrix.pictures.points import annotate
from separatrix.pictures.style import BLUE, MUTED, ORANGE, TALL, percent_axis, style_axes
from separatrix.rows.block import Floats, unit_weights

if TYPE_CHECKING:
    from separatrix.bayes.predictive import PredictiveDistribution

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
    figure_size: ClassVar[tuple[float, float]] = TALL

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
        from separatrix.probability.proportions import effective_size

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
        pit = predictive.pit(observed(y, predictive))
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
        from separatrix.probability.proportions import wilson

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
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9)
        off = self._too_narrow | self._too_wide
        ax.plot(self.levels, self.coverage, color=BLUE, linewidth=1.2)
        for at, value, ends, away in zip(
            self.levels, self.coverage, self.confidence_intervals, off, strict=True
        ):
            color = ORANGE if away else BLUE
            ax.plot([at, at], ends, color=color, linewidth=1.0, alpha=0.7)
            ax.plot([at], [value], "s" if away else "o", ms=4.5, color=color)
        look: dict[str, Any] = {"color": MUTED, "fontsize": 8.5}
        annotate(ax, "intervals too wide", (0.03, 0.96), (0, 0), "axes fraction", va="top", **look)
        annotate(ax, "too narrow", (0.97, 0.04), (0, 0), "axes fraction", ha="right", **look)
        ax.set_xlim(-0.01, 1.02)
        ax.set_ylim(-0.02, 1.03)
        style_axes(ax)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
            percent_axis(axis)
        ax.set_xlabel("nominal level of the interval")
        ax.set_ylabel("targets within the interval")
