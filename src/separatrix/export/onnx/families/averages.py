"""Averages of several models as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.export.onnx.answers import Answer, Classes, PredictedNumbers, by_probability
from separatrix.export.onnx.refusal import GraphRefused
from separatrix.export.onnx.sources import GraphRows


def averaged(model: Any, source: GraphRows) -> Answer:
    """Σₘ aₘ ŷₘ, or the most probable class by Σₘ aₘ pₘ."""
    from separatrix.export.onnx.converters import convert

    weights = np.asarray(model.weights_, dtype=np.float64)
    found = [convert(one, source) for one in model.estimators_]
    if hasattr(model, "classes_"):
        return _classes(model, [one for one in found if isinstance(one, Classes)], weights)
    return _numbers(model, [one for one in found if isinstance(one, PredictedNumbers)], weights)


def _classes(model: Any, found: list[Classes], weights: Any) -> Classes:
    parts = []
    for one, a in zip(found, weights.tolist(), strict=True):
        if one.probabilities is None:
            raise GraphRefused("A model without probabilities takes part in an average of them.")
        parts.append(one.probabilities * a)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return by_probability(total, model.classes_)


def _numbers(model: Any, found: list[PredictedNumbers], weights: Any) -> PredictedNumbers:
    graph = found[0].mean.graph
    means = graph.concat([one.mean for one in found])
    mean = means @ weights[:, None]
    deviations = [one.deviation for one in found if one.deviation is not None]
    if type(model).__name__ != "EvidenceAveraging" or len(deviations) < len(found):
        return PredictedNumbers(mean)
    spread = graph.concat(deviations).square() + (means - mean).square()
    return PredictedNumbers(mean, deviation=(spread @ weights[:, None]).sqrt())
