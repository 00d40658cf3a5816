"""Instance-based models: training points are stored, and new points compared with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.distances import names
from separatrix.distances.axioms import MAX_SAMPLE, distance_concentration
from separatrix.distances.gower import NanEuclidean
from separatrix.distances.graphs import reachable_pairs
from separatrix.distances.metrics import Metric
from separatrix.distances.search import NearestNeighborSearch, NeighborLists, as_graph, stays_sparse
from separatrix.estimators import metric_inputs
from separatrix.estimators.base import numeric
from separatrix.estimators.class_labels import coded_items, coded_rows
from separatrix.formula.values import NoFormula
from separatrix.kernels import Gaussian
from separatrix.messages import InputError, check_option, warn
from separatrix.neighbors import loops
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.rows.schema import identity, n_items, take_items, unit_weights
from separatrix.selection.leave_one_out import LeftOut
from separatrix.statistics.moments import prepare
from separatrix.threads import parallel_map, pieces, thread_limit

if TYPE_CHECKING:
    from separatrix.mixins import KNeighborsMixin as KNeighborsMixin
    from separatrix.mixins import RadiusNeighborsMixin as RadiusNeighborsMixin
else:
    from sklearn.neighbors._base import KNeighborsMixin, RadiusNeighborsMixin  # noqa: F401

#: Trees of scikit-learn, which hold their points.
_TREES = ("KDTree", "BallTree", "KDTree64", "BallTree64", "KDTree32", "BallTree32")


def fit_points(model: Any, x: Any, w: Floats, rows: Ints, n_samples: int) -> None:
    """Store the points of positive weight, which are the given ``rows`` of ``n_samples``.

    ``points_`` are these points, ``sample_weight_`` their weights.
    """
    metric = model._chosen_metric()
    model.precomputed_columns_ = None
    if isinstance(metric, names.PrecomputedDistances):
        x = _precomputed_points(model, x, rows, n_samples)
    elif not model._fitted_to_objects:
        keep = sparse.issparse(x) and isinstance(metric, names.FunctionMetric)
        keep = model._searches and not model.standardize and (keep or stays_sparse(x, metric))
        x = sparse.csr_array(x, copy=True) if keep else metric_inputs.as_dense(x)
    if not n_items(x):
        raise InputError("There are no rows of positive weight to store.")
    model.points_ = model._fit_standardize(x, w, numeric=metric.of_vectors)
    model.sample_weight_ = w
    metric = metric_inputs.metric_of_table(metric, vars(model).get("encoding_"))
    model.metric_ = metric.fitted(model.points_, w)
    # With fewer columns distances do not concentrate.
    if isinstance(x, np.ndarray) and min(x.shape) >= 20 and not isinstance(metric, NanEuclidean):
        # Many columns average each distance: of a quarter of a million numbers fewer points tell as
        # much, and 32 points have 496 distances.
        most = min(MAX_SAMPLE, max(32, (1 << 18) // x.shape[1]))
        sample = model.points_[names.space_evenly(len(x), most)]
        concentration = distance_concentration(sample, model.metric_)
        if concentration.concentrated:
            warn("SEP008", str(concentration))


def _precomputed_points(model: Any, x: Any, rows: Ints, n_samples: int) -> Any:
    """Distances among the rows of positive weight; a sparse graph stays sparse."""
    if x.shape[1] != n_samples:
        raise InputError(
            f"Precomputed distances among {n_samples} rows are a square matrix, not "
            f"{n_samples}x{x.shape[1]}.",
            remedy="Give the distance of every training row to every training row.",
        )
    if sparse.issparse(x) and not model._searches:
        raise InputError(
            "A sparse graph holds the distances to some neighbors, and all are needed here.",
            remedy="Give a full matrix of distances.",
        )
    model.precomputed_columns_ = np.asarray(rows, dtype=np.int64)
    chosen = x if len(rows) == n_samples else x[:, rows]
    return as_graph(chosen).copy() if sparse.issparse(x) else metric_inputs.as_dense(chosen)


def leave_out(model: Any, targets: NDArray[Any]) -> tuple[LeftOut, Any]:
    """The training rows that differ, to be left out with their copies, and their points."""
    left_out = LeftOut.of(model.points_, targets, model.sample_weight_)
    points, rows = chosen_items(model.points_, left_out.rows), left_out.rows
    if model.precomputed_columns_ is not None and len(rows) < n_items(model.points_):
        points = points[:, rows]
    return left_out, points


def stored_points(X: Any, model: Any) -> Any:
    """The points of a fitted search, ours or a tree of scikit-learn's; anything else as it is.

    Of precomputed distances those that are infinite belong to no neighbors.
    """
    if isinstance(X, NeighborsModel):
        return X.points_
    if type(X).__name__ in _TREES:
        return np.asarray(X.data)
    return reachable_pairs(X) if metric_inputs.is_precomputed(model) else X


def chosen_items(x: Any, rows: Ints) -> Any:
    """The items at ``rows``; all of them without a copy."""
    return x if len(rows) == n_items(x) else take_items(x, rows)


def fit_classes(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit to points with classes; ``codes_`` are those of the stored points, by position."""
    X = stored_points(X, model)
    if metric_inputs.holds_objects(model._chosen_metric(), X):
        coded = coded_items(model, metric_inputs.as_objects(X), y, sample_weight)
    else:
        coded = coded_rows(model, X, y, sample_weight)
        model.encoding_ = coded.encoding
        if model._skips_missing and not coded.encoding.is_identity:
            raw = metric_inputs.with_missing(coded.encoding, X.collect())
            coded = replace(coded, x=raw[coded.rows])
    model.codes_ = coded.codes
    fit_points(model, coded.x, coded.w, coded.rows, coded.n_samples)


def fit_targets(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit to points with numbers; ``targets_`` (n x k) are those of the stored points."""
    X = stored_points(X, model)
    if metric_inputs.holds_objects(model._chosen_metric(), X):
        x, given = model._read_points(X, sample_weight, objects=True)
        check_consistent_length(x, y)
        targets, w = np.asarray(y, dtype=np.float64), unit_weights(given, len(x))
        model.flat_ = targets.ndim == 1
        targets = targets.reshape(len(x), -1)
    else:
        table = model._training_rows(X, y, sample_weight)
        model.encoding_ = identity(table.schema)
        if isinstance(X, Rows):
            prepared = prepare(table)
            table, model.encoding_ = prepared.rows, prepared.encoding
        block = table.collect()
        if model._skips_missing and not model.encoding_.is_identity:
            block = replace(block, x=metric_inputs.with_missing(model.encoding_, X.collect()))
        numeric(block.targets)
        model.flat_ = isinstance(X, Rows) or np.asarray(y).ndim == 1
        x, w, targets = block.x, block.weights, block.y
    rows = np.flatnonzero(w > 0)
    model.targets_ = targets[rows].copy()
    fit_points(model, chosen_items(x, rows), w[rows], rows, len(w))


def as_targets(model: Any, predicted: Floats) -> Floats:
    """1-D if the training targets were."""
    found: Floats = predicted[:, 0] if model.flat_ and predicted.shape[1] == 1 else predicted
    return found


# -------------------------------------------------------------------------------------------------
# Parameters of a search for neighbors, in scikit-learn's names: what they mean, what they exclude.
#
# The search chooses its own method (a k-d tree or products) and is exact; ``algorithm`` and
# ``leaf_size`` are checked and change nothing, ``n_jobs`` limits the threads.


ALGORITHMS = ("auto", "ball_tree", "kd_tree", "brute")
_KD_TREE = (
    *("euclidean", "l2", "minkowski", "p", "manhattan", "cityblock", "l1"),
    *("chebyshev", "infinity"),
)
#: Metrics by name that a tree of each kind can search.
_TREE_NAMES = {
    "kd_tree": _KD_TREE,
    "ball_tree": (
        *_KD_TREE,
        *("seuclidean", "mahalanobis", "hamming", "canberra", "braycurtis", "jaccard", "dice"),
        *("rogerstanimoto", "russellrao", "sokalmichener", "sokalsneath", "haversine"),
    ),
}
_BY_EXPONENT = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}


class NeighborsModel(metric_inputs.PointsEstimator):
    """Training points with an exact search for neighbors.

    ``effective_metric_`` is the metric by its plainest name. Models of neighbors are scikit-learn's
    ``KNeighborsMixin`` or ``RadiusNeighborsMixin``, whose methods they all have their own: its
    functions take a fitted search only if it is one of these.
    """

    _searches = True
    _search_cache: NearestNeighborSearch | None = None
    classes_: Any  # of a classifier; of several targets, a list
    codes_: Ints
    output_codes_: Ints
    effective_metric_: Any
    effective_metric_params_: dict[str, Any]
    algorithm: str
    leaf_size: int
    p: float | None
    metric_params: dict[str, Any] | None
    n_jobs: int | None

    def _chosen_metric(self) -> Metric:
        """The metric with its parameters."""
        name, parameters = self._effective_metric()
        return names.metric_with(name, parameters)

    def _effective_metric(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters; "minkowski" by the name that its exponent has."""
        given = dict(self.metric_params or {})
        if not isinstance(self.metric, str) or self.metric != "minkowski":
            return self.metric, given
        p, w = given.pop("p", self.p), given.pop("w", None)
        p = 2 if p is None else p
        if w is None and p in _BY_EXPONENT:
            return _BY_EXPONENT[p], given
        return self.metric, {**given, "p": p, "w": w}

    def _check_search(self) -> None:
        """Refuse values that scikit-learn refuses; sets ``effective_metric_``."""
        check_option("algorithm", self.algorithm, ALGORITHMS)
        if not isinstance(self.leaf_size, Integral) or self.leaf_size < 1:
            raise InputError(f"leaf_size={self.leaf_size!r} must be a positive integer.")
        if self.n_jobs is not None and not isinstance(self.n_jobs, Integral):
            raise InputError(f"n_jobs={self.n_jobs!r} must be an integer or None.")
        if self.p is not None and (not isinstance(self.p, Real) or not self.p > 0):
            raise InputError(f"p={self.p!r} must be a positive number.")
        if self.metric_params is not None and not isinstance(self.metric_params, dict):
            raise InputError(f"metric_params={self.metric_params!r} must be a dict or None.")
        if self.metric_params and "p" in self.metric_params and self.p is not None:
            warnings.warn("p in metric_params replaces the parameter p.", SyntaxWarning, 4)
        self._check_tree()
        self.effective_metric_, self.effective_metric_params_ = self._effective_metric()

    def _check_tree(self) -> None:
        """Whether a tree of the kind that was asked for could search with this metric."""
        name, parameters = self._effective_metric()
        below_one = name == "minkowski" and parameters["p"] < 1 if isinstance(name, str) else False
        if self.algorithm in _TREE_NAMES:
            known = _TREE_NAMES[self.algorithm]
            fits = name in known if isinstance(name, str) else self.algorithm == "ball_tree"
            weighted = parameters.get("w") is not None and self.algorithm == "kd_tree"
            pairwise = hasattr(name, "pairwise")
            if below_one:
                raise InputError(
                    f'algorithm="{self.algorithm}" does not support 0 < p < 1 for the Minkowski '
                    "metric.",
                    remedy='To resolve this problem either set p >= 1 or algorithm="brute".',
                )
            if weighted or not (fits or pairwise):
                raise InputError(
                    f"algorithm={self.algorithm!r} does not support metric={self.metric!r} with "
                    "these parameters.",
                    remedy="Use algorithm='auto', which gives the same neighbors.",
                )
        elif below_one:
            warnings.warn(
                "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing "
                "the execution with `algorithm='brute'`: the triangle inequality does not hold.",
                UserWarning,
                4,
            )

    def _build_search(self) -> NearestNeighborSearch:
        self._search_cache = NearestNeighborSearch(self.points_, self.metric_)
        return self._search_cache

    @property
    def _search(self) -> NearestNeighborSearch:
        """The search over the training points, built again after loading."""
        return self._build_search() if self._search_cache is None else self._search_cache

    @property
    def n_samples_fit_(self) -> int:
        """The number of training rows that are searched."""
        if "points_" not in vars(self):
            raise AttributeError("n_samples_fit_: not fitted yet")
        return n_items(self.points_)

    @property
    def _fit_X(self) -> Any:
        """The training points as queries, by the name that functions of scikit-learn read."""
        if "points_" not in vars(self):
            raise AttributeError("_fit_X: not fitted yet")
        scaled = self.standardizer_
        return self.points_ if scaled is None else scaled.inverse_transform(self.points_)

    def __getstate__(self) -> dict[str, Any]:
        """Without the search index, which is rebuilt from the points."""
        return {k: v for k, v in super().__getstate__().items() if k != "_search_cache"}


# -------------------------------------------------------------------------------------------------
# Neighbors of new rows, or of the training rows among themselves: as lists, and as graphs.
#
# A class takes those of these functions for its methods that it has.


MODES = ("connectivity", "distance")


def kneighbors(
    self: Any, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
) -> Any:
    """Distances and indices of the nearest training points; without X, of each one's others."""
    check_is_fitted(self, "points_")
    if n_neighbors is None:
        n_neighbors = getattr(self, "n_neighbors_", self.n_neighbors)
    elif not isinstance(n_neighbors, Integral):
        raise TypeError(f"n_neighbors={n_neighbors!r} is not a count: give an integer.")
    k = check_n_neighbors(n_neighbors)
    with thread_limit(self.n_jobs):
        if X is None:
            neighbors = self._search.nearest_others(k, self.points_)
        else:
            neighbors = self._search.nearest(self._query_points(X), k)
    return (neighbors.distances, neighbors.indices) if return_distance else neighbors.indices


def kneighbors_graph(
    self: Any, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
) -> Any:
    """The k nearest training points as a sparse matrix (CSR), of ones or of distances.

    Without X, the graph of the training points, none of which is its own neighbor.
    """
    check_is_fitted(self, "points_")
    check_mode(mode)
    distances, indices = kneighbors(self, X, n_neighbors)
    starts = np.arange(0, indices.size + 1, indices.shape[1])
    values = distances.ravel() if mode == "distance" else np.ones(indices.size)
    return as_matrix(values, indices.ravel(), starts, self.n_samples_fit_)


def find_within(model: Any, X: Any, radius: Any = None) -> NeighborLists:
    """All training points within ``radius``, by default the model's, of every row."""
    check_is_fitted(model, "points_")
    given = model.radius if radius is None else radius
    if np.ndim(given) == 1:  # one for each row
        each = np.array([check_radius(r) for r in given])
        near = find_within(model, X, float(each.max(initial=0.0)))
        if len(each) != len(near.starts) - 1:
            raise InputError(f"{len(each)} radii for {len(near.starts) - 1} rows.")
        return near.where(near.distances <= each[near.rows])
    r = check_radius(given)
    with thread_limit(model.n_jobs):
        search: NearestNeighborSearch = model._search
        if X is None:
            return search.others_within(r, model.points_)
        return search.within(model._query_points(X), r)


def radius_neighbors(
    self: Any,
    X: Any = None,
    radius: float | None = None,
    return_distance: bool = True,
    sort_results: bool = False,
) -> Any:
    """Distances and indices of all training points within ``radius``, an array for each row.

    They come in the order of the training points, or nearest first if ``sort_results``.
    Without X, the neighbors of each training point among the others.
    """
    if sort_results and not return_distance:
        raise InputError("return_distance must be True if sort_results: the order is by distance.")
    near = find_within(self, X, radius)
    near = near.nearest_first() if sort_results else near
    indices = near.split(near.indices)
    return (near.split(near.distances), indices) if return_distance else indices


def radius_neighbors_graph(
    self: Any,
    X: Any = None,
    radius: float | None = None,
    mode: str = "connectivity",
    sort_results: bool = False,
) -> Any:
    """All training points within ``radius`` as a sparse matrix (CSR), of ones or of distances.

    Without X, the graph of the training points, none of which is its own neighbor. The entries
    of a row come nearest first if ``sort_results``.
    """
    check_mode(mode)
    near = find_within(self, X, radius)
    near = near.nearest_first() if sort_results else near
    values = near.distances if mode == "distance" else np.ones(len(near.indices))
    return as_matrix(values, near.indices, near.starts, self.n_samples_fit_)


def as_matrix(values: Any, indices: Any, starts: Any, n: int) -> Any:
    """A CSR matrix, or array if scikit-learn is configured so; stored zeros are kept."""
    shape = (len(starts) - 1, n)
    arrays = get_config().get("sparse_interface", "spmatrix") == "sparray"
    return (sparse.csr_array if arrays else sparse.csr_matrix)(
        (values, indices, starts), shape=shape
    )


def check_mode(mode: Any) -> None:
    """Refuse a graph of anything but ones or distances."""
    if mode not in MODES:
        raise InputError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got "{mode}" '
            "instead."
        )


def check_n_neighbors(k: Any) -> int:
    """k as an int, refused unless it is a positive integer."""
    if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
        raise InputError(f"n_neighbors={k!r} is not a count.", remedy="Give 1, 2, … or 'auto'.")
    return int(k)


def check_radius(radius: Any) -> float:
    """The radius as a float, refused unless it is a number of 0 or more."""
    if not isinstance(radius, int | float | np.number) or not radius >= 0.0:
        raise InputError(
            f"radius={radius!r} is not a distance.", remedy="Give a number, 0 or more."
        )
    return float(radius)


# -------------------------------------------------------------------------------------------------
# Classes of neighbors: one target or several, and the votes for each class.


def fit_labels(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit to points with classes of one target, or of several.

    With several targets ``classes_`` is a list of arrays, and ``output_codes_`` has the place of
    ``codes_``, with a column for each.
    """
    model.outputs_2d_ = False
    for name in ("codes_", "output_codes_"):
        model.__dict__.pop(name, None)
    if not isinstance(X, Rows) and y is not None and np.asarray(y).ndim == 2:
        labels = np.asarray(y)
        if labels.shape[1] != 1:
            _fit_several(model, stored_points(X, model), labels, sample_weight)
            return
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: y.ravel().",
            DataConversionWarning,
            4,
        )
        y = labels[:, 0]
    fit_classes(model, X, y, sample_weight)


def _fit_several(model: Any, X: Any, y: NDArray[Any], sample_weight: Any) -> None:
    """Several targets, a column of y for each."""
    if metric_inputs.holds_objects(model._chosen_metric(), X):
        raise InputError("Objects have one target.", remedy="Fit a model for each target.")
    check_classification_targets(y)
    model.outputs_2d_ = True

    def encode(labels: Any) -> tuple[Floats, list[Any]]:
        return np.empty((len(labels), 0)), []

    rows = model._training_rows(X, y, sample_weight, encode_target=encode)
    assert isinstance(rows, ArrayRows)
    w = rows.block.weights
    positive = np.flatnonzero(w > 0.0)
    outputs = [np.unique(column, return_inverse=True) for column in y[positive].T]
    model.encoding_ = identity(rows.schema)
    model.classes_ = [classes for classes, _ in outputs]
    model.output_codes_ = np.column_stack([codes for _, codes in outputs]).astype(np.int64)
    fit_points(model, chosen_items(rows.block.x, positive), w[positive], positive, len(w))


@dataclass(frozen=True)
class LabelVotes:
    """Neighbors vote for their classes; with several targets, for one class of each.

    ``outputs`` are the classes of every target, ``codes`` those of the training rows with a column
    for every target. Neighbors of row i are ``indices[starts[i]:starts[i + 1]]``, and their weights
    likewise.
    """

    outputs: list[NDArray[Any]]
    codes: Ints
    several: bool

    @classmethod
    def of(cls, model: Any) -> LabelVotes:
        """Those of the training rows of a fitted model."""
        if model.outputs_2d_:
            return cls(model.classes_, model.output_codes_, True)
        return cls([model.classes_], model.codes_[:, None], False)

    def _each(self, work: Callable[[int, Ints, slice], None], n: int) -> None:
        """Work on every target, its codes, and pieces of n rows that are worth a thread."""
        columns = [np.ascontiguousarray(codes) for codes in self.codes.T]

        def run(part: slice) -> None:
            for target, codes in enumerate(columns):
                work(target, codes, part)

        parallel_map(run, pieces(n, 1024))

    def count(self, starts: Ints, indices: Ints, weights: Floats) -> list[Floats]:
        """Σ weight by row and class, for every target."""
        n = len(starts) - 1
        votes = [np.zeros((n, len(classes))) for classes in self.outputs]

        def add(target: int, codes: Ints, part: slice) -> None:
            loops.add_votes(starts[part.start :], indices, weights, codes, votes[target][part])

        self._each(add, n)
        return votes

    def elect(self, starts: Ints, indices: Ints, weights: Floats) -> Ints:
        """The class with most votes, a column for every target, as positions; −1 without votes.

        LabelVotes are counted row by row: memory does not grow with the number of classes.
        """
        elected = np.empty((len(self.outputs), len(starts) - 1), dtype=np.int64)

        def elect(target: int, codes: Ints, part: slice) -> None:
            k, out = len(self.outputs[target]), elected[target, part]
            loops.most_voted(starts[part.start :], indices, weights, codes, k, out)

        self._each(elect, elected.shape[1])
        return elected.T

    def label(self, codes: Ints) -> NDArray[Any]:
        """Labels of classes by their positions, a column of codes for every target."""
        columns = [classes[c] for classes, c in zip(self.outputs, codes.T, strict=True)]
        return np.stack(columns, axis=1) if self.several else np.asarray(columns[0])

    def one_hot(self) -> Floats:
        """Indicators of the classes of the stored rows (m x K)."""
        if self.several:
            raise NoFormula("Several targets of classes have no export.")
        return np.eye(len(self.outputs[0]))[self.codes[:, 0]]


# -------------------------------------------------------------------------------------------------
# Weights of neighbors: by distance, and by the sample weights that fill k places.


def _inverse_distance(distances: Floats) -> Floats:
    """1/d; where some neighbor has d = 0, one for those and zero for the others."""
    zero = distances == 0
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # Relative to the nearest, so that no unit makes the reciprocal overflow.
        least = np.where(zero.any(axis=1), 1.0, distances.min(axis=1))[:, None]
        weights = least / distances
    return np.where(zero.any(axis=1)[:, None], zero.astype(float), weights)


def _adaptive_gaussian(distances: Floats) -> Floats:
    """exp(−d²/2h²) with h the distance of the farthest of the k neighbors."""
    h = distances.max(axis=1)[:, None]
    return np.exp(-0.5 * (distances / np.where(h > 0, h, 1.0)) ** 2)


WEIGHTS: dict[str, Callable[[Floats], Floats]] = {
    "uniform": np.ones_like,
    "distance": _inverse_distance,
    "gaussian": _adaptive_gaussian,
}


def is_uniform(weights: Any) -> bool:
    """Whether all neighbors weigh the same, however far."""
    return weights is None or (isinstance(weights, str) and weights == "uniform")


def check_weights(weights: Any) -> None:
    """Refuse anything but a name, a Gaussian, a function of distances, or None."""
    if isinstance(weights, str):
        check_option("weights", weights, WEIGHTS)
    elif isinstance(weights, Gaussian) and weights.by_column:
        raise InputError(
            "A Gaussian with a bandwidth for each column is not a function of the distance.",
            remedy="Give one bandwidth, and scale the columns or choose a metric.",
        )
    elif weights is not None and not isinstance(weights, Gaussian) and not callable(weights):
        raise InputError(
            f"weights is a name, a Gaussian or a function of distances, not {weights!r}."
        )


def distance_weights(weights: Any, distances: Floats) -> Floats:
    """The weight of every neighbor from its distance.

    ``weights`` is a name, a :class:`Gaussian` kernel of fixed bandwidth, or a function of an array
    of distances.
    """
    check_weights(weights)
    if weights is None:
        return np.ones_like(distances)
    if isinstance(weights, str):
        return WEIGHTS[weights](distances)
    if isinstance(weights, Gaussian):
        return gaussian_weights(distances, float(weights.bandwidth))  # type: ignore[arg-type]
    return _given_weights(weights, distances)


def gaussian_weights(distances: Floats, h: float) -> Floats:
    """exp(−d²/2h²) relative to the nearest, so that not all underflow far from the data."""
    weights: Floats = np.empty(distances.shape)
    inverse = min(1.0 / h, np.finfo(np.float64).max)  # of the least h infinity, and 0·∞ no number
    loops.gaussian_weights(np.ascontiguousarray(distances, dtype=np.float64), inverse, weights)
    return weights


def _given_weights(function: Callable[[Any], Any], distances: Floats) -> Floats:
    """The values of a function; where some are infinite, those count alone, as at distance zero."""
    values = np.asarray(function(distances), dtype=float)
    if values.shape != distances.shape or np.isnan(values).any() or (values < 0).any():
        raise InputError(
            "The function for weights must return a number for every distance, none negative."
        )
    infinite = np.isinf(values)
    if infinite.any():
        values = np.where(infinite.any(axis=1)[:, None], infinite.astype(float), values)
    return values


def truncated_weights(indices: Ints, sample_weight: Floats, k: float) -> Floats:
    """Sample weights of the neighbors, near to far, truncated where their sum reaches k."""
    w = sample_weight[indices]
    before = np.cumsum(w, axis=1) - w
    return np.clip(k - before, 0.0, w)
