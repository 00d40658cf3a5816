"""Histograms by class of a score that is zero on the decision boundary.

signed distance   two classes: (w·x + b)/‖w‖;  more: least (sₖ − sⱼ)/‖wₖ − wⱼ‖, k the row's class
log odds          two classes: ln p₁/p₀;  more: ln pₖ − max ln pⱼ, k the row's class
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import number, plural
from separatrix.pictures.points import BESIDE, annotate, bin_edges
from separatrix.pictures.style import MUTED, SERIES, WIDTH, label_text, style_axes, text_color
from separatrix.rows.block import Floats

BINS = 32
_MAX_CLASSES, _DESCRIBED = 12, 6

#: Log odds are clipped here: probabilities 0 and 1 have no finite odds.
MAX_LOG_ODDS = 20.0
_LEAST = 1e-12


@dataclass(eq=False)
class ClassHistogramDisplay(Display):
    """Base class: one histogram for each class, one above the other."""

    values: Floats
    y: Any
    labels: Sequence[str]
    own_class: bool = False
    unit: str = ""

    axis: ClassVar[str]
    definitions: ClassVar[tuple[str, str]]

    def __post_init__(self) -> None:
        if not self.values.size:  # refused here, where a page can still do without the picture
            raise InputError("There are no rows to draw.")

    def wrong(self, i: int) -> int:
        """Misclassified rows of class i: those on the other side of zero."""
        own = self._of_class(i)
        positive = self.own_class or i == 1
        return int(np.sum(own < 0 if positive else own > 0))

    def _of_class(self, i: int) -> Floats:
        return np.asarray(self.values[np.asarray(self.y) == self.labels[i]])

    @property
    def description(self) -> str:
        """The caption, after what is drawn."""
        what = f"{self.definitions[self.own_class]}{', ' if self.unit else ''}{self.unit}"
        return f"{what[0].upper()}{what[1:]}. {self.caption}"

    @property
    def caption(self) -> str:
        """Median and number of misclassified rows of each class."""
        parts = []
        for i, label in enumerate(self.labels[:_MAX_CLASSES]):
            own = self._of_class(i)
            if own.size:
                text = (
                    f"{label}: median {number(float(np.median(own)), 2)}, "
                    f"{self.wrong(i):,} of {plural(own.size, 'row')} misclassified"
                )
                parts.append((self.wrong(i) / own.size, text))
        lead = ""
        if len(parts) > _DESCRIBED:
            parts = sorted(parts, key=lambda pair: -pair[0])[:_DESCRIBED]
            lead = "Highest error rates: "
        return f"{lead}{'; '.join(text for _, text in parts)}."

    @property
    def size(self) -> tuple[float, float]:
        """One strip for each class."""
        strips = min(max(len(self.labels), 2), _MAX_CLASSES)
        return WIDTH, 0.7 + strips * (1.15 if strips < 4 else 0.6)

    def _draw(self, ax: Any) -> None:
        labels = list(self.labels)[:_MAX_CLASSES]
        bins = int(np.clip(2 * np.sqrt(self.values.size), 8, BINS))
        edges = bin_edges(self.values, bins)
        ax.axvline(0.0, color=text_color(ax), linewidth=1.0)
        on_right = -edges[0] < edges[-1]  # the side with more room
        for i, label in enumerate(labels):
            count, color = np.histogram(self._of_class(i), edges)[0], SERIES[i % len(SERIES)]
            height = 0.76 * count / max(count.max(initial=1), 1)
            ax.stairs(height - i, edges, baseline=-i, fill=True, color=color, alpha=0.35)
            ax.stairs(height - i, edges, baseline=-i, color=color, linewidth=1.2)
            ax.axhline(-i, color=MUTED, linewidth=0.6)
            text = f"{label_text(label)}  ({self.wrong(i):,} misclassified)"
            at = (0.99 if on_right else 0.01, 0.97 - i)
            side = "right" if on_right else "left"
            annotate(ax, text, at, (0, 0), BESIDE, ha=side, va="top", color=color)
        ax.set_ylim(-len(labels) + 0.98, 1.02)
        ax.set_yticks([])
        style_axes(ax, grid=None)
        ax.spines["left"].set_visible(False)
        side = "true class" if self.own_class else label_text(self.labels[-1], 14)
        ax.set_xlabel(f"{self.axis}{', ' if self.unit else ''}{self.unit} (positive: {side})")


@dataclass(eq=False)
class SignedDistanceDisplay(ClassHistogramDisplay):
    """Signed distances to the decision boundary of a linear classifier, by class.

    Two classes: (w·x + b)/‖w‖, positive on the side of the second class. More classes: the
    distance to the nearest boundary of the row's own class, positive if classified correctly.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Signed distance of each row.
    y : array-like of shape (n,)
        True class of each row, as text.
    labels : sequence of str
        Names of the classes.
    own_class : bool, default=False
        Whether distances are positive on the side of the row's own class, as with more than two
        classes; otherwise on the side of the second class.
    unit : str, default=""
        Unit of the distances, for the label of the axis.

    See Also
    --------
    LogOddsDisplay : The same for classifiers with probabilities.
    MarginDisplay : Functional margins of a binary classifier.

    Examples
    --------
    >>> from separatrix.pictures import SignedDistanceDisplay
    >>> display = SignedDistanceDisplay.from_scores(
    ...     ["no", "no", "yes"], [-5.0, 1.0, 10.0], [3.0, 4.0], ["no", "yes"])
    >>> display.values.tolist(), display.wrong(0)
    ([-1.0, 0.2, 2.0], 1)
    """

    title: ClassVar[str] = "Signed distance to the decision boundary"
    axis: ClassVar[str] = "signed distance"
    definitions: ClassVar[tuple[str, str]] = (
        "signed distance to the decision boundary",
        "signed distance to the nearest decision boundary of the true class",
    )

    @classmethod
    def from_scores(
        cls, y: Any, scores: Any, coef: Any, classes: Sequence[Any], *, scale: Any = None
    ) -> Self:
        """From the scores of a linear classifier and its coefficients (k x d).

        ``scale`` holds the standard deviation of each column: with it, distances are those between
        standardized rows; without it, in the units of the design matrix.
        """
        s, normals = np.asarray(scores, dtype=float), np.atleast_2d(np.asarray(coef, dtype=float))
        if scale is not None:
            normals = normals * np.asarray(scale, dtype=float)
        unit = "" if scale is None else "in standard deviations"
        labels, truth = [str(c) for c in classes], np.array([str(label) for label in y])
        if s.ndim == 1 or s.shape[1] == 1:
            return cls(np.ravel(s) / _norm(normals[0]), truth, labels, unit=unit)
        if s.shape[1] == 2:
            difference = normals[1] - normals[0] if normals.shape[0] == 2 else normals[0]
            return cls((s[:, 1] - s[:, 0]) / _norm(difference), truth, labels, unit=unit)
        from scipy.spatial.distance import cdist

        truth, s, own = _known_rows(truth, s, labels)
        between = np.asarray(cdist(normals, normals))
        between[between == 0] = np.inf
        distance = (s[np.arange(own.size), own][:, None] - s) / between[own]
        distance[np.arange(own.size), own] = np.inf
        return cls(distance.min(axis=1), truth, labels, own_class=True, unit=unit)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, scale: Any = None) -> Self:
        """From a fitted linear classifier."""
        scores = model.decision_function(X)
        return cls.from_scores(y, scores, model.coef_, model.classes_, scale=scale)


@dataclass(eq=False)
class LogOddsDisplay(ClassHistogramDisplay):
    """Log odds of a probabilistic classifier, by class.

    Two classes: ln p₁/p₀. More classes: ln p of the row's own class minus that of the most
    probable other class. Values beyond ±20 are drawn at ±20.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Log odds of each row.
    y : array-like of shape (n,)
        True class of each row, as text.
    labels : sequence of str
        Names of the classes.
    own_class : bool, default=False
        Whether log odds are those of the row's own class, as with more than two classes;
        otherwise of the second class.
    unit : str, default=""
        Unit, for the label of the axis.

    See Also
    --------
    SignedDistanceDisplay : Signed distances to the boundary of a linear classifier.
    CalibrationDisplay : Predicted probabilities against observed frequencies.

    Examples
    --------
    >>> from separatrix.pictures import LogOddsDisplay
    >>> p = [[0.5, 0.5], [0.2, 0.8]]
    >>> display = LogOddsDisplay.from_probabilities(["a", "b"], p, ["a", "b"])
    >>> display.values.round(3).tolist()
    [0.0, 1.386]
    """

    title: ClassVar[str] = "Log odds by class"
    axis: ClassVar[str] = "log odds"
    definitions: ClassVar[tuple[str, str]] = (
        "log odds of the second class",
        "log odds of the true class against the most probable other class",
    )

    @classmethod
    def from_probabilities(cls, y: Any, probabilities: Any, classes: Sequence[Any]) -> Self:
        """From labels and a column of probabilities for each class."""
        log_p = np.log(np.maximum(np.asarray(probabilities, dtype=float), _LEAST))
        labels, truth = [str(c) for c in classes], np.array([str(label) for label in y])
        if log_p.shape[1] == 2:
            odds = log_p[:, 1] - log_p[:, 0]
            return cls(np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS), truth, labels)
        truth, log_p, own = _known_rows(truth, log_p, labels)
        others = log_p.copy()
        others[np.arange(own.size), own] = -np.inf
        odds = log_p[np.arange(own.size), own] - others.max(axis=1)
        return cls(np.clip(odds, -MAX_LOG_ODDS, MAX_LOG_ODDS), truth, labels, own_class=True)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """From a fitted classifier with ``predict_proba``."""
        return cls.from_probabilities(y, model.predict_proba(X), model.classes_)

    @property
    def caption(self) -> str:
        """Medians, misclassified rows, and the number of clipped values."""
        text = super().caption
        clipped = int(np.sum(np.abs(self.values) >= MAX_LOG_ODDS))
        if not clipped:
            return text
        return f"{text} {plural(clipped, 'row')} at ±{MAX_LOG_ODDS:g} or beyond."


def _norm(normal: Floats) -> float:
    """‖w‖, or 1 where it is 0."""
    return float(np.linalg.norm(normal)) or 1.0


def _known_rows(
    truth: NDArray[np.str_], s: Floats, labels: Sequence[str]
) -> tuple[NDArray[np.str_], Floats, NDArray[np.intp]]:
    """Rows of the classes that the model knows, and the code of each row's class."""
    code = {label: i for i, label in enumerate(labels)}
    known = np.array([label in code for label in truth], dtype=bool)
    own = np.array([code[label] for label in truth[known]], dtype=np.intp)
    return truth[known], s[known], own
