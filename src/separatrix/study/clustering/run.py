"""Cluster analysis: try numbers of clusters, test for structure, fit, describe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.cluster.kmeans import KMeans
from separatrix.cluster.kmedoids import KMedoids
from separatrix.cluster.silhouette import Silhouette, silhouette
from separatrix.rows.block import Floats, Ints
from separatrix.rows.profile import ColumnProfile, profile
from separatrix.rows.rows import InMemory, Rows
from separatrix.study.clustering.choice import numbers_to_try, reason
from separatrix.study.clustering.design import ClusterDesign, cluster_design, inferred_messages
from separatrix.study.clustering.found import plotted_rows, search, start_of
from separatrix.study.clustering.methods import (
    FittedClusterer,
    Method,
    largest_first,
    method_named,
    refuse_size,
)
from separatrix.study.clustering.profiles import clusters_of, totals_of
from separatrix.study.clustering.result import Assignments, ClusterStudy
from separatrix.study.clustering.samples import different_rows, drawn, row_samples
from separatrix.study.clustering.search import Search
from separatrix.study.clustering.streaming import stream_clusters
from separatrix.study.design import with_warnings
from separatrix.study.progress import stages, tell_inferred
from separatrix.study.size import reason_to_stream

#: Rows whose silhouettes are measured: all pairs of them, or all pairs of a metric.
SILHOUETTE_ROWS, METRIC_ROWS = 20_000, 3_000
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
    chosen = method_named(method, metric)
    why = reason_to_stream(rows)
    if why:
        study = stream_clusters(
            rows, chosen, k, max_clusters, seed, progress, standardize=standardize, why=why
        )
        return replace(study, source=source, command=command)
    table = rows.read()
    refuse_size(chosen, len(table))
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
        found = search(design, samples, chosen, numbers, k, rng, step)
        step("fitting the model")
        start = start_of(design, samples, chosen, found.partition)
        new = chosen.model(found.chosen.k, start, standardize=design.standardized, seed=seed)
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
            k=found.chosen.k,
            reason=reason(found.trials, found.chosen, k, max_clusters),
            trials=found.trials,
            total_ss=found.total_ss,
            structure=found.structure,
            stability=found.stability,
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
        metric = "euclidean" if len(x) <= SILHOUETTE_ROWS else "sqeuclidean"
        return silhouette(x, labels, metric), np.arange(len(x)), metric
    rows = drawn(np.arange(len(x)), METRIC_ROWS, rng)
    metric = "distance in the space of the kernel" if method.name == "kernel" else method.metric
    return Search(method, x[rows]).silhouette(labels[rows]), rows, metric


def _distances(model: FittedClusterer, table: InMemory, labels: Ints) -> Floats | None:
    """Distance of every row to its center or medoid; None where there are none."""
    if not isinstance(model, KMeans | KMedoids):
        return None
    return np.asarray(model.transform(table)[np.arange(len(labels)), labels], dtype=float)
