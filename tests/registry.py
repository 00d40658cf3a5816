"""Every estimator once. A row here enters it into every law in ``tests/laws``.

``make`` builds it with settings that suit small data. The other fields say which laws hold only
by definition of the model (an orthogonal distance has units, say) and must be judged otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
    #: Relative agreement asked of refits (row order, repeats, units).
    precision: float = 1e-7


REGISTRY: list[Row] = [
    Row("LinearRegression", lambda: sx.LinearRegression()),
    Row("LinearRegression without intercept", lambda: sx.LinearRegression(fit_intercept=False)),
]
