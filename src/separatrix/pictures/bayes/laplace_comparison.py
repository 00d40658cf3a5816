"""The Laplace approximation beside posterior draws: intervals of every coefficient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number
from separatrix.pictures.points import annotate, reference_line
from separatrix.pictures.style import BLUE, ORANGE, WIDTH, label_text, style_axes

if TYPE_CHECKING:
    from separatrix.bayes.logistic.comparison import PosteriorComparison


@dataclass(eq=False)
class LaplaceComparisonDisplay(Display):
    """95 % intervals of the Laplace approximation and of posterior draws, the largest shift first.

    Parameters
    ----------
    comparison : PosteriorComparison
        What ``BayesianLogisticRegression.compare`` returns.
    max_shown : int, default=20
        Number of coefficients drawn at most.

    Attributes
    ----------
    shown : list of int
        Positions of the coefficients drawn, the largest shift of the mean first.

    See Also
    --------
    CoefficientDisplay : Coefficients with confidence intervals.

    Examples
    --------
    >>> import separatrix as sx
    >>> from separatrix.pictures import LaplaceComparisonDisplay
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = sx.BayesianLogisticRegression(prior_scale=2.0).fit(X, [0, 0, 1, 0, 1, 1])
    >>> display = LaplaceComparisonDisplay.from_estimator(model, n_samples=1000, random_state=0)
    >>> [display.comparison.labels[j] for j in display.shown]
    ['x0', 'intercept']
    """

    comparison: PosteriorComparison
    max_shown: int = 20

    title: ClassVar[str] = "Laplace approximation and posterior draws"

    def __post_init__(self) -> None:
        if not self.shown:
            raise InputError("Nothing is drawn: no coefficient varies.")

    @classmethod
    def from_estimator(
        cls, model: Any, *, n_samples: int = 1000, random_state: Any = None, max_shown: int = 20
    ) -> Self:
        """From a fitted model, whose posterior is sampled."""
        samples = model.sample(n_samples, random_state=random_state)
        return cls(model.compare(samples), max_shown)

    @property
    def shown(self) -> list[int]:
        """Positions of the coefficients drawn, the largest shift of the mean first."""
        varies = self.comparison.laplace_std > 0.0
        shift = np.where(varies, np.abs(self.comparison.relative_shift), -1.0)
        order = np.argsort(-shift, kind="stable")
        return [int(j) for j in order[: self.max_shown] if varies[j]]

    @property
    def description(self) -> str:
        """The comparison in words, and what is drawn of it."""
        text = f"95 % intervals of the approximation and of the draws. {self.comparison}"
        total = int((self.comparison.laplace_std > 0.0).sum())
        if total > len(self.shown):
            text += f" The {number(len(self.shown))} of {number(total)} with the largest shift."
        return text

    @property
    def caption(self) -> str:
        """The comparison in words."""
        return str(self.comparison)

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return WIDTH, 1.05 + 0.26 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        c, shown = self.comparison, self.shown
        position = -np.arange(len(shown), dtype=float)
        reference_line(ax, 0.0, horizontal=False)
        pairs = (
            (0.16, BLUE, c.laplace_mean, c.laplace_interval),
            (-0.16, ORANGE, c.sample_mean, c.sample_interval),
        )
        for at, j in zip(position, shown, strict=True):
            for offset, color, mean, interval in pairs:
                ends = (interval[j] - c.laplace_mean[j]) / c.laplace_std[j]
                middle = (mean[j] - c.laplace_mean[j]) / c.laplace_std[j]
                ax.plot(ends, [at + offset] * 2, color=color, linewidth=1.4)
                ax.plot([middle], [at + offset], "o", ms=4.5, mfc=color, mec=color)
        ax.set_yticks(position, [label_text(c.labels[j], 20) for j in shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("standard deviations from the maximum")
        for right, text, color in ((0, "Laplace", BLUE), (54, "draws", ORANGE)):
            annotate(ax, text, (0, 1), (right, 4), "axes fraction", color=color)
