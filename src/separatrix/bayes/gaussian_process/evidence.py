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

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.arrays import Floats
from separatrix.bayes.gaussian_process.model import SplitKernel, TrendBasis
from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items
from separatrix.matrices import cholesky
from separatrix.rows.schema import n_items, take_items
from separatrix.threads import parallel_map, pieces

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class ProcessRows:
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

    def take(self, rows: Any) -> ProcessRows:
        """Some of the rows."""
        return ProcessRows(
            take_items(self.x, rows), self.y[rows], self.w[rows], self.noise[rows], self.basis[rows]
        )

    def with_noise(self, added: float) -> ProcessRows:
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


def factorize(kernel: Kernel, rows: ProcessRows, out: Floats | None = None) -> Factored | None:
    """C factored, and the evidence; None where C is not positive definite in these numbers."""
    split = SplitKernel(kernel)
    c = np.empty((rows.n, rows.n)) if out is None else out
    with np.errstate(over="ignore", invalid="ignore"):
        c = split.gram(rows.x, c)
        noise = split.noise_variance(rows.x) + rows.noise
        c[np.diag_indices(rows.n)] += noise / rows.w
        factor = cholesky.cholesky_factor(c) if np.isfinite(c.diagonal()).all() else None
    if factor is None:
        return None
    return _solve_split(split, rows, factor, noise)


def _solve_split(
    split: SplitKernel, rows: ProcessRows, factor: Floats, noise: Floats
) -> Factored | None:
    n, k, m = rows.n, rows.y.shape[1], rows.basis.shape[1]
    both = cholesky.cholesky_solve(factor, np.column_stack([rows.y, rows.basis]))
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


class LogEvidence:
    """θ ↦ (log evidence, gradient) of some rows; one n x n array serves all evaluations."""

    def __init__(self, kernel: Kernel, rows: ProcessRows) -> None:
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
        factored = factorize(kernel, self.rows, self._buffer)
        if factored is None or not np.isfinite(factored.log_evidence):
            return nothing
        gradient = evidence_gradient(factored, self.rows)
        self._last = factored
        return (factored.log_evidence, gradient) if np.isfinite(gradient).all() else nothing

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
        factored = factorize(self.kernel.with_theta(theta), self.rows, self._buffer)
        return -np.inf if factored is None else factored.log_evidence


def evidence_gradient(factored: Factored, rows: ProcessRows) -> Floats:
    """The gradient by θ; the factor is overwritten."""
    k = rows.y.shape[1]
    q = cholesky.cholesky_inverse(factored.factor)
    left = [factored.alpha]
    if len(factored.trend_factor):
        scaled = linalg.solve_triangular(factored.trend_factor, factored.projected.T, lower=True)
        left.append(np.sqrt(k) * scaled.T)
    f = np.ascontiguousarray(np.column_stack(left))

    def part(rows: slice) -> None:
        q[rows, : rows.stop] *= -float(k)
        q[rows, : rows.stop] += f[rows] @ f[: rows.stop].T

    parallel_map(part, pieces(rows.n, 128))
    diagonal = np.diagonal(q) / rows.w
    if (rows.w != 1.0).any():
        with np.errstate(divide="ignore", invalid="ignore"):
            several = np.where(rows.w != 1.0, k * (rows.w - 1.0) / factored.noise, 0.0)
        diagonal = diagonal - several
    gradient = factored.split.gradient_sums(rows.x, q)
    return np.asarray(0.5 * (gradient + factored.split.noise_gradient_sums(rows.x, diagonal)))


# -------------------------------------------------------------------------------------------------
# The average information: curvature of an evidence from products with vectors alone.
#
# A_jk = ½ Σ over outputs of αᵀ ∂ⱼC P ∂ₖC α
#
# It is the mean of observed and expected information where C is linear in the hyperparameters, is
# never negative, and needs of the derivatives of C only their products with α.
#
# A. Gilmour, R. Thompson and B. Cullis, Average information REML, Biometrics, 1995.


def average_information(
    split: SplitKernel, x: Items, w: Floats, alpha: Floats, noise: Floats, q: Floats
) -> Floats:
    """The average information at a point of which q = Σ ααᵀ − k P is known, its lower half."""
    n, k = alpha.shape
    p = len(split.whole.theta)
    slopes, noise_slopes = split.derivative_products(x, alpha), split.noise_derivatives(x)
    slopes += (noise_slopes / w[:, None])[:, :, None] * alpha[:, None, :]
    flat = np.asfortranarray(slopes.reshape(n, p * k))
    # in Fortran order q is transposed: its lower half is the upper one
    product = linalg.blas.dsymm(1.0, q.T, flat, side=0, lower=0)
    projected = ((alpha @ (alpha.T @ flat) - product) / k).reshape(n, p, k)
    information = 0.5 * np.tensordot(slopes, projected, axes=([0, 2], [0, 2]))
    copies = np.maximum(w - 1.0, 0.0)
    if copies.any():
        relative = noise_slopes / np.where(noise > 0.0, noise, 1.0)[:, None]
        information += 0.5 * k * relative.T @ (copies[:, None] * relative)
    return np.asarray(0.5 * (information + information.T))


# -------------------------------------------------------------------------------------------------
# The posterior of f, and of y, at new rows.
#
# E f* = k*ᵀ α + h*ᵀ β̂,   cov f* = K** − Vᵀ V + Rᵀ (HᵀC⁻¹H)⁻¹ R,   V = L⁻¹ K*,   R = h* − Hᵀ C⁻¹ K*
#
# The last term is the uncertainty of the trend. y* adds the noise of the kernel to the diagonal.


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
class ProcessPosterior:
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
        v, r = (np.concatenate(block) for block in zip(*parts, strict=True))

        def strip(rows: slice) -> None:
            whole[rows] += r[rows] @ r.T - v[rows] @ v.T

        parallel_map(strip, strips)
        diagonal = np.maximum(np.diagonal(whole), 0.0)
        whole[np.diag_indices(n)] = diagonal + (split.noise_variance(new) if noise else 0.0)
        return whole

    def _whitening(self) -> Callable[[Items], tuple[Floats, Floats]]:
        """New rows ↦ V and (HᵀC⁻¹H)^−½ R, transposed: one row for each new row."""
        fitting, n = self.found, n_items(self.x)
        function = fitting.split.function
        prepared = None if function is None else function.prepare_exact(self.x)

        def whiten(new: Items) -> tuple[Floats, Floats]:
            m = n_items(new)
            cross = np.zeros((m, n)) if prepared is None else np.array(prepared.rows(new), float)
            rest = self.basis.of_rows(new) - cross @ fitting.projected
            r = (
                linalg.solve_triangular(fitting.trend_factor, rest.T, lower=True).T
                if len(self.basis)
                else rest
            )
            return cholesky.forward_substitution(fitting.factor, cross), np.asarray(r)

        return whiten


def _strips(n: int) -> list[slice]:
    strip = 256  # new rows of one piece of work
    return pieces(n, strip, max(64, n // strip))


def draws(mean: Floats, covariance: Floats, n_samples: int, rng: np.random.RandomState) -> Floats:
    """Joint draws (n x n_samples) of a normal distribution, whose covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(mean[:, None] + root @ rng.standard_normal((len(mean), n_samples)))


# -------------------------------------------------------------------------------------------------
# Leave-one-out predictions of a Gaussian process in closed form.
#
# y without row i:   mean yᵢ − αᵢ / Pᵢᵢ,   variance 1 / Pᵢᵢ
#
# Hyperparameters stay as they are; the trend is estimated again without the row. Of a row of weight
# w one of w equal rows is left out, so that w − 1 of them still count.
#
# C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006, section 5.4.2.


@dataclass(frozen=True)
class LeaveOneOutPredictions:
    """What the other rows say about the target of each training row.

    Attributes
    ----------
    mean, std : ndarray of shape (n,) or (n, k)
        Mean and standard deviation of y of every row of positive weight, from the others.
    log_density : ndarray of shape (n,)
        Log density of the target of the row, summed over outputs.
    weights : ndarray of shape (n,)
        Weights of the rows.
    """

    mean: Floats
    std: Floats
    log_density: Floats
    weights: Floats

    @property
    def log_score(self) -> float:
        """Σ w log p(y | the other rows): the log predictive score; higher is better."""
        return float(self.weights @ self.log_density)

    @property
    def predictive(self) -> PredictiveDistribution:
        """The distributions of one output, for intervals, residuals and PIT."""
        return PredictiveDistribution(np.ravel(self.mean), np.ravel(self.std))


def leave_one_out(
    factored: Factored, rows: ProcessRows, center: Floats, scale: Floats
) -> LeaveOneOutPredictions:
    """Leave-one-out means and variances in units of the target, y = center + scale · y′."""
    inverse = np.diagonal(cholesky.cholesky_inverse(factored.factor.copy())).copy()
    if len(factored.trend_factor):
        part = linalg.solve_triangular(factored.trend_factor, factored.projected.T, lower=True)
        inverse -= np.einsum("ij,ij->j", part, part)
    variance = (1.0 / np.maximum(inverse, np.finfo(float).tiny))[:, None]
    mean = rows.y - factored.alpha * variance
    mean, variance = _with_other_copies(mean, variance, rows, factored.noise)
    residual = (rows.y - mean) / np.sqrt(variance)
    log_density = -0.5 * (residual**2 + np.log(2.0 * np.pi * variance)) - np.log(scale)
    mean, std = center + scale * mean, scale * np.sqrt(variance)
    flat = rows.y.shape[1] == 1
    return LeaveOneOutPredictions(
        mean[:, 0] if flat else mean,
        std[:, 0] if flat else std,
        log_density.sum(axis=1),
        rows.w,
    )


def _with_other_copies(
    mean: Floats, variance: Floats, rows: ProcessRows, noise: Floats
) -> tuple[Floats, Floats]:
    """Given the other w − 1 copies of the row too, whose noise is independent."""
    w, nu = rows.w[:, None], noise[:, None]
    several = w > 1.0
    if not several.any():
        return mean, np.where(w < 1.0, variance + nu * (1.0 - 1.0 / w), variance)
    function = np.maximum(variance - nu / w, 0.0)
    left = np.where(several, w - 1.0, 0.0)
    # precision-weighted mean of f from the other rows and y of the other copies
    gain = function * left / np.where(several, nu + function * left, 1.0)
    combined = mean + gain * (rows.y - mean)
    return combined, function * (1.0 - gain) + nu


@dataclass(frozen=True)
class ProcessFits:
    """The posterior means without each training row, at the same hyperparameters.

        E₋ᵢ f(x) = E f(x) − s(x, i) rᵢ,     rᵢ = αᵢ / Pᵢᵢ,     s(x) = P k(x) + C⁻¹H (HᵀC⁻¹H)⁻¹ h(x)

    ``own`` (n) are those of the rows themselves, ``error`` (n) the rᵢ.
    """

    own: Floats
    error: Floats

    def at(self, model: Any, X: Any) -> Floats:
        """E₋ᵢ f at m new rows (m x n)."""
        base, new, factored = model.predict(X), model._items(X), model._factored
        function, m = factored.split.function, len(base)
        parts = np.zeros((m, len(self.own)))
        if function is not None:
            parts += np.asarray(function.prepare_exact(model.X_train_).rows(new), dtype=float)
        rest = model.basis_.of_rows(new) - parts @ factored.projected
        parts = cholesky.cholesky_solve(factored.factor, parts.T).T
        if len(factored.trend_factor):
            coefs = linalg.cho_solve((factored.trend_factor, True), rest.T)
            parts = parts + (factored.projected @ coefs).T
        return np.asarray(base[:, None] - parts * self.error)


def process_fits(model: Any, n: int) -> ProcessFits | None:
    """The fits of a process that learns nothing but its mean; None where it learns more.

    Hyperparameters, a scale of the targets and a noise added for stability depend on every row.
    """
    learned = model.optimizer is not None or model.kernel is None or model.normalize_y
    several = np.ndim(model.y_train_) > 1 or len(model.y_train_) != n or model.jitter_
    if learned or several or (model.row_weight_ != 1.0).any():
        return None
    mean = model.leave_one_out().mean
    return ProcessFits(mean, model.y_train_ - mean)
