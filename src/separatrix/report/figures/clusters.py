"""Pictures of clusters: their number, silhouettes, profiles and projection."""

from __future__ import annotations

import numpy as np

from separatrix.messages import InputError
from separatrix.pictures import (
    ClusterProfileDisplay,
    ClusterProjectionDisplay,
    DendrogramDisplay,
    ElbowDisplay,
    SilhouetteDisplay,
)
from separatrix.report.figures.gallery import MANY, Gallery
from separatrix.study.clustering.result import ClusterStudy, standardized_levels


def number_of_clusters(study: ClusterStudy) -> Gallery:
    """Sum of squares and silhouette over k; the dendrogram where there is one."""
    from separatrix.cluster.agglomerative import AgglomerativeClustering  # slow to import

    gallery, model = Gallery(), study.model
    counts = [trial.k for trial in study.trials]
    if len(counts) > 1:
        within = np.array([trial.within_ss for trial in study.trials]) / (study.total_ss or 1.0)
        silhouettes = np.array([trial.silhouette for trial in study.trials])
        gallery.add(lambda: ElbowDisplay(counts, within, silhouettes, study.k))
    if isinstance(model, AgglomerativeClustering):
        gallery.add(lambda: DendrogramDisplay.from_estimator(model))
    return gallery


def profiles(study: ClusterStudy) -> Gallery:
    """Means of the columns by cluster; the plane of largest scatter between clusters."""
    gallery, plotted = Gallery(), study.plotted
    gallery.add(lambda: _profile(study))
    names = [str(cluster.number) for cluster in study.clusters]
    gallery.add(
        lambda: ClusterProjectionDisplay(
            plotted.projection, plotted.clusters, names, plotted.names, MANY
        )
    )
    return gallery


def _profile(study: ClusterStudy) -> ClusterProfileDisplay:
    """Means of numeric columns, and proportions of levels, in standard deviations."""
    clusters = study.clusters
    rows = {
        name: [cluster.standardized_means[name] for cluster in clusters]
        for name in clusters[0].standardized_means
    }
    for (column, level), proportions in standardized_levels(clusters).items():
        rows[f"{column}: {level}"] = proportions
    if not rows:
        raise InputError("No column varies, so there is no picture of means.")
    return ClusterProfileDisplay(
        np.nan_to_num(np.array(list(rows.values())).T),
        list(rows),
        [str(cluster.number) for cluster in clusters],
        [cluster.size for cluster in clusters],
    )


def silhouettes(study: ClusterStudy) -> Gallery:
    """Silhouettes, cluster by cluster."""
    from separatrix.cluster.silhouette import Silhouette  # compiles, and not every page needs it

    gallery, plotted = Gallery(), study.plotted
    clusters = np.unique(plotted.clusters)
    means = np.array([study.clusters[int(j)].silhouette for j in clusters])
    shape = Silhouette(
        plotted.silhouettes, plotted.clusters, clusters, means, plotted.neighbors, study.silhouette
    )
    gallery.add(lambda: SilhouetteDisplay(shape))
    return gallery
