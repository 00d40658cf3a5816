"""Classification and regression by all training rows within a radius."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.distances.search import NeighborLists
from separatrix.estimators.base import reads_tables
from separatrix.formula import nodes
from separatrix.formula.values import NoFormula
from separatrix.messages import InputError
from separatrix.mixins import ClassifierMixin, RegressorMixin
from separatrix.neighbors import base
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# Predictions by all training points within a radius: their weights, and labels where none is.


def check_parameters(model: Any) -> None:
    """Refuse parameters before any row is read."""
    model._check_search()
    base.check_weights(model.weights)
    base.check_radius(model.radius)


def fit_search(model: Any) -> None:
    """Build the search."""
    model._build_search()
    model.certificate_ = Certificate(
        f"All of {model.n_samples_fit_} training rows within {model.radius:g} are found",
        promised=(),
    )


def weigh_near(model: Any, X: Any) -> tuple[NeighborLists, Floats]:
    """The training points near every row, and the weight of each: w times that by distance."""
    near = base.find_within(model, X)
    weights = model.sample_weight_[near.indices]
    if base.is_uniform(model.weights):
        return near, weights
    values = np.empty(len(weights))
    for start, stop in zip(near.starts, near.starts[1:], strict=False):
        if stop > start:
            distances = near.distances[None, start:stop]
            values[start:stop] = base.distance_weights(model.weights, distances)
    return near, weights * values


def within_node(model: Any, targets: Floats) -> nodes.Within:
    """Weighted sums of the targets of all rows within the radius."""
    return nodes.Within(
        model._query_node(),
        model.points_,
        model.metric_,
        model.weights,
        np.asarray(model.sample_weight_, dtype=np.float64),
        targets,
        float(model.radius),
    )


def labels_of_outliers(given: Any, outputs: list[NDArray[Any]]) -> list[Any]:
    """One label for each target, of the type of its classes."""
    several = isinstance(given, list | tuple | np.ndarray)
    labels = list(given) if several else [given] * len(outputs)
    if len(labels) != len(outputs):
        raise InputError(f"outlier_label has {len(labels)} labels, for {len(outputs)} target(s).")
    for classes, label in zip(outputs, labels, strict=True):
        if np.ndim(label) or not _same_type(classes, label):
            raise TypeError(
                f"outlier_label={label!r} is not of the type of the classes {classes.tolist()}."
            )
    return labels


def _same_type(classes: NDArray[Any], label: Any) -> bool:
    """Whether classes and label are both text, or both numbers."""
    text = classes.dtype.kind in "USO" and all(isinstance(c, str) for c in classes.tolist())
    if text:
        return isinstance(label, str)
    return isinstance(label, int | float | np.number) and (
        classes.dtype.kind not in "iub" or float(label).is_integer()
    )


def wide_enough(columns: NDArray[Any], label: Any) -> NDArray[Any]:
    """The predictions in a type that holds the label in full."""
    return columns.astype(np.result_type(columns.dtype, np.asarray(label).dtype))


@declare_parameters
class RadiusNeighborsClassifier(ClassifierMixin, base.RadiusNeighborsMixin, base.NeighborsModel):
    """Classification by a weighted vote of all training rows within a radius.

        P(c | x) = Σ vᵢ 1{yᵢ = c} / Σ vᵢ,     over d(x, xᵢ) ≤ radius

    Where no training row is near, there is no answer: such rows are refused, unless
    ``outlier_label`` says which class they receive. A training row of weight w votes w times.

    Parameters
    ----------
    radius : float, default=1.0
    weights : {"uniform", "distance", "gaussian"}, Gaussian, callable or None, default="uniform"
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
    leaf_size : int, default=30
    p : float, default=2
    metric : str, Metric or callable, default="minkowski"
    outlier_label : label, list of labels, "most_frequent" or None, default=None
        The class of rows without a neighbor, one for each target. A label that is not a class gives
        them probabilities of zero. None refuses such rows.
    metric_params : dict, default=None
    n_jobs : int, default=None
    standardize : bool, default=False
        Standardize the columns first; the radius is then in standard deviations.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of such arrays
        The class labels; of each target, if there are several.
    outputs_2d_ : bool
        Whether there are several targets.
    outlier_label_ : list or None
        The class of rows without a neighbor, for each target.
    points_ : ndarray of shape (n_samples, n_features) or list
    codes_ : ndarray of shape (n_samples,)
    output_codes_ : ndarray of shape (n_samples, n_targets)
        The same in place of ``codes_``, if there are several targets.
    sample_weight_ : ndarray of shape (n_samples,)
    metric_ : Metric
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    n_samples_fit_ : int
    certificate_ : Certificate

    See Also
    --------
    KNeighborsClassifier : A vote of the k nearest rows, however far.
    RadiusNeighborsRegressor : The same for numeric targets.
    KernelVoteClassifier : All training rows vote, with Gaussian weights.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.RadiusNeighborsClassifier(2.0, outlier_label="b")
    >>> model.fit([[0], [1], [2], [8], [9]], list("aaabb")).predict([[1.5], [7.0], [5.0]]).tolist()
    ['a', 'b', 'b']
    """

    _multi_output = True

    radius: float = 1.0
    _: KW_ONLY
    weights: Any = "uniform"
    algorithm: str = "auto"
    leaf_size: int = 30
    p: float = 2
    metric: Any = "minkowski"
    outlier_label: Any = None
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = None
    standardize: bool = False

    radius_neighbors = base.radius_neighbors
    radius_neighbors_graph = base.radius_neighbors_graph

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_parameters(self)
        base.fit_labels(self, X, y, sample_weight)
        self.outlier_label_ = self._outlier_labels()
        fit_search(self)
        return self

    def _outlier_labels(self) -> list[Any] | None:
        """One label for each target, of the type of its classes."""
        if self.outlier_label is None:
            return None
        votes = base.LabelVotes.of(self)
        if isinstance(self.outlier_label, str) and self.outlier_label == "most_frequent":
            return [
                classes[np.bincount(codes, self.sample_weight_).argmax()]
                for classes, codes in zip(votes.outputs, votes.codes.T, strict=True)
            ]
        return labels_of_outliers(self.outlier_label, votes.outputs)

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Any:
        """The weighted proportion of each class within the radius; with several targets, a list.

        Without X (None), those of each training row among the others.
        """
        near, weights = weigh_near(self, X)
        votes = base.LabelVotes.of(self).count(near.starts, near.indices, weights)
        alone, at = self._alone(near.starts)
        for part, position in zip(votes if len(alone) else (), at, strict=False):
            if position >= 0:
                part[alone, position] = 1.0
        total = [part.sum(axis=1, keepdims=True) for part in votes]
        found = [p / np.where(t > 0.0, t, 1.0) for p, t in zip(votes, total, strict=True)]
        return found if self.outputs_2d_ else found[0]

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest weighted vote; of equals, the first in ``classes_``."""
        near, weights = weigh_near(self, X)
        self._alone(near.starts)
        votes = base.LabelVotes.of(self)
        codes = votes.elect(near.starts, near.indices, weights)
        predicted = votes.label(codes)
        columns = predicted if self.outputs_2d_ else predicted[:, None]
        for k, without in enumerate((codes < 0).T):
            if without.any():
                label = (self.outlier_label_ or [])[k]
                columns = wide_enough(columns, label)
                columns[without, k] = label
        return columns if self.outputs_2d_ else columns[:, 0]

    def _alone(self, starts: Ints) -> tuple[Ints, list[int]]:
        """Rows without neighbors, and their class of every target; −1 if it is none of them."""
        alone = np.flatnonzero(np.diff(starts) == 0)
        if not len(alone):
            return alone, []
        if self.outlier_label_ is None:
            raise InputError(
                f"No neighbors found for {len(alone)} row(s), the first of them row "
                f"{alone[0] + 1}: no training row is within {self.radius:g}.",
                remedy="Use a larger radius, or give an outlier_label.",
            )
        positions = []
        for label, classes in zip(
            self.outlier_label_, base.LabelVotes.of(self).outputs, strict=True
        ):
            at = np.flatnonzero(classes == label)
            positions.append(int(at[0]) if len(at) else -1)
            if not len(at):
                warnings.warn(
                    f"Outlier label {label} is not in training classes: rows without neighbors "
                    "have probabilities of zero.",
                    UserWarning,
                    3,
                )
        return alone, positions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def formula(self) -> nodes.ClassFormula:
        """Votes of all rows within the radius; a label of its own where there are none."""
        one_hot, k = base.LabelVotes.of(self).one_hot(), len(self.classes_)
        if self.outlier_label_ is None:
            raise NoFormula(
                "Rows without a neighbor within the radius are an error, and a formula cannot "
                "raise one: give an outlier_label."
            )
        near, label = within_node(self, one_hot), self.outlier_label_[0]
        known = np.flatnonzero(self.classes_ == label)
        labels = self.classes_ if len(known) else np.append(self.classes_, label)
        alone = int(known[0]) if len(known) else k
        own = np.eye(k)[alone][None, :] if len(known) else np.zeros((1, k))
        names = nodes.probability_names(self.classes_)
        p = nodes.Ratio(near.sums, near.total, own, names=names)
        some = nodes.Marks(near.total, 0.0)
        chosen = nodes.OneClaim(some, alone, nodes.ChosenLabel(near.sums, one=False))
        return nodes.ClassFormula(chosen, labels, None, p, decided_by=near.sums)


@declare_parameters
class RadiusNeighborsRegressor(RegressorMixin, base.RadiusNeighborsMixin, base.NeighborsModel):
    """Regression by the weighted mean of all training rows within a radius.

        f(x) = Σ vᵢ yᵢ / Σ vᵢ,     over d(x, xᵢ) ≤ radius

    Where no training row is near, the prediction is NaN, with a warning. A training row of weight
    w counts w times.

    Parameters
    ----------
    radius : float, default=1.0
    weights : {"uniform", "distance", "gaussian"}, Gaussian, callable or None, default="uniform"
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
    leaf_size : int, default=30
    p : float, default=2
    metric : str, Metric or callable, default="minkowski"
    metric_params : dict, default=None
    n_jobs : int, default=None
    standardize : bool, default=False
        Standardize the columns first; the radius is then in standard deviations.

    Attributes
    ----------
    points_ : ndarray of shape (n_samples, n_features) or list
    targets_ : ndarray of shape (n_samples, n_targets)
    sample_weight_ : ndarray of shape (n_samples,)
    metric_ : Metric
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    n_samples_fit_ : int
    certificate_ : Certificate

    See Also
    --------
    KNeighborsRegressor : The mean of the k nearest rows, however far.
    NadarayaWatson : A mean of all training rows with Gaussian weights.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.RadiusNeighborsRegressor(1.0).fit([[0], [1], [2], [3]], [0.0, 1.0, 4.0, 9.0])
    >>> model.predict([[0.4], [2.0]]).round(3).tolist()
    [0.5, 4.667]
    """

    _multi_output = True
    targets_: Floats = field(init=False)

    radius: float = 1.0
    _: KW_ONLY
    weights: Any = "uniform"
    algorithm: str = "auto"
    leaf_size: int = 30
    p: float = 2
    metric: Any = "minkowski"
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = None
    standardize: bool = False

    radius_neighbors = base.radius_neighbors
    radius_neighbors_graph = base.radius_neighbors_graph

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and targets ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_parameters(self)
        base.fit_targets(self, X, y, sample_weight)
        fit_search(self)
        return self

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """The weighted mean within the radius; without X (None), of each row's others."""
        near, weights = weigh_near(self, X)
        n, rows = len(near.starts) - 1, near.rows
        total = np.bincount(rows, weights, n)[:, None]
        sums = np.column_stack(
            [np.bincount(rows, weights * y[near.indices], n) for y in self.targets_.T]
        )
        empty = ~(total > 0.0)
        if empty.any():
            warnings.warn(
                "One or more samples have no neighbors within specified radius; predicting NaN. "
                f"They are {int(empty.sum())}.",
                UserWarning,
                2,
            )
        return base.as_targets(self, np.where(empty, np.nan, sums / np.where(empty, 1.0, total)))

    def formula(self) -> nodes.NumberFormula:
        """The weighted mean within the radius; NaN where there are none."""
        near = within_node(self, self.targets_)
        count = self.targets_.shape[1]
        flat = self.flat_ and count == 1
        return nodes.regression(
            nodes.Ratio(near.sums, near.total, np.nan), self, flat=flat, count=count
        )
