"""Predictive distributions of numbers: what a Bayesian regression says about new rows.

y | x ~ N(m(x), s(x)²), or Student's t about m(x) where the variance itself was integrated out
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from separatrix.arrays import Floats
from separatrix.messages import InputError


@dataclass(frozen=True)
class PredictiveDistribution:
    """Distribution of the target of every new row, one by one.

        y = m + s t,    t ~ N(0, 1), or Student's t with ν degrees of freedom

    Parameters
    ----------
    mean : ndarray of shape (n,)
        m.
    scale : ndarray of shape (n,)
        s, the standard deviation of the normal distribution.
    degrees : float, default=inf
        ν; infinite for a normal distribution.

    See Also
    --------
    BayesianRidge : its ``predictive`` returns one.
    GaussianProcessRegressor : likewise.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> predictive = sx.PredictiveDistribution(np.array([1.0, 2.0]), np.array([0.5, 1.0]))
    >>> predictive.interval(0.95).round(2)
    array([[0.02, 1.98],
           [0.04, 3.96]])
    >>> predictive.pit(np.array([1.0, 2.0])).tolist()
    [0.5, 0.5]
    """

    mean: Floats
    scale: Floats
    degrees: float = np.inf

    @cached_property
    def _standard(self) -> Any:
        return stats.norm if np.isinf(self.degrees) else stats.t(self.degrees)

    @property
    def std(self) -> Floats:
        """Standard deviations; not finite with two degrees of freedom or fewer."""
        return np.asarray(self.scale * float(self._standard.std()))

    def quantile(self, probability: float) -> Floats:
        """The value that the target of each row stays below with this probability."""
        return np.asarray(self.mean + self.scale * self._standard.ppf(probability))

    def interval(self, level: float = 0.95) -> Floats:
        """Central intervals (n x 2) that contain the target with probability ``level``."""
        if not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} must be between 0 and 1.")
        half = self.scale * self._standard.isf((1.0 - level) / 2.0)
        return np.stack([self.mean - half, self.mean + half], axis=1)

    def residuals(self, y: Any) -> Floats:
        """Standardized residuals (y − m)/s."""
        return np.asarray((np.asarray(y, dtype=float) - self.mean) / self.scale)

    def log_density(self, y: Any) -> Floats:
        """log p(y) of every row; its negative mean is the negative log predictive density."""
        return np.asarray(self._standard.logpdf(self.residuals(y)) - np.log(self.scale))

    def pit(self, y: Any) -> Floats:
        """P(target ≤ y) of every row: uniform on [0, 1] where the distributions are right."""
        return np.asarray(self._standard.cdf(self.residuals(y)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Floats:
        """Draws (n x n_samples) of the target of each row by itself."""
        rng = np.random.default_rng(random_state)
        drawn = self._standard.rvs(size=(len(self.mean), n_samples), random_state=rng)
        return np.asarray(self.mean[:, None] + self.scale[:, None] * drawn)
