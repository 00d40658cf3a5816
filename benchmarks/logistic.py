"""Logistic regression: two classes with many rows, and softmax with ten classes."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import separatrix as sx
from race import race


def table(n: int, d: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d)) @ (np.eye(d) + 0.1 * rng.standard_normal((d, d)))
    scores = 0.3 * x @ rng.standard_normal((d, classes)) + rng.gumbel(size=(n, classes))
    return x, scores.argmax(axis=1)


def objective(model: Any, x: Any, y: Any, C: float) -> str:
    """Σ ℓ + ‖W‖²/2C, computed alike for all."""
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    scores = x @ coef.T + intercept
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(x)), scores])
    loss = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(y)), y]
    return f"objective {loss.sum() + 0.5 / C * np.sum(coef**2):.6f}"


def glum_fit(x: Any, y: Any, C: float) -> Any:
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(
        family="binomial", alpha=1 / (C * len(x)), l1_ratio=0, gradient_tol=1e-5
    )
    return model.fit(x, y.astype(float))


def intel_fit(x: Any, y: Any, C: float) -> Any:
    from sklearnex.linear_model import LogisticRegression as Intel

    return Intel(C=C, solver="lbfgs").fit(x, y)


def peers_of(x: Any, y: Any, C: float, solvers: tuple[str, ...]) -> dict[str, Any]:
    peers: dict[str, Any] = {
        f"scikit-learn {s}": lambda s=s: LogisticRegression(C=C, solver=s).fit(x, y)
        for s in solvers
    }
    peers["scikit-learn-intelex lbfgs"] = lambda: intel_fit(x, y, C)
    if y.max() == 1:
        peers["glum"] = lambda: glum_fit(x, y, C)
    return peers


def main(quick: bool = False) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    for n, d, classes, target, solvers in (
        (50_000 if quick else 500_000, 50, 2, 2, ("lbfgs", "newton-cholesky", "newton-cg")),
        (20_000 if quick else 100_000, 64, 10, 5, ("lbfgs",)),
    ):
        x, y = table(n, d, classes)
        for C in (1.0, np.inf):
            race(
                f"Logistic, {n:,} × {d}, {classes} classes, C = {C:g}",
                ("separatrix", lambda x=x, y=y, C=C: sx.LogisticRegression(C=C).fit(x, y)),
                peers_of(x, y, C, solvers),
                rounds=4,
                note=lambda m, x=x, y=y, C=C: objective(m, x, y, C),
                target=target,
            )


if __name__ == "__main__":
    main("--quick" in sys.argv)
