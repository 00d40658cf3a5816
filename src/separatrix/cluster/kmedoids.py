"""K-medoids clustering in any metric, of rows or of any objects."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.cluster import base, initialization, loops
from separatrix.distances.metrics import Euclidean, Metric, SquaredEuclidean
from separatrix.distances.names import PrecomputedDistances
from separatrix.estimators.base import reads_tables
from separatrix.formula import nodes
from separatrix.messages import InputError, check_option, warn
from separatrix.mixins import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from separatrix.optimize.convex import Certificate
from separatrix.parameters import declare_parameters
from separatrix.rows.schema import n_items, take_items, unit_weights
from separatrix.threads import MIN_PIECES, PIECE_NUMBERS, on_one_blas_thread, parallel_map, pieces

INITIALIZATIONS = {
    "k-medoids++": initialization.kmedoids_plusplus,
    "build": initialization.build_medoids,
    "random": initialization.random_medoids,
}
#: Most rows whose distances are all stored (four bytes each); above, samples of rows are used.
MAX_ROWS, SAMPLE_ROWS, N_SAMPLES = 12_000, 4_000, 5


@dataclass(frozen=True)
class _MedoidSearch:
    """Medoids of some rows: ``swap`` and ``within`` are relative reductions that are left.

    ``swap`` is that of the best swap, ``within`` that of the best medoid within a cluster.
    """

    indices: Ints
    iterations: int
    converged: bool
    swap: float
    within: float


@declare_parameters
class KMedoids(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, base.MetricClusterer, base.IterativeClusterer
):
    """K-medoids clustering by partitioning around medoids (PAM).

        minimize Σ w d(x, nearest medoid)

    Medoids are rows, so that any metric will do, and objects of any kind.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids.
    metric : str, Metric or callable, default="euclidean"
        d: a name, a metric, a function of two objects, or "precomputed".
    method : {"pam", "alternate"}, default="pam"
        "alternate" moves medoids within their clusters; "pam" goes on with swaps of a medoid and
        another row until none lowers the loss.
    init : {"k-medoids++", "build", "random"} or array-like of shape (n_clusters,), \
default="k-medoids++"
        How initial medoids are chosen (drawn far apart, greedy, or at random), or their row
        numbers.
    n_init : int or "auto", default="auto"
        Number of initializations, of which the best result is taken; "auto" is 2 for random ones
        and 1 otherwise.
    max_iter : int, default=300
        Maximum number of passes over the candidates.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter; the levels of a discrete
        column have one scale, so that it counts no more than a numeric one.
    random_state : int, RandomState or None, default=None
        Seed of the initializations, and of samples of large tables.

    Attributes
    ----------
    medoid_indices_ : ndarray of shape (n_clusters,)
        Row numbers of the medoids.
    cluster_centers_ : ndarray of shape (n_clusters, n_features) or list
        The medoids, as the metric compares them.
    labels_ : ndarray of shape (n_samples,)
        Cluster of every row.
    inertia_ : float
        The loss Σ w d(x, nearest medoid).
    n_iter_ : int
        Number of passes.
    metric_ : Metric
    standardizer_ : Standardizer or None
    certificate_ : Certificate
        By how much the best swap would lower the loss, recomputed from all distances.

    See Also
    --------
    KMeans : Clusters about means, for large tables.
    AgglomerativeClustering : A tree of clusters in any metric.
    medoid : The medoid of all rows.

    Notes
    -----
    Above 12 000 rows medoids are searched in five samples of 4 000 rows (or twice ``n_clusters``),
    each evaluated on all rows (CLARA); the certificate then holds within the sample.

    References
    ----------
    - L. Kaufman and P. J. Rousseeuw, Finding Groups in Data, Wiley, 1990.
    - E. Schubert and P. J. Rousseeuw, Fast and eager k-medoids clustering, Information Systems 101,
      2021.

    Examples
    --------
    >>> import separatrix as sx
    >>> words = ["kitten", "mitten", "bitten", "flower", "flowers"]
    >>> model = sx.KMedoids(2, metric="edit", init="build").fit(words)
    >>> model.cluster_centers_, model.labels_.tolist()
    (['kitten', 'flower'], [0, 0, 0, 1, 1])
    >>> model.inertia_, model.certificate_.holds
    (3.0, True)
    """

    labels_: Ints = field(init=False)
    medoid_indices_: Ints = field(init=False)

    n_clusters: int = 8
    _: KW_ONLY
    metric: Any = "euclidean"
    method: str = "pam"
    init: Any = "k-medoids++"
    n_init: Any = "auto"
    max_iter: int = 300
    standardize: bool = False
    random_state: Any = None

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Choose medoids among the rows of ``X``: a matrix, a frame, Rows, distances or a list."""
        points, given = self._fit_metric(X, sample_weight)
        weight = unit_weights(given, n_items(points))
        self._check_parameters(int((weight > 0).sum()))
        precomputed = isinstance(self.metric_, PrecomputedDistances)
        order = (
            np.arange(len(weight)) if precomputed else initialization.lexicographic_order(points)
        )
        rows = order[weight[order] > 0]
        rng = self._generator()
        search = self._search if len(rows) <= MAX_ROWS else self._search_samples
        best = search(points, rows, weight, rng)
        self._set_medoids(points, best.indices)
        labels, distance = self._nearest(self._to_medoids(points))
        labels[best.indices] = np.arange(len(best.indices))  # also among equal rows
        self.labels_, self.inertia_ = labels, float(weight @ distance)
        self.n_iter_ = best.iterations
        self.certificate_ = self._certificate(len(rows), best)
        if not best.converged:
            warn("SEP003", f"medoids still change after max_iter={self.max_iter} passes.")
        return self

    def _check_parameters(self, n: int) -> None:
        self._check_n_clusters(n)
        check_option("method", self.method, ("pam", "alternate"))
        if isinstance(self.init, str):
            check_option("init", self.init, INITIALIZATIONS, "row numbers")

    # -- search ------------------------------------------------------------------------------------

    def _search(
        self, points: Any, rows: Ints, weight: Floats, rng: np.random.Generator
    ) -> _MedoidSearch:
        """Medoids among some of the rows, the best of several initializations."""
        distance, w = pairwise_distances(self.metric_, points, rows), weight[rows]
        is_random = isinstance(self.init, str) and self.init != "build"
        n_init = self._check_iterations(2 if is_random else 1)
        starts = [self._initial_medoids(distance, w, rows, rng) for _ in range(n_init)]
        runs = parallel_map(
            lambda start: k_medoids(distance, w, start, method=self.method, max_iter=self.max_iter),
            starts,
        )
        best = min(runs, key=lambda run: run.loss)
        swap = within = 0.0
        if len(rows) > self.n_clusters and best.loss > 0:
            swap = max(best_swap(distance, w, best.indices) / best.loss, 0.0)
            within = best_replacement_within(distance, w, best.indices) / best.loss
        return _MedoidSearch(rows[best.indices], best.iterations, best.converged, swap, within)

    def _initial_medoids(
        self, distance: Singles, weight: Floats, rows: Ints, rng: np.random.Generator
    ) -> Ints:
        """Positions of the initial medoids among ``rows``."""
        if isinstance(self.init, str):
            return INITIALIZATIONS[self.init](distance, weight, self.n_clusters, rng)
        given = np.asarray(self.init, dtype=np.int64)
        distinct = given.shape == (self.n_clusters,) and len(np.unique(given)) == len(given)
        if not distinct or not np.isin(given, rows).all():
            raise InputError(f"init must be the numbers of {self.n_clusters} different rows.")
        return np.array([np.flatnonzero(rows == row)[0] for row in given], dtype=np.int64)

    def _search_samples(
        self, points: Any, rows: Ints, weight: Floats, rng: np.random.Generator
    ) -> _MedoidSearch:
        """CLARA: the best of several samples on all rows; later samples include its medoids."""
        if not isinstance(self.init, str):
            raise InputError(
                f"Above {MAX_ROWS} rows medoids are searched in samples: init cannot be row "
                "numbers."
            )
        best: _MedoidSearch | None = None
        lowest = np.inf
        for _ in range(N_SAMPLES):
            sample = rng.choice(rows, size=min(self._sample_size(), len(rows)), replace=False)
            if best is not None:
                sample[: self.n_clusters] = best.indices
            result = self._search(points, rows[np.isin(rows, sample)], weight, rng)
            self._set_medoids(points, result.indices)
            loss = float(weight @ self._nearest(self._to_medoids(points))[1])
            if best is None or loss < lowest:
                lowest, best = loss, result
        assert best is not None
        return best

    def _sample_size(self) -> int:
        size = max(SAMPLE_ROWS, 2 * self.n_clusters)
        if size > 2 * MAX_ROWS:
            raise InputError(
                f"Above {MAX_ROWS} rows at most {MAX_ROWS} medoids can be searched, not "
                f"{self.n_clusters}.",
                remedy="Use fewer, or KMeans.",
            )
        return size

    # -- result ------------------------------------------------------------------------------------

    def _set_medoids(self, points: Any, indices: Ints) -> None:
        """Set the medoids; of precomputed distances, those among them are stored."""
        self.medoid_indices_, self.precomputed_columns_ = indices, None
        self.cluster_centers_ = take_items(points, indices)
        if isinstance(self.metric_, PrecomputedDistances):
            self.precomputed_columns_ = indices
            self.cluster_centers_ = self.cluster_centers_[:, indices]

    def _to_medoids(self, points: Any) -> Any:
        """Training points as new points: of precomputed distances, the columns of the medoids."""
        columns = self.precomputed_columns_
        return points if columns is None else points[:, columns]

    def _certificate(self, n: int, medoid_search: _MedoidSearch) -> Certificate:
        claim, kkt = "No swap of a medoid with another row lowers the loss", medoid_search.swap
        notes = ["A local optimum: other initializations may end lower."]
        if self.method == "alternate":
            claim = "Every medoid has the least total distance to the rows of its cluster"
            kkt = medoid_search.within
            if medoid_search.swap > ROUNDING:
                notes.append(f"A swap would lower the loss by {100 * medoid_search.swap:.2g} %.")
        if n > MAX_ROWS:
            claim += " within the sample"
            sampled = f"{N_SAMPLES} samples of {min(self._sample_size(), n)} of the {n} rows"
            notes.insert(0, f"Medoids come from {sampled}, evaluated on all rows.")
        return Certificate(
            claim=claim,
            primal=self.inertia_,
            kkt=kkt,
            tolerance=10 * ROUNDING,
            statistic="distances of all pairs",
            notes=tuple(notes),
            promised=("kkt",),
        )

    # -- new rows ----------------------------------------------------------------------------------

    def _nearest(self, x: Any) -> tuple[Ints, Floats]:
        """The nearest medoid of every row, the first of equally near ones, and its distance."""
        labels, distances = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for _, block in self.metric_.prepare(self.cluster_centers_).blocks(x):
            labels.append(block.argmin(axis=1))
            distances.append(block.min(axis=1))
        return np.concatenate(labels), np.concatenate(distances)

    @on_one_blas_thread
    def transform(self, X: Any) -> Floats:
        """Distance of every row to every medoid (of precomputed distances: their columns)."""
        check_is_fitted(self)
        return self.metric_.distances(self._query_points(X), self.cluster_centers_)

    @on_one_blas_thread
    def predict(self, X: Any) -> Ints:
        """The nearest medoid of every row."""
        return self._nearest(self._query_points(X))[0]

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def formula(self) -> nodes.ClassFormula:
        """The nearest medoid."""
        x, k = self._query_node(), len(self.cluster_centers_)
        distances = nodes.Distances(
            x, self.cluster_centers_, self.metric_, names=base.cluster_names(k)
        )
        return replace(base.nearest_cluster(distances, k), distance=nodes.Least(distances))


# -------------------------------------------------------------------------------------------------
# Partitioning around medoids (PAM) from a matrix of distances.
#
#     minimize Σ w d(x, nearest medoid)
#
# Alternating (rows to the nearest medoid, medoids to the row of least total distance in their
# cluster) is fast and stops early; swaps of one medoid with one other row continue from there until
# no swap lowers the loss.


Singles = NDArray[np.float32]

#: A relative change of the loss below this is rounding: distances are in single precision.
ROUNDING = 1e-6
#: Distances that one thread computes at once.
BLOCK_NUMBERS = 500_000


@dataclass(frozen=True)
class MedoidResult:
    """Rows chosen as medoids, the label of every row, and the loss in the unit of the matrix."""

    indices: Ints
    labels: Ints
    loss: float
    iterations: int
    converged: bool


class _Assignment:
    """Distances with the nearest and second nearest medoid of every row."""

    def __init__(self, distance: Singles, weight: Floats) -> None:
        n = len(distance)
        self.distance, self.weight = distance, weight
        self.nearest, self.second_nearest = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.first, self.second = np.full(n, np.inf), np.full(n, np.inf)

    @property
    def _arrays(self) -> tuple[Ints, Ints, Floats, Floats]:
        return self.nearest, self.second_nearest, self.first, self.second

    def assign(self, medoids: Ints) -> float:
        """Assign all rows; the loss."""
        loops.two_nearest(self.distance, medoids, *self._arrays, 0, len(self.nearest))
        return self._loss(medoids)

    def swap(self, medoids: Ints, m: int) -> float:
        """Update the rows after medoid m was replaced; the loss."""
        loops.update_after_swap(self.distance, medoids, m, *self._arrays)
        return self._loss(medoids)

    def _loss(self, medoids: Ints) -> float:
        self.nearest[medoids] = np.arange(len(medoids))  # its own medoid, also among equal rows
        return float(self.weight @ self.first)

    def removal_losses(self, out: Floats) -> None:
        """Increase of the loss by removing each medoid."""
        loops.removal_losses(self.nearest, self.first, self.second, self.weight, out)


def k_medoids(
    distance: Singles, weight: Floats, start: Ints, *, method: str, max_iter: int
) -> MedoidResult:
    """Alternate from the rows ``start``; with method "pam", then swap until no swap helps."""
    assignment = _Assignment(distance, weight)
    medoids, iterations, converged = _alternate(assignment, start.copy(), max_iter)
    if method == "pam":
        passes, converged = _swap(assignment, medoids, max_iter)
        iterations += passes
    loss = assignment.assign(medoids)
    return MedoidResult(medoids, assignment.nearest.copy(), loss, iterations, converged)


def _alternate(assignment: _Assignment, medoids: Ints, max_iter: int) -> tuple[Ints, int, bool]:
    """Medoids to the row of least total distance in their cluster, until none changes."""
    for iteration in range(1, max_iter + 1):
        assignment.assign(medoids)
        order = np.argsort(assignment.nearest, kind="stable")
        ends = np.searchsorted(assignment.nearest[order], np.arange(len(medoids) + 1))
        clusters = [order[ends[m] : ends[m + 1]] for m in range(len(medoids))]
        new = np.array(_best_within(assignment, medoids, clusters), dtype=np.int64)
        if np.array_equal(new, medoids):
            return medoids, iteration, True
        medoids = new
    return medoids, max_iter, False


def _best_within(assignment: _Assignment, medoids: Ints, clusters: list[Ints]) -> list[int]:
    """The row of least total distance in every cluster; the medoid where none has less."""

    def best(m: int) -> int:
        members = clusters[m]
        totals = np.empty(len(members))
        loops.within_totals(assignment.distance, members, assignment.weight, totals)
        value = totals[members == medoids[m]].min(initial=np.inf)
        least = int(totals.argmin())
        return int(members[least] if totals[least] < value * (1 - ROUNDING) else medoids[m])

    numbers = range(len(medoids))
    if len(assignment.weight) ** 2 < PIECE_NUMBERS * len(medoids):
        return [best(m) for m in numbers]
    return parallel_map(best, numbers)


def _swap(assignment: _Assignment, medoids: Ints, max_iter: int) -> tuple[int, bool]:
    """Swap medoids in place while some swap lowers the loss; passes, and whether converged.

    Candidates are evaluated a batch at a time on all cores; of a batch the improving ones are
    evaluated again, best first, after every swap. It has converged after a pass without a swap.
    """
    n, k = len(assignment.nearest), len(medoids)
    removal, change, which = np.zeros(k), np.zeros(n), np.zeros(n, np.int64)
    loss = assignment.assign(medoids)
    without_swap, start, passes = 0, 0, 0

    def evaluate(rows: slice) -> None:
        loops.swap_changes(
            assignment.distance, assignment.nearest, assignment.first, assignment.second,
            assignment.weight, removal, rows.start, rows.stop, change, which,
        )  # fmt: skip

    assignment.removal_losses(removal)
    while without_swap < n and passes < max_iter and k < n:
        # Candidates that are evaluated before the best swaps among them are made.
        stop = min(start + 512, n)
        at = [
            slice(start + cut.start, start + cut.stop)
            for cut in pieces(stop - start, PIECE_NUMBERS // n)
        ]
        parallel_map(evaluate, at)
        without_swap += stop - start
        improving = start + np.flatnonzero(change[start:stop] < -ROUNDING * loss)
        for c in improving[np.argsort(change[improving], kind="stable")].tolist():
            if c in medoids:
                continue
            evaluate(slice(c, c + 1))
            if change[c] < -ROUNDING * loss:
                medoids[which[c]] = c
                loss = assignment.swap(medoids, int(which[c]))
                assignment.removal_losses(removal)
                without_swap = 0
        start = stop % n
        passes += start == 0
    return passes, bool(without_swap >= n or k >= n)


# -- what a certificate states ---------------------------------------------------------------------


def best_swap(distance: Singles, weight: Floats, medoids: Ints) -> float:
    """The largest reduction of the loss by any swap, recomputed from all distances.

    Shares no code with the search. Without medoid m a row has its second nearest medoid if m is its
    nearest, else the nearest; row c in place of m then leaves

        Σ w min(d(c, ·), first)  −  Σ over rows of m  w (min(d(c, ·), first) − min(d(c, ·), second))

    and the sums over the rows of every m are products with the 0/1 matrix of membership.
    """
    n, k = len(weight), len(medoids)
    to_medoids = np.sort(distance[medoids], axis=0)
    first = to_medoids[0]
    second = to_medoids[1] if k > 1 else np.full(n, np.inf, dtype=np.float32)
    member = np.zeros((n, k), dtype=np.float32)
    member[np.arange(n), distance[medoids].argmin(axis=0)] = weight
    finite = np.where(np.isfinite(second), second, distance.max())

    def least(a: int) -> float:
        rows = distance[a : a + step]
        near = np.minimum(rows, first)
        with_first = near @ member
        with_second = np.minimum(rows, finite, out=near) @ member if k > 1 else rows @ member
        losses = with_first.sum(axis=1, dtype=float)[:, None] - with_first + with_second
        return float(losses.min())

    step = max(1, min(-(-n // MIN_PIECES), BLOCK_NUMBERS // n))
    best = min(parallel_map(least, range(0, n, step)))
    return float(weight @ first.astype(float)) - best


def best_replacement_within(distance: Singles, weight: Floats, medoids: Ints) -> float:
    """The largest reduction of a cluster's total distance by another of its rows as medoid."""
    labels = distance[medoids].argmin(axis=0)
    labels[medoids] = np.arange(len(medoids))

    def reduction(m: int) -> float:
        members = np.flatnonzero(labels == m)
        step = max(1, BLOCK_NUMBERS // len(members))
        totals = [
            (distance[np.ix_(members[a : a + step], members)] @ weight[members]).min()
            for a in range(0, len(members), step)
        ]
        distance_sum = float(distance[medoids[m], members].astype(float) @ weight[members])
        return distance_sum - float(min(totals))

    return max(0.0, *parallel_map(reduction, range(len(medoids))))


# -- distances of all pairs ------------------------------------------------------------------------


def pairwise_distances(metric: Metric, points: Any, index: Ints) -> Singles:
    """d(x, z) for all pairs of the points ``index``, scaled to the order of 1."""
    if isinstance(metric, PrecomputedDistances):
        given = points[np.ix_(index, index)]
        return np.asarray(given / (given.max(initial=0.0) or 1.0), dtype=np.float32)
    chosen = take_items(points, index)
    if type(metric) is Euclidean:
        return _euclidean_distances(np.asarray(chosen))
    out = np.empty((len(chosen), len(chosen)), dtype=np.float32)
    unit = 0.0
    for rows, block in metric.prepare(chosen).blocks(chosen):
        unit = unit or float(block.max(initial=0.0))
        out[rows] = block / (unit or 1.0)
    return out


def _euclidean_distances(x: Floats) -> Singles:
    """Products in double precision about the mean, roots in single.

    Squares that are small relative to the largest lose their digits in the products: such pairs,
    and all pairs of a block with many of them, are computed from differences.
    """
    z = x - x.mean(axis=0)
    unit = float(np.abs(z).max(initial=0.0)) or 1.0
    z /= unit
    square = np.einsum("ij,ij->i", z, z)
    # Squares below this fraction of the largest lose single precision in products.
    inexact = 1e-8 * float(square.max(initial=0.0))
    out = np.empty((len(z), len(z)), dtype=np.float32)
    step = max(1, min(-(-len(z) // MIN_PIECES) + 64, BLOCK_NUMBERS // len(z)))
    half, ones = 0.5 * square, np.ones(len(z))
    # ½ ‖x‖² + ½ ‖z‖² − x·z as one product
    left = np.column_stack([z, half, ones])
    right = np.ascontiguousarray(np.column_stack([-z, ones, half]).T)

    def fill(a: int) -> None:
        part = left[a : a + step] @ right
        _recompute_small(part, z, a, inexact)
        rows = out[a : a + step]
        rows[:] = part
        np.sqrt(rows, out=rows)

    parallel_map(fill, range(0, len(z), step))
    return out


def _recompute_small(halves: Floats, z: Floats, start: int, inexact: float) -> None:
    """½ ‖x − z‖² from differences where it is at most ``inexact``; rows from ``start`` on."""
    # of the flat array: NumPy finds few entries of many much faster than in two dimensions
    i, j = np.divmod(np.flatnonzero(halves <= inexact), len(z))
    if len(i) > 4 * len(z):
        metric = SquaredEuclidean()
        metric.fill(z[start : start + len(halves)], metric.precompute(z), halves)
        halves *= 0.5
    else:
        difference = z[start + i] - z[j]
        halves[i, j] = 0.5 * np.einsum("ij,ij->i", difference, difference)
