"""The negative log posterior in standardized coordinates, over rows in memory or in a stream.

    Ψ(θ) = Σ w (log Σₖ e^sₖ − s_y) + ½ Σ λⱼ θⱼ²,        s = C V z,    θ = V row by row

λ = 1/σ² for columns and 1/σ₀² for the intercept. Every evaluation is one pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.bayes.logistic.coordinates import Coordinates
from separatrix.probability.likelihood.derivatives import LogisticDesign, LogisticHessian
from separatrix.rows.block import Floats
from separatrix.rows.rows import Rows


@dataclass(frozen=True)
class Evaluation:
    """Ψ at a point, its gradient and its Hessian; and the smallest margin of all rows.

    A positive margin proves that the point separates the classes.
    """

    value: float
    gradient: Floats
    hessian: Floats
    margin: float


@dataclass(frozen=True)
class LogisticPosterior:
    """Rows, their design, and the precision of the prior of each column of z.

    ``scale`` is what θ is divided by for the columns of ``design``. ``proportions`` are those of
    the classes, ``weight`` is Σ w.
    """

    rows: Rows
    design: LogisticDesign
    scale: Floats
    precision: Floats
    weight: float
    proportions: Floats
    coordinates: Coordinates

    @property
    def n_penalized(self) -> int:
        """Coefficients with the variance σ²: all but the intercepts."""
        c = self.coordinates
        return c.n_scores * (c.width - int(c.intercept))

    @property
    def precisions(self) -> Floats:
        """λ of every θ."""
        return np.tile(self.precision, self.coordinates.n_scores)

    def with_scale(self, prior_scale: float) -> LogisticPosterior:
        """The same with another σ."""
        precision = self.precision.copy()
        precision[: len(precision) - int(self.coordinates.intercept)] = prior_scale**-2
        return replace(self, precision=precision)

    def columns_of(self, theta: Floats) -> Floats:
        """θ without its intercepts (zero there)."""
        v = theta.reshape(self.coordinates.n_scores, -1).copy()
        if self.coordinates.intercept:
            v[:, -1] = 0.0
        return v.ravel()

    def point(self, theta: Floats) -> Floats:
        """Coefficients of the design's columns (width x scores) for the passes over rows."""
        v = theta.reshape(self.coordinates.n_scores, -1)
        return np.ascontiguousarray((self.coordinates.basis @ v / self.scale).T)

    def at(self, theta: Floats) -> Evaluation:
        """Value, gradient and Hessian in one pass."""
        found = self.rows.reduce(LogisticHessian(self.design, self.point(theta)))
        penalty = self.precisions * theta
        hessian = self.pulled_back(found.hessian)
        np.einsum("ii->i", hessian)[:] += self.precisions
        return Evaluation(
            float(found.value) + 0.5 * float(penalty @ theta),
            self.gradient_of(found.gradient) + penalty,
            hessian,
            float(found.margin),
        )

    def gradient_of(self, sums: Floats) -> Floats:
        """A gradient by the scores of the design (width x scores) as one by θ."""
        return np.asarray(self.coordinates.basis.T @ (sums / self.scale[:, None]).T).ravel()

    def pulled_back(self, hessian: Floats) -> Floats:
        """A Hessian over (score, column) of the design as one over θ."""
        basis, m = self.coordinates.basis, len(self.scale)
        k, c = basis.shape
        scaled = hessian.reshape(k, m, k, m) / (self.scale[:, None, None] * self.scale)
        if k == 1:
            return np.asarray(scaled.reshape(m, m))
        half = np.tensordot(basis, scaled, (0, 0))
        full = np.tensordot(half, basis, (2, 0))  # c, m, m, c
        return np.ascontiguousarray(full.transpose(0, 1, 3, 2).reshape(c * m, c * m))

    def pushed_forward(self, covariance: Floats) -> Floats:
        """A covariance of θ as one over (score, column) of the design."""
        basis, m = self.coordinates.basis, len(self.scale)
        k, c = basis.shape
        full = covariance.reshape(c, m, c, m) / (self.scale[:, None, None] * self.scale)
        if k == 1:
            return np.asarray(full.reshape(m, m))
        half = np.tensordot(basis, full, (1, 0))
        wide = np.tensordot(half, basis, (2, 1))  # k, m, m, k
        return np.ascontiguousarray(wide.transpose(0, 1, 3, 2).reshape(k * m, k * m))

    def start(self) -> Floats:
        """No columns, and the log odds of the classes."""
        v = np.zeros((self.coordinates.n_scores, len(self.scale)))
        if self.coordinates.intercept:
            logs = np.log(self.proportions)
            if len(logs) == 2:
                v[0, -1] = logs[1] - logs[0]
            else:
                v[:, -1] = 2.0 * self.coordinates.basis.T @ logs
        return v.ravel()


class OnePass:
    """Ψ as Newton's method asks for it: value, gradient and Hessian of a point in one pass."""

    def __init__(self, problem: LogisticPosterior) -> None:
        self.problem = problem
        self._last: tuple[bytes, Evaluation] | None = None
        self.passes = 0

    def at(self, theta: Floats) -> Evaluation:
        """All three, computed once for each point."""
        key = theta.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = (key, self.problem.at(theta))
            self.passes += 1
        return self._last[1]

    def value(self, x: Floats) -> float:
        """Ψ(θ)."""
        return self.at(x).value

    def gradient(self, x: Floats) -> Floats:
        """∇Ψ(θ)."""
        return self.at(x).gradient

    def hessian(self, x: Floats) -> Floats:
        """∇²Ψ(θ)."""
        return self.at(x).hessian
