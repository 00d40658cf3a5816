"""Signed distances to the boundary, class by class.

Two classes: (w·x − t)/‖w‖, positive on the side of the second class. More classes: the distance to
the nearest boundary of the row's own class, positive where the row is on its own side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.pictures.display import Display
from separatrix.pictures.style import MUTED, SERIES, WIDTH, dress, ink, plain
from separatrix.pictures.wording import counted, number
from separatrix.rows.block import Floats

BINS = 32
_MOST, _TOLD = 12, 6

#: Log odds as far as they are drawn: one in half a billion.
SUREST = 20.0
_LEAST = 1e-12


@dataclass(eq=False)
class DistanceDisplay(Display):
    """A histogram for each class, one above the other; ``own_side`` as for several classes."""

    distance: Floats
    y: Any
    labels: Sequence[str]
    own_side: bool = False

    title: ClassVar[str] = "Distance to the boundary by class"
    axis: ClassVar[str] = "signed distance to the boundary"
    measured: ClassVar[tuple[str, str]] = (
        "signed distance to the boundary",
        "signed distance to the nearest boundary of the own class",
    )

    @classmethod
    def from_scores(cls, y: Any, scores: Any, coef: Any, classes: Sequence[Any]) -> Self:
        """From the scores of a linear classifier and its normals (k x d), in the design's units."""
        s, normals = np.asarray(scores, dtype=float), np.atleast_2d(np.asarray(coef, dtype=float))
        labels, truth = [str(c) for c in classes], np.array([str(label) for label in y])
        if s.ndim == 1 or s.shape[1] == 1:
            return cls(np.ravel(s) / _length(normals[0]), truth, labels)
        if s.shape[1] == 2:
            between = normals[1] - normals[0] if normals.shape[0] == 2 else normals[0]
            return cls((s[:, 1] - s[:, 0]) / _length(between), truth, labels)
        truth, s, own = _known(truth, s, labels)
        apart = _between(normals)
        apart[apart == 0] = np.inf
        lead = (s[np.arange(own.size), own][:, None] - s) / apart[own]
        lead[np.arange(own.size), own] = np.inf
        return cls(lead.min(axis=1), truth, labels, own_side=True)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """Of a fitted linear classifier."""
        return cls.from_scores(y, model.decision_function(X), model.coef_, model.classes_)

    def wrong(self, i: int) -> int:
        """Rows of class i on the wrong side."""
        own = self.distance[np.asarray(self.y) == self.labels[i]]
        positive = self.own_side or i == 1
        return int(np.sum(own < 0 if positive else own > 0))

    @property
    def description(self) -> str:
        """Median and wrong-side count of each class."""
        told = []
        for i, label in enumerate(self.labels[:_MOST]):
            own = self.distance[np.asarray(self.y) == label]
            if own.size:
                text = (
                    f"{label}: median {number(float(np.median(own)), 2)}, "
                    f"{self.wrong(i):,} of {counted(own.size, 'row')} on the wrong side"
                )
                told.append((self.wrong(i) / own.size, text))
        lead = ""
        if len(told) > _TOLD:
            told = sorted(told, key=lambda pair: -pair[0])[:_TOLD]
            lead = "Most often wrong are "
        what = self.measured[self.own_side]
        return f"{what[0].upper()}{what[1:]}. {lead}{'; '.join(text for _, text in told)}."

    @property
    def size(self) -> tuple[float, float]:
        """A strip for each class."""
        strips = min(max(len(self.labels), 2), _MOST)
        return WIDTH, 0.7 + strips * (1.15 if strips < 4 else 0.6)

    def _draw(self, ax: Any) -> None:
        if not self.distance.size:
            raise InputError("There are no rows to draw.")
        labels = list(self.labels)[:_MOST]
        bins = int(np.clip(2 * np.sqrt(self.distance.size), 8, BINS))
        edges = np.histogram_bin_edges(self.distance, bins)
        counts = [
            np.histogram(self.distance[np.asarray(self.y) == label], edges)[0] for label in labels
        ]
        ax.axvline(0.0, color=ink(ax), linewidth=1.0)
        # The names stand on the side that the boundary leaves free.
        on_right = -edges[0] < edges[-1]
        for i, (label, count) in enumerate(zip(labels, counts, strict=True)):
            colour = SERIES[i % len(SERIES)]
            height = 0.76 * count / max(count.max(initial=1), 1)
            ax.stairs(height - i, edges, baseline=-i, fill=True, color=colour, alpha=0.35)
            ax.stairs(height - i, edges, baseline=-i, color=colour, linewidth=1.2)
            ax.axhline(-i, color=MUTED, linewidth=0.6)
            ax.annotate(
                f"{plain(label)}  ({self.wrong(i):,} on the wrong side)",
                (0.99 if on_right else 0.01, 0.97 - i),
                ha="right" if on_right else "left",
                xycoords=("axes fraction", "data"),
                fontsize=8.5,
                color=colour,
                va="top",
            )
        ax.set_ylim(-len(labels) + 0.98, 1.02)
        ax.set_yticks([])
        dress(ax, grid=None)
        ax.spines["left"].set_visible(False)
        side = "own side →" if self.own_side else f"side of {plain(self.labels[-1], 14)} →"
        ax.set_xlabel(f"{self.axis} ({side})")


@dataclass(eq=False)
class LogOddsDisplay(DistanceDisplay):
    """The same for classifiers of any shape: log odds instead of distances.

    Two classes: ln p₁/p₀. More classes: ln p of the row's own class less that of the next best.
    What is surer than ``SUREST`` is drawn there: probabilities of 0 and 1 have no finite odds.
    """

    title: ClassVar[str] = "Margins by class"
    axis: ClassVar[str] = "log odds"
    measured: ClassVar[tuple[str, str]] = (
        "log odds of the second class",
        "log odds of the own class to the next best",
    )

    @classmethod
    def from_probabilities(cls, y: Any, probabilities: Any, classes: Sequence[Any]) -> Self:
        """From labels and a column of probabilities for each class."""
        s = np.log(np.maximum(np.asarray(probabilities, dtype=float), _LEAST))
        labels, truth = [str(c) for c in classes], np.array([str(label) for label in y])
        if s.shape[1] == 2:
            return cls(np.clip(s[:, 1] - s[:, 0], -SUREST, SUREST), truth, labels)
        truth, s, own = _known(truth, s, labels)
        rivals = s.copy()
        rivals[np.arange(own.size), own] = -np.inf
        lead = s[np.arange(own.size), own] - rivals.max(axis=1)
        return cls(np.clip(lead, -SUREST, SUREST), truth, labels, own_side=True)

    @property
    def description(self) -> str:
        """As for distances, and how many rows are surer than the picture reaches."""
        text = super().description
        beyond = int(np.sum(np.abs(self.distance) >= SUREST))
        return f"{text} {counted(beyond, 'row')} at ±{SUREST:g} or beyond." if beyond else text

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> Self:
        """Of a fitted classifier with ``predict_proba``."""
        return cls.from_probabilities(y, model.predict_proba(X), model.classes_)


def _known(
    truth: NDArray[np.str_], s: Floats, labels: Sequence[str]
) -> tuple[NDArray[np.str_], Floats, NDArray[np.intp]]:
    """Rows of the classes that the model knows, and the position of each row's class."""
    place = {label: i for i, label in enumerate(labels)}
    met = np.array([label in place for label in truth], dtype=bool)
    own = np.array([place[label] for label in truth[met]], dtype=np.intp)
    return truth[met], s[met], own


def _length(normal: Floats) -> float:
    """‖w‖, or 1 for the normal of no plane."""
    return float(np.linalg.norm(normal)) or 1.0


def _between(normals: Floats) -> Floats:
    """‖wᵢ − wⱼ‖ for every pair of classes."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(normals, normals))
