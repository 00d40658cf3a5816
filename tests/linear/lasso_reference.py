"""Tables and optimality conditions for the lasso tests, independent of the solvers."""

from __future__ import annotations

import numpy as np


def table(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns in mixed units, a target that depends on a few of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))
    x = x * 10.0 ** rng.uniform(-1, 1, size=d) + rng.normal(size=d)
    few = min(d, 5)
    y = (x[:, :few] / x[:, :few].std(axis=0)) @ rng.normal(size=few) + 0.5 * rng.normal(size=n)
    return x, y


def violation(
    x: np.ndarray,
    y: np.ndarray,
    coef: np.ndarray,
    intercept: float,
    alpha: float,
    l1_ratio: float = 1.0,
    w: np.ndarray | None = None,
    positive: bool = False,
) -> float:
    """How far a model is from the optimality conditions, column by column, in correlations."""
    w = np.ones(len(y)) if w is None else w
    w = w / w.sum()
    r = y - intercept - x @ coef
    gradient = x.T @ (w * r) - alpha * (1 - l1_ratio) * coef
    spread = np.sqrt(w @ (x - w @ x) ** 2 * (w @ (y - w @ y) ** 2))
    worst = abs(w @ r) / np.sqrt(w @ (y - w @ y) ** 2)
    for j in np.flatnonzero(spread > 0):
        if coef[j] != 0:
            off = abs(gradient[j] - alpha * l1_ratio * np.sign(coef[j]))
        else:
            off = max((gradient[j] if positive else abs(gradient[j])) - alpha * l1_ratio, 0.0)
        worst = max(worst, off / spread[j])
    return float(worst)


def objective(
    x: np.ndarray, y: np.ndarray, coef: np.ndarray, intercept: float, alpha: float, l1_ratio: float
) -> float:
    """(1/2n) Σ r² + α ρ ‖b‖₁ + ½ α (1 − ρ) ‖b‖²."""
    r = y - intercept - x @ coef
    penalty = l1_ratio * np.abs(coef).sum() + 0.5 * (1 - l1_ratio) * coef @ coef
    return float(0.5 * np.mean(r**2) + alpha * penalty)
