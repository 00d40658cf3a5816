"""Silhouettes of all points, Euclidean and squared Euclidean."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.metrics import silhouette_samples

import separatrix as sx
from race import race


def main(quick: bool = False) -> None:
    n, d, k = (4_000 if quick else 20_000), 10, 8
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, n)
    x = (1.5 * rng.standard_normal((k, d)))[labels] + rng.standard_normal((n, d))
    for metric, target in (("euclidean", 3), ("sqeuclidean", 100)):
        sx.silhouette(x[:100], labels[:100], metric)  # compiled before the race
        best = silhouette_samples(x, labels, metric=metric)

        def agree(found: Any, best: Any = best) -> str:
            samples = getattr(found, "samples", found)
            return f"largest difference {np.abs(samples - best).max():.1e}"

        race(
            f"Silhouettes, {n:,} x {d}, {k} clusters, {metric}",
            ("separatrix silhouette", lambda metric=metric: sx.silhouette(x, labels, metric)),
            {
                "scikit-learn silhouette_samples": lambda metric=metric: silhouette_samples(
                    x, labels, metric=metric
                )
            },
            note=agree,
            target=target,
        )


if __name__ == "__main__":
    main("--quick" in sys.argv)
