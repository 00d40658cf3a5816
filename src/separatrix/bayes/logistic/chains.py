"""Chains that draw from the posterior of a logistic regression, each with its own generator.

All work in coordinates u in which the Laplace approximation is standard normal, or on θ itself.
Every step leaves the exact posterior invariant:

- independence: proposals from Student's t distribution of the Laplace approximation, many at once,
  accepted by Metropolis' rule on their ratios of densities; a Hamiltonian step in every batch moves
  a chain on that sits where proposals are rare;
- hamiltonian: leapfrog trajectories, H(u, r) = Ψ(θ̂ + F u) + ½ ‖r‖² with F Fᵀ = A⁻¹, whose errors a
  Metropolis step corrects; their step is chosen while warming up (dual averaging);
- polya_gamma: Gibbs steps, for two classes and whole weights,

      ω | θ ~ PG(w, zᵀθ),      θ | ω ~ N(Q⁻¹ Zᵀκ, Q⁻¹),      Q = Zᵀ diag(ω) Z + Λ,   κ = w (y − ½).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from separatrix.bayes.logistic.loops.polya_gamma import polya_gamma_variables
from separatrix.bayes.logistic.potential import Potential
from separatrix.rows.block import Floats

#: Probability of acceptance that dual averaging aims at, and the trajectory of a quarter period.
ACCEPTANCE, QUARTER = 0.8, 0.5 * np.pi
#: Leapfrog steps of a trajectory at most; its length varies by this fraction, so that no period is
#: hit again and again.
MOST_STEPS, JITTER = 64, 0.2
#: Proposals of a batch, after which there is a Hamiltonian step.
BATCH = 127


class Chain(Protocol):
    """Draws one after the other, and the proportion of proposals that were accepted."""

    accepted: float
    moves: int

    def warm_up(self, count: int) -> None:
        """Draws that are not used."""

    def draw(self, count: int) -> Floats:
        """The next ``count`` draws of θ."""


class HamiltonianChain:
    """Leapfrog trajectories from a draw of the approximation."""

    def __init__(self, target: Potential, seed: np.random.SeedSequence) -> None:
        self.target, self.rng = target, np.random.default_rng(seed)
        self.step, self.accepted, self.moves = 1.0, 0.0, 0
        self._move_to(self.rng.standard_normal(len(target.mean)))

    def _move_to(self, u: Floats) -> None:
        theta = self.target.to_theta(u)
        self.u, self.value = u, float(self.target.values(theta[None])[0])
        self.gradient = self.target.gradient(theta)

    def draw(self, count: int) -> Floats:
        """The next ``count`` draws of θ."""
        out = np.empty((count, len(self.u)))
        for i in range(count):
            self.move()
            out[i] = self.u
        return self.target.to_theta(out)

    def move(self) -> float:
        """One trajectory; returns its probability of acceptance."""
        target, u, gradient = self.target, self.u, self.gradient
        r = self.rng.standard_normal(len(u))
        stretch, level = self.rng.random(2)
        length = QUARTER * (1.0 + JITTER * (2.0 * stretch - 1.0))
        steps = min(max(int(np.ceil(length / self.step)), 1), MOST_STEPS)
        e, energy = min(length / steps, self.step), self.value + 0.5 * float(r @ r)
        r -= 0.5 * e * gradient
        for step in range(steps):
            u = u + e * r
            theta = target.to_theta(u)
            gradient = target.gradient(theta)
            r -= (0.5 if step == steps - 1 else 1.0) * e * gradient
        value = float(target.values(theta[None])[0])
        change = value + 0.5 * float(r @ r) - energy
        chance = float(np.exp(min(-change, 0.0))) if np.isfinite(change) else 0.0
        if level < chance:
            self.u, self.value, self.gradient = u, value, gradient
        self.accepted += chance
        self.moves += 1
        return chance

    def warm_up(self, count: int) -> None:
        """Dual averaging of the logarithm of the step (Nesterov; Hoffman and Gelman)."""
        mean, error, center = np.log(self.step), 0.0, np.log(2.0 * self.step)
        for i in range(1, count + 1):
            error += (ACCEPTANCE - self.move() - error) / (i + 10.0)
            here = center - np.sqrt(i) / 0.05 * error
            mean += i**-0.75 * (here - mean)
            self.step = float(np.clip(np.exp(here), 1e-6, QUARTER))
        self.step = float(np.clip(np.exp(mean), 1e-6, QUARTER))
        self.accepted, self.moves = 0.0, 0


class IndependenceChain(HamiltonianChain):
    """Proposals from the approximation in batches, and a Hamiltonian step after each."""

    def draw(self, count: int) -> Floats:
        """The next ``count`` draws of θ."""
        out = np.empty((count, len(self.u)))
        for start in range(0, count, BATCH + 1):
            stop = min(start + BATCH + 1, count)
            if stop - start > 1:
                self._batch(out[start : stop - 1])
            self.move()
            out[stop - 1] = self.u
        return self.target.to_theta(out)

    def _batch(self, out: Floats) -> None:
        """Metropolis steps; the ratios of all proposals are known before the first is taken."""
        proposed = proposals(self.rng, len(out), len(self.u))
        logs = np.log(self.rng.random(len(out)))
        ratios = log_ratios(self.target, np.vstack([self.u, proposed]))
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
            self._move_to(proposed[at])


class PolyaGammaChain:
    """Gibbs steps from a draw of the approximation."""

    def __init__(self, target: Potential, seed: np.random.SeedSequence) -> None:
        self.target, self.rng = target, np.random.default_rng(seed)
        self.theta = target.to_theta(self.rng.standard_normal(len(target.mean)))
        self.state = self.rng.integers(1, 2**64, 4, dtype=np.uint64)
        self.counts = np.rint(target.w).astype(np.int64)
        half = 0.5 * (target.w @ target.z if len(target.w) else target.z.sum(axis=0))
        self.pull = target.linear - half  # Zᵀκ
        self.accepted, self.moves = 0.0, 0

    def draw(self, count: int) -> Floats:
        """The next ``count`` draws of θ."""
        z, out = self.target.z, np.empty((count, len(self.theta)))
        omega = np.empty(len(z))
        for i in range(count):
            polya_gamma_variables(z @ self.theta, self.counts, self.state, omega)
            q = (z.T * omega) @ z
            q[np.diag_indices_from(q)] += self.target.precision
            factor = np.linalg.cholesky(q)
            half = np.linalg.solve(factor, self.pull) + self.rng.standard_normal(len(q))
            self.theta = np.linalg.solve(factor.T, half)
            out[i] = self.theta
        self.accepted += count
        self.moves += count
        return out

    def warm_up(self, count: int) -> None:
        """Draws that are not used."""
        self.draw(count)
        self.accepted, self.moves = 0.0, 0


def degrees_of(p: int) -> float:
    """Degrees of freedom of proposals: tails heavier than any posterior's, at little cost."""
    return 4.0 * p + 4.0


def proposals(rng: np.random.Generator, count: int, p: int) -> Floats:
    """Points of the multivariate t distribution about the maximum (count x p)."""
    degrees = degrees_of(p)
    stretch = np.sqrt(degrees / rng.chisquare(degrees, count))
    return np.asarray(rng.standard_normal((count, p)) * stretch[:, None])


def log_ratios(target: Potential, u: Floats) -> Floats:
    """log posterior − log density of proposals at points u, up to a constant."""
    degrees = degrees_of(u.shape[1])
    tails = 0.5 * (degrees + u.shape[1]) * np.log1p(np.sum(u**2, axis=1) / degrees)
    return np.asarray(tails - target.values(target.to_theta(u)))


def efficiency(target: Potential, seed: np.random.SeedSequence) -> float:
    """Effective proportion (Σr)²/(n Σr²) of proposals weighted by their ratios r."""
    count = 2 * BATCH
    u = proposals(np.random.default_rng(seed), count, len(target.mean))
    ratios = log_ratios(target, u)
    finite = np.where(np.isfinite(ratios), ratios, -np.inf)
    weight = np.exp(finite - finite.max())
    return float(weight.sum() ** 2 / (count * np.sum(weight**2)))
