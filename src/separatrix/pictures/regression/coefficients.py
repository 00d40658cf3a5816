"""Coefficients with confidence intervals, standardized, with the raw ones beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.coefficient_inference import inference
from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, number, plural
from separatrix.pictures.inputs import design_deviations
from separatrix.pictures.points import annotate, reference_line
from separatrix.pictures.style import BLUE, MUTED, PAPER, WIDTH, label_text, style_axes
from separatrix.rows.block import Floats


@dataclass(eq=False)
class CoefficientDisplay(Display):
    """Coefficients with confidence intervals, in decreasing order of magnitude.

    Parameters
    ----------
    names : tuple of str
        Names of the columns.
    estimates : ndarray of shape (k,)
        Coefficients in raw units.
    intervals : ndarray of shape (k, 2) or None, default=None
        Confidence intervals in raw units.
    scale : ndarray of shape (k,) or None, default=None
        Standard deviation of each column: coefficients are multiplied by it, the raw ones stand
        beside them. None draws raw coefficients.
    max_shown : int, default=20
        Number of coefficients drawn at most.
    axis_label : str
        Label of the axis of scaled coefficients.

    Attributes
    ----------
    shown : list of int
        Positions of the coefficients drawn, the largest first.
    excludes_zero : ndarray of bool
        Where the interval excludes zero; without intervals, where the estimate is not zero.

    See Also
    --------
    RegularizationPathDisplay : Coefficients over the penalty.
    LeverageDisplay : Rows that influence the coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.pictures import CoefficientDisplay
    >>> intervals = np.array([[0.5, 1.5], [-3.0, 1.0]])
    >>> display = CoefficientDisplay(("age", "dose"), np.array([1.0, -1.0]), intervals)
    >>> display.description
    'Coefficients. Largest: age 1 and dose −1. 1 of 2 have a 95 % interval that excludes zero.'
    """

    names: tuple[str, ...]
    estimates: Floats
    intervals: Floats | None = None
    scale: Floats | None = None
    max_shown: int = 20
    axis_label: str = "change of the prediction per standard deviation"

    title: ClassVar[str] = "Coefficients"

    def __post_init__(self) -> None:
        if not self.estimates.size:
            raise InputError("Coefficients are not drawn: none of them has a finite estimate.")

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None, *, max_shown: int = 20) -> Self:
        """From a fitted linear model; with its table or design ``X`` they are standardized."""
        found = inference(model)
        if found is None:
            raise InputError(
                f"{type(model).__name__} has no single coefficient vector to draw.",
                remedy="Build CoefficientDisplay(names, estimates) for one output at a time.",
            )
        scale = None if X is None else design_deviations(model, X, found.estimates.size)
        axis = f"change of the {_scored(model)} per standard deviation"
        return cls(found.names, found.estimates, found.intervals, scale, max_shown, axis)

    @property
    def unit(self) -> Floats:
        """Factor of each raw coefficient."""
        return np.ones(self.estimates.size) if self.scale is None else np.asarray(self.scale)

    @property
    def shown(self) -> list[int]:
        """Positions of the coefficients drawn, the largest first."""
        size = np.abs(self.estimates * self.unit)
        return [int(j) for j in np.argsort(-size, kind="stable")[: self.max_shown]]

    @property
    def excludes_zero(self) -> NDArray[np.bool_]:
        """Where the interval excludes zero; without intervals, where the estimate is not zero."""
        if self.intervals is None:
            return np.asarray(self.estimates != 0)
        return np.asarray((self.intervals[:, 0] > 0) | (self.intervals[:, 1] < 0))

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        unit = "" if self.scale is None else f" ({self.axis_label})"
        return f"Coefficients{unit}. {self.caption}"

    @property
    def caption(self) -> str:
        """The three largest, how many differ from zero, and how many are drawn."""
        top = [
            f"{self.names[j]} {number(self.estimates[j] * self.unit[j], 3)}" for j in self.shown[:3]
        ]
        text = f"Largest: {join_words(top)}."
        total = self.estimates.size
        if self.intervals is not None:
            text += (
                f" {int(self.excludes_zero.sum())} of {total} have a 95 % interval that excludes "
                "zero."
            )
        elif not self.excludes_zero.all():
            text += f" {plural(int(total - self.excludes_zero.sum()), 'coefficient')} exactly zero."
        if total > len(self.shown):
            text += f" The {len(self.shown)} largest of {total} are shown."
        return text

    @property
    def size(self) -> tuple[float, float]:
        """As tall as the list is long."""
        return WIDTH, 0.95 + 0.2 * max(4, len(self.shown))

    def _draw(self, ax: Any) -> None:
        shown, unit = self.shown, self.unit
        position = -np.arange(len(shown), dtype=float)
        reference_line(ax, 0.0, horizontal=False)
        for at, j in zip(position, shown, strict=True):
            color = BLUE if self.excludes_zero[j] else MUTED
            if self.intervals is not None:
                ax.plot(self.intervals[j] * unit[j], [at, at], color=color, linewidth=1.4)
            fill = color if self.excludes_zero[j] else PAPER
            value = self.estimates[j] * unit[j]
            ax.plot([value], [at], "o", ms=5, mfc=fill, mec=color, mew=1.2)
        ax.set_yticks(position, [label_text(self.names[j], 20) for j in shown])
        ax.set_ylim(position[-1] - 0.7, 0.7)
        style_axes(ax, grid="x")
        ax.spines["left"].set_visible(False)
        if self.scale is None:
            ax.set_xlabel("coefficient")
            return
        ax.set_xlabel(self.axis_label)
        raw = ax.secondary_yaxis("right")
        raw.set_yticks(position, [number(self.estimates[j], 3) for j in shown])
        raw.tick_params(length=0, labelcolor=MUTED)
        raw.spines["right"].set_visible(False)
        raw.patch.set_visible(False)
        annotate(ax, "per unit", (1, 1), (6, 3), "axes fraction", color=MUTED)


def _scored(model: Any) -> str:
    """What a coefficient changes: of a classifier that models log odds, those."""
    if not hasattr(model, "classes_"):
        return "prediction"
    return "log odds" if hasattr(model, "predict_log_proba") else "score"
