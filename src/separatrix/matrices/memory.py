"""How much memory there is, for work that must hold a whole matrix."""

from __future__ import annotations

import os


def physical_memory() -> float:
    """Bytes of physical memory; infinite where the system does not report them."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
