"""Tables for Gower's distance: missing values stay missing, and a category is one column.

The encoding of a table fills missing values and gives a category a column for each level. Gower's
distance skips what is missing and compares categories as a whole, so that a table gives the same
distances read by ``scan`` as it does given as a data frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.distances.base import Metric
from separatrix.distances.gower import Gower
from separatrix.rows.block import Block, Floats, to_array
from separatrix.rows.encoding import Encoding
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Term
from separatrix.statistics.preparation import prepare


def skips_missing(metric: Any) -> bool:
    """Whether a metric, given by name or itself, is Gower's."""
    return isinstance(metric, Gower) or (isinstance(metric, str) and metric == "gower")


def with_missing(encoding: Encoding, raw: Block) -> Floats:
    """The design of raw rows, NaN where the table has no value."""
    x = np.array(to_array(encoding.apply(raw).x), dtype=np.float64)
    terms = to_array(raw.x)
    for j, term in enumerate(encoding.terms):
        at = raw.terms.position.get(Term(term.column, missing=True))
        if term.missing:
            x[:, j] = np.nan  # a column that says which values are missing is none of the table
        elif at is not None:
            x[terms[:, at] != 0.0, j] = np.nan
    return x


def metric_of_table(metric: Metric, encoding: Encoding | None) -> Metric:
    """Gower's distance with the levels of a category in one group; other metrics as they are."""
    if not isinstance(metric, Gower) or metric.groups or encoding is None or encoding.is_identity:
        return metric
    levels: dict[str, list[int]] = {}
    for j, term in enumerate(encoding.terms):
        if term.level is not None:
            levels.setdefault(term.column, []).append(j)
    groups = tuple(tuple(columns) for columns in levels.values())
    return Gower(groups=groups) if groups else metric


def points_of_table(rows: Rows, metric: Metric) -> tuple[Floats, Metric]:
    """The design of a table as a metric compares it, and the metric for it."""
    prepared = prepare(rows)
    metric = metric_of_table(metric, prepared.encoding)
    if skips_missing(metric) and not prepared.encoding.is_identity:
        return with_missing(prepared.encoding, rows.collect()), metric
    return prepared.rows.collect().dense(), metric
