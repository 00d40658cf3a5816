"""What a race of twins is: tables of every shape, the work that is timed, the objective."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

Arrays = tuple[Any, np.ndarray, np.ndarray]
Objective = Callable[[Any, Any, Any], float]

#: Rows, columns, and the part of entries that is not zero (None: a dense table).
SHAPES: dict[str, tuple[int, int, float | None]] = {
    "tiny": (150, 4, None),
    "tall": (100_000, 20, None),
    "middle": (5_000, 100, None),
    "square": (1_500, 1_500, None),
    "wide": (200, 10_000, None),
    "csr-tall": (20_000, 1_000, 0.01),
    "csr-square": (4_000, 3_000, 0.01),
    "csr-wide": (3_000, 40_000, 0.002),
}
DENSE = tuple(name for name, (_, _, density) in SHAPES.items() if density is None)
ALL = tuple(SHAPES)


@cache
def table(shape: str) -> Arrays:
    """X, a numeric target of ten columns with noise, and the classes of its sign."""
    n, d, density = SHAPES[shape]
    rng = np.random.default_rng(0)
    if density is None:
        x: Any = rng.normal(size=(n, d))
    else:
        x = sparse.random(n, d, density, format="csr", rng=rng)
    strong = np.arange(min(d, 10)) * (d // min(d, 10))
    signal = x[:, strong] @ rng.normal(size=len(strong))
    t = signal + 0.5 * signal.std() * rng.normal(size=n)
    return x, t, (t > np.median(t)).astype(int)


def fit(model: Any, x: Any, y: Any) -> Any:
    return model.fit(x, y)


def fit_predict(model: Any, x: Any, y: Any) -> Any:
    """Fit, then predict up to 2 000 rows that are near those of the fit."""
    model.fit(x, y).predict(x[:2_000] * 1.001)
    return model


@dataclass(frozen=True)
class Entry:
    """``name`` of ours and of a case, its ``twin``, arguments of both (or what makes them)."""

    name: str
    twin: Any
    arguments: dict[str, Any] | Callable[[Any, np.ndarray], dict[str, Any]]
    objective: Objective | None = None
    shapes: Sequence[str] = ALL
    target: str = "numbers"  # or "counts", "classes", or "none"
    twin_only: tuple[tuple[str, Any], ...] = ()
    work: Callable[[Any, Any, Any], Any] = fit
    prepare: Callable[[Any], Any] | None = None  # what becomes of the rows

    def data(self, shape: str) -> tuple[Any, Any]:
        """The rows of a shape, and the target of this entry."""
        x, t, labels = table(shape)
        counts = np.round(np.exp(t / t.std()))
        y = {"numbers": t, "counts": counts, "classes": labels, "none": None}[self.target]
        return (x if self.prepare is None else self.prepare(x)), y
