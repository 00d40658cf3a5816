"""Rows of numbers made up to check a graph: near the training rows that a model remembers.

A model file holds no training rows. Means, spreads, centers and support vectors that it does hold
say where they were; rows are drawn around them, some far out, and some stored rows are taken as
they are. The seed is fixed: the same model gives the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.rows.block import Floats
from separatrix.rows.schema import Kind

#: Rows that are made up, and how many of them are stored ones where there are any.
ROWS, STORED = 200, 40


def parts_of(model: Any) -> Iterator[Any]:
    """A model, and the models within it."""
    yield model
    inside = [getattr(model, "estimator_", None), *(getattr(model, "estimators_", None) or ())]
    inside += [step for _, step in getattr(model, "steps", ())]
    for one in inside:
        if one is not None and not isinstance(one, str):
            yield from parts_of(one)


def sample_matrix(model: Any, n: int = ROWS) -> Floats:
    """Rows (n x d) of numbers for a model that reads a matrix."""
    rng = np.random.default_rng(0)
    d = int(model.n_features_in_)
    center, scale = _place(model, d)
    x = center + scale * _spread(rng, n, d)
    stored = _stored_rows(model, d)
    if stored is not None and len(stored):
        some = stored[rng.integers(0, len(stored), min(STORED, n // 4))]
        x[: len(some)] = some
    for part in parts_of(model):
        if getattr(part, "_counts_only", False):
            return np.floor(np.abs(x))
        if hasattr(part, "density_"):
            _draw_codes(rng, x, part.schema_.columns)
    return x


def _spread(rng: np.random.Generator, n: int, d: int) -> Floats:
    """Normal numbers, a tenth of the rows three times as far out."""
    z = rng.normal(size=(n, d))
    z[-(n // 10) :] *= 3.0
    return z


def _draw_codes(rng: np.random.Generator, x: Floats, columns: Any) -> None:
    """Codes of levels, and truth values, in place of numbers."""
    for j, column in enumerate(columns[: x.shape[1]]):
        if column.kind is Kind.BOOLEAN:
            x[:, j] = rng.integers(0, 2, len(x))
        elif column.kind is Kind.DISCRETE and column.levels:
            x[:, j] = rng.choice([float(level) for level in column.levels], len(x))


def _place(model: Any, d: int) -> tuple[Floats, Floats]:
    """Where the training rows were, column by column of the design, and how far they spread."""
    for part in parts_of(model):
        for found in _hints(part):
            center, scale = (np.asarray(one, dtype=np.float64) for one in found)
            if center.shape == scale.shape == (d,) and np.isfinite(center).all():
                usable = np.isfinite(scale) & (scale > 0.0)
                return center, np.where(usable, scale, np.maximum(np.abs(center), 1.0) * 0.1)
    stored = _stored_rows(model, d)
    if stored is not None and len(stored) > 1:
        return stored.mean(axis=0), np.where(np.ptp(stored, axis=0) > 0, stored.std(axis=0), 0.1)
    return np.zeros(d), np.ones(d)


def _hints(part: Any) -> Iterator[tuple[Any, Any]]:
    """Means and spreads that a model has stored, the surest first."""
    moments = getattr(part, "moments_", None)
    if moments is not None:
        yield moments.x_mean, np.sqrt(np.diag(moments.xx) / max(moments.weight, 1e-300))
    classes = getattr(part, "class_moments_", None)
    if classes is not None:
        yield classes.mean.mean(axis=0), classes.mean.std(axis=0) + _within(classes)
    standardizer = getattr(part, "standardizer_", None)
    if standardizer is not None:
        yield standardizer.mean, standardizer.scale
    density = getattr(part, "density_", None)
    if density is not None and len(density.mean):
        spread = np.where(np.isinf(density.variance), 1.0, density.variance).mean(axis=0)
        yield density.mean.mean(axis=0), np.sqrt(spread)
    if hasattr(part, "means_"):
        yield np.mean(part.means_, axis=0), np.std(part.means_, axis=0)
    if hasattr(part, "mean_") and hasattr(part, "scale_"):
        yield part.mean_, part.scale_
    coordinates = getattr(getattr(part, "posterior_", None), "coordinates", None)
    if coordinates is not None:
        yield coordinates.center, coordinates.scale
    boxes = [box for one in getattr(part, "boxes_", ()) for box in _flat(one) if not box.empty]
    if boxes:
        lower, upper = np.array([b.lower for b in boxes]), np.array([b.upper for b in boxes])
        ends = np.concatenate([lower, upper])
        ends = np.where(np.isfinite(ends), ends, 0.0)
        yield ends.mean(axis=0), ends.std(axis=0)
    coef = getattr(part, "coef_", None)
    if coef is not None and getattr(part, "encoding_", None) is not None:
        steep = np.abs(np.atleast_2d(coef.toarray() if sparse.issparse(coef) else coef)).max(axis=0)
        unit = 1.0 / np.where(steep > 1e-100, steep, 1.0)
        yield [column.placeholder for column in part.encoding_.schema.columns], unit


def _flat(one: Any) -> Any:
    return one if isinstance(one, list | tuple) else [one]


def _within(classes: Any) -> Floats:
    """Standard deviations within classes, by column."""
    scatter, total = np.asarray(classes.scatter), max(float(classes.weight.sum()), 1e-300)
    if classes.structure == "diagonal":
        return np.asarray(np.sqrt(scatter.sum(axis=0) / total))
    pooled = scatter if classes.structure == "pooled" else scatter.sum(axis=0)
    return np.sqrt(np.diag(pooled) / total)


def _stored_rows(model: Any, d: int) -> Floats | None:
    """Training rows that a model stores, in the units of its design."""
    for part in parts_of(model):
        for rows in _row_candidates(part):
            if getattr(rows, "ndim", 0) != 2 or rows.shape[1] != d or not rows.shape[0]:
                continue
            found = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
            standardizer = getattr(part, "standardizer_", None)
            found = found if standardizer is None else standardizer.inverse_transform(found)
            return found[np.isfinite(found).all(axis=1)]
    return None


def _row_candidates(part: Any) -> Iterator[Any]:
    for name in ("points_", "X_train_", "X_fit_", "exemplars_", "cluster_centers_"):
        yield getattr(part, name, None)
    for one in (*getattr(part, "expansions_", ()), getattr(part, "expansion_", None)):
        yield getattr(one, "centers", None)
    for one in getattr(part, "binaries_", ()):
        yield getattr(one, "x", None)
        yield getattr(one, "points", None)
