"""Histogram of the probability integral transform of a predictive distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.bayes.inputs import observed, predictive_of
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.points import annotate
from separatrix.pictures.style import BLUE, MUTED, ORANGE, percent_axis, style_axes
from separatrix.rows.block import Floats, unit_weights

if TYPE_CHECKING:
    from separatrix.bayes.predictive import PredictiveDistribution

#: Rows for each bar at least, and bars at most.
ROWS_A_BAR, MOST_BARS = 8, 20


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
        from separatrix.probability.proportions import effective_size

        u = np.asarray(pit, dtype=float).ravel()
        if not u.size or not ((u >= 0) & (u <= 1)).all():
            raise InputError("F(y) must be between 0 and 1, of one row at least.")
        w = unit_weights(
            None if sample_weight is None else np.asarray(sample_weight, float), u.size
        )
        size = effective_size(w)
        count = bins or int(np.clip(size // ROWS_A_BAR, 4, MOST_BARS))
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
        pit = predictive.pit(observed(y, predictive))
        return cls.from_pit(pit, bins=bins, sample_weight=sample_weight)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, bins: int | None = None) -> Self:
        """From a fitted model with ``predictive`` (or ``return_std``) and rows it has not seen."""
        return cls.from_predictions(y, predictive_of(model, X), bins=bins)

    @property
    def expected(self) -> tuple[float, float]:
        """Proportions between which a bar stays with probability 95 %."""
        from separatrix.probability.proportions import expected_range

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
        ax.axhspan(low, high, color=MUTED, alpha=0.18, linewidth=0)
        ax.axhline(1.0 / bars, color=MUTED, linewidth=0.9)
        for away, color in ((False, BLUE), (True, ORANGE)):
            heights = np.where(self._outside == away, self.proportions, 0.0)
            if heights.any():
                ax.stairs(heights, edges, fill=True, color=color, alpha=0.45)
        ax.stairs(self.proportions, edges, color=BLUE, linewidth=1.0)
        ax.set_ylim(0, 1.06 * max(float(self.proportions.max()), high))
        ax.set_xlim(-0.01, 1.01)
        look = {"ha": "right", "color": MUTED}
        annotate(ax, "gray: 95 % of bars expected", (1, 1), (0, 3), "axes fraction", **look)
        style_axes(ax, grid="y")
        percent_axis(ax.yaxis)
        ax.set_xlabel("F(y), predictive probability of a smaller target")
        ax.set_ylabel("proportion of the rows")
