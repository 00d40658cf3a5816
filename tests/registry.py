"""Every estimator once. A row here enters it into every law in ``tests/laws``.

``make`` builds it with settings that suit small data. The other fields say which laws hold only
by definition of the model (an orthogonal distance has units, say) and must be judged otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import separatrix as sx


@dataclass(frozen=True)
class Row:
    """One estimator under test."""

    name: str
    make: Callable[[], Any]
    task: str = "regression"
    #: Multiplying a feature by 10⁸ changes nothing but its coefficient.
    unit_free: bool = True
    #: Reads Rows in blocks through a statistic, so the block size must not matter.
    additive: bool = True
    #: Adding a constant to a feature changes only the intercept.
    shift_free: bool = True
    #: The order of rows is irrelevant (not so with contiguous folds).
    order_free: bool = True
    #: Relative agreement asked of refits (row order, repeats, units).
    precision: float = 1e-7
    #: (model, coef, intercept, x, y) → the objective that ``certificate_.primal`` states.
    objective: Callable[..., float] | None = None


def squares(_model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """½ Σ (y − a − b·x)²."""
    return 0.5 * float(np.sum((y - x @ coef - intercept) ** 2))


def shrunk_squares(model: Any, coef: Any, intercept: float, x: Any, y: Any) -> float:
    """½ Σ (y − a − b·x)² + ½ α Σ (s b)², with s the deviation of a column if standardised."""
    alpha = getattr(model, "alpha_", None) or model.alpha
    scale = x.std(axis=0) if model.standardize else 1.0
    return squares(model, coef, intercept, x, y) + 0.5 * alpha * float(np.sum((coef * scale) ** 2))


REGISTRY: list[Row] = [
    Row("LinearRegression", lambda: sx.LinearRegression(), objective=squares),
    Row(
        "LinearRegression without intercept",
        lambda: sx.LinearRegression(fit_intercept=False),
        objective=squares,
    ),
    Row("Ridge", lambda: sx.Ridge(), unit_free=False, objective=shrunk_squares),
    Row("Ridge, standardised", lambda: sx.Ridge(2.0, standardize=True), objective=shrunk_squares),
    Row(
        "RidgePath, standardised",
        lambda: sx.RidgePath(20, standardize=True),
        objective=shrunk_squares,
    ),
    Row("RidgeCV, standardised", lambda: sx.RidgeCV(20, standardize=True), objective=shrunk_squares),
    Row(
        "RidgeCV by folds",
        lambda: sx.RidgeCV([0.1, 1.0, 10.0], cv=3),
        unit_free=False,
        order_free=False,
        objective=shrunk_squares,
    ),
]
