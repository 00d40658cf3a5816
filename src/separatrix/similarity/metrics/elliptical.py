"""Distances whose circles are ellipses: a linear map, then the crow's flight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.similarity.metrics.base import vectors
from separatrix.similarity.metrics.vectors import Euclidean

#: Directions with less than this share of the largest spread are taken to have none.
NO_SPREAD = 1e-12


@dataclass(frozen=True, eq=False)
class Elliptical(Euclidean):
    """√((x − z)ᵀ M (x − z)) for a symmetric M without negative eigenvalues.

    With rotation R and scaling S, M = RᵀS²R. A zero eigenvalue makes points along its direction
    indistinguishable (a pseudo-metric).
    """

    M: Floats
    root: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        m = _symmetric(self.M, "M")
        # x ↦ Lᵀx with M = LLᵀ; equilibrated first, so that units do not decide what counts as zero.
        scale = np.sqrt(np.where(np.diag(m) > 0, np.diag(m), 1.0))
        values, axes = linalg.eigh(m / np.outer(scale, scale))
        if values.size and values[0] < -1e-10 * max(values[-1], 1.0):
            raise InputError(
                f"M has the negative eigenvalue {values[0]:.3g} (columns scaled to one): "
                "some squared distances would be negative."
            )
        object.__setattr__(self, "M", m)
        root = scale[:, None] * axes * np.sqrt(np.maximum(values, 0.0))
        object.__setattr__(self, "root", root)

    @property
    def is_metric(self) -> bool:
        """Unless some direction has length zero."""
        return bool(np.linalg.matrix_rank(self.root) == len(self.root))

    def mapped(self, about: Floats) -> Floats:
        """The map that turns the ellipse into a circle."""
        return _product(about, self.root)


@dataclass(frozen=True, eq=False)
class Mahalanobis(Euclidean):
    """√((x − z)ᵀ Σ⁻¹ (x − z)), Σ given, or learned from the sample (1/n).

    Directions in which the sample does not vary at all are left out: they cannot be scaled.
    """

    covariance: Floats | None = None
    root: Floats | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        if self.covariance is None:
            return
        c = _symmetric(self.covariance, "The covariance")
        scale = np.sqrt(np.where(np.diag(c) > 0, np.diag(c), 1.0))
        values, axes = linalg.eigh(c / np.outer(scale, scale))
        kept = values > NO_SPREAD * max(1.0, values[-1] if values.size else 1.0)
        object.__setattr__(self, "covariance", c)
        root = (axes / scale[:, None])[:, kept] / np.sqrt(values[kept])
        object.__setattr__(self, "root", root)

    def fitted(self, x: Any) -> Mahalanobis:
        """With the covariance of this sample, unless one was given."""
        if self.covariance is not None:
            return self
        x = vectors(x)
        about = x - x.mean(axis=0)
        return Mahalanobis(about.T @ about / len(x))

    def mapped(self, about: Floats) -> Floats:
        """Whitening."""
        if self.root is None:
            raise InputError(
                "Mahalanobis() has no covariance yet.",
                remedy="Give it one, or call Mahalanobis().fitted(X).",
            )
        return _product(about, self.root)


def _product(x: Floats, root: Floats) -> Floats:
    if x.shape[1] != len(root):
        raise InputError(
            f"The matrix is for {len(root)} columns, and the points have {x.shape[1]}."
        )
    return np.ascontiguousarray(x @ root)


def _symmetric(m: Any, name: str) -> Floats:
    m = np.asarray(m, dtype=float)
    if m.ndim != 2 or m.shape[0] != m.shape[1]:
        raise InputError(f"{name} is a square matrix, not of shape {m.shape}.")
    if not np.isfinite(m).all() or not np.allclose(m, m.T, rtol=1e-8, atol=1e-12 * np.abs(m).max()):
        raise InputError(f"{name} must be finite and symmetric.")
    return np.asarray((m + m.T) / 2)
