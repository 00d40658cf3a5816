"""Cluster analysis: try numbers of clusters, test for structure, fit, describe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.cluster.kmeans import KMeans
from separatrix.cluster.kmedoids import KMedoids
from separatrix.cluster.scatter import cluster_projection
from separatrix.cluster.silhouette import Silhouette, silhouette
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.rows.profile import profile
from separatrix.rows.rows import InMemory, Rows
from separatrix.study.clustering.choice import STARTS, best, numbers_to_try, reason, trials_of
from separatrix.study.clustering.design import ClusterDesign, cluster_design, inferred_messages
from separatrix.study.clustering.methods import (
    FittedClusterer,
    Method,
    Search,
    largest_first,
    method_named,
    refuse_size,
)
from separatrix.study.clustering.profiles import clusters_of
from separatrix.study.clustering.result import Assignments, ClusterStudy, PlottedRows
from separatrix.study.clustering.validation import TEST_ROWS, stability, structure
from separatrix.study.design import with_warnings
from separatrix.study.folds import thinned
from separatrix.study.progress import Step, stages
from separatrix.study.size import reason_to_stream

#: Rows by which the number of clusters is chosen, and whose silhouettes are all measured.
SEARCH_ROWS, SILHOUETTE_ROWS = 3_000, 20_000
#: Rows that pictures show.
PLOTTED_ROWS = 20_000


def run_clusters(
    rows: Rows,
    *,
    k: int | None = None,
    method: str = "kmeans",
    metric: str | None = None,
    standardize: bool = True,
    seed: int = 0,
    progress: Any = None,
    source: str = "",
    command: str = "",
) -> ClusterStudy:
    """Cluster analysis of a table: number of clusters, test for structure, stability, profiles.

    The number of clusters is that of the largest mean silhouette. Structure is tested against
    reference tables without clusters (Monte Carlo p-value), stability by the adjusted Rand index
    with clusters of half of the rows.

    Parameters
    ----------
    rows : Rows
        The table, as read by :func:`separatrix.scan`.
    k : int or None, default=None
        Number of clusters; None chooses it by the silhouette.
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

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2)) + 9.0 * (np.arange(40) % 2)[:, None]
    >>> study = sx.run_clusters(sx.scan(X), k=2)
    >>> study.k, [cluster.size for cluster in study.clusters]
    (2, [20, 20])
    """
    chosen = method_named(method, metric)
    table = _in_memory(rows)
    refuse_size(chosen, len(table))
    design = cluster_design(table, chosen, standardize=standardize)
    chosen = replace(chosen, categories=design.categories)
    with stages(progress, 5) as step:
        study = _analyze(design, chosen, k, seed, step)
    return replace(study, source=source, command=command)


def _in_memory(rows: Rows) -> InMemory:
    why = reason_to_stream(rows)
    if why:
        raise InputError(
            f"the table is {why}, and cluster structure cannot be tested in one pass.",
            remedy="Raise the limit for files (SEPARATRIX_MEMORY=megabytes), take a sample of the "
            "rows, or fit KMeans in Python, which reads a table as often as it needs.",
        )
    return rows.read()


def _analyze(
    design: ClusterDesign, method: Method, requested: int | None, seed: int, step: Step
) -> ClusterStudy:
    rng = np.random.default_rng(seed)
    x, table, columns = design.x, design.table, profile(design.table)
    numbers = numbers_to_try(x, requested)
    searched = _sample(len(x), max(SEARCH_ROWS, 8 * numbers[-1]), rng)
    search, z = Search(method, x[searched]), design.z[searched]
    step(f"trying {numbers[0]} to {numbers[-1]} clusters" if numbers[1:] else "trying 2 clusters")
    partitions = {k: search.labels(k, rng, STARTS) for k in numbers}
    trials = trials_of(search, partitions, z)
    chosen = best(trials) if requested is None else next(t for t in trials if t.k == requested)
    step("reference tables without clusters")
    tested = _sample(len(x), max(TEST_ROWS, 8 * chosen.k), rng)
    tried = numbers if requested is None else (requested,)
    test = structure(method, x[tested], design.discrete, tried, rng)
    step("stability on half of the rows")
    repeated = stability(search, partitions[chosen.k], chosen.k, rng)
    step("fitting the model")
    new = method.model(chosen.k, standardize=design.standardized, seed=seed, n=len(x))
    model, warnings = with_warnings(lambda: largest_first(new.fit(table)))
    step("describing the clusters")
    labels = np.asarray(model.labels_, dtype=np.int64)
    shape, measured, silhouette_metric = _silhouettes(method, x, labels, rng)
    means = np.full(int(labels.max()) + 1, np.nan)  # NaN: no row of the cluster was measured
    means[shape.clusters.astype(int)] = shape.by_cluster
    samples = shape.samples if len(measured) == len(labels) else None
    return ClusterStudy(
        seed=seed,
        n_rows=len(x),
        columns=columns,
        method=method.name,
        metric=method.metric,
        standardized=design.standardized,
        requested=requested,
        k=chosen.k,
        reason=reason(trials, chosen, requested),
        trials=trials,
        total_ss=float(((z - z.mean(axis=0)) ** 2).sum()),
        structure=test,
        stability=repeated,
        clusters=clusters_of(table, columns, model, labels, means),
        silhouette=shape.score,
        silhouette_metric=silhouette_metric,
        model=model,
        certificate=model.certificate_,
        messages=inferred_messages(design, method, columns, len(searched), len(tested)),
        warnings=warnings,
        assignments=Assignments(table.row_ids, labels, samples, _distances(model, table, labels)),
        plotted=_plotted(design, labels, shape, measured),
    )


def _sample(n: int, most: int, rng: np.random.Generator) -> Ints:
    """Some rows in their order; all of a small table."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _silhouettes(
    method: Method, x: Floats, labels: Ints, rng: np.random.Generator
) -> tuple[Silhouette, Ints, str]:
    """Silhouettes, the rows that they are of, and the distance that they go by."""
    if method.euclidean:
        metric = "euclidean" if len(x) <= SILHOUETTE_ROWS else "sqeuclidean"
        return silhouette(x, labels, metric), np.arange(len(x)), metric
    rows = _sample(len(x), SEARCH_ROWS, rng)
    metric = "distance in the space of the kernel" if method.name == "kernel" else method.metric
    return Search(method, x[rows]).silhouette(labels[rows]), rows, metric


def _plotted(design: ClusterDesign, labels: Ints, shape: Silhouette, measured: Ints) -> PlottedRows:
    """Measured rows for pictures, thinned."""
    some = thinned(np.arange(len(measured)), PLOTTED_ROWS)
    projection = cluster_projection(design.z, labels)
    return PlottedRows(
        labels[measured[some]],
        shape.samples[some],
        shape.neighbor[some],
        replace(projection, coordinates=projection.coordinates[measured[some]]),
        design.names,
    )


def _distances(model: FittedClusterer, table: InMemory, labels: Ints) -> Floats | None:
    """Distance of every row to its center or medoid; None where there are none."""
    if not isinstance(model, KMeans | KMedoids):
        return None
    return np.asarray(model.transform(table)[np.arange(len(labels)), labels], dtype=float)
