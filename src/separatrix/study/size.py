"""Whether a table can be read into memory whole, or must be studied from one pass."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.sources.csv import CsvSource
from separatrix.rows.sources.parquet import ParquetSource
from separatrix.rows.sources.stream import TableRows

#: Never read more than this into memory.
MAX_BYTES = 4 << 30
#: Text grows and shrinks when it becomes numbers; compressed columns only grow.
GROWTH = {"text": 2.0, "compressed": 6.0}


def reason_to_stream(rows: Rows) -> str:
    """Why the rows are not read into memory; empty if they are."""
    if isinstance(rows, InMemory):
        return ""
    # the rows of a cluster are not ours to fetch
    if not isinstance(rows, TableRows) or rows.travel is not None:
        return "spread over a cluster"
    if not isinstance(rows.source, CsvSource | ParquetSource):  # a data frame is in memory already
        return ""
    needed = sum(_bytes(path, len(rows.schema.by_name)) for path in rows.source.paths)
    return "too large for memory" if needed >= memory_budget() else ""


def _bytes(path: str, columns: int) -> float:
    if path.lower().endswith((".parquet", ".pq")):
        import pyarrow.parquet as pq

        metadata: Any = pq.read_metadata(path)
        return float(metadata.num_rows) * columns * 8
    growth = GROWTH["compressed" if path.endswith(".gz") else "text"]
    return Path(path).stat().st_size * growth


def memory_budget() -> float:
    """Bytes that a table may take: ``SEPARATRIX_MEMORY`` (in MB), else a quarter of the memory."""
    limit = os.environ.get("SEPARATRIX_MEMORY")
    if limit:
        return float(limit) * 1e6
    return min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 4, MAX_BYTES)
