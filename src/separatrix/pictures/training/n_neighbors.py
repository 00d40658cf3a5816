"""Leave-one-out error over the number of neighbors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import score_info, score_text
from separatrix.pictures.inputs import require_fitted
from separatrix.pictures.points import fill_band, mark_point
from separatrix.pictures.style import BLUE, label_score_axis, style_axes
from separatrix.rows.block import Floats


@dataclass(eq=False)
class NeighborCountDisplay(Display):
    """Leave-one-out error over the number of neighbors.

    Parameters
    ----------
    n_neighbors : array-like of int, shape (m,)
        Numbers of neighbors.
    errors : array-like of shape (m,)
        Leave-one-out error of each.
    standard_errors : array-like of shape (m,)
        Standard errors of these.
    chosen : int or None, default=None
        The selected number.
    metric : str, default="error"
        "error" for the error rate, or "rmse".

    Attributes
    ----------
    best : int
        Position of the minimum; of ties the largest number.
    within_one_se : tuple of int
        Fewest and most neighbors within one standard error of the minimum.

    See Also
    --------
    ValidationCurveDisplay : Error over the penalty of a linear model.
    DistanceConcentrationDisplay : Whether distances distinguish near from far rows.

    Examples
    --------
    >>> from separatrix.pictures import NeighborCountDisplay
    >>> display = NeighborCountDisplay([1, 2, 3], [0.4, 0.2, 0.25], [0.1, 0.1, 0.1], chosen=2)
    >>> display.within_one_se
    (2, 3)
    """

    n_neighbors: Any
    errors: Floats
    standard_errors: Floats
    chosen: int | None = None
    metric: str = "error"

    title: ClassVar[str] = "Leave-one-out error over the number of neighbors"

    def __post_init__(self) -> None:
        self.n_neighbors = np.asarray(self.n_neighbors, dtype=int).ravel()
        self.errors = np.asarray(self.errors, dtype=float).ravel()
        self.standard_errors = np.asarray(self.standard_errors, dtype=float).ravel()
        m = self.n_neighbors.size
        if not m or not m == self.errors.size == self.standard_errors.size:
            raise InputError(
                f"{self.errors.size} errors and {self.standard_errors.size} standard errors for "
                f"{m} numbers of neighbors."
            )

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a model fitted with ``n_neighbors="auto"`` (``leave_one_out_``)."""
        from sklearn.base import is_classifier

        require_fitted(
            model,
            "leave_one_out_",
            problem=f"{type(model).__name__} did not choose its number of neighbors",
            remedy="Fit with n_neighbors='auto'.",
        )
        found, chosen = model.leave_one_out_, model.n_neighbors_
        if is_classifier(model):
            return cls(found.n_neighbors, found.error, found.standard_error, chosen)
        root = np.sqrt(found.error)
        # √(e ± s) ≈ √e ± s / 2√e
        standard_error = np.divide(
            found.standard_error, 2.0 * root, out=np.zeros_like(root), where=root > 0
        )
        return cls(found.n_neighbors, root, standard_error, chosen, "rmse")

    @property
    def best(self) -> int:
        """Position of the minimum; of ties the largest number."""
        return int(np.flatnonzero(self.errors <= self.errors.min())[-1])

    @property
    def within_one_se(self) -> tuple[int, int]:
        """Fewest and most neighbors within one standard error of the minimum."""
        limit = self.errors[self.best] + self.standard_errors[self.best]
        near = self.n_neighbors[self.errors <= limit]
        return int(near.min()), int(near.max())

    @property
    def description(self) -> str:
        """Both ends, the minimum, the range within one standard error, and the choice."""
        short, first, last = score_info(self.metric).short, self.errors[0], self.errors[-1]
        text = (
            f"Leave-one-out {short}: {score_text(first, self.metric)} with "
            f"{self.n_neighbors[0]} neighbor{'s' if self.n_neighbors[0] > 1 else ''}, "
            f"{score_text(last, self.metric)} with {self.n_neighbors[-1]}; minimum "
            f"{score_text(self.errors[self.best], self.metric)} with {self.n_neighbors[self.best]}."
        )
        if self.within_one_se[0] < self.within_one_se[1]:
            text += (
                f" Within one standard error: {self.within_one_se[0]} to {self.within_one_se[1]}."
            )
        if self.chosen is not None:
            text += f" Chosen: {self.chosen}."
        return text

    def _draw(self, ax: Any) -> None:
        if self.standard_errors.any():
            ends = self.errors - self.standard_errors, self.errors + self.standard_errors
            fill_band(ax, self.n_neighbors, *ends, label="± 1 standard error")
        dots = "." if self.n_neighbors.size < 40 else ""
        ax.plot(self.n_neighbors, self.errors, color=BLUE, marker=dots, label="leave-one-out error")
        if self.chosen is not None:
            at = int(np.argmin(np.abs(self.n_neighbors - self.chosen)))
            mark_point(ax, self.chosen, self.errors[at], f"chosen: {self.chosen}")
        style_axes(ax)
        ax.set_xlabel("number of neighbors")
        label_score_axis(ax.yaxis, score_info(self.metric), direction=False)
        ax.set_ylim(bottom=max(0.0, ax.get_ylim()[0]))
        ax.legend(frameon=False, fontsize=9, loc="best")
