"""The log evidence of a Gaussian process, and its gradient by the hyperparameters.

log p(y) = −½ yᵀ P y − ½ log|C| − ½ log|HᵀC⁻¹H| + ½ log|HᵀWH| − (n − m)/2 log 2π,
C = K + N W⁻¹,   P = C⁻¹ − C⁻¹H (HᵀC⁻¹H)⁻¹ HᵀC⁻¹,   ∂/∂θ = ½ tr((αα ᵀ − P) ∂C/∂θ),  α = P y

with K the covariance of f, N the variances of the noise and W the weights on the diagonal, and H
the m columns of the trend (none without one: then P = C⁻¹). A row of weight w stands for w equal
rows, which are as informative as one with a noise of ν/w; what they say about ν itself is the term
−½ (w − 1) log 2πν − ½ log w.

An evaluation has one n x n array: the Gram matrix is overwritten by its Cholesky factor, that by
the inverse, and that by ααᵀ − P, which is contracted with the derivatives of the kernel by tiles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.bayes.process.information import average_information
from separatrix.bayes.process.noise import SplitKernel
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, take_items
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.matrices.inverse import cholesky_inverse
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class TrainingRows:
    """Rows x, targets y (n x k), weights w, known noise variances and the trend's columns H."""

    x: Items
    y: Floats
    w: Floats
    noise: Floats
    basis: Floats

    @property
    def n(self) -> int:
        """How many rows."""
        return len(self.y)

    def take(self, rows: Any) -> TrainingRows:
        """Some of the rows."""
        return TrainingRows(
            take_items(self.x, rows), self.y[rows], self.w[rows], self.noise[rows], self.basis[rows]
        )

    def with_noise(self, added: float) -> TrainingRows:
        """The same rows with more noise."""
        return replace(self, noise=self.noise + added)


@dataclass(frozen=True)
class Factored:
    """C = L Lᵀ of the training rows, with what predictions and the evidence need of it.

    ``projected`` is C⁻¹H, ``trend_factor`` the Cholesky factor of HᵀC⁻¹H, ``coef`` β̂ (m x k) and
    ``alpha`` P y (n x k).
    """

    split: SplitKernel
    factor: Floats
    alpha: Floats
    coef: Floats
    projected: Floats
    trend_factor: Floats
    noise: Floats
    log_evidence: float


def factorize(kernel: Kernel, rows: TrainingRows, out: Floats | None = None) -> Factored | None:
    """C factored, and the evidence; None where C is not positive definite in these numbers."""
    split = SplitKernel(kernel)
    c = np.empty((rows.n, rows.n)) if out is None else out
    with np.errstate(over="ignore", invalid="ignore"):
        c = split.gram(rows.x, c)
        noise = split.noise_variance(rows.x) + rows.noise
        c[np.diag_indices(rows.n)] += noise / rows.w
        factor = cholesky_factor(c) if np.isfinite(c.diagonal()).all() else None
    if factor is None:
        return None
    return _solved(split, rows, factor, noise)


def _solved(
    split: SplitKernel, rows: TrainingRows, factor: Floats, noise: Floats
) -> Factored | None:
    n, k, m = rows.n, rows.y.shape[1], rows.basis.shape[1]
    both = cholesky_solve(factor, np.column_stack([rows.y, rows.basis]))
    alpha, projected = both[:, :k], both[:, k:]
    a = rows.basis.T @ projected
    try:
        trend_factor = np.linalg.cholesky(a) if m else np.zeros((0, 0))
    except np.linalg.LinAlgError:
        return None
    coef = linalg.cho_solve((trend_factor, True), rows.basis.T @ alpha) if m else np.zeros((0, k))
    alpha = alpha - projected @ coef
    value = -0.5 * float(np.vdot(rows.y - rows.basis @ coef, alpha))
    value -= k * float(np.log(np.diagonal(factor)).sum()) + 0.5 * (n - m) * k * LOG_2PI
    if m:
        gram = rows.basis.T @ (rows.w[:, None] * rows.basis)
        value -= k * float(np.log(np.diagonal(trend_factor)).sum())
        value += 0.5 * k * float(np.linalg.slogdet(gram)[1])
    value += k * copies_term(rows.w, noise)
    # NumPy's number, as scikit-learn's: arithmetic with single precision stays in double
    value = np.float64(value)
    return Factored(split, factor, alpha, coef, projected, trend_factor, noise, value)


def copies_term(w: Floats, noise: Floats) -> float:
    """What w equal rows say beyond one with noise ν/w: Σ −½ (w − 1) log 2πν − ½ log w."""
    several = w != 1.0
    if not several.any():
        return 0.0
    w, noise = w[several], noise[several]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sum(-0.5 * (w - 1.0) * (LOG_2PI + np.log(noise)) - 0.5 * np.log(w)))


class Evidence:
    """θ ↦ (log evidence, gradient) of some rows; one n x n array serves all evaluations."""

    def __init__(self, kernel: Kernel, rows: TrainingRows) -> None:
        self.kernel, self.rows = kernel, rows
        self.evaluations = 0
        self._last: Factored | None = None
        self._buffer = np.empty((rows.n, rows.n))

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Value and gradient; −inf where the covariance is not positive definite."""
        self.evaluations += 1
        nothing = -np.inf, np.zeros(len(theta))
        try:
            kernel = self.kernel.with_theta(theta)
        except ValueError:  # a hyperparameter beyond the range of numbers
            return nothing
        found = factorize(kernel, self.rows, self._buffer)
        if found is None or not np.isfinite(found.log_evidence):
            return nothing
        gradient = evidence_gradient(found, self.rows)
        self._last = found
        return (found.log_evidence, gradient) if np.isfinite(gradient).all() else nothing

    def information(self) -> Floats:
        """The average information at the last evaluation, an estimate of −∇² of the evidence.

        ½ αᵀ ∂ⱼC P ∂ₖC α, the mean of observed and expected information for kernels that are
        linear in θ; never negative. It takes p products with kernel matrices.
        """
        assert self._last is not None
        last, rows = self._last, self.rows
        return average_information(last.split, rows.x, rows.w, last.alpha, last.noise, last.factor)

    def value(self, theta: Floats) -> float:
        """The value alone, at a third of the work."""
        found = factorize(self.kernel.with_theta(theta), self.rows, self._buffer)
        return -np.inf if found is None else found.log_evidence


def evidence_gradient(found: Factored, rows: TrainingRows) -> Floats:
    """The gradient by θ; the factor is overwritten."""
    k = rows.y.shape[1]
    q = cholesky_inverse(found.factor)
    left = [found.alpha]
    if len(found.trend_factor):
        scaled = linalg.solve_triangular(found.trend_factor, found.projected.T, lower=True)
        left.append(np.sqrt(k) * scaled.T)
    f = np.ascontiguousarray(np.column_stack(left))

    def part(at: slice) -> None:
        q[at, : at.stop] *= -float(k)
        q[at, : at.stop] += f[at] @ f[: at.stop].T

    parallel_map(part, pieces(rows.n, 128))
    diagonal = np.diagonal(q) / rows.w
    if (rows.w != 1.0).any():
        with np.errstate(divide="ignore", invalid="ignore"):
            several = np.where(rows.w != 1.0, k * (rows.w - 1.0) / found.noise, 0.0)
        diagonal = diagonal - several
    gradient = found.split.gradient_sums(rows.x, q)
    return np.asarray(0.5 * (gradient + found.split.noise_gradient_sums(rows.x, diagonal)))
