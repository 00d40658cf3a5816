"""K-medoids by exchanges, from vectors: the matrix of distances is part of the work."""

from __future__ import annotations

import sys
from typing import Any

import kmedoids
import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

import separatrix as sx
from race import race


def main(quick: bool = False) -> None:
    n, d, k = (1_500 if quick else 5_000), 10, 20
    rng = np.random.default_rng(0)
    x = (1.5 * rng.standard_normal((k, d)))[rng.integers(0, k, n)] + rng.standard_normal((n, d))
    sx.KMedoids(3).fit(x[:100])  # compiled before the race

    def loss(found: Any) -> str:
        value = found.inertia_ if hasattr(found, "inertia_") else found.loss
        return f"loss {value:.3f}"

    def peer(dtype: Any, **settings: Any) -> Any:
        return kmedoids.fasterpam(euclidean_distances(x.astype(dtype)), k, **settings)

    race(
        f"K-medoids, {n:,} x {d}, k = {k}, distances included",
        (
            "separatrix KMedoids, one start",  # as the others have; two are the default
            lambda: sx.KMedoids(k, n_init=1, random_state=0).fit(x),
        ),
        {
            "kmedoids fasterpam": lambda: peer(np.float64, random_state=0),
            "kmedoids fasterpam, float32": lambda: peer(np.float32, random_state=0),
            "kmedoids fasterpam, float32, 2 threads": lambda: peer(
                np.float32, random_state=0, n_cpu=2
            ),
        },
        note=loss,
        target=2,
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
