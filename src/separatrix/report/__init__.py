"""One self-contained HTML page that tells the whole story of a study."""

from separatrix.report.page import render, write

__all__ = ["render", "write"]
