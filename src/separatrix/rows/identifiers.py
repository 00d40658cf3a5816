"""Columns that only tell rows apart: counters, keys and names. They say nothing about new rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

#: A text column with more distinct values than this, and than half the rows, holds identifiers.
MIN_IDENTIFIERS = 50
#: From this many rows on, a text of its own in every row is an identifier.
MIN_ROWS = 10

#: Names of identifiers: id, customer_id, orderId, uuid; index.
_ID = re.compile(r"(?i:(^|[\W_])(id|ids|uuid|guid)$)|[a-z](Id|ID)$|(?i:^id[\W_])")
_INDEX = re.compile(r"(?i)^(index|idx|row_?names?|level_0)$")
#: The index of a data frame in a file, which is one even where tables were joined and it repeats.
_UNNAMED = re.compile(r"(?i)^(unnamed: ?\d+|__index_level_\d+__|)$")
#: Names of counters, which are identifiers if they do count.
_COUNTER = re.compile(
    r"(?i)^(#|no|nr|num|number|row|row[\W_]?(no|nr|num|number|index|idx)|obs|observation"
    r"|record|case|key|serial|seq|sequence|rank|sample|instance)$"
)


def named_like_id(name: str) -> bool:
    """Whether a column is called like an identifier: ``id``, ``customer_id``, ``orderId``."""
    return bool(_ID.search(name.strip()))


def identifies(name: str, sample: pa.Array, *, discrete: bool) -> str | None:
    """Why a column holds identifiers of the rows, judged by the first rows; None if it does not."""
    from separatrix.rows.sources.columns import is_number  # the help of the command loads no NumPy

    if discrete:
        return _texts(sample)
    return _numbers(name.strip(), sample) if is_number(sample.type) else None


def _texts(sample: pa.Array) -> str | None:
    from separatrix.rows.sources.columns import levels

    found = levels(sample)
    present, distinct = int((found.codes >= 0).sum()), len(found.names)
    if distinct > max(MIN_IDENTIFIERS, present // 2) or (distinct == present >= MIN_ROWS):
        return f"{distinct} distinct texts in {present} rows look like identifiers"
    return None


def _numbers(name: str, sample: pa.Array) -> str | None:
    import numpy as np

    unnamed = bool(_UNNAMED.match(name))
    called = named_like_id(name) or bool(_INDEX.match(name))
    if not unnamed and not called and not _COUNTER.match(name):
        return None
    values = np.asarray(sample.drop_null().cast("float64", safe=False).to_numpy())
    if len(values) < 2 or len(values) < len(sample) or (values != np.floor(values)).any():
        return None
    if unnamed:
        return "whole numbers without a name look like the index of a data frame"
    ordered = np.sort(values)
    steps = np.diff(ordered)
    if not (steps > 0).all() or not (called or (steps == 1).all()):
        return None
    return "a whole number of its own in every row looks like an identifier"
