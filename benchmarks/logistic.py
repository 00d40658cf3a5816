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

C = 1.0


def table(n: int, d: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d)) @ (np.eye(d) + 0.1 * rng.standard_normal((d, d)))
    scores = 0.3 * x @ rng.standard_normal((d, classes)) + rng.gumbel(size=(n, classes))
    return x, scores.argmax(axis=1)


def objective(model: Any, x: Any, y: Any) -> str:
    """C Σ ℓ + ½‖W‖², computed alike for all."""
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    scores = x @ coef.T + intercept
    if scores.shape[1] == 1:
        scores = np.column_stack([np.zeros(len(x)), scores])
    loss = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(y)), y]
    return f"objective {C * loss.sum() + 0.5 * np.sum(coef**2):.6f}"


def glum_fit(x: Any, y: Any) -> Any:
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(
        family="binomial", alpha=1 / (C * len(x)), l1_ratio=0, gradient_tol=1e-5
    )
    return model.fit(x, y.astype(float))


def main(quick: bool = False) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    for n, d, classes, target, solvers in (
        (50_000 if quick else 500_000, 50, 2, 2, ("lbfgs", "newton-cholesky", "newton-cg")),
        (20_000 if quick else 100_000, 64, 10, 5, ("lbfgs",)),
    ):
        x, y = table(n, d, classes)
        peers = {
            f"scikit-learn {s}": lambda s=s, x=x, y=y: LogisticRegression(C=C, solver=s).fit(x, y)
            for s in solvers
        }
        if classes == 2:
            peers["glum"] = lambda x=x, y=y: glum_fit(x, y)
        race(
            f"Logistic, {n:,} × {d}, {classes} classes",
            ("separatrix", lambda x=x, y=y: sx.LogisticRegression(C).fit(x, y)),
            peers,
            rounds=4,
            note=lambda m, x=x, y=y: objective(m, x, y),
            target=target,
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)
