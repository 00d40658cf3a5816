"""Whether a table can be read into memory whole, or must be studied from one pass."""

from __future__ import annotations

import os
from copy import copy

from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.sources.file_source import FileSource
from separatrix.rows.sources.stream import TableRows

#: Never read more than this into memory.
MAX_BYTES = 4 << 30
#: A study in memory takes at most so many times the table as numbers, and so much beside: half of
#: that is the interpreter with its libraries and compiled loops.
TABLES, BESIDE, LIBRARIES = 3.0, 1e9, 0.5e9
#: Rows of a block where many models predict each of them.
SMALL_BLOCK_ROWS = 16_384


def reason_to_stream(rows: Rows) -> str:
    """Why the rows are not read into memory; empty if they are."""
    if isinstance(rows, InMemory):
        return ""
    # the rows of a cluster are not ours to fetch
    if not isinstance(rows, TableRows) or rows.travel is not None:
        return "spread over a cluster"
    if not isinstance(rows.source, FileSource):  # a data frame is in memory already
        return ""
    needed = rows.source.size(len(rows.schema.by_name))
    return "too large for memory" if needed >= memory_budget() else ""


def in_small_blocks(rows: Rows) -> Rows:
    """The same table in blocks that leave room for what models make of them."""
    if not isinstance(rows, TableRows) or rows.travel is not None:
        return rows
    smaller = copy(rows)
    smaller.block_rows = min(rows.block_rows, SMALL_BLOCK_ROWS)
    return smaller


def study_memory(rows: int, columns: int) -> float:
    """Bytes that a study of a table in memory may take beside the table and the libraries."""
    return (TABLES - 1.0) * 8.0 * rows * columns + BESIDE - LIBRARIES


def memory_budget() -> float:
    """Bytes that a table may take: ``SEPARATRIX_MEMORY`` (in MB), else a quarter of the memory."""
    limit = os.environ.get("SEPARATRIX_MEMORY")
    if limit:
        return float(limit) * 1e6
    return min(physical_memory() / 4, MAX_BYTES)


def physical_memory() -> float:
    """Bytes that this computer has."""
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
