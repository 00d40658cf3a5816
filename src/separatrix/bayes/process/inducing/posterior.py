"""The posterior of f, and of y, at new rows, given the sums of the inducing points.

    a = L⁻¹ κ(Z, x):   E f = a·ν + h·β̂,   Var f = κ(x, x) − ‖a‖² + ‖L_B⁻¹a‖² + ‖L_A⁻¹(h − ν_Hᵀ a)‖²

What the points do not span of f keeps its prior variance κ(x, x) − ‖a‖²; the last term is the
uncertainty of the trend.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.bayes.process.inducing.bound import CollapsedBound
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: New rows of one piece of work.
STRIP = 512


@dataclass(frozen=True)
class InducingPosterior:
    """Means, variances and covariances of f, in units of the standardized targets.

    ``noise`` is the variance of y about f that new rows have.
    """

    bound: CollapsedBound
    noise: float

    def mean(self, new: Items) -> Floats:
        """E f (n x outputs)."""
        return self._by_strips(new, self._mean_of, self.bound.outputs)

    def variance(self, new: Items, *, noise: bool) -> Floats:
        """Variance of f, or of y with ``noise``, at every new row; never below zero."""
        left = self._by_strips(new, self._variance_of, 1)[:, 0]
        return left + self.noise if noise else left

    def covariance(self, new: Items, *, noise: bool) -> Floats:
        """The joint covariance of f, or of y with ``noise``, at new rows."""
        kernel = self.bound.inducing.kernel
        whole = np.array(kernel.prepare_exact(new).rows(new), dtype=float)
        a = self.bound.inducing.whitened(new)
        shrunk, trend = self._shrunk(a), self._trend_residual(a, new)
        whole += shrunk.T @ shrunk + trend.T @ trend - a @ a.T
        whole = 0.5 * (whole + whole.T)
        diagonal = np.maximum(np.diagonal(whole), 0.0)
        whole[np.diag_indices(len(whole))] = diagonal + (self.noise if noise else 0.0)
        return np.asarray(whole)

    def _by_strips(self, new: Items, of: object, columns: int) -> Floats:
        n = n_items(new)
        found = np.empty((n, columns))

        def strip(rows: slice) -> None:
            found[rows] = of(take_items(new, rows))  # type: ignore[operator]

        parallel_map(strip, pieces(n, STRIP, max(64, n // STRIP)))
        return found

    def _mean_of(self, new: Items) -> Floats:
        bound = self.bound
        combined = bound.inducing.whitening @ (bound.solved @ bound.combination)[:, : bound.outputs]
        mean = bound.inducing.rows(new) @ combined
        basis = bound.sums.targets.basis
        return mean + basis.of_rows(new) @ bound.trend[0] if len(basis) else mean

    def _variance_of(self, new: Items) -> Floats:
        a = self.bound.inducing.whitened(new)
        shrunk, trend = self._shrunk(a), self._trend_residual(a, new)
        left = self.bound.inducing.diagonal(new) - np.einsum("ij,ij->i", a, a)
        left = np.maximum(left, 0.0) + np.einsum("ij,ij->j", shrunk, shrunk)
        return np.asarray(left + np.einsum("ij,ij->j", trend, trend))[:, None]

    def _shrunk(self, a: Floats) -> Floats:
        return np.asarray(
            linalg.solve_triangular(self.bound.factor, a.T, lower=True, check_finite=False)
        )

    def _trend_residual(self, a: Floats, new: Items) -> Floats:
        basis = self.bound.sums.targets.basis
        if not len(basis):
            return np.zeros((0, len(a)))
        nu = self.bound.solved[:, self.bound.outputs :]
        difference = basis.of_rows(new) - a @ nu
        return np.asarray(linalg.solve_triangular(self.bound.trend[1], difference.T, lower=True))
