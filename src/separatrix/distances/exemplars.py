"""Exemplars of a set of points: the geometric median and the medoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.distances.graphs import require_reachable
from separatrix.distances.metrics import as_dense_matrix, as_square
from separatrix.distances.names import PrecomputedDistances, metric_from
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.rows.schema import check_sample_weight, n_items, take_items, unit_weights


@dataclass(frozen=True, repr=False)
class GeometricMedian(Shown):
    """argmin_y Σ w ‖x − y‖, with the value of the sum and the optimality residual.

    ``residual`` is the norm of the smallest subgradient over Σ w, zero at the optimum. At a data
    point x the subdifferential of w ‖x − y‖ is the ball of radius w.
    """

    point: Floats
    total: float
    residual: float
    iterations: int

    def __str__(self) -> str:
        return (
            f"Geometric median {self.point.round(6).tolist()}: total distance {self.total:.6g}, "
            f"optimality residual {self.residual:.1e}."
        )


@dataclass(frozen=True, repr=False)
class Medoid(Shown):
    """argmin over the given points of Σ w d(x, ·).

    ``measured`` counts the points whose distances to all others were computed.
    """

    index: int
    point: Any
    total: float
    measured: int

    def __str__(self) -> str:
        point = self.point.tolist() if hasattr(self.point, "tolist") else repr(self.point)
        return f"Medoid: point {self.index}, {point}; total distance {self.total:.6g}."


def geometric_median(
    X: Any, sample_weight: Any = None, *, tolerance: float = 1e-10, max_iter: int = 200
) -> GeometricMedian:
    """Point of least total Euclidean distance to the rows (geometric or spatial median).

        argmin_y Σᵢ wᵢ ‖xᵢ − y‖

    Parameters
    ----------
    X : array-like of shape (n, d)
        The points.
    sample_weight : array-like of shape (n,), optional
        Weights wᵢ, none negative.
    tolerance : float, default=1e-10
        Norm of the smallest subgradient, over Σ w, at which to stop.
    max_iter : int, default=200
        Most iterations.

    Returns
    -------
    GeometricMedian
        ``point``, ``total`` (the sum), ``residual`` (optimality) and ``iterations``.

    See Also
    --------
    medoid : the same among the given points only, in any metric.
    KMedoids : clusters around medoids.

    Notes
    -----
    Newton's method, safeguarded by Weiszfeld's iteration as modified for data points. Whether a
    data point is the optimum is decided by its subgradient.

    References
    ----------
    Y. Vardi and C.-H. Zhang, The multivariate L1-median and associated data depth, 2000.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.geometric_median([[0, 0], [2, 0], [1, 1], [1, -1], [1, 0], [90, 0]])
    >>> found.point.round(6).tolist()
    [1.0, 0.0]
    """
    x = as_dense_matrix(X)
    if not len(x):
        raise InputError("No points: there is no median.")
    w = unit_weights(check_sample_weight(sample_weight, len(x)), len(x))
    origin = np.average(x, axis=0, weights=w)
    scale = float(np.abs(x - origin).max()) or 1.0
    z = (x - origin) / scale
    y = _weighted_median(z, w)
    residual, iterations = np.inf, 0
    while iterations < max_iter:
        iterations += 1
        nearest = int(np.linalg.norm(z - y, axis=1).argmin())
        at_nearest = _gradient(z, w, z[nearest])[1]
        if at_nearest <= tolerance and _total(z, w, z[nearest]) <= _total(z, w, y):
            y, residual = z[nearest], at_nearest
            break
        descent, residual = _gradient(z, w, y)
        if residual <= tolerance:
            break
        new = _step(z, w, y, descent)
        if np.array_equal(new, y):
            break
        y = new
    return GeometricMedian(origin + scale * y, scale * _total(z, w, y), float(residual), iterations)


def medoid(X: Any, metric: Any = "euclidean", sample_weight: Any = None) -> Medoid:
    """Row of least total distance to all rows, in any metric and for any objects.

        argmin over rows xⱼ of Σᵢ wᵢ d(xᵢ, xⱼ)

    Parameters
    ----------
    X : array-like or list
        The points; with "precomputed" their distances, a square matrix or in condensed form.
    metric : str, Metric or callable, default="euclidean"
        The distance d.
    sample_weight : array-like of shape (n,), optional
        Weights wᵢ, none negative. Rows of weight zero are not candidates.

    Returns
    -------
    Medoid
        ``index`` and ``point`` of the row (the first one of equal totals), its ``total``, and
        ``measured``, the number of rows whose distances to all others were computed.

    See Also
    --------
    geometric_median : the minimizer over all of space.
    KMedoids : clusters around medoids.

    Notes
    -----
    In a metric, the triangle inequality bounds the total of an unmeasured row z from below by
    |total(x) − Σw · d(x, z)| for every measured row x; most rows are ruled out this way.

    References
    ----------
    L. Kaufman and P. J. Rousseeuw, Finding Groups in Data, Wiley, 1990.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.medoid(["abc", "abd", "xyz"], "edit").point
    'abc'
    """
    chosen = metric_from(metric)
    if isinstance(chosen, PrecomputedDistances):
        X = as_square(X)
    n = n_items(X)
    if not n:
        raise InputError("No points: there is no medoid.")
    w = unit_weights(check_sample_weight(sample_weight, n), n)
    points = chosen.fitted(X, w).prepare(X)
    # a random order, so that the order of the table does not decide how many rows are measured
    order = np.random.default_rng(0).permutation(np.flatnonzero(w))
    bound, total = np.zeros(n), np.full(n, np.inf)
    best, measured, sum_of_weights = np.inf, 0, w.sum()
    position = 0
    while position < len(order):
        batch: list[int] = []
        # Candidates whose distances to all points are computed together in the search for a medoid.
        while position < len(order) and len(batch) < 32:
            if bound[order[position]] <= best * (1 + 1e-12):
                batch.append(int(order[position]))
            position += 1
        if not batch:
            break
        rows = points.validated_rows(take_items(points.points, batch))
        sums = rows @ w
        total[batch] = sums
        measured += len(batch)
        best = min(best, float(sums.min()))
        if points.metric.is_metric and np.isfinite(sums).all():
            lower = np.abs(sums[:, None] - sum_of_weights * rows).max(axis=0)
            np.maximum(bound, lower, out=bound)
    if not np.isfinite(best):
        require_reachable(points.metric, points.points)
    index = int(np.flatnonzero(total <= best * (1 + 1e-12))[0])
    point = X.iloc[index] if hasattr(X, "iloc") else X[index]
    return Medoid(index, point, float(total[index]), measured)


def _weighted_median(z: Floats, w: Floats) -> Floats:
    """The coordinatewise median, a robust start."""
    order = np.argsort(z, axis=0, kind="stable")
    below = np.cumsum(w[order], axis=0)
    middle = (below < w.sum() / 2).sum(axis=0)
    return np.asarray(z[order[middle, range(z.shape[1])], range(z.shape[1])])


def _total(z: Floats, w: Floats, y: Floats) -> float:
    return float(w @ np.linalg.norm(z - y, axis=1))


def _gradient(z: Floats, w: Floats, y: Floats) -> tuple[Floats, float]:
    """−∇ = Σ w (x − y)/‖x − y‖ over the points x ≠ y; the norm of the smallest subgradient."""
    difference = z - y
    r = np.linalg.norm(difference, axis=1)
    positive = r > 0
    descent = (w[positive] / r[positive]) @ difference[positive]
    radius = w[~positive].sum()  # of the subdifferential at a data point
    return descent, max(0.0, float(np.linalg.norm(descent)) - radius) / w.sum()


def _newton_direction(hessian: Floats, descent: Floats) -> Floats:
    """H⁻¹(−∇); by least squares where H is singular (points on a line)."""
    # Columns from which a Cholesky factorization is much cheaper than least squares.
    if len(descent) > 64:
        try:
            return np.asarray(linalg.cho_solve(linalg.cho_factor(hessian), descent))
        except linalg.LinAlgError:
            pass
    return np.asarray(np.linalg.lstsq(hessian, descent, rcond=1e-12)[0])


def _step(z: Floats, w: Floats, y: Floats, descent: Floats) -> Floats:
    """Newton's step if it decreases the total more than Weiszfeld's, which always does."""
    difference = z - y
    r = np.linalg.norm(difference, axis=1)
    positive = r > 0
    radius = w[~positive].sum()
    size = float(np.linalg.norm(descent))
    inverse = (w[positive] / r[positive]).sum()
    weiszfeld = y + descent * max(0.0, 1.0 - radius / size) / inverse
    now = _total(z, w, y)
    if radius == 0:
        u = difference / r[:, None]
        hessian = np.eye(len(y)) * (w / r).sum() - (u * (w / r)[:, None]).T @ u
        newton = y + _newton_direction(hessian, descent)
        if np.isfinite(newton).all() and _total(z, w, newton) < min(now, _total(z, w, weiszfeld)):
            return np.asarray(newton)
    return np.asarray(weiszfeld) if _total(z, w, weiszfeld) < now else y
