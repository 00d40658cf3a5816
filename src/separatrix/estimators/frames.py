"""Data frames in place of a matrix: columns of text, levels, dates and missing values are encoded.

A frame of plain numbers stays a matrix. Any other is read as :func:`separatrix.scan` reads it, and
the model is fitted to the same ``Rows``; new rows are encoded as those were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import assert_all_finite, check_array, column_or_1d
from sklearn.utils.validation import check_consistent_length

from separatrix.estimators.class_tables import indicators, label_type, with_classes
from separatrix.estimators.targets import check_labels, refuse_texts, require_labels
from separatrix.messages import InputError, warn
from separatrix.rows.block import Floats, check_sample_weight
from separatrix.rows.mapped import EncodedRows
from separatrix.rows.rows import InMemory, Rows, target_names
from separatrix.rows.schema import Column, Kind, Schema, Term, Terms
from separatrix.rows.sources.dataframes import as_table
from separatrix.rows.sources.frames import is_frame, items_of, odd_column, refuse_odd_column
from separatrix.rows.sources.new_rows import rows_like
from separatrix.threads import thread_limit

Fit = Callable[..., Any]


def reads_tables(fit: Fit) -> Fit:
    """``fit`` that takes data frames of any columns too, and whole numbers of tables as classes.

    An ``n_jobs`` of the estimator limits the threads of everything within.
    """
    parameters = signature(fit)

    @wraps(fit)
    def fit_table(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        with thread_limit(getattr(self, "n_jobs", None)):
            return fit_any(self, X, *args, **kwargs)

    def fit_any(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(X, Rows):
            is_class = isinstance(self, ClassifierMixin)
            return fit(self, with_classes(X) if is_class else X, *args, **kwargs)
        if is_frame(X) and getattr(self, "_structures", False):
            return fit(self, items_of(X), *args, **kwargs)
        if not is_frame(X) or not _encoded(self, X):
            return fit(self, X, *args, **kwargs)
        given = parameters.bind(self, X, *args, **kwargs)
        y, weight = (given.arguments.pop(name, None) for name in ("y", "sample_weight"))
        given.arguments["X"] = training_rows(self, X, y, weight)
        return fit(*given.args, **given.kwargs)

    return fit_table


def _encoded(model: Any, X: Any) -> bool:
    """Whether the columns of a frame are encoded: some are no plain numbers, and the model can."""
    use = model._use_of_frames()
    if use == "encode":
        return odd_column(X, nan=model._missing_ok) is not None
    if use == "matrix":
        refuse_odd_column(
            X,
            "a precomputed matrix holds one number for each pair of rows",
            "Compute kernel or distances from the frame first, or let the model do so.",
        )
    return False


def training_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """A frame, its targets and weights as the Rows that :func:`separatrix.scan` makes of it."""
    from separatrix.rows.scan import scan

    rows = scan(X)
    left_out = [note for note in rows.notes if " is left out: " in note]
    if left_out:
        warn("SEP013", " ".join(left_out))
    return with_target(model, rows.read(), y, sample_weight)


def with_target(model: Any, rows: InMemory, y: Any, sample_weight: Any) -> Rows:
    """Rows with the targets and weights that were given beside them."""
    block = replace(rows.block, w=check_sample_weight(sample_weight, len(rows)))
    if not isinstance(model, ClassifierMixin | RegressorMixin):
        return InMemory(rows.schema, block)
    require_labels(model, y)
    check_consistent_length(np.empty((len(rows), 0)), y)
    values, columns, terms = (
        _classes(y) if isinstance(model, ClassifierMixin) else _numbers(model, y)
    )
    names = _unused([c.name for c in columns], rows.schema)
    columns = tuple(replace(c, name=names[c.name]) for c in columns)
    terms = tuple(replace(t, column=names[t.column]) for t in terms)
    block = replace(block, y=values, targets=Terms(terms))
    return InMemory(replace(rows.schema, targets=columns), block)


Target = tuple[Floats, tuple[Column, ...], tuple[Term, ...]]


def _classes(y: Any) -> Target:
    """Labels as an indicator for each class."""
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise InputError(
            "Several labels for each row, and a frame with columns that are no plain numbers.",
            remedy="Encode the frame first: make_pipeline(TableEncoder(), model).",
        )
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_labels(labels)
    found, codes = np.unique(np.asarray(labels), return_inverse=True)
    levels = tuple(str(label) for label in found.tolist())
    column = Column("y", Kind.DISCRETE, levels, display=label_type(found))
    return indicators(codes, len(found)), (column,), tuple(Term("y", level) for level in levels)


def _numbers(model: Any, y: Any) -> Target:
    """Numbers as they are: one column, or several where the model predicts several."""
    refuse_texts(y)
    if not model._multi_output:
        y = column_or_1d(y, warn=True)
    values = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    values = values.reshape(len(values), -1)
    names = target_names(values.shape[1])
    return values, tuple(Column(name) for name in names), tuple(Term(name) for name in names)


def _unused(names: list[str], schema: Schema) -> dict[str, str]:
    """Names of the targets that no column has."""
    taken = set(schema.names)
    found = {}
    for name in names:
        other = name
        while other in taken:
            other += "_"
        found[name] = other
    return found


def as_matrix(X: Any, schema: Schema, *, named: bool) -> Any:
    """New rows of a frame for a model of plain numbers; missing ones become those of training.

    Columns are matched by name, or by position where training had no names (``named``).
    """
    names = dict(zip(schema.names, schema.names, strict=True))
    if not named:
        table = as_table(X)
        if table.num_columns != len(schema.names):
            raise InputError(
                f"X has {table.num_columns} features, but training had {len(schema.names)}."
            )
        names = dict(zip(schema.names, table.column_names, strict=True))
        X = table.rename_columns(list(schema.names))
    block = rows_like(X, schema).collect()
    missing = next((term.column for term in block.terms if term.missing), None)
    if missing is not None and not any(column.placeholder for column in schema.columns):
        raise InputError(
            "has missing values, and the model was fitted to a matrix without any.",
            column=names[missing],
            remedy="Fit it to a data frame too, or impute them first (TableEncoder).",
        )
    at = [block.terms.position[Term(name)] for name in schema.names]
    return block.x[:, at]


def like_training(model: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """A frame and targets under the encoding of the fitted model."""
    block = rows_like(X, model.encoding_.schema).collect()
    rows = with_target(model, InMemory(model.encoding_.schema, block), y, sample_weight)
    return EncodedRows(rows, model.encoding_)
