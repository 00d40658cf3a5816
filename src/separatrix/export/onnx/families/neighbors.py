"""Neighbors and kernel smoothers as graphs: distances to all stored rows, some rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.arrays import Floats
from separatrix.export.onnx.answers import Classes, PredictedNumbers, by_probability
from separatrix.export.onnx.distances import (
    FEW_COLUMNS,
    compared,
    pairwise_distances,
    rows_of_a_tile,
    squares_by_products,
)
from separatrix.export.onnx.families.svm import standardized
from separatrix.export.onnx.graph import Value, by_tiles
from separatrix.export.onnx.kernels import dense
from separatrix.export.onnx.refusal import GraphRefused
from separatrix.export.onnx.sources import GraphRows

#: Candidates beyond k whose distances are computed once more where products rank them.
SPARE = 16


def stored(model: Any) -> Floats:
    """The stored rows."""
    if vars(model).get("precomputed_columns_") is not None:
        raise GraphRefused("A model of precomputed distances has no rows to compare with.")
    if not hasattr(model.points_, "shape"):
        raise GraphRefused("A metric of objects compares what ONNX has no tensors for.")
    return dense(model.points_)


def query(model: Any, source: GraphRows) -> Value:
    """New rows in the form of the stored ones."""
    encoding = vars(model).get("encoding_")
    if model._skips_missing and encoding is not None and not encoding.is_identity:
        raise GraphRefused("A metric that skips missing values of a table has no export.")
    return standardized(model, source.design(model))


def _nearest(model: Any, x: Value, points: Floats, k: int) -> tuple[Value, Value]:
    """Distances and rows of the k nearest, near to far; of equally near ones the first row."""
    metric = compared(model.metric_, points)
    mapped = metric.map_rows(x)
    d, m = metric.points.shape[1], len(points)
    if metric.of_squares is None or d <= FEW_COLUMNS:
        return x.graph.smallest(metric.distances(mapped, metric.points), k)
    count = min(m, k + SPARE)
    rough = squares_by_products(mapped, metric.points)
    _, at = x.graph.smallest(rough, count)
    at, _ = x.graph.smallest(at, count)  # in order of rows, so that the first of equals is first
    near = x.graph.constant(metric.points).op("Gather", at, axis=0)
    square = (mapped.unsqueeze(1) - near).square().sum(2, keepdims=False)
    exact, position = x.graph.smallest(metric.of_squares(square), k)
    return exact, at.op("GatherElements", position, axis=1)


def _count(model: Any) -> int:
    """Rows that surely have a total weight of k."""
    w, k = model.sample_weight_, model.n_neighbors_
    if (w == 1.0).all():
        return int(min(k, len(w)))
    reached = np.flatnonzero(np.cumsum(np.sort(w)) >= k * (1 - 1e-12))
    return int(reached[0]) + 1 if len(reached) else len(w)


def _weighted(model: Any, x: Value, points: Floats) -> tuple[Value, Value, Value]:
    """Rows of the neighbors, their weights, and how many of equal weight they are."""
    k, w = float(model.n_neighbors_), np.asarray(model.sample_weight_, dtype=np.float64)
    distances, at = _nearest(model, x, points, _count(model))
    unit = bool((w == 1.0).all())
    uniform = model.weights is None or model.weights == "uniform"
    if unit and uniform:
        ones = distances.op("IsNaN").where(1.0, 1.0)
        return at, ones, ones.sum()
    copies = distances.op("IsNaN").where(1.0, 1.0)
    if not unit:
        own = x.graph.constant(w).op("Gather", at, axis=0)
        before = own.op("CumSum", np.array(1)) - own
        copies = own.op("Min", (k - before).at_least(0.0))
    distances = (copies > 0.0).where(distances, distances.column(0))
    values = distance_weights(model.weights, distances)
    weights = copies * values
    effective = weights.sum().square() / (weights * values).sum()
    return at, weights, effective


def distance_weights(weights: Any, distances: Value, near: Value | None = None) -> Value:
    """The weight of every neighbor from its distance; ``near`` marks those that count."""
    there = distances >= 0.0 if near is None else near
    if weights is None or (isinstance(weights, str) and weights == "uniform"):
        return there.double()
    if isinstance(weights, str) and weights == "distance":
        zero = distances.equals(0.0) & there
        any_zero = zero.double().max() > 0.0
        least = any_zero.where(1.0, there.where(distances, np.inf).min())
        inverse = least / zero.where(1.0, distances)
        return any_zero.where(zero.double(), there.where(inverse, 0.0))
    if isinstance(weights, str):
        h = there.where(distances, 0.0).max()
        ratio = distances / (h > 0.0).where(h, 1.0)
        return there.where((ratio.square() * -0.5).exp(), 0.0)
    if type(weights).__name__ == "Gaussian":
        return gaussian_weights(distances, float(weights.bandwidth), there)
    raise GraphRefused("Weights by a function of one's own have no export.")


def gaussian_weights(distances: Value, h: float, there: Value | None = None) -> Value:
    """exp(−d²/2h²) relative to the nearest."""
    counted = distances if there is None else there.where(distances, np.inf)
    nearest = counted.min()
    square = ((distances - nearest) / h) * ((distances + nearest) / h)
    found = distances.equals(nearest).where(1.0, (square * -0.5).exp())
    return found if there is None else there.where(found, 0.0)


def _votes(at: Value, weights: Value, codes: Any, k: int) -> Value:
    """Σ weight by class (n x K)."""
    own = at.graph.constant(np.asarray(codes, dtype=np.int64)).op("Gather", at, axis=0)
    columns = [
        own.equals(np.array(c, dtype=np.int64)).double().op("Mul", weights).sum() for c in range(k)
    ]
    return at.graph.concat(columns)


def _one_output(model: Any) -> None:
    if getattr(model, "outputs_2d_", False):
        raise GraphRefused("Several targets of classes have no export.")


def _tiled(
    x: Value, points: Floats, work: Callable[[Value], list[tuple[Value, Any]]]
) -> list[Value]:
    wide = len(points) if points.shape[1] <= FEW_COLUMNS else len(points) + 64 * points.shape[1]
    return by_tiles(x, rows_of_a_tile(wide), work)


def neighbors_classifier(model: Any, source: GraphRows) -> Classes:
    """Votes of the k nearest rows."""
    _one_output(model)
    points, k, s = stored(model), len(model.classes_), float(model.smoothing)

    def work(part: Value) -> list[tuple[Value, Any]]:
        at, weights, effective = _weighted(model, part, points)
        votes = _votes(at, weights, model.codes_, k)
        p = votes / weights.sum()
        smooth = (effective * p + s / k) / (effective + s) if s else p
        return [(votes, np.float64), (smooth, np.float64)]

    votes, p = _tiled(query(model, source), points, work)
    return Classes(votes.argmax(), model.classes_, None, p, decided_by=votes)


def neighbors_regressor(model: Any, source: GraphRows) -> PredictedNumbers:
    """The weighted mean of the k nearest rows."""
    points = stored(model)

    def work(part: Value) -> list[tuple[Value, Any]]:
        at, weights, _ = _weighted(model, part, points)
        total = weights.sum()
        own = [
            part.graph.constant(np.ascontiguousarray(y)).op("Gather", at, axis=0)
            for y in model.targets_.T
        ]
        means = [(weights * y).sum() / total for y in own]
        return [(part.graph.concat(means), np.float64)]

    mean = _tiled(query(model, source), points, work)[0]
    return PredictedNumbers(mean, flat=model.flat_ and model.targets_.shape[1] == 1)


def _within(model: Any, part: Value, points: Floats) -> Value:
    """Weights of all stored rows (n x m), zero beyond the radius."""
    distances = pairwise_distances(model.metric_, part, points)
    near = distances <= float(model.radius)
    found: Value = distance_weights(model.weights, distances, near) * model.sample_weight_[None, :]
    return found


def radius_classifier(model: Any, source: GraphRows) -> Classes:
    """Votes of all rows within the radius; a label of its own where there are none."""
    _one_output(model)
    if model.outlier_label_ is None:
        raise GraphRefused(
            "Rows without a neighbor within the radius are an error, and a graph cannot raise one: "
            "give an outlier_label."
        )
    points, k = stored(model), len(model.classes_)
    one_hot = np.eye(k)[model.codes_]
    label = model.outlier_label_[0]
    known = np.flatnonzero(model.classes_ == label)
    labels = model.classes_ if len(known) else np.append(model.classes_, label)
    alone = int(known[0]) if len(known) else k

    def work(part: Value) -> list[tuple[Value, Any]]:
        return [(_within(model, part, points) @ one_hot, np.float64)]

    votes = _tiled(query(model, source), points, work)[0]
    total = votes.sum()
    some = total > 0.0
    own = np.eye(k)[alone][None, :] if len(known) else np.zeros((1, k))
    p = some.where(votes / some.where(total, 1.0), own)
    chosen = some.where(votes.argmax(), np.full((1, 1), alone, dtype=np.int64))
    return Classes(chosen, labels, None, p, decided_by=votes)


def radius_regressor(model: Any, source: GraphRows) -> PredictedNumbers:
    """The weighted mean within the radius; NaN where there are none."""
    points = stored(model)

    def work(part: Value) -> list[tuple[Value, Any]]:
        weights = _within(model, part, points)
        total = weights.sum()
        some = total > 0.0
        mean = (weights @ model.targets_) / some.where(total, 1.0)
        return [(some.where(mean, np.nan), np.float64)]

    mean = _tiled(query(model, source), points, work)[0]
    return PredictedNumbers(mean, flat=model.flat_ and model.targets_.shape[1] == 1)


def _smoothed(model: Any, source: GraphRows, y: Floats) -> Value:
    points = stored(model)

    def work(part: Value) -> list[tuple[Value, Any]]:
        distances = pairwise_distances(model.metric_, part, points)
        weights = gaussian_weights(distances, float(model.bandwidth_))
        weights = weights * model.sample_weight_[None, :]
        return [((weights @ np.ascontiguousarray(y)) / weights.sum(), np.float64)]

    return _tiled(query(model, source), points, work)[0]


def kernel_vote(model: Any, source: GraphRows) -> Classes:
    """A vote of all rows with Gaussian weights."""
    p = _smoothed(model, source, model._one_hot_targets())
    return by_probability(p, model.classes_)


def kernel_mean(model: Any, source: GraphRows) -> PredictedNumbers:
    """The mean of all rows with Gaussian weights."""
    mean = _smoothed(model, source, model.targets_)
    return PredictedNumbers(mean, flat=model.flat_ and model.targets_.shape[1] == 1)


def nearest_exemplar(model: Any, source: GraphRows) -> Classes:
    """The class of the nearest exemplar."""
    if not hasattr(model.exemplars_, "shape"):
        raise GraphRefused("A metric of objects compares what ONNX has no tensors for.")
    d = pairwise_distances(model.metric_, query(model, source), dense(model.exemplars_))
    two = len(model.classes_) == 2
    scores = d.column(0) - d.column(1) if two else -d
    return Classes(d.argmin(), model.classes_, scores, decided_by=scores, by_sign=two)
