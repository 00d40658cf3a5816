"""Options that the linear SVMs take from scikit-learn, checked."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.messages import InputError
from separatrix.rows.block import Matrix
from separatrix.svm.problem import SolverOptions

#: Interior-point steps, and epochs of coordinate descent, for each of ``max_iter``.
STEPS = 20
#: Relative gap of every fit, whatever larger ``tol`` is given; and that of sparse rows, where a
#: tenth of ``tol`` is enough: liblinear at the same ``tol`` ends above that.
ACCURACY, SPARSE_ACCURACY = 1e-6, 1e-5


def linear_options(model: Any) -> SolverOptions:
    """Tolerance and limits of an estimator."""
    options = SolverOptions.of(model)
    return replace(options, tol=min(options.tol, model._accuracy))


def options_for(model: Any, x: Matrix, options: SolverOptions) -> SolverOptions:
    """The options of an estimator for its rows x."""
    if not sparse.issparse(x):
        return options
    return replace(options, tol=max(options.tol, min(0.1 * float(model.tol), SPARSE_ACCURACY)))


def intercept_scaling(model: Any) -> float | None:
    """The scale of the column whose coefficient is the intercept; None without intercept.

    Infinity leaves the intercept free, as it is where columns are standardized: a penalty would
    depend on the origins of the columns.
    """
    scaling = model.intercept_scaling
    if not isinstance(scaling, Real) or not float(scaling) > 0.0:
        raise InputError(
            f"intercept_scaling={scaling!r} must be greater than 0.",
            remedy="To have no intercept, set fit_intercept=False.",
        )
    if not model.fit_intercept:
        return None
    return np.inf if model.standardize else float(scaling)


def check_dual(dual: Any) -> None:
    """Refuse what is neither "auto" nor a bool."""
    if not isinstance(dual, bool | np.bool_) and dual != "auto":
        raise InputError(f"dual={dual!r} is none of True, False and 'auto'.")
