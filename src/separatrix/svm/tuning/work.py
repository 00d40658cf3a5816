"""What a search may cost, in floating-point operations: rows, combinations and folds follow."""

from __future__ import annotations

import numpy as np

from separatrix.rows.block import Ints
from separatrix.selection.tuning import NORMAL

#: Operations (half a nanosecond each) of an iteration of SMO for each row; of a kernel value, and
#: more of it for each column.
ROW_ITERATION, KERNEL_VALUE, KERNEL_COLUMN = 4.0, 3.0, 0.15
#: Passes over the rows that a linear SVM needs, and columns that a row counts beside its own.
LINEAR_PASSES, LINEAR_COLUMNS = 600.0, 10.0
#: Rows up to which all are searched, at the usual work; rows of a search of more, and for each
#: class; the same of regression, where every row is near its margin.
ALL_ROWS, SOME_ROWS, SOME_ROWS_OF_CLASS = 4_000, 2_000, 80
ALL_ROWS_OF_NUMBERS, SOME_ROWS_OF_NUMBERS = 1_800, 1_200
#: The least, and the most.
LEAST_ROWS, MOST_ROWS = 400, 6_000
#: Rows of the first part of a search, and for each class.
FIRST_ROWS, FIRST_ROWS_OF_CLASS = 1_000, 40
#: Share of the work that goes into the comparison; the rest is for fits of all rows.
SEARCH_SHARE = 0.3


def search_rows(n: int, n_classes: int, work: float) -> int:
    """Rows whose combinations are compared: work grows with their square."""
    scale = float(np.sqrt(work / NORMAL))
    most = ALL_ROWS if n_classes else ALL_ROWS_OF_NUMBERS
    some = max(SOME_ROWS, SOME_ROWS_OF_CLASS * n_classes) if n_classes else SOME_ROWS_OF_NUMBERS
    if n <= min(most * scale, MOST_ROWS):
        return n
    return int(np.clip(some * scale, LEAST_ROWS, MOST_ROWS))


def first_rows(n_classes: int) -> int:
    """Rows on which the search begins."""
    return max(FIRST_ROWS, FIRST_ROWS_OF_CLASS * n_classes)


def fit_cost(row_iterations: float, n_search: int, sizes: Ints, columns: int) -> float:
    """Operations of one fit to problems of ``sizes`` rows.

    ``row_iterations`` are those of one fold of a search of ``n_search`` rows; they grow with the
    square of the rows, like the kernel values.
    """
    n = float(np.max(sizes)) if len(sizes) == 1 else float(np.sqrt(np.sum(sizes**2) / 2.0))
    kernel = np.sum(sizes.astype(float) ** 2) * (KERNEL_VALUE + KERNEL_COLUMN * columns)
    return float(ROW_ITERATION * row_iterations * (n / n_search) ** 2 + kernel)


def linear_fit_cost(n: int, columns: int, outputs: int) -> float:
    """Operations of the linear SVMs of n rows, one for each output."""
    return LINEAR_PASSES * n * (columns + LINEAR_COLUMNS) * outputs
