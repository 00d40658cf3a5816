"""Cluster analysis of a table that is not read into memory: too large, or on other machines.

The number of clusters, the test against tables without groups, stability and silhouettes are judged
on a sample of the rows; K-means is then fitted to all rows, one pass for each iteration, and every
cluster is described by sums over all rows.

The sample is that of the smallest hashes of rows, so that it does not depend on the order of the
rows, on blocks, or on the machines that read them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.cluster.base import columns_by_level, zero_one_columns
from separatrix.cluster.kmeans import KMeans
from separatrix.cluster.lloyd.column_spread import ColumnSpread
from separatrix.cluster.lloyd.streaming import SURPLUS, DesignSample
from separatrix.cluster.silhouette import silhouette
from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.encoding import Encoding
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.profile import ColumnProfile, Profile
from separatrix.rows.row_sample import Both
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Schema, Terms
from separatrix.statistics.preparation import Prepared, prepare
from separatrix.statistics.standardizer import Standardizer
from separatrix.study.clustering.choice import numbers_to_try, reason
from separatrix.study.clustering.design import ClusterDesign, inferred_messages
from separatrix.study.clustering.found import Found, plotted_rows, search, start_of
from separatrix.study.clustering.methods import Method, largest_first
from separatrix.study.clustering.profiles import ClusterTotals, clusters_of
from separatrix.study.clustering.result import ClusterStudy
from separatrix.study.clustering.samples import RowSamples, different_rows, row_samples
from separatrix.study.design import with_warnings
from separatrix.study.progress import stages, tell_inferred

#: Rows of the sample, fewer where they are wide: in numbers.
SAMPLE_ROWS, SAMPLE_NUMBERS = 20_000, 4_000_000
#: Passes of K-means over all rows, and steps of the centers that are not worth another one: their
#: squares, relative to the mean variance of the columns.
MAX_ITER, TOLERANCE = 100, 1e-12
#: Work of the stages: passes over all rows count for more than what is done with a sample.
WORK = (0.1, 0.15, 0.05, 0.6, 0.1)


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
    design, columns, count = _sampled(rows, prepared, seed, rng, standardize=standardize)
    method = replace(method, categories=design.categories)
    different = different_rows(design.x, design.table.block)
    numbers = numbers_to_try(len(different.rows), different.distinct, k, max_clusters)
    samples = row_samples(different, design.x.shape[1], numbers[-1], rng)
    messages = _messages(design, method, columns, samples, count, why)
    tell_inferred(progress, messages, ())
    with stages(progress, WORK) as step:
        found = search(design, samples, method, numbers, k, rng, step)
        step("fitting K-means to all rows, pass by pass")
        start = _refined(design, samples, method, found)
        new = KMeans(
            found.chosen.k,
            init=start,
            max_iter=MAX_ITER,
            tol=TOLERANCE,
            standardize=design.standardized,
            random_state=seed,
        )
        model, warnings = with_warnings(lambda: largest_first(new.fit(rows)))
        step("describing the clusters")
        totals = rows.reduce(ClusterTotals(found.chosen.k, _Label(model, rows.schema)))
        labels = np.asarray(model.predict(design.raw_rows), dtype=np.int64)
        shape = silhouette(design.x, labels, "euclidean")
        means = np.full(found.chosen.k, np.nan)  # NaN: no row of the cluster is in the sample
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
        k=found.chosen.k,
        reason=f"{reason(found.trials, found.chosen, k, max_clusters)} {_on_sample(samples)}",
        trials=found.trials,
        total_ss=found.total_ss,
        structure=found.structure,
        stability=found.stability,
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


def _sampled(
    rows: Rows, prepared: Prepared, seed: int, rng: np.random.Generator, *, standardize: bool
) -> tuple[SampleDesign, tuple[ColumnProfile, ...], int]:
    """The design of a sample, scaled as all rows are; the profile of the columns; all rows."""
    encoding, spread = prepared.encoding, ColumnSpread.from_moments(prepared.moments)
    if not (spread.squares > 0).any():
        raise InputError(
            "every row is the same: no column varies.",
            remedy="Check how the columns are read (`kinds={…}`).",
        )
    size = max(1, min(SAMPLE_ROWS, SAMPLE_NUMBERS // len(encoding.terms)))
    share = (size + SURPLUS * np.sqrt(size)) / spread.count
    both = Both(Profile(), DesignSample(encoding, size, seed, share))
    once = rows.reduce(both)
    columns = tuple(once.first.columns(rows.schema))
    sample = once.second
    if share < 1.0 and len(sample.key) < size:  # so many copies that there are fewer rows
        sample = rows.reduce(DesignSample(encoding, size, seed, 1.0))
    discrete = zero_one_columns(encoding)
    scales = spread.standardizer.with_pooled_scales(discrete) if standardize else None
    x = sample.rows[_repeated(sample.weight, size, rng)]
    return _design(x, encoding, scales, rows), columns, spread.count


def _repeated(counts: Floats, size: int, rng: np.random.Generator) -> Ints:
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


def _refined(design: SampleDesign, samples: RowSamples, method: Method, found: Found) -> Floats:
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
