"""Standardised residuals against leverage, with the contours of Cook's distance.

Dᵢ = rᵢ² hᵢ / (p (1 − hᵢ)),     rᵢ = eᵢ / (σ √(1 − hᵢ)):  a contour is r = ±√(D p (1 − h) / h)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.estimators.coefficient_inference import inference
from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, listed, number
from separatrix.pictures.labels import name_points
from separatrix.pictures.regression.residuals import called
from separatrix.pictures.scatter import MANY, rule, scatter, worst
from separatrix.pictures.style import MUTED, ORANGE, style_axes
from separatrix.rows.block import Floats

LEVELS = (0.5, 1.0)


@dataclass(eq=False)
class LeverageDisplay(Display):
    """``residuals`` are standardised; ``parameters`` is the number p of fitted coefficients.

    Rows of leverage 1 are fitted exactly whatever they say: they have no standardised residual,
    are left out of the picture, and counted in words.
    """

    leverage: Floats
    residuals: Floats
    parameters: int
    rows: Sequence[object] | None = None
    many: int = MANY

    title: ClassVar[str] = "Residuals against leverage"

    @classmethod
    def from_estimator(cls, model: Any, *, rows: Any = None, many: int = MANY) -> Self:
        """Of a least-squares model that still has its training rows."""
        found = inference(model)
        if found is None or found.leverage is None or found.residuals is None:
            reason = "" if found is None else found.reason
            raise InputError(f"{type(model).__name__} gives no leverage.", remedy=reason or None)
        return cls.from_fit(found.residuals, found.leverage, found.sigma, rows=rows, many=many)

    @classmethod
    def from_fit(
        cls,
        residuals: Floats,
        leverage: Floats,
        sigma: float | None = None,
        parameters: int | None = None,
        *,
        rows: Any = None,
        many: int = MANY,
    ) -> Self:
        """From raw residuals: each is divided by its own standard deviation σ√(1 − h).

        The leverages are the diagonal of a projection: those of all rows add up to its rank p.
        """
        h = np.clip(leverage, 0.0, 1.0)
        if parameters is None:
            parameters = max(1, round(float(h.sum())))
        if sigma is None:
            sigma = float(np.sqrt(np.sum(residuals**2) / max(residuals.size - parameters, 1)))
        own = sigma * np.sqrt(1 - h)
        exact = (1 - h < 1e-12) | (own == 0)
        r = np.divide(residuals, own, out=np.full(h.size, np.nan), where=~exact)
        return cls(h, r, parameters, rows, many)

    @classmethod
    def from_design(
        cls, x: Any, residuals: Any, *, w: Any = None, rows: Any = None, many: int = MANY
    ) -> Self:
        """From the design and the residuals of a least-squares fit with an intercept.

        The leverages are the squared row norms of an orthonormal basis of [1 x].
        """
        from scipy.linalg import qr

        e = np.asarray(residuals, dtype=float)
        root = np.ones(e.size) if w is None else np.sqrt(np.asarray(w, dtype=float))
        design = np.column_stack([np.ones(e.size), np.asarray(x, dtype=float)])
        size = np.linalg.norm(design, axis=0)
        design = design / np.where(size > 0, size, 1.0) * root[:, None]
        q, r, _ = qr(design, mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(r))
        rank = int(np.sum(diagonal > 1e-11 * diagonal.max(initial=0.0)))
        h = np.sum(q[:, :rank] ** 2, axis=1)
        return cls.from_fit(e * root, h, None, rank, rows=rows, many=many)

    @property
    def cooks_distance(self) -> Floats:
        """Dᵢ; NaN for a row of leverage 1."""
        h, r = self.leverage, self.residuals
        seen = np.isfinite(r) & (h < 1)
        cook = np.full(h.size, np.nan)
        cook[seen] = r[seen] ** 2 * h[seen] / (self.parameters * (1 - h[seen]))
        return cook

    @property
    def description(self) -> str:
        """The worst rows by Cook's distance, how many are past ½, the largest leverage."""
        cook = self.cooks_distance
        names = called(self.rows, cook.size)
        far = [f"row {names[i]} ({number(cook[i], 2)})" for i in worst(cook)]
        exact = int(np.sum(~np.isfinite(cook)))
        past = int(np.sum(cook > LEVELS[0]))
        h = self.leverage
        text = (
            f"{counted(past, 'row')} of {cook.size:,} past a Cook's distance of 0.5. "
            f"The most influential: {listed(far)}. Largest leverage "
            f"{number(float(h.max()), 2)}, mean {number(float(h.mean()), 2)}."
        )
        return text + (f" {counted(exact, 'row')} with leverage 1 not shown." if exact else "")

    def _draw(self, ax: Any) -> None:
        cook = self.cooks_distance
        seen = np.isfinite(cook)
        rule(ax, 0.0)
        scatter(ax, self.leverage[seen], self.residuals[seen], many=self.many)
        ax.margins(x=0.08, y=0.1)
        ax.set_xlim(left=0)
        top = worst(cook)
        names = called(self.rows, cook.size)
        name_points(ax, self.leverage[top], self.residuals[top], [names[i] for i in top])
        ax.set_xlim(ax.get_xlim())
        ax.set_ylim(ax.get_ylim())
        self._contours(ax)
        style_axes(ax)
        ax.set_xlabel("leverage")
        ax.set_ylabel("standardised residual")

    def _contours(self, ax: Any) -> None:
        """Curves of equal influence, named where they enter the picture."""
        right, high = ax.get_xlim()[1], ax.get_ylim()[1]
        h = np.linspace(max(right * 1e-3, 1e-9), min(right, 1 - 1e-9), 200)
        for level, dash in zip(LEVELS, ((0, (4, 3)), "solid"), strict=True):
            r = np.sqrt(level * self.parameters * (1 - h) / h)
            for sign in (1, -1):
                ax.plot(h, sign * r, color=ORANGE, linewidth=1.0, linestyle=dash)
            inside = np.flatnonzero(r < high)
            if inside.size:
                ax.annotate(
                    f"Cook {level:g}",
                    (h[-1], r[-1]),
                    xytext=(3, 0),
                    textcoords="offset points",
                    va="center",
                    annotation_clip=False,
                    fontsize=8.5,
                    color=MUTED,
                )
