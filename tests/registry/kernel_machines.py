"""Kernel ridge and kernel logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

import separatrix as sx
from tests.registry.row import Row


def _standardized(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def _gram(model: Any, x: Any) -> Any:
    """κ by its definition; of distances, columns are standardized as the rows below ask for."""
    if isinstance(model.kernel_, sx.Linear):
        return x @ x.T
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


def _network(model: Any, beta: Any, intercept: float, x: Any, y: Any) -> float:
    """½ Σ (y − a − Φb)² + ½ α ‖b‖² with Gaussian functions of the distances to the centers."""
    squares = ((_standardized(x)[:, None] - model.centers_) ** 2).sum(axis=2)
    errors = y - intercept - np.exp(-0.5 * squares / model.width_**2) @ beta
    return float(0.5 * (errors @ errors + model.alpha_ * beta @ beta))


def _readout(model: Any, x: Any, y: Any) -> tuple[Any, float]:
    """Coefficients of the centers."""
    return model.readout_.coef_, float(model.readout_.intercept_)


def _logistic(model: Any, beta: Any, intercept: Any, x: Any, y: Any) -> float:
    """½ Σ βᵀKβ + C Σ ℓ."""
    k, cost = _gram(model, x), getattr(model, "C_", None) or model.C
    f = k @ beta + intercept
    if f.shape[1] == 1:
        f = np.column_stack([np.zeros(len(f)), f])
    true = f[np.arange(len(f)), np.searchsorted(model.classes_, y)]
    return float(0.5 * np.sum(beta * (k @ beta)) + cost * (logsumexp(f, axis=1) - true).sum())


def _functions(model: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Coefficients of the training rows, and offsets."""
    return model.dual_coef_, model.intercept_


ROWS: list[Row] = [
    Row(
        "RadialBasisRegressor",
        lambda: sx.RadialBasisRegressor(12),
        additive=False,
        precision=1e-6,
        objective=_network,
        parameters=_readout,
    ),
    Row(
        "RadialBasisClassifier",
        lambda: sx.RadialBasisClassifier(5),
        "classification",
        additive=False,
        precision=1e-5,
    ),
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
        objective=_ridge,
        parameters=_expansion,
    ),
    Row(
        "KernelRidgeCV",
        lambda: sx.KernelRidgeCV(kernel="laplacian", standardize=True),
        additive=False,
        objective=_ridge,
        parameters=_expansion,
    ),
    Row(
        "KernelLogisticRegression",
        lambda: sx.KernelLogisticRegression(C=3.0, standardize=True),
        "classification",
        additive=False,
        objective=_logistic,
        parameters=_functions,
        classes=(2, 3),
    ),
    Row(
        "KernelLogisticRegressionCV",
        lambda: sx.KernelLogisticRegressionCV([0.1, 3.0], standardize=True, cv=2),
        "classification",
        additive=False,
        order_free=False,
        objective=_logistic,
        parameters=_functions,
        classes=(2, 3),
    ),
]
