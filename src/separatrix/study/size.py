"""Whether a table can be read into memory whole, or must be studied from one pass."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from separatrix.rows.rows import InMemory, Rows

#: Never read more than this, however large the machine.
MOST_BYTES = 4 << 30
#: Text grows and shrinks when it becomes numbers; compressed columns only grow.
GROWTH = {"text": 2.0, "compressed": 6.0}


def reason_to_stream(rows: Rows) -> str:
    """Why the rows are not read into memory; empty if they are."""
    if isinstance(rows, InMemory):
        return ""
    if not hasattr(rows, "source"):  # the rows of a cluster are not ours to fetch
        return "spread over a cluster"
    paths = getattr(rows.source, "paths", ())  # a data frame has none: it is in memory already
    needed = sum(_bytes(path, len(rows.schema.by_name)) for path in paths)
    return "too large for memory" if needed >= budget() else ""


def _bytes(path: str, columns: int) -> float:
    if path.lower().endswith((".parquet", ".pq")):
        import pyarrow.parquet as pq

        metadata: Any = pq.read_metadata(path)
        return float(metadata.num_rows) * columns * 8
    growth = GROWTH["compressed" if path.endswith(".gz") else "text"]
    return Path(path).stat().st_size * growth


def budget() -> float:
    """Bytes that a table may take: ``SEPARATRIX_MEMORY`` (in MB), else a quarter of the machine."""
    asked = os.environ.get("SEPARATRIX_MEMORY")
    if asked:
        return float(asked) * 1e6
    svm = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(svm / 4, MOST_BYTES)
