"""Data frames given in place of a matrix: which are plain numbers, and which must be encoded."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from separatrix.messages import InputError

#: What a column holds that a matrix cannot, by the kind of its NumPy type.
_KINDS = {"b": "truth values", "M": "dates", "m": "durations", "O": "text or objects"}


def is_frame(x: Any) -> bool:
    """Whether this is a pandas, polars or PyArrow table."""
    package = type(x).__module__.split(".")[0]
    if package == "pyarrow":
        return hasattr(x, "schema") and hasattr(x, "num_rows")
    return package in ("pandas", "polars") and hasattr(x, "columns")


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
    one = len(set(x.dtypes)) == 1 and isinstance(x.dtypes.iloc[0], np.dtype)
    if one and x.dtypes.iloc[0].kind in "iuf" and np.isfinite(x.to_numpy().sum(dtype=float)):
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
    from separatrix.rows.sources.dataframes import as_table

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
