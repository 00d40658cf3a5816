"""What the laws need to know of an estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def linear_parameters(model: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Coefficients and intercepts, as vector and number where there is one output."""
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    return (coef[0], float(intercept[0])) if len(coef) == 1 else (coef, intercept)


@dataclass(frozen=True)
class Row:
    """One estimator under test."""

    name: str
    make: Callable[[], Any]
    task: str = "regression"
    #: Multiplying a feature by 10⁸ changes nothing but its coefficient.
    unit_free: bool = True
    #: Multiplying the target by a number multiplies the predictions by it.
    target_free: bool = True
    #: f → the estimator whose parameters with units are those for a target times f.
    for_target_times: Callable[[float], Any] | None = None
    #: Reads Rows in blocks through a statistic, so the block size must not matter.
    additive: bool = True
    #: Adding a constant to a feature changes only the intercept.
    shift_free: bool = True
    #: The order of rows is irrelevant (not so with contiguous folds).
    order_free: bool = True
    #: Looks at the features (a baseline does not).
    learns: bool = True
    #: Ends at a solution on any table (a perceptron need not, unless classes are separable).
    converges: bool = True
    #: Takes counts only: whole numbers, none below zero.
    counts: bool = False
    #: Its target is a count: no number below zero.
    counts_events: bool = False
    #: NaN is a missing value, not an error.
    missing: bool = False
    #: Relative agreement required of refits (row order, repeats, units).
    precision: float = 1e-7
    #: (model, coef, intercept, x, y) → the objective that ``certificate_.primal`` states.
    objective: Callable[..., float] | None = None
    #: (model, x, y) → (coef, intercept), the arguments of ``objective`` at the solution.
    parameters: Callable[..., tuple[Any, Any]] = linear_parameters
    #: Numbers of classes for which ``objective`` is that of the whole model.
    classes: tuple[int, ...] = (2,)
