"""Cluster analysis: try numbers of clusters, test for structure, fit, describe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.cluster.scatter import cluster_projection
from separatrix.cluster.silhouette import Silhouette, silhouette
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.rows.profile import ColumnProfile, profile
from separatrix.rows.rows import InMemory, Rows
from separatrix.study.clustering import choice
from separatrix.study.clustering import messages as announcements
from separatrix.study.clustering.design import ClusterDesign, cluster_design
from separatrix.study.clustering.groups import groups_of
from separatrix.study.clustering.methods import Labels, Method, method_named, refuse_size
from separatrix.study.clustering.numbering import largest_first
from separatrix.study.clustering.result import Assigned, ClusterStudy, Drawn
from separatrix.study.clustering.stability import stability
from separatrix.study.clustering.structure import TEST_ROWS, structure
from separatrix.study.design import with_warnings
from separatrix.study.folds import thinned
from separatrix.study.progress import stages
from separatrix.study.size import reason_to_stream

#: Rows by which the number of clusters is chosen, and whose silhouettes are all measured.
SEARCH_ROWS, SILHOUETTE_ROWS = 3_000, 20_000
#: Rows that pictures show.
SHOWN_ROWS = 20_000


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
    >>> study.k, [group.size for group in study.groups]
    (2, [20, 20])
    """
    way = method_named(method, metric)
    table = _in_memory(rows)
    refuse_size(way, len(table))
    columns = profile(table)
    design = cluster_design(table, way, standardize=standardize)
    way = replace(way, groups=design.groups)
    with stages(progress, 5) as step:
        return _studied(design, way, columns, k, seed, step, {"source": source, "command": command})


def _in_memory(rows: Rows) -> InMemory:
    why = reason_to_stream(rows)
    if why:
        raise InputError(
            f"the table is {why}, and cluster structure cannot be tested in one pass.",
            remedy="Raise the limit for files (SEPARATRIX_MEMORY=megabytes), take a sample of the "
            "rows, or fit KMeans in Python, which reads a table as often as it needs.",
        )
    return rows.read()


def _studied(
    design: ClusterDesign,
    way: Method,
    columns: tuple[ColumnProfile, ...],
    asked: int | None,
    seed: int,
    step: Any,
    metadata: dict[str, Any],
) -> ClusterStudy:
    rng = np.random.default_rng(seed)
    x = design.x
    numbers = choice.numbers_to_try(x, asked)
    some = _sample(len(x), max(SEARCH_ROWS, 8 * numbers[-1]), rng)
    search = way.search(x[some])
    step(f"trying {_span(numbers)} clusters")
    found = choice.tried(search, numbers, rng)
    steps = choice.steps_of(search, found, design.z[some])
    chosen = choice.best(steps) if asked is None else next(s for s in steps if s.k == asked)
    step("reference tables without clusters")
    few = _sample(len(x), max(TEST_ROWS, 8 * chosen.k), rng)
    tested = structure(way, x[few], design.discrete, numbers if asked is None else (asked,), rng)
    step("stability on half of the rows")
    again = stability(search, found[chosen.k], chosen.k, rng)
    step("fitting the model")
    new = way.model(chosen.k, standardize=design.standardized, seed=seed, n=len(x))
    model, warnings = with_warnings(lambda: largest_first(new.fit(design.table)))
    step("describing the clusters")
    return ClusterStudy(
        seed=seed,
        n_rows=len(x),
        columns=columns,
        method=way.name,
        metric=way.metric,
        standardized=design.standardized,
        asked=asked,
        k=chosen.k,
        reason=announcements.reason(steps, chosen, asked),
        steps=steps,
        scatter=float(((design.z[some] - design.z[some].mean(axis=0)) ** 2).sum()),
        structure=tested,
        stability=again,
        model=model,
        messages=announcements.inferred_messages(design, way, columns, len(some), len(few)),
        warnings=warnings,
        **_described(design, way, columns, model, rng),
        **metadata,
    )


def _described(
    design: ClusterDesign,
    way: Method,
    columns: tuple[ColumnProfile, ...],
    model: Any,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Silhouettes, profiles, and where every row went."""
    labels = np.asarray(model.labels_, dtype=np.int64)
    shape, measured, measure = _silhouettes(way, design.x, labels, rng)
    means = _by_cluster(shape, int(labels.max()) + 1)
    samples = shape.samples if len(measured) == len(labels) else None
    away = _distances(model, design.table, labels)
    return {
        "groups": groups_of(design.table, columns, labels, means),
        "silhouette": shape.score,
        "measure": measure,
        "assigned": Assigned(design.table.row_ids, labels, samples, away),
        "drawn": _drawn(design, labels, shape, measured),
    }


def _span(numbers: choice.Numbers) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _sample(n: int, most: int, rng: np.random.Generator) -> Labels:
    """Some rows in their order; all of a small table."""
    return np.arange(n) if n <= most else np.sort(rng.choice(n, most, replace=False))


def _silhouettes(
    way: Method, x: Floats, labels: Labels, rng: np.random.Generator
) -> tuple[Silhouette, Labels, str]:
    """Silhouettes, the rows that they are of, and the distance that they go by."""
    if way.euclidean:
        few = len(x) <= SILHOUETTE_ROWS
        measure = "euclidean" if few else "sqeuclidean"
        return silhouette(x, labels, measure), np.arange(len(x)), measure
    some = _sample(len(x), SEARCH_ROWS, rng)
    measure = "distance in the space of the kernel" if way.name == "kernel" else way.metric
    return way.search(x[some]).silhouette(labels[some]), some, measure


def _drawn(design: ClusterDesign, labels: Labels, shape: Silhouette, measured: Labels) -> Drawn:
    """What pictures need, thinned."""
    some = thinned(np.arange(len(measured)), SHOWN_ROWS)
    plane = cluster_projection(design.z, labels)
    return Drawn(
        labels[measured[some]],
        shape.samples[some],
        shape.neighbor[some],
        replace(plane, coordinates=plane.coordinates[measured[some]]),
        design.names,
    )


def _by_cluster(shape: Silhouette, k: int) -> Floats:
    """The mean of every cluster; NaN for one of which no row was measured."""
    means = np.full(k, np.nan)
    means[shape.clusters.astype(int)] = shape.by_cluster
    return means


def _distances(model: Any, table: InMemory, labels: Labels) -> Floats | None:
    """Distance of every row to its centre or medoid, where there are any."""
    if not hasattr(model, "transform"):
        return None
    return np.asarray(model.transform(table)[np.arange(len(labels)), labels], dtype=float)
