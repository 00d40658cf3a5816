"""K-means from the same start, until no row moves."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearnex.cluster import KMeans as IntelKMeans

import separatrix as sx
from race import race


def scatter(x: Any, centers: Any) -> float:
    """Σ ‖x − nearest center‖² in double precision, whoever found the centers."""
    parts = (x[i : i + 10_000] for i in range(0, len(x), 10_000))
    return sum(float(cdist(part, centers, "sqeuclidean").min(axis=1).sum()) for part in parts)


def main(quick: bool = False) -> None:
    n, d, k = (50_000 if quick else 500_000), 10, 50
    rng = np.random.default_rng(0)
    x = (2 * rng.standard_normal((k, d)))[rng.integers(0, k, n)] + rng.standard_normal((n, d))
    start = x[rng.choice(n, k, replace=False)]
    settings = {"init": start, "n_init": 1, "tol": 0.0, "max_iter": 1000}
    sx.KMeans(k, init=start).fit(x[:1000])  # compiled before the race
    sweeps = sx.KMeans(k, init=start).fit(x).n_iter_
    peers = {
        "scikit-learn KMeans": lambda: KMeans(k, **settings).fit(x),
        "scikit-learn KMeans, elkan": lambda: KMeans(k, algorithm="elkan", **settings).fit(x),
        "scikit-learn-intelex KMeans": lambda: IntelKMeans(k, **settings).fit(x),
    }
    try:
        import faiss

        x32, start32 = x.astype(np.float32), start.astype(np.float32)

        def by_faiss() -> Any:
            model = faiss.Kmeans(d, k, niter=int(sweeps), max_points_per_centroid=n)
            model.train(x32, init_centroids=start32)
            return model

        peers[f"faiss Kmeans, {sweeps} sweeps"] = by_faiss
    except ImportError:
        pass

    def note(model: Any) -> str:
        centers = getattr(model, "cluster_centers_", None)
        centers = model.centroids if centers is None else centers
        return f"scatter {scatter(x, np.asarray(centers, dtype=float)):.6f}"

    race(
        f"K-means, {n:,} x {d}, k = {k}, to the end ({sweeps} sweeps)",
        ("separatrix KMeans", lambda: sx.KMeans(k, init=start).fit(x)),
        peers,
        note=note,
        target=2,
    )


if __name__ == "__main__":
    main("--quick" in sys.argv)
