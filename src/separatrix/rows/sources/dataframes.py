"""Data frames, Arrow tables, dicts of columns and arrays as one Arrow table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.rows import target_names
from separatrix.rows.sources.source import refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa


def as_table(source: Any) -> pa.Table:
    """A pandas, polars or PyArrow table, or a dict of columns, as an Arrow table."""
    import pyarrow as pa

    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, Mapping):
        return pa.table({str(name): _array(str(name), column) for name, column in source.items()})
    return _of_frame(source)


def _of_frame(source: Any) -> pa.Table:
    import narwhals as nw

    if not hasattr(source, "collect_schema"):  # a polars frame has no duplicates
        refuse_duplicates([str(name) for name in getattr(source, "columns", ())], None)
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise InputError(
            f"A {type(source).__name__} is not a table that can be read.",
            remedy="Give an array, a pandas, polars, PyArrow or Dask table, or a path.",
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    import pyarrow as pa

    # by position: the names of a pandas table may be numbers
    columns = [(str(name), frame[:, j].to_native()) for j, name in enumerate(frame.columns)]
    return pa.table({name: _array(name, column) for name, column in columns})


def _array(name: str, column: Any) -> Any:
    """One column as an Arrow array; values of types that do not mix are refused."""
    import pyarrow as pa

    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    if type(column).__module__.startswith("polars"):
        return column.to_arrow()
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as reason:
        values = [
            v for v in np.asarray(column, dtype=object).ravel().tolist() if v == v and v is not None
        ]
        kinds = sorted({type(value).__name__ for value in values})
        if set(kinds) <= {"int", "float", "str", "bool", "Decimal"}:
            return pa.array([None if v is None or v != v else str(v) for v in column], pa.string())
        raise InputError(
            f"holds values of mixed types ({', '.join(kinds[:4])}).",
            column=name,
            remedy="Give every value of the column one type.",
        ) from reason


def with_column(table: pa.Table, values: Any, name: str) -> tuple[pa.Table, Any]:
    """Append a target or weight that is given as values; one given by name stays a name."""
    if values is None or isinstance(values, str):
        return table, values
    if isinstance(values, int):  # pandas allows numbers as names of columns
        return table, str(values)
    if isinstance(values, (list, tuple)) and all(isinstance(item, str) for item in values):
        return table, values
    if getattr(values, "ndim", 1) == 2:
        raise InputError(
            f"The {name} of a table, given as values, must be one column.",
            remedy="Put several targets into the table and name them: target=['a', 'b'].",
        )
    own = getattr(values, "name", None)
    label = str(own) if own is not None else name
    if len(values) != table.num_rows:
        raise InputError(f"{label!r} has {len(values)} values, the table {table.num_rows} rows.")
    if label in table.column_names:
        raise InputError(
            "the table has a column of this name already.",
            column=label,
            remedy="Rename one, or name the column in place of passing values.",
        )
    return table.append_column(label, _array(label, values)), label


def table_of_arrays(x: Any, y: Any, w: Any) -> tuple[pa.Table, tuple[str, ...]]:
    """Arrays as a table with columns x0, x1, …, targets y (or y0, y1, …) and weight."""
    import pyarrow as pa

    columns = {f"x{j}": _array(f"x{j}", x[:, j]) for j in range(x.shape[1])}
    targets: tuple[str, ...] = ()
    if y is not None:
        wide = y.reshape(len(y), -1)
        targets = target_names(wide.shape[1])
        columns |= {name: _array(name, wide[:, j]) for j, name in enumerate(targets)}
    if w is not None:
        columns["weight"] = _array("weight", w)
    return pa.table(columns), targets


def refuse_name(values: Any, role: str) -> None:
    """Refuse a target or weight that is given by name for an array."""
    if isinstance(values, str):
        raise InputError(
            f"The {role} is {values!r}, but the columns of an array have no names.",
            remedy=f"Pass the {role} as an array, or the table as a data frame.",
        )
