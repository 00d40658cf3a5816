"""One point that stands for many: the mean, the geometric median, the medoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.distances.base import PreparedMetric, vectors
from separatrix.distances.metric_from import metric_from
from separatrix.kernels.base import n_items
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Rows whose distances to all others are measured together in the search for a medoid.
BATCH = 32
#: Columns from which a factorisation is much cheaper than least squares.
MANY_COLUMNS = 64


@dataclass(frozen=True)
class GeometricMedian:
    """argmin_y Σ w ‖x − y‖: the point from which the total way to all others is shortest.

    ``residual`` is the length of the shortest subgradient, as a share of Σ w: zero at the optimum.
    Every unit vector towards a point pulls with its weight; a point that y sits on can hold back
    a pull up to its own weight.
    """

    point: Floats
    total: float
    residual: float
    iterations: int


@dataclass(frozen=True)
class Medoid:
    """argmin over the given points of Σ w d(x, ·). ``measured`` counts rows of distances taken."""

    index: int
    point: Any
    total: float
    measured: int


def geometric_median(
    X: Any, sample_weight: Any = None, *, tolerance: float = 1e-10, max_iter: int = 200
) -> GeometricMedian:
    """The point with the least total Euclidean distance to the rows of X.

    Newton's steps on a convex function, each at least as good as Weiszfeld's average; whether a
    data point itself is the answer is decided by its subgradient.
    """
    x = vectors(X)
    if not len(x):
        raise InputError("No points: nothing to find a median of.")
    w = _weights(sample_weight, len(x))
    scale = float(np.abs(x - np.average(x, axis=0, weights=w)).max()) or 1.0
    origin = np.average(x, axis=0, weights=w)
    z = (x - origin) / scale
    y = _weighted_median(z, w)
    residual, iterations = np.inf, 0
    while iterations < max_iter:
        iterations += 1
        nearest = int(np.linalg.norm(z - y, axis=1).argmin())
        on_point = _pull(z, w, z[nearest])[1]
        if on_point <= tolerance and _total(z, w, z[nearest]) <= _total(z, w, y):
            y, residual = z[nearest], on_point
            break
        pull, residual = _pull(z, w, y)
        if residual <= tolerance:
            break
        new = _step(z, w, y, pull)
        if np.array_equal(new, y):
            break
        y = new
    return GeometricMedian(origin + scale * y, scale * _total(z, w, y), float(residual), iterations)


def medoid(X: Any, metric: Any = "euclidean", sample_weight: Any = None) -> Medoid:
    """The row of X with the least total distance to all rows, in any metric, of any objects.

    In a true metric a row far from the centre is ruled out unmeasured: by the triangle inequality
    its total is at least |total of x − Σw · d(x, ·)| for every row x that was measured. Among equal
    totals the first row is taken.
    """
    n = n_items(X)
    if not n:
        raise InputError("No points: nothing to choose a medoid from.")
    w = _weights(sample_weight, n)
    points = metric_from(metric).fitted(X, w).prepare(X)
    # A row of weight zero is no row; the others come in an order that owes nothing to the table's.
    order = np.random.default_rng(0).permutation(np.flatnonzero(w))
    bound, total = np.zeros(n), np.full(n, np.inf)
    best, measured, whole = np.inf, 0, w.sum()
    at = 0
    while at < len(order):
        batch: list[int] = []
        while at < len(order) and len(batch) < BATCH:
            if bound[order[at]] <= best * (1 + 1e-12):
                batch.append(int(order[at]))
            at += 1
        if not batch:
            break
        rows = _rows(points, np.array(batch))
        sums = rows @ w
        total[batch] = sums
        measured += len(batch)
        best = min(best, float(sums.min()))
        if points.metric.is_metric:
            np.maximum(bound, np.abs(sums[:, None] - whole * rows).max(axis=0), out=bound)
    index = int(np.flatnonzero(total <= best * (1 + 1e-12))[0])
    given = X.iloc[index] if hasattr(X, "iloc") else X[index]
    return Medoid(index, given, float(total[index]), measured)


def _rows(points: PreparedMetric, batch: Any) -> Floats:
    z = points.points
    picked = z[batch] if isinstance(z, np.ndarray) else [z[i] for i in batch]
    out = np.empty((len(batch), len(points)))
    points.metric.fill(picked, points.state, out)
    return out


def _weights(sample_weight: Any, n: int) -> Floats:
    if sample_weight is None:
        return np.ones(n)
    w = np.asarray(sample_weight, dtype=float)
    if w.shape != (n,) or not np.isfinite(w).all() or (w < 0).any() or not w.any():
        raise InputError(f"Weights are {n} finite numbers, none negative and not all zero.")
    return w


def _weighted_median(z: Floats, w: Floats) -> Floats:
    """Coordinate by coordinate: a start that outliers do not move."""
    order = np.argsort(z, axis=0, kind="stable")
    below = np.cumsum(w[order], axis=0)
    middle = (below < w.sum() / 2).sum(axis=0)
    return np.asarray(z[order[middle, range(z.shape[1])], range(z.shape[1])])


def _total(z: Floats, w: Floats, y: Floats) -> float:
    return float(w @ np.linalg.norm(z - y, axis=1))


def _pull(z: Floats, w: Floats, y: Floats) -> tuple[Floats, float]:
    """Σ w (x − y)/‖x − y‖ over the other points; the size of the shortest subgradient."""
    away = z - y
    r = np.linalg.norm(away, axis=1)
    apart = r > 0
    pull = (w[apart] / r[apart]) @ away[apart]
    held = w[~apart].sum()
    return pull, max(0.0, float(np.linalg.norm(pull)) - held) / w.sum()


def _solved(hessian: Floats, pull: Floats) -> Floats:
    """Least squares where points on a line leave no curvature; in many columns only if need be."""
    if len(pull) > MANY_COLUMNS:
        try:
            return np.asarray(linalg.cho_solve(linalg.cho_factor(hessian), pull))
        except linalg.LinAlgError:
            pass
    return np.asarray(np.linalg.lstsq(hessian, pull, rcond=1e-12)[0])


def _step(z: Floats, w: Floats, y: Floats, pull: Floats) -> Floats:
    """Newton's step if it shortens the way, else Weiszfeld's, which always does.

    On a data point the pull is first lessened by what the point holds back (Vardi and Zhang).
    """
    away = z - y
    r = np.linalg.norm(away, axis=1)
    apart = r > 0
    held = w[~apart].sum()
    size = float(np.linalg.norm(pull))
    weiszfeld = y + pull * max(0.0, 1.0 - held / size) / (w[apart] / r[apart]).sum()
    now = _total(z, w, y)
    if held == 0:
        u = away / r[:, None]
        hessian = np.eye(len(y)) * (w / r).sum() - (u * (w / r)[:, None]).T @ u
        newton = y + _solved(hessian, pull)
        if np.isfinite(newton).all() and _total(z, w, newton) < min(now, _total(z, w, weiszfeld)):
            return np.asarray(newton)
    return np.asarray(weiszfeld) if _total(z, w, weiszfeld) < now else y
