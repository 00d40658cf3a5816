"""Mondrian categories: rows that are calibrated among themselves, by a quantile of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from separatrix.messages import InputError
from separatrix.rows.block import Ints
from separatrix.rows.rows import Rows


@dataclass(frozen=True)
class Categories:
    """The levels of a column; each calibration row has the position of its own."""

    column: Any
    levels: NDArray[Any]

    def codes_of(self, X: Any) -> Ints:
        """The category of each row; −1 where calibration had no row of it."""
        at = {level: i for i, level in enumerate(self.levels.tolist())}
        values = column_of(X, self.column)
        return np.array([at.get(value, -1) for value in values.tolist()], dtype=np.int64)


def column_of(X: Any, column: Any) -> NDArray[Any]:
    """The values of one column, by name of a data frame or by position."""
    if isinstance(X, Rows):
        raise InputError(
            "Categories by a column need a data frame or a matrix, and a table was given.",
            remedy="Give X and y.",
        )
    matrix = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    try:
        values = _safe_indexing(matrix, column, axis=1)
    except (ValueError, KeyError, IndexError, TypeError) as problem:
        raise InputError(f"There is no column {column!r} to take categories from.") from problem
    found = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    return found.ravel()


def categories_of(X: Any, column: Any) -> Categories:
    """The levels of a column of calibration rows."""
    values = column_of(X, column)
    try:
        levels = np.unique(values)
    except TypeError:  # texts beside numbers or missing values
        levels = np.array(sorted(set(values.tolist()), key=str), dtype=object)
    if levels.dtype.kind == "f" and np.isnan(levels).any():
        raise InputError(
            f"Column {column!r} has missing values, which are no category.",
            remedy="Fill them in with a level of their own.",
        )
    return Categories(column, levels)
