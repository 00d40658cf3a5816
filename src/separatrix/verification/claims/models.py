"""Which claims belong to which class of models."""

from __future__ import annotations

from collections.abc import Callable

from separatrix.verification.claims import (
    boxes,
    clusters,
    gaussian,
    hyperplanes,
    linear,
    logistic,
    svm,
)
from separatrix.verification.design import Blocks
from separatrix.verification.stored import Record
from separatrix.verification.verdict import Claim

#: Claims by class of model.
CLAIMS: dict[str, Callable[[Record, Blocks], list[Claim]]] = {
    **linear.MODELS,
    **svm.MODELS,
    **hyperplanes.MODELS,
    **logistic.MODELS,
    **gaussian.MODELS,
    **clusters.MODELS,
    **boxes.MODELS,
}


def core_of(model: Record) -> Record:
    """The model that others wrap: calibrations, costs and rejections have no certificate."""
    while isinstance(model.get("estimator_"), Record):
        model = model["estimator_"]
    return model
