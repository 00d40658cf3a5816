"""Boxes, balls and ellipsoids as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from separatrix.export.onnx.answers import Classes
from separatrix.export.onnx.distances import squared_distances
from separatrix.export.onnx.families.svm import standardized
from separatrix.export.onnx.graph import Value, accumulate
from separatrix.export.onnx.sources import GraphRows
from separatrix.hypotheses.enclosing import ROUNDING


def _inside(box: Any, x: Value) -> Value:
    if box.empty:
        return x.filled(0.0, 1) > 0.5
    outside = (x <= box.lower) | (x >= box.upper) if box.open else (x < box.lower) | (x > box.upper)
    found: Value = ~(outside.double().max() > 0.5)
    return found


def _box_margin(box: Any, x: Value, scale: Any) -> Value:
    """The distance to the nearest face inside, at most 1, and minus the total excess outside."""
    if box.empty:
        return x.filled(-np.inf, 1)
    inner = (x - box.lower).op("Min", box.upper - x)
    unit = np.where(scale > 0.0, scale, 1.0)[None, :]
    flat = (inner < 0.0).where(-1.0, 1.0)
    inner = x.graph.constant((scale > 0.0)[None, :]).where(inner / unit, flat)
    least = float(np.finfo(float).tiny)  # a point on a face is inside or outside, not undecided
    depth = inner.min().op("Min", 1.0).op("Max", least)
    excess = (-inner).at_least(0.0).sum()
    return _inside(box, x).where(depth, (-excess).op("Min", -least))


def box_classifier(model: Any, source: GraphRows) -> Classes:
    """Margins to one box for each class, or to unions of boxes."""
    x, scale = source.design(model), np.asarray(model.scale_, dtype=np.float64)
    groups = [one if isinstance(one, list | tuple) else [one] for one in model.boxes_]
    margins, claimed = [], []
    for boxes in groups:
        each = x.graph.concat([_box_margin(box, x, scale) for box in boxes])
        margins.append(each.max())
        marks = [_inside(box, x).double() for box in boxes]
        claimed.append(x.graph.concat(marks).max())
    rejected = None
    if model.reject:
        if getattr(model, "concept", None) is not None:
            rejected = _uncertain(model.spaces_[0], x)
        else:
            rejected = ~x.graph.concat(claimed).sum().equals(1.0)
    return _claims(model, x.graph.concat(margins), len(groups), rejected)


def _uncertain(space: Any, x: Value) -> Value:
    """Rows outside of the most specific box that some consistent box contains all the same.

    The box around the most specific one and the row then contains no negative row.
    """
    lower, upper, negatives = space.specific.lower, space.specific.upper, space.negatives
    outside = ~_inside(space.specific, x)
    if not len(negatives):
        return outside
    stored = (negatives.T[:, None, :], lower[:, None, None], upper[:, None, None])
    columns = [
        x.transpose().unsqueeze(2),
        *(x.graph.constant(np.ascontiguousarray(a)) for a in stored),
    ]

    def beyond(total: Value, at: list[Value]) -> Value:
        """Columns by which a negative row is not in the box."""
        value, row, low, high = at
        left_out = (row < low.op("Min", value)) | (row > high.op("Max", value))
        return total + left_out.double()

    left_out = accumulate(x.filled(0.0, len(negatives)), columns, beyond)
    return outside & (left_out.min() > 0.5)


def _claims(model: Any, margins: Value, hypotheses: int, rejected: Value | None) -> Classes:
    """The class with the largest margin; a rejection where claims conflict."""
    if hypotheses == 1:
        scores = margins if model.concepts_[0] == model.classes_[1] else -margins
    else:
        scores = margins.column(1) - margins.column(0) if hypotheses == 2 else margins
    two = hypotheses <= 2
    chosen = (scores > 0.0).integers() if two else scores.argmax()
    if rejected is None:
        return Classes(chosen, model.classes_, scores, decided_by=scores, by_sign=two)
    chosen = rejected.where(np.full((1, 1), len(model.classes_), dtype=np.int64), chosen)
    return Classes(chosen, model.labels_, scores, decided_by=scores, by_sign=two)


def ball_classifier(model: Any, source: GraphRows) -> Classes:
    """Radius minus distance to the center, for each class."""
    z = standardized(model, source.design(model))
    centers = model.standardizer_.transform(model.centers_)
    margins = np.asarray(model.radii_)[None, :] - squared_distances(z, centers).sqrt()
    return _enclosed(model, margins)


def ellipsoid_classifier(model: Any, source: GraphRows) -> Classes:
    """One minus the length of a row in each class's ellipsoid; off its span, minus the distance."""
    z = standardized(model, source.design(model))
    return _enclosed(model, z.graph.concat([_ellipsoid(one, z) for one in model.ellipsoids_]))


def _ellipsoid(one: Any, z: Value) -> Value:
    difference = z - one.center
    d, rank = one.basis.shape
    if not rank:
        return -_length(difference)
    along = difference @ np.ascontiguousarray(one.basis)
    inverse = linalg.solve_triangular(one.factor, np.eye(rank), trans="T").T
    length = _length(along @ np.ascontiguousarray(inverse))
    if rank == d:
        return 1.0 - length
    off = _length(difference - along @ np.ascontiguousarray(one.basis.T))
    outside = (1.0 - length).op("Min", 0.0) - off
    return (off > ROUNDING).where(outside, 1.0 - length)


def _length(x: Value) -> Value:
    return x.square().sum().sqrt()


def _enclosed(model: Any, margins: Value) -> Classes:
    rejected = None
    if model.reject:
        rejected = ~(margins >= -ROUNDING).double().sum().equals(1.0)
    return _claims(model, margins, len(model.classes_), rejected)
