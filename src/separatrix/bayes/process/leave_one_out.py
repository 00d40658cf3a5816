"""Leave-one-out predictions of a Gaussian process in closed form.

y without row i:   mean yᵢ − αᵢ / Pᵢᵢ,   variance 1 / Pᵢᵢ

Hyperparameters stay as they are; the trend is estimated again without the row. Of a row of weight w
one of w equal rows is left out, so that w − 1 of them still count.

C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006, section 5.4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.bayes.process.evidence import Factored, TrainingRows
from separatrix.matrices.cholesky import cholesky_solve
from separatrix.matrices.inverse import cholesky_inverse
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class LeaveOneOut:
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
    found: Factored, rows: TrainingRows, center: Floats, scale: Floats
) -> LeaveOneOut:
    """Leave-one-out means and variances in units of the target, y = center + scale · y′."""
    inverse = np.diagonal(cholesky_inverse(found.factor.copy())).copy()
    if len(found.trend_factor):
        part = linalg.solve_triangular(found.trend_factor, found.projected.T, lower=True)
        inverse -= np.einsum("ij,ij->j", part, part)
    variance = (1.0 / np.maximum(inverse, np.finfo(float).tiny))[:, None]
    mean = rows.y - found.alpha * variance
    mean, variance = _with_other_copies(mean, variance, rows, found.noise)
    residual = (rows.y - mean) / np.sqrt(variance)
    log_density = -0.5 * (residual**2 + np.log(2.0 * np.pi * variance)) - np.log(scale)
    mean, std = center + scale * mean, scale * np.sqrt(variance)
    flat = rows.y.shape[1] == 1
    return LeaveOneOut(
        mean[:, 0] if flat else mean,
        std[:, 0] if flat else std,
        log_density.sum(axis=1),
        rows.w,
    )


def _with_other_copies(
    mean: Floats, variance: Floats, rows: TrainingRows, noise: Floats
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
        base, new, found = model.predict(X), model._items(X), model._factored
        function, m = found.split.function, len(base)
        parts = np.zeros((m, len(self.own)))
        if function is not None:
            parts += np.asarray(function.prepare_exact(model.X_train_).rows(new), dtype=float)
        rest = model.basis_.of_rows(new) - parts @ found.projected
        parts = cholesky_solve(found.factor, parts.T).T
        if len(found.trend_factor):
            coefs = linalg.cho_solve((found.trend_factor, True), rest.T)
            parts = parts + (found.projected @ coefs).T
        return np.asarray(base[:, None] - parts * self.error)


def process_fits(model: Any, n: int) -> ProcessFits | None:
    """The fits of a process that learns nothing but its mean; None where it learns more.

    Hyperparameters, a scale of the targets and a noise added for stability depend on every row.
    """
    learned = model.optimizer is not None or model.kernel is None or model.normalize_y
    several = np.ndim(model.y_train_) > 1 or len(model.y_train_) != n or model.jitter_
    if learned or several or (model.row_weight_ != 1.0).any():
        return None
    own = model.leave_one_out().mean
    return ProcessFits(own, model.y_train_ - own)
