"""Reports: one self-contained HTML page for a study, a cluster analysis, or learning curves."""

from separatrix.report.clusters import render_clusters, write_clusters
from separatrix.report.curves import render_curves, write_curves
from separatrix.report.page import render, write

__all__ = [
    "render",
    "render_clusters",
    "render_curves",
    "write",
    "write_clusters",
    "write_curves",
]
