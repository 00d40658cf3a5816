"""A process of two classes through inducing points: the best normal q(u), by passes over the rows.

With whitened values v = L⁻¹u at the points, a = L⁻¹κ(Z, x) and f = a·v + what these do not span,

    F(q) = Σ w E_q[y f − log(1 + eᶠ)] − KL(q(v) ‖ N(0, I)) ≤ log p(y),     q(v) = N(B⁻¹b, B⁻¹)

A row is to q what a normal observation is, of precision λ and target E f + (y − E σ)/λ:

    λ = E σ(f)(1 − σ(f)),     B = I + Σ wλ a aᵀ,     b = Σ w (y − E σ + λ E f) a

so a pass over the rows is a step of Newton's kind, and at its fixed point the derivatives of F by
hyperparameters and points are those of a process with these observations.

M. Opper and C. Archambeau, "The variational Gaussian approximation revisited", Neural Computation
21, 2009. J. Hensman, A. Matthews and Z. Ghahramani, "Scalable variational Gaussian process
classification", 2015.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import linalg

from separatrix.bayes.process.classification.loops import expected_likelihood
from separatrix.bayes.process.inducing.bound import CollapsedBound
from separatrix.bayes.process.inducing.gradient import GradientSums
from separatrix.bayes.process.inducing.points import InducingPoints, groups
from separatrix.bayes.process.inducing.search import Model, Source
from separatrix.bayes.process.inducing.sums import InducingSums
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.matrices.cholesky import cholesky_factor
from separatrix.rows.block import Block, Floats, unit_weights
from separatrix.threads import parallel_map

#: Passes at most, and the least part of a step.
PASSES, LEAST_PART = 100, 0.004
#: Difference in nats of q and the next after which only that follows: in single precision, else.
SEARCHED, FINAL = 1e-5, 1e-14
#: Precisions of rows below this are raised to it: they count for nothing.
LEAST_PRECISION = 1e-100


@dataclass(frozen=True)
class Variational:
    """q(v) = N(B⁻¹b, B⁻¹) with B = I + Φ, by Φ (``gram``) and b (``inner``)."""

    gram: Floats
    inner: Floats

    @classmethod
    def prior(cls, m: int) -> Variational:
        """N(0, I)."""
        return cls(np.zeros((m, m)), np.zeros(m))

    @cached_property
    def factor(self) -> Floats:
        """The Cholesky factor of B."""
        found = cholesky_factor(np.eye(len(self.inner)) + self.gram)
        if found is None:  # Φ is positive semi-definite unless it is not finite
            raise FloatingPointError("the sums of the inducing points are not finite")
        return np.tril(found)

    @cached_property
    def inverse_factor(self) -> Floats:
        """L_B⁻ᵀ."""
        inverse = linalg.solve_triangular(self.factor, np.eye(len(self.inner)), lower=True)
        return np.ascontiguousarray(inverse.T)

    @cached_property
    def mean(self) -> Floats:
        """B⁻¹b."""
        return np.asarray(linalg.cho_solve((self.factor, True), self.inner))

    @cached_property
    def divergence(self) -> float:
        """KL(q ‖ N(0, I))."""
        trace = float(np.vdot(self.inverse_factor, self.inverse_factor)) - len(self.inner)
        log_determinant = 2.0 * float(np.log(np.diagonal(self.factor)).sum())
        return 0.5 * (trace + float(self.mean @ self.mean) + log_determinant)

    def distance(self, other: Variational) -> float:
        """The divergence of two that are close, to second order."""
        shift = self.factor.T @ (other.mean - self.mean)
        change = self.inverse_factor.T @ (other.gram - self.gram) @ self.inverse_factor
        return 0.5 * float(shift @ shift) + 0.25 * float(np.vdot(change, change))

    def toward(self, other: Variational, part: float) -> Variational:
        """Between this and the other, by sums."""
        return Variational(
            self.gram + part * (other.gram - self.gram),
            self.inner + part * (other.inner - self.inner),
        )

    def share_left(self, step: Floats, then: Floats) -> float:
        """How much of a step of the mean the next one repeats; below zero where it turns back."""
        before, after = self.factor.T @ step, self.factor.T @ then
        return float(before @ after / max(float(before @ before), 1e-300))

    def moments(self, a: Floats, diagonal: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of f of some rows, from their whitened kernel values."""
        shrunk = a @ self.inverse_factor.astype(a.dtype, copy=False)
        left = np.maximum(diagonal - np.einsum("ij,ij->i", a, a), 0.0)
        mean = np.asarray(a @ self.mean.astype(a.dtype, copy=False), dtype=float)
        return mean, np.asarray(left + np.einsum("ij,ij->i", shrunk, shrunk), dtype=float)


@dataclass(frozen=True)
class Observations:
    """Rows as q sees them: E log(1 + eᶠ), E f, y − E σ and λ."""

    softplus: Floats
    mean: Floats
    slope: Floats
    precision: Floats

    @classmethod
    def of(cls, q: Variational, a: Floats, diagonal: Floats, y: Floats) -> Observations:
        """Those of rows with whitened kernel values a and classes y."""
        mean, variance = q.moments(a, diagonal)
        softplus, probability, precision = (np.empty(len(mean)) for _ in range(3))
        expected_likelihood(mean, variance, softplus, probability, precision)
        return cls(softplus, mean, y - probability, np.maximum(precision, LEAST_PRECISION))


class ObservationSums:
    """The next Φ and b, and Σ w E[y f − log(1 + eᶠ)], of some rows."""

    def __init__(self, inducing: InducingPoints, q: Variational, single: bool = False) -> None:
        self.inducing, self.q, self.single = inducing, q, single
        m = len(inducing)
        self.gram, self.inner, self.likelihood, self.weight = (
            np.zeros((m, m)),
            np.zeros(m),
            0.0,
            0.0,
        )

    def fresh(self) -> Self:
        """The sums of no rows."""
        return type(self)(self.inducing, self.q, self.single)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        self.add(block.dense(), block.y, block.w)

    def add(self, x: Items, y: Floats, w: Floats | None = None) -> None:
        """Add rows (or objects) with classes (n x 1) and weights."""

        def part(rows: slice) -> tuple[Any, ...]:
            return self._part(take_items(x, rows), y[rows, 0], None if w is None else w[rows])

        for group in groups(n_items(x), len(self.inducing)):
            for gram, inner, likelihood in parallel_map(part, group):
                self.gram += gram
                self.inner += inner
                self.likelihood += likelihood
        self.weight += float(n_items(x) if w is None else w.sum())

    def _part(self, x: Items, y: Floats, w: Floats | None) -> tuple[Any, ...]:
        a, w = self.inducing.whitened(x, single=self.single), unit_weights(w, len(y))
        seen = Observations.of(self.q, a, self.inducing.diagonal(x), y)
        likelihood = float(w @ (y * seen.mean - seen.softplus))
        targets = w * (seen.slope + seen.precision * seen.mean)
        inner = np.asarray(a.T @ targets.astype(a.dtype, copy=False), dtype=float)
        a *= np.sqrt(w * seen.precision).astype(a.dtype)[:, None]
        return np.asarray(a.T @ a, dtype=float), inner, likelihood

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        for name in ("gram", "inner", "likelihood", "weight"):
            setattr(total, name, getattr(self, name) + getattr(other, name))
        return total

    @property
    def value(self) -> float:
        """F at q."""
        return self.likelihood - self.q.divergence

    @property
    def next(self) -> Variational:
        """q of the rows as the present q sees them."""
        return Variational(self.gram, self.inner)


class ClassBound(CollapsedBound):
    """F of a process of two classes, with the observations that the rows are to its q."""

    found: ObservationSums

    @classmethod
    def of(cls, found: ObservationSums) -> Self:
        """The bound with the sums of all rows at the best q."""
        sums = InducingSums(found.inducing, single=found.single)
        sums.weight, sums.gram, sums.inner = found.weight, found.gram, found.inner[:, None]
        bound = cls(sums, 1.0)
        bound.__dict__.update(found=found, lower=found.value)
        return bound


def best_bound(
    inducing: InducingPoints, rows: Source, start: Variational, *, single: bool
) -> ClassBound:
    """The best q by passes over the rows, each toward the q that the last one saw.

    Steps are shortened where the last one was seen to go too far, or did not gain.
    """
    here = rows.reduce(ObservationSums(inducing, start, single))
    part, passes, near = 1.0, 1, False
    while passes < PASSES and part > LEAST_PART and not near:
        target = here.next
        near = here.q.distance(target) <= (SEARCHED if single else FINAL)
        there = rows.reduce(ObservationSums(inducing, here.q.toward(target, part), single))
        passes += 1
        if there.value >= here.value - 1e-13 * (1.0 + abs(here.value)):
            share = here.q.share_left(target.mean - here.q.mean, there.next.mean - there.q.mean)
            part = min(1.0, part / max(1.0 - share, 0.5))
            here = there
        else:
            part, near = 0.5 * part, False
    return ClassBound.of(here)


class ObservationGradient(GradientSums):
    """Derivatives of F by hyperparameters and points: those of the rows as q sees them."""

    bound: ClassBound

    def _part(self, x: Items, y: Floats, w: Floats | None) -> tuple[Floats, Floats]:
        found = self.bound.found
        a = found.inducing.whitened(x, single=found.single)
        seen = Observations.of(found.q, a, found.inducing.diagonal(x), y[:, 0])
        targets = seen.mean + seen.slope / seen.precision
        weight = unit_weights(w, len(y)) * seen.precision
        return super()._part(x, targets[:, None], weight)


@dataclass
class LastQ:
    """The q of the last fixed point, from which the next one starts."""

    q: Variational | None = None


@dataclass(frozen=True)
class ClassModel(Model):
    """What is fitted: a kernel of f, without noise, and two classes."""

    last: LastQ = field(default_factory=LastQ)

    def noise_at(self, theta: Floats, x: Items) -> float:
        """Observations have precisions of their own."""
        del theta, x
        return 1.0

    def bound(self, theta: Floats, points: Items, rows: Source, *, single: bool) -> ClassBound:
        """F of some rows at the best q."""
        inducing, start = InducingPoints.of(self.function(theta), points), self.last.q
        if start is None or len(start.inner) != len(inducing):
            start = Variational.prior(len(inducing))
        found = best_bound(inducing, rows, start, single=single)
        self.last.q = found.found.q
        return found

    def gradient_sums(self, bound: CollapsedBound) -> ObservationGradient:
        """The derivatives of a bound through rows that are yet to be added."""
        return ObservationGradient.of(bound)
