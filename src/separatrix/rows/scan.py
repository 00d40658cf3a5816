"""``scan``: one door for every table. Arrays, data frames, files and Dask become ``Rows``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.infer import Wanted, infer_schema, wanted
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Term
from separatrix.rows.sources.dataframes import as_table, table_of_arrays, with_column
from separatrix.rows.sources.new_rows import rows_like as rows_like
from separatrix.rows.sources.paths import is_path, open_paths
from separatrix.rows.sources.source import Source, TableSource
from separatrix.rows.sources.stream import BLOCK_ROWS, TableRows


def scan(
    source: Any,
    target: Any = None,
    weight: Any = None,
    *,
    missing: str = "mean",
    unseen: str = "error",
    kinds: Mapping[str, str] | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Rows:
    """A table as :class:`~separatrix.rows.rows.Rows`; files are streamed, never read whole.

    Parameters
    ----------
    source : array, CSR matrix, data frame, path, glob, list of paths, ``"-"`` or Dask collection
        Where the rows are. ``"-"`` is CSV on standard input.
    target, weight : column name (or names, for ``target``), or arrays beside ``source``
        Rows where either is missing are left out, and counted in ``rows.dropped``.
    missing : {"mean", "drop", "regress", "indicator"}
        What fills a gap: the mean or most frequent level, nothing (the row leaves), what the other
        columns predict, or the mean with an indicator column beside it.
    unseen : {"error", "zeros"}
        What a level that training did not meet becomes when predicting.
    kinds : mapping of column name to "numeric", "boolean", "discrete" or "ignore"
        Overrides what is inferred from the type of a column.
    block_rows : int
        Rows per block, at most.
    """
    if isinstance(source, Rows):
        raise InputError("These are Rows already.", remedy="Pass them to fit as they are.")
    if _is_dask(source):
        from separatrix.rows.sources.dask import scan_dask

        if hasattr(source, "columns"):
            target, weight = _names(target), _name(weight)
        return scan_dask(source, target, weight, missing, unseen, kinds)
    if isinstance(source, np.ndarray) or sparse.issparse(source):
        return _scan_matrix(source, target, weight, missing, unseen, kinds, block_rows)
    reader: Source
    if is_path(source):
        want = wanted(_names(target), _name(weight), missing, unseen, kinds)
        reader = open_paths(source, want.kind)
    else:
        table = as_table(source)
        table, target = with_column(table, target, "y")
        table, weight = with_column(table, weight, "weight")
        want = wanted(_names(target), _name(weight), missing, unseen, kinds)
        reader = TableSource(table)
    return _table_rows(reader, want, block_rows)


def _table_rows(source: Source, want: Wanted, block_rows: int) -> TableRows:
    schema, notes = infer_schema(source, want)
    return TableRows(source, schema, block_rows=block_rows, notes=notes)


def _scan_matrix(
    x: Any,
    target: Any,
    weight: Any,
    missing: str,
    unseen: str,
    kinds: Mapping[str, str] | None,
    block_rows: int,
) -> Rows:
    """Numbers without gaps stay a matrix; anything else is read as a table."""
    if sparse.issparse(x):
        x = sparse.csr_array(x).astype(np.float64)
        if not np.isfinite(x.data).all():
            raise InputError(
                "The sparse matrix holds NaN or infinity.",
                remedy="Store missing values in a dense array or a data frame.",
            )
    if x.ndim != 2:
        raise InputError(
            f"The array has {x.ndim} dimensions.", remedy="Give a matrix: rows by columns."
        )
    if x.shape[0] == 0:
        raise InputError("The table has no rows.", remedy="Give at least one row.")
    y = None if target is None else _checked(target, x.shape[0], "target")
    w = None if weight is None else _checked(weight, x.shape[0], "weight")
    if _plain(x) and (y is None or _plain(y)) and (w is None or _plain(w)) and not kinds:
        wanted((), None, missing, unseen, None)
        if w is not None and (w < 0).any():
            raise InputError("weights must not be negative.", row=int((w < 0).argmax()) + 1)
        return ArrayRows(_floats(x), None if y is None else _floats(y), w)
    if sparse.issparse(x):
        return _labelled(x, y, w)
    table, targets = table_of_arrays(x, y, w)
    want = wanted(targets, None if w is None else "weight", missing, unseen, kinds)
    return _table_rows(TableSource(table), want, block_rows)


def _labelled(x: Any, y: Any, w: Any) -> ArrayRows:
    """A sparse matrix with class labels: the target as one indicator per level."""
    from separatrix.rows.sources.columns import level_text

    if y is None or y.ndim != 1:
        raise InputError("A sparse matrix needs one column of labels or numbers as target.")
    texts = np.array([level_text(value) for value in y.tolist()], dtype=object)
    known = sorted({text for text in texts if text is not None})
    keep = np.array([text is not None for text in texts])
    hot = np.column_stack([(texts == level).astype(float) for level in known])
    terms = [Term("y", level=level) for level in known]
    rows = ArrayRows(x[keep], hot[keep], None if w is None else w[keep], targets=terms)
    rows.dropped = int((~keep).sum())
    return rows


def _plain(values: Any) -> bool:
    """Whether these are finite numbers and nothing else."""
    if sparse.issparse(values):
        return True
    return bool(values.dtype.kind in "fiub" and np.isfinite(values.sum(dtype=float)))


def _floats(values: Any) -> Any:
    return values if sparse.issparse(values) else np.asarray(values, dtype=np.float64)


def _checked(values: Any, n: int, role: str) -> Any:
    if isinstance(values, str):
        raise InputError(
            f"The {role} is named {values!r}, but the columns of an array have no names.",
            remedy=f"Pass the {role} as an array, or the table as a data frame.",
        )
    array = np.asarray(values)
    if array.shape[:1] != (n,):
        raise InputError(f"The {role} has {array.shape[:1]} rows, the table {n}.")
    return array


def _names(target: Any) -> tuple[str, ...]:
    if target is None:
        return ()
    if isinstance(target, str):
        return (target,)
    if isinstance(target, Sequence) and all(isinstance(name, str) for name in target):
        return tuple(target)
    raise InputError(
        "The target of a file or Dask table must be named.",
        remedy="Use target='column' or a list of columns.",
    )


def _name(weight: Any) -> str | None:
    if weight is None or isinstance(weight, str):
        return weight
    raise InputError(
        "The weight of a file or Dask table must be named.", remedy="Use weight='column'."
    )


def _is_dask(source: Any) -> bool:
    return type(source).__module__.split(".")[0] in ("dask", "dask_expr")
