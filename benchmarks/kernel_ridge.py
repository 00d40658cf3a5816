"""Kernel ridge regression, rows left out included, against scikit-learn's fit and its grid."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn import kernel_ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

import separatrix as sx
from race import race


def waves(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    return x, np.sin(x[:, 0] + x[:, 1]) + 0.1 * rng.standard_normal(n)


def left_out_by_inverse(x: Any, y: Any) -> Any:
    """The closed form from scikit-learn's kernel and an explicit inverse."""
    inverse = np.linalg.inv(rbf_kernel(x) + np.eye(len(x)))
    return y - inverse @ y / np.diagonal(inverse)


def main(quick: bool = False) -> None:
    n, d = (1_500, 20) if quick else (5_000, 20)
    x, y = waves(n, d)

    def own() -> Any:
        model = sx.KernelRidge(kernel="rbf").fit(x, y)
        return model.leave_one_out()

    race(
        f"Kernel ridge regression, Gaussian kernel, {n:,} × {d}",
        ("separatrix, every row left out", own),
        {
            "scikit-learn, fit alone": lambda: (
                kernel_ridge.KernelRidge(kernel="rbf").fit(x, y).predict(x)
            ),
            "scikit-learn's kernel, inverse, left out": lambda: left_out_by_inverse(x, y),
        },
        note=lambda v: f"RMSE {np.sqrt(((v - y) ** 2).mean()):.6f}",
        rounds=2,
        target=2,
    )
    n, alphas = 500 if quick else 2_000, np.geomspace(1e-3, 1e3, 30)
    x, y = waves(n, d)
    race(
        f"30 penalties, Gaussian kernel, {n:,} × {d}",
        ("separatrix, leave-one-out", lambda: sx.KernelRidgeCV(alphas, kernel="rbf").fit(x, y)),
        {
            "scikit-learn's grid, 5 folds": lambda: GridSearchCV(
                kernel_ridge.KernelRidge(kernel="rbf"), {"alpha": alphas}, n_jobs=2
            ).fit(x, y)
        },
        note=lambda m: f"α {getattr(m, 'alpha_', None) or m.best_params_['alpha']:.3g}",
        rounds=2,
        target=2,
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
