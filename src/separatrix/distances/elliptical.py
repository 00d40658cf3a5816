"""Distances whose circles are ellipses: a linear map, then the crow's flight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.distances.base import vectors
from separatrix.distances.vectors import Euclidean
from separatrix.messages import InputError
from separatrix.rows.block import Floats, unit_weights

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
        scale, values, axes = _equilibrated(m)  # x ↦ Lᵀx with M = LLᵀ
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
        _, values, _ = _equilibrated(self.M)
        return bool((values > NO_SPREAD).all())

    def transform(self, about: Floats) -> Floats:
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
        scale, values, axes = _equilibrated(c)
        kept = values > NO_SPREAD * max(1.0, values[-1] if values.size else 1.0)
        object.__setattr__(self, "covariance", c)
        root = (axes / scale[:, None])[:, kept] / np.sqrt(values[kept])
        object.__setattr__(self, "root", root)

    @property
    def is_metric(self) -> bool:
        """Unless some direction was left out."""
        return self.root is None or self.root.shape[0] == self.root.shape[1]

    def fitted(self, x: Any, w: Floats | None = None) -> Mahalanobis:
        """With the covariance of this sample, unless one was given."""
        if self.covariance is not None:
            return self
        x = vectors(x)
        w = unit_weights(w, len(x))
        about = x - w @ x / w.sum()
        about[:, np.ptp(x[w > 0], axis=0) == 0] = 0.0  # a mean of equal numbers may round
        return Mahalanobis((about.T * w) @ about / w.sum())

    def transform(self, about: Floats) -> Floats:
        """Whitening."""
        if self.root is None:
            raise InputError(
                "Mahalanobis() has no covariance yet.",
                remedy="Give it one, or call Mahalanobis().fitted(X).",
            )
        return _product(about, self.root)


def _equilibrated(m: Floats) -> tuple[Floats, Floats, Floats]:
    """Scale, eigenvalues and axes with the diagonal scaled to one: units decide nothing."""
    scale = np.sqrt(np.where(np.diag(m) > 0, np.diag(m), 1.0))
    values, axes = linalg.eigh(m / scale / scale[:, None])
    return scale, values, axes


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
