"""Normal class densities: linear, diagonal and quadratic discriminant functions, in factored form.

gₖ(x) = oₖ + (x − c)·wₖ     or     oₖ − ½ ‖(x − c) Aₖ − mₖ‖²
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.export.expressions import Defined, Expression, Number, ProductOf
from separatrix.export.families.linear import class_names, labels_of
from separatrix.export.inputs import inputs_of
from separatrix.export.program import (
    Builder,
    ClassAnswer,
    affine,
    design,
    first_largest,
    label,
    minus,
    shifted,
    softmax,
    total,
)
from separatrix.geometry.class_scores import (
    ClassScores,
    DiagonalScores,
    LinearScores,
    ProjectedScores,
    QuadraticScores,
)


def gaussian_classifier(model: Any, b: Builder) -> ClassAnswer:
    """Bayes' rule with normal class densities."""
    x = design(b, inputs_of(model))
    names = class_names(model.classes_)
    found = _scores(b, model.scores_, x, names)
    joint = tuple(
        b.let(f"score {name}", one, stage="scores") for name, one in zip(names, found, strict=True)
    )
    p = softmax(b, names, joint)
    labels = labels_of(model)
    choice = first_largest(b, joint, [label(one) for one in labels])
    scores = joint
    if len(joint) == 2:
        scores = (b.let("log odds", minus(joint[1], joint[0]), stage="log odds"),)
    return ClassAnswer(labels, choice, scores, p)


def _scores(
    b: Builder, scores: ClassScores, x: Sequence[Defined], names: Sequence[str]
) -> list[Expression]:
    if isinstance(scores, ProjectedScores):
        centered = _centered(b, x, scores.center)
        projected = [
            b.let(f"projection {i + 1}", affine(column, centered), stage="projections")
            for i, column in enumerate(scores.projection.T)
        ]
        return _scores(b, scores.inner, projected, names)
    if isinstance(scores, LinearScores):
        away = [shifted(v, float(c)) for v, c in zip(x, np.ravel(scores.center), strict=True)]
        return [affine(w, away, o) for w, o in zip(scores.coef, scores.offset, strict=True)]
    if isinstance(scores, DiagonalScores):
        return [_diagonal(scores, k, x) for k in range(len(names))]
    return [_quadratic(b, scores, k, x, name) for k, name in enumerate(names)]


def _diagonal(scores: DiagonalScores, k: int, x: Sequence[Defined]) -> Expression:
    """oₖ − ½ Σ ((x − μ) a)²."""
    parts: list[Expression] = [Number(float(scores.offset[k]))]
    for value, mean, scale in zip(x, scores.means[k], scores.scale[k], strict=True):
        if scale != 0.0:
            away = shifted(value, float(mean))
            parts.append(ProductOf((Number(-0.5 * float(scale) ** 2), away, away)))
    return total(parts)


def _quadratic(
    b: Builder, scores: QuadraticScores, k: int, x: Sequence[Defined], name: str
) -> Expression:
    """oₖ − ½ ‖(x − c) A − m‖²."""
    centered = _centered(b, x, scores.center)
    parts: list[Expression] = [Number(float(scores.offset[k]))]
    for i, (column, mean) in enumerate(zip(scores.maps[k].T, scores.means[k], strict=True)):
        if not column.any():
            parts.append(Number(-0.5 * float(mean) ** 2))
            continue
        z = b.let(f"{name} axis {i + 1}", affine(column, centered, -float(mean)), stage="axes")
        parts.append(ProductOf((Number(-0.5), z, z)))
    return total(parts)


def _centered(b: Builder, x: Sequence[Defined], center: Any) -> list[Defined]:
    """x − c, each under a name of its own."""
    return [
        value
        if c == 0.0
        else b.let(f"{value.name} centered", shifted(value, float(c)), stage="centered")
        for value, c in zip(x, np.ravel(center), strict=True)
    ]
