"""Validation curve: cross-validation error over the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.fitted import require_fitted
from separatrix.pictures.formatting import number
from separatrix.pictures.points import fill_band, mark_point, mark_value
from separatrix.pictures.style import BLUE, penalty_axis, style_axes
from separatrix.rows.block import Floats

#: Errors of more than so many times the minimum are cut off.
TALLEST = 3.0


@dataclass(eq=False)
class ValidationCurveDisplay(Display):
    """Cross-validation error over the penalty, with a band of one standard error.

    Drawn as root mean squared error over the folds.

    Parameters
    ----------
    alphas : array-like of shape (m,)
        Penalties; zeros are left out.
    errors : array-like of shape (m,) or (m, folds)
        Mean squared error of each fold at each penalty.
    chosen : float or None, default=None
        The selected penalty.

    Attributes
    ----------
    mean : ndarray of shape (m,)
        Mean squared error at each penalty.
    standard_error : ndarray of shape (m,)
        Standard error of that mean over the folds; 0 for one fold.
    best : int
        Position of the minimum; of ties the strongest penalty.

    See Also
    --------
    RegularizationPathDisplay : Coefficients over the penalty.
    SVMPathDisplay : Support vectors and score over C.

    Examples
    --------
    >>> from separatrix.pictures import ValidationCurveDisplay
    >>> display = ValidationCurveDisplay([0.1, 1.0, 10.0], [[4.0], [1.0], [9.0]], chosen=1.0)
    >>> display.description
    'The minimum cross-validation RMSE is 1, at the chosen penalty 1.'
    """

    alphas: Floats
    errors: Floats
    chosen: float | None = None

    title: ClassVar[str] = "Validation curve over the penalty"

    def __post_init__(self) -> None:
        alphas, errors = np.asarray(self.alphas, dtype=float), np.asarray(self.errors, dtype=float)
        errors = errors.reshape(len(errors), -1)
        if len(errors) != alphas.size or not (alphas > 0).any():
            raise InputError(
                f"errors has {len(errors)} rows for {alphas.size} penalties.",
                remedy="Give a row of errors for each penalty; one above zero at least.",
            )
        order = np.argsort(alphas)[np.sort(alphas) > 0]
        self.alphas, self.errors = alphas[order], errors[order]

    @classmethod
    def from_estimator(cls, model: Any) -> Self:
        """From a fitted RidgeCV or LassoCV: ``alphas_``, ``mse_path_`` and ``alpha_``."""
        require_fitted(
            model,
            "alphas_",
            "mse_path_",
            "alpha_",
            problem=f"{type(model).__name__} stores no errors over the penalty",
            remedy="RidgeCV and LassoCV do.",
        )
        return cls(model.alphas_, model.mse_path_, float(model.alpha_))

    @property
    def mean(self) -> Floats:
        """Mean squared error at each penalty."""
        return np.asarray(self.errors.mean(axis=1))

    @property
    def standard_error(self) -> Floats:
        """Standard error s/√k of that mean over k folds; 0 for one fold."""
        k = self.errors.shape[1]
        if k < 2:
            return np.zeros(self.alphas.size)
        return np.asarray(self.errors.std(axis=1, ddof=1) / np.sqrt(k))

    @property
    def best(self) -> int:
        """Position of the minimum; of ties the strongest penalty."""
        mean = self.mean
        return int(np.flatnonzero(mean <= mean.min())[-1])

    @property
    def within_one_se(self) -> tuple[float, float]:
        """Weakest and strongest penalty within one standard error of the minimum."""
        near = self.alphas[self.mean <= self.mean[self.best] + self.standard_error[self.best]]
        return float(near[0]), float(near[-1])

    @property
    def description(self) -> str:
        """The minimum, the chosen penalty, and the range within one standard error."""
        least = float(self.alphas[self.best])
        text = f"The minimum cross-validation RMSE is {self._error(self.best)}"
        if self.chosen is None:
            text += f", at penalty {number(least, 3)}."
        elif np.isclose(self.chosen, least, rtol=1e-6):
            text += f", at the chosen penalty {number(least, 3)}."
        else:
            at = int(np.argmin(np.abs(self.alphas - self.chosen)))
            text += (
                f", at penalty {number(least, 3)}; at the chosen one, {number(self.chosen, 3)}, "
                f"it is {self._error(at)}."
            )
        if self.errors.shape[1] < 2:
            return text
        low, high = (number(end, 2) for end in self.within_one_se)
        flat = self.within_one_se[0] == self.alphas[0]
        which = f"Penalties up to {high} are" if flat else f"Penalties {low} to {high} are"
        return f"{text} {which} within one standard error ({self.errors.shape[1]} folds)."

    def _error(self, at: int) -> str:
        return number(float(np.sqrt(self.mean[at])), 4)

    def _draw(self, ax: Any) -> None:
        mean, spread = self.mean, self.standard_error
        root = np.sqrt(mean)
        if spread.any():
            ends = np.sqrt(np.maximum(mean - spread, 0.0)), np.sqrt(mean + spread)
            fill_band(ax, self.alphas, *ends, label="± 1 standard error")
        ax.plot(self.alphas, root, color=BLUE, label=f"mean over {self.errors.shape[1]} folds")
        at = self.alphas[self.best], root[self.best]
        mark_point(ax, *at, f"minimum {self._error(self.best)}")
        penalty_axis(ax)
        if root.max() > TALLEST * root.min() > 0:  # keeps the minimum visible
            ax.set_ylim(0, TALLEST * root.min())
        style_axes(ax)
        if self.chosen is not None and self.chosen > 0:
            mark_value(ax, self.chosen, "chosen")
        ax.set_ylabel("cross-validation RMSE")
        ax.legend(frameon=False, fontsize=9, loc="best")
