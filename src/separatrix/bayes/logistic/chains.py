"""Chains that draw from the posterior of a logistic regression, each with its own generator.

All work in coordinates u in which the Laplace approximation is standard normal, or on θ itself.
Every step leaves the exact posterior invariant:

- independence: proposals from Student's t distribution of the Laplace approximation, many at once,
  accepted by Metropolis' rule on their ratios of densities; a Hamiltonian step in every batch moves
  a chain on that sits where proposals are rare;
- hamiltonian: leapfrog trajectories; the step is chosen while warming up (dual averaging);
- polya_gamma: Gibbs steps, for two classes and whole weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.bayes.logistic.loops.hamiltonian import (
    hamiltonian_draws,
    potentials,
    whitened_gradient,
)
from separatrix.bayes.logistic.loops.polya_gamma import polya_gamma_draws
from separatrix.bayes.logistic.loops.potential import BLOCK
from separatrix.rows.block import Floats

#: Probability of acceptance that dual averaging aims at, and the trajectory of a quarter period.
TARGET, QUARTER = 0.8, 0.5 * np.pi
#: Proposals of a batch, after which there is a Hamiltonian step.
BATCH = 127


@dataclass(frozen=True)
class Target:
    """The posterior as the loops take it: rows in blocks, prior, and the approximation.

    ``linear`` is Σ w y z, ``basis`` holds the scores in rows of V.
    """

    z: Floats
    w: Floats
    counts: NDArray[np.int64]
    basis: Floats
    linear: Floats
    half: Floats
    precision: Floats
    mean: Floats
    factor: Floats

    def arguments(self) -> tuple[Any, ...]:
        """What potentials take before the points, with work arrays of its own."""
        several = len(self.basis) > 1
        work = np.empty((max(2 * BATCH + 3, len(self.basis) + 4), BLOCK))
        coef = np.empty((2 * len(self.basis), self.z.shape[1]))
        basis = self.basis if several else None
        return self.z, self.w, basis, self.linear, self.precision, work, coef


class HamiltonianChain:
    """Leapfrog trajectories from a draw of the approximation."""

    def __init__(self, target: Target, seed: np.random.SeedSequence) -> None:
        self.target, self.rng = target, np.random.default_rng(seed)
        self.u = self.rng.standard_normal(len(target.mean))
        self.step, self.accepted, self.moves = 1.0, 0.0, 0
        self.arguments = target.arguments()
        self.vectors = np.empty((5, len(self.u)))
        self.start, self.value = np.empty_like(self.u), np.empty(2)
        self._evaluate()

    def _evaluate(self) -> None:
        """Gradient and value at the state, which trajectories begin with."""
        theta = self.to_theta(self.u[None])
        potentials(*self.arguments, theta, self.value[:1])
        sums = self.vectors[3]
        whitened_gradient(*self.arguments, self.target.factor, theta[0], sums, self.start)

    def draw(self, count: int) -> Floats:
        """The next ``count`` draws of u."""
        t, out = self.target, np.empty((count, len(self.u)))
        normals = self.rng.standard_normal(out.shape)
        uniforms = self.rng.random((count, 2))
        rate = hamiltonian_draws(
            *self.arguments, t.mean, t.factor, self.u, self.start, self.value, normals, uniforms,
            QUARTER, self.step, self.vectors, out,
        )  # fmt: skip
        self.accepted += rate * count
        self.moves += count
        return out

    def warm_up(self, count: int) -> None:
        """Dual averaging of the logarithm of the step (Nesterov; Hoffman and Gelman)."""
        mean, error, center = np.log(self.step), 0.0, np.log(2.0 * self.step)
        for i in range(1, count + 1):
            before = self.accepted
            self.draw(1)
            error += (TARGET - (self.accepted - before) - error) / (i + 10.0)
            here = center - np.sqrt(i) / 0.05 * error
            mean += i**-0.75 * (here - mean)
            self.step = float(np.clip(np.exp(here), 1e-6, QUARTER))
        self.step = float(np.clip(np.exp(mean), 1e-6, QUARTER))
        self.accepted, self.moves = 0.0, 0

    def to_theta(self, draws: Floats) -> Floats:
        """θ of draws of u."""
        return np.ascontiguousarray(self.target.mean + draws @ self.target.factor.T)


class IndependenceChain(HamiltonianChain):
    """Proposals from the approximation in batches, and a Hamiltonian step after each."""

    def draw(self, count: int) -> Floats:
        """The next ``count`` draws of u."""
        out = np.empty((count, len(self.u)))
        for start in range(0, count, BATCH + 1):
            stop = min(start + BATCH + 1, count)
            if stop - start > 1:
                self._batch(out[start : stop - 1])
            out[stop - 1] = super().draw(1)[0]
        return out

    def _batch(self, out: Floats) -> None:
        """Metropolis steps; the ratios of all proposals are known before the first is taken."""
        proposed = proposals(self.rng, len(out), len(self.u))
        logs = np.log(self.rng.random(len(out)))
        points = np.vstack([self.u, proposed])
        ratios = log_ratios(self.arguments, self.to_theta(points), points)
        now, at = float(ratios[0]), -1
        chosen = np.empty(len(out), dtype=np.intp)
        for i, (ratio, level) in enumerate(zip(ratios[1:].tolist(), logs.tolist(), strict=True)):
            if level < ratio - now:
                now, at = ratio, i
                self.accepted += 1.0
            chosen[i] = at
        self.moves += len(out)
        out[:] = np.where(chosen[:, None] < 0, self.u, proposed[chosen])
        if at >= 0:
            self.u[:] = proposed[at]
            self._evaluate()


class PolyaGammaChain:
    """Gibbs steps from a draw of the approximation."""

    def __init__(self, target: Target, seed: np.random.SeedSequence) -> None:
        self.target = target
        rng = np.random.default_rng(seed)
        self.theta = target.mean + target.factor @ rng.standard_normal(len(target.mean))
        self.state = rng.integers(1, 2**64, 4, dtype=np.uint64)
        self.accepted, self.moves = 0.0, 0

    def draw(self, count: int) -> Floats:
        """The next ``count`` draws of θ."""
        t, out = self.target, np.empty((count, len(self.theta)))
        polya_gamma_draws(t.z, t.counts, t.half, t.precision, self.theta, self.state, out)
        self.accepted += count
        self.moves += count
        return out

    def warm_up(self, count: int) -> None:
        """Draws that are not used."""
        self.draw(count)
        self.accepted, self.moves = 0.0, 0

    def to_theta(self, draws: Floats) -> Floats:
        """The draws themselves."""
        return draws


def degrees_of(p: int) -> float:
    """Degrees of freedom of proposals: tails heavier than any posterior's, at little cost."""
    return 4.0 * p + 4.0


def proposals(rng: np.random.Generator, count: int, p: int) -> Floats:
    """Points of the multivariate t distribution about the maximum (count x p)."""
    degrees = degrees_of(p)
    stretch = np.sqrt(degrees / rng.chisquare(degrees, count))
    return np.asarray(rng.standard_normal((count, p)) * stretch[:, None])


def log_ratios(arguments: tuple[Any, ...], thetas: Floats, u: Floats) -> Floats:
    """log posterior − log density of proposals at points u, up to a constant."""
    values, degrees = np.empty(len(u)), degrees_of(u.shape[1])
    potentials(*arguments, thetas, values)
    tails = 0.5 * (degrees + u.shape[1]) * np.log1p(np.sum(u**2, axis=1) / degrees)
    return np.asarray(tails - values)


def efficiency(target: Target, seed: np.random.SeedSequence) -> float:
    """Effective proportion (Σr)²/(n Σr²) of proposals weighted by their ratios r."""
    rng, count = np.random.default_rng(seed), 2 * BATCH
    u, arguments = proposals(rng, count, len(target.mean)), target.arguments()
    thetas = np.ascontiguousarray(target.mean + u @ target.factor.T)
    halves = (slice(0, BATCH), slice(BATCH, count))
    ratios = np.concatenate([log_ratios(arguments, thetas[at], u[at]) for at in halves])
    finite = np.where(np.isfinite(ratios), ratios, -np.inf)
    weight = np.exp(finite - finite.max())
    return float(weight.sum() ** 2 / (count * np.sum(weight**2)))
