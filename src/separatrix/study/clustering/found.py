"""What is found in samples of the rows: how many clusters, whether they are groups, a start."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.cluster.kmedoids import MAX_ROWS as MEDOID_ROWS
from separatrix.cluster.scatter import cluster_projection
from separatrix.cluster.silhouette import Silhouette
from separatrix.rows.block import Floats, Ints
from separatrix.study.clustering.choice import STARTS, Numbers, best, trials_of
from separatrix.study.clustering.design import ClusterDesign
from separatrix.study.clustering.methods import Method
from separatrix.study.clustering.result import PlottedRows, Stability, Structure, Trial
from separatrix.study.clustering.samples import RowSamples
from separatrix.study.clustering.search import Partition, Search
from separatrix.study.clustering.validation import stability, structure
from separatrix.study.folds import thinned
from separatrix.study.progress import Step
from separatrix.threads import on_one_blas_thread

#: Rows that pictures show.
PLOTTED_ROWS = 20_000


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
    searched, z = Search(method, design.x[samples.searched]), design.z[samples.searched]
    step(f"trying {numbers[0]} to {numbers[-1]} clusters" if numbers[1:] else "trying 2 clusters")
    partitions = {k: searched.partition(k, rng, STARTS) for k in numbers}
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
    design: ClusterDesign, samples: RowSamples, method: Method, found: Partition
) -> Floats | Ints | None:
    """Centers or medoids that the search found, for the model of all rows to start from."""
    if found.medoids is not None and len(design.x) <= MEDOID_ROWS:
        return np.asarray(samples.searched[found.medoids])
    sizes = np.bincount(found.labels)
    if method.name != "kmeans" or not sizes.all():
        return None
    columns = design.raw[samples.searched].T
    return (
        np.stack([np.bincount(found.labels, column) for column in columns], axis=1) / sizes[:, None]
    )


def plotted_rows(
    design: ClusterDesign, labels: Ints, shape: Silhouette, measured: Ints
) -> PlottedRows:
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
