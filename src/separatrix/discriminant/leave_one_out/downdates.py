"""What leaving a row out does to the mean and the scatter of its class.

    μ′ = μ − v/(n − 1),     S′ = S − β v vᵀ,     v = xᵢ − μ,  β = n/(n − 1)
    (x − μ′)ᵀ S′⁻¹ (x − μ′) = a′ + β b′² / (1 − β c),     |S′| = |S| (1 − β c)

with a′ = a + 2 b/(n − 1) + c/(n − 1)², b′ = b + c/(n − 1) and, for t = x − μ, a = tᵀS⁻¹t,
b = tᵀS⁻¹v, c = vᵀS⁻¹v. Of a class that keeps its mean a′ = a and b′ = b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.rows.block import Floats, Ints, to_array
from separatrix.rows.rows import Rows

#: Below this 1 − β c a row is the only one in its direction: without it the scatter is singular.
LEAST_LEFT = 1e-8
#: The least eigenvalue of a scatter matrix in standardized columns that is inverted here.
LEAST_EIGENVALUE = 1e-7


@dataclass(frozen=True)
class TrainingRows:
    """Dense rows, the class of each, and how many rows each class has."""

    x: Floats
    codes: Ints
    counts: Floats


def plain_rows(model: Any, X: Any, y: Any, sample_weight: Any, least: int) -> TrainingRows | None:
    """The rows of a fit; None with weights, encoded columns, or a class of fewer than ``least``."""
    weighted = sample_weight is not None and bool((np.asarray(sample_weight) != 1.0).any())
    if isinstance(X, Rows) or weighted or not model.encoding_.is_identity:
        return None
    x = np.asarray(to_array(model._design(X)), dtype=float)
    codes = np.searchsorted(model.classes_, np.asarray(y))
    counts = np.bincount(codes, minlength=len(model.classes_)).astype(float)
    return None if counts.min() < least else TrainingRows(x, codes, counts)


def whitening_of(scatter: Floats, tol: float = 0.0) -> tuple[Floats, float] | None:
    """A with A Aᵀ = S⁻¹, and ln|S|; None where S is nearly singular in standardized columns.

    ``tol`` is the standard deviation up to which a model leaves directions out.
    """
    scale = np.sqrt(np.diagonal(scatter))
    if not (scale > 0.0).all():
        return None
    values, vectors = np.linalg.eigh(scatter / np.outer(scale, scale))
    if values.min() < max(LEAST_EIGENVALUE, 10.0 * tol**2):
        return None
    volume = float(np.log(values).sum() + 2.0 * np.log(scale).sum())
    return (vectors / np.sqrt(values)) / scale[:, None], volume


def downdated(a: Floats, b: Floats, c: Floats, n: Floats | float, *, moves: bool) -> Floats:
    """(x − μ′)ᵀS′⁻¹(x − μ′), of the class that loses the row (``moves``) or of another."""
    beta, step = n / (n - 1.0), 1.0 / (n - 1.0)
    if moves:
        a, b = a + 2.0 * step * b + step**2 * c, b + step * c
    return np.asarray(a + beta * b**2 / (1.0 - beta * c))


def left(c: Floats, n: Floats | float) -> Floats:
    """1 − β c."""
    return np.asarray(1.0 - n / (n - 1.0) * c)


def softmax_in_place(scores: Floats) -> Floats:
    """Probabilities from log scores along the last axis, written over them."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores
