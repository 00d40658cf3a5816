"""A normal prior of the coefficients, and the columns in which it is the standard one.

b = m₀ + L u,    u ~ N(0, I),    LLᵀ = S₀    ⇒    y − X m₀ = (X L) u + ε
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.messages import InputError
from separatrix.rows.block import Block, Floats, to_array
from separatrix.statistics.moments import Moments


@dataclass(frozen=True)
class NormalPrior:
    """Mean m₀ (d) and a root L of the covariance: a vector for a diagonal one, or d x d."""

    mean: Floats
    root: Floats

    @classmethod
    def of(cls, d: int, precision: Any, mean: Any, covariance: Any) -> NormalPrior:
        """From a precision (a number, one for each column, or a matrix), or a covariance matrix."""
        center = np.zeros(d) if mean is None else np.asarray(mean, dtype=float)
        if center.ndim == 0:
            center = np.full(d, float(center))
        if center.shape != (d,) or not np.isfinite(center).all():
            raise InputError(f"prior_mean must hold one number for each of {d} columns.")
        if covariance is not None:
            return cls(center, _root(np.asarray(covariance, dtype=float), d, "prior_covariance"))
        given = np.asarray(precision, dtype=float)
        if given.ndim < 2:
            if given.shape not in ((), (d,)) or not (np.isfinite(given) & (given > 0.0)).all():
                raise InputError(
                    f"prior_precision={precision!r} must be a number above 0, one for each of {d} "
                    "columns, or a matrix."
                )
            return cls(center, np.broadcast_to(1.0 / np.sqrt(given), (d,)).copy())
        _check(given, d, "prior_precision")
        try:
            factor = linalg.cholesky(given, lower=True)
        except linalg.LinAlgError as error:
            raise InputError("prior_precision is not positive definite.") from error
        return cls(center, linalg.solve_triangular(factor, np.eye(d), lower=True).T)

    @property
    def diagonal(self) -> bool:
        """Whether L is a vector."""
        return self.root.ndim == 1

    def times(self, u: Floats) -> Floats:
        """L u."""
        return np.asarray(self.root * u if self.diagonal else self.root @ u)

    def transposed_times(self, b: Floats) -> Floats:
        """Lᵀ b."""
        return np.asarray(self.root * b if self.diagonal else self.root.T @ b)

    def distance(self, b: Floats) -> float:
        """bᵀ S₀⁻¹ b for b within the span of the prior."""
        if self.diagonal:
            return float(((b / self.root) ** 2).sum())
        u = np.linalg.lstsq(self.root, b, rcond=None)[0]
        return float(u @ u)

    def transformed(self, source: Moments | Block) -> Moments | Block:
        """X, or XL where L is a matrix, and y − Xm₀."""
        if not self.mean.any() and self.diagonal:
            return source
        if isinstance(source, Block):
            y = source.y - np.asarray(source.x @ self.mean)[:, None]
            x = source.x if self.diagonal else to_array(source.x) @ self.root
            return replace(source, x=x, y=y)
        d = source.d
        change = np.eye(d + 1)
        change[:d, d] = -self.mean
        if not self.diagonal:
            change[:d, :d] = self.root
        scatter = change.T @ source.scatter @ change
        scatter, mean = (scatter + scatter.T) / 2.0, change.T @ source.mean
        return Moments(source.terms, source.targets, source.count, source.weight, mean, scatter)


def _check(matrix: Floats, d: int, name: str) -> None:
    if matrix.shape != (d, d) or not np.isfinite(matrix).all():
        raise InputError(f"{name} must be a matrix of {d} x {d} numbers.")
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12 * np.abs(matrix).max(initial=0.0)):
        raise InputError(f"{name} is not symmetric.")


def _root(covariance: Floats, d: int, name: str) -> Floats:
    """L of S₀ = LLᵀ; a coefficient without variance stays at its mean."""
    _check(covariance, d, name)
    diagonal = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    unit = np.where(diagonal > 0.0, diagonal, 1.0)
    values, vectors = linalg.eigh(covariance / np.multiply.outer(unit, unit))
    if values.min(initial=0.0) < -1e-10 * max(values.max(initial=0.0), 1.0):
        raise InputError(f"{name} has a negative eigenvalue, so that it is no covariance.")
    return np.asarray(unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))
