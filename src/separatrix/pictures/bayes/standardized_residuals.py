"""Standardized residuals of predictive distributions against the predicted value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.pictures.bayes.inputs import observed, predictive_of
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.largest import largest_rows, mark_largest
from separatrix.pictures.points import (
    MAX_POINTS,
    reference_line,
    running_mean,
    scatter,
)
from separatrix.pictures.style import MUTED, ORANGE, style_axes
from separatrix.rows.block import Floats

if TYPE_CHECKING:
    from separatrix.bayes.predictive import PredictiveDistribution

#: 95 % of a normal distribution are within ± this many standard deviations.
WITHIN = 1.959964


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
        Names of the rows; their positions if None.
    max_points : int, default=5000
        Above so many points their density is drawn.

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
    max_points: int = MAX_POINTS

    title: ClassVar[str] = "Standardized residuals"

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        predictive: PredictiveDistribution,
        *,
        row_labels: Any = None,
        max_points: int = MAX_POINTS,
    ) -> Self:
        """From observed targets and their predictive distributions."""
        z = predictive.residuals(observed(y, predictive))
        return cls(np.asarray(predictive.mean, dtype=float), z, row_labels, max_points)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, max_points: int = MAX_POINTS) -> Self:
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
            f"Largest: {largest_rows(z, self.row_labels, 3)}."
        )

    def _draw(self, ax: Any) -> None:
        reference_line(ax, 0.0)
        for end in (-WITHIN, WITHIN):
            ax.axhline(end, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
        scatter(ax, self.predicted, self.residuals, max_points=self.max_points)
        trend = running_mean(self.predicted, self.residuals)
        if trend is not None:
            ax.plot(*trend, color=ORANGE)
        mark_largest(ax, self.predicted, self.residuals, self.residuals, self.row_labels)
        style_axes(ax)
        ax.set_xlabel("predicted value")
        ax.set_ylabel("residual in predicted deviations")
