"""Quantiles of the residuals against those of the normal law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.pictures.display import Display
from separatrix.pictures.formatting import listed, number
from separatrix.pictures.labels import name_points
from separatrix.pictures.regression.residuals import called, standardised
from separatrix.pictures.scatter import scatter, worst
from separatrix.pictures.style import MUTED, style_axes
from separatrix.rows.block import Floats

#: A rising curve needs no more points than this; the ends are always drawn whole.
POINTS, ENDS = 1_000, 60


@dataclass(eq=False)
class QuantileQuantileDisplay(Display):
    """Standardised residuals, sorted, against the normal quantiles of their ranks."""

    residuals: Floats
    rows: Sequence[object] | None = None

    title: ClassVar[str] = "Quantiles of the residuals"

    @classmethod
    def from_predictions(cls, y: Any, predicted: Any, *, rows: Any = None) -> Self:
        """From the truth and what was predicted."""
        return cls(np.asarray(y, dtype=float) - np.asarray(predicted, dtype=float), rows)

    @property
    def description(self) -> str:
        """How many lie beyond two and three deviations, against what the normal law expects."""
        z = standardised(self.residuals)
        beyond2, beyond3 = (100 * float(np.mean(np.abs(z) > k)) for k in (2, 3))
        skew = float(np.mean(z**3))
        names = called(self.rows, z.size)
        far = [f"row {names[i]} ({number(z[i], 2)})" for i in worst(np.abs(z))]
        return (
            f"{beyond2:.1f} % of the standardised residuals lie beyond ±2 and {beyond3:.1f} % "
            f"beyond ±3 (a normal law: 4.6 % and 0.3 %); skewness {number(skew, 2)}. "
            f"Farthest out: {listed(far)}."
        )

    def _draw(self, ax: Any) -> None:
        from scipy.stats import norm

        z = standardised(self.residuals)
        order = np.argsort(z, kind="stable")
        expected = norm.ppf((np.arange(z.size) + 0.5) / z.size)
        keep = np.arange(z.size)
        if z.size > POINTS + 2 * ENDS:
            middle = np.linspace(ENDS, z.size - ENDS - 1, POINTS).astype(int)
            keep = np.unique(np.concatenate([keep[:ENDS], middle, keep[-ENDS:]]))
        ends = expected[[0, -1]]
        ax.plot(ends, ends, color=MUTED, linewidth=0.9)
        scatter(ax, expected[keep], z[order][keep])
        ax.margins(0.06)
        top = worst(np.abs(z))
        rank = np.empty(z.size, dtype=int)
        rank[order] = np.arange(z.size)
        names = called(self.rows, z.size)
        name_points(ax, expected[rank[top]], z[top], [names[i] for i in top])
        style_axes(ax)
        ax.set_xlabel("quantile of the normal law")
        ax.set_ylabel("standardised residual")
