"""Pictures of clusters: how many, how well they sit, what they are, where they lie."""

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
from separatrix.study.clustering.result import ClusterStudy


def number_of_clusters(study: ClusterStudy) -> Gallery:
    """Scatter and silhouette over k; the tree where there is one."""
    gallery = Gallery()
    counts = [step.k for step in study.steps]
    if len(counts) > 1:
        scatter = np.array([step.scatter for step in study.steps]) / (study.scatter or 1.0)
        silhouettes = np.array([step.silhouette for step in study.steps])
        gallery.add(lambda: ElbowDisplay(counts, scatter, silhouettes, study.k))
    if study.hierarchical:
        gallery.add(lambda: DendrogramDisplay.from_estimator(study.model))
    return gallery


def profiles(study: ClusterStudy) -> Gallery:
    """Means of the columns by cluster; the plane in which clusters lie apart."""
    gallery = Gallery()
    gallery.add(lambda: _profile(study))
    drawn = study.drawn
    if drawn is not None:
        names = [str(group.number) for group in study.groups]
        gallery.add(
            lambda: ClusterProjectionDisplay(
                drawn.plane, np.asarray(drawn.clusters, dtype=np.int64), names, drawn.names, MANY
            )
        )
    return gallery


def _profile(study: ClusterStudy) -> ClusterProfileDisplay:
    names = list(study.groups[0].standard)
    if not names:
        raise InputError("No numeric column varies, so there is no picture of means.")
    means = np.array([[group.standard[name] for name in names] for group in study.groups])
    return ClusterProfileDisplay(
        np.nan_to_num(means),
        names,
        [str(group.number) for group in study.groups],
        [group.size for group in study.groups],
    )


def fit_of_rows(study: ClusterStudy) -> Gallery:
    """Silhouettes, cluster by cluster."""
    from separatrix.cluster.silhouette import Silhouette  # compiles, and not every page needs it

    gallery, drawn = Gallery(), study.drawn
    if drawn is None:
        return gallery
    clusters = np.unique(drawn.clusters)
    means = np.array([study.groups[int(j)].silhouette for j in clusters])
    shape = Silhouette(
        drawn.silhouettes,
        np.asarray(drawn.clusters),
        clusters,
        means,
        np.asarray(drawn.neighbours),
        study.silhouette,
    )
    gallery.add(lambda: SilhouetteDisplay(shape))
    return gallery
