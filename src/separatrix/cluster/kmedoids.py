"""K-medoids: k of the rows themselves stand for all, in any metric and of any objects.

minimize Σ w d(x, nearest medoid)
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from separatrix.cluster.base import StandardizeMixin, points_of, starts_of
from separatrix.cluster.exemplars import Exemplars
from separatrix.cluster.initialization import in_order
from separatrix.cluster.pam import (
    ROUNDING,
    Medoids,
    best_exchange,
    build_start,
    k_medoids,
    random_start,
    spread_start,
)
from separatrix.cluster.pam_distances import pair_distances
from separatrix.distances.base import Metric
from separatrix.distances.names import PrecomputedDistances, metric_from
from separatrix.estimators.base import RowsEstimator, check_sample_weight
from separatrix.kernels.base import n_items
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Certificate
from separatrix.rows.block import Floats, unit_weights
from separatrix.rows.rows import Rows
from separatrix.statistics.preparation import prepare

STARTS = {"build": build_start, "spread": spread_start, "random": random_start}
#: Most rows whose distances are all held (four bytes each); above, samples of this many rows serve.
MOST_ROWS, SAMPLE_ROWS, SAMPLES = 12_000, 4_000, 5


class KMedoids(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, StandardizeMixin, RowsEstimator
):
    """K-medoids by exchanges (PAM) or by alternating; "pam" ends where no exchange helps.

    Parameters
    ----------
    n_clusters : number of medoids.
    metric : a name, a Metric, a function of two objects, or "precomputed" (X holds distances).
    method : "pam", or "alternate", which is quicker and never better.
    init : "spread" (drawn far apart), "build" (greedy, no chance in it), "random", or the
        numbers of the rows to start from.
    n_init : starts, of which the best is kept; "auto" is 2 where chance is in them, else 1.
    max_iter : most passes over the candidates.
    standardize : measure every column in units of its deviation, so that units do not matter.
    random_state : seed of the start, and of samples for large tables.

    Above 12 000 rows medoids are sought in samples of 4 000 (or twice n_clusters) and judged by all
    rows; the certificate says so.

    Attributes
    ----------
    medoid_indices_ : rows chosen. ``cluster_centers_``: the same as rows or objects.
    labels_, inertia_ : cluster of every row, and the loss Σ w d.
    metric_, exemplars_, n_iter_, certificate_.
    """

    labels_: NDArray[np.int64]
    medoid_indices_: NDArray[np.int64]
    exemplars_: Exemplars
    metric_: Metric
    certificate_: Certificate

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Any = "euclidean",
        method: str = "pam",
        init: Any = "spread",
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
        metric, points, weight = self._measured(X, sample_weight)
        self._check(int((weight > 0).sum()))
        given = isinstance(metric, PrecomputedDistances)
        order = np.arange(len(weight)) if given else in_order(points)
        kept = order[weight[order] > 0]
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        if len(kept) <= MOST_ROWS:
            found, gain = self._solve(metric, points, kept, weight[kept], rng, prove=True)
            index, settled = kept[found.index], found.settled
        else:
            index, settled, found, gain = self._by_samples(metric, points, kept, weight, rng)
        self._accept(metric, points, weight, index, found)
        self.certificate_ = self._proof(len(kept), gain, settled)
        if not settled:
            warn("SEP003", f"medoids still change after max_iter={self.max_iter} passes.")
        return self

    # -- input ---------------------------------------------------------------------------------

    def _measured(self, X: Any, sample_weight: Any) -> tuple[Metric, Any, Floats]:
        metric = metric_from(self.metric)
        if isinstance(X, Rows):
            prepared = prepare(X)
            self._name_columns(X)
            self.encoding_ = prepared.encoding
            block = prepared.rows.collect()
            points, given = block.dense(), block.w
        else:
            points = points_of(self, metric, X)
            given = check_sample_weight(sample_weight, n_items(points))
        points = self._fit_standardize(metric, points, given)
        metric = metric.fitted(points, given)
        points = metric.validate(points)
        if isinstance(metric, PrecomputedDistances):
            metric.precompute(points)
        return metric, points, unit_weights(given, n_items(points))

    def _check(self, n: int) -> None:
        if not isinstance(self.n_clusters, int | np.integer) or self.n_clusters < 1:
            raise InputError(f"n_clusters={self.n_clusters!r} must be a whole number from 1 up.")
        if n < self.n_clusters:
            raise InputError(
                f"n_samples={n} should be >= n_clusters={self.n_clusters}: every medoid is a row.",
                remedy="Ask for fewer clusters.",
            )
        if self.method not in ("pam", "alternate"):
            raise InputError(f"method={self.method!r} is unknown.", remedy="'pam' or 'alternate'.")
        if isinstance(self.init, str) and self.init not in STARTS:
            raise InputError(
                f"init={self.init!r} is unknown.",
                remedy="Use 'spread', 'build', 'random' or the numbers of rows.",
            )

    # -- the search ----------------------------------------------------------------------------

    def _solve(
        self,
        metric: Metric,
        points: Any,
        kept: NDArray[np.int64],
        weight: Floats,
        rng: np.random.Generator,
        *,
        prove: bool,
    ) -> tuple[Medoids, float]:
        """Medoids of some rows, and the share of the loss that the best exchange still saves."""
        distance = pair_distances(metric, points, kept)
        chance = isinstance(self.init, str) and self.init != "build"
        times = starts_of(self.n_init, 2 if chance else 1, self.max_iter)
        starts = [self._start(distance, weight, kept, rng) for _ in range(times)]
        found = min(
            (
                k_medoids(distance, weight, start, method=self.method, max_iter=self.max_iter)
                for start in starts
            ),
            key=lambda one: one.loss,
        )
        if not prove or len(kept) <= self.n_clusters:
            return found, 0.0
        saved = best_exchange(distance, weight, found.index)
        return found, saved / found.loss if found.loss > 0 else 0.0

    def _start(
        self,
        distance: NDArray[np.float32],
        weight: Floats,
        kept: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> NDArray[np.int64]:
        if isinstance(self.init, str):
            return STARTS[self.init](distance, weight, self.n_clusters, rng)
        rows = np.asarray(self.init, dtype=np.int64)
        whole = rows.shape == (self.n_clusters,) and len(np.unique(rows)) == len(rows)
        if not whole or not np.isin(rows, kept).all():
            raise InputError(f"init must name {self.n_clusters} different rows by number.")
        return np.array([np.flatnonzero(kept == row)[0] for row in rows], dtype=np.int64)

    def _by_samples(
        self,
        metric: Metric,
        points: Any,
        kept: NDArray[np.int64],
        weight: Floats,
        rng: np.random.Generator,
    ) -> tuple[NDArray[np.int64], bool, Medoids, float]:
        """The best of several samples, each judged by all rows; later ones hold its medoids."""
        if not isinstance(self.init, str):
            raise InputError(
                f"Above {MOST_ROWS} rows medoids are sought in samples: no start can be given."
            )
        best: Any = None
        lowest = np.inf
        for _ in range(SAMPLES):
            drawn = rng.choice(kept, size=min(self._sample_rows(), len(kept)), replace=False)
            if best is not None:
                drawn[: self.n_clusters] = best[0]
            drawn = kept[np.isin(kept, drawn)]
            found, gain = self._solve(metric, points, drawn, weight[drawn], rng, prove=True)
            index = drawn[found.index]
            near = Exemplars(_picked(metric, points, index), metric).nearest(
                _seen(metric, points, index)
            )[1]
            loss = float(weight @ near)
            if loss < lowest:
                lowest, best = loss, (index, found.settled, found, gain)
        return best  # type: ignore[no-any-return]

    def _sample_rows(self) -> int:
        """Rows enough to choose among."""
        rows = max(SAMPLE_ROWS, 2 * self.n_clusters)
        if rows > 2 * MOST_ROWS:
            raise InputError(
                f"Above {MOST_ROWS} rows at most {MOST_ROWS} medoids can be sought, not "
                f"{self.n_clusters}.",
                remedy="Ask for fewer, or use KMeans.",
            )
        return rows

    # -- what came out -------------------------------------------------------------------------

    def _accept(
        self,
        metric: Metric,
        points: Any,
        weight: Floats,
        index: NDArray[np.int64],
        found: Medoids,
    ) -> None:
        self.medoid_indices_, self.metric_ = index, metric
        self.cluster_centers_ = _picked(metric, points, index)
        self.exemplars_ = Exemplars(self.cluster_centers_, metric)
        labels, distance = self.exemplars_.nearest(_seen(metric, points, index))
        labels[index] = np.arange(len(index))  # a medoid is its own, also among equal rows
        self.labels_, self.inertia_ = labels, float(weight @ distance)
        self.n_iter_ = found.iterations

    def _proof(self, n: int, gain: float, settled: bool) -> Certificate:
        pam = self.method == "pam"
        claim = (
            "No exchange of a medoid for another row lowers the loss"
            if pam
            else "Every medoid is the middle of its own rows; exchanges were not sought"
        )
        notes = ["A local optimum: other starts may end lower."]
        if n > MOST_ROWS:
            claim += " within the sample"
            notes.insert(
                0,
                f"Medoids come from {SAMPLES} samples of {min(self._sample_rows(), n)} of the {n} "
                "rows, judged by all rows.",
            )
        if not pam and gain > ROUNDING:
            notes.append(f"An exchange would lower the loss by {100 * gain:.2g} %.")
        return Certificate(
            claim=claim,
            primal=self.inertia_,
            kkt=max(gain, 0.0) if pam else np.nan,
            tolerance=10 * ROUNDING if pam and settled else np.nan,
            statistic="distances of all pairs",
            notes=tuple(notes),
            promised=("kkt",) if pam and settled else (),
        )

    def _new(self, X: Any) -> Any:
        metric = self.exemplars_.metric
        encoding = getattr(self, "encoding_", None)
        if encoding is not None or isinstance(X, Rows):
            x = self._design(X)
            return self._standardized(x.toarray() if sparse.issparse(x) else x)
        if hasattr(self, "n_features_in_"):
            x = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
            x, given = (
                x.toarray() if sparse.issparse(x) else x,
                isinstance(metric, PrecomputedDistances),
            )
            return self._standardized(x[:, self.medoid_indices_] if given else x)
        return metric.validate(X)

    def transform(self, X: Any) -> Floats:
        """Distance of every row to every medoid (of precomputed distances: their columns)."""
        check_is_fitted(self)
        return self.exemplars_.distances(self._new(X))

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The nearest medoid of every row."""
        check_is_fitted(self)
        return self.exemplars_.nearest(self._new(X))[0]

    @property
    def _n_features_out(self) -> int:
        return len(self.medoid_indices_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags


def _picked(metric: Metric, points: Any, index: NDArray[np.int64]) -> Any:
    """The medoids as points; of given distances, the square of those among them."""
    if isinstance(metric, PrecomputedDistances):
        return points[np.ix_(index, index)]
    return points[index] if isinstance(points, np.ndarray) else [points[i] for i in index]


def _seen(metric: Metric, points: Any, index: NDArray[np.int64]) -> Any:
    """The rows as the exemplars see them: of given distances, the columns of the medoids."""
    return points[:, index] if isinstance(metric, PrecomputedDistances) else points
