"""The most frequent class, whatever the row."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.export.expressions import Number
from separatrix.export.families.linear import class_names, labels_of
from separatrix.export.program import Builder, ClassAnswer, label


def most_frequent(model: Any, b: Builder) -> ClassAnswer:
    """The class of the largest proportion; the proportions as probabilities and scores."""
    prior = np.asarray(model.class_prior_, dtype=float)
    names, labels = class_names(model.classes_), labels_of(model)
    p = tuple(
        b.let(f"probability {name}", Number(float(one)), stage="probabilities")
        for name, one in zip(names, prior, strict=True)
    )
    scores = p
    if len(p) == 2:
        scores = (b.let("score", Number(float(prior[1] - prior[0])), stage="scores"),)
    return ClassAnswer(labels, label(labels[int(prior.argmax())]), scores, p)
