"""``scan``: arrays, data frames, files and Dask collections as ``Rows``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.infer import OptionsOf, ReadOptions, infer_schema, read_options
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.rows.schema import Term
from separatrix.rows.sources.dataframes import as_table, refuse_name, table_of_arrays, with_column
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
    """Open a table as ``Rows``: its schema is inferred now, its rows are read pass by pass.

    Files are streamed a few batches at a time and never read whole.

    Parameters
    ----------
    source : array, CSR matrix, data frame, dict of columns, path or Dask collection
        The table. A path may be a glob, a folder, a list of paths, or ``"-"`` (CSV on standard
        input); files are CSV or Parquet.
    target : str, list of str or array-like, default=None
        The target columns by name, or the values of the target. Rows without a target are left
        out, and counted in ``rows.dropped``.
    weight : str or array-like, default=None
        The sample weights: a column by name, or their values. Rows without a weight are left out.
    missing : {"mean", "drop", "regress", "indicator"}, default="mean"
        Policy for missing values: impute the mean or the most frequent level; drop the row; impute
        by regression on the other columns; or impute the mean and add an indicator column.
    unseen : {"error", "zeros"}, default="error"
        Policy for a level absent from training when predicting: refuse it, or encode it as zeros.
    kinds : mapping of str to {"numeric", "boolean", "discrete", "ignore"}, default=None
        Kinds of columns by name, where the kind inferred from the type is not the right one.
    block_rows : int, default=65536
        Largest number of rows per block.

    Returns
    -------
    Rows
        The table, which every estimator takes in place of ``X, y``.

    See Also
    --------
    Rows : What is returned.
    Parts : Split rows into a test part and folds.
    Moments : The statistic behind least squares.

    Examples
    --------
    >>> import separatrix as sx
    >>> table = {"town": ["a", "b", "b", "a"], "area": [50.0, None, 80.0, 60.0]}
    >>> table["price"] = [1, 2, 3, 1]
    >>> rows = sx.scan(table, target="price")
    >>> [f"{column.name}: {column.kind}" for column in rows.schema.columns]
    ['town: discrete', 'area: numeric']
    >>> model = sx.LinearRegression().fit(rows)
    >>> model.encoding_.names
    ('town=b', 'area')
    """
    if isinstance(source, Rows):
        raise InputError("The source is Rows already.", remedy="Pass it to fit as it is.")
    options = partial(read_options, missing=missing, unseen=unseen, kinds=kinds)
    if type(source).__module__.split(".")[0] in ("dask", "dask_expr"):
        from separatrix.rows.sources.dask import scan_dask

        if hasattr(source, "columns"):
            target, weight = _names(target), _name(weight)
        return scan_dask(source, target, weight, options)
    if isinstance(source, np.ndarray) or sparse.issparse(source):
        return _scan_matrix(source, target, weight, options, block_rows)
    reader: Source
    if is_path(source):
        named = options(_names(target), _name(weight))
        reader = open_paths(source, named.kinds)
    else:
        table = as_table(source)
        table, target = with_column(table, target, "y")
        table, weight = with_column(table, weight, "weight")
        named = options(_names(target), _name(weight))
        reader = TableSource(table)
    return _table_rows(reader, named, block_rows)


def _table_rows(source: Source, options: ReadOptions, block_rows: int) -> TableRows:
    schema, notes = infer_schema(source, options)
    return TableRows(source, schema, block_rows=block_rows, notes=notes)


def _scan_matrix(x: Any, target: Any, weight: Any, options: OptionsOf, block_rows: int) -> Rows:
    """Finite numbers stay a matrix; anything else is read as a table."""
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
    plain = options((), None)
    as_it_is = not plain.kinds and not plain.ignore
    if as_it_is and all(values is None or _all_finite(values) for values in (x, y, w)):
        if w is not None and (w < 0).any():
            raise InputError("weights must not be negative.", row=int((w < 0).argmax()) + 1)
        return ArrayRows(_floats(x), None if y is None else _floats(y), w)
    if sparse.issparse(x):
        return _sparse_with_labels(x, y, w)
    table, targets = table_of_arrays(x, y, w)
    named = options(targets, None if w is None else "weight")
    return _table_rows(TableSource(table), named, block_rows)


def _sparse_with_labels(x: Any, y: Any, w: Any) -> ArrayRows:
    """A sparse matrix with class labels, as one indicator per class."""
    from separatrix.rows.sources.columns import level_text

    if y is None or y.ndim != 1:
        raise InputError("A sparse matrix needs one column of labels or numbers as target.")
    texts = np.array([level_text(value) for value in y.tolist()], dtype=object)
    known = sorted({text for text in texts if text is not None})
    keep = np.array([text is not None for text in texts])
    one_hot = np.column_stack([(texts == level).astype(float) for level in known])
    terms = [Term("y", level=level) for level in known]
    rows = ArrayRows(x[keep], one_hot[keep], None if w is None else w[keep], targets=terms)
    rows.dropped = int((~keep).sum())
    return rows


def _all_finite(values: Any) -> bool:
    """Whether the values are finite numbers."""
    if sparse.issparse(values):
        return True
    return bool(values.dtype.kind in "fiub" and np.isfinite(values.sum(dtype=float)))


def _floats(values: Any) -> Any:
    return values if sparse.issparse(values) else np.asarray(values, dtype=np.float64)


def _checked(values: Any, n: int, role: str) -> Any:
    refuse_name(values, role)
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
        "The target of a file or Dask table must be given by name.",
        remedy="Use target='column' or a list of columns.",
    )


def _name(weight: Any) -> str | None:
    if weight is None or isinstance(weight, str):
        return weight
    raise InputError(
        "The weight of a file or Dask table must be given by name.", remedy="Use weight='column'."
    )
