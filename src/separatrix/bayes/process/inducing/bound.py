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

    @property
    def outputs(self) -> int:
        """How many outputs share the process."""
        return self.sums.targets.outputs

    @cached_property
    def _shared(self) -> float:
        """−½ n log 2πσ² − ½ log|B| of one output."""
        n = self.sums.weight
        log_determinant = 2.0 * float(np.log(np.diagonal(self.factor)).sum())
        return -0.5 * (n * (LOG_2PI + float(np.log(self.noise))) + log_determinant)

    @cached_property
    def _products(self) -> Floats:
        """[Y H]ᵀ(Q + σ²I)⁻¹[Y H]."""
        return np.asarray(self.sums.squares / self.noise - self.half_solved.T @ self.half_solved)

    @cached_property
    def trend(self) -> tuple[Floats, Floats]:
        """β̂ (p x outputs) of the trend, and the Cholesky factor of Hᵀ(Q + σ²I)⁻¹H."""
        return generalized_least_squares(self._products, self.outputs)

    @cached_property
    def lower(self) -> float:
        """F, summed over outputs."""
        value = self._shared - 0.5 * self.residual_trace / self.noise
        return self.outputs * value + self._explained(self._products)

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
        products = self.sums.squares / raised - half.T @ half
        return self.outputs * self._shared + self._explained(products)

    def _explained(self, products: Floats) -> float:
        """−½ yᵀC⁻¹y, with a trend of flat prior integrated out: from [Y H]ᵀC⁻¹[Y H]."""
        k = self.outputs
        coef, factor = generalized_least_squares(products, k)
        left = np.diagonal(products)[:k] - (products[:k, k:] * coef.T).sum(axis=1)
        value = -0.5 * float(np.maximum(left, 0.0).sum())
        if len(factor):
            size = np.linalg.slogdet(self.sums.squares[k:, k:])[1]
            value += k * (0.5 * float(size) - float(np.log(np.diagonal(factor)).sum()))
            value += 0.5 * k * len(factor) * LOG_2PI
        return value

    # -- derivatives of F ----------------------------------------------------------------------

    @cached_property
    def combination(self) -> Floats:
        """T: the columns [Y H] T whose quadratic forms are what F depends on through C⁻¹.

        Those are the residuals Y − H β̂, and H A^−½ for each output, A = HᵀC⁻¹H.
        """
        k, p = self.outputs, len(self.sums.targets.basis)
        combined = np.eye(k + p)
        if p:
            coef, factor = self.trend
            combined[k:, :k] = -coef
            inverse = linalg.solve_triangular(factor, np.eye(p), lower=True)
            combined[k:, k:] = np.sqrt(k) * inverse.T
        return combined

    @cached_property
    def _whitened_columns(self) -> Floats:
        """ν of the combined columns."""
        return np.asarray(self.solved @ self.combination)

    @cached_property
    def slopes(self) -> Floats:
        """∂F by b: times the combined targets of a row it is ∂F by κ(x, Z)."""
        return np.asarray(self.inducing.whitening @ self._whitened_columns / self.noise)

    @cached_property
    def _shrinkage(self) -> Floats:
        """I − B⁻¹."""
        m = len(self.inducing)
        inverse = linalg.cho_solve((self.factor, True), np.eye(m), check_finite=False)
        return np.asarray(np.eye(m) - inverse)

    def by_rows(self) -> Floats:
        """2 ∂F/∂(K_mn W K_nm), m x m: times a row κ(x, Z) it is ∂F by that row."""
        nu = self._whitened_columns
        inside = self.outputs * self._shrinkage - nu @ nu.T
        return self._sandwiched(inside / self.noise)

    def by_points(self) -> Floats:
        """∂F/∂K_mm, m x m."""
        nu = self._whitened_columns
        inside = self.outputs * (self._shrinkage - self.sums.gram / self.noise) - nu @ nu.T
        return self._sandwiched(0.5 * inside)

    def by_log_noise(self) -> float:
        """∂F/∂ log σ²."""
        sums, nu, t = self.sums, self._whitened_columns, self.combination
        fit = float(np.trace(t.T @ sums.squares @ t))
        fit += float(np.vdot(nu, sums.gram @ nu)) - 2.0 * float(np.vdot(nu, sums.inner @ t))
        value = -0.5 * sums.weight + 0.5 * float(np.trace(self._shrinkage))
        value += 0.5 * self.residual_trace / self.noise
        return self.outputs * value + 0.5 * fit / self.noise

    def _sandwiched(self, inside: Floats) -> Floats:
        whitening = self.inducing.whitening
        return np.asarray(whitening @ inside @ whitening.T)


def generalized_least_squares(products: Floats, outputs: int) -> tuple[Floats, Floats]:
    """β̂ (p x outputs) and the Cholesky factor of A, from [Y H]ᵀC⁻¹[Y H]."""
    a = products[outputs:, outputs:]
    if not len(a):
        return np.zeros((0, outputs)), a
    factor = np.asarray(np.linalg.cholesky(a), dtype=float)
    return np.asarray(linalg.cho_solve((factor, True), products[outputs:, :outputs])), factor
