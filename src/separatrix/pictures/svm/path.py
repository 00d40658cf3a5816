"""Support vectors and score of a support vector machine over C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural, score_info, score_text
from separatrix.pictures.inputs import require_fitted
from separatrix.pictures.points import fill_band, mark_value
from separatrix.pictures.style import (
    BLUE,
    ORANGE,
    log_axis,
    score_axis_right,
    style_axes,
)
from separatrix.rows.block import Floats

if TYPE_CHECKING:
    from separatrix.svm.svm_path import SVMPath

#: Values of C of an exact path that are drawn.
MAX_VALUES = 200


@dataclass(eq=False)
class SVMPathDisplay(Display):
    """Number of support vectors and cross-validation score over C.

    Parameters
    ----------
    Cs : array-like of shape (m,)
        Values of C, all positive.
    n_support : array-like of shape (m,)
        Number of support vectors at each C.
    scores : array-like of shape (m,) or (m, folds) or None, default=None
        Score on validation folds at each C.
    chosen : float or None, default=None
        The selected C.
    metric : str, default="error"
        Name of the score.
    n_rows : int or None, default=None
        Number of training rows.

    Attributes
    ----------
    means : ndarray of shape (m,) or None
        Mean score over the folds.
    best : int or None
        Position of the best mean score; of ties the smallest C.

    See Also
    --------
    ValidationCurveDisplay : Error over the penalty of a linear model.
    DualCoefficientDisplay : Dual coefficients by class.

    References
    ----------
    T. Hastie, S. Rosset, R. Tibshirani and J. Zhu, The entire regularization path for the
    support vector machine, Journal of Machine Learning Research 5, 2004.

    Examples
    --------
    >>> from separatrix.pictures import SVMPathDisplay
    >>> display = SVMPathDisplay([0.1, 1.0, 10.0], [50, 20, 5], [0.4, 0.1, 0.2], chosen=1.0)
    >>> display.description
    'From C = 0.100 to 10 the number of support vectors goes from 50 to 5. The best validation error
    rate, 10.0 %, is at C = 1. At the chosen C = 1 there are 20 support vectors.'
    """

    Cs: Floats
    n_support: Floats
    scores: Floats | None = None
    chosen: float | None = None
    metric: str = "error"
    n_rows: int | None = None

    title: ClassVar[str] = "Support vectors and score over C"

    def __post_init__(self) -> None:
        Cs = np.asarray(self.Cs, dtype=float).ravel()
        n_support = np.asarray(self.n_support, dtype=float).ravel()
        if not Cs.size or n_support.size != Cs.size or (Cs <= 0).any():
            raise InputError(
                f"{Cs.size} values of C and {n_support.size} counts of support vectors.",
                remedy="Give a count for each C, all of them above zero.",
            )
        order = np.argsort(Cs, kind="stable")
        self.Cs, self.n_support = Cs[order], n_support[order]
        if self.scores is not None:
            scores = np.asarray(self.scores, dtype=float)
            if len(scores) != Cs.size:
                raise InputError(f"{len(scores)} rows of scores for {Cs.size} values of C.")
            self.scores = scores.reshape(Cs.size, -1)[order]

    @classmethod
    def from_estimator(cls, model: Any, *, metric: str = "error") -> Self:
        """From a fitted search over C (``Cs_``, ``n_support_path_``, ``score_path_``, ``C_``).

        Or from a cross-validated :class:`~separatrix.SVMPath`, at no more than 200 values of C.
        """
        from separatrix.svm.svm_path import SVMPath

        if isinstance(model, SVMPath):
            require_fitted(
                model,
                "errors_",
                problem="The path was not cross-validated",
                remedy="Fit with C=None.",
            )
            return cls._from_exact_path(model, metric)
        problem = f"{type(model).__name__} stores no path over C"
        require_fitted(model, "Cs_", "n_support_path_", "score_path_", "C_", problem=problem)
        return cls(model.Cs_, model.n_support_path_, model.score_path_, float(model.C_), metric)

    @classmethod
    def _from_exact_path(cls, model: SVMPath, metric: str) -> Self:
        """Support vectors from the segments of an exact path; errors by fold."""
        some = np.unique(np.linspace(0, len(model.Cs_) - 1, MAX_VALUES).astype(int))
        Cs = np.asarray(model.Cs_)[some]
        groups = [model.group_at(C).reshape(-1, len(model.paths_)) for C in Cs]
        n_support = [float((group >= 0).any(axis=1).sum()) for group in groups]
        return cls(Cs, np.array(n_support), model.errors_[some], float(model.C_), metric)

    @property
    def means(self) -> Floats | None:
        """Mean score over the folds."""
        return None if self.scores is None else np.asarray(self.scores.mean(axis=1))

    @property
    def best(self) -> int | None:
        """Position of the best mean score; of ties the smallest C."""
        if self.means is None:
            return None
        sign = -1 if score_info(self.metric).higher_is_better else 1
        return int(np.argmin(sign * self.means))

    @property
    def description(self) -> str:
        """Support vectors at both ends, the best score, and the chosen C."""
        among = "" if self.n_rows is None else f" (of {plural(self.n_rows, 'row')})"
        text = (
            f"From C = {number(self.Cs[0], 3)} to {number(self.Cs[-1], 3)} the number of support "
            f"vectors{among} goes from {self.n_support[0]:,.0f} to {self.n_support[-1]:,.0f}."
        )
        if self.means is not None and self.best is not None:
            text += (
                f" The best validation {_lower(score_info(self.metric).short)}, "
                f"{score_text(self.means[self.best], self.metric)}, is at C = "
                f"{number(self.Cs[self.best], 3)}."
            )
        if self.chosen is not None:
            at = int(np.argmin(np.abs(np.log(self.Cs / self.chosen))))
            text += (
                f" At the chosen C = {number(self.chosen, 3)} there are "
                f"{self.n_support[at]:,.0f} support vectors."
            )
        return text

    def _draw(self, ax: Any) -> None:
        ax.plot(self.Cs, self.n_support, color=BLUE, marker="." if self.Cs.size < 40 else "")
        log_axis(ax)
        ax.set_ylim(0, 1.08 * max(float(self.n_support.max()), 1.0))
        ax.set_ylabel("support vectors", color=BLUE)
        style_axes(ax)
        ax.set_xlabel("C")
        if self.chosen is not None:
            mark_value(ax, self.chosen, "chosen")
        if self.scores is None or self.means is None:
            return
        other = score_axis_right(ax, score_info(self.metric), ORANGE)
        if self.scores.shape[1] > 1:
            spread = self.scores.std(axis=1, ddof=1) / np.sqrt(self.scores.shape[1])
            fill_band(other, self.Cs, self.means - spread, self.means + spread, color=ORANGE)
        other.plot(self.Cs, self.means, color=ORANGE, linestyle=(0, (5, 2)))


def _lower(name: str) -> str:
    """A name within a sentence; abbreviations stay as they are."""
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]
