"""Baselines."""

from __future__ import annotations

import separatrix as sx
from tests.registry.row import Row

ROWS: list[Row] = [
    Row("MeanRegressor", lambda: sx.MeanRegressor(), learns=False),
    Row(
        "MostFrequentClassifier",
        lambda: sx.MostFrequentClassifier(),
        "classification",
        learns=False,
    ),
]
