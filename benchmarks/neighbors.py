"""The ten nearest of many points: whichever way is best for each, its building counted in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import faiss
import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors as SklearnNeighbors
from sklearnex.neighbors import NearestNeighbors as IntelexNeighbors

from race import race
from separatrix import NearestNeighbors

K = 10


def main(quick: bool = False) -> None:
    for n, d in [(100_000, 10), (200_000, 3)]:
        nearest(n // 10 if quick else n, d, 1_000 if quick else 10_000, 1.0)


def nearest(n: int, d: int, queries: int, target: float) -> None:
    """The ten nearest of normal points: no structure helps."""
    rng = np.random.default_rng(0)
    points, asked = rng.standard_normal((n, d)), rng.standard_normal((queries, d))
    exact = reference(points, asked[:200])
    own(points[:500], asked[:2])  # compiled and cached
    race(
        f"{K} nearest of {queries:,} among {n:,} × {d}",
        ("separatrix", lambda points=points, asked=asked: own(points, asked)),
        peers(points, asked),
        note=lambda found, exact=exact: agreement(found, exact),
        target=target,
    )


def own(points: np.ndarray, asked: np.ndarray) -> np.ndarray:
    return np.asarray(NearestNeighbors(n_neighbors=K).fit(points).kneighbors(asked)[0])


def peers(points: np.ndarray, asked: np.ndarray) -> dict[str, Callable[[], Any]]:
    found = {
        f"scikit-learn, {algorithm}": lambda algorithm=algorithm: by_sklearn(
            points, asked, algorithm
        )
        for algorithm in (("kd_tree", "brute") if points.shape[1] <= 10 else ("brute",))
    }
    found["faiss, flat"] = lambda: by_faiss(points, asked)
    found["intelex, brute"] = lambda: by_intelex(points, asked)
    if points.shape[1] <= 10:
        found["SciPy's tree, 2 workers"] = lambda: cKDTree(points).query(asked, K, workers=2)[0]
    return found


def by_sklearn(points: np.ndarray, asked: np.ndarray, algorithm: str) -> np.ndarray:
    model = SklearnNeighbors(n_neighbors=K, algorithm=algorithm, n_jobs=2).fit(points)
    return np.asarray(model.kneighbors(asked)[0])


def by_intelex(points: np.ndarray, asked: np.ndarray) -> np.ndarray:
    model = IntelexNeighbors(n_neighbors=K, algorithm="brute").fit(points)
    return np.asarray(model.kneighbors(asked)[0])


def by_faiss(points: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Single precision, which is all that it has."""
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(points.astype(np.float32))
    return np.sqrt(np.maximum(index.search(asked.astype(np.float32), K)[0], 0.0))


def reference(points: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """All differences, one query at a time."""
    return np.stack([np.sqrt(np.sort(((points - one) ** 2).sum(axis=1))[:K]) for one in asked])


def agreement(found: np.ndarray, exact: np.ndarray) -> str:
    away = np.abs(found[: len(exact)] - exact).max() / exact.max()
    return f"distances agree to {away:.1e}"


if __name__ == "__main__":
    main("--quick" in sys.argv)
