"""K-means clustering of tables in memory or streamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_random_state

from separatrix.arrays import Floats, Matrix, NDArray
from separatrix.cluster import initialization, streaming
from separatrix.cluster.base import (
    IterativeClusterer,
    cluster_names,
    nearest_cluster,
    zero_one_columns,
)
from separatrix.cluster.lloyd import (
    LARGE,
    ColumnSpread,
    LloydResult,
    first_best,
    lloyd,
    nearest_centers,
)
from separatrix.cluster.streaming import MIN_SPARSE
from separatrix.convergence import NotConvergedWarning
from separatrix.distances.metrics import SquaredEuclidean
from separatrix.estimators.base import reads_tables
from separatrix.estimators.metric_inputs import as_dense
from separatrix.formula import nodes
from separatrix.messages import InputError, check_option, warn, warn_as
from separatrix.mixins import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from separatrix.parameters import declare_parameters
from separatrix.rows.rows import ArrayRows, InMemory, Rows
from separatrix.rows.schema import Block, check_sample_weight, identity
from separatrix.statistics.moments import prepare
from separatrix.threads import on_one_blas_thread

#: Rows of a streamed table from which initial centers are drawn.
SAMPLE_ROWS = 50_000
#: Moves of simulated annealing for each center.
ANNEALING_MOVES = 10


def anneal_centers(x: Matrix, w: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Centers by simulated annealing from those of k-means++: one center at a time goes to a row.

    Two Lloyd steps follow each move, after which the clusters that lost and gained a center have
    settled enough to be compared. A rise Δ of the inertia is taken with probability exp(−Δ/T); T
    falls from a tenth of the inertia of a cluster to a thousandth.
    """
    is_sparse = sparse.issparse(x)
    run = partial(streaming.sparse_lloyd if is_sparse else lloyd, x, w, max_iter=2)
    order = initialization.lexicographic_order(x)
    weight = w[order]
    plusplus = initialization.sparse_plusplus if is_sparse else initialization.kmeans_plusplus
    current = best = run(plusplus(x, w, k, rng))
    moves = ANNEALING_MOVES * k
    for move in range(moves):
        if current.inertia == 0.0:  # every row is a center
            break
        temperature = current.inertia / k * 0.1 ** (1.0 + 2.0 * move / moves)
        center, u = int(rng.integers(k)), rng.random(2)
        centers, row = current.centers.copy(), order[initialization.draw(weight, u[:1])]
        centers[center] = as_dense(x[row])[0]
        trial = run(centers)
        rise = trial.inertia - current.inertia
        if rise <= 0.0 or u[1] < np.exp(-rise / temperature):
            current = trial
            best = min(best, current, key=lambda result: result.inertia)
    return best.centers


#: Of dense rows, and of sparse ones.
INITIALIZATIONS = {
    "k-means++": (initialization.kmeans_plusplus, initialization.sparse_plusplus),
    "random": (initialization.random_centers, initialization.sparse_random),
    "annealing": (anneal_centers, anneal_centers),
}


@declare_parameters
class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, IterativeClusterer):
    """K-means clustering by Lloyd iterations until no row changes its cluster.

        minimize Σ w ‖x − c(x)‖²,    c(x) the center of the cluster of x

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centers.
    init : {"k-means++", "random", "annealing"}, callable or array-like of shape \
(n_clusters, n_features), default="k-means++"
        How initial centers are chosen, a function ``init(X, n_clusters, random_state=…)`` that
        returns them, or the centers themselves. "annealing" searches among 10 ``n_clusters`` moves
        of single centers: slower, and seldom at a poor local minimum.
    n_init : int or "auto", default="auto"
        Number of initializations, of which the best result is taken; "auto" is 1, and 10 for
        ``init="random"`` or a function.
    max_iter : int, default=300
        Maximum number of Lloyd iterations.
    tol : float, default=1e-4
        Iterations go on until no row changes its cluster or no center moves, whatever ``tol``. If
        ``max_iter`` ends them earlier, that is warned of unless the squared steps of the centers
        are down to this fraction of the mean variance of the columns.
    verbose : int, default=0
        Whether to print how the iterations from each initialization ended.
    random_state : int, RandomState or None, default=None
        Seed of the initializations.
    copy_x : bool, default=True
        Ignored, ``X`` is never changed; accepted for scikit-learn compatibility.
    algorithm : {"lloyd", "elkan"}, default="lloyd"
        Ignored, both give the same iterations; accepted for scikit-learn compatibility.
    standardize : bool, default=False
        Standardize the columns first, so that their units do not matter; the levels of a discrete
        column have one scale, so that it counts no more than a numeric one.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centers, in the units of the table.
    labels_ : ndarray of shape (n_samples,)
        Cluster of every training row; absent for streamed tables (use ``predict``).
    inertia_ : float
        Σ w ‖x − c‖², of standardized columns if ``standardize``.
    sizes_ : ndarray of shape (n_clusters,)
        Sum of weights of every cluster.
    n_iter_ : int
        Number of Lloyd iterations.
    n_evaluations_ : int
        Of ``init="annealing"``, the positions of centers that were compared, in all
        initializations.
    standardizer_ : Standardizer or None
    certificate_ : Certificate
        Whether the result is a fixed point, checked by a separate pass over all rows.

    See Also
    --------
    KMedoids : Clusters about rows, in any metric.
    KernelKMeans : K-means in the feature space of a kernel.
    AgglomerativeClustering : A tree of clusters.
    silhouette : How well rows fit their clusters.

    References
    ----------
    - S. P. Lloyd, Least squares quantization in PCM, IEEE Transactions on Information Theory 28,
      1982.
    - D. Arthur and S. Vassilvitskii, k-means++: the advantages of careful seeding, SODA, 2007.
    - S. Z. Selim and K. Alsultan, A simulated annealing algorithm for the clustering problem,
      Pattern Recognition 24, 1991.

    Examples
    --------
    >>> import separatrix as sx
    >>> x = [[8.0], [44.0], [50.0], [58.0], [84.0]]
    >>> model = sx.KMeans(2, init=[[8.0], [50.0]]).fit(x)
    >>> model.labels_.tolist(), model.cluster_centers_.tolist()
    ([0, 1, 1, 1, 1], [[8.0], [59.0]])
    >>> round(model.inertia_, 6), model.certificate_.holds
    (932.0, True)
    """

    labels_: NDArray[np.int32] = field(init=False)
    cluster_centers_: Floats = field(init=False)

    n_clusters: int = 8
    _: KW_ONLY
    init: Any = "k-means++"
    n_init: Any = "auto"
    max_iter: int = 300
    tol: float = 1e-4
    verbose: int = 0
    random_state: Any = None
    copy_x: bool = True
    algorithm: str = "lloyd"
    standardize: bool = False

    @reads_tables
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find centers for the rows of ``X``: a matrix, dense or sparse, a data frame, or Rows."""
        rows, spread = self._prepare(self._unlabeled_rows(X, sample_weight))
        self._check_n_clusters(spread.count)
        self._check_parameters()
        self.standardizer_ = None
        if self.standardize:
            discrete = zero_one_columns(self.encoding_)
            self.standardizer_ = spread.standardizer.with_pooled_scales(discrete)
        variance = spread.variance(self.standardizer_)
        if isinstance(rows, ArrayRows) and sparse.issparse(rows.block.x):
            rows = ArrayRows(streaming.dense_if_small(rows.block.x, spread), None, rows.block.w)
        runs = self._runs(rows, spread)
        if self.verbose:
            print(*(self._describe(run) for run in runs), sep="\n")
        self._set_result(rows, first_best(runs), variance)
        return self

    def _prepare(self, rows: Rows) -> tuple[Rows, ColumnSpread]:
        """Encoded rows and the spread of their columns; a table in memory becomes a matrix."""
        if isinstance(rows, ArrayRows):
            self.encoding_ = identity(rows.schema)
            return rows, ColumnSpread.from_block(rows.block)
        prepared = prepare(rows)
        self.encoding_, spread = prepared.encoding, ColumnSpread.from_moments(prepared.moments)
        if not isinstance(rows, InMemory):
            return prepared.rows, spread
        block = prepared.rows.collect()
        return ArrayRows(block.x, None, block.w), spread

    # -- initializations and iterations ------------------------------------------------------------

    def _describe(self, run: LloydResult) -> str:
        """How the iterations from one initialization ended."""
        end = f"Stopped by max_iter={self.max_iter}."
        if run.converged:
            end = f"Converged: strict convergence, center shift 0 within tolerance {self.tol:g}."
        steps = f"Iteration {run.iterations}, inertia {run.inertia:.6g}."
        return f"Initialization complete\n{steps}\n{end}"

    def _check_parameters(self) -> None:
        if isinstance(self.init, str):
            check_option("init", self.init, INITIALIZATIONS, "an array of centers, a function")
        check_option("algorithm", self.algorithm, ("lloyd", "elkan"))
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warn_as(
                RuntimeWarning,
                "algorithm='elkan' doesn't make sense for a single cluster: both are one step.",
            )
        if not self.tol >= 0.0:
            raise InputError(f"tol={self.tol!r} must not be negative.")

    def _runs(self, rows: Rows, spread: ColumnSpread) -> list[LloydResult]:
        """Lloyd iterations from every initialization."""
        seed, rng = initialization.seed_generator(self.random_state)
        block = rows.block if isinstance(rows, ArrayRows) else None
        is_sparse = block is not None and sparse.issparse(block.x)
        if block is not None and not is_sparse and block.x.size <= LARGE:
            x, w = block.x, block.weights
            if not w.all():
                x, w = x[w > 0], w[w > 0]
            x = np.ascontiguousarray(self._standardize(x))
            starts = self._initial_centers(x, w, rng)
            origin = spread.origin_and_unit(self.standardizer_, w)
            return [lloyd(x, w, start, max_iter=self.max_iter, origin=origin) for start in starts]
        if block is not None and is_sparse:
            return self._sparse_runs(block, rng)
        sample, weight = np.zeros((0, len(spread.mean))), np.zeros(0)
        if self._draws:
            size = max(SAMPLE_ROWS, 50 * self.n_clusters)
            sample, weight = streaming.sample_rows(rows, size, seed, spread.count)
        starts = self._initial_centers(self._standardize(sample), weight, rng)
        if block is not None and (block.w is None or block.w.all()):
            transform = None if self.standardizer_ is None else self._standardize
            origin = spread.origin_and_unit(self.standardizer_, block.w)
            run = partial(lloyd, block.x, block.w, max_iter=self.max_iter)
            return [run(start, transform=transform, origin=origin) for start in starts]
        variance = spread.variance(self.standardizer_)
        return [
            streaming.streaming_lloyd(
                rows, self.standardizer_, start, max_iter=self.max_iter, variance=variance
            )
            for start in starts
        ]

    @property
    def _draws(self) -> bool:
        """Whether initial centers are drawn from the rows, rather than given."""
        return isinstance(self.init, str) or callable(self.init)

    def _sparse_runs(self, block: Block, rng: np.random.Generator) -> list[LloydResult]:
        """Lloyd iterations of compressed rows, which are divided and not centered."""
        w = block.weights
        x, offset = streaming.scale_rows(
            block.x[w > 0] if not w.all() else block.x, self.standardizer_
        )
        x, w = sparse.csr_array(x), w[w > 0]
        runs = []
        for start in self._initial_centers(x, w, rng):
            shift = 0.0 if self._draws else offset
            run = streaming.sparse_lloyd(x, w, start + shift, max_iter=self.max_iter)
            runs.append(replace(run, centers=run.centers - offset))
        return runs

    def _initial_centers(self, x: Any, w: Floats, rng: np.random.Generator) -> list[Floats]:
        """Standardized centers of every initialization."""
        rough = callable(self.init) or (isinstance(self.init, str) and self.init == "random")
        n_init = self._check_iterations(10 if rough else 1)
        self.__dict__.pop("n_evaluations_", None)
        if isinstance(self.init, str):
            if self.init == "annealing":
                self.n_evaluations_ = n_init * (1 + ANNEALING_MOVES * self.n_clusters)
            drawn_by = INITIALIZATIONS[self.init][int(sparse.issparse(x))]
            return [drawn_by(x, w, self.n_clusters, rng) for _ in range(n_init)]
        if not callable(self.init) and n_init > 1:
            warn_as(
                RuntimeWarning,
                "Explicit initial center position passed: performing only one init in KMeans "
                f"instead of n_init={n_init}.",
            )
        if callable(self.init):
            state, k = check_random_state(int(rng.integers(2**31 - 1))), self.n_clusters
            drawn = [self.init(x, k, random_state=state) for _ in range(n_init)]
            return [self._given_centers(centers, x) for centers in drawn]
        return [self._standardize(self._given_centers(self.init, x))]

    def _given_centers(self, centers: Any, x: Floats) -> Floats:
        given = np.array(as_dense(centers) if sparse.issparse(centers) else centers, dtype=float)
        needed = (self.n_clusters, x.shape[1])
        if given.shape != needed:
            many = given.ndim == 2 and given.shape[0] == self.n_clusters
            what = "features of the data" if many else "clusters"
            raise InputError(
                f"The shape of the initial centers {given.shape} does not match the number of "
                f"{what} {needed[many]}.",
                remedy=f"Give init as an array of shape {needed}.",
            )
        if not np.isfinite(given).all():
            raise InputError("Initial centers are finite numbers, and some in init are not.")
        return given

    def _set_result(self, rows: Rows, best: LloydResult, variance: float) -> None:
        self.cluster_centers_ = best.centers
        if self.standardizer_ is not None:
            self.cluster_centers_ = self.standardizer_.inverse_transform(best.centers)
        self.inertia_, self.n_iter_ = best.inertia, best.iterations
        self.sizes_ = best.cluster_weights
        self.certificate_ = streaming.certify_kmeans(rows, self.standardizer_, best, variance)
        self.__dict__.pop("labels_", None)
        if isinstance(rows, ArrayRows):
            complete = len(best.labels) == rows.block.n
            self.labels_ = best.labels if complete else self._nearest(rows.block.x)[0]
        # Each center is within kkt standard deviations of the mean of its rows: its next step.
        step = self.n_clusters * best.centers.shape[1] * self.certificate_.kkt**2
        if not best.converged and not step <= self.tol:
            warn(
                "SEP003",
                f"rows still change their cluster after max_iter={self.max_iter} iterations; "
                "raise it, or raise tol.",
            )
        if not best.cluster_weights.all():
            # scikit-learn warns of it as a ConvergenceWarning, which programs may filter
            warn_as(
                NotConvergedWarning,
                "SEP004 Number of distinct clusters "
                f"({int(np.count_nonzero(best.cluster_weights))}) found smaller than n_clusters "
                f"({self.n_clusters}). Possibly due to duplicate points in X: the other clusters "
                "are empty.",
            )

    # -- new rows ----------------------------------------------------------------------------------

    def _parts(self, x: Matrix, numbers: int = 1_000_000) -> Iterator[Floats]:
        """Rows standardized and dense, a block at a time."""
        step = max(64, numbers // max(x.shape[1], 1))
        for i in range(0, x.shape[0], step):
            yield self._standardize(as_dense(x[i : i + step]))

    def _nearest(self, x: Matrix) -> tuple[NDArray[np.int32], Floats]:
        """Label and squared distance of every row."""
        centers = self._standardize(self.cluster_centers_)
        if sparse.issparse(x) and x.shape[0] * x.shape[1] > MIN_SPARSE:
            squares = self._sparse_squares(x, centers)
            label = squares.argmin(axis=1)
            return label.astype(np.int32), squares[np.arange(len(label)), label]
        nearest = [nearest_centers(part, centers) for part in self._parts(x)]
        return np.concatenate([f[0] for f in nearest]), np.concatenate([f[1] for f in nearest])

    def _sparse_squares(self, x: Any, centers: Floats) -> Floats:
        """Squared distances of compressed rows, which are not filled in."""
        z, offset = streaming.scale_rows(x, self.standardizer_)
        return streaming.squared_distances(sparse.csr_array(z), centers + offset)

    @on_one_blas_thread
    def predict(self, X: Any) -> NDArray[np.int32]:
        """The nearest center of every row."""
        return self._nearest(self._design(X))[0]

    @on_one_blas_thread
    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit, and the label of every row."""
        return self.fit(X, y, sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Floats:
        """Fit, and the distance of every row to every center."""
        return self.fit(X, y, sample_weight).transform(X)

    @on_one_blas_thread
    def transform(self, X: Any) -> Floats:
        """Distance of every row to every center."""
        x = self._design(X)
        centers = self._standardize(self.cluster_centers_)
        if sparse.issparse(x) and x.shape[0] * x.shape[1] > MIN_SPARSE:
            return np.sqrt(self._sparse_squares(x, centers))
        out = [
            np.stack([np.sqrt(((part - c) ** 2).sum(axis=1)) for c in centers], axis=1)
            for part in self._parts(x)
        ]
        return np.concatenate(out)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Minus the inertia of these rows."""
        x = self._design(X)
        w = check_sample_weight(sample_weight, x.shape[0])
        squares = self._nearest(x)[1]
        return -float(squares.sum() if w is None else w @ squares)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def formula(self) -> nodes.ClassFormula:
        """The nearest center."""
        x = nodes.standardize_rows(self.standardizer_, nodes.design_of(self))
        centers = np.asarray(self._standardize(self.cluster_centers_), dtype=np.float64)
        k = len(centers)
        squares = nodes.Distances(x, centers, SquaredEuclidean(), names=cluster_names(k))
        found = nearest_cluster(squares, k)
        return replace(found, distance=nodes.NearestCenter(squares, found.chosen))
