"""Kernel machines that learn their metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import logsumexp

import separatrix as sx
from tests.registry.row import Row


def _mapped(model: Any, x: Any) -> Any:
    """Columns without outliers are standardized."""
    return (x - x.mean(axis=0)) / x.std(axis=0)


def _gram(model: Any, x: Any) -> Any:
    """K from the distances of the definition."""
    z = _mapped(model, x)
    difference = z[:, None, :] - z[None, :, :]
    tau, m = model.share_, model.metric_
    squares = np.einsum("ijc,cd,ijd->ij", difference, m, difference)
    far = np.abs(difference) @ np.sqrt(np.diagonal(m))
    h, g = (model.spread_ * mean for mean in (np.sqrt(np.maximum(squares, 0)).mean(), far.mean()))
    return (1 - tau) * np.exp(-((np.maximum(squares, 0) / h**2) ** 0.75)) + tau * np.exp(-far / g)


def _objective(model: Any, beta: Any, intercept: float, x: Any, y: Any) -> float:
    """Σ (y − f)² + λ βᵀKβ."""
    k = _gram(model, x)
    numbers = sx.RecursiveFeatureMachineRegressor
    target = y if isinstance(model, numbers) else (y == model.classes_[1]).astype(float)
    errors = target - k @ beta - intercept
    return float(errors @ errors + model.alpha_ * beta @ k @ beta)


def _coefficients(model: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Those of the rows in the order that they were given."""
    z = _mapped(model, x)
    at = ((z[:, None, :] - model.centers_[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
    return model.dual_coef_[at, 0], float(model.intercept_[0])


def _logistic(model: Any, beta: Any, intercept: Any, x: Any, y: Any) -> float:
    """Σ ℓ + ½ λ Σ βᵀKβ."""
    k = _gram(model, x)
    f = k @ beta + intercept
    if f.shape[1] == 1:
        f = np.column_stack([np.zeros(len(f)), f])
    true = f[np.arange(len(f)), np.searchsorted(model.classes_, y)]
    loss = (logsumexp(f, axis=1) - true).sum()
    return float(loss + 0.5 * model.alpha_ * np.sum(beta * (k @ beta)))


def _functions(model: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Coefficients of the rows in the order that they were given, and offsets."""
    z = _mapped(model, x)
    at = ((z[:, None, :] - model.centers_[None, :, :]) ** 2).sum(axis=2).argmin(axis=1)
    return model.dual_coef_[at], model.intercept_


#: Fits with given parameters, except where folds are wanted.
GIVEN = {"share": 0.4, "spread": 2.0, "rounds": 1, "alpha": 0.3}

ROWS: list[Row] = [
    Row(
        "RecursiveFeatureMachineRegressor",
        lambda: sx.RecursiveFeatureMachineRegressor(**GIVEN),
        additive=False,
        objective=_objective,
        parameters=_coefficients,
    ),
    Row(
        "RecursiveFeatureMachineRegressor, chosen",
        lambda: sx.RecursiveFeatureMachineRegressor(share=0.0, spread=4.0, cv=2),
        additive=False,
        objective=_objective,
        parameters=_coefficients,
    ),
    Row(
        "RecursiveFeatureMachineClassifier",
        lambda: sx.RecursiveFeatureMachineClassifier(**GIVEN, cv=2),
        "classification",
        additive=False,
        precision=1e-5,
        objective=_objective,
        parameters=_coefficients,
    ),
    Row(
        "LogisticRecursiveFeatureMachine",
        lambda: sx.LogisticRecursiveFeatureMachine(**GIVEN),
        "classification",
        additive=False,
        objective=_logistic,
        parameters=_functions,
        classes=(2, 3),
    ),
    Row(
        "LogisticRecursiveFeatureMachine, chosen",
        lambda: sx.LogisticRecursiveFeatureMachine(share=0.0, spread=4.0, cv=2),
        "classification",
        additive=False,
        objective=_logistic,
        parameters=_functions,
    ),
]
