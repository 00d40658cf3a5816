"""Choice of inducing points: pivoted Cholesky on the conditional variance.

    zⱼ₊₁ = argmax over rows x of Var(f(x) | f(z₁) … f(zⱼ)) = κ(x, x) − Σ lᵢ(x)²

The variance that is left in all, tr(K − Q), is what the bounds on the evidence lose. Greedy choice
is within a factor of the best one. Ties go to the row nearest the middle of the table, so that
neither the order of the rows nor copies of them matter.

D. Burt, C. Rasmussen and M. van der Wilk, "Convergence of sparse variational inference in Gaussian
processes regression", Journal of Machine Learning Research 21, 2020.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.rows.block import Floats, Ints

#: Variance left of a row, relative to its own, below which rounding is all that is left.
SPANNED = 1e-9
#: Variances whose relative difference is below this are equal.
TIE = 1e-10


@dataclass(frozen=True)
class Chosen:
    """Rows chosen as inducing points, in order, and the variance left in all after each."""

    rows: Ints
    left: Floats
    candidates: int


def choose_points(kernel: Kernel, x: Items, count: int, order: Ints | None = None) -> Chosen:
    """At most ``count`` rows of x; fewer where these span all others.

    Of rows with equal variance the first in ``order`` (ranks; by default that of the rows) is
    taken. ``kernel`` is without noise.
    """
    n = n_items(x)
    rank = np.arange(n) if order is None else order
    own = np.asarray(kernel.diagonal(x), dtype=float)
    variance = own.copy()
    floor = SPANNED * np.maximum(own, np.finfo(float).tiny)
    columns = np.empty((min(count, n), n))
    rows: list[int] = []
    left: list[float] = []
    while len(rows) < len(columns):
        best = float(variance.max(initial=0.0))
        ties = np.flatnonzero(variance >= best * (1.0 - TIE))
        pivot = int(ties[np.argmin(rank[ties])])
        if variance[pivot] <= floor[pivot] or not np.isfinite(best):
            break
        j = len(rows)
        column = np.asarray(
            kernel.prepare_exact(take_items(x, np.array([pivot]))).rows(x), dtype=float
        )
        column = column[:, 0] - columns[:j, pivot] @ columns[:j]
        column /= np.sqrt(variance[pivot])
        columns[j] = column
        variance -= column**2
        np.maximum(variance, 0.0, out=variance)
        variance[pivot] = 0.0
        rows.append(pivot)
        left.append(float(variance.sum()))
    return Chosen(np.array(rows, dtype=np.int64), np.array(left), n)


def middle_first(x: Items) -> Ints:
    """The rank of each row by its distance from the mean in standard deviations; ties by value."""
    if not isinstance(x, np.ndarray):
        return np.arange(n_items(x))
    center, spread = x.mean(axis=0), x.std(axis=0)
    standard = (x - center) / np.where(spread > 0.0, spread, 1.0)
    distance = np.round((standard**2).sum(axis=1), 8)
    keys = [*np.round(standard, 8).T[::-1], distance]
    rank = np.empty(len(x), dtype=np.int64)
    rank[np.lexsort(keys)] = np.arange(len(x))
    return rank
