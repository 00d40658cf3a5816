"""Reports: one self-contained HTML page for a study, or for a cluster analysis."""

from separatrix.report.clusters import render_clusters, write_clusters
from separatrix.report.page import render, write

__all__ = ["render", "render_clusters", "write", "write_clusters"]
