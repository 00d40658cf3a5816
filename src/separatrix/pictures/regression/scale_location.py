"""√|standardised residual| against fitted values: does the noise widen?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import listed, number
from separatrix.pictures.labels import name_points
from separatrix.pictures.regression.residuals import called, standardised
from separatrix.pictures.scatter import MANY, running_mean, scatter, worst
from separatrix.pictures.style import ORANGE, style_axes
from separatrix.rows.block import Floats


@dataclass(eq=False)
class ScaleLocationDisplay(Display):
    """A level running mean says that the noise is of one size over the whole range."""

    fitted: Floats
    residuals: Floats
    rows: Sequence[object] | None = None
    many: int = MANY

    title: ClassVar[str] = "Scale against location"

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, rows: Any = None, many: int = MANY
    ) -> Self:
        """From the truth and what was predicted."""
        fitted = np.asarray(predicted, dtype=float)
        return cls(fitted, np.asarray(y, dtype=float) - fitted, rows, many)

    @property
    def roots(self) -> Floats:
        """√|standardised residual|."""
        return np.asarray(np.sqrt(np.abs(standardised(self.residuals))))

    @property
    def description(self) -> str:
        """The running mean at both ends, the rank correlation, and the worst rows."""
        roots = self.roots
        trend = running_mean(self.fitted, roots)
        names = called(self.rows, roots.size)
        far = listed([f"row {names[i]}" for i in worst(roots)])
        if trend is None:
            return f"Too few rows for a trend in the size of the residuals. Largest: {far}."
        from scipy.stats import spearmanr

        rho = float(spearmanr(self.fitted, roots).statistic)
        verdict = "grow" if rho > 0.15 else "shrink" if rho < -0.15 else "keep their size"
        return (
            f"The residuals {verdict} with the fitted value (rank correlation {number(rho, 2)}): "
            f"the running mean of √|standardised residual| goes from {number(trend[1][0], 2)} to "
            f"{number(trend[1][-1], 2)}. Largest: {far}."
        )

    def _draw(self, ax: Any) -> None:
        roots = self.roots
        scatter(ax, self.fitted, roots, many=self.many)
        trend = running_mean(self.fitted, roots)
        if trend is not None:
            ax.plot(*trend, color=ORANGE)
        top = worst(roots)
        names = called(self.rows, roots.size)
        name_points(ax, self.fitted[top], roots[top], [names[i] for i in top])
        ax.set_ylim(bottom=0)
        style_axes(ax)
        ax.set_xlabel("fitted value")
        ax.set_ylabel("√|standardised residual|")
