"""Perceptrons."""

from __future__ import annotations

import separatrix as sx
from tests.registry.row import Row

ROWS: list[Row] = [
    Row(
        "Perceptron",
        lambda: sx.Perceptron(),
        "classification",
        converges=False,
        unit_free=False,
        additive=False,
        order_free=False,
    ),
    Row(
        "Perceptron of the textbooks",
        lambda: sx.Perceptron(order="given"),
        "classification",
        converges=False,
        unit_free=False,
        additive=False,
        order_free=False,
    ),
    Row(
        "Perceptron, standardized, shuffled, averaged",
        lambda: sx.Perceptron(
            order="shuffled", average=True, standardize=True, max_epochs=50, random_state=0
        ),
        "classification",
        additive=False,
        shift_free=False,
        order_free=False,
    ),
    Row(
        "Perceptron with a pocket, from the means",
        lambda: sx.Perceptron(start="means", pocket=True, max_epochs=50),
        "classification",
        converges=False,
        unit_free=False,
        additive=False,
        order_free=False,
    ),
    Row(
        "Perceptron in batches",
        lambda: sx.Perceptron(update="batch"),
        "classification",
        converges=False,
        unit_free=False,
        additive=False,
        shift_free=False,
    ),
    Row(
        "KernelPerceptron",
        lambda: sx.KernelPerceptron(max_epochs=50),
        "classification",
        unit_free=False,
        additive=False,
        order_free=False,
    ),
    Row("PerceptronRegressor", lambda: sx.PerceptronRegressor(), order_free=False),
]
