"""Residuals against fitted values: curvature, widening and single bad rows show here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, listed, number
from separatrix.pictures.labels import name_points
from separatrix.pictures.scatter import MANY, rule, running_mean, scatter, worst
from separatrix.pictures.style import ORANGE, style_axes
from separatrix.rows.block import Floats


@dataclass(eq=False)
class ResidualDisplay(Display):
    """``residuals`` = truth − ``fitted``; ``rows`` are the names by which rows are called."""

    fitted: Floats
    residuals: Floats
    rows: Sequence[object] | None = None
    many: int = MANY

    title: ClassVar[str] = "Residuals against fitted values"

    @classmethod
    def from_predictions(
        cls, y: Any, predicted: Any, *, rows: Any = None, many: int = MANY
    ) -> Self:
        """From the truth and what was predicted."""
        truth, fitted = np.asarray(y, dtype=float), np.asarray(predicted, dtype=float)
        if truth.shape != fitted.shape or truth.ndim != 1:
            raise InputError(f"y has shape {truth.shape}, the predictions {fitted.shape}.")
        return cls(fitted, truth - fitted, rows, many)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, many: int = MANY) -> Self:
        """Of a fitted regressor on some rows."""
        return cls.from_predictions(y, model.predict(X), many=many)

    @property
    def description(self) -> str:
        """Middle, spread, trend and the three worst rows."""
        names = called(self.rows, self.residuals.size)
        far = [
            f"row {names[i]} ({number(self.residuals[i], 3)})"
            for i in worst(np.abs(self.residuals))
        ]
        text = (
            f"{counted(self.residuals.size, 'residual')} with mean "
            f"{number(_tidy(self.residuals), 3)} and standard deviation "
            f"{number(float(self.residuals.std()), 3)}."
        )
        trend = running_mean(self.fitted, self.residuals)
        if trend is not None:
            low, high = float(trend[1].min()), float(trend[1].max())
            text += f" Their running mean moves between {number(low, 2)} and {number(high, 2)}."
        return f"{text} Farthest off: {listed(far)}."

    def _draw(self, ax: Any) -> None:
        rule(ax, 0.0)
        scatter(ax, self.fitted, self.residuals, many=self.many)
        trend = running_mean(self.fitted, self.residuals)
        if trend is not None:
            ax.plot(*trend, color=ORANGE)
        top = worst(np.abs(self.residuals))
        names = called(self.rows, self.residuals.size)
        name_points(ax, self.fitted[top], self.residuals[top], [names[i] for i in top])
        style_axes(ax)
        ax.set_xlabel("fitted value")
        ax.set_ylabel("residual")


def called(rows: Sequence[object] | None, count: int) -> Sequence[object]:
    """Names of the rows; their positions where they have none."""
    return range(count) if rows is None or len(rows) != count else rows


def standardised(residuals: Floats) -> Floats:
    """Residuals over their standard deviation; zeros where all of them are equal."""
    spread = float(residuals.std())
    return np.asarray(residuals / spread) if spread > 0 else np.zeros_like(residuals)


def _tidy(residuals: Floats) -> float:
    """The mean, or 0 where it is rounding only."""
    mean = float(residuals.mean())
    return 0.0 if abs(mean) < 1e-9 * float(np.abs(residuals).max(initial=0.0)) else mean
