"""Learning curve over training rows, and validation curve over the penalty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, score_info, score_text
from separatrix.pictures.inputs import require_fitted
from separatrix.pictures.points import fill_band, mark_point, mark_value
from separatrix.pictures.style import BLUE, ORANGE, label_score_axis, penalty_axis, style_axes
from separatrix.rows.block import Floats


@dataclass(eq=False)
class LearningCurveDisplay(Display):
    """Training and validation score against the number of training rows.

    Parameters
    ----------
    train_sizes : array-like of shape (m,)
        Numbers of training rows.
    train_scores : array-like of shape (m,) or (m, repetitions)
        Scores on the training rows.
    validation_scores : array-like of shape (m,) or (m, repetitions)
        Scores on validation rows.
    metric : str, default="error"
        Name of the score.

    Attributes
    ----------
    verdict : str
        Whether the curve still improves at its end.

    See Also
    --------
    ValidationCurveDisplay : Error over the penalty.
    GeneralizationGapDisplay : One score on training, validation and test rows.

    References
    ----------
    C. Cortes, L. D. Jackel, S. A. Solla, V. Vapnik and J. S. Denker, Learning curves:
    asymptotic values and rate of convergence, NIPS, 1993.

    Examples
    --------
    >>> from separatrix.pictures import LearningCurveDisplay
    >>> display = LearningCurveDisplay([50, 100, 200], [1.0, 1.4, 1.5], [3.0, 2.0, 1.6], "rmse")
    >>> display.verdict
    'The curve still improves at its end: more rows may help.'
    """

    train_sizes: Floats
    train_scores: Floats
    validation_scores: Floats
    metric: str = "error"

    title: ClassVar[str] = "Learning curve"

    def __post_init__(self) -> None:
        self.train_sizes = np.asarray(self.train_sizes, dtype=float)
        m = self.train_sizes.size
        self.train_scores = np.asarray(self.train_scores, dtype=float).reshape(m, -1)
        self.validation_scores = np.asarray(self.validation_scores, dtype=float).reshape(m, -1)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        metric: str = "rmse",
        train_sizes: Any = (0.1, 0.325, 0.55, 0.775, 1.0),
        cv: Any = None,
    ) -> Self:
        """Refit ``model`` on growing parts of the rows (scikit-learn's ``learning_curve``)."""
        from sklearn.model_selection import learning_curve

        scorers = {
            "rmse": ("neg_root_mean_squared_error", -1),
            "mae": ("neg_mean_absolute_error", -1),
            "r2": ("r2", 1),
            "accuracy": ("accuracy", 1),
        }
        if metric not in scorers:
            raise InputError(f"Unknown metric {metric!r}; choose one of {', '.join(scorers)}.")
        scoring, sign = scorers[metric]
        sizes, train, validation = learning_curve(
            model, X, y, scoring=scoring, train_sizes=np.asarray(train_sizes), cv=cv
        )[:3]
        return cls(sizes, sign * train, sign * validation, metric)

    @property
    def description(self) -> str:
        """Both ends of the validation curve, the final training score, and the verdict."""
        first, last = self.validation_scores[0].mean(), self.validation_scores[-1].mean()
        train = self.train_scores[-1].mean()
        text = (
            f"{score_info(self.metric).short} on validation rows goes from "
            f"{score_text(first, self.metric)} with {int(self.train_sizes[0]):,} training rows to "
            f"{score_text(last, self.metric)} with {int(self.train_sizes[-1]):,}; on the training "
            f"rows it ends at {score_text(train, self.metric)}."
        )
        return f"{text} {self.verdict}"

    @property
    def verdict(self) -> str:
        """Whether the last doubling of the rows improved the curve beyond its standard error."""
        if self.train_sizes.size < 2:
            return ""
        means = self.validation_scores.mean(axis=1)
        before = int(np.argmin(np.abs(self.train_sizes - self.train_sizes[-1] / 2)))
        before = min(before, self.train_sizes.size - 2)
        gain = means[before] - means[-1]
        if score_info(self.metric).higher_is_better:
            gain = -gain
        spread = self.validation_scores[-1].std() / np.sqrt(
            max(self.validation_scores.shape[1] - 1, 1)
        )
        if gain > max(spread, 0.01 * abs(means[-1])):
            return "The curve still improves at its end: more rows may help."
        return "The curve is flat at its end: more rows of the same kind would change little."

    def _draw(self, ax: Any) -> None:
        for values, color, marker, label in (
            (self.train_scores, ORANGE, "s", "training"),
            (self.validation_scores, BLUE, "o", "validation"),
        ):
            mean, spread = values.mean(axis=1), values.std(axis=1)
            fill_band(ax, self.train_sizes, mean - spread, mean + spread, color=color)
            ax.plot(self.train_sizes, mean, marker=marker, ms=4, color=color, label=label)
        style_axes(ax)
        ax.set_xlabel("training rows")
        label_score_axis(ax.yaxis, score_info(self.metric), direction=False)
        ax.legend(frameon=False, fontsize=9, loc="best")


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
    leave_one_out : bool, default=False
        Whether every row was left out once, and ``errors`` are the means over these rows.

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
    'Cross-validation RMSE over the penalty. The minimum is 1, at the chosen penalty 1.'
    """

    alphas: Floats
    errors: Floats
    chosen: float | None = None
    leave_one_out: bool = False

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
        one = np.size(model.mse_path_) == np.size(model.alphas_)
        left_out = one and getattr(model, "cv", False) is None
        return cls(model.alphas_, model.mse_path_, float(model.alpha_), left_out)

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
        """The caption, after what is drawn."""
        name = self._validation
        return f"{name[0].upper()}{name[1:]} RMSE over the penalty. {self.caption}"

    @property
    def caption(self) -> str:
        """The minimum, the chosen penalty, and the range within one standard error."""
        least = float(self.alphas[self.best])
        text = f"The minimum is {self._error(self.best)}"
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

    @property
    def _validation(self) -> str:
        return "leave-one-out" if self.leave_one_out else "cross-validation"

    @property
    def _averaged(self) -> str:
        """What the curve is, for the legend."""
        if self.leave_one_out:
            return "mean over rows left out"
        k = self.errors.shape[1]
        return "one fold" if k == 1 else f"mean over {k} folds"

    def _error(self, at: int) -> str:
        return number(float(np.sqrt(self.mean[at])), 4)

    def _draw(self, ax: Any) -> None:
        mean, spread = self.mean, self.standard_error
        root = np.sqrt(mean)
        if spread.any():
            ends = np.sqrt(np.maximum(mean - spread, 0.0)), np.sqrt(mean + spread)
            fill_band(ax, self.alphas, *ends, label="± 1 standard error")
        ax.plot(self.alphas, root, color=BLUE, label=self._averaged)
        at = self.alphas[self.best], root[self.best]
        mark_point(ax, *at, f"minimum {self._error(self.best)}")
        penalty_axis(ax)
        if root.max() > TALLEST * root.min() > 0:  # keeps the minimum visible
            ax.set_ylim(0, TALLEST * root.min())
        style_axes(ax)
        if self.chosen is not None and self.chosen > 0:
            mark_value(ax, self.chosen, "chosen")
        ax.set_ylabel(f"{self._validation} RMSE")
        ax.legend(frameon=False, fontsize=9, loc="best")
