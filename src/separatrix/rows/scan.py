"""``scan``: arrays, data frames, files, Dask collections and Spark data frames as ``Rows``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.infer import OptionsOf, ReadOptions, infer_schema, read_options
from separatrix.rows.notations import text_options
from separatrix.rows.recognition import Reconsideration
from separatrix.rows.rows import ArrayRows, Rows
from separatrix.rows.schema import Term
from separatrix.rows.sources.frames import as_table, refuse_name, table_of_arrays, with_column
from separatrix.rows.sources.new_rows import rows_like as rows_like
from separatrix.rows.sources.paths import is_path, open_paths
from separatrix.rows.sources.source import Source, TableSource
from separatrix.rows.sources.spooled import is_arrow_stream, open_arrow_stream
from separatrix.rows.sources.stream import BLOCK_ROWS, TableRows


def scan(
    source: Any,
    target: Any = None,
    weight: Any = None,
    *,
    missing: str = "compare",
    unseen: str = "missing",
    kinds: Mapping[str, str] | None = None,
    columns: Sequence[str] | str | None = None,
    drop: Sequence[str] | str = (),
    group: Any = None,
    time: Any = None,
    id: str | Sequence[str] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    dates: str | None = None,
    na: Sequence[str | float] | str | float | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    strict: bool = False,
    limits: Mapping[str, float] | None = None,
    block_rows: int = BLOCK_ROWS,
    cluster: Any = None,
) -> Rows:
    """Open a table as ``Rows``: its schema is inferred now, its rows are read pass by pass.

    Files are streamed a few batches at a time and never read whole. How numbers, dates and missing
    values are written is recognized from whole columns; ``rows.notes`` says what was recognized.

    Parameters
    ----------
    source : array, CSR matrix, data frame, dict of columns, path, stream, Dask or Spark table
        The table. A stream is what has ``__arrow_c_stream__``, such as a reader of record batches,
        a relation of DuckDB or a cursor of ADBC, or a lazy frame of polars: it is read once, into a
        temporary file; a dataset of PyArrow is read in every pass. A path may be a glob, a folder,
        a list of paths, or ``"-"`` (CSV on standard input); files are CSV or JSON lines, also
        compressed, Parquet, Arrow, and, as ``"file::name"``, sheets of workbooks, members of
        archives, and tables or queries of SQLite and DuckDB, and of PostgreSQL as
        ``"postgresql://user@host/database::name"``.
    target : str, list of str or array-like, default=None
        The target columns by name, or the values of the target. Rows without a target are left
        out, and counted in ``rows.dropped``.
    weight : str or array-like, default=None
        The sample weights: a column by name, or their values. Rows without a weight are left out.
    missing : {"mean", "drop", "regress", "indicator", "compare"}, default="compare"
        Policy for missing values: impute the mean or the most frequent level; drop the row; impute
        by regression on the other columns; impute the mean and add an indicator column; or let a
        study take "mean" or "indicator" by what predicts better out of fold (else as "mean").
    unseen : {"missing", "zeros", "error"}, default="missing"
        Policy for a level absent from training when predicting: impute it as a missing value or
        encode it as zeros, with a warning (SEP005); or refuse it.
    kinds : mapping of str to {"numeric", "boolean", "discrete", "ignore"}, default=None
        Kinds of columns by name, where the kind inferred from the type is not the right one.
    columns : str or sequence of str, default=None
        The only features, by name or by pattern (``"price_*"``); None takes all columns.
    drop : str or sequence of str, default=()
        Columns that are not features, by name or by pattern. A pattern passes over the target,
        the weight, the group and the time.
    group : str or array-like, default=None
        A column by name, or its values: rows of one group (the visits of a patient) are never
        parted between training and test rows. It is not a feature.
    time : str or array-like, default=None
        A column by name, or its values: the rows that come last are the test part, and folds follow
        one another. A named column stays a feature.
    id : str or sequence of str, default=()
        Columns that identify rows, and are not features. A column of whole numbers that is named
        like an identifier, or of texts, with a value of its own in every row, is left out anyway.
    decimal : {".", ","}, default=None
        The decimal separator of all numbers in text; None recognizes it column by column.
    thousands : {"", ",", ".", " ", "'"}, default=None
        The thousands separator of all numbers in text; empty for none, None recognizes it.
    dates : {"day-first", "month-first", "year-first"}, default=None
        The order of dates in text; None recognizes it.
    na : str, number or sequence of these, default=None
        What stands for a missing value beside the empty cell. None recognizes the usual texts
        (``NA``, ``null``, ``?``; among numbers and dates also ``-`` and ``.``) and, in files,
        numbers such as −999 that are clearly apart from all others.
    encoding : str, default=None
        The encoding of text files; None recognizes UTF-8, UTF-16 and Windows-1252.
    delimiter : str, default=None
        The separator of values in text files; None recognizes comma, semicolon, tab and bar.
    header : bool, default=None
        Whether the first line of text files names the columns; None recognizes it. Without a
        header, columns are called ``column_1``, ``column_2`` and so on.
    strict : bool, default=False
        Whether any text among numbers or dates is refused. A few of them (5 % at most) are read as
        missing values otherwise, and ``rows.notes`` says how many and which one is the first; where
        `na` is given, none are.
    limits : mapping of str to float, default=None
        What a query or view of a database, or a workbook, may take before it is given up:
        ``"seconds"`` of computing (60), ``"rows"`` of the result (1e8), ``"bytes"`` of memory
        (2 GB, of which a value of SQLite may take a 32nd, the plan of DuckDB an eighth, and a cell
        of a workbook counts 100). ``float("inf")`` is no limit.
    block_rows : int, default=65536
        Largest number of rows per block.
    cluster : str or distributed.Client, default=None
        A Dask scheduler (``"tcp://127.0.0.1:8786"``) whose workers read the files; only statistics
        come back, and ``rows.travel`` counts their bytes.

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
    ids = (id,) if isinstance(id, str) else tuple(id)
    text = text_options(decimal, thousands, dates, na, encoding, delimiter, header, strict, limits)
    options = partial(
        read_options,
        missing=missing,
        unseen=unseen,
        kinds=kinds,
        ids=ids,
        text=text,
        columns=columns,
        drop=drop,
    )
    library = type(source).__module__.split(".")[0]
    if library in ("dask", "dask_expr", "pyspark"):
        by_name = partial(options, group=_name(group, "group"), time=_name(time, "time"))
        return _spread(library, source, target, weight, by_name)
    if isinstance(source, np.ndarray) or sparse.issparse(source):
        if group is None and time is None:
            return _scan_matrix(source, target, weight, options, block_rows)
        source, target, weight = _as_columns(source, target, weight)
    reader: Source
    paths = is_path(source)
    if paths or is_arrow_stream(source):
        named = options(
            _names(target), _name(weight), group=_name(group, "group"), time=_name(time, "time")
        )
        if paths:
            reader = open_paths(source, named.kinds, text, named.mentioned)
        else:
            reader = open_arrow_stream(source)
    else:
        table = as_table(source)
        table, target = with_column(table, target, "y")
        table, weight = with_column(table, weight, "weight")
        table, group = with_column(table, group, "group")
        names = set(table.column_names)
        table, time = with_column(table, time, "time")
        if time not in names and time is not None:  # given as values: no column of the table
            options = partial(options, ids=(*ids, time))
        named = options(_names(target), _name(weight), group=group, time=time)
        reader = TableSource(table)
    rows = _table_rows(reader, named, block_rows)
    if cluster is None:
        return rows
    from separatrix.rows.distributed import read_by_workers

    return read_by_workers(rows, cluster)


def _spread(library: str, source: Any, target: Any, weight: Any, options: OptionsOf) -> Rows:
    """A table that Dask or Spark has spread over machines."""
    if library == "pyspark":
        from separatrix.rows.spark import scan_spark

        return scan_spark(source, _names(target), _name(weight), options)
    from separatrix.rows.distributed import scan_dask

    if hasattr(source, "columns"):
        target, weight = _names(target), _name(weight)
    return scan_dask(source, target, weight, options)


def _table_rows(source: Source, options: ReadOptions, block_rows: int) -> TableRows:
    inferred = infer_schema(source, options)
    return TableRows(
        inferred.source,
        inferred.schema,
        block_rows=block_rows,
        notes=inferred.notes,
        left_out=inferred.left_out,
        ranges=inferred.ranges,
        named_by=inferred.named_by,
        revise=Reconsideration(options.kinds, options.text),
    )


def _as_columns(x: Any, target: Any, weight: Any) -> tuple[Any, Any, Any]:
    """A matrix as a table, with the names of its targets and its weight."""
    if sparse.issparse(x) or x.ndim != 2:
        raise InputError(
            "A sparse matrix has no room for a column of groups or times.",
            remedy="Give a dense matrix or a data frame, or leave out `group` and `time`.",
        )
    y = None if target is None else _check_values(target, x.shape[0], "target")
    w = None if weight is None else _check_values(weight, x.shape[0], "weight")
    table, targets = table_of_arrays(x, y, w)
    return table, list(targets) or None, None if w is None else "weight"


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
    y = None if target is None else _check_values(target, x.shape[0], "target")
    w = None if weight is None else _check_values(weight, x.shape[0], "weight")
    plain = options((), None)
    as_it_is = not (plain.kinds or plain.ignore or plain.selected or plain.columns is not None)
    as_it_is &= plain.text.na is None
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


def _check_values(values: Any, n: int, role: str) -> Any:
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
        "The target of a file, stream, Dask or Spark table must be given by name.",
        remedy="Use target='column' or a list of columns.",
    )


def _name(column: Any, role: str = "weight") -> str | None:
    if column is None or isinstance(column, str):
        return column
    raise InputError(
        f"The {role} of a file, stream, Dask or Spark table must be given by name.",
        remedy=f"Use {role}='column'.",
    )
