"""Likelihoods of classes and of counts as convex functions of the scores f of the rows.

    Σ c ℓ(y, f),      ℓ = log Σₖ exp(fₖ) − f_y,      or  ℓ = exp(f) − y f  of counts

Two classes have one score, ℓ = log(1 + exp(∓f)); the loss of counts has a constant that makes it
half the Poisson deviance. With m the mean of the rows, probabilities or
expected counts, the derivative by f is −u, u = c (y − m), and the second derivative S.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax, xlogy

from separatrix.arrays import Floats
from separatrix.messages import InputError

#: Exponents up to which exp is finite, with room for sums and for a factor.
LARGEST_EXPONENT = 600.0


class ScoreLikelihood(Protocol):
    """What a solver needs: scores, means and targets are n x k."""

    @property
    def cost(self) -> Floats:
        """The cost of every row, c."""

    @property
    def outputs(self) -> int:
        """How many scores a row has."""

    def loss(self, f: Floats) -> float:
        """Σ c ℓ."""

    def means(self, f: Floats) -> Floats:
        """The mean of y at these scores."""

    def pull(self, m: Floats) -> Floats:
        """The downward slope u."""

    def curvature(self, m: Floats, v: Floats) -> Floats:
        """S v."""

    def own_curvature(self, m: Floats) -> Floats:
        """The second derivative by each score alone."""

    def best_offsets(self, f: Floats) -> Floats:
        """What to add to every row of f, so that u sums to zero."""


@dataclass(frozen=True, eq=False)
class ClassLikelihood:
    """An indicator of each class (n x k), or of the second of two (n x 1), and costs."""

    hot: Floats
    cost: Floats

    @property
    def outputs(self) -> int:
        """How many scores a row has."""
        return len(self.hot.T)

    def means(self, f: Floats) -> Floats:
        """Probabilities of the second of two classes, or of each."""
        return np.asarray(expit(f) if f.shape[1] == 1 else softmax(f, axis=1))

    def loss(self, f: Floats) -> float:
        """Σ c ℓ."""
        if f.shape[1] == 1:
            return float(-self.cost @ log_expit(np.where(self.hot > 0.5, f, -f))[:, 0])
        return float(-self.cost @ (self.hot * log_softmax(f, axis=1)).sum(axis=1))

    def pull(self, m: Floats) -> Floats:
        """The downward slope u."""
        return self.cost[:, None] * (self.hot - m)

    def curvature(self, m: Floats, v: Floats) -> Floats:
        """S v."""
        inner = m * v if m.shape[1] == 1 else (m * v).sum(axis=1, keepdims=True)
        return np.asarray(self.cost[:, None] * m * (v - inner))

    def own_curvature(self, m: Floats) -> Floats:
        """The second derivative by each score alone."""
        return np.asarray(self.cost[:, None] * m * (1.0 - m))

    def best_offsets(self, f: Floats) -> Floats:
        """What to add to every row of f, so that u sums to zero."""
        shift = np.zeros(f.shape[1])
        for _ in range(60):
            p = self.means(f + shift)
            pull = self.pull(p).sum(axis=0)
            if np.abs(pull).max() <= 1e-15 * self.cost.sum():
                break
            if len(shift) == 1:
                hessian = np.array([[self.own_curvature(p).sum()]])
            else:
                weighted = self.cost[:, None] * p
                hessian = np.diag(weighted.sum(axis=0)) - p.T @ weighted
            # a long step where probabilities are near zero or one would overshoot
            step = np.linalg.lstsq(hessian, pull, rcond=1e-14)[0]
            shift += np.clip(step, -4.0, 4.0)
        return shift


@dataclass(frozen=True, eq=False)
class CountLikelihood:
    """Counts (n x 1), whose means are exp(f), and costs."""

    counts: Floats
    cost: Floats
    outputs = 1

    def means(self, f: Floats) -> Floats:
        """Expected counts."""
        return np.asarray(np.exp(np.minimum(f, LARGEST_EXPONENT)))

    def loss(self, f: Floats) -> float:
        """Σ c (m − y + y log(y/m)), half the deviance."""
        m, y = self.means(f), self.counts
        return float(self.cost @ (m - y + xlogy(y, y) - y * f)[:, 0])

    def pull(self, m: Floats) -> Floats:
        """The downward slope u."""
        return self.cost[:, None] * (self.counts - m)

    def curvature(self, m: Floats, v: Floats) -> Floats:
        """S v."""
        return self.own_curvature(m) * v

    def own_curvature(self, m: Floats) -> Floats:
        """The second derivative by the score."""
        return self.cost[:, None] * m

    def best_offsets(self, f: Floats) -> Floats:
        """What to add to every row of f, so that u sums to zero."""
        total = float(self.cost @ self.counts[:, 0])
        return np.array([np.log(total / float(self.cost @ self.means(f)[:, 0]))])


def refuse_negative_counts(counts: Floats) -> None:
    """Refuse targets that are not means of counts."""
    if not (counts >= 0.0).all():
        row = int(np.argmin(counts >= 0.0))
        raise InputError(
            f"The target has the value {float(counts.ravel()[row]):g}, and counts are not "
            "negative.",
            remedy="Use a regressor of numbers of any sign.",
        )


def refuse_no_events(total: float) -> None:
    """Refuse counts that are all zero, by their sum or mean."""
    if total == 0.0:
        raise InputError(
            "All counts are zero: the logarithm of their mean is not finite.",
            remedy="Give rows with at least one event.",
        )
