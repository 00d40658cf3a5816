"""Inputs of displays: matrices, data frames, and fitted attributes of estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.arrays import Floats
from separatrix.estimators.inference import SupportsEncoding
from separatrix.messages import InputError
from separatrix.rows.schema import is_frame
from separatrix.rows.sources.frames import refuse_odd_column
from separatrix.rows.sources.new_rows import rows_like


def column_names(X: Any, names: Sequence[object] | None = None) -> tuple[str, ...]:
    """The names given, those of a data frame, or x0, x1, …"""
    if names is not None:
        return tuple(str(name) for name in names)
    frame = _frame(X)
    if frame is not None:
        return tuple(str(name) for name in frame.columns)
    return tuple(f"x{j}" for j in range(np.shape(X)[1]))


def like(X: Any, values: Floats) -> Any:
    """A matrix as a data frame of the kind of ``X``; the matrix itself if ``X`` is not a frame."""
    import narwhals as nw

    frame = _frame(X)
    if frame is None:
        return values
    return nw.from_numpy(values, list(frame.columns), backend=frame.implementation).to_native()


def labeled_rows(X: Any, labels: Any) -> tuple[Floats, Any]:
    """Rows of numbers and one label for each."""
    x, given = np.asarray(X, dtype=float), np.asarray(labels)
    if x.ndim != 2 or given.shape != (len(x),) or not x.size:
        raise InputError(f"Rows of shape {x.shape} and labels of shape {given.shape}.")
    return x, given


def design_deviations(model: Any, X: Any, count: int) -> Floats:
    """The standard deviation of each of the ``count`` columns of a linear model's design.

    A data frame is encoded as the training rows of the model were; a matrix is the design itself.
    """
    from separatrix.matrices.products import column_scales, products

    encoding = model.encoding_ if isinstance(model, SupportsEncoding) else None
    if is_frame(X) and encoding is not None and not encoding.is_identity:
        x = encoding.apply(rows_like(X, encoding.schema).collect()).x
    else:
        x = X if sparse.issparse(X) else _numbers(model, X)
    if x.ndim != 2 or x.shape[1] != count:
        raise InputError(
            f"X has shape {x.shape}, and the model has {count} coefficients.",
            remedy="Give the table that the model was fitted to, or its design, or no X.",
        )
    return column_scales(products(x), np.ones(x.shape[0]))[1]


def _numbers(model: Any, X: Any) -> Floats:
    try:
        return np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        why = f"{type(model).__name__} was fitted to numbers"
        refuse_odd_column(X, why, "Give the matrix that it was fitted to, or no X.")
        raise


def _frame(X: Any) -> Any:
    import narwhals as nw

    native = nw.from_native(X, pass_through=True, eager_only=True)
    return native if isinstance(native, nw.DataFrame) else None


def require_fitted(model: Any, *attributes: str, problem: str, remedy: str | None = None) -> None:
    """Refuse an estimator without these fitted attributes, by scikit-learn's own check."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model, attributes)
    except NotFittedError:
        names = ", ".join(attributes)
        raise InputError(f"{problem} ({names}).", remedy=remedy) from None
