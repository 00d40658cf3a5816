"""Regularization path: coefficients over the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.estimators.coefficient_inference import names_of
from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import join_words, number
from separatrix.pictures.inputs import design_deviations, require_fitted
from separatrix.pictures.points import BESIDE, annotate, mark_value, reference_line, spread_labels
from separatrix.pictures.style import MUTED, SERIES, label_text, penalty_axis, style_axes
from separatrix.rows.block import Floats

#: Lines beyond the labeled ones are grey, and at most so many.
BACKGROUND = 60
#: Difference, relative to the largest coefficient, below which two models count as equal.
SAME = 0.01


@dataclass(eq=False)
class RegularizationPathDisplay(Display):
    """Coefficients over the penalty, from strong to weak.

    Parameters
    ----------
    alphas : array-like of shape (m,)
        Penalties; zeros are left out.
    coefs : array-like of shape (m, d)
        Coefficients at each penalty.
    names : tuple of str
        Names of the columns.
    chosen : float or None, default=None
        The selected penalty.
    scale : ndarray of shape (d,) or None, default=None
        Factor of each coefficient, such as the standard deviation of its column.
    reference : ndarray of shape (d,) or None, default=None
        Coefficients of a model without penalty, drawn as points beyond the weak end.
    reference_name : str, default="least squares, no penalty"
        Name of that model.

    See Also
    --------
    ValidationCurveDisplay : Cross-validation error over the penalty.
    CoefficientDisplay : Coefficients with confidence intervals.

    References
    ----------
    J. Friedman, T. Hastie and R. Tibshirani, Regularization paths for generalized linear models
    via coordinate descent, Journal of Statistical Software 33, 2010.

    Examples
    --------
    >>> from separatrix.pictures import RegularizationPathDisplay
    >>> display = RegularizationPathDisplay(
    ...     [0.1, 1.0], [[2.0, -1.0], [1.0, 0.0]], ("age", "dose"), chosen=1.0)
    >>> display.description
    '2 penalties from 1 (strong) to 0.100 (weak); 1 to 2 of 2 coefficients are nonzero. At the
    chosen penalty 1, 1 are nonzero; the largest are age 1 and dose 0.'
    """

    alphas: Floats
    coefs: Floats
    names: tuple[str, ...]
    chosen: float | None = None
    scale: Floats | None = None
    reference: Floats | None = None
    reference_name: str = "least squares, no penalty"

    title: ClassVar[str] = "Regularization path"

    def __post_init__(self) -> None:
        alphas, coefs = np.asarray(self.alphas, dtype=float), np.asarray(self.coefs, dtype=float)
        if coefs.shape != (alphas.size, len(self.names)):
            raise InputError(
                f"coefs has shape {coefs.shape}; {alphas.size} penalties and {len(self.names)} "
                f"names ask for {(alphas.size, len(self.names))}."
            )
        if self.reference is not None and np.shape(self.reference) != (len(self.names),):
            raise InputError(f"reference must have {len(self.names)} coefficients, one per name.")
        order = np.argsort(alphas)[np.sort(alphas) > 0]
        self.alphas, self.coefs = alphas[order], coefs[order]

    @classmethod
    def from_estimator(cls, model: Any, X: Any = None) -> Self:
        """From a model with ``alphas_``, ``coefs_`` and ``alpha_``; ``X`` gives the scale.

        ``X`` is the table of the fit, which is encoded as it was then, or the design itself. Of a
        model with ``Cs_`` and ``C_``, such as ``LogisticPath``, the penalty is 1/C.
        """
        alphas, chosen = _penalties(model)
        coefs = np.squeeze(np.asarray(model.coefs_, dtype=float))
        if coefs.ndim == 1:
            coefs = coefs.reshape(alphas.size, -1)
        if coefs.ndim != 2:
            raise InputError("The paths of several outputs cannot be drawn in one plot.")
        if coefs.shape[0] != alphas.size:
            coefs = coefs.T
        scale = None if X is None else design_deviations(model, X, coefs.shape[1])
        return cls(
            alphas,
            coefs,
            names_of(model, coefs.shape[1]),
            chosen,
            scale,
        )

    @property
    def lines(self) -> Floats:
        """Scaled coefficients."""
        return np.asarray(self.coefs * self.unit)

    @property
    def unit(self) -> Floats:
        """Factor of each coefficient."""
        return np.ones(len(self.names)) if self.scale is None else np.asarray(self.scale)

    @property
    def reference_points(self) -> Floats | None:
        """Scaled coefficients of the reference model."""
        return None if self.reference is None else np.asarray(self.reference * self.unit)

    @property
    def position(self) -> int:
        """Position of the chosen penalty, or of the weakest."""
        if self.chosen is None or self.chosen <= 0:
            return 0
        return int(np.argmin(np.abs(np.log(self.alphas / self.chosen))))

    @property
    def labeled(self) -> list[int]:
        """The columns with the largest coefficients at the chosen penalty."""
        values = (
            self.lines[self.position] if self.reference_points is None else self.reference_points
        )
        size = np.abs(values) + 1e-9 * np.abs(self.lines).max(axis=0)
        top = np.argsort(-size, kind="stable")[: len(SERIES)]
        return [int(j) for j in top if size[j] > 0]

    @property
    def description(self) -> str:
        """The range of penalties, nonzero coefficients, and the largest ones when chosen."""
        nonzero = np.count_nonzero(self.coefs, axis=1)
        text = (
            f"{self.alphas.size} penalties from {number(self.alphas[-1], 3)} (strong) to "
            f"{number(self.alphas[0], 3)} (weak); "
        )
        all_in = bool(nonzero.min() == len(self.names))
        if all_in:
            text += "no coefficient is exactly zero."
        else:
            span = f"{int(nonzero[-1])} to {int(nonzero[0])}"
            text += f"{span} of {len(self.names)} coefficients are nonzero."
        if self.reference_points is not None:
            return f"{text} {self._compared(self.reference_points)}"
        if self.chosen is None:
            return text
        left = "" if all_in else f"{int(nonzero[self.position])} are nonzero"
        largest = self._largest(self.lines[self.position])
        rest = (left + largest if left else largest.removeprefix("; ")) or "all are zero"
        return f"{text} At the chosen penalty {number(self.chosen, 3)}, {rest}."

    def _compared(self, points: Floats) -> str:
        """How far the reference model is from the weak end of the path."""
        apart = np.abs(points - self.lines[0])
        if apart.max(initial=0) <= SAME * np.abs(points).max(initial=0):
            return (
                f"The chosen model ({self.reference_name}) is the weak end of the path"
                f"{self._largest(points)}. The path is that of ridge regression."
            )
        most = int(np.argmax(apart))
        return (
            f"The path is that of ridge regression; the chosen model ({self.reference_name}) is "
            f"not on it{self._largest(points)}. It differs most from the weak end in "
            f"{self.names[most]}, by {number(apart[most], 2)}."
        )

    def _largest(self, values: Floats) -> str:
        lead = [f"{self.names[j]} {number(values[j], 3)}" for j in self.labeled[:3]]
        return (
            f"; the largest {'is' if len(lead) == 1 else 'are'} {join_words(lead)}" if lead else ""
        )

    def _draw(self, ax: Any) -> None:
        lines, labeled = self.lines, self.labeled
        reference_line(ax, 0.0)
        rest = [j for j in np.argsort(-np.abs(lines).max(axis=0)) if j not in labeled][:BACKGROUND]
        if rest:
            ax.plot(self.alphas, lines[:, rest], color=MUTED, alpha=0.4, linewidth=0.9, zorder=1)
        for color, j in zip(SERIES, labeled, strict=False):
            ax.plot(self.alphas, lines[:, j], color=color)
        penalty_axis(ax)
        style_axes(ax, grid=None)
        if self.reference_points is not None:
            self._draw_reference(ax, self.reference_points)
        elif self.chosen is not None and self.chosen > 0:
            mark_value(ax, self.chosen, "chosen")
        self._label(ax, labeled)
        ax.set_ylabel("coefficient" if self.scale is None else "standardized coefficient")

    def _draw_reference(self, ax: Any, points: Floats) -> None:
        """The model without penalty, as points beyond the weak end, joined to their lines."""
        weak = float(self.alphas[0])
        past = weak * (weak / self.alphas[-1]) ** 0.06
        colored = dict(zip(self.labeled, SERIES, strict=False))
        for j, value in enumerate(points):
            color = colored.get(j, MUTED)
            if j not in colored and self.lines.shape[1] > BACKGROUND:
                continue
            look = {"color": color, "zorder": 2 if j in colored else 1}
            ax.plot([weak, past], [self.lines[0, j], value], linewidth=0.8, **look)
            ax.plot([past], [value], "o", ms=4.5 if j in colored else 3, mew=0, **look)
        mark_value(ax, past, f"chosen: {self.reference_name}", ha="right")
        left, _ = ax.get_xlim()
        # A penalty of zero is not on a logarithmic axis: no tick beyond the weak end.
        ticks = [tick for tick in ax.get_xticks() if weak <= tick <= left]
        ax.set_xticks(ticks[:: 2 if len(ticks) > 6 else 1])
        ax.set_xlim(left, past * (weak / self.alphas[-1]) ** 0.02)

    def _label(self, ax: Any, labeled: list[int]) -> None:
        """The name of each colored line at its right end, moved apart where they would overlap."""
        low, high = ax.get_ylim()
        ends = (self.lines[0] if self.reference_points is None else self.reference_points)[labeled]
        for color, j, y in zip(
            SERIES, labeled, spread_labels(ends, 0.062 * (high - low)), strict=False
        ):
            style = {"va": "center", "color": color, "annotation_clip": False}
            annotate(ax, label_text(self.names[j], 18), (1, y), (5, 0), BESIDE, **style)


def _penalties(model: Any) -> tuple[Floats, float]:
    """The penalties of a path, and the chosen one."""
    if hasattr(model, "Cs_") and hasattr(model, "coefs_"):
        return 1.0 / np.ravel(model.Cs_), 1.0 / float(np.ravel(model.C_)[0])
    problem = f"{type(model).__name__} stores no regularization path"
    require_fitted(model, "alphas_", "coefs_", "alpha_", problem=problem)
    return np.ravel(model.alphas_), float(np.ravel(model.alpha_)[0])
