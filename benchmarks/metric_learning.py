"""Learned metrics: neighborhood components, large margins, and metrics of numeric targets.

Peers are scikit-learn and metric-learn (of numbers: metric learning for kernel regression, MLKR).

metric-learn 0.7 calls scikit-learn by an argument that it has renamed: it is renamed here, too.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import separatrix as sx
from race import race


def blobs(n: int, d: int) -> tuple[Any, Any]:
    """Five classes that differ in half of the columns."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    x = rng.standard_normal((n, d))
    x[:, : d // 2] += 1.2 * rng.standard_normal((5, d // 2))[y]
    return x, y


def theirs(name: str, **options: Any) -> Any:
    """metric-learn's estimator, with scikit-learn's new name of its argument."""
    import metric_learn
    from metric_learn import _util

    def renamed(check: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            if "force_all_finite" in kwargs:
                kwargs["ensure_all_finite"] = kwargs.pop("force_all_finite")
            return check(*args, **kwargs)

        return call

    for function in ("check_X_y", "check_array"):
        check = getattr(_util, function)
        if check.__name__ != "call":
            setattr(_util, function, renamed(check))
    return getattr(metric_learn, name)(**options)


def friedman(n: int, d: int) -> tuple[Any, Any]:
    """Friedman's function of the first five of d columns, with noise."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(n, d))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    return x, y + 10 * x[:, 3] + 5 * x[:, 4] + rng.standard_normal(n)


def margin_objective(x: Any, y: Any, components: Any, k: int = 3) -> float:
    """Half of the squared distances to targets, half of the margins, by the definition."""
    z = x @ components.T
    total = 0.0
    for i in range(len(x)):
        same = np.flatnonzero((y == y[i]) & (np.arange(len(x)) != i))
        nearest = same[np.argsort(((x[same] - x[i]) ** 2).sum(axis=1))[:k]]
        d = ((z - z[i]) ** 2).sum(axis=1)
        other = d[y != y[i]]
        for j in nearest:
            total += 0.5 * d[j] + 0.5 * np.maximum(0.0, 1.0 + d[j] - other).sum()
    return float(total)


def right_neighbors(x: Any, y: Any, components: Any) -> float:
    """The share of rows of which a random neighbor is expected to have the class."""
    z = x @ components.T
    square = ((z[:, None] - z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(square, np.inf)
    p = np.exp(square.min(axis=1)[:, None] - square)
    return float((p * (y[:, None] == y)).sum(axis=1) @ (1.0 / p.sum(axis=1)) / len(x))


def main(quick: bool = False) -> None:
    warnings.simplefilter("ignore")
    n, d = (300, 10) if quick else (600, 20)
    x, y = blobs(n, d)
    race(
        f"Large margin nearest neighbors, {n:,} × {d}, 5 classes",
        ("separatrix, gap 10⁻⁴", lambda: sx.LargeMarginNearestNeighbors().fit(x, y)),
        {
            "metric-learn": lambda: theirs(
                "LMNN", n_neighbors=3, regularization=0.5, max_iter=200
            ).fit(x, y)
        },
        note=lambda m: f"objective {margin_objective(x, y, m.components_):.2f}",
        rounds=2,
        peer_rounds=1,
        target=2,
    )
    n, d = (400, 10) if quick else (1_500, 20)
    x, y = blobs(n, d)
    race(
        f"Neighborhood components, {n:,} × {d}, 5 classes, 10 components",
        ("separatrix", lambda: sx.NeighborhoodComponentsAnalysis(10, init="pca").fit(x, y)),
        {
            "scikit-learn": lambda: NeighborhoodComponentsAnalysis(10, init="pca").fit(x, y),
        },
        note=lambda m: f"right neighbors {right_neighbors(x, y, m.components_):.5f}",
        rounds=2,
        peer_rounds=1,
        target=2,
    )
    n, d = (300, 10) if quick else (1_000, 10)
    points, target = friedman(n, d)
    new, truth = friedman(2 * n, d)
    new, truth = new[n:], truth[n:]

    def accuracy(model: Any) -> str:
        near = sx.KNeighborsRegressor(10).fit(model.transform(points), target)
        return f"R² of 10 neighbors {near.score(model.transform(new), truth):.3f}"

    plain = sx.KNeighborsRegressor(10).fit(points, target).score(new, truth)
    race(
        f"Metric of a numeric target, {n:,} × {d} (R² of 10 neighbors without it {plain:.3f})",
        (
            "separatrix, gradient outer product",
            lambda: sx.GradientOuterProductMetric().fit(points, target),
        ),
        {"metric-learn, MLKR": lambda: theirs("MLKR").fit(points, target)},
        note=accuracy,
        rounds=2,
        peer_rounds=1,
        target=2,
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
