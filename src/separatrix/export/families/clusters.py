"""K-means: the nearest center."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.export.expressions import (
    Branch,
    Case,
    Compare,
    Defined,
    Number,
    ProductOf,
    Smallest,
    Sqrt,
)
from separatrix.export.inputs import inputs_of
from separatrix.export.program import Builder, ClusterAnswer, design, shifted, times, total


def kmeans(model: Any, b: Builder) -> ClusterAnswer:
    """argmin over k of ‖z − cₖ‖², z being standardized where the model does so."""
    x: list[Defined] = list(design(b, inputs_of(model)))
    centers = np.asarray(model.cluster_centers_, dtype=float)
    standardizer = model.standardizer_
    if standardizer is not None:
        centers = (centers - standardizer.mean) * standardizer.inverse_scale
        x = [
            b.let(
                f"{v.name} standardized",
                times(float(s), shifted(v, float(m))),
                stage="standardized",
            )
            for v, m, s in zip(x, standardizer.mean, standardizer.inverse_scale, strict=True)
        ]
    squares = []
    for k, center in enumerate(centers):
        away = [shifted(value, float(c)) for value, c in zip(x, center, strict=True)]
        square = total([ProductOf((one, one)) for one in away])
        squares.append(b.let(f"square distance {k}", square, stage="distances"))
    nearest = b.let("nearest", Smallest(tuple(squares)), stage="nearest")
    branches = tuple(
        Branch(Compare(square, "=", nearest), Number(k)) for k, square in enumerate(squares[:-1])
    )
    last = Number(len(squares) - 1)
    return ClusterAnswer(Case(branches, last) if branches else last, Sqrt(nearest))
