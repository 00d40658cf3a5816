"""Rows by which the number of clusters is chosen and groups are tested, on a budget of work.

Exact copies of rows lie at distance 0 from each other and would count as groups. Where chance does
not explain them, samples are drawn from the different rows only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.cluster.initialization import lexicographic_order
from separatrix.rows.block import Block, Floats, Ints
from separatrix.rows.copies import Copies
from separatrix.rows.parts import hash_block

#: Numbers (rows times columns) of the search and of the test; rows at most, and at least.
SEARCH_NUMBERS, SEARCH_ROWS, LEAST_SEARCHED = 300_000, 3_000, 1_000
TEST_NUMBERS, TEST_ROWS, LEAST_TESTED = 40_000, 400, 150
#: Fewer different rows are the cells of a table of counts, however often each occurs.
LEAST_DISTINCT = 20
#: Rows of a sample for each cluster, at least.
ROWS_PER_CLUSTER = 8


@dataclass(frozen=True)
class DifferentRows:
    """First occurrence of every row that counts; ``copies`` are left out of samples."""

    rows: Ints
    distinct: int
    copies: int


@dataclass(frozen=True)
class RowSamples:
    """Rows of the search and of the test for structure, and how many copies are in neither."""

    searched: Ints
    tested: Ints
    copies: int


def different_rows(x: Floats, block: Block) -> DifferentRows:
    """The rows of the design ``x`` without copies, unless chance explains those in the table."""
    n = len(x)
    order = lexicographic_order(x)
    new = np.append(True, (x[order[1:]] != x[order[:-1]]).any(axis=1))
    distinct = int(new.sum())
    if distinct == n or distinct < LEAST_DISTINCT or Copies(block, hash_block(block)).by_chance:
        return DifferentRows(np.arange(n), distinct, 0)
    return DifferentRows(np.sort(order[new]), distinct, n - distinct)


def row_samples(
    different: DifferentRows, columns: int, clusters: int, rng: np.random.Generator
) -> RowSamples:
    """Samples for up to so many clusters."""
    least = ROWS_PER_CLUSTER * clusters
    searched = min(SEARCH_ROWS, max(LEAST_SEARCHED, SEARCH_NUMBERS // columns))
    tested = min(TEST_ROWS, max(LEAST_TESTED, TEST_NUMBERS // columns))
    return RowSamples(
        drawn(different.rows, max(searched, least), rng),
        drawn(different.rows, max(tested, least), rng),
        different.copies,
    )


def drawn(rows: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Some rows in their order; all of a small table."""
    if len(rows) <= most:
        return rows
    return np.sort(rng.choice(rows, most, replace=False))
