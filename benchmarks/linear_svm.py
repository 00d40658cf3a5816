"""Linear support vector machines with many rows: own time and liblinear's, with every gap."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC, LinearSVR

import separatrix as sx
from race import race

C = 1.0


def table(n: int, d: int) -> tuple[Any, Any]:
    """Overlapping classes along one direction of correlated columns."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d)) @ (np.eye(d) + 0.1 * rng.standard_normal((d, d)))
    return x, 0.3 * x @ rng.standard_normal(d) + rng.logistic(size=n)


def excess(model: Any, loss: Any, best: float) -> str:
    """How far the objective is above the proven lower bound, computed alike for all."""
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    value = 0.5 * w @ w + C * float(loss(w, b).sum())
    return f"gap {value - best:.2e} of {best:.6g}"


def main(quick: bool = False) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    sizes = ((20_000, 50), (50_000, 20)) if quick else ((200_000, 50), (1_000_000, 20))
    for n, d in sizes:
        x, s = table(n, d)
        y = np.where(s > 0.0, 1, -1)
        best = sx.LinearSVC(loss="hinge", C=C).fit(x, y).certificate_.dual

        def loss(w: Any, b: float, x: Any = x, y: Any = y) -> Any:
            return np.maximum(0.0, 1.0 - y * (x @ w + b))

        race(
            f"Linear support vector machine, hinge, {n:,} × {d}",
            ("separatrix", lambda x=x, y=y: sx.LinearSVC(loss="hinge", C=C).fit(x, y)),
            {
                f"liblinear, max_iter={most}": lambda x=x, y=y, most=most: LinearSVC(
                    loss="hinge", C=C, max_iter=most
                ).fit(x, y)
                for most in (20, 1000)
            },
            peer_rounds=1,
            note=lambda m, loss=loss, best=best: excess(m, loss, best),
            target=5,
        )
    n, d = (20_000, 20) if quick else (200_000, 20)
    x, s = table(n, d)
    best = sx.LinearSVR(C=C, epsilon=0.5, intercept_scaling=np.inf).fit(x, s).certificate_.dual

    def outside(w: Any, b: float) -> Any:
        return np.maximum(0.0, np.abs(s - x @ w - b) - 0.5)

    race(
        f"Linear support vector regression, ε = 0.5, {n:,} × {d}",
        ("separatrix", lambda: sx.LinearSVR(C=C, epsilon=0.5, intercept_scaling=np.inf).fit(x, s)),
        {"liblinear": lambda: LinearSVR(C=C, epsilon=0.5, max_iter=1000).fit(x, s)},
        peer_rounds=1,
        note=lambda m: excess(m, outside, best),
        target=5,
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
