"""How many clusters a table has, by which method, and whether they are real."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats
from scipy.optimize import isotonic_regression

from separatrix.arrays import Floats, Ints, NDArray
from separatrix.cluster.agglomerative import AgglomerativeClustering
from separatrix.cluster.base import columns_by_level, zero_one_columns
from separatrix.cluster.initialization import (
    SortedRows,
    kernel_plusplus,
    kmedoids_plusplus,
    lexicographic_order,
    plusplus_centers,
    sorted_rows,
)
from separatrix.cluster.kernel_kmeans import KernelKMeans
from separatrix.cluster.kernel_lloyd import GramBlocks, kernel_lloyd
from separatrix.cluster.kmeans import KMeans
from separatrix.cluster.kmedoids import MAX_ROWS as MEDOID_ROWS
from separatrix.cluster.kmedoids import KMedoids, k_medoids
from separatrix.cluster.linkage import Dendrogram, linkage
from separatrix.cluster.lloyd import lloyd
from separatrix.cluster.loops import pair_distances
from separatrix.cluster.scatter import cluster_projection, scatter_decomposition
from separatrix.cluster.silhouette import Silhouette, coefficients, silhouette
from separatrix.distances.gower import Gower
from separatrix.distances.metrics import Euclidean, Metric
from separatrix.distances.names import metric_from
from separatrix.estimators.metric_inputs import with_missing
from separatrix.kernels import Precomputed, kernel_from
from separatrix.messages import InputError, did_you_mean
from separatrix.rows.parts import hash_block
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.rows import InMemory
from separatrix.rows.schema import Block
from separatrix.rows.split import Copies
from separatrix.statistics.moments import Standardizer, prepare
from separatrix.study import inferred
from separatrix.study.cluster.result import (
    FAMILIES,
    LINKAGES,
    PlottedRows,
    Reference,
    Stability,
    Structure,
    Trial,
    two,
)
from separatrix.study.design import thin
from separatrix.study.progress import Step
from separatrix.threads import on_one_blas_thread

# -------------------------------------------------------------------------------------------------
# Clustering methods by name: their metric, their estimator, and what they refuse.


FittedClusterer = KMeans | KMedoids | KernelKMeans | AgglomerativeClustering

METHODS = ("kmeans", "kmedoids", "kernel", *LINKAGES)
#: Metrics of tables of numbers.
METRICS = (
    "euclidean",
    "manhattan",
    "chebyshev",
    "sqeuclidean",
    "cosine",
    "mahalanobis",
    "gower",
)
#: Metrics that do not depend on the units of the columns.
UNITLESS = ("mahalanobis", "gower")
#: Methods of means, which imply Euclidean distance.
OF_MEANS = ("kmeans", "kernel", "centroid", "ward")
#: Rows that methods of all pairs take at most; single linkage stores no pairs.
MOST_ROWS = {
    "complete": 20_000,
    "average": 20_000,
    "kernel": 20_000,
    "centroid": 50_000,
    "ward": 50_000,
    "single": 200_000,
}


@dataclass(frozen=True)
class Method:
    """A method and a metric by name; ``categories`` are the columns of each discrete column."""

    name: str
    metric: str = "euclidean"
    categories: tuple[tuple[int, ...], ...] = ()

    @property
    def random(self) -> bool:
        """Whether the method has random initializations."""
        return self.name not in LINKAGES

    @property
    def euclidean(self) -> bool:
        """Whether rows are compared by plain Euclidean distance."""
        return self.metric == "euclidean" and self.name != "kernel"

    def distance(self) -> Metric:
        """The metric itself."""
        return Gower(groups=self.categories) if self.metric == "gower" else metric_from(self.metric)

    def model(
        self, k: int, init: Floats | Ints | None, *, standardize: bool, seed: int
    ) -> FittedClusterer:
        """The estimator, not fitted yet: K-means from centers, K-medoids from rows if known."""
        if self.name == "kmeans":
            start: dict[str, Any] = {"n_init": 10} if init is None else {"init": init}
            return KMeans(
                k, **start, max_iter=1000, tol=0.0, standardize=standardize, random_state=seed
            )
        if self.name == "kernel":
            return KernelKMeans(k, standardize=standardize, random_state=seed)
        metric = self.distance() if self.categories and self.metric == "gower" else self.metric
        if self.name == "kmedoids":
            start = {} if init is None else {"init": init}
            return KMedoids(k, metric=metric, **start, standardize=standardize, random_state=seed)
        return AgglomerativeClustering(k, linkage=self.name, metric=metric, standardize=standardize)


def method_named(name: str, metric: str | None) -> Method:
    """The method of this name; refuses unknown names, and metrics that it cannot use."""
    if name not in METHODS:
        raise InputError(f"There is no method {name!r}.", remedy=did_you_mean(name, METHODS))
    if metric is not None and metric not in METRICS:
        raise InputError(f"There is no metric {metric!r}.", remedy=did_you_mean(metric, METRICS))
    if name in OF_MEANS and metric not in (None, "euclidean"):
        what = "compares rows by a kernel" if name == "kernel" else "is about means of rows"
        raise InputError(
            f"{name} {what}, and takes no metric {metric!r}.",
            remedy=f"Use `method='kmedoids'` or `method='average'` with `metric={metric!r}`.",
        )
    return Method(name, metric or "euclidean")


def refuse_size(method: Method, n: int) -> None:
    """Refuse a table too large for a method that compares all pairs of rows."""
    most = MOST_ROWS.get(method.name, n)
    if n > most:
        raise InputError(
            f"{n:,} rows are too many for {method.name}, which compares all pairs "
            f"(at most {most:,}).",
            remedy="Use `method='kmeans'` or `method='kmedoids'`, or a sample of the rows.",
        )


def few_rows(n: int) -> int:
    """Clusters of fewer rows are outliers."""
    # A cluster of fewer rows, or of a smaller fraction of them, is a few outliers.
    return max(3, int(np.ceil(0.01 * n)))


def largest_first(model: FittedClusterer) -> FittedClusterer:
    """The same model with clusters numbered by size; equal ones in order of their first row."""
    if isinstance(model, KMeans) and not hasattr(model, "labels_"):  # of a stream: by size alone
        order = np.argsort(-model.sizes_, kind="stable")
        model.cluster_centers_, model.sizes_ = model.cluster_centers_[order], model.sizes_[order]
        return model
    labels: NDArray[Any] = model.labels_
    sizes = np.bincount(labels)
    first = np.full(len(sizes), len(labels))
    np.minimum.at(first, labels, np.arange(len(labels)))
    order = np.lexsort((first, -sizes))
    number = np.argsort(order)
    model.labels_ = number[labels].astype(labels.dtype)
    if isinstance(model, KMeans):
        model.cluster_centers_, model.sizes_ = model.cluster_centers_[order], model.sizes_[order]
    elif isinstance(model, KMedoids):
        model.cluster_centers_ = model.cluster_centers_[order]
        model.medoid_indices_ = model.medoid_indices_[order]
    elif isinstance(model, KernelKMeans):
        model.norms_, model.labels_fit_ = model.norms_[order], number[model.labels_fit_]
    return model


# -------------------------------------------------------------------------------------------------
# Rows by which the number of clusters is chosen and groups are tested, on a budget of work.
#
# Exact copies of rows lie at distance 0 from each other and would count as groups. Where chance
# does not explain them, samples are drawn from the different rows only.


#: Numbers (rows times columns) of the search and of the test; rows at most, and at least.
SEARCH_NUMBERS, SEARCH_ROWS, LEAST_SEARCHED = 300_000, 3_000, 1_000
TEST_NUMBERS, TEST_ROWS, LEAST_TESTED = 40_000, 400, 150


@dataclass(frozen=True)
class DifferentRows:
    """First occurrence of every row that counts; ``copies`` are left out of samples."""

    rows: Ints
    distinct: int
    copies: int


@dataclass(frozen=True)
class RowSamples:
    """Rows of the search and of the test for structure, and how many copies are in neither."""

    searched: Ints
    tested: Ints
    copies: int


def different_rows(x: Floats, block: Block) -> DifferentRows:
    """The rows of the design ``x`` without copies, unless chance explains those in the table."""
    n = len(x)
    order = lexicographic_order(x)
    new = np.append(True, (x[order[1:]] != x[order[:-1]]).any(axis=1))
    distinct = int(new.sum())
    # Fewer different rows are the cells of a table of counts, however often each occurs.
    if distinct == n or distinct < 20 or Copies(block, hash_block(block)).by_chance:
        return DifferentRows(np.arange(n), distinct, 0)
    return DifferentRows(np.sort(order[new]), distinct, n - distinct)


def row_samples(
    different: DifferentRows, columns: int, clusters: int, rng: np.random.Generator
) -> RowSamples:
    """Samples for up to so many clusters."""
    # Rows of a sample for each cluster, at least.
    least = 8 * clusters
    searched = min(SEARCH_ROWS, max(LEAST_SEARCHED, SEARCH_NUMBERS // columns))
    tested = min(TEST_ROWS, max(LEAST_TESTED, TEST_NUMBERS // columns))
    return RowSamples(
        drawn(different.rows, max(searched, least), rng),
        drawn(different.rows, max(tested, least), rng),
        different.copies,
    )


def drawn(rows: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Some rows in their order; all of a small table."""
    if len(rows) <= most:
        return rows
    return np.sort(rng.choice(rows, most, replace=False))


# -------------------------------------------------------------------------------------------------
# Design matrix of a cluster analysis, and messages on how it was made.


#: Correlation from which a column is a copy of another, rows that are compared, and pairs named.
COPY, COMPARED_ROWS, NAMED = 0.99999, 5_000, 3


@dataclass(frozen=True)
class ClusterDesign:
    """Design matrix ``x`` as distances see it: imputed, encoded, standardized if requested.

    Gower's distance skips missing values: they are NaN there.

    ``z`` is what sums of squares and pictures go by: standardized if requested, even where the
    metric does not depend on units; ``raw`` is encoded only. ``categories`` are the columns of each
    discrete column; ``discrete`` those and the 0/1 columns.
    """

    table: InMemory
    x: Floats
    z: Floats
    raw: Floats
    names: tuple[str, ...]
    categories: tuple[tuple[int, ...], ...]
    discrete: list[list[int]]
    standardized: bool


def cluster_design(table: InMemory, method: Method, *, standardize: bool) -> ClusterDesign:
    """Encode the table; refuses one without a column that varies."""
    if not table.schema.names:
        raise InputError(
            "no column can be used.",
            remedy="Columns that name rows are left out; read one by `kinds={'NAME': 'discrete'}`.",
        )
    prepared = prepare(table)
    x = prepared.rows.collect().dense()
    terms = tuple(prepared.encoding.terms)
    discrete = zero_one_columns(prepared.encoding)
    scaled = standardize and method.metric not in UNITLESS
    if not x.shape[1] or not np.ptp(x, axis=0).any():
        raise InputError(
            "every row is the same: no column varies.",
            remedy="Check how the columns are read (`kinds={…}`).",
        )
    z = x
    if standardize:
        scales = Standardizer.from_rows(x, np.ones(len(x))).with_pooled_scales(discrete)
        z = scales.transform(x)
    compared = z if scaled else x
    if method.metric == "gower" and not prepared.encoding.is_identity:
        compared = with_missing(prepared.encoding, table.collect())
    return ClusterDesign(
        table,
        np.ascontiguousarray(compared),
        z,
        x,
        tuple(str(term) for term in terms),
        tuple(map(tuple, columns_by_level(prepared.encoding))),
        discrete,
        scaled,
    )


def inferred_messages(
    design: ClusterDesign,
    method: Method,
    columns: tuple[ColumnProfile, ...],
    samples: RowSamples,
) -> tuple[str, ...]:
    """Messages on columns, standardization, discrete columns, copies and samples of rows."""
    table = design.table
    messages = [*table.notes]
    if table.dropped:
        messages.append(
            f"{table.dropped} rows are left out: a value is missing (override: `missing`)."
        )
    schema = table.schema
    if method.metric == "gower" and schema.missing != "drop":
        schema = replace(schema, missing="skip")
    messages += inferred.about_columns(columns, schema)
    messages += _copied_columns(design)
    messages += [_standardization(design, method), *_categories(design, method)]
    return (*messages, *_samples(len(design.x), samples))


def _samples(n: int, samples: RowSamples) -> list[str]:
    messages = []
    if samples.copies:
        messages.append(
            f"{samples.copies:,} of {n:,} rows are exact copies of others: groups are looked for "
            "in the different rows, and all rows are assigned to them."
        )
    searched, tested, different = len(samples.searched), len(samples.tested), n - samples.copies
    if searched < different:
        messages.append(
            f"The number of clusters is chosen on {searched:,} rows drawn at random, and compared "
            f"with tables without groups on {tested:,}; the model is fitted to all {n:,}."
        )
    elif tested < different:
        messages.append(
            f"The clusters are compared with tables without groups on {tested:,} rows drawn at "
            "random."
        )
    return messages


def _copied_columns(design: ClusterDesign) -> list[str]:
    """Numeric columns that say the same in another unit: distances count them twice."""
    zero_one = {j for group in design.discrete for j in group}
    numeric = [j for j in range(design.raw.shape[1]) if j not in zero_one]
    x = design.raw[:: max(1, len(design.raw) // COMPARED_ROWS)][:, numeric]
    x = x - x.mean(axis=0)
    length = np.linalg.norm(x, axis=0)
    x /= np.where(length > 0, length, np.inf)
    alike = np.argwhere(np.triu(np.abs(x.T @ x) > COPY, 1))
    pairs = [f"{design.names[numeric[i]]!r} and {design.names[numeric[j]]!r}" for i, j in alike]
    if not pairs:
        return []
    more = f" and {len(pairs) - NAMED} more pairs" if len(pairs) > NAMED else ""
    return [
        f"The same in other units, and so counted twice: {'; '.join(pairs[:NAMED])}{more} (leave "
        "one out: `kinds={'NAME': 'ignore'}`)."
    ]


def _standardization(design: ClusterDesign, method: Method) -> str:
    if design.standardized:
        return (
            "Columns are standardized: distances are in standard deviations, so that units do not "
            "matter (override: `standardize=False`, if all columns share one unit)."
        )
    if method.metric in UNITLESS:
        return f"Columns are not standardized: {method.metric} distances do not depend on units."
    return (
        "Columns are not standardized, as requested: a column in small units counts for more "
        "(leave out `standardize=False` unless all share one unit)."
    )


def _categories(design: ClusterDesign, method: Method) -> list[str]:
    if not design.categories:
        return []
    if method.metric == "gower":
        return ["Discrete columns count 0 where two rows agree and 1 where they do not (gower)."]
    together = ", which together count no more than a numeric column" if design.standardized else ""
    return [
        "Discrete columns are compared as 0/1 columns, one for each level but the most frequent"
        f"{together} (as plain agreement: `method='kmedoids'` with `metric='gower'`)."
    ]


# -------------------------------------------------------------------------------------------------
# Search for clusters of given points, with what all numbers of clusters share computed once.
#
# That is the distances of all pairs, the Gram matrix, the sorted rows, or the whole dendrogram.


#: Iterations of one initialization, at most.
ITERATIONS = 300


class Partition(NamedTuple):
    """Labels, the objective that they minimize (0 for a tree), and medoids where there are any."""

    objective: float
    labels: Ints
    medoids: Ints | None = None


class _LargeClusters(NamedTuple):
    """Sizes of the clusters that are not a few outliers, their rows, and positions of clusters."""

    sizes: Ints
    rows: Ints
    code: Ints
    n: int

    @classmethod
    def of(cls, labels: Ints) -> _LargeClusters:
        sizes = np.bincount(labels)
        large = sizes >= few_rows(len(labels))
        rows = np.flatnonzero(large[labels])
        return cls(sizes[large], rows, (np.cumsum(large) - 1)[labels[rows]], len(labels))

    @property
    def members(self) -> Floats:
        """Indicators of the clusters, n x k."""
        totals = np.zeros((self.n, len(self.sizes)))
        totals[self.rows, self.code] = 1.0
        return totals

    def score(self, sums: Floats) -> float:
        """The mean silhouette from sums of distances to these clusters."""
        if len(self.sizes) < 2:
            return float("nan")
        return float(coefficients(sums[self.rows], self.sizes, self.code)[0].sum()) / self.n


class PartitionSearch:
    """Clusters of given points."""

    def __init__(self, method: Method, x: Floats) -> None:
        self.method = method
        self.x = np.ascontiguousarray(x)
        self.ones = np.ones(len(x))

    def partition(self, k: int, rng: np.random.Generator, starts: int = 1) -> Partition:
        """The best of some initializations; a dendrogram is cut."""
        if not self.method.random:
            return Partition(0.0, self._tree.cut(k))
        partitions = [self._once(k, rng) for _ in range(starts)]
        return min(partitions, key=lambda trial: trial.objective)

    def _once(self, k: int, rng: np.random.Generator) -> Partition:
        """One initialization."""
        if self.method.name == "kmeans":
            start = plusplus_centers(self._sorted, k, rng)
            result = lloyd(self.x, self.ones, start, max_iter=ITERATIONS)
            return Partition(result.inertia, result.labels.astype(np.int64))
        if self.method.name == "kernel":
            gram = self._blocks
            first = kernel_plusplus(gram, self.ones, k, rng)
            swept = kernel_lloyd(gram, self.ones, first, k, assign="centroid", max_iter=ITERATIONS)
            return Partition(swept.inertia, swept.labels)
        d = self._single_precision_pairs
        first = kmedoids_plusplus(d, self.ones, k, rng)
        medoids = k_medoids(d, self.ones, first, method="pam", max_iter=ITERATIONS)
        labels = d[:, medoids.indices].argmin(axis=1).astype(np.int64)
        return Partition(medoids.loss, labels, medoids.indices)

    def silhouette(self, labels: Ints) -> Silhouette:
        """Silhouettes in the distance that the method uses."""
        if self.method.euclidean:
            return silhouette(self.x, labels)
        return silhouette(self._pairs, labels, "precomputed")

    def scores(self, partitions: Sequence[Partition]) -> list[float]:
        """Mean silhouettes, those of rows in clusters of a few being 0, as of a row alone.

        NaN if fewer than two other clusters remain: cutting off outliers is not a partition.
        """
        # Rows whose Euclidean distances are all stored, and shared by all silhouettes.
        if self.method.euclidean and len(self.x) > 4_000:
            return [self._score_in_blocks(partition.labels) for partition in partitions]
        large = [_LargeClusters.of(partition.labels) for partition in partitions]
        ends = np.cumsum([len(part.sizes) for part in large])
        # one product for all partitions: the distances are read once
        sums = np.split(
            self._pairs @ np.hstack([part.members for part in large]), ends[:-1], axis=1
        )
        return [part.score(of) for part, of in zip(large, sums, strict=True)]

    def _score_in_blocks(self, labels: Ints) -> float:
        large = _LargeClusters.of(labels)
        if len(large.sizes) < 2:
            return float("nan")
        widths = silhouette(self.x[large.rows], labels[large.rows])
        return widths.score * len(large.rows) / len(labels)

    # -- what all numbers of clusters share --------------------------------------------------------

    @cached_property
    def _sorted(self) -> SortedRows:
        return sorted_rows(self.x, self.ones)

    @cached_property
    def _pairs(self) -> Floats:
        """Distances of all pairs, in the space of the kernel where there is one."""
        if self.method.name == "kernel":
            diagonal = np.diag(self._gram)
            squared = diagonal[:, None] + diagonal - 2 * self._gram
            return np.asarray(np.sqrt(np.maximum(squared, 0.0)))
        if self.method.euclidean:
            d = np.empty((len(self.x), len(self.x)))
            pair_distances(self.x, np.ascontiguousarray(self.x.T), d)
            return d
        d = self.method.distance().fitted(self.x).distances(self.x)
        np.fill_diagonal(d, 0.0)
        return np.asarray((d + d.T) / 2)

    @cached_property
    def _single_precision_pairs(self) -> NDArray[np.float32]:
        return np.ascontiguousarray(self._pairs, dtype=np.float32)

    @cached_property
    def _gram(self) -> Floats:
        return np.asarray(kernel_from("rbf", gamma="scale", x=self.x).gram(self.x))

    @cached_property
    def _blocks(self) -> GramBlocks:
        return GramBlocks(Precomputed().prepare(self._gram))

    @cached_property
    def _tree(self) -> Dendrogram:
        name = self.method.name
        if type(self.method.distance()) is Euclidean:
            return Dendrogram(linkage(self.x, name))
        return Dendrogram(linkage(self._pairs, name, "precomputed"))


# -------------------------------------------------------------------------------------------------
# Number of clusters: every candidate is tried, and the mean silhouette decides.


Numbers = tuple[int, ...]


def numbers_to_try(n: int, distinct: int, requested: int | None, most: int) -> Numbers:
    """2 … ``most``, fewer for ``n`` rows of which few are ``distinct``; refuses impossible ones."""
    if most < 2:
        raise InputError(
            f"max_clusters={most} leaves nothing to try: one cluster is the whole table.",
            remedy="Use 2 or more.",
        )
    if distinct == 1:
        raise InputError(
            f"all {n} rows are equal: there is nothing to partition.",
            remedy="Check how the columns are read (`kinds`), or leave fewer out.",
        )
    # Mean size of a cluster, at least.
    usual = range(2, max(2, min(most, n // 4, distinct)) + 1)
    if requested is None:
        if n < 3:
            raise InputError(f"{n} rows are too few to look for clusters.", remedy="Give more.")
        return tuple(usual)
    if requested < 2:
        raise InputError(
            f"k={requested} is not a partition: one cluster is the whole table.",
            remedy="Use `k=2` or more, or leave it out.",
        )
    if requested >= n:
        raise InputError(
            f"k={requested} is too many for {n} rows: a cluster has two rows or more somewhere.",
            remedy=f"Use at most `k={max(2, n // 2)}`, or leave it out.",
        )
    if requested > distinct:
        raise InputError(
            f"k={requested} is too many: the table has only {distinct} different rows.",
            remedy=f"Use at most `k={distinct}`, or leave it out.",
        )
    return tuple(sorted({*usual, requested}))


def trials_of(
    search: PartitionSearch, partitions: dict[int, Partition], z: Floats
) -> tuple[Trial, ...]:
    """Silhouette and within-cluster sum of squares (of ``z``) for every number of clusters."""
    scores = search.scores(list(partitions.values()))
    return tuple(
        Trial(
            k,
            score,
            float(scatter_decomposition(z, labels.labels).within.sum()),
            int(np.bincount(labels.labels).min()),
        )
        for (k, labels), score in zip(partitions.items(), scores, strict=True)
    )


def best(trials: tuple[Trial, ...]) -> Trial:
    """The greatest silhouette; the fewest clusters of equally good ones."""
    return max(trials, key=lambda trial: (_or_least(trial.silhouette), -trial.k))


def best_silhouette(
    search: PartitionSearch, numbers: Numbers, rng: np.random.Generator, starts: int
) -> float:
    """The greatest mean silhouette over numbers of clusters."""
    partitions = [search.partition(k, rng, starts) for k in numbers]
    return max(map(_or_least, search.scores(partitions)))


def _or_least(score: float) -> float:
    return -1.0 if math.isnan(score) else score


def reason(trials: tuple[Trial, ...], chosen: Trial, requested: int | None, most: int) -> str:
    """Why this number of clusters; and that more were not tried, where that matters."""
    if requested is not None:
        return _reason_of_requested(best(trials), chosen, requested)
    if math.isnan(chosen.silhouette):
        return f"{chosen.k} clusters, the fewest: any number only cuts off a few rows."
    if len(trials) == 1 and most > 2:
        return f"{chosen.k} clusters: the table is too small to try more."
    text = (
        f"{chosen.k} clusters have the greatest silhouette ({chosen.silhouette:.2f}) of "
        f"{trials[0].k} to {trials[-1].k}."
    )
    if chosen.k == most:
        text += (
            f" That is the limit of the search: more clusters may fit better "
            f"(`max_clusters={2 * most}` tries them)."
        )
    return text.replace("(-", "(−")


def _reason_of_requested(greatest: Trial, chosen: Trial, requested: int) -> str:
    if greatest.k == requested:
        return f"{requested} clusters were requested; no other number has a greater silhouette."
    if math.isnan(chosen.silhouette):
        return f"{requested} clusters were requested; all but one of them hold a few rows."
    return (
        f"{requested} clusters were requested (silhouette {chosen.silhouette:.2f}); "
        f"{greatest.k} have the greatest ({greatest.silhouette:.2f})."
    ).replace("-", "−")


# -------------------------------------------------------------------------------------------------
# Reference tables without clusters that resemble a given table.
#
#     unimodal   every column has the nearest unimodal distribution F to its own, joined by a
#                Gaussian copula: u = Φ(z), z ~ N(0, R), x = F⁻¹(u)
#     uniform    uniform over the box that the principal components span
#
# Discrete columns keep their values and are permuted: a category by itself is not a cluster. Values
# that are missing (NaN) are missing there, too.


Draw = Callable[[np.random.Generator], Floats]


@dataclass(frozen=True)
class Marginal:
    """A distribution function: linear between ``values``, or a step at each of them."""

    values: Floats
    probabilities: Floats
    steps: bool

    def quantile(self, u: Floats) -> Floats:
        """The quantiles of probabilities u."""
        if self.steps:
            position = np.searchsorted(self.probabilities, u).clip(0, len(self.values) - 1)
            return np.asarray(self.values[position])
        return np.interp(u, self.probabilities, self.values)


def marginal(column: Floats) -> Marginal:
    """The unimodal distribution that is nearest to that of a column.

    Its density increases up to the mode and decreases from there: isotonic regression of the
    empirical density on both sides. The mode is the one that changes the distribution function
    least (Kolmogorov distance).
    """
    values, counts = np.unique(column, return_counts=True)
    n = len(column)
    # Columns with so few values keep them, if every value is met this often.
    if len(values) <= max(1, min(10, n // 5)):
        return Marginal(values, np.cumsum(counts) / n, True)
    middle = (np.cumsum(counts) - counts / 2) / n
    empirical = (middle - middle[0]) / (middle[-1] - middle[0])
    width = np.diff(values)
    density = np.diff(empirical) / width
    # Candidate positions of the mode of a column.
    modes = np.unique(np.linspace(0, len(width), 32).astype(int))
    fitted = [_unimodal_distribution(density, width, mode) for mode in modes]
    best = min(fitted, key=lambda probabilities: float(np.abs(probabilities - empirical).max()))
    return Marginal(values, best, False)


def _unimodal_distribution(density: Floats, width: Floats, mode: int) -> Floats:
    """The distribution function of a density made to increase up to ``mode``, then to decrease."""
    fitted = np.empty_like(density)
    for part, increasing in ((slice(0, mode), True), (slice(mode, None), False)):
        if len(density[part]):
            fitted[part] = isotonic_regression(
                density[part], weights=width[part], increasing=increasing
            ).x
    probabilities = np.concatenate([[0.0], np.cumsum(fitted * width)])
    return np.asarray(probabilities / probabilities[-1])


def references(x: Floats, discrete: list[list[int]]) -> dict[str, Draw]:
    """Samplers of tables like ``x`` without clusters; ``discrete`` columns belong together."""
    permuted = {j for group in discrete for j in group}
    free = [j for j in range(x.shape[1]) if j not in permuted]
    missing = np.isnan(x[:, free])
    known = x[:, free]
    if missing.any():
        known = np.where(missing, np.nanmedian(known, axis=0), known)

    def with_permuted(draw: Draw) -> Draw:
        def table_of(rng: np.random.Generator) -> Floats:
            table = np.empty_like(x)
            if free:
                table[:, free] = np.where(missing, np.nan, draw(rng))
            for group in discrete:
                table[:, group] = x[rng.permutation(len(x))][:, group]
            return table

        return table_of

    return {
        "unimodal": with_permuted(_unimodal(known)),
        "uniform": with_permuted(_uniform(known)),
    }


def _unimodal(x: Floats) -> Draw:
    n, d = x.shape
    marginals = [marginal(x[:, j]) for j in range(d)]
    ranks = np.column_stack([stats.rankdata(x[:, j]) for j in range(d)]) if d else x
    scores = special.ndtri((ranks - 0.5) / n)
    scores -= scores.mean(axis=0)
    length = np.linalg.norm(scores, axis=0)
    scores /= np.where(length > 0, length, 1.0)
    root = np.linalg.qr(scores, mode="r")  # RᵀR is the correlation of the scores

    def draw(rng: np.random.Generator) -> Floats:
        u = special.ndtr(rng.standard_normal((n, len(root))) @ root)
        return np.column_stack([m.quantile(u[:, j]) for j, m in enumerate(marginals)])

    return draw


def _uniform(x: Floats) -> Draw:
    mean = x.mean(axis=0)
    _, _, axes = np.linalg.svd(x - mean, full_matrices=False)
    scores = (x - mean) @ axes.T
    low, high = scores.min(axis=0), scores.max(axis=0)

    def draw(rng: np.random.Generator) -> Floats:
        return np.asarray(mean + rng.uniform(low, high, size=scores.shape) @ axes)

    return draw


# -------------------------------------------------------------------------------------------------
# Cluster validation: a test for cluster structure, and stability under resampling.
#
# Structure: T = max over k of the mean silhouette; p = how often T of a reference table without
# clusters reaches that of the rows. Two families of tables are drawn (:mod:`.references`), and p is
# the larger of the two. Draws stop at the second table that does as well, for then p cannot be 0.05
# or less any more; so a table without clusters is rejected quickly.
#
# Stability: adjusted Rand index with clusters of half of the rows, and with other initializations.


#: Tables drawn of each family, and how many may do as well before p is beyond the level.
DRAWS, ALLOWED, LEVEL = 39, 1, 0.05
#: Rows of the test, at most.
REFERENCE_ROWS = 400


def structure(
    method: Method,
    x: Floats,
    discrete: list[list[int]],
    numbers: Numbers,
    rng: np.random.Generator,
) -> Structure:
    """Compare the best silhouette of the rows with those of tables without clusters."""
    statistic = best_silhouette(PartitionSearch(method, x), numbers, rng, 1)
    compared: list[Reference] = []
    for name, draw in references(x, discrete).items():
        compared.append(_reference(name, draw, method, numbers, statistic, rng))
        if compared[-1].p_value > LEVEL:
            break
    p = max(reference.p_value for reference in compared)
    summary = _structure_summary(p, statistic, compared)
    return Structure(p <= LEVEL, p, statistic, len(x), tuple(compared), summary)


def _reference(
    name: str,
    draw: Draw,
    method: Method,
    numbers: Numbers,
    statistic: float,
    rng: np.random.Generator,
) -> Reference:
    drawn: list[float] = []
    as_good = 0
    while len(drawn) < DRAWS and as_good <= ALLOWED:
        drawn.append(best_silhouette(PartitionSearch(method, draw(rng)), numbers, rng, 1))
        as_good += drawn[-1] >= statistic
    stopped = as_good > ALLOWED
    p = as_good / len(drawn) if stopped else (as_good + 1) / (len(drawn) + 1)
    return Reference(name, tuple(drawn), p)


def _structure_summary(p: float, statistic: float, compared: list[Reference]) -> str:
    if statistic <= -1:
        return "All clusters but one have a few rows each, so there is no silhouette to compare."
    closest = max(
        compared, key=lambda structure: (structure.p_value, float(np.median(structure.silhouettes)))
    )
    return (
        f"The silhouette is {two(statistic)}; in {len(closest.silhouettes)} tables without groups "
        f"({FAMILIES[closest.name]}) the same search finds "
        f"{two(float(np.median(closest.silhouettes)))} in the middle and "
        f"{two(max(closest.silhouettes))} at most (p = {p:.3f})."
    )


def adjusted_rand(one: Ints, two: Ints) -> float:
    """Adjusted Rand index of two partitions: 1 for equal ones, 0 on average by chance.

    With n_ij rows in cluster i of one and j of two, and C(n) = n(n − 1)/2 pairs:
    (Σ C(n_ij) − e)/((Σ C(n_i) + Σ C(n_j))/2 − e),  e = Σ C(n_i) Σ C(n_j)/C(n)
    """
    table = np.zeros((int(one.max()) + 1, int(two.max()) + 1))
    np.add.at(table, (one, two), 1.0)
    together = _pairs(table)
    rows, columns = _pairs(table.sum(axis=1)), _pairs(table.sum(axis=0))
    expected = rows * columns / max(_pairs(np.array([float(len(one))])), 1.0)
    most = (rows + columns) / 2
    return 1.0 if most == expected else (together - expected) / (most - expected)


def _pairs(counts: Floats) -> float:
    return float((counts * (counts - 1)).sum()) / 2


def stability(search: PartitionSearch, labels: Ints, k: int, rng: np.random.Generator) -> Stability:
    """Cluster halves of the rows, and all of them from other starts; compare with ``labels``."""
    n = len(labels)
    # Twenty halves of at most a thousand rows with three initializations each, and ten of all rows:
    # enough for a mean, in about the time of the search.
    size = min(max(n // 2, k + 1), 1_000, n)
    halves = []
    for _ in range(20):
        rows = np.sort(rng.choice(n, size, replace=False))
        if len(np.unique(search.x[rows], axis=0)) < k:  # too few different rows for so many
            continue
        again = PartitionSearch(search.method, search.x[rows]).partition(k, rng, 3)
        halves.append(adjusted_rand(again.labels, labels[rows]))
    restarts = []
    if search.method.random:
        restarts = [adjusted_rand(search.partition(k, rng).labels, labels) for _ in range(10)]
    mean = float(np.mean(halves)) if halves else float("nan")
    return Stability(tuple(halves), tuple(restarts), mean, _stability_summary(mean, restarts))


def _stability_summary(mean: float, restarts: list[float]) -> str:
    if np.isnan(mean):
        return "There are too few different rows to cluster half of them."
    text = f"The adjusted Rand index is {two(mean)} with clusters of half of the rows"
    if restarts:
        text += f" and {two(float(np.mean(restarts)))} with other starts"
    return f"{text} (1 is equal, 0 is chance)."


# -------------------------------------------------------------------------------------------------
# What is found in samples of the rows: how many clusters, whether they are groups, a start.


@dataclass(frozen=True)
class Found:
    """What the search found on samples of the rows, before the model is fitted to all."""

    trials: tuple[Trial, ...]
    chosen: Trial
    partition: Partition
    total_ss: float
    structure: Structure
    stability: Stability


@on_one_blas_thread
def search(
    design: ClusterDesign,
    samples: RowSamples,
    method: Method,
    numbers: Numbers,
    requested: int | None,
    rng: np.random.Generator,
    step: Step,
) -> Found:
    """Try numbers of clusters, compare with tables without groups, repeat on halves."""
    searched, z = PartitionSearch(method, design.x[samples.searched]), design.z[samples.searched]
    step(f"trying {numbers[0]} to {numbers[-1]} clusters" if numbers[1:] else "trying 2 clusters")
    # Initializations of every number of clusters.
    partitions = {k: searched.partition(k, rng, 5) for k in numbers}
    trials = trials_of(searched, partitions, z)
    chosen = best(trials) if requested is None else next(t for t in trials if t.k == requested)
    partition = partitions[chosen.k]
    step("tables without groups")
    tried = numbers if requested is None else (requested,)
    test = structure(method, design.x[samples.tested], design.discrete, tried, rng)
    step("clusters of half of the rows")
    repeated = stability(searched, partition.labels, chosen.k, rng)
    total = float(((z - z.mean(axis=0)) ** 2).sum())
    return Found(trials, chosen, partition, total, test, repeated)


def start_of(
    design: ClusterDesign, samples: RowSamples, method: Method, partition: Partition
) -> Floats | Ints | None:
    """Centers or medoids that the search found, for the model of all rows to start from."""
    if partition.medoids is not None and len(design.x) <= MEDOID_ROWS:
        return np.asarray(samples.searched[partition.medoids])
    sizes = np.bincount(partition.labels)
    if method.name != "kmeans" or not sizes.all():
        return None
    columns = design.raw[samples.searched].T
    return (
        np.stack([np.bincount(partition.labels, column) for column in columns], axis=1)
        / sizes[:, None]
    )


def plotted_rows(
    design: ClusterDesign, labels: Ints, shape: Silhouette, measured: Ints
) -> PlottedRows:
    """Measured rows for pictures, thinned."""
    # Rows that pictures show.
    some = thin(np.arange(len(measured)), 20_000)
    projection = cluster_projection(design.z, labels)
    return PlottedRows(
        labels[measured[some]],
        shape.samples[some],
        shape.neighbor[some],
        replace(projection, coordinates=projection.coordinates[measured[some]]),
        design.names,
    )
