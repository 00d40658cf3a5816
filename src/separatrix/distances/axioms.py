"""The axioms of a metric, tested on a sample: each holds there, or a counterexample is named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.distances.graphs import require_reachable
from separatrix.distances.names import metric_from, sample_distances
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.rows.schema import n_items


@dataclass(frozen=True, repr=False)
class MetricAxioms(Shown):
    """Which axioms hold on the sample, with the rows of a counterexample for each that fails.

    ``finite``: d(x, y) is a finite number. ``zero``: d(x, x) = 0. ``positive``: d(x, y) > 0 for
    x ≠ y. ``symmetric``: d(x, y) = d(y, x). ``triangle``: d(x, z) ≤ d(x, y) + d(y, z), with the
    counterexample (x, y, z). An axiom that a distance is not finite for does not hold.
    """

    finite: bool
    zero: bool
    positive: bool
    symmetric: bool
    triangle: bool
    counterexamples: dict[str, tuple[int, ...]]
    distances: Floats

    @property
    def is_metric(self) -> bool:
        """Whether no counterexample was found; that is not proof for other points."""
        return not self.counterexamples

    @property
    def kind(self) -> str:
        """What the distance is on the sample: "metric", "pseudo-metric", "semi-metric" or "none".

        A pseudo-metric lacks only that different points are apart: it is a metric of the classes of
        points at distance zero. A semi-metric lacks only the triangle inequality.
        """
        lacking = set(self.counterexamples)
        names = {"positive": "pseudo-metric", "triangle": "semi-metric"}
        if not lacking:
            return "metric"
        return names.get(lacking.pop(), "none") if len(lacking) == 1 else "none"

    def __str__(self) -> str:
        if self.is_metric:
            return f"All four axioms hold on these {len(self.distances)} points."
        reasons = [self._reason(name, rows) for name, rows in self.counterexamples.items()]
        what = "Not a metric" if self.kind == "none" else f"Not a metric but a {self.kind}"
        text = f"{what}: " + "; ".join(reasons[:1] if not self.finite else reasons) + "."
        if self.kind == "pseudo-metric":
            text += (
                " It is a metric of the quotient by distance 0, whose points are classes of these."
            )
        return text

    def _reason(self, axiom: str, rows: tuple[int, ...]) -> str:
        d = self.distances
        if axiom == "finite":
            return f"the distance from row {rows[0]} to row {rows[1]} is {d[rows]}"
        if axiom == "zero":
            return f"row {rows[0]} is {d[rows[0], rows[0]]:.6g} from itself"
        if axiom == "positive":
            return f"rows {rows[0]} and {rows[1]} differ and are {d[rows]:.6g} apart"
        if axiom == "symmetric":
            return f"{d[rows]:.6g} from row {rows[0]} to {rows[1]}, {d[rows[::-1]]:.6g} back"
        a, b, c = rows
        return (
            f"from row {a} to {c} it is {d[a, c]:.6g}, but only {d[a, b] + d[b, c]:.6g} by way "
            f"of {b}"
        )


def metric_axioms(metric: Any, sample: Any) -> MetricAxioms:
    """Test the axioms of a metric on all pairs and triples of a sample.

        d(x, x) = 0,   d(x, y) > 0 for x ≠ y,   d(x, y) = d(y, x),   d(x, z) ≤ d(x, y) + d(y, z)

    A distance that is not finite fails every axiom that it occurs in.

    Parameters
    ----------
    metric : str, Metric or callable
        The distance. With "precomputed" the sample is a square matrix of distances, or these in
        condensed form.
    sample : array-like or list
        The points. Of more than 400, as many evenly spaced ones are tested.

    Returns
    -------
    MetricAxioms
        ``finite``, ``zero``, ``positive``, ``symmetric`` and ``triangle`` (bool), ``is_metric``,
        ``kind`` ("metric", "pseudo-metric", "semi-metric" or "none"),
        the rows of ``counterexamples`` by axiom, and the ``distances`` of the sample.

    See Also
    --------
    Minkowski : violates the triangle inequality for p < 1.
    distance_concentration : whether distances discriminate between points.

    Examples
    --------
    >>> import separatrix as sx
    >>> print(sx.metric_axioms(sx.Minkowski(0.5), [[0, 0], [0, 1], [1, 1]]))
    Not a metric but a semi-metric: from row 0 to 2 it is 4, but only 2 by way of 1.
    """
    fitted = metric_from(metric).fitted(sample)
    # All triples of this many points are tested.
    x, d = sample_distances(fitted, fitted.validate(sample), 400)
    invalid = ~np.isfinite(d)
    valid = np.where(invalid, 0.0, d)
    # Differences below this fraction of the largest distance are rounding.
    tolerance = max(1e-12 * float(np.abs(valid).max(initial=0.0)), fitted.rounding_error(x))
    violations = {
        "finite": _first(invalid),
        "zero": _first(np.diag(invalid | (np.abs(valid) > tolerance))),
        "positive": _first((invalid | (valid <= tolerance)) & ~_equal_points(x)),
        "symmetric": _first(invalid | invalid.T | (np.abs(valid - valid.T) > tolerance)),
        "triangle": _violated_triangle(d, tolerance),
    }
    violated = {name: rows for name, rows in violations.items() if rows is not None}
    holds = {name: name not in violated for name in violations}
    return MetricAxioms(**holds, counterexamples=violated, distances=d)


def _first(violated: NDArray[np.bool_]) -> tuple[int, ...] | None:
    where = np.argwhere(violated)
    return tuple(int(i) for i in where[0]) if len(where) else None


def _equal_points(x: Any) -> NDArray[np.bool_]:
    """Which pairs are the same point, as the metric reads them."""
    if isinstance(x, np.ndarray):
        _, label = np.unique(x, axis=0, return_inverse=True)
        return np.asarray(label[:, None] == label)
    return np.array([[bool(np.all(a == b)) for b in x] for a in x])


def _violated_triangle(d: Floats, tolerance: float) -> tuple[int, int, int] | None:
    """The triple that violates the triangle inequality most; one that is not finite before all."""
    pair = _first(~np.isfinite(d))
    if pair is not None:
        return pair[0], pair[1], pair[1]
    worst, rows = tolerance, None
    for middle in range(len(d)):
        excess = d - (d[:, middle, None] + d[middle])
        i, k = np.unravel_index(int(excess.argmax()), excess.shape)
        if excess[i, k] > worst:
            worst, rows = float(excess[i, k]), (int(i), middle, int(k))
    return rows


# -------------------------------------------------------------------------------------------------
# Concentration of distances: in many dimensions all points may be about equally far apart.


#: Points of the sample.
MAX_SAMPLE = 500


@dataclass(frozen=True, repr=False)
class DistanceConcentration(Shown):
    """Distances between all pairs of a sample, and how much they vary.

    ``spread`` is their standard deviation over their mean, ``nearest`` the median distance to the
    nearest neighbor over the mean distance. Clusters and low-dimensional surfaces have a large
    spread and near neighbors; noise in many columns has neither.
    """

    distances: Floats
    spread: float
    nearest: float

    @property
    def concentrated(self) -> bool:
        """Whether the nearest neighbor is hardly nearer than the average point."""
        # Distances are concentrated if their coefficient of variation is below the first, and the
        # median distance to the nearest neighbor is above the second, as a fraction of the mean
        # distance.
        return self.spread < 0.1 and self.nearest > 0.7

    def __str__(self) -> str:
        figures = (
            f"The standard deviation of the distances is {self.spread:.0%} of their mean, and the "
            f"nearest neighbor is at {self.nearest:.0%} of it"
        )
        if self.concentrated:
            return f"{figures}: all points are about equally far apart."
        return f"{figures}: distances discriminate between points."


def distance_concentration(X: Any, metric: Any = "euclidean") -> DistanceConcentration:
    """Measure whether the distances between rows are concentrated around their mean.

        spread = std(d) / mean(d)
        nearest = median distance to the nearest neighbor / mean(d)

    Parameters
    ----------
    X : array-like or list
        The points. Of more than 500, as many evenly spaced ones are measured.
    metric : str, Metric or callable, default="euclidean"
        The distance.

    Returns
    -------
    DistanceConcentration
        ``spread``, ``nearest``, ``concentrated`` (bool), and the ``distances`` of all pairs.

    See Also
    --------
    metric_axioms : whether a distance is a metric.
    KNeighborsClassifier : warns of concentrated distances.

    References
    ----------
    K. Beyer et al., When is "nearest neighbor" meaningful?, 1999.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> sx.distance_concentration(rng.normal(size=(200, 500))).concentrated
    True
    >>> sx.distance_concentration(rng.normal(size=(200, 2))).concentrated
    False
    """
    fitted = metric_from(metric).fitted(X)
    x = fitted.validate(X)
    n = n_items(x)
    if n < 3:
        raise InputError(f"{n} points have too few distances.", remedy="Give at least 3 points.")
    require_reachable(fitted, x)
    _, square = sample_distances(fitted, x, MAX_SAMPLE)
    pairs = square[np.triu_indices(len(square), 1)]
    np.fill_diagonal(square, np.inf)
    mean = float(pairs.mean()) or 1.0
    return DistanceConcentration(
        pairs, float((pairs / mean).std()), float(np.median(square.min(axis=1))) / mean
    )
