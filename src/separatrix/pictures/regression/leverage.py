"""Standardized residuals against leverage, with contours of Cook's distance.

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
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.largest import largest_rows, mark_largest
from separatrix.pictures.points import (
    MAX_POINTS,
    annotate,
    reference_line,
    scatter,
)
from separatrix.pictures.style import MUTED, ORANGE, style_axes
from separatrix.rows.block import Floats

LEVELS = (0.5, 1.0)


@dataclass(eq=False)
class LeverageDisplay(Display):
    """Standardized residuals against leverage, with contours of Cook's distance.

    Dᵢ = rᵢ² hᵢ / (p (1 − hᵢ)). Rows of leverage 1 are fitted exactly and have no standardized
    residual: they are not drawn, and the description counts them.

    Parameters
    ----------
    leverage : ndarray of shape (n,)
        Diagonal h of the hat matrix.
    residuals : ndarray of shape (n,)
        Standardized residuals r.
    n_parameters : int
        Number p of fitted coefficients.
    row_labels : sequence or None, default=None
        Names of the rows; their positions if None.
    max_points : int, default=5000
        Above so many points their density is drawn.

    Attributes
    ----------
    cooks_distance : ndarray of shape (n,)
        Cook's distance of each row; NaN where the leverage is 1.

    See Also
    --------
    ResidualDisplay : Residuals against fitted values.
    QuantileQuantileDisplay : Residuals against normal quantiles.

    References
    ----------
    R. D. Cook, Detection of influential observation in linear regression, 1977.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import LeverageDisplay
    >>> x = np.array([[0.0], [1.0], [2.0], [5.0]])
    >>> display = LeverageDisplay.from_design(x, np.array([0.3, -0.2, -0.3, 0.2]))
    >>> display.leverage.round(3).tolist()
    [0.536, 0.321, 0.25, 0.893]
    >>> int(display.cooks_distance.argmax())
    3
    """

    leverage: Floats
    residuals: Floats
    n_parameters: int
    row_labels: Sequence[object] | None = None
    max_points: int = MAX_POINTS

    title: ClassVar[str] = "Residuals against leverage"

    @classmethod
    def from_estimator(
        cls, model: Any, *, row_labels: Any = None, max_points: int = MAX_POINTS
    ) -> Self:
        """From a fitted least-squares model that stores its training rows."""
        found = inference(model)
        if found is None or found.leverage is None or found.residuals is None:
            reason = "" if found is None else found.reason
            raise InputError(f"{type(model).__name__} gives no leverage.", remedy=reason or None)
        fit = found.residuals, found.leverage, found.sigma
        return cls.from_fit(*fit, row_labels=row_labels, max_points=max_points)

    @classmethod
    def from_fit(
        cls,
        residuals: Floats,
        leverage: Floats,
        sigma: float | None = None,
        n_parameters: int | None = None,
        *,
        row_labels: Any = None,
        max_points: int = MAX_POINTS,
    ) -> Self:
        """From raw residuals, each divided by its own standard deviation σ√(1 − h).

        The hat matrix is a projection: its trace Σh is its rank p.
        """
        h = np.clip(leverage, 0.0, 1.0)
        if n_parameters is None:
            n_parameters = max(1, round(float(h.sum())))
        if sigma is None:
            sigma = float(np.sqrt(np.sum(residuals**2) / max(residuals.size - n_parameters, 1)))
        own = sigma * np.sqrt(1 - h)
        exact = (1 - h < 1e-12) | (own == 0)
        r = np.divide(residuals, own, out=np.full(h.size, np.nan), where=~exact)
        return cls(h, r, n_parameters, row_labels, max_points)

    @classmethod
    def from_design(
        cls,
        x: Any,
        residuals: Any,
        *,
        w: Any = None,
        row_labels: Any = None,
        max_points: int = MAX_POINTS,
    ) -> Self:
        """From the design matrix and the residuals of a least-squares fit with an intercept.

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
        return cls.from_fit(e * root, h, None, rank, row_labels=row_labels, max_points=max_points)

    @property
    def cooks_distance(self) -> Floats:
        """Cook's distance of each row; NaN where the leverage is 1."""
        h, r = self.leverage, self.residuals
        defined = np.isfinite(r) & (h < 1)
        cook = np.full(h.size, np.nan)
        cook[defined] = r[defined] ** 2 * h[defined] / (self.n_parameters * (1 - h[defined]))
        return cook

    @property
    def description(self) -> str:
        """Rows beyond a Cook's distance of ½, the most influential rows, the largest leverage."""
        cook = self.cooks_distance
        exact = int(np.sum(~np.isfinite(cook)))
        beyond = int(np.sum(cook > LEVELS[0]))
        h = self.leverage
        text = (
            f"{plural(beyond, 'row')} of {cook.size:,} beyond a Cook's distance of 0.5. "
            f"Most influential: {largest_rows(cook, self.row_labels, 2)}. Largest leverage "
            f"{number(float(h.max()), 2)}, mean {number(float(h.mean()), 2)}."
        )
        return text + (f" {plural(exact, 'row')} with leverage 1 not shown." if exact else "")

    def _draw(self, ax: Any) -> None:
        cook = self.cooks_distance
        defined = np.isfinite(cook)
        reference_line(ax, 0.0)
        scatter(ax, self.leverage[defined], self.residuals[defined], max_points=self.max_points)
        ax.margins(x=0.08, y=0.1)
        ax.set_xlim(left=0)
        mark_largest(ax, self.leverage, self.residuals, cook, self.row_labels)
        ax.set_xlim(ax.get_xlim())
        ax.set_ylim(ax.get_ylim())
        self._contours(ax)
        style_axes(ax)
        ax.set_xlabel("leverage")
        ax.set_ylabel("standardized residual")

    def _contours(self, ax: Any) -> None:
        """Curves of equal Cook's distance, labeled at the right."""
        right, high = ax.get_xlim()[1], ax.get_ylim()[1]
        h = np.linspace(max(right * 1e-3, 1e-9), min(right, 1 - 1e-9), 200)
        for level, dash in zip(LEVELS, ((0, (4, 3)), "solid"), strict=True):
            r = np.sqrt(level * self.n_parameters * (1 - h) / h)
            for sign in (1, -1):
                ax.plot(h, sign * r, color=ORANGE, linewidth=1.0, linestyle=dash)
            inside = np.flatnonzero(r < high)
            if inside.size:
                style = {"va": "center", "color": MUTED, "annotation_clip": False}
                annotate(ax, f"Cook {level:g}", (h[-1], r[-1]), (3, 0), **style)
