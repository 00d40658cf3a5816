"""Additive models with smooth terms."""

from __future__ import annotations

import separatrix as sx
from tests.registry import objectives as of
from tests.registry.row import Row

ROWS: list[Row] = [
    Row(
        "AdditiveRegressor",
        lambda: sx.AdditiveRegressor(n_knots=6),
        objective=of.additive,
        parameters=of.additive_parameters,
    ),
    Row(
        "AdditiveRegressor, a pair and a monotone column",
        lambda: sx.AdditiveRegressor(n_knots=6, interactions=1, monotone={0: 1}),
        objective=of.additive,
        parameters=of.additive_parameters,
    ),
    Row(
        "AdditiveClassifier",
        lambda: sx.AdditiveClassifier(n_knots=6),
        "classification",
        objective=of.additive_classes,
        parameters=of.additive_parameters,
        classes=(2, 3),
    ),
    Row(
        "AdditiveClassifier, a pair",
        lambda: sx.AdditiveClassifier(n_knots=6, interactions=1),
        "classification",
        objective=of.additive_classes,
        parameters=of.additive_parameters,
        classes=(2, 3),
    ),
    Row(
        "AdditivePoissonRegressor",
        lambda: sx.AdditivePoissonRegressor(n_knots=6),
        counts_events=True,
        objective=of.additive_counts,
        parameters=of.additive_parameters,
    ),
    Row(
        "AdditivePoissonRegressor, a pair",
        lambda: sx.AdditivePoissonRegressor(n_knots=6, interactions=1),
        counts_events=True,
        objective=of.additive_counts,
        parameters=of.additive_parameters,
    ),
]
