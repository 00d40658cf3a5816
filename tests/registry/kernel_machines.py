"""Kernel ridge and kernel logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np

import separatrix as sx
from tests.registry.row import Row


def _standardized(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def _gram(model: Any, x: Any) -> Any:
    """κ from the distances of its definition, columns standardized as both rows below ask for."""
    difference = np.abs(_standardized(x)[:, None] - _standardized(x))
    if isinstance(model.kernel_, sx.Gaussian):
        return np.exp(-0.5 * (difference**2).sum(axis=2) / model.kernel_.bandwidth**2)
    return np.exp(-difference.sum(axis=2) / model.kernel_.bandwidth)


def _ridge(model: Any, beta: Any, intercept: float, x: Any, y: Any) -> float:
    """Σ (y − Kβ)² + α βᵀKβ: there is no intercept."""
    del intercept
    k = _gram(model, x)
    errors = y - k @ beta
    return float(errors @ errors + model.penalties_[0] * beta @ k @ beta)


def _expansion(model: Any, x: Any, y: Any) -> tuple[Any, float]:
    """Coefficients of the training rows."""
    return model.dual_coef_, 0.0


ROWS: list[Row] = [
    Row(
        "KernelRidge",
        lambda: sx.KernelRidge(0.3, kernel="rbf", standardize=True),
        additive=False,
        objective=_ridge,
        parameters=_expansion,
    ),
    Row(
        "KernelRidge, linear",
        lambda: sx.KernelRidge(),
        unit_free=False,
        shift_free=False,
        additive=False,
    ),
    Row(
        "KernelRidgeCV",
        lambda: sx.KernelRidgeCV(kernel="laplacian", standardize=True),
        additive=False,
        objective=_ridge,
        parameters=_expansion,
    ),
]
