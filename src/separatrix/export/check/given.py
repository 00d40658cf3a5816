"""Rows that were given for a check, as the columns of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from separatrix.estimators.wrapped import schema_of
from separatrix.export.check.rows import as_table
from separatrix.export.inputs import InputColumn
from separatrix.export.reading import Reading, core_of
from separatrix.messages import InputError
from separatrix.rows.block import Block, to_array
from separatrix.rows.scan import rows_like
from separatrix.rows.schema import Kind, Term

#: More rows than this are not checked: the first are.
MOST_ROWS = 20_000


def given_rows(rows: Any, model: Any, reading: Reading) -> pa.Table:
    """The first rows of a table as the model reads them: numbers, truth values and levels.

    Texts in the notation of a file become the numbers they stand for, as in training.
    """
    schema = schema_of(core_of(model))
    if schema is None:
        raise InputError(
            "The model was fitted to a matrix without a table's columns.",
            remedy="Leave the rows out: some are made up.",
        )
    found: list[pa.Table] = []
    count = 0
    for block in rows_like(rows, schema).blocks():
        part = block.take(slice(0, MOST_ROWS - count))
        columns = {column.name: _values(part, column) for column in reading.columns}
        refused = [columns[column.name] for column in reading.columns if column.refuses_missing]
        whole = [i for i in range(part.n) if all(values[i] is not None for values in refused)]
        found.append(as_table(columns, reading).take(whole))
        count += part.n
        if count >= MOST_ROWS:
            break
    if not sum(len(one) for one in found):
        raise InputError("There are no rows to check on.")
    return pa.concat_tables(found)


def _values(block: Block, column: InputColumn) -> list[Any]:
    x = to_array(block.x)
    missing = block.terms.position.get(Term(column.name, missing=True))
    gone = np.zeros(block.n, dtype=bool) if missing is None else x[:, missing] != 0
    if column.kind is not Kind.DISCRETE:
        values = x[:, block.terms.position[Term(column.name)]].tolist()
    else:
        values = [None] * block.n
        for level in column.levels:
            at = block.terms.position.get(Term(column.name, level))
            if at is not None:
                for i in np.flatnonzero(x[:, at]):
                    values[i] = level
        if column.unseen == "zeros":
            values = [column.pooled if v is None else v for v in values]
    return [None if lacks else v for v, lacks in zip(values, gone, strict=True)]
