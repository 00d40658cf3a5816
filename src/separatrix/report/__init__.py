"""Reports: one self-contained HTML page for a study, a cluster analysis, or learning curves.

Names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = name.partition("_")[2] or "page"
    return getattr(importlib.import_module(f"separatrix.report.{home}"), name)
