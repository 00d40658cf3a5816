"""Bayesian models."""

from __future__ import annotations

import separatrix as sx
from tests.registry import objectives as of
from tests.registry.row import Row

ROWS: list[Row] = [
    Row(
        "GaussianProcessRegressor",
        lambda: sx.GaussianProcessRegressor(),
        additive=False,
    ),
    Row(
        "BayesianLogisticRegression",
        lambda: sx.BayesianLogisticRegression(),
        "classification",
        objective=of.bayesian_logistic,
        classes=(2, 3),
    ),
]
