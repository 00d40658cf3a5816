"""Boxes, balls and ellipsoids as hypotheses."""

from __future__ import annotations

from typing import Any

import numpy as np

import separatrix as sx
from tests.registry.row import Row


def faces(model: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Lower and upper faces of the most specific boxes."""
    boxes = [space.specific for space in model.spaces_]
    return np.array([box.lower for box in boxes]), np.array([box.upper for box in boxes])


def box_errors(model: Any, lower: Any, upper: Any, x: Any, y: Any) -> float:
    """Rows of each class outside of its box, and others inside."""
    return float(
        sum(
            (((x >= low) & (x <= high)).all(axis=1) != (y == label)).sum()
            for label, low, high in zip(model.concepts_, lower, upper, strict=True)
        )
    )


def perturbed_box_errors(model: Any, lower: Any, upper: Any, x: Any, y: Any) -> float:
    """Rows of each class of which no place within δ is inside its box, and others of which all are.

    A face is a value of a row plus or minus δ, so that rounding must not decide.
    """
    delta, errors = model.perturbation_, 0
    for label, low, high in zip(model.concepts_, lower, upper, strict=True):
        slack = np.where(y[:, None] == label, delta + 1e-12, -(delta + 1e-12))
        inside = ((x >= low - slack) & (x <= high + slack)).all(axis=1)
        errors += int((inside != (y == label)).sum())
    return float(errors)


def centers(model: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Centers of balls, of standardized columns, and nothing else."""
    return model.standardizer_.transform(model.centers_), np.zeros(0)


def squared_radii(model: Any, center: Any, _: Any, x: Any, y: Any) -> float:
    """Σ R² of the balls around given centers."""
    z = model.standardizer_.transform(x)
    pairs = zip(model.classes_, center, strict=True)
    return float(sum(((z[y == label] - c) ** 2).sum(axis=1).max() for label, c in pairs))


def ellipsoids(model: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """Shapes and centers, of standardized columns."""
    inverse = model.standardizer_.inverse_scale
    shapes = inverse[:, None] * model.shapes_ * inverse
    return shapes, model.standardizer_.transform(model.centers_)


def log_volumes(model: Any, shape: Any, center: Any, x: Any, y: Any) -> float:
    """Σ ½ ln det S of ellipsoids of given shape and center, made to contain their class."""
    z, total = model.standardizer_.transform(x), 0.0
    for label, s, c in zip(model.classes_, (shape + shape.swapaxes(1, 2)) / 2, center, strict=True):
        if np.linalg.eigvalsh(s)[0] <= 0:
            return np.inf
        difference = z[y == label] - c
        g = np.einsum("ij,ij->i", difference, np.linalg.solve(s, difference.T).T)
        total += 0.5 * np.linalg.slogdet(s * g.max())[1]
    return float(total)


ROWS: list[Row] = [
    Row(
        "BoxClassifier",
        lambda: sx.BoxClassifier(max_nodes=1000),
        "classification",
        objective=box_errors,
        parameters=faces,
        classes=(2, 3),
    ),
    Row(
        "BoxClassifier of perturbed rows",
        lambda: sx.BoxClassifier(max_nodes=1000, perturbation=0.2),
        "classification",
        unit_free=False,
        objective=perturbed_box_errors,
        parameters=faces,
        classes=(2, 3),
    ),
    Row("UnionOfBoxes", lambda: sx.UnionOfBoxes(2, max_nodes=100), "classification"),
    Row(
        "UnionOfBoxes by annealing",
        lambda: sx.UnionOfBoxes(2, max_nodes=100, solver="annealing", max_evaluations=300),
        "classification",
    ),
    Row(
        "BallClassifier",
        lambda: sx.BallClassifier(),
        "classification",
        objective=squared_radii,
        parameters=centers,
        classes=(2, 3),
    ),
    Row(
        "EllipsoidClassifier",
        lambda: sx.EllipsoidClassifier(),
        "classification",
        objective=log_volumes,
        parameters=ellipsoids,
        classes=(2, 3),
    ),
]
