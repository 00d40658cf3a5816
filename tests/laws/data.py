"""Small tables that every law is tried on."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import separatrix as sx
from separatrix.rows.rows import Rows
from tests.registry import CLUSTERERS, HIERARCHIES, REGISTRY, Row

Table = tuple[NDArray[np.float64], NDArray[np.float64] | NDArray[np.str_]]


def table(row: Row, n: int = 60, d: int = 4, seed: int = 0) -> Table:
    """Correlated features, and a target that suits the estimator's task."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3) + rng.uniform(-2, 2, d)
    slope = np.array([1.5, -2.0, 0.5, 1.0])[:d]
    signal = (x - x.mean(axis=0)) @ slope
    y = 3.0 + signal + 0.3 * rng.standard_normal(n)
    if row.counts_events:
        return x, np.floor(np.exp(1.0 + 0.3 * signal))
    if row.task == "regression":
        return x, y
    if row.counts:
        x = np.floor(np.exp(0.5 * x))
    names = np.array(["low", "middle", "high"])
    return x, names[np.digitize(y, np.quantile(y, [0.3, 0.7]))]


def overlapping(row: Row, classes: int, seed: int = 0) -> Table:
    """The same table with two or three classes that no hyperplane separates."""
    x, y = table(row, seed=seed)
    if row.task == "regression":
        return x, y
    noisy = np.random.default_rng(seed + 7).permutation(len(y))[: len(y) // 6]
    y = y.copy()
    y[noisy] = np.roll(y[noisy], 1)
    return x, (np.where(y == "low", "low", "other") if classes == 2 else y)


def outcome(row: Row, model: object, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Predictions as numbers: of regressors themselves, or scores or probabilities of classes."""
    if row.task == "regression":
        return np.asarray(model.predict(x), dtype=float)  # type: ignore[attr-defined]
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(x), dtype=float)
    return np.asarray(model.predict_proba(x), dtype=float)  # type: ignore[attr-defined]


def stored_and_loaded(model: object, folder: Path) -> Any:
    """The model from a file; stored again it gives the same bytes."""
    sx.save(model, folder / "a.sx")
    loaded = sx.load(folder / "a.sx")
    sx.save(loaded, folder / "b.sx")
    assert (folder / "a.sx").read_bytes() == (folder / "b.sx").read_bytes()
    return loaded


def points(n: int = 60, seed: int = 0) -> NDArray[np.float64]:
    """Three groups that overlap a little."""
    rng = np.random.default_rng(seed)
    middle = np.array([[0, 0, 0, 0], [4, 1, 0, 3], [-2, 5, 1, 0.0]])
    return middle[rng.integers(0, 3, n)] + rng.standard_normal((n, 4))


def same_partition(a: NDArray[np.int64], b: NDArray[np.int64]) -> bool:
    """Equal up to the names of the clusters."""
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))


def streamed(x: NDArray[np.float64], size: int) -> Rows:
    """A table that is read in blocks."""
    import pandas as pd

    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"])
    return sx.scan(frame, block_rows=size)


@cache
def fitted(name: str) -> Any:
    """The estimator of this row of the registry, fitted once for the laws that only look at it."""
    row = next(row for row in (*REGISTRY, *CLUSTERERS, *HIERARCHIES) if row.name == name)
    if row.task == "clustering":
        return row.make().fit(points())
    return row.make().fit(*table(row))
