"""Cluster analysis: try numbers of clusters, test for structure, fit, describe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats, Ints, Matrix
from separatrix.cluster.base import columns_by_level, zero_one_columns
from separatrix.cluster.kmeans import KMeans
from separatrix.cluster.kmedoids import KMedoids
from separatrix.cluster.lloyd import ColumnSpread
from separatrix.cluster.silhouette import Silhouette, silhouette
from separatrix.cluster.streaming import SURPLUS, DesignSample
from separatrix.messages import InputError
from separatrix.rows.profile import ColumnProfile, Profile, profile
from separatrix.rows.rare_levels import pool_rare_levels, pool_rare_levels_of_stream
from separatrix.rows.rows import EncodedRows, InMemory, Rows, merge
from separatrix.rows.sampling import Together
from separatrix.rows.schema import Block, Encoding, Kind, Schema, Term, Terms
from separatrix.rows.sources.stream import TableRows
from separatrix.statistics.moments import Prepared, Standardizer, prepare
from separatrix.study.announcement import listener_for
from separatrix.study.cluster.result import Assignments, Cluster, ClusterStudy
from separatrix.study.cluster.search import (
    ClusterDesign,
    FittedClusterer,
    Found,
    Method,
    PartitionSearch,
    RowSamples,
    cluster_design,
    different_rows,
    drawn,
    few_rows,
    inferred_messages,
    largest_first,
    method_named,
    numbers_to_try,
    plotted_rows,
    reason,
    refuse_size,
    row_samples,
    search,
    start_of,
)
from separatrix.study.design import reason_to_stream, with_warnings
from separatrix.study.options import Effort
from separatrix.study.progress import stages, tell_inferred

#: Work of the stages, as measured on tables of a few thousand rows.
WORK = (0.3, 0.4, 0.15, 0.1, 0.05)


def run_clusters(
    rows: Rows,
    *,
    k: int | None = None,
    max_clusters: int = 10,
    method: str = "kmeans",
    metric: str | None = None,
    standardize: bool = True,
    seed: int = 0,
    progress: Any = None,
    verbose: bool = True,
    source: str = "",
    command: str = "",
) -> ClusterStudy:
    """Cluster analysis of a table: number of clusters, whether they are groups, profiles.

    The number of clusters is that of the largest mean silhouette. The verdict needs both
    separation, compared with reference tables without groups (Monte Carlo p-value and effect
    size), and stability, the adjusted Rand index with clusters of half of the rows. A table too
    large for memory, or on a cluster of machines, is judged on a sample of its rows, and K-means is
    fitted to all of them, pass by pass.

    Parameters
    ----------
    rows : Rows
        The table, as read by :func:`separatrix.scan`.
    k : int or None, default=None
        Number of clusters; None chooses it by the silhouette.
    max_clusters : int, default=10
        Largest number of clusters that is tried.
    method : str, default="kmeans"
        "kmeans", "kmedoids", "kernel" or a linkage: "single", "complete", "average", "centroid",
        "ward".
    metric : str or None, default=None
        Distance of "kmedoids" and linkages; Euclidean if None.
    standardize : bool, default=True
        Whether columns are standardized, unless the metric does not depend on units.
    seed : int, default=0
        Seed of all random numbers.
    progress : callable or None, default=None
        Called with the stage, the number of stages done, and their total.
    verbose : bool, default=True
        Whether what was inferred and the stage under way are shown, in a notebook or on standard
        error, where no ``progress`` is given.
    source : str, default=""
        Name of the table, for the report.
    command : str, default=""
        The command that repeats the analysis, for the report.

    Returns
    -------
    ClusterStudy
        Clusters, tests and the fitted model.

    See Also
    --------
    run_study : The same for tables with a target.
    KMeans : K-means clustering.
    silhouette : Silhouettes of given clusters.

    References
    ----------
    P. J. Rousseeuw, Silhouettes: a graphical aid to the interpretation and validation of
    cluster analysis, Journal of Computational and Applied Mathematics 20, 1987.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2)) + 9.0 * (np.arange(40) % 2)[:, None]
    >>> study = sx.run_clusters(sx.scan(X), k=2)
    >>> study.k, [cluster.size for cluster in study.clusters], study.verdict.groups
    (2, [20, 20], 'distinct')
    """
    progress = listener_for(progress, verbose)
    chosen = method_named(method, metric)
    why = reason_to_stream(rows)
    if why:
        if isinstance(rows, TableRows):
            rows = pool_rare_levels_of_stream(
                rows,
                partial(Effort().columns, folds=0),
                "{rows:,} rows are compared in at most {columns:,} columns",
                "grouping its levels before",
            )
        study = stream_clusters(
            rows, chosen, k, max_clusters, seed, progress, standardize=standardize, why=why
        )
        return replace(study, source=source, command=command)
    table = rows.read()
    refuse_size(chosen, len(table))
    most = Effort().columns(len(table), 0)
    what = f"{len(table):,} rows are compared in at most {most:,} columns"
    table = pool_rare_levels(table, most, what, "grouping its levels before")
    design = cluster_design(table, chosen, standardize=standardize)
    chosen = replace(chosen, categories=design.categories)
    rng = np.random.default_rng(seed)
    different = different_rows(np.nan_to_num(design.x, nan=np.inf), table.block)
    numbers = numbers_to_try(len(different.rows), different.distinct, k, max_clusters)
    samples = row_samples(different, design.x.shape[1], numbers[-1], rng)
    columns = profile(table)
    messages = inferred_messages(design, chosen, columns, samples)
    tell_inferred(progress, messages, ())
    with stages(progress, WORK) as step:
        result = search(design, samples, chosen, numbers, k, rng, step)
        step("fitting the model")
        start = start_of(design, samples, chosen, result.partition)
        new = chosen.model(result.chosen.k, start, standardize=design.standardized, seed=seed)
        model, warnings = with_warnings(lambda: largest_first(new.fit(table)))
        step("describing the clusters")
        return ClusterStudy(
            seed=seed,
            n_rows=len(table),
            columns=columns,
            method=chosen.name,
            metric=chosen.metric,
            standardized=design.standardized,
            requested=k,
            k=result.chosen.k,
            reason=reason(result.trials, result.chosen, k, max_clusters),
            trials=result.trials,
            total_ss=result.total_ss,
            structure=result.structure,
            stability=result.stability,
            model=model,
            certificate=model.certificate_,
            messages=messages,
            warnings=warnings,
            source=source,
            command=command,
            max_clusters=max_clusters,
            **_description(design, chosen, columns, model, rng),
        )


def _description(
    design: ClusterDesign,
    method: Method,
    columns: tuple[ColumnProfile, ...],
    model: FittedClusterer,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """The clusters as the model of all rows has them: profiles, silhouettes, rows for pictures."""
    table, labels = design.table, np.asarray(model.labels_, dtype=np.int64)
    shape, measured, silhouette_metric = _silhouettes(method, design.x, labels, rng)
    means = np.full(int(labels.max()) + 1, np.nan)  # NaN: no row of the cluster was measured
    means[shape.clusters.astype(int)] = shape.by_cluster
    by_row = shape.samples if len(measured) == len(labels) else None
    return {
        "clusters": clusters_of(
            totals_of(table.block, labels), columns, model, means, table.row_ids
        ),
        "silhouette": shape.score,
        "silhouette_metric": silhouette_metric,
        "assignments": Assignments(table.row_ids, labels, by_row, _distances(model, table, labels)),
        "plotted": plotted_rows(design, labels, shape, measured),
    }


def _silhouettes(
    method: Method, x: Floats, labels: Ints, rng: np.random.Generator
) -> tuple[Silhouette, Ints, str]:
    """Silhouettes, the rows that they are of, and the distance that they go by."""
    if method.euclidean:
        # rows of which all pairs are measured in a few seconds; of a metric below, fewer
        metric = "euclidean" if len(x) <= 20_000 else "sqeuclidean"
        return silhouette(x, labels, metric), np.arange(len(x)), metric
    rows = drawn(np.arange(len(x)), 3_000, rng)
    metric = "distance in the space of the kernel" if method.name == "kernel" else method.metric
    return PartitionSearch(method, x[rows]).silhouette(labels[rows]), rows, metric


def _distances(model: FittedClusterer, table: InMemory, labels: Ints) -> Floats | None:
    """Distance of every row to its center or medoid; None where there are none."""
    if not isinstance(model, KMeans | KMedoids):
        return None
    return np.asarray(model.transform(table)[np.arange(len(labels)), labels], dtype=float)


# -------------------------------------------------------------------------------------------------
# Description of clusters: sizes, means of columns, levels and their lift, centers.
#
#     lift = proportion of a level in the cluster / its proportion in the table
#
# A level is over-represented in a cluster if its lift is at least 1.2 and its count exceeds what a
# random cluster of this size would have by three standard deviations (hypergeometric).


#: Least lift, and least excess in standard deviations, of a level that is over-represented.
LEAST_LIFT, LEAST_EXCESS = 1.2, 3.0
#: What stands for a missing value among the levels.
MISSING = "(missing)"


@dataclass
class ClusterTotals:
    """Sizes of clusters, and sums of every raw term by cluster over the rows that have a value.

    It merges with ``+``. ``label`` gives the clusters of the rows of a block; it is needed only
    where blocks come without.
    """

    k: int
    label: Callable[[Block], Ints] | None = None
    sizes: Floats = field(default_factory=lambda: np.zeros(0))
    sums: dict[Term, Floats] = field(default_factory=dict)

    def fresh(self) -> Self:
        """Empty totals of the same clusters."""
        return type(self)(self.k, self.label, np.zeros(self.k))

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        assert self.label is not None, "blocks come without labels"
        self.add(block, self.label(block))

    def add(self, block: Block, labels: Ints) -> None:
        """Add the rows of a block, whose clusters are known."""
        x = sparse.csc_array(block.x) if sparse.issparse(block.x) else block.x
        missing = {term.column: _column(x, j) for j, term in enumerate(block.terms) if term.missing}
        self.sizes = self.sizes + np.bincount(labels, minlength=self.k)
        for j, term in enumerate(block.terms):
            values = _column(x, j)
            if term.level is None and not term.missing and term.column in missing:
                values = values * (missing[term.column] == 0)
            sums = np.asarray(np.bincount(labels, values, minlength=self.k), dtype=float)
            self.sums[term] = self.sums[term] + sums if term in self.sums else sums

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        total.sizes, total.sums = self.sizes + other.sizes, merge(self.sums, other.sums)
        return total


def totals_of(block: Block, labels: Ints) -> ClusterTotals:
    """The totals of rows in memory."""
    k = int(labels.max()) + 1
    totals = ClusterTotals(k, None, np.zeros(k))
    totals.add(block, labels)
    return totals


def clusters_of(
    totals: ClusterTotals,
    columns: tuple[ColumnProfile, ...],
    model: FittedClusterer,
    silhouettes: Floats,
    row_ids: Ints | None = None,
) -> tuple[Cluster, ...]:
    """Every cluster in the units of the table; ``silhouettes`` holds one mean for each."""
    sizes = totals.sizes.astype(np.int64)
    n = int(sizes.sum())
    means, standardized = _numeric(totals, columns)
    levels = {c.name: _Levels.of(totals, c) for c in columns}
    described = {name: profile for name, profile in levels.items() if profile is not None}
    medoids = (
        row_ids[model.medoid_indices_]
        if isinstance(model, KMedoids) and row_ids is not None
        else None
    )
    return tuple(
        Cluster(
            j,
            int(size),
            float(size / n),
            float(silhouettes[j]),
            bool(size < few_rows(n)),
            {name: float(values[j]) for name, values in means.items()},
            {name: float(values[j]) for name, values in standardized.items()},
            {name: profile.proportions(j) for name, profile in described.items()},
            _center(model, j),
            None if medoids is None else int(medoids[j]),
            {name: lifts for name, profile in described.items() if (lifts := profile.lifts(j))},
        )
        for j, size in enumerate(sizes)
    )


@dataclass(frozen=True)
class _Levels:
    """Counts of the levels of a column by cluster (levels x k), and sizes of the clusters."""

    names: tuple[str, ...]
    counts: Floats
    sizes: Floats

    @classmethod
    def of(cls, totals: ClusterTotals, column: ColumnProfile) -> Self | None:
        """The levels of a discrete column that are worth describing; None of other columns."""
        if column.kind is not Kind.DISCRETE:
            return None
        terms = {level: Term(column.name, level=level) for level in column.levels}
        if column.missing:
            terms[MISSING] = Term(column.name, missing=True)
        counted = {level: totals.sums[term] for level, term in terms.items() if term in totals.sums}
        if not counted:
            return None
        every = cls(tuple(counted), np.array(list(counted.values())), totals.sizes)
        described = every.notable()
        return cls(tuple(every.names[i] for i in described), every.counts[described], every.sizes)

    @cached_property
    def excess(self) -> Floats:
        """(observed − expected)/standard deviation of every count, for a random cluster."""
        n, overall = self.sizes.sum(), self.counts.sum(axis=1, keepdims=True) / self.sizes.sum()
        variance = self.sizes * overall * (1 - overall) * (n - self.sizes) / max(n - 1, 1)
        above = self.counts - self.sizes * overall
        spread = np.sqrt(np.where(variance > 0, variance, np.inf))
        return np.asarray(above / spread)

    def notable(self) -> Ints:
        """The most frequent levels of every cluster, and those that are over-represented."""
        # Levels of a column that are described: the most frequent of a cluster, and all at most.
        frequent = np.argsort(-self.counts, axis=0, kind="stable")[:3]
        first = np.unique(frequent[np.take_along_axis(self.counts, frequent, axis=0) > 0])
        strength = self.excess.max(axis=1)
        more = np.flatnonzero(strength >= LEAST_EXCESS)
        more = more[np.argsort(-strength[more], kind="stable")]
        ordered = dict.fromkeys([*more.tolist(), *first.tolist()])
        return np.sort(np.array(list(ordered)[:12], dtype=np.int64))

    def proportions(self, j: int) -> dict[str, float]:
        """Proportions of the levels in a cluster, the most frequent first."""
        share = self.counts[:, j] / max(self.sizes[j], 1.0)
        order = np.argsort(-share, kind="stable")
        return {self.names[i]: float(share[i]) for i in order}

    def lifts(self, j: int) -> dict[str, float]:
        """Levels that are over-represented in a cluster, the strongest first."""
        overall = self.counts.sum(axis=1) / self.sizes.sum()
        lift = self.counts[:, j] / max(self.sizes[j], 1.0) / np.where(overall > 0, overall, np.inf)
        excess = self.excess[:, j]
        order = np.argsort(-excess, kind="stable")
        return {
            self.names[i]: float(lift[i])
            for i in order
            if excess[i] >= LEAST_EXCESS and lift[i] >= LEAST_LIFT
        }


def _center(model: FittedClusterer, j: int) -> dict[str, float]:
    """The mean of a cluster by column of the design matrix; empty unless clusters have means."""
    if not isinstance(model, KMeans):
        return {}
    return dict(zip(model.encoding_.names, model.cluster_centers_[j].tolist(), strict=True))


def _column(x: Matrix, j: int) -> Floats:
    column = x[:, [j]].toarray() if sparse.issparse(x) else x[:, j]
    return np.ravel(np.asarray(column, dtype=float))


def _numeric(
    totals: ClusterTotals, columns: tuple[ColumnProfile, ...]
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Means by cluster over the rows that have a value, also in standard deviations."""
    means, standardized = {}, {}
    for column in columns:
        values = totals.sums.get(Term(column.name))
        if column.kind is Kind.DISCRETE or values is None or column.missing == column.count:
            continue
        missing = totals.sums.get(Term(column.name, missing=True), np.zeros(totals.k))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = values / (totals.sizes - missing)
        means[column.name] = mean
        if column.std > 0:
            standardized[column.name] = (mean - column.mean) / column.std
    return means, standardized


# -------------------------------------------------------------------------------------------------
# Cluster analysis of a table that is not read into memory: too large, or on other machines.
#
# The number of clusters, the test against tables without groups, stability and silhouettes are
# judged on a sample of the rows; K-means is then fitted to all rows, one pass for each iteration,
# and every cluster is described by sums over all rows.
#
# The sample is that of the smallest hashes of rows, so that it does not depend on the order of the
# rows, on blocks, or on the machines that read them.


#: Rows of the sample, fewer where they are wide: in numbers.
SAMPLE_ROWS, SAMPLE_NUMBERS = 20_000, 4_000_000
#: Passes of K-means over all rows, and steps of the centers that are not worth another one: their
#: squares, relative to the mean variance of the columns.
MAX_ITER, TOLERANCE = 100, 1e-12
#: Work of the stages: passes over all rows count for more than what is done with a sample.
STREAM_WORK = (0.1, 0.15, 0.05, 0.6, 0.1)


@dataclass(frozen=True)
class _Label:
    """The clusters of the rows of a block, where the block is."""

    model: KMeans
    schema: Schema

    def __call__(self, block: Block) -> Ints:
        return np.asarray(self.model.predict(InMemory(self.schema, block)), dtype=np.int64)


def stream_clusters(
    rows: Rows,
    method: Method,
    k: int | None,
    max_clusters: int,
    seed: int,
    progress: Any,
    *,
    standardize: bool,
    why: str,
) -> ClusterStudy:
    """Cluster analysis by K-means of rows that are read pass by pass."""
    _refuse_method(method, why)
    prepared = prepare(rows)
    rng = np.random.default_rng(seed)
    design, columns, count = _draw_samples(rows, prepared, seed, rng, standardize=standardize)
    method = replace(method, categories=design.categories)
    different = different_rows(design.x, design.table.block)
    numbers = numbers_to_try(len(different.rows), different.distinct, k, max_clusters)
    samples = row_samples(different, design.x.shape[1], numbers[-1], rng)
    messages = _messages(design, method, columns, samples, count, why)
    tell_inferred(progress, messages, ())
    with stages(progress, STREAM_WORK) as step:
        result = search(design, samples, method, numbers, k, rng, step)
        step("fitting K-means to all rows, pass by pass")
        start = _refine_centers(design, samples, method, result)
        new = KMeans(
            result.chosen.k,
            init=start,
            max_iter=MAX_ITER,
            tol=TOLERANCE,
            standardize=design.standardized,
            random_state=seed,
        )
        model, warnings = with_warnings(lambda: largest_first(new.fit(rows)))
        assert isinstance(model, KMeans)
        step("describing the clusters")
        totals = rows.reduce(ClusterTotals(result.chosen.k, _Label(model, rows.schema)))
        labels = np.asarray(model.predict(design.raw_rows), dtype=np.int64)
        shape = silhouette(design.x, labels, "euclidean")
        means = np.full(result.chosen.k, np.nan)  # NaN: no row of the cluster is in the sample
        means[shape.clusters.astype(int)] = shape.by_cluster
        measured = np.arange(len(labels))
    return ClusterStudy(
        seed=seed,
        n_rows=count,
        columns=columns,
        method=method.name,
        metric=method.metric,
        standardized=design.standardized,
        requested=k,
        k=result.chosen.k,
        reason=f"{reason(result.trials, result.chosen, k, max_clusters)} {_on_sample(samples)}",
        trials=result.trials,
        total_ss=result.total_ss,
        structure=result.structure,
        stability=result.stability,
        clusters=clusters_of(totals, columns, model, means),
        silhouette=shape.score,
        silhouette_metric="euclidean",
        model=model,
        certificate=model.certificate_,
        messages=(*messages, _passes(model)),
        warnings=warnings,
        assignments=None,
        plotted=plotted_rows(design, labels, shape, measured),
        max_clusters=max_clusters,
    )


def _refuse_method(method: Method, why: str) -> None:
    if method.name != "kmeans":
        raise InputError(
            f"the table is {why}, and {method.name} compares rows with one another in memory.",
            remedy="Use `method='kmeans'`, raise the limit for files (SEPARATRIX_MEMORY=megabytes),"
            " or take a sample of the rows.",
        )


def _draw_samples(
    rows: Rows, prepared: Prepared, seed: int, rng: np.random.Generator, *, standardize: bool
) -> tuple[SampleDesign, tuple[ColumnProfile, ...], int]:
    """The design of a sample, scaled as all rows are; the profile of the columns; all rows."""
    encoding, spread = prepared.encoding, ColumnSpread.from_moments(prepared.moments)
    if not (spread.squares > 0).any():
        raise InputError(
            "every row is the same: no column varies.",
            remedy="Check how the columns are read (`kinds={…}`).",
        )
    # The last digits of sums depend on where rows were added up; what is drawn from the sample and
    # found in it must not.
    exact = spread.standardizer
    unit = np.exp2(np.floor(np.log2(np.where(exact.scale > 0.0, exact.scale, 1.0))) - 30.0)
    standardizer = Standardizer(_round_to(exact.mean, unit), _round_to(exact.scale, unit))
    encoding = replace(
        encoding,
        fill_values={
            name: float(_round_to(value, unit[encoding.terms.position[Term(name)]]))
            for name, value in encoding.fill_values.items()
        },
    )
    size = max(1, min(SAMPLE_ROWS, SAMPLE_NUMBERS // len(encoding.terms)))
    share = (size + SURPLUS * np.sqrt(size)) / spread.count
    once = rows.reduce(Together(Profile(), DesignSample(encoding, size, seed, share)))
    profile, sample = once.statistics
    columns = tuple(profile.columns(rows.schema))
    if share < 1.0 and len(sample.key) < size:  # so many copies that there are fewer rows
        sample = rows.reduce(DesignSample(encoding, size, seed, 1.0))
    discrete = zero_one_columns(encoding)
    scales = standardizer.with_pooled_scales(discrete) if standardize else None
    x = sample.rows[_repeat_rows(sample.weight, size, rng)]
    return _design(x, encoding, scales, rows), columns, spread.count


def _round_to(values: Any, unit: Any) -> Any:
    return np.round(values / unit) * unit


def _repeat_rows(counts: Floats, size: int, rng: np.random.Generator) -> Ints:
    """Distinct rows as often as they occur; drawn in proportion where that would be too many."""
    total = int(counts.sum())
    if total <= size:
        return np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    if total == len(counts):
        return np.arange(len(counts))
    return np.sort(rng.choice(len(counts), size, p=counts / counts.sum()))


@dataclass(frozen=True)
class SampleDesign(ClusterDesign):
    """The design of a sample of rows, and the rows as a model of all rows takes them."""

    raw_rows: Rows
    scales: Standardizer | None


def _design(x: Floats, encoding: Encoding, scales: Standardizer | None, rows: Rows) -> SampleDesign:
    """The sample as distances see it, by the means and scales of all rows."""
    block = Block(x, np.empty((len(x), 0)), None, encoding.terms, Terms(()))
    table = InMemory(rows.schema, block)
    table.notes, table.dropped = rows.notes, rows.dropped
    z = x if scales is None else np.ascontiguousarray(scales.transform(x))
    return SampleDesign(
        table,
        z,
        z,
        x,
        tuple(str(term) for term in encoding.terms),
        tuple(map(tuple, columns_by_level(encoding))),
        zero_one_columns(encoding),
        scales is not None,
        EncodedRows(table, encoding),
        scales,
    )


def _refine_centers(
    design: SampleDesign, samples: RowSamples, method: Method, found: Found
) -> Floats:
    """Centers after K-means of the whole sample, which all rows start from: few passes are left."""
    k = found.chosen.k
    start = start_of(design, samples, method, found.partition)
    if start is None:
        return _from_sample(design, KMeans(k, n_init=10, random_state=0))
    scaled = start if design.scales is None else design.scales.transform(start)
    return _from_sample(design, KMeans(k, init=scaled))


def _from_sample(design: SampleDesign, model: KMeans) -> Floats:
    centers, _ = with_warnings(lambda: model.fit(design.x).cluster_centers_)
    return centers if design.scales is None else design.scales.inverse_transform(centers)


def _messages(
    design: ClusterDesign,
    method: Method,
    columns: tuple[ColumnProfile, ...],
    samples: RowSamples,
    count: int,
    why: str,
) -> tuple[str, ...]:
    """What was inferred, and what is judged on how many rows."""
    every = RowSamples(np.arange(len(design.x)), np.arange(len(design.x)), 0)
    return (
        *inferred_messages(design, method, columns, every),
        f"The table is {why}: the number of clusters is judged on {len(samples.searched):,} rows, "
        f"compared with tables without groups on {len(samples.tested):,}, and silhouettes are "
        f"measured on {len(design.x):,}, all drawn by a hash of each row; K-means is fitted to all "
        f"{count:,} rows, one pass for each iteration.",
    )


def _on_sample(samples: RowSamples) -> str:
    return f"Judged on a sample of {len(samples.searched):,} rows."


def _passes(model: KMeans) -> str:
    """How often all rows were read."""
    ended = "" if model.certificate_.holds else f", the most that are made ({MAX_ITER})"
    return (
        f"K-means took {model.n_iter_} iterations over all rows{ended}, each of them one pass; "
        "with those for columns, sample, check and description the table was read "
        f"{model.n_iter_ + 6} times."
    )
