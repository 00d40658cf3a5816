"""Data frames given in place of a matrix: which are plain numbers, and which must be encoded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.rows import target_names
from separatrix.rows.schema import is_frame
from separatrix.rows.sources.source import refuse_duplicates

if TYPE_CHECKING:
    import pyarrow as pa


#: What a column holds that a matrix cannot, by the kind of its NumPy type.
_KINDS = {"b": "truth values", "M": "dates", "m": "durations", "O": "text or objects"}


def odd_column(x: Any, *, nan: bool = False) -> tuple[str, str] | None:
    """The first column of a frame that is not plain numbers, and what it holds; None if all are.

    With ``nan``, missing numbers are plain.
    """
    if not is_frame(x):
        return None
    if hasattr(x, "iloc"):
        return _odd_pandas(x, nan=nan)
    import narwhals as nw

    if type(x).__name__ == "RecordBatch":
        import pyarrow as pa

        x = pa.Table.from_batches([x])
    frame = nw.from_native(x)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    for name in frame.columns:
        column = frame[name]
        if not (column.dtype.is_integer() or column.dtype.is_float()):
            return name, f"holds values of type {column.dtype}"
        if not nan and column.is_null().any():
            return name, "has missing values"
        if not nan and column.dtype.is_float() and column.is_nan().any():
            return name, "has missing values"
    return None


def _odd_pandas(x: Any, *, nan: bool) -> tuple[str, str] | None:
    for name, dtype in zip(x.columns, x.dtypes, strict=True):
        if dtype.kind not in "iufc" or dtype.name == "category":
            what = "categories" if dtype.name == "category" else _KINDS.get(dtype.kind, "text")
            return str(name), f"holds {what}"
    if nan or not len(x.columns):
        return None
    same_kind = len(set(x.dtypes)) == 1 and isinstance(x.dtypes.iloc[0], np.dtype)
    if same_kind and x.dtypes.iloc[0].kind in "iuf" and np.isfinite(x.to_numpy().sum(dtype=float)):
        return None  # one array: no need to look at every value again
    missing = np.flatnonzero(x.isna().any(axis=0).to_numpy())
    return (str(x.columns[missing[0]]), "has missing values") if len(missing) else None


def refuse_odd_column(x: Any, why: str, remedy: str, *, nan: bool = False) -> None:
    """Refuse a frame with a column that is not plain numbers, by its name."""
    odd = odd_column(x, nan=nan)
    if odd is not None:
        raise InputError(f"{odd[1]}, and {why}.", column=odd[0], remedy=remedy)


def refuse_infinite(x: Any) -> None:
    """Refuse a frame of plain numbers of which one is infinite, by row and column."""
    if is_frame(x):
        refuse_not_finite(x, nan=True)


def refuse_not_finite(x: Any, *, nan: bool = False) -> None:
    """Refuse a frame or matrix of which a value is infinite, or not a number unless ``nan``."""
    values = x.data if sparse.issparse(x) else np.asarray(x)
    if values.dtype.kind == "O":
        try:
            values = values.astype(float)
        except (TypeError, ValueError):
            return
    if values.dtype.kind != "f" or not (sparse.issparse(x) or values.ndim == 2):
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=float)):
            return
    odd = np.isinf(values) if nan else ~np.isfinite(values)
    if not odd.any():
        return
    if sparse.issparse(x):
        entries = x.tocoo()
        odd = np.isinf(entries.data) if nan else ~np.isfinite(entries.data)
        row, column, value = (part[odd][0] for part in (*entries.coords, entries.data))
    else:
        row, column = np.argwhere(odd)[0]
        value = values[row, column]
    names = x.column_names if hasattr(x, "column_names") else getattr(x, "columns", None)
    more, missing = int(np.count_nonzero(odd)) - 1, bool(np.isnan(value))
    also = f" here, and in {more} other value{'s' * (more > 1)}" if more else ""
    raise InputError(
        f"Input X contains {'NaN' if missing else 'infinity'}{also}.",
        row=int(row) + 1,
        column=f"x{column}" if names is None else str(list(names)[column]),
        remedy="Leave such rows out, or fill in what is missing: scan(…, missing='mean'), "
        "TableEncoder, or an imputer before this model in a pipeline."
        if missing
        else "Correct the value, or leave it empty as missing.",
    )


def items_of(x: Any) -> list[Any]:
    """The objects of a collection; those of a frame are the values of its one column."""
    if not is_frame(x):
        return list(x)

    table = as_table(x)
    if table.num_columns != 1:
        raise InputError(
            "is one of several, and a kernel on structures compares one object for each row.",
            column=table.column_names[0],
            remedy=f"Choose one column, such as list(frame[{table.column_names[0]!r}]).",
        )
    items: list[Any] = table.column(0).to_pylist()
    if None in items:
        raise InputError(
            "has missing values, and a kernel on structures compares objects.",
            row=items.index(None) + 1,
            column=table.column_names[0],
            remedy="Leave such rows out.",
        )
    return items


# -------------------------------------------------------------------------------------------------
# Data frames, Arrow tables, dicts of columns and arrays as one Arrow table.


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
