"""Classification by the nearest exemplar: one mean, geometric median or medoid for each class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from separatrix.arrays import Floats, Ints
from separatrix.distances.exemplars import geometric_median, medoid
from separatrix.distances.names import PrecomputedDistances
from separatrix.estimators.base import reads_tables
from separatrix.formula import nodes
from separatrix.messages import InputError, check_option
from separatrix.neighbors.base import InstanceBasedModel, fit_classes
from separatrix.optimize.convex import Certificate
from separatrix.parameters import describe_parameters
from separatrix.rows.schema import take_items
from separatrix.threads import on_one_blas_thread

_CLAIMS = {
    "mean": "Each class mean has the least total squared Euclidean distance to its class",
    "median": "Each geometric median has the least total Euclidean distance to its class",
    "medoid": "Each medoid has the least total distance among the rows of its class",
}


@describe_parameters
class NearestExemplar(ClassifierMixin, InstanceBasedModel):
    """Classification by the nearest class mean, geometric median or medoid.

        ŷ(x) = argmin_c d(x, e_c)

    The mean minimizes the total squared Euclidean distance to its class, the geometric median the
    total Euclidean distance, the medoid the total distance among the rows themselves, in any
    metric. With means and Euclidean distance this is the basic linear classifier.

    Parameters
    ----------
    metric : str, Metric or callable, default="euclidean"
        d: a name, a metric or a function of two points. Metrics of strings or mixed rows take
        lists of objects for ``X``, and need medoids.
    exemplar : {"mean", "median", "medoid"}, default="mean"
        What represents a class.
    standardize : bool, default=False

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    exemplars_ : ndarray of shape (n_classes, n_features) or list
        e_c in the order of ``classes_``, standardized if ``standardize``.
    exemplar_indices_ : ndarray of shape (n_classes,)
        The medoids as positions among the training rows of positive weight.
    metric_ : Metric
    certificate_ : Certificate
        For means and medians, how far the gradient of their objective is from zero.

    See Also
    --------
    BasicLinearClassifier : Means and Euclidean distance, as a hyperplane.
    KNeighborsClassifier : A vote of the k nearest rows.
    geometric_median : The point of least total distance.
    medoid : The row of least total distance.

    Examples
    --------
    >>> import separatrix as sx
    >>> words, kinds = ["cat", "cart", "carts", "dog", "dig", "dug"], list("cccddd")
    >>> model = sx.NearestExemplar("edit", "medoid").fit(words, kinds)
    >>> model.exemplars_, model.predict(["car"]).tolist()
    (['cart', 'dog'], ['c'])
    """

    codes_: Ints

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

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_option("exemplar", self.exemplar, _CLAIMS)
        if isinstance(self._chosen_metric(), PrecomputedDistances):
            raise InputError("Exemplars are computed from rows, not from precomputed distances.")
        fit_classes(self, X, y, sample_weight)
        if self._fitted_to_objects and self.exemplar != "medoid":
            raise InputError(f"Objects have no {self.exemplar}.", remedy="Use exemplar='medoid'.")
        self.__dict__.pop("exemplar_indices_", None)
        classes = [np.flatnonzero(self.codes_ == c) for c in range(len(self.classes_))]
        residuals = self._fit_exemplars(classes)
        self.certificate_ = Certificate(
            _CLAIMS[self.exemplar],
            kkt=max(residuals, default=np.nan),
            tolerance=1e-8,
            promised=("kkt",) if residuals else (),
        )
        # Only the exemplars are needed from here on.
        self.points_ = self.points_[:0]
        self.sample_weight_, self.codes_ = self.sample_weight_[:0], self.codes_[:0]
        return self

    def _fit_exemplars(self, classes: list[Ints]) -> list[float]:
        """Set ``exemplars_``; relative gradients at means and medians, none for medoids."""
        x, w = self.points_, self.sample_weight_
        if self.exemplar == "medoid":
            self.exemplar_indices_ = np.array(
                [rows[medoid(take_items(x, rows), self.metric_, w[rows]).index] for rows in classes]
            )
            self.exemplars_ = take_items(x, self.exemplar_indices_)
            return []
        if self.exemplar == "median":
            medians = [geometric_median(x[rows], w[rows]) for rows in classes]
            self.exemplars_ = np.array([median.point for median in medians])
            return [median.residual for median in medians]
        self.exemplars_ = np.array(
            [np.average(x[rows], axis=0, weights=w[rows]) for rows in classes]
        )
        return [
            _mean_residual(x[rows], w[rows], mean)
            for rows, mean in zip(classes, self.exemplars_, strict=True)
        ]

    def _distances(self, X: Any) -> Floats:
        x = self._query_points(X)
        return self.metric_.distances(x, self.exemplars_)

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """−d to each exemplar; of two classes, d to the first minus d to the second."""
        d = self._distances(X)
        return d[:, 0] - d[:, 1] if d.shape[1] == 2 else -d

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the nearest exemplar; of equals, the first."""
        distances = self._distances(X)
        return np.asarray(self.classes_[distances.argmin(axis=1)])

    def formula(self) -> nodes.ClassFormula:
        """The class of the nearest exemplar."""
        distances = nodes.Distances(
            self._query_node(),
            self.exemplars_,
            self.metric_,
            names=tuple(f"distance {label}" for label in self.classes_.tolist()),
        )
        k, two = len(self.classes_), len(self.classes_) == 2
        matrix = np.array([[1.0], [-1.0]]) if two else -np.eye(k)
        scores = nodes.Affine(distances, matrix, names=nodes.score_names(self.classes_))
        chosen = nodes.Cheapest(distances)
        return nodes.ClassFormula(chosen, self.classes_, scores, decided_by=scores, by_sign=two)


def _mean_residual(x: Floats, w: Floats, mean: Floats) -> float:
    """‖Σ w (x − m)‖ / Σ w ‖x‖: the relative gradient of the total squared distance at m."""
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    x, mean = x / largest, mean / largest  # no square over- or underflows
    return float(np.linalg.norm(w @ (x - mean))) / float(w @ np.linalg.norm(x, axis=1))
