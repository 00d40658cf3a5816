"""Distances between new rows and stored points, as the metrics of ``separatrix.distances``.

Few columns are compared one at a time: differences do not cancel, and no
more than one number for each pair is in memory. Many columns are compared by products of centered
rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.formula.values import NoFormula, Value


def by_coordinates(x: Value, points: Floats, step: Callable[[Value, Value, Value], Value]) -> Value:
    """``total = step(total, xⱼ, zⱼ)`` over the columns j, from zero, for all pairs (n x m)."""
    start = x.fill(0.0, len(points))
    return x.over_columns(start, [points], lambda total, each: step(total, each[0], each[1]))


def by_differences(points: Floats) -> bool:
    """Whether distances to so few points, or of so few columns, cost little without products."""
    return points.shape[1] <= 16 or len(points) <= 256


def squared_distances(x: Value, points: Floats) -> Value:
    """Σ (x − z)² of all pairs."""
    if by_differences(points):
        return by_coordinates(x, points, lambda s, a, b: s + (a - b).square())
    return squares_by_products(x, points)


def squares_by_products(x: Value, points: Floats) -> Value:
    """‖x‖² + ‖z‖² − 2 x·z of rows centered at the mean of the points, never below zero."""
    center = points.mean(axis=0)
    z = points - center
    u = x - center
    square = u.square().sum() + (z * z).sum(axis=1)[None, :]
    found: Value = (square - (u * 2.0) @ np.ascontiguousarray(z.T)).at_least(0.0)
    return found


@dataclass(frozen=True)
class MetricFormula:
    """A metric over values: rows mapped, points mapped, and a function of both (n x m)."""

    map_rows: Callable[[Value], Value]
    points: Floats
    distances: Callable[[Value, Floats], Value]
    #: Whether distances are a function of squares of differences of the mapped rows.
    of_squares: Callable[[Value], Value] | None = None


def metric_formula(metric: Any, points: Floats) -> MetricFormula:
    """How a metric compares new rows with these points."""
    name = type(metric).__name__
    points = np.asarray(points, dtype=np.float64)
    if name in ("Elliptical", "Mahalanobis", "StandardizedEuclidean"):
        return _linear_map(metric, points)
    if name == "Minkowski":
        return _minkowski(metric, points)
    if name in ("Euclidean", "SquaredEuclidean"):
        return _euclidean(_same, points, squared=name == "SquaredEuclidean")
    if name in ("Manhattan", "Chebyshev"):
        return MetricFormula(_same, points, _PLAIN[name])
    if name in ("Cosine", "Correlation"):
        return _directions(metric, points, centered=name == "Correlation")
    if name == "Canberra":
        return MetricFormula(_same, points, _canberra)
    if name == "BrayCurtis":
        return MetricFormula(_same, points, _bray_curtis)
    if name in ("BooleanDistance", "JaccardDistance"):
        return _truths(metric.kind, points)
    if name == "Hamming":
        return _hamming(points, relative=bool(metric.relative))
    if name == "NanEuclidean":
        return MetricFormula(_same, points, _known_columns)
    raise NoFormula(f"The metric {name} has no formula in ONNX operators of double precision.")


def pairwise_distances(metric: Any, x: Value, points: Floats) -> Value:
    """Distances of new rows to all points (n x m)."""
    found = metric_formula(metric, points)
    return found.distances(found.map_rows(x), found.points)


def _same(x: Value) -> Value:
    return x


def _euclidean(
    map_rows: Callable[[Value], Value], points: Floats, *, squared: bool
) -> MetricFormula:
    finish = _same if squared else Value.sqrt
    return MetricFormula(
        map_rows, points, lambda x, z: finish(squared_distances(x, z)), of_squares=finish
    )


def _linear_map(metric: Any, points: Floats) -> MetricFormula:
    """Rows and points mapped by the matrix after which the distance is Euclidean."""
    center = points.mean(axis=0) if len(points) else np.zeros(points.shape[1])
    matrix = metric.transform(np.eye(points.shape[1]))
    mapped = metric.transform(points - center)
    return _euclidean(lambda x: (x - center) @ matrix, mapped, squared=False)


def _minkowski(metric: Any, points: Floats) -> MetricFormula:
    p = float(metric.p)
    ones = np.ones((1, points.shape[1]))
    scale = metric.scaled(ones)

    def scaled(x: Value) -> Value:
        return x if metric.w is None else x * scale

    mapped = metric.scaled(points)
    if p == 2.0:
        return _euclidean(scaled, mapped, squared=False)
    if p in (1.0, np.inf):
        plain = "Manhattan" if p == 1.0 else "Chebyshev"
        return MetricFormula(scaled, mapped, _PLAIN[plain])

    def powers(x: Value, z: Floats) -> Value:
        largest = _chebyshev(x, z)
        unit = (largest > 0.0).where(largest, 1.0)
        total = by_coordinates(x, z, lambda s, a, b: s + ((a - b).abs() / unit) ** p)
        return largest * total ** (1.0 / p)

    return MetricFormula(scaled, mapped, powers)


def manhattan(x: Value, z: Floats) -> Value:
    """Σ |x − z| of all pairs (n x m)."""
    return by_coordinates(x, z, lambda s, a, b: s + (a - b).abs())


def _chebyshev(x: Value, z: Floats) -> Value:
    return by_coordinates(x, z, lambda s, a, b: s.at_least((a - b).abs()))


_PLAIN = {"Manhattan": manhattan, "Chebyshev": _chebyshev}


def _canberra(x: Value, z: Floats) -> Value:
    def step(total: Value, a: Value, b: Value) -> Value:
        size = a.abs() + b.abs()
        return total + (a - b).abs() / (size > 0.0).where(size, 1.0)

    return by_coordinates(x, z, step)


def _bray_curtis(x: Value, z: Floats) -> Value:
    size = by_coordinates(x, z, lambda s, a, b: s + (a + b).abs())
    return manhattan(x, z) / (size > 0.0).where(size, 1.0)


def _directions(metric: Any, points: Floats, *, centered: bool) -> MetricFormula:
    """½ of the squared distance of rows of length one; rows of zeros are at distance one."""

    def unit(x: Value) -> Value:
        largest = x.abs().max()
        x = x / (largest > 0.0).where(largest, 1.0)
        if centered:
            mean = x.sum() / float(points.shape[1])
            x = x.max().equals(x.min()).where(0.0, x - mean)
            largest = x.abs().max()
            x = x / (largest > 0.0).where(largest, 1.0)
        length = x.square().sum().sqrt()
        return x / (length > 0.0).where(length, 1.0)

    def distances(x: Value, z: Floats) -> Value:
        half = squared_distances(x, z) * 0.5
        row = x.abs().max().equals(0.0)
        zero: Any = ~np.asarray(z.any(axis=1))
        point = x.constant(zero[None, :])
        return (row & point).where(0.0, (row | point).where(1.0, half))

    return MetricFormula(unit, metric.validate(points), distances)


def _truths(kind: str, points: Floats) -> MetricFormula:
    """Ratios of counts of columns that are true in both rows, in one, or in neither."""
    from separatrix.distances.metrics import _RATIOS

    z = (points != 0.0).astype(np.float64)
    d = float(points.shape[1])

    def distances(x: Value, z: Floats) -> Value:
        both = x @ np.ascontiguousarray(z.T)
        first, second = x.sum() - both, z.sum(axis=1)[None, :] - both
        neither = d - both - first - second
        ratio: Any = _RATIOS[kind]
        above, below = ratio(both, first, second, neither)
        found: Value = above / (below > 0.0).where(below, 1.0)
        return found

    return MetricFormula(lambda x: (~x.equals(0.0)).double(), z, distances)


def _hamming(points: Floats, *, relative: bool) -> MetricFormula:
    unit = float(max(1, points.shape[1])) if relative else 1.0

    def distances(x: Value, z: Floats) -> Value:
        return by_coordinates(x, z, lambda s, a, b: s + (~a.equals(b)).double()) / unit

    return MetricFormula(_same, points, distances)


def _known_columns(x: Value, z: Floats) -> Value:
    """√(d/known · Σ (x − z)²) over the columns that both rows have; infinite without any."""

    def square(total: Value, a: Value, b: Value) -> Value:
        difference = a - b
        return total + difference.is_missing().where(0.0, difference.square())

    def known(total: Value, a: Value, b: Value) -> Value:
        return total + (~(a - b).is_missing()).double()

    count = by_coordinates(x, z, known)
    mean = by_coordinates(x, z, square) / count.at_least(1.0)
    return (count > 0.0).where((mean * float(z.shape[1])).sqrt(), np.inf)
