"""Classification and regression by k nearest neighbors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.distances.metrics import Chebyshev, Euclidean, Manhattan, Minkowski
from separatrix.distances.search import NearestNeighborSearch, Neighbors
from separatrix.estimators.base import reads_tables
from separatrix.formula import nodes
from separatrix.formula.values import NoFormula
from separatrix.messages import InputError, check_option
from separatrix.mixins import ClassifierMixin, RegressorMixin
from separatrix.neighbors import base, tuning
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import n_items
from separatrix.selection.tuning import Tuning, TuningData
from separatrix.threads import on_one_blas_thread, parallel_map, pieces, thread_limit

# -------------------------------------------------------------------------------------------------
# Predictions by the k nearest neighbors: their number, their weights, and mean targets.


@dataclass(frozen=True)
class WeightedNeighbors:
    """Neighbors of rows, weights that sum to one, and (Σ v)² / Σ v²: how many of equal weight."""

    indices: Ints
    weights: Floats
    effective: Floats

    @property
    def flat(self) -> tuple[Ints, Ints, Floats]:
        """Where each row starts, and the neighbors and weights of all rows."""
        n, k = self.indices.shape
        return np.arange(0, n * k + 1, k), self.indices.ravel(), self.weights.ravel()


@dataclass(frozen=True)
class WeightedSearch:
    """The k nearest training points of rows, with the weights that ``weights`` gives to them.

    A training point of weight w counts as w neighbors.
    """

    search: NearestNeighborSearch
    sample_weight: Floats
    weights: Any
    k: int

    @classmethod
    def of(cls, model: Any) -> WeightedSearch:
        """That of a fitted model."""
        return cls(model._search, model.sample_weight_, model.weights, model.n_neighbors_)

    @property
    def counts_once(self) -> bool:
        """Whether every training row counts once."""
        return bool((self.sample_weight == 1.0).all())

    def blocks(self, x: Any) -> Iterator[WeightedNeighbors]:
        """Those of new rows, some rows at a time."""
        together = 1 << 14  # queries that are predicted together
        for start in range(0, n_items(x), together):
            block = x[start : start + together]
            yield self._weigh(*self._collect(partial(self.search.nearest, block), self.search.n))

    def of_others(self, points: Any) -> WeightedNeighbors:
        """Of each training point those among the others."""
        nearest = self._collect(lambda k: self.search.nearest_others(k, points), self.search.n - 1)
        return self._weigh(*nearest)

    def _collect(self, nearest: Callable[[int], Neighbors], n: int) -> tuple[Neighbors, Floats]:
        """Enough of n neighbors for a total weight of k, and how much of its weight each counts."""
        k, total = self.k, self.sample_weight.sum()
        if k > total * (1.0 + 1e-12) or n < 1:
            raise InputError(
                f"n_neighbors={k} exceeds the total weight {total:g} of n_samples_fit = "
                f"{self.search.n} rows: a row of weight w counts as w neighbors.",
                remedy="Use fewer neighbors, or weights that count rows.",
            )
        count = min(k, n)
        if self.counts_once:
            neighbors = nearest(count)
            return neighbors, np.broadcast_to(1.0, neighbors.indices.shape)
        while True:
            neighbors = nearest(count)
            copies = base.truncated_weights(neighbors.indices, self.sample_weight, k)
            if count == n or (copies.sum(axis=1) >= k * (1 - 1e-12)).all():
                return neighbors, copies
            count = min(n, 2 * count)  # weights below one need more rows

    def _weigh(self, neighbors: Neighbors, copies: Floats) -> WeightedNeighbors:
        """Weights by distance times copies, made to sum to one."""
        n, k = neighbors.indices.shape
        if self.counts_once and base.is_uniform(self.weights):
            return WeightedNeighbors(
                neighbors.indices, np.full((n, k), 1.0 / k), np.full(n, float(k))
            )
        # A neighbor beyond the k-th must not set the bandwidth of the adaptive Gaussian.
        distances = np.where(copies > 0, neighbors.distances, neighbors.distances[:, :1])
        values = base.distance_weights(self.weights, distances)
        weights = copies * values
        total = weights.sum(axis=1, keepdims=True)
        if not (total > 0.0).all():
            raise InputError(
                "All neighbors of some sample is getting zero weights.",
                remedy="Please modify 'weights' to avoid this case if you are using a user-defined "
                "function.",
            )
        effective = total[:, 0] ** 2 / (weights * values).sum(axis=1)
        return WeightedNeighbors(neighbors.indices, weights / total, effective)


def reduce_neighbors(
    model: Any, X: Any, work: Callable[[WeightedNeighbors], tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """Results of ``work`` on blocks of rows with their neighbors, each result by blocks.

    Without X, those of each training row among the others.
    """
    check_is_fitted(model, "points_")
    with thread_limit(model.n_jobs):
        search = WeightedSearch.of(model)
        if X is None:
            return [(result,) for result in work(search.of_others(model.points_))]
        parts = [work(near) for near in search.blocks(model._query_points(X))]
    return list(zip(*parts, strict=True))


def nearest_node(model: Any, targets: Floats) -> nodes.Nearest:
    """Weighted sums of the targets of the k nearest rows."""
    return nodes.Nearest(
        model._query_node(),
        model.points_,
        model.metric_,
        model.weights,
        np.asarray(model.sample_weight_, dtype=np.float64),
        targets,
        float(model.n_neighbors_),
    )


def check_parameters(model: Any) -> None:
    """Refuse parameters before any row is read."""
    model._check_search()
    base.check_weights(model.weights)
    if not (isinstance(model.n_neighbors, str) and model.n_neighbors == "auto"):
        base.check_n_neighbors(model.n_neighbors)


def fit_neighbors(model: Any) -> None:
    """Build the search, then take or choose the number of neighbors."""
    model._build_search()
    model.__dict__.pop("leave_one_out_", None)
    if model.n_neighbors == "auto":
        model.leave_one_out_ = model.leave_one_out()
        model.n_neighbors_ = model.leave_one_out_.best
    else:
        model.n_neighbors_ = base.check_n_neighbors(model.n_neighbors)
    model.certificate_ = Certificate(
        f"The {model.n_neighbors_} nearest of {model.n_samples_fit_} training rows are exact",
        notes=("Ties in distance go to the row that comes first.",),
        promised=(),
    )


# Methods of classifier and regressor alike.


def leave_one_out(self: Any, max_neighbors: int | None = None) -> tuning.LeaveOneOutErrors:
    """Leave-one-out error of k = 1 … ``max_neighbors``, by default 2√(Σ w), at most 128.

    A row is left out with the rows that its weight stands for and with its copies, so that no
    k is judged by what it remembers; copies that chance explains are left out one at a time.
    """
    check_is_fitted(self, "points_")
    with thread_limit(self.n_jobs):
        loss: tuning.CountLoss = self._loss()
        left_out, points = base.leave_out(self, loss.targets)
        whole = len(left_out.rows) == self.n_samples_fit_
        search = self._search if whole else NearestNeighborSearch(points, self.metric_)
        loss = loss.take(left_out.rows)
        return tuning.leave_one_out_errors(
            search, points, left_out, self.weights, loss, max_neighbors
        )


@on_one_blas_thread
def tune(self: Any, data: TuningData) -> Tuning:
    """Compare numbers of neighbors, weights and metrics on the folds of ``data``.

    For classes also how much votes are smoothed. Columns are standardized over all rows if
    ``standardize``, as in a fit to all of them.
    """
    return tuning.tune_neighbors(data, standardize=bool(self.standardize))


@on_one_blas_thread
def fit_tuned(self: Any, rows: Any, tuning: Tuning) -> Any:
    """Fit to all rows with the parameters that were chosen, which replace those given."""
    self.set_params(**tuning.parameters)
    return self.fit(rows)


def weighted_means(targets: Floats, indices: Ints, weights: Floats) -> Floats:
    """Σ weight · target over the neighbors of every row, on threads."""
    out = np.empty((len(indices), targets.shape[1]))

    def mean(part: slice) -> None:
        np.einsum("ij,ijk->ik", weights[part], targets[indices[part]], out=out[part])

    parallel_map(mean, pieces(len(indices), 1024))
    return out


def weighted_medians(targets: Floats, indices: Ints, weights: Floats) -> Floats:
    """Of every row the middle of all m with at most half of the weight on either side."""
    out = np.empty((len(indices), targets.shape[1]))

    def median(part: slice) -> None:
        values = targets[indices[part]]
        order = np.argsort(values, axis=1, kind="stable")
        values = np.take_along_axis(values, order, axis=1)
        below = np.cumsum(np.take_along_axis(weights[part][:, :, None], order, axis=1), axis=1)
        # one half below, up to rounding, is a tie: the median is between two values
        low, high = (below >= 0.5 - 1e-12).argmax(axis=1), (below > 0.5 + 1e-12).argmax(axis=1)
        ends = [np.take_along_axis(values, end[:, None], axis=1)[:, 0] for end in (low, high)]
        out[part] = ends[0] / 2 + ends[1] / 2

    parallel_map(median, pieces(len(indices), 1024))
    return out


@declare_parameters
class KNeighborsClassifier(ClassifierMixin, base.KNeighborsMixin, base.NeighborsModel):
    """Classification by a weighted vote of the k nearest training rows.

        P(c | x) = (m Σ vᵢ 1{yᵢ = c} / Σ vᵢ + s/K) / (m + s),     m = (Σ vᵢ)² / Σ vᵢ²

    That is the proportion of the votes, or with s > 0 as if s more votes were spread over all K
    classes; m is the number of neighbors, that of equal weight where weights differ. A training row
    of weight w counts as w neighbors.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        k; "auto" takes the k with the least leave-one-out error, rows left out with their copies.
    weights : {"uniform", "distance", "gaussian"}, Gaussian, callable or None, default="uniform"
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
    leaf_size : int, default=30
    p : float, default=2
    metric : str, Metric or callable, default="minkowski"
    metric_params : dict, default=None
    n_jobs : int, default=None
    standardize : bool, default=False
    smoothing : float, default=0.0
        s, the votes that are spread over all classes, so that none has a probability of zero. The
        predicted class does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or a list of such arrays
        The class labels; of each target, if there are several.
    outputs_2d_ : bool
        Whether there are several targets.
    n_neighbors_ : int
        k.
    points_ : ndarray of shape (n_samples, n_features) or list
    codes_ : ndarray of shape (n_samples,)
    output_codes_ : ndarray of shape (n_samples, n_targets)
        The same in place of ``codes_``, if there are several targets.
    sample_weight_ : ndarray of shape (n_samples,)
    leave_one_out_ : LeaveOneOutErrors
        Leave-one-out errors by k, if k was chosen.
    metric_ : Metric
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    n_samples_fit_ : int
    certificate_ : Certificate

    See Also
    --------
    KNeighborsRegressor : The same for numeric targets.
    KernelVoteClassifier : All training rows vote, with Gaussian weights.
    NearestExemplar : One point for each class.

    References
    ----------
    Cover, T. and Hart, P. (1967). Nearest neighbor pattern classification. IEEE Transactions on
    Information Theory 13.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.KNeighborsClassifier(3).fit([[0], [1], [2], [8], [9]], list("aaabb"))
    >>> model.predict([[1.5], [7.0]]).tolist()
    ['a', 'b']
    >>> model.predict_proba([[7.0]]).round(2).tolist()
    [[0.33, 0.67]]
    """

    _multi_output = True
    n_neighbors_: int = field(init=False)

    n_neighbors: int | str = 5
    _: KW_ONLY
    weights: Any = "uniform"
    algorithm: str = "auto"
    leaf_size: int = 30
    p: float = 2
    metric: Any = "minkowski"
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = None
    standardize: bool = False
    smoothing: float = 0.0

    kneighbors = base.kneighbors
    kneighbors_graph = base.kneighbors_graph
    leave_one_out = leave_one_out
    tune = tune
    fit_tuned = fit_tuned

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and labels ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_parameters(self)
        if not 0.0 <= self.smoothing < np.inf:
            raise InputError(f"smoothing={self.smoothing} must be a number of votes, 0 or more.")
        base.fit_labels(self, X, y, sample_weight)
        fit_neighbors(self)
        return self

    def _loss(self) -> tuning.CountLoss:
        if not self.outputs_2d_:
            return tuning.ZeroOneLoss(self.codes_, len(self.classes_))
        columns = zip(self.output_codes_.T, self.classes_, strict=True)
        return tuning.SeveralLosses(
            tuple(tuning.ZeroOneLoss(np.ascontiguousarray(c), len(of)) for c, of in columns)
        )

    @on_one_blas_thread
    def predict_proba(self, X: Any) -> Any:
        """The weighted proportion of each class among the neighbors, smoothed if asked for.

        Without X (None), those of each training row among the others. With several targets, a list.
        """
        check_is_fitted(self, "points_")
        ballot = base.LabelVotes.of(self)
        votes, effective = reduce_neighbors(
            self, X, lambda near: (ballot.count(*near.flat), near.effective)
        )
        blocks = [np.concatenate(parts) for parts in zip(*votes, strict=True)]
        if s := float(self.smoothing):
            m = np.concatenate(effective)[:, None]
            blocks = [(m * part + s / part.shape[1]) / (m + s) for part in blocks]
        return blocks if self.outputs_2d_ else blocks[0]

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> NeighborFits | None:
        """Probabilities without each of the training rows; None if they need refits."""
        del X, y, sample_weight  # the rows are those that the model holds
        if self.outputs_2d_ or not has_form(self):
            return None
        return NeighborFits(own_answers(self))

    def _answers_of_neighbors(self) -> Answers:
        votes = np.eye(len(self.classes_))[self.codes_]
        return mean_answers(self.weights, votes, float(self.smoothing))

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest weighted vote; of equals, the first in ``classes_``."""
        check_is_fitted(self, "points_")
        votes = base.LabelVotes.of(self)
        codes = reduce_neighbors(self, X, lambda near: (votes.elect(*near.flat),))[0]
        return votes.label(np.concatenate(codes))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def formula(self) -> nodes.ClassFormula:
        """Votes of the k nearest rows; smoothed, their proportions count as m rows beside s."""
        near, k = nearest_node(self, base.LabelVotes.of(self).one_hot()), len(self.classes_)
        names = nodes.probability_names(self.classes_)
        p: nodes.Node = nodes.Ratio(near.sums, near.total, names=names)
        if s := float(self.smoothing):
            p = nodes.SmoothedVotes(near, k, s, names=names)
        votes = near.sums
        chosen = nodes.ChosenLabel(votes, one=False)
        return nodes.ClassFormula(chosen, self.classes_, None, p, decided_by=votes)


@declare_parameters
class KNeighborsRegressor(RegressorMixin, base.KNeighborsMixin, base.NeighborsModel):
    """Regression by the weighted mean, or another aggregate, of the k nearest training rows.

        f(x) = Σ vᵢ yᵢ / Σ vᵢ,   or the m with   Σ vᵢ 1{yᵢ < m} ≤ ½ Σ vᵢ ≥ Σ vᵢ 1{yᵢ > m}

    A training row of weight w counts as w neighbors. The median does not follow single targets
    that are far off.

    Parameters
    ----------
    n_neighbors : int or "auto", default=5
        k; "auto" takes the k with the least leave-one-out squared error, rows left out with their
        copies.
    weights : {"uniform", "distance", "gaussian"}, Gaussian, callable or None, default="uniform"
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
    leaf_size : int, default=30
    p : float, default=2
    metric : str, Metric or callable, default="minkowski"
    metric_params : dict, default=None
    n_jobs : int, default=None
    standardize : bool, default=False
    aggregate : {"mean", "median"} or callable, default="mean"
        What the prediction is of the neighbors' targets; a function is called for each row and
        target as ``aggregate(values, weights=weights)``, as ``numpy.average`` is, with weights that
        sum to one. "auto" chooses k for the mean only.

    Attributes
    ----------
    n_neighbors_ : int
        k.
    points_ : ndarray of shape (n_samples, n_features) or list
    targets_ : ndarray of shape (n_samples, n_targets)
    sample_weight_ : ndarray of shape (n_samples,)
    leave_one_out_ : LeaveOneOutErrors
        Leave-one-out errors by k, if k was chosen.
    metric_ : Metric
    effective_metric_ : str or callable
    effective_metric_params_ : dict
    n_samples_fit_ : int
    certificate_ : Certificate

    See Also
    --------
    KNeighborsClassifier : The same for classes.
    NadarayaWatson : A mean of all training rows with Gaussian weights.

    References
    ----------
    C. J. Stone, Consistent nonparametric regression, Annals of Statistics 5, 1977.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.KNeighborsRegressor(2).fit([[0], [1], [2], [3]], [0.0, 1.0, 4.0, 9.0])
    >>> model.predict([[0.4], [2.6]]).tolist()
    [0.5, 6.5]
    """

    _multi_output = True
    n_neighbors_: int = field(init=False)
    targets_: Floats = field(init=False)

    n_neighbors: int | str = 5
    _: KW_ONLY
    weights: Any = "uniform"
    algorithm: str = "auto"
    leaf_size: int = 30
    p: float = 2
    metric: Any = "minkowski"
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = None
    standardize: bool = False
    aggregate: Any = "mean"

    kneighbors = base.kneighbors
    kneighbors_graph = base.kneighbors_graph
    leave_one_out = leave_one_out
    tune = tune
    fit_tuned = fit_tuned

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to ``X`` and targets ``y``, or to :class:`~separatrix.rows.rows.Rows`."""
        check_parameters(self)
        if not callable(self.aggregate):
            check_option("aggregate", self.aggregate, ("mean", "median"), "a function")
        if self.aggregate != "mean" and self.n_neighbors == "auto":
            raise InputError(
                'n_neighbors="auto" compares the errors of means.',
                remedy="Give a number of neighbors, or search for one (GridSearchCV).",
            )
        base.fit_targets(self, X, y, sample_weight)
        fit_neighbors(self)
        return self

    def _loss(self) -> tuning.CountLoss:
        return tuning.SquaredLoss(self.targets_)

    @on_one_blas_thread
    def predict(self, X: Any) -> Floats:
        """The aggregate of the neighbors' targets; without X (None), of each row's others."""
        values = reduce_neighbors(self, X, lambda near: (self._aggregate(near),))[0]
        return base.as_targets(self, np.concatenate(values))

    def _aggregate(self, near: WeightedNeighbors) -> Floats:
        if not callable(self.aggregate):
            aggregate = weighted_means if self.aggregate == "mean" else weighted_medians
            return aggregate(self.targets_, near.indices, near.weights)
        out = np.empty((len(near.indices), self.targets_.shape[1]))
        for i, (rows, weights) in enumerate(zip(near.indices, near.weights, strict=True)):
            counts = weights > 0.0
            for j, values in enumerate(self.targets_[rows[counts]].T):
                out[i, j] = self.aggregate(values, weights=weights[counts])
        return out

    def leave_one_out_fits(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> NeighborFits | None:
        """Predictions without each of the training rows; None if they need refits."""
        del X, y, sample_weight  # the rows are those that the model holds
        if self.targets_.shape[1] != 1 or self.aggregate != "mean" or not has_form(self):
            return None
        return NeighborFits(own_answers(self))

    def _answers_of_neighbors(self) -> Answers:
        means = mean_answers(self.weights, self.targets_)
        return lambda distances, indices: means(distances, indices)[:, 0]

    def formula(self) -> nodes.NumberFormula:
        """The weighted mean of the k nearest rows."""
        if self.aggregate != "mean":
            raise NoFormula("Only means of the neighbors' targets have an export.")
        near = nearest_node(self, self.targets_)
        count = self.targets_.shape[1]
        flat = self.flat_ and count == 1
        return nodes.regression(nodes.Ratio(near.sums, near.total), self, flat=flat, count=count)


# -------------------------------------------------------------------------------------------------
# Predictions by the k nearest neighbors without each of the training rows.
#
# ŷ₋ᵢ(x) = ŷ(x) unless i is one of the k nearest rows of x; then the (k + 1)-th takes its place. The
# leave-one-out predictions of the training rows themselves are those by their nearest others.


#: Metrics that learn nothing from the rows.
FIXED = (Chebyshev, Euclidean, Manhattan, Minkowski)


@dataclass(frozen=True)
class NeighborFits:
    """Fits of which all but k say the same about a new row; ``own`` (n) or (n x K)."""

    own: Floats

    def changes(self, model: Any, X: Any) -> tuple[Floats, Ints, Floats]:
        """ŷ(x) (m), its k nearest rows (m x k), and what it is without each of them (m x k).

        Of classes, probabilities with one more axis.
        """
        k = model.n_neighbors_
        distances, indices = model.kneighbors(X, k + 1)
        answers = model._answers_of_neighbors()
        answer = answers(distances[:, :k], indices[:, :k])
        changed = np.empty((len(answer), k, *answer.shape[1:]))
        for j in range(k):
            others = np.delete(np.arange(k + 1), j)
            changed[:, j] = answers(distances[:, others], indices[:, others])
        return answer, indices[:, :k], changed

    def at(self, model: Any, X: Any) -> Floats:
        """ŷ₋ᵢ(x) (m x n), or (m x n x K)."""
        answer, indices, changed = self.changes(model, X)
        m, n = len(answer), len(self.own)
        predictions = np.repeat(answer[:, None], n, axis=1)
        predictions[np.arange(m)[:, None], indices] = changed
        return predictions


#: Distances and indices of neighbors ↦ what they say.
Answers = Callable[[Floats, Ints], Floats]


def mean_answers(weights: Any, targets: Floats, smoothing: float = 0.0) -> Answers:
    """Weighted means of targets (n x q); of votes, smoothed."""

    def answers(distances: Floats, indices: Ints) -> Floats:
        v = base.distance_weights(weights, distances)
        total = v.sum(axis=1, keepdims=True)
        found = np.einsum("ij,ijq->iq", v / total, targets[indices])
        if smoothing:
            m = total**2 / (v**2).sum(axis=1, keepdims=True)
            found = (m * found + smoothing / found.shape[1]) / (m + smoothing)
        return np.asarray(found)

    return answers


def has_form(model: Any) -> bool:
    """Whether nothing but the rows themselves was learned, and every row counts once."""
    fixed = isinstance(model.metric_, FIXED) and not model.standardize
    counts = WeightedSearch.of(model).counts_once and model.n_neighbors_ < model.n_samples_fit_
    encoding = vars(model).get("encoding_")
    plain = encoding is not None and encoding.is_identity
    return bool(fixed and counts and plain and model.n_neighbors != "auto")


def own_answers(model: Any) -> Floats:
    """What its nearest others say about each training row, by the arithmetic of new rows."""
    distances, indices = model.kneighbors(None)
    answers: Answers = model._answers_of_neighbors()
    return answers(distances, indices)
