"""Margins of classifiers of any shape: log odds, class by class.

Two classes: ln p₁/p₀. More classes: ln p of the row's own class less that of the next best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.pictures.classes.class_histograms import ClassHistogramDisplay, known_rows
from separatrix.pictures.formatting import counted

#: Log odds as far as they are drawn: one in half a billion.
SUREST = 20.0
_LEAST = 1e-12


@dataclass(eq=False)
class LogOddsDisplay(ClassHistogramDisplay):
    """What is surer than ``SUREST`` is drawn there: p = 0 and p = 1 have no finite odds."""

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
        truth, s, own = known_rows(truth, s, labels)
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
