"""Error on rows left out over the whole path of the penalty: where it is least, what was chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number
from separatrix.pictures.style import BLUE, ORANGE, PAPER, log_ticks, style_axes
from separatrix.pictures.training.path import mark_penalty
from separatrix.rows.block import Floats

#: An error more than so many times the least one is above the picture.
TALLEST = 3.0


@dataclass(eq=False)
class ValidationCurveDisplay(Display):
    """Mean squared errors (penalties x folds), drawn as the root of their mean over the folds.

    The band is one standard error of that mean to either side; one fold alone has none.
    """

    alphas: Floats
    errors: Floats
    chosen: float | None = None

    title: ClassVar[str] = "Error over the penalty"

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
        """Of a model that tuned itself: ``alphas_``, ``mse_path_`` and ``alpha_``."""
        errors = getattr(model, "mse_path_", None)
        if errors is None:
            raise InputError(
                f"{type(model).__name__} keeps no errors by penalty (mse_path_).",
                remedy="RidgeCV and LassoCV do.",
            )
        return cls(model.alphas_, errors, float(model.alpha_))

    @property
    def mean(self) -> Floats:
        """The mean squared error at each penalty."""
        return np.asarray(self.errors.mean(axis=1))

    @property
    def standard_error(self) -> Floats:
        """s/√k of that mean over the k folds; 0 for one fold."""
        k = self.errors.shape[1]
        if k < 2:
            return np.zeros(self.alphas.size)
        return np.asarray(self.errors.std(axis=1, ddof=1) / np.sqrt(k))

    @property
    def best(self) -> int:
        """Position of the least error; of equals the strongest penalty."""
        mean = self.mean
        return int(np.flatnonzero(mean <= mean.min())[-1])

    @property
    def near(self) -> tuple[float, float]:
        """The weakest and the strongest penalty within one standard error of the least error."""
        near = self.alphas[self.mean <= self.mean[self.best] + self.standard_error[self.best]]
        return float(near[0]), float(near[-1])

    @property
    def description(self) -> str:
        """The least error, how flat the valley is, and where in it the chosen penalty lies."""
        least = float(self.alphas[self.best])
        text = f"The least root mean squared error on rows left out is {self._error(self.best)}"
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
        low, high = (number(end, 2) for end in self.near)
        flat = self.near[0] == self.alphas[0]
        which = f"Every penalty up to {high} comes" if flat else f"Penalties {low} to {high} come"
        return f"{text} {which} within one standard error of it ({self.errors.shape[1]} folds)."

    def _error(self, at: int) -> str:
        return number(float(np.sqrt(self.mean[at])), 4)

    def _draw(self, ax: Any) -> None:
        mean, spread = self.mean, self.standard_error
        root = np.sqrt(mean)
        if spread.any():
            ax.fill_between(
                self.alphas,
                np.sqrt(np.maximum(mean - spread, 0.0)),
                np.sqrt(mean + spread),
                color=BLUE,
                alpha=0.18,
                linewidth=0,
                label="± one standard error",
            )
        ax.plot(self.alphas, root, color=BLUE, label=f"mean over {self.errors.shape[1]} folds")
        look = {"mfc": PAPER, "mec": ORANGE, "mew": 1.6, "linestyle": "none"}
        at = [self.alphas[self.best]], [root[self.best]]
        ax.plot(*at, marker="o", ms=6.5, label=f"least, {self._error(self.best)}", **look)
        ax.set_xscale("log")
        ax.invert_xaxis()
        log_ticks(ax)
        if root.max() > TALLEST * root.min() > 0:  # a cliff would flatten the valley
            ax.set_ylim(0, TALLEST * root.min())
        style_axes(ax)
        if self.chosen is not None and self.chosen > 0:
            mark_penalty(ax, self.chosen, "chosen")
        ax.set_xlabel("penalty, strong to weak")
        ax.set_ylabel("RMSE on rows left out")
        ax.legend(frameon=False, fontsize=9, loc="best")
