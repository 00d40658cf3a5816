"""Averages of several models as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.export.onnx.answers import Answer, Classes, Numbers, by_probability
from separatrix.export.onnx.refusal import Refused
from separatrix.export.onnx.sources import Source


def averaged(model: Any, source: Source) -> Answer:
    """Σₘ aₘ ŷₘ, or the most probable class by Σₘ aₘ pₘ."""
    from separatrix.export.onnx.converters import convert

    weights = np.asarray(model.weights_, dtype=np.float64)
    found = [convert(one, source) for one in model.estimators_]
    if hasattr(model, "classes_"):
        return _classes(model, [one for one in found if isinstance(one, Classes)], weights)
    return _numbers(model, [one for one in found if isinstance(one, Numbers)], weights)


def _classes(model: Any, found: list[Classes], weights: Any) -> Classes:
    parts = []
    for one, a in zip(found, weights.tolist(), strict=True):
        if one.probabilities is None:
            raise Refused("A model without probabilities takes part in an average of them.")
        parts.append(one.probabilities * a)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return by_probability(total, model.classes_)


def _numbers(model: Any, found: list[Numbers], weights: Any) -> Numbers:
    graph = found[0].mean.graph
    means = graph.concat([one.mean for one in found])
    mean = means @ weights[:, None]
    deviations = [one.deviation for one in found if one.deviation is not None]
    if type(model).__name__ != "EvidenceAveraging" or len(deviations) < len(found):
        return Numbers(mean)
    spread = graph.concat(deviations).square() + (means - mean).square()
    return Numbers(mean, deviation=(spread @ weights[:, None]).sqrt())
