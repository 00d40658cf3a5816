"""Does a distance behave like one? Looked for on a sample, with a counterexample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.distances.metric_from import distances_among_some, metric_from
from separatrix.rows.block import Floats

#: Differences below this share of the largest distance are rounding.
ROUNDING = 1e-12
#: All triples of so many points are tried.
MOST_POINTS = 400


@dataclass(frozen=True)
class MetricAxioms:
    """Which axioms hold on the sample; for each that fails, the rows that show it.

    ``zero``: d(x, x) = 0. ``positive``: d(x, y) > 0 for x ≠ y. ``symmetric``: d(x, y) = d(y, x).
    ``triangle``: d(x, z) ≤ d(x, y) + d(y, z); its counterexample is (x, y, z), y the detour.
    """

    zero: bool
    positive: bool
    symmetric: bool
    triangle: bool
    counterexamples: dict[str, tuple[int, ...]]
    distances: Floats

    @property
    def is_metric(self) -> bool:
        """All four hold on the sample; that is no proof for other points."""
        return not self.counterexamples

    def __str__(self) -> str:
        if self.is_metric:
            return f"All four axioms hold on these {len(self.distances)} points."
        d = self.distances
        said = []
        for name, rows in self.counterexamples.items():
            if name == "zero":
                said.append(f"row {rows[0]} is {d[rows[0], rows[0]]:.6g} from itself")
            elif name == "positive":
                said.append(f"rows {rows[0]} and {rows[1]} differ and are {d[rows]:.6g} apart")
            elif name == "symmetric":
                said.append(
                    f"{d[rows]:.6g} from row {rows[0]} to {rows[1]}, {d[rows[::-1]]:.6g} back"
                )
            else:
                a, b, c = rows
                said.append(
                    f"from row {a} to {c} it is {d[a, c]:.6g}, but only {d[a, b] + d[b, c]:.6g} by "
                    f"way of {b}"
                )
        return "Not a metric: " + "; ".join(said) + "."


def metric_axioms(metric: Any, sample: Any) -> MetricAxioms:
    """Try the four axioms of a metric on all pairs and triples of a sample.

    ``metric`` is a :class:`Metric`, a name or a function of two points; with "precomputed" the
    sample is a square of distances. Of more than 400 points an even selection is tried.
    """
    chosen = metric_from(metric).fitted(sample)
    x, d = distances_among_some(chosen, chosen.validate(sample), MOST_POINTS)
    slack = max(ROUNDING * float(np.abs(d).max(initial=0.0)), chosen.rounding_error(x))
    found = {
        "zero": _first(np.abs(np.diag(d)) > slack),
        "positive": _first((d <= slack) & ~_same(x)),
        "symmetric": _first(np.abs(d - d.T) > slack),
        "triangle": _shortcut(d, slack),
    }
    broken = {name: rows for name, rows in found.items() if rows is not None}
    holds = {name: name not in broken for name in found}
    return MetricAxioms(**holds, counterexamples=broken, distances=d)


def _first(fault: Any) -> tuple[int, ...] | None:
    where = np.argwhere(fault)
    return tuple(int(i) for i in where[0]) if len(where) else None


def _same(x: Any) -> Any:
    """Which points are the same one, as the metric takes them in."""
    if isinstance(x, np.ndarray):
        _, label = np.unique(x, axis=0, return_inverse=True)
        return label[:, None] == label
    return np.array([[bool(np.all(a == b)) for b in x] for a in x])


def _shortcut(d: Floats, slack: float) -> tuple[int, int, int] | None:
    """The worst detour that is shorter than the straight way."""
    worst, rows = slack, None
    for middle in range(len(d)):
        gain = d - (d[:, middle, None] + d[middle])
        i, k = np.unravel_index(int(gain.argmax()), gain.shape)
        if gain[i, k] > worst:
            worst, rows = float(gain[i, k]), (int(i), middle, int(k))
    return rows
