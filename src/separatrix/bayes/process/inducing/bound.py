"""Bounds on the evidence of a Gaussian process from the sums of its inducing points.

With Q = A Aᵀ, B = I + Φ/σ² and r = t − tr Φ = tr(K − Q), for each output y,

    F = −½ n log 2πσ² − ½ log|B| − ½ yᵀ(Q + σ²I)⁻¹y − r/2σ²          (Titsias 2009)
    U = −½ n log 2πσ² − ½ log|B| − ½ yᵀ(Q + (σ² + r)I)⁻¹y            (Titsias 2014)

    F ≤ log p(y) ≤ U

and both are equal where the points span the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from separatrix.bayes.process.inducing.points import InducingPoints
from separatrix.bayes.process.inducing.sums import InducingSums
from separatrix.matrices.cholesky import cholesky_factor
from separatrix.rows.block import Floats

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class CollapsedBound:
    """F, U, their derivatives and the posterior, at a noise variance σ²."""

    sums: InducingSums
    noise: float

    @property
    def inducing(self) -> InducingPoints:
        """The inducing points."""
        return self.sums.inducing

    @cached_property
    def factor(self) -> Floats:
        """The Cholesky factor of B = I + Φ/σ²."""
        found = cholesky_factor(np.eye(len(self.inducing)) + self.sums.gram / self.noise)
        if found is None:  # Φ is positive semi-definite unless it is not finite
            raise FloatingPointError("the sums of the inducing points are not finite")
        return np.tril(found)

    @cached_property
    def residual_trace(self) -> float:
        """r = tr(K − Q), the variance that the points leave; never negative."""
        return max(self.sums.trace - float(np.trace(self.sums.gram)), 0.0)

    @cached_property
    def half_solved(self) -> Floats:
        """L_B⁻¹ b/σ, whose squares are what the points explain of yᵀy/σ²."""
        solved = linalg.solve_triangular(
            self.factor, self.sums.inner, lower=True, check_finite=False
        )
        return np.asarray(solved / self.noise)

    @cached_property
    def solved(self) -> Floats:
        """ν = B⁻¹ b/σ², the mean of the whitened process at the points."""
        return np.asarray(
            linalg.solve_triangular(
                self.factor, self.half_solved, lower=True, trans=1, check_finite=False
            )
        )

    @cached_property
    def coefficients(self) -> Floats:
        """μ = L⁻ᵀν: the posterior mean of f is κ(x, Z) μ."""
        return np.asarray(self.inducing.whitening @ self.solved)

    @cached_property
    def _shared(self) -> float:
        """−½ n log 2πσ² − ½ log|B| of one output."""
        n = self.sums.weight
        log_determinant = 2.0 * float(np.log(np.diagonal(self.factor)).sum())
        return -0.5 * (n * (LOG_2PI + float(np.log(self.noise))) + log_determinant)

    @cached_property
    def lower(self) -> float:
        """F, summed over outputs."""
        k = self.sums.outputs
        explained = float((self.half_solved**2).sum())
        left = float(np.trace(self.sums.squares)) / self.noise - explained
        return k * (self._shared - 0.5 * self.residual_trace / self.noise) - 0.5 * max(left, 0.0)

    @cached_property
    def upper(self) -> float:
        """U, summed over outputs."""
        raised = self.noise + self.residual_trace
        system = cholesky_factor(np.eye(len(self.inducing)) + self.sums.gram / raised)
        if system is None:
            return np.inf
        half = linalg.solve_triangular(
            np.tril(system), self.sums.inner / raised, lower=True, check_finite=False
        )
        left = float(np.trace(self.sums.squares)) / raised - float((half**2).sum())
        return self.sums.outputs * self._shared - 0.5 * max(left, 0.0)

    # -- derivatives of F ----------------------------------------------------------------------

    @cached_property
    def _shrinkage(self) -> Floats:
        """I − B⁻¹."""
        m = len(self.inducing)
        inverse = linalg.cho_solve((self.factor, True), np.eye(m), check_finite=False)
        return np.asarray(np.eye(m) - inverse)

    def by_rows(self) -> Floats:
        """2 ∂F/∂(K_mn W K_nm), m x m: times a row κ(x, Z) it is ∂F by that row."""
        inside = self.sums.outputs * self._shrinkage - self.solved @ self.solved.T
        return self._sandwiched(inside / self.noise)

    def by_points(self) -> Floats:
        """∂F/∂K_mm, m x m."""
        k = self.sums.outputs
        inside = k * (self._shrinkage - self.sums.gram / self.noise) - self.solved @ self.solved.T
        return self._sandwiched(0.5 * inside)

    def by_log_noise(self) -> float:
        """∂F/∂ log σ²."""
        s, k, sums = self.noise, self.sums.outputs, self.sums
        nu = self.solved
        fit = float(np.trace(sums.squares)) - 2.0 * float(np.vdot(nu, sums.inner))
        fit += float(np.vdot(nu, sums.gram @ nu))
        value = -0.5 * sums.weight + 0.5 * float(np.trace(self._shrinkage))
        return k * (value + 0.5 * self.residual_trace / s) + 0.5 * fit / s

    def _sandwiched(self, inside: Floats) -> Floats:
        whitening = self.inducing.whitening
        return np.asarray(whitening @ inside @ whitening.T)

    # -- posterior -----------------------------------------------------------------------------

    def mean(self, x: Floats) -> Floats:
        """Posterior means of f, n x outputs, from whitened rows."""
        return np.asarray(x @ self.solved)
