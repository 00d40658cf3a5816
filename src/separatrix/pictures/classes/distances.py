"""Signed distances to the boundary, class by class.

Two classes: (w·x − t)/‖w‖, positive on the side of the second class. More classes: the distance to
the nearest boundary of the row's own class, positive where the row is on its own side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.pictures.classes.class_histograms import ClassHistogramDisplay, known_rows
from separatrix.rows.block import Floats


@dataclass(eq=False)
class SignedDistanceDisplay(ClassHistogramDisplay):
    """``distance`` of each row from the boundary, on the side of the second class or of its own."""

    title: ClassVar[str] = "Distance to the boundary by class"
    axis: ClassVar[str] = "signed distance to the boundary"
    measured: ClassVar[tuple[str, str]] = (
        "signed distance to the boundary",
        "signed distance to the nearest boundary of the own class",
    )

    @classmethod
    def from_scores(
        cls, y: Any, scores: Any, coef: Any, classes: Sequence[Any], *, scale: Any = None
    ) -> Self:
        """From the scores of a linear classifier and its normals (k x d).

        ``scale`` holds the standard deviation of each column: with it, distances are those between
        standardised rows, whatever the units of the columns; else they are in the design's units.
        """
        s, normals = np.asarray(scores, dtype=float), np.atleast_2d(np.asarray(coef, dtype=float))
        if scale is not None:
            normals = normals * np.asarray(scale, dtype=float)
        unit = "" if scale is None else "in standard deviations"
        labels, truth = [str(c) for c in classes], np.array([str(label) for label in y])
        if s.ndim == 1 or s.shape[1] == 1:
            return cls(np.ravel(s) / _length(normals[0]), truth, labels, unit=unit)
        if s.shape[1] == 2:
            between = normals[1] - normals[0] if normals.shape[0] == 2 else normals[0]
            return cls((s[:, 1] - s[:, 0]) / _length(between), truth, labels, unit=unit)
        truth, s, own = known_rows(truth, s, labels)
        apart = _between(normals)
        apart[apart == 0] = np.inf
        lead = (s[np.arange(own.size), own][:, None] - s) / apart[own]
        lead[np.arange(own.size), own] = np.inf
        return cls(lead.min(axis=1), truth, labels, own_side=True, unit=unit)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, scale: Any = None) -> Self:
        """Of a fitted linear classifier."""
        scores = model.decision_function(X)
        return cls.from_scores(y, scores, model.coef_, model.classes_, scale=scale)


def _length(normal: Floats) -> float:
    """‖w‖, or 1 for the normal of no plane."""
    return float(np.linalg.norm(normal)) or 1.0


def _between(normals: Floats) -> Floats:
    """‖wᵢ − wⱼ‖ for every pair of classes."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(normals, normals))
