"""Classification by the nearest exemplars: means, geometric medians or medoids of the classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, field
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.distances.exemplars import geometric_median, medoid
from separatrix.distances.names import PrecomputedDistances
from separatrix.estimators.base import reads_tables
from separatrix.estimators.metric_inputs import PointsEstimator
from separatrix.formula import nodes
from separatrix.messages import InputError, check_option
from separatrix.mixins import ClassifierMixin
from separatrix.neighbors import base
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import take_items
from separatrix.threads import on_one_blas_thread

_CLAIMS = {
    "mean": "Each class mean has the least total squared Euclidean distance to its class",
    "median": "Each geometric median has the least total Euclidean distance to its class",
    "medoid": "Each medoid has the least total distance among the rows of its class",
}


class Exemplar(NamedTuple):
    """A point that stands for some rows: its relative gradient, or its row if it is one."""

    point: Floats | None
    row: int
    residual: float = np.nan


@declare_parameters
class NearestExemplar(ClassifierMixin, PointsEstimator):
    """Classification by the nearest class mean, geometric median or medoid.

        ŷ(x) = argmin_c min_j d(x, e_cj),    or argmax_c Σ 1/d(x, e_cj) over the k nearest exemplars

    The mean minimizes the total squared Euclidean distance to its class, the geometric median the
    total Euclidean distance, the medoid the total distance among the rows themselves, in any
    metric. With one mean for each class and Euclidean distance this is the basic linear classifier.

    Several exemplars of a class start from that of the class and the rows that are farthest from
    those chosen so far; then rows go to their nearest exemplar, and exemplars to the center of
    their rows, while the total distance falls.

    Parameters
    ----------
    metric : str, Metric or callable, default="euclidean"
        d: a name, a metric or a function of two points. Metrics of strings or mixed rows take
        lists of objects for ``X``, and need medoids.
    exemplar : {"mean", "median", "medoid"}, default="mean"
        What represents a class.
    n_exemplars : int, default=1
        Exemplars of each class; fewer where it has fewer distinct rows.
    n_neighbors : int, default=1
        k, the exemplars that vote.
    standardize : bool, default=False

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    exemplars_ : ndarray of shape (m, n_features) or list
        Those of all classes in the order of ``classes_``, standardized if ``standardize``.
    exemplar_codes_ : ndarray of shape (m,)
        The position of the class of each in ``classes_``.
    exemplar_indices_ : ndarray of shape (m,)
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

    codes_: Ints = field(init=False)
    exemplar_codes_: Ints = field(init=False)
    exemplars_: Any = field(init=False)

    metric: Any = "euclidean"
    exemplar: str = "mean"
    _: KW_ONLY
    n_exemplars: int = 1
    n_neighbors: int = 1
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_option("exemplar", self.exemplar, _CLAIMS)
        base.check_n_neighbors(self.n_neighbors)
        if not (isinstance(self.n_exemplars, Integral) and self.n_exemplars >= 1):
            raise InputError(f"n_exemplars={self.n_exemplars!r} must be a whole number from 1 on.")
        if isinstance(self._chosen_metric(), PrecomputedDistances):
            raise InputError("Exemplars are computed from rows, not from precomputed distances.")
        base.fit_classes(self, X, y, sample_weight)
        if self._fitted_to_objects and self.exemplar != "medoid":
            raise InputError(f"Objects have no {self.exemplar}.", remedy="Use exemplar='medoid'.")
        self.__dict__.pop("exemplar_indices_", None)
        centers = [
            (code, center)
            for code in range(len(self.classes_))
            for center in self._centers(np.flatnonzero(self.codes_ == code))
        ]
        self.exemplar_codes_ = np.array([code for code, _ in centers])
        if self.exemplar == "medoid":
            self.exemplar_indices_ = np.array([center.row for _, center in centers])
            self.exemplars_ = take_items(self.points_, self.exemplar_indices_)
        else:
            self.exemplars_ = np.array([center.point for _, center in centers])
        residuals = [center.residual for _, center in centers if self.exemplar != "medoid"]
        each = "part of a class" if self.n_exemplars > 1 else "class"
        self.certificate_ = Certificate(
            _CLAIMS[self.exemplar].replace("its class", f"its {each}"),
            kkt=max(residuals, default=np.nan),
            tolerance=1e-8,
            promised=("kkt",) if residuals else (),
        )
        # Only the exemplars are needed from here on.
        self.points_ = self.points_[:0]
        self.sample_weight_, self.codes_ = self.sample_weight_[:0], self.codes_[:0]
        return self

    def _centers(self, rows: Ints) -> list[Exemplar]:
        """The exemplars of one class: a local minimum of the total distance to the nearest."""
        centers = [self._exemplar_of(rows)]
        nearest = self._to(centers, rows)[:, 0]
        while len(centers) < self.n_exemplars and nearest.max(initial=0.0) > 0.0:
            far = rows[[int(nearest.argmax())]]
            centers.append(self._exemplar_of(far))
            nearest = np.minimum(nearest, self._to(centers[-1:], rows)[:, 0])
        w, best = self.sample_weight_[rows], np.inf
        found = centers
        while len(centers) > 1:
            distances = self._to(centers, rows)
            part = distances.argmin(axis=1)
            total = float(w @ distances.min(axis=1) ** (2 if self.exemplar == "mean" else 1))
            if not total < best * (1.0 - 1e-12):
                break
            used, best = np.unique(part), total
            found = [centers[j] for j in used]
            centers = [self._exemplar_of(rows[part == j]) for j in used]
        return found

    def _exemplar_of(self, rows: Ints) -> Exemplar:
        """The mean, median or medoid of some rows."""
        x, w = self.points_, self.sample_weight_[rows]
        if self.exemplar == "medoid":
            index = rows[medoid(take_items(x, rows), self.metric_, w).index]
            return Exemplar(None, int(index))
        if self.exemplar == "median":
            median = geometric_median(x[rows], w)
            return Exemplar(median.point, -1, median.residual)
        mean = np.average(x[rows], axis=0, weights=w)
        return Exemplar(mean, -1, _mean_residual(x[rows], w, mean))

    def _to(self, centers: list[Exemplar], rows: Ints) -> Floats:
        """Distances of rows to centers."""
        if self.exemplar == "medoid":
            chosen = take_items(self.points_, np.array([center.row for center in centers]))
        else:
            chosen = np.array([center.point for center in centers])
        return np.asarray(self.metric_.distances(take_items(self.points_, rows), chosen))

    @property
    def _votes(self) -> bool:
        """Whether exemplars vote: there are several of a class, or several of them count."""
        return len(self.exemplar_codes_) > len(self.classes_) or self.n_neighbors > 1

    def _class_scores(self, X: Any) -> Floats:
        """−d to the exemplar of each class, or its part of the votes of the k nearest."""
        x = self._query_points(X)
        d = self.metric_.distances(x, self.exemplars_)
        if not self._votes:
            return -d
        near = np.argsort(d, axis=1, kind="stable")[:, : self.n_neighbors]
        votes = base.distance_weights("distance", np.take_along_axis(d, near, axis=1))
        votes = votes / votes.sum(axis=1, keepdims=True)
        hot = np.eye(len(self.classes_))[self.exemplar_codes_]
        return np.asarray(np.einsum("ij,ijc->ic", votes, hot[near]))

    @on_one_blas_thread
    def decision_function(self, X: Any) -> Floats:
        """−d to the exemplar of each class, or its part of the votes; of two, the difference."""
        scores = self._class_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the nearest exemplar, or with most votes; of equals, the first."""
        codes = self._class_scores(X).argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def formula(self) -> nodes.ClassFormula:
        """The class of the nearest exemplar, or that most of the k nearest have."""
        k, two = len(self.classes_), len(self.classes_) == 2
        names = nodes.score_names(self.classes_)
        if self._votes:
            near = nodes.Nearest(
                self._query_node(),
                self.exemplars_,
                self.metric_,
                "distance",
                np.ones(len(self.exemplar_codes_)),
                np.eye(k)[self.exemplar_codes_],
                float(min(self.n_neighbors, len(self.exemplar_codes_))),
            )
            votes: nodes.Node = nodes.Ratio(near.sums, near.total, names=() if two else names)
            if two:
                votes = nodes.Affine(votes, np.array([[-1.0], [1.0]]), names=names)
            return nodes.by_score(votes, self.classes_)
        distances = nodes.Distances(
            self._query_node(),
            self.exemplars_,
            self.metric_,
            names=tuple(f"distance {label}" for label in self.classes_.tolist()),
        )
        matrix = np.array([[1.0], [-1.0]]) if two else -np.eye(k)
        scores = nodes.Affine(distances, matrix, names=names)
        chosen = nodes.Cheapest(distances)
        return nodes.ClassFormula(chosen, self.classes_, scores, decided_by=scores, by_sign=two)


def _mean_residual(x: Floats, w: Floats, mean: Floats) -> float:
    """‖Σ w (x − m)‖ / Σ w ‖x‖: the relative gradient of the total squared distance at m."""
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    x, mean = x / largest, mean / largest  # no square over- or underflows
    return float(np.linalg.norm(w @ (x - mean))) / float(w @ np.linalg.norm(x, axis=1))
