"""Inputs of displays: matrices, data frames, and fitted attributes of estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats


def column_names(X: Any, names: Sequence[object] | None = None) -> tuple[str, ...]:
    """The names given, those of a data frame, or x0, x1, …"""
    if names is not None:
        return tuple(str(name) for name in names)
    frame = _frame(X)
    if frame is not None:
        return tuple(str(name) for name in frame.columns)
    return tuple(f"x{j}" for j in range(np.shape(X)[1]))


def like(X: Any, values: Floats) -> Any:
    """A matrix as a data frame of the kind of ``X``; the matrix itself if ``X`` is no frame."""
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


def _frame(X: Any) -> Any:
    import narwhals as nw

    found = nw.from_native(X, pass_through=True, eager_only=True)
    return found if isinstance(found, nw.DataFrame) else None


def require_fitted(model: Any, *attributes: str, problem: str, remedy: str | None = None) -> None:
    """Refuse an estimator without these fitted attributes, by scikit-learn's own check."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model, attributes)
    except NotFittedError:
        names = ", ".join(attributes)
        raise InputError(f"{problem} ({names}).", remedy=remedy) from None
