"""The posterior of f, and of y, at new rows.

E f* = k*ᵀ α + h*ᵀ β̂,   cov f* = K** − Vᵀ V + Rᵀ (HᵀC⁻¹H)⁻¹ R,   V = L⁻¹ K*,   R = h* − Hᵀ C⁻¹ K*

The last term is the uncertainty of the trend. y* adds the noise of the kernel to the diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.bayes.process.evidence import Factored
from separatrix.bayes.process.noise import SplitKernel
from separatrix.bayes.process.trend import TrendBasis
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.matrices.cholesky import forward_substitution
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
        """Variance of f, or of y with ``noise``, at every new row; never below zero.

        Of κ(x, x) what is explained is subtracted: beside training rows, where that is nearly all,
        an error of about 10⁻¹⁵ κ(x, x) times the condition of C is left.
        """
        split = self.found.split
        left = split.function_variance(new)
        if split.function is not None or len(self.basis):
            whitened = self._whitening()

            def strip(rows: slice) -> None:
                v, r = whitened(take_items(new, rows))
                left[rows] += np.einsum("ij,ij->i", r, r) - np.einsum("ij,ij->i", v, v)

            parallel_map(strip, _strips(len(left)))
        left = np.maximum(left, 0.0)
        return left + split.noise_variance(new) if noise else left

    def covariance(self, new: Items, *, noise: bool) -> Floats:
        """The joint covariance of f, or of y with ``noise``, at new rows."""
        split, n, whitened = self.found.split, n_items(new), self._whitening()
        whole = split.gram(new, np.empty((n, n)))
        strips = _strips(n)
        parts = parallel_map(lambda rows: whitened(take_items(new, rows)), strips)
        v, r = (np.concatenate(one) for one in zip(*parts, strict=True))

        def strip(rows: slice) -> None:
            whole[rows] += r[rows] @ r.T - v[rows] @ v.T

        parallel_map(strip, strips)
        diagonal = np.maximum(np.diagonal(whole), 0.0)
        whole[np.diag_indices(n)] = diagonal + (split.noise_variance(new) if noise else 0.0)
        return whole

    def _whitening(self) -> Callable[[Items], tuple[Floats, Floats]]:
        """New rows ↦ V and (HᵀC⁻¹H)^−½ R, transposed: one row for each new row."""
        found, n = self.found, n_items(self.x)
        function = found.split.function
        prepared = None if function is None else function.prepare_exact(self.x)

        def whitened(new: Items) -> tuple[Floats, Floats]:
            m = n_items(new)
            cross = np.zeros((m, n)) if prepared is None else np.array(prepared.rows(new), float)
            rest = self.basis.of_rows(new) - cross @ found.projected
            r = (
                linalg.solve_triangular(found.trend_factor, rest.T, lower=True).T
                if len(self.basis)
                else rest
            )
            return forward_substitution(found.factor, cross), np.asarray(r)

        return whitened


def _strips(n: int) -> list[slice]:
    return pieces(n, STRIP, max(64, n // STRIP))


def draws(mean: Floats, covariance: Floats, n_samples: int, rng: np.random.RandomState) -> Floats:
    """Joint draws (n x n_samples) of a normal distribution, whose covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(mean[:, None] + root @ rng.standard_normal((len(mean), n_samples)))
