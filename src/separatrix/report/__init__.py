"""One self-contained HTML page that tells the whole story of a study, or of a search for groups."""

from separatrix.report.clusters import render_clusters, write_clusters
from separatrix.report.page import render, write

__all__ = ["render", "render_clusters", "write", "write_clusters"]
