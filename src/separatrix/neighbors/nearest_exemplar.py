"""One point stands for each class; a new row goes to the nearest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from separatrix.distances.exemplars import geometric_median, medoid
from separatrix.distances.metric_from import PrecomputedDistances, metric_from
from separatrix.messages import InputError, did_you_mean
from separatrix.neighbors.base import InstanceBasedClassifier
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats

EXEMPLARS = ("mean", "median", "medoid")


class NearestExemplar(ClassifierMixin, InstanceBasedClassifier):
    """argmin_c d(x, e_c), with e_c the mean, geometric median or medoid of class c.

    The mean has the least total squared Euclidean distance to its class, the median the least total
    distance, the medoid the least among the rows themselves, in any metric. With means and
    Euclidean distance this is the basic linear classifier.

    Parameters
    ----------
    metric : name, Metric or function of two points, default="euclidean"
        d. Metrics of strings or mixed rows take lists of objects, and need medoids.
    exemplar : {"mean", "median", "medoid"}, default="mean"
    standardize : bool, default=False
        Divide columns by their deviation first, so that units do not matter.

    Attributes
    ----------
    exemplars_ : e, in the order of ``classes_`` (standardized if that was asked for).
    exemplar_indices_ : numbers of the training rows that are medoids.
    """

    def __init__(
        self,
        metric: Any = "euclidean",
        exemplar: str = "mean",
        *,
        standardize: bool = False,
    ) -> None:
        self.metric = metric
        self.exemplar = exemplar
        self.standardize = standardize

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        if self.exemplar not in EXEMPLARS:
            raise InputError(
                f"No exemplar {self.exemplar!r}.",
                remedy=did_you_mean(self.exemplar, list(EXEMPLARS)),
            )
        if isinstance(metric_from(self.metric), PrecomputedDistances):
            raise InputError("Exemplars are sought among rows: distances alone are not enough.")
        self._remember_classes(X, y, sample_weight)
        if isinstance(self.points_, list) and self.exemplar != "medoid":
            raise InputError(f"Objects have no {self.exemplar}.", remedy="Use exemplar='medoid'.")
        groups = [np.flatnonzero(self.codes_ == c) for c in range(len(self.classes_))]
        self.__dict__.pop("exemplar_indices_", None)
        residual = 0.0
        if self.exemplar == "medoid":
            self.exemplar_indices_ = np.array([self._medoid(rows) for rows in groups])
            chosen = [self.points_[i] for i in self.exemplar_indices_]
            self.exemplars_ = chosen if isinstance(self.points_, list) else np.array(chosen)
        elif self.exemplar == "median":
            medians = [geometric_median(self.points_[g], self.weights_[g]) for g in groups]
            self.exemplars_ = np.array([m.point for m in medians])
            residual = max(m.residual for m in medians)
        else:
            self.exemplars_ = np.array(
                [np.average(self.points_[g], axis=0, weights=self.weights_[g]) for g in groups]
            )
        self._forget(residual)
        return self

    def _medoid(self, rows: NDArray[np.int64]) -> int:
        points = self.points_
        some = [points[i] for i in rows] if isinstance(points, list) else points[rows]
        return int(rows[medoid(some, self.metric_, self.weights_[rows]).index])

    def _forget(self, residual: float) -> None:
        """Only the exemplars are kept; the other rows have done their part."""
        self.certificate_ = Certificate(
            f"The {self.exemplar} of every class: no point in its place is closer to the class"
            if self.exemplar != "medoid"
            else "The medoid of every class: no other row is closer to all of them",
            kkt=residual,
            tolerance=1e-8,
            promised=(),
        )
        self.points_ = self.points_[:0]
        self.weights_, self.codes_ = self.weights_[:0], self.codes_[:0]

    def _distances(self, X: Any) -> Floats:
        x = self._located(X)
        return self.metric_.distances(x, self.exemplars_)

    def decision_function(self, X: Any) -> Floats:
        """How much nearer: −d to each exemplar; of two classes, d to the first less the second."""
        d = self._distances(X)
        return d[:, 0] - d[:, 1] if d.shape[1] == 2 else -d

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the nearest exemplar; of equals, the first."""
        distances = self._distances(X)
        return np.asarray(self.classes_[distances.argmin(axis=1)])
