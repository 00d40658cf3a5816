"""The posterior of f, and of y, at new rows.

E f* = k*ᵀ α + h*ᵀ β̂,   cov f* = K** − Vᵀ V + Rᵀ (HᵀC⁻¹H)⁻¹ R,   V = L⁻¹ K*,   R = h* − Hᵀ C⁻¹ K*

The last term is the uncertainty of the trend. y* adds the noise of the kernel to the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.bayes.process.evidence import Factored
from separatrix.bayes.process.noise import SplitKernel
from separatrix.bayes.process.trend import TrendBasis
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: New rows of one piece of work.
STRIP = 256


def posterior_mean(
    split: SplitKernel, x: Items, alpha: Floats, basis: TrendBasis, coef: Floats, new: Items
) -> Floats:
    """E f at new rows (n x k)."""
    if split.function is None:
        mean = np.zeros((n_items(new), alpha.shape[1]))
    else:
        mean = np.asarray(split.function.prepare_exact(x).dot(new, alpha))
    return mean + basis.of_rows(new) @ coef if len(basis) else mean


@dataclass(frozen=True)
class Posterior:
    """Variances and covariances of f given the training rows, for one output of unit scale."""

    x: Items
    found: Factored
    basis: TrendBasis

    def variance(self, new: Items, *, noise: bool) -> Floats:
        """Variance of f, or of y with ``noise``, at every new row; never below zero."""
        split = self.found.split
        left = split.function_variance(new)
        if split.function is not None or len(self.basis):
            prepared = None if split.function is None else split.function.prepare_exact(self.x)

            def strip(rows: slice) -> None:
                left[rows] -= self._explained(prepared, take_items(new, rows))

            parallel_map(strip, pieces(len(left), STRIP, max(64, len(left) // STRIP)))
        left = np.maximum(left, 0.0)
        return left + split.noise_variance(new) if noise else left

    def _explained(self, prepared: Any, new: Items) -> Floats:
        """What the training rows explain of the variance, less the uncertainty of the trend."""
        cross = self._cross(prepared, new)
        residual = self._trend_residual(cross, new)
        v = self._whitened(cross)
        explained = np.einsum("ij,ij->j", v, v)
        return np.asarray(explained - np.einsum("ij,ij->j", residual, residual))

    def covariance(self, new: Items, *, noise: bool) -> Floats:
        """The joint covariance of f, or of y with ``noise``, at new rows."""
        split, n = self.found.split, n_items(new)
        whole = split.gram(new, np.empty((n, n)))
        prepared = None if split.function is None else split.function.prepare_exact(self.x)
        cross = self._cross(prepared, new)
        residual = self._trend_residual(cross, new)
        v = self._whitened(cross)
        whole -= v.T @ v
        whole += residual.T @ residual
        diagonal = np.maximum(np.diagonal(whole), 0.0)
        whole[np.diag_indices(n)] = diagonal + (split.noise_variance(new) if noise else 0.0)
        return whole

    def _cross(self, prepared: Any, new: Items) -> Floats:
        """K*: training rows by new rows, in Fortran order."""
        if prepared is None:
            return np.zeros((n_items(self.x), n_items(new)), order="F")
        return np.asarray(prepared.rows(new), dtype=float).T

    def _whitened(self, cross: Floats) -> Floats:
        """L⁻¹ K*, written over K*."""
        # Lᵀ is in Fortran order, as BLAS wants it: L itself would be copied
        factor = self.found.factor.T
        return np.asarray(
            linalg.blas.dtrsm(1.0, factor, cross, side=0, lower=0, trans_a=1, overwrite_b=1)
        )

    def _trend_residual(self, cross: Floats, new: Items) -> Floats:
        """(HᵀC⁻¹H)^−½ (h* − Hᵀ C⁻¹ K*)."""
        if not len(self.basis):
            return np.zeros((0, cross.shape[1]))
        difference = self.basis.of_rows(new).T - self.found.projected.T @ cross
        return np.asarray(linalg.solve_triangular(self.found.trend_factor, difference, lower=True))


def draws(mean: Floats, covariance: Floats, n_samples: int, random_state: Any) -> Floats:
    """Joint draws (n x n_samples) of a normal distribution, whose covariance may be singular."""
    from sklearn.utils import check_random_state

    rng = check_random_state(random_state)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(mean[:, None] + root @ rng.standard_normal((len(mean), n_samples)))
