"""scikit-learn's parameters of logistic regression: checked, and brought down to C and ρ.

``penalty`` is deprecated there: ``C`` and ``l1_ratio`` say the same.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from separatrix.messages import InputError, check_option, warn_as

LIBLINEAR = "liblinear"
SOLVERS = ("lbfgs", LIBLINEAR, "newton-cg", "newton-cholesky", "sag", "saga")
UNSET = "deprecated"
PENALTIES = ("l1", "l2", "elasticnet")


def penalty_of(model: Any) -> tuple[float, float]:
    """(C, ρ) of a model with scikit-learn's ``penalty``."""
    ratio = 0.0 if model.l1_ratio is None else float(model.l1_ratio)
    if model.penalty is None:
        return np.inf, 0.0
    ratio = {"l1": 1.0, "l2": 0.0}.get(model.penalty, ratio)
    return float(model.C), ratio


def check_parameters(model: Any) -> None:
    """Refuse values that scikit-learn refuses, before any row is read."""
    if model.penalty is not None and model.penalty != UNSET:
        _check_penalty(model.penalty)
    check_option("solver", model.solver, SOLVERS)
    _check_number("C", model.C, 0.0, open_below=True)
    if model.l1_ratio is not None:
        _check_number("l1_ratio", model.l1_ratio, 0.0, 1.0)
    elif model.penalty == "elasticnet":
        raise InputError("penalty='elasticnet' needs an l1_ratio.", remedy="Say l1_ratio=0.5.")
    _check_number("tol", model.tol, 0.0)
    _check_number("intercept_scaling", model.intercept_scaling, 0.0, open_below=True)
    if not isinstance(model.max_iter, Integral) or model.max_iter < 0:
        raise InputError(f"max_iter={model.max_iter!r} must be a whole number, 0 or more.")
    for name in ("dual", "fit_intercept", "warm_start", "standardize"):
        if not isinstance(getattr(model, name), bool | np.bool_):
            raise InputError(f"{name}={getattr(model, name)!r} must be True or False.")


def _check_penalty(penalty: Any) -> None:
    if isinstance(penalty, Real):
        raise InputError(
            f"penalty={penalty!r} is no penalty.", remedy=f"C is given by its name: C={penalty!r}."
        )
    check_option("penalty", penalty, PENALTIES)


def _check_number(
    name: str, value: Any, low: float, high: float = np.inf, *, open_below: bool = False
) -> None:
    inside = isinstance(value, Real) and low <= float(value) <= high
    if not inside or (open_below and value == low):
        if high < np.inf:
            raise InputError(f"{name}={value!r} must be between {low:g} and {high:g}.")
        bound = "greater than" if open_below else "at least"
        more = "C=inf means no penalty." if name == "C" else None
        raise InputError(f"{name}={value!r} must be {bound} {low:g}.", remedy=more)


def warn_as_there(model: Any) -> None:
    """The warnings that scikit-learn gives about deprecated or inconsistent parameters."""
    if model.penalty != UNSET:
        warn_as(
            FutureWarning,
            "'penalty' was deprecated: use l1_ratio=0 for 'l2', l1_ratio=1 for 'l1', a number "
            "between for 'elasticnet', and C=inf for None.",
        )
        if model.penalty is None and model.C != 1.0:
            warn_as(
                UserWarning,
                f"Setting penalty=None will ignore the C of {model.C!r}: it means C=inf.",
            )
    elif model.l1_ratio is None:
        warn_as(FutureWarning, "'l1_ratio=None' was deprecated: use a number from 0 to 1.")
    C, ratio = penalty_of(model)
    if model.penalty in ("l1", "l2") and model.l1_ratio != ratio:
        warn_as(
            UserWarning,
            f"Inconsistent values: penalty={model.penalty} with l1_ratio={model.l1_ratio}, which "
            "is unused.",
        )
    elif np.isinf(C) and model.l1_ratio not in (None, 0, 1):
        warn_as(UserWarning, f"l1_ratio={model.l1_ratio!r} is unused without penalty.")
    if model.penalty in ("l1", "l2") and model.l1_ratio not in (None, 0, 1):
        warn_as(
            UserWarning,
            "l1_ratio parameter is only used when penalty is 'elasticnet'. Got "
            f"(penalty={model.penalty})",
        )
    if model.n_jobs is not None:
        warn_as(FutureWarning, "'n_jobs' has no effect, and is deprecated.")
