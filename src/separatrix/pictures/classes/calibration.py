"""How often what was said to happen with probability p did happen, and how often p was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.formatting import counted, listed
from separatrix.pictures.style import MUTED, SERIES, plain, style_axes
from separatrix.probability.reliability import Reliability, reliability
from separatrix.rows.block import Floats

#: Bars of the histogram below the curve.
BARS = 20

#: Where the histogram lies below the unit square.
_FLOOR, _CEILING = -0.34, -0.12

_MARKS = "osD^v"
_Z = 1.959963984540054


@dataclass(eq=False)
class CalibrationDisplay(Display):
    """A curve for each way to make probabilities of the same rows, a histogram below.

    ``histograms`` holds the share of the rows in each of ``BARS`` equal pieces of [0, 1]; ``count``
    is the number (or weight) of rows, by which whiskers of 95 % are drawn.
    """

    curves: Sequence[Reliability]
    histograms: Sequence[Floats]
    count: float
    labels: Sequence[str] = ("",)
    what: str = "probability"

    title: ClassVar[str] = "Calibration"

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        probability: Any,
        *,
        positive: Any = None,
        bins: int = 10,
        sample_weight: Any = None,
        what: str | None = None,
    ) -> Self:
        """From labels and the probability of the positive class (of two, the second).

        A mapping ``{label: probability}`` lays several curves over one another, such as those
        before and after calibration.
        """
        given = probability if isinstance(probability, Mapping) else {"": probability}
        if not given:
            raise InputError("There are no probabilities to draw.")
        options = {"positive": positive, "bins": bins, "sample_weight": sample_weight}
        curves = [reliability(y, p, **options) for p in given.values()]
        w = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        heaps = [
            np.histogram(np.asarray(p, dtype=float), BARS, (0, 1), weights=w)[0]
            for p in given.values()
        ]
        name = _positive(y, positive)
        return cls(
            curves,
            [heap / heap.sum() for heap in heaps],
            float(heaps[0].sum()),
            [str(label) for label in given],
            what or (f"probability of {plain(name, 20)}" if name is not None else "probability"),
        )

    @classmethod
    def from_probabilities(
        cls, y: Any, probabilities: Any, classes: Any, *, bins: int = 10, sample_weight: Any = None
    ) -> Self:
        """From labels and a column for each class: of two, the second; of more, the largest.

        With more than two classes the probability of the predicted class is held against how often
        the prediction is right.
        """
        p, truth = np.asarray(probabilities, dtype=float), np.asarray(y)
        labels = np.asarray(classes)
        options = {"bins": bins, "sample_weight": sample_weight}
        if labels.size == 2:
            name = f"probability of {plain(labels[1], 20)}"
            return cls.from_predictions(truth == labels[1], p[:, 1], what=name, **options)
        right = truth == labels[p.argmax(axis=1)]
        name = "probability of the predicted class"
        return cls.from_predictions(right, p.max(axis=1), what=name, **options)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, bins: int = 10) -> Self:
        """Of a fitted classifier with ``predict_proba``."""
        return cls.from_probabilities(y, model.predict_proba(X), model.classes_, bins=bins)

    @property
    def errors(self) -> list[float]:
        """Expected calibration error of each curve."""
        return [curve.expected_calibration_error for curve in self.curves]

    @property
    def briers(self) -> list[float]:
        """Mean squared distance of the probability from what happened, of each curve."""
        return [curve.brier for curve in self.curves]

    def whiskers(self, i: int) -> Floats:
        """Low and high of the frequency of each group (Wilson's interval of 95 %)."""
        curve = self.curves[i]
        n, seen = curve.weight * self.count, curve.observed
        spread = _Z**2 / n
        middle = (seen + spread / 2) / (1 + spread)
        half = np.sqrt(seen * (1 - seen) * spread + spread**2 / 4) / (1 + spread)
        return np.stack([middle - half, middle + half], axis=1)

    @property
    def description(self) -> str:
        """Both errors of each curve, and the group that lies farthest from the diagonal."""
        told = []
        for label, curve in zip(self.labels, self.curves, strict=True):
            lead = f"{label}: " if label else ""
            told.append(
                f"{lead}expected calibration error {curve.expected_calibration_error:.3f}, Brier "
                f"score {curve.brier:.3f}"
            )
        text = f"{listed(told) if len(told) < 3 else '; '.join(told)}."
        text = f"{text[:1].upper()}{text[1:]} {self._farthest()}"
        low, high = self.histograms[-1][0], self.histograms[-1][-1]
        return (
            f"{text} Of {counted(round(self.count), 'row')}, {100 * low:.0f} % have a probability "
            f"below {1 / BARS:.2f} and {100 * high:.0f} % one above {1 - 1 / BARS:.2f}."
        )

    def _farthest(self) -> str:
        """The group whose whisker is farthest from the diagonal, if any leaves it out."""
        curve, ends = self.curves[-1], self.whiskers(len(self.curves) - 1)
        short = np.maximum(ends[:, 0] - curve.predicted, curve.predicted - ends[:, 1])
        at = int(short.argmax())
        who = f" of {self.labels[-1]}" if len(self.curves) > 1 else ""
        if short[at] <= 0:
            return f"The whiskers{who} all reach the diagonal."
        return (
            f"Farthest off{who}: rows told {100 * curve.predicted[at]:.0f} % were "
            f"{100 * curve.observed[at]:.0f} %."
        )

    @property
    def size(self) -> tuple[float, float]:
        """A little taller than other pictures, for the histogram."""
        return 4.9, 3.9

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9)
        for i, curve in enumerate(self.curves):
            self._curve(ax, i, curve)
        self._histogram(ax)
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(_FLOOR, 1.03)
        style_axes(ax)
        ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0])
        ax.set_xlabel(self.what)
        ax.set_ylabel("how often it was so")
        ax.legend(frameon=False, fontsize=8.5, loc="upper left", handlelength=1.6)

    def _curve(self, ax: Any, i: int, curve: Reliability) -> None:
        colour = SERIES[i % len(SERIES)]
        for at, (low, high) in zip(curve.predicted, self.whiskers(i), strict=True):
            ax.plot([at, at], [low, high], color=colour, linewidth=1.0, alpha=0.6)
        name = f"{plain(self.labels[i], 18)}: " if self.labels[i] else ""
        ax.plot(
            curve.predicted,
            curve.observed,
            marker=_MARKS[i % len(_MARKS)],
            ms=4.5,
            color=colour,
            label=f"{name}ECE {curve.expected_calibration_error:.3f}, Brier {curve.brier:.3f}",
        )

    def _histogram(self, ax: Any) -> None:
        """Bars between the floor and the curve, the highest as high as there is room."""
        edges = np.linspace(0, 1, BARS + 1)
        top = max(float(h.max()) for h in self.histograms) or 1.0
        for i, heap in enumerate(self.histograms):
            colour = SERIES[i % len(SERIES)]
            height = _FLOOR + (_CEILING - _FLOOR) * heap / top
            if len(self.histograms) == 1:
                ax.stairs(height, edges, baseline=_FLOOR, fill=True, color=colour, alpha=0.35)
            ax.stairs(height, edges, baseline=_FLOOR, color=colour, linewidth=1.0)
        ax.annotate(
            f"rows (highest bar {100 * top:.0f} %)",
            (0.5, _CEILING / 2),
            ha="center",
            va="center",
            fontsize=8.5,
            color=MUTED,
        )


def _positive(y: Any, positive: Any) -> Any:
    """The class whose probability is drawn; None where only truth values were given."""
    if positive is not None:
        return positive
    truth = np.asarray(y)
    return None if truth.dtype == bool or not truth.size else np.unique(truth)[-1]
