"""Means and covariances of classes under a prior: mode (MAP) or mean (Bayes) of the posterior.

    μₖ = (nₖ x̄ₖ + s μ₀)/(nₖ + s),    Qₖ = Sₖ + s Σ₀ + (nₖ s/(nₖ + s)) (x̄ₖ − μ₀)(x̄ₖ − μ₀)ᵀ
    Σₖ = Qₖ/(nₖ + s) (MAP)   or   Qₖ/(nₖ + s − d − 2) (posterior mean)

The conjugate (normal-inverse-Wishart) prior counts as s rows of mean μ₀ and covariance Σ₀ in every
class, in addition to the improper prior |Σ|^(−(d+1)/2), as in
:func:`~separatrix.estimate_normal`. Classes with one covariance add up: N = n + K s rows in all,
and Σ = Σ Qₖ/(N − K − d − 1). Diagonal covariances are one column after another (d = 1), spherical
ones have N d numbers for one variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.geometry.normal import MultivariateNormal
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.estimation import check_method


@dataclass(frozen=True)
class ClassPrior:
    """The prior of class means and covariances: s rows of mean μ₀ and covariance Σ₀ in each class.

    ``method`` is "map" or "bayes". None for ``mean`` is the mean of all rows, for ``covariance``
    the covariance within classes.
    """

    method: str
    count: float
    mean: Any = None
    covariance: Any = None

    def __post_init__(self) -> None:
        check_method(self.method)
        if not 0 <= self.count < np.inf:
            raise InputError(f"prior_count={self.count} must be finite and not negative.")

    def posterior(self, m: ClassMoments, kind: str) -> ClassMoments:
        """Class moments whose means and covariances are those of the posterior.

        ``kind`` is the covariance structure, one of six.
        """
        k, d = m.mean.shape
        s, n = self.count, m.weight
        center, spread = self._center(m), self._spread(m)
        fraction = np.where(n + s > 0, n / np.where(n + s > 0, n + s, 1.0), 0.0)
        step = np.where((n > 0)[:, None], m.mean - center, 0.0)
        moved = s * fraction  # n s/(n + s)
        scatter = m.scatter + _added(m.structure, moved, step, s, spread, k)
        shared = kind.startswith("shared")
        rows = np.full(k, float(n.sum() + k * s)) if shared else n + s
        divisor = self._divisor(rows, k if shared else 1, d, kind)
        weight = float(n.sum()) if shared else n
        factor = np.where(divisor > 0, weight / np.where(divisor > 0, divisor, 1.0), 0.0)
        scaled = (
            factor[0]
            if m.structure == "pooled"
            else factor.reshape(-1, *[1] * (m.scatter.ndim - 1))
        )
        mean = center + fraction[:, None] * step
        return ClassMoments(m.structure, m.count, n, mean, scatter * scaled)

    def _divisor(self, rows: Floats, classes: int, d: int, kind: str) -> Floats:
        """What Q is divided by; the posterior mean exists for enough rows, else it is the mode."""
        if self.method == "map":
            return rows
        own = 2.0 / d if kind.endswith("spherical") else 2.0 if "diagonal" in kind else d + 1.0
        less = rows - classes - own
        return np.where(less > 0, less, rows)

    def _center(self, m: ClassMoments) -> Floats:
        if self.mean is None:
            return np.tile(m.grand_mean, (len(m.weight), 1))
        center = np.asarray(self.mean, dtype=float)
        if (
            center.shape not in ((), m.mean.shape[1:], m.mean.shape)
            or not np.isfinite(center).all()
        ):
            raise InputError(
                f"prior_mean has shape {center.shape}; it must hold a finite number for each of "
                f"{m.mean.shape[1]} columns, or one row of them for each class."
            )
        return np.broadcast_to(center, m.mean.shape)

    def _spread(self, m: ClassMoments) -> Floats:
        """Σ₀ (d x d), or its diagonal (d)."""
        if self.covariance is None:
            return m.within
        d = m.mean.shape[1]
        spread = np.asarray(self.covariance, dtype=float)
        if spread.shape == () or spread.shape == (d,):
            spread = np.diag(np.broadcast_to(spread, d))
        if spread.shape != (d, d):
            raise InputError(f"prior_covariance must be a symmetric {d} x {d} matrix.")
        spread = MultivariateNormal(np.zeros(d), spread).covariance  # checked
        return np.diag(spread) if m.structure == "diagonal" else spread


def _added(structure: str, moved: Floats, step: Floats, s: float, spread: Floats, k: int) -> Floats:
    """What the prior adds to the scatter, in the structure of the moments."""
    if structure == "diagonal":
        return np.asarray(moved[:, None] * step**2 + s * spread)
    if structure == "pooled":
        return np.asarray((moved[:, None] * step).T @ step + k * s * spread)
    return np.asarray((moved[:, None] * step)[:, :, None] * step[:, None, :] + s * spread)


def prior_by_column(given: Any, default: Floats, name: str) -> Floats:
    """One number for each numeric column, as given or by ``default``."""
    if given is None:
        return default
    values = np.asarray(given, dtype=float)
    if values.shape not in ((), default.shape) or not np.isfinite(values).all():
        raise InputError(
            f"{name} must hold a finite number, or one for each of {len(default)} numeric columns."
        )
    if name == "prior_variance" and (values < 0).any():
        raise InputError("prior_variance must not be negative.")
    return np.broadcast_to(values, default.shape)
