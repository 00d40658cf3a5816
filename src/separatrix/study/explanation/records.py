"""What a study stores of its columns: importance, partial dependence, histograms, correlations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix.rows.block import Floats


@dataclass(frozen=True)
class ColumnImportance:
    """Permutation importance on test rows, the most important column first.

    ``increase[j]`` is the mean rise of the ``loss`` of a row when column j is permuted among the
    rows, ``low`` and ``high`` its 95 % interval; ``base`` is the mean loss before. ``n_columns`` is
    the number of columns of the table: ``columns`` are fewer where only those were measured that
    change predictions most.
    """

    columns: tuple[str, ...]
    increase: Floats
    low: Floats
    high: Floats
    loss: str
    base: float
    n_rows: int
    n_repeats: int
    n_columns: int


@dataclass(frozen=True)
class PartialDependence:
    """Mean prediction over rows in which one column is set to each of several values.

    The values are numbers (``values``) or ``levels``, the other of the two is empty. ``average``
    has a row for each value and a column for each of ``outputs``: classes, or the target.
    ``individual`` are the curves of single rows (rows x values), of the last output. ``scale`` says
    what is averaged: "prediction", "probability", or "proportion" of rows predicted so.
    ``deciles`` are those of the column, ``display`` how its numbers are written (years, dates).
    """

    column: str
    values: Floats
    levels: tuple[str, ...]
    average: Floats
    individual: Any
    outputs: tuple[str, ...]
    scale: str
    deciles: Floats
    n_rows: int
    display: str = ""


@dataclass(frozen=True)
class ColumnDistribution:
    """Training rows by the value of one column: in bins between ``edges``, or by level.

    ``counts`` has a row for each bin or level and a column for each of ``classes`` (one column
    without classes). ``mean`` and ``deviation`` are those of a numeric target in each bin, None for
    classes and for the target itself. ``missing`` rows have no value, ``outside`` are beyond the
    edges, or of levels that are not listed; ``display`` is how numbers are written (years, dates).
    """

    column: str
    edges: Floats
    levels: tuple[str, ...]
    counts: Floats
    classes: tuple[str, ...] = ()
    mean: Floats | None = None
    deviation: Floats | None = None
    missing: int = 0
    outside: int = 0
    display: str = ""


@dataclass(frozen=True)
class ColumnCorrelations:
    """Pearson correlations of numeric columns on the training rows, pairwise complete.

    ``n_columns`` is the number of numeric columns that vary, of which these are some.
    """

    columns: tuple[str, ...]
    matrix: Floats
    n_columns: int
    n_rows: int
