"""Checks of the parameters that the models have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.bayes.linear.evidence import Hyperprior
from separatrix.messages import InputError


def hyperprior_of(model: Any) -> Hyperprior:
    """Shapes and rates of the Gamma densities, checked; ``max_iter`` and ``tol`` too."""
    values = [_number(model, name, 0.0) for name in Hyperprior._fields]
    _number(model, "tol", 0.0)
    _number(model, "max_iter", 1.0)
    return Hyperprior(*values)


def starting_precision(model: Any, name: str) -> float | None:
    """A starting value, or None."""
    return None if getattr(model, name) is None else _number(model, name, 0.0)


def _number(model: Any, name: str, least: float) -> float:
    value = getattr(model, name)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not least <= number < np.inf:
        raise InputError(f"{name}={value!r} must be a number of {least:g} or more.")
    return number
