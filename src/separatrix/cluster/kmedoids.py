"""K-medoids clustering in any metric, of rows or of any objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.cluster.base import IterativeClusterer, MetricClusterer
from separatrix.cluster.initialization import (
    build_medoids,
    kmedoids_plusplus,
    lexicographic_order,
    random_medoids,
)
from separatrix.cluster.pam import (
    ROUNDING,
    Singles,
    best_replacement_within,
    best_swap,
    k_medoids,
    pairwise_distances,
)
from separatrix.distances.names import PrecomputedDistances
from separatrix.kernels.base import n_items, take_items
from separatrix.messages import InputError, check_option, warn
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, Ints, unit_weights
from separatrix.threads import parallel_map

INITIALIZATIONS = {
    "k-medoids++": kmedoids_plusplus,
    "build": build_medoids,
    "random": random_medoids,
}
#: Most rows whose distances are all stored (four bytes each); above, samples of rows are used.
MAX_ROWS, SAMPLE_ROWS, N_SAMPLES = 12_000, 4_000, 5


@dataclass(frozen=True)
class _Search:
    """Medoids of some rows: ``swap`` and ``within`` are relative reductions that are left.

    ``swap`` is that of the best swap, ``within`` that of the best medoid within a cluster.
    """

    indices: Ints
    iterations: int
    converged: bool
    swap: float
    within: float


class KMedoids(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, MetricClusterer, IterativeClusterer
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
        The metric with what it learned from the rows.
    standardizer_ : Standardizer or None
        Means and scales of the columns if ``standardize``.
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

    labels_: Ints
    medoid_indices_: Ints

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = "euclidean",
        method: str = "pam",
        init: Any = "k-medoids++",
        n_init: Any = "auto",
        max_iter: int = 300,
        standardize: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.method = method
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.standardize = standardize
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Choose medoids among the rows of ``X``: a matrix, a frame, Rows, distances or a list."""
        points, given = self._fit_metric(X, sample_weight)
        weight = unit_weights(given, n_items(points))
        self._check_parameters(int((weight > 0).sum()))
        precomputed = isinstance(self.metric_, PrecomputedDistances)
        order = np.arange(len(weight)) if precomputed else lexicographic_order(points)
        rows = order[weight[order] > 0]
        rng = self._generator()
        search = self._search if len(rows) <= MAX_ROWS else self._search_samples
        found = search(points, rows, weight, rng)
        self._set_medoids(points, found.indices)
        labels, distance = self._nearest(self._to_medoids(points))
        labels[found.indices] = np.arange(len(found.indices))  # also among equal rows
        self.labels_, self.inertia_ = labels, float(weight @ distance)
        self.n_iter_ = found.iterations
        self.certificate_ = self._certificate(len(rows), found)
        if not found.converged:
            warn("SEP003", f"medoids still change after max_iter={self.max_iter} passes.")
        return self

    def _check_parameters(self, n: int) -> None:
        self._check_n_clusters(n)
        check_option("method", self.method, ("pam", "alternate"))
        if isinstance(self.init, str):
            check_option("init", self.init, INITIALIZATIONS, "row numbers")

    # -- search ------------------------------------------------------------------------------------

    def _search(self, points: Any, rows: Ints, weight: Floats, rng: np.random.Generator) -> _Search:
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
        return _Search(rows[best.indices], best.iterations, best.converged, swap, within)

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
    ) -> _Search:
        """CLARA: the best of several samples on all rows; later samples include its medoids."""
        if not isinstance(self.init, str):
            raise InputError(
                f"Above {MAX_ROWS} rows medoids are searched in samples: init cannot be row "
                "numbers."
            )
        best: _Search | None = None
        lowest = np.inf
        for _ in range(N_SAMPLES):
            sample = rng.choice(rows, size=min(self._sample_size(), len(rows)), replace=False)
            if best is not None:
                sample[: self.n_clusters] = best.indices
            found = self._search(points, rows[np.isin(rows, sample)], weight, rng)
            self._set_medoids(points, found.indices)
            loss = float(weight @ self._nearest(self._to_medoids(points))[1])
            if best is None or loss < lowest:
                lowest, best = loss, found
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

    def _certificate(self, n: int, found: _Search) -> Certificate:
        claim, kkt = "No swap of a medoid with another row lowers the loss", found.swap
        notes = ["A local optimum: other initializations may end lower."]
        if self.method == "alternate":
            claim = "Every medoid has the least total distance to the rows of its cluster"
            kkt = found.within
            if found.swap > ROUNDING:
                notes.append(f"A swap would lower the loss by {100 * found.swap:.2g} %.")
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

    def transform(self, X: Any) -> Floats:
        """Distance of every row to every medoid (of precomputed distances: their columns)."""
        check_is_fitted(self)
        return self.metric_.distances(self._query_points(X), self.cluster_centers_)

    def predict(self, X: Any) -> Ints:
        """The nearest medoid of every row."""
        return self._nearest(self._query_points(X))[0]

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)
