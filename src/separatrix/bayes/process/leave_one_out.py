"""Leave-one-out predictions of a Gaussian process in closed form.

y without row i:   mean yᵢ − αᵢ / Pᵢᵢ,   variance 1 / Pᵢᵢ

Hyperparameters stay as they are; the trend is estimated again without the row. Of a row of weight w
one of w equal rows is left out, so that w − 1 of them still count.

C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006, section 5.4.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.bayes.process.evidence import Factored, TrainingRows
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
