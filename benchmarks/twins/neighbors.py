"""Neighbors: fit and predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.neighbors

from twins.entry import DENSE, Entry, fit_predict

neighbors = sklearn.neighbors


def nearest(model: Any, x: Any, _: Any) -> Any:
    model.fit(x).kneighbors(x[:2_000] * 1.001)
    return model


def transform(model: Any, x: Any, _: Any) -> Any:
    model.fit(x).transform(x[:2_000] * 1.001)
    return model


def a_radius(x: Any, _: Any) -> dict[str, Any]:
    """A radius about some of the rows, with a part of the others in it."""
    rows = x[:200]
    squares = rows.multiply(rows).sum(axis=1) if hasattr(rows, "multiply") else (rows**2).sum(1)
    return {"radius": float(np.sqrt(1.5 * np.median(squares)))}


ENTRIES = (
    Entry(
        "KNeighborsClassifier", neighbors.KNeighborsClassifier, {},
        target="classes", work=fit_predict,
    ),
    Entry("KNeighborsRegressor", neighbors.KNeighborsRegressor, {}, work=fit_predict),
    Entry(
        "RadiusNeighborsClassifier", neighbors.RadiusNeighborsClassifier, a_radius,
        shapes=("tiny", "middle", "square", "wide"), target="classes", work=fit_predict,
    ),
    Entry(
        "RadiusNeighborsRegressor", neighbors.RadiusNeighborsRegressor, a_radius,
        shapes=("tiny", "middle", "square", "wide"), work=fit_predict,
    ),
    Entry("NearestNeighbors", neighbors.NearestNeighbors, {}, target="none", work=nearest),
    Entry(
        "KNeighborsTransformer", neighbors.KNeighborsTransformer, {}, target="none", work=transform,
        shapes=DENSE,
    ),
)  # fmt: skip
