"""Posterior sampling: which method, the chains on threads, and their draws in the table's units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import fft
from scipy.special import expit, ndtri
from scipy.stats import rankdata

from separatrix.arrays import Floats, Matrix, NDArray
from separatrix.bayes import loops
from separatrix.bayes.laplace import LaplacePosterior
from separatrix.geometry.class_scores import softmax
from separatrix.matrices.products import multiply
from separatrix.messages import InputError, check_option
from separatrix.notebook import Shown
from separatrix.optimize.convex import Certificate
from separatrix.parameters import describe_parameters
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Block, Terms, concatenate
from separatrix.threads import one_blas_thread, parallel_map, pieces

if TYPE_CHECKING:
    from separatrix.bayes.bayesian_logistic_regression import BayesianLogisticRegression


# -------------------------------------------------------------------------------------------------
# Chains that draw from the posterior of a logistic regression, each with its own generator.
#
# All work in coordinates u in which the Laplace approximation is standard normal, or on θ itself.
# Every step leaves the exact posterior invariant:
#
# - independence: proposals from Student's t distribution of the Laplace approximation, many at
#   once,
#   accepted by Metropolis' rule on their ratios of densities; a Hamiltonian step in every batch
#     moves
#   a chain on that sits where proposals are rare;
# - hamiltonian: leapfrog trajectories, H(u, r) = Ψ(θ̂ + F u) + ½ ‖r‖² with F Fᵀ = A⁻¹, whose errors
#   a
#   Metropolis step corrects; their step is chosen while warming up (dual averaging);
# - polya_gamma: Gibbs steps, for two classes and whole weights,
#
#     ω | θ ~ PG(w, zᵀθ),      θ | ω ~ N(Q⁻¹ Zᵀκ, Q⁻¹),      Q = Zᵀ diag(ω) Z + Λ,   κ = w (y − ½).


#: The trajectory of a quarter period.
QUARTER = 0.5 * np.pi
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
        # The length varies by this fraction, so that no period is hit again and again.
        length = QUARTER * (1.0 + 0.2 * (2.0 * stretch - 1.0))
        # Leapfrog steps of a trajectory at most.
        steps = min(max(int(np.ceil(length / self.step)), 1), 64)
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
        """Dual averaging of the logarithm of the step (Nesterov; Hoffman and Gelman).

        It aims at accepting four proposals of five.
        """
        mean, error, center = np.log(self.step), 0.0, np.log(2.0 * self.step)
        for i in range(1, count + 1):
            error += (0.8 - self.move() - error) / (i + 10.0)
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
            loops.polya_gamma_variables(z @ self.theta, self.counts, self.state, omega)
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


CHAINS: dict[str, type[HamiltonianChain] | type[PolyaGammaChain]] = {
    "independence": IndependenceChain,
    "hamiltonian": HamiltonianChain,
    "polya_gamma": PolyaGammaChain,
}
#: Steps that are not used, while a chain forgets its start and steps are tuned.
WARMUP = {"independence": 20, "hamiltonian": 200, "polya_gamma": 100}
#: Called with the stage, the draws of each chain done, and all of them.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SamplingOptions:
    """How many draws of how many chains; ``n_warmup`` None leaves it to the method."""

    n_samples: int
    n_chains: int
    n_warmup: int | None
    random_state: Any
    method: str

    def __post_init__(self) -> None:
        for name, least in (("n_samples", 1), ("n_chains", 1), ("n_warmup", 0)):
            value = getattr(self, name)
            if value is not None and not value >= least:
                raise InputError(f"{name}={value!r} must be at least {least}.")


def sampling_target(
    rows: Rows, targets: Terms, posterior: LaplacePosterior, intercept_scale: float
) -> Potential:
    """The posterior over the rows of positive weight."""
    width = posterior.coordinates.width
    block = rows.collect() if isinstance(rows, InMemory) else _collect(rows, width)
    present = block.weights > 0.0
    block = block if present.all() else block.take(np.flatnonzero(present))
    _check_design(block.n, width)
    return Potential.of(block, targets, posterior, intercept_scale)


def _check_design(n: int, width: int) -> None:
    max_design = 250_000_000  # numbers of the design of the rows that are held in memory
    if n * width > max_design:
        raise InputError(
            f"Sampling holds the design of all rows in memory: at least {n} x {width} numbers "
            f"({8e-9 * n * width:.1f} GB), and the limit is {8e-9 * max_design:.0f} GB.",
            remedy="Use the Laplace approximation, which so many rows determine well.",
        )


def _collect(rows: Rows, width: int) -> Block:
    """The blocks of a stream in memory, as long as they fit."""
    blocks: list[Block] = []
    for block in rows.blocks():
        blocks.append(block)
        _check_design(sum(known.n for known in blocks), width)
    return concatenate(blocks)


def check_draws(draws: int, quantities: int) -> None:
    """Refuse more draws than memory holds."""
    max_draws = 250_000_000  # numbers of all draws that are held in memory
    if draws * quantities > max_draws:
        raise InputError(
            f"{draws} draws of {quantities} coefficients take {8e-9 * draws * quantities:.1f} GB; "
            f"the limit is {8e-9 * max_draws:.0f} GB.",
            remedy="Draw fewer samples.",
        )


def choose_method(method: str, target: Potential, seed: np.random.SeedSequence) -> str:
    """The method that takes the least work for an effective draw, or the one that was given."""
    check_option("method", method, ("auto", *CHAINS))
    max_count = 1000  # the largest weight of a row that Gibbs steps take
    if method == "polya_gamma":
        if target.n_classes > 2:
            raise InputError(
                f"Pólya–Gamma sampling is for two classes, and there are {target.n_classes}.",
                remedy='Use method="hamiltonian", or "auto".',
            )
        if not np.array_equal(target.w, np.rint(target.w)):
            raise InputError(
                "Pólya–Gamma sampling takes whole weights (numbers of repeats).",
                remedy='Use method="hamiltonian", or "auto".',
            )
        if target.w.max(initial=1.0) > max_count:
            raise InputError(
                f"A weight of {target.w.max():g} takes a sum of as many Pólya–Gamma variables "
                f"in every step; the limit is {max_count}.",
                remedy='Use method="hamiltonian", or "auto".',
            )
    if method != "auto":
        return method
    # Effective proportion of proposals from which they take less work than trajectories, tails too.
    return "independence" if efficiency(target, seed) >= 0.88 else "hamiltonian"


def run_chains(
    chains: list[Chain], n_samples: int, n_warmup: int, progress: Progress | None
) -> Floats:
    """θ (chains x draws x p); chains run on threads, portion by portion."""
    parallel_map(methodcaller("warm_up", n_warmup), chains)
    # whole batches, and the same ones whether or not anyone looks: draws are the same bits
    size = (BATCH + 1) * -(-n_samples // ((BATCH + 1) * 20))  # reports of progress at most
    found = []
    for start, stop in pairwise([*range(0, n_samples, size), n_samples]):
        if progress is not None:
            progress("sampling", start, n_samples)
        draw = methodcaller("draw", stop - start)
        found.append(np.stack(parallel_map(draw, chains)))
    if progress is not None:
        progress("done", n_samples, n_samples)
    return np.concatenate(found, axis=1)


def sample_posterior(
    target: Potential, options: SamplingOptions, progress: Progress | None
) -> tuple[Floats, str, float]:
    """θ (chains x draws x p), the method, and the proportion of proposals accepted."""
    *seeds, pilot = seed_sequence(options.random_state).spawn(options.n_chains + 1)
    method = choose_method(options.method, target, pilot)
    chains: list[Chain] = [CHAINS[method](target, seed) for seed in seeds]
    warmup = WARMUP[method] if options.n_warmup is None else options.n_warmup
    draws = run_chains(chains, options.n_samples, warmup, progress)
    accepted = sum(chain.accepted for chain in chains) / max(sum(c.moves for c in chains), 1)
    return draws, method, float(accepted)


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """The seeds of all chains come from one number, or from a generator."""
    if random_state is None or isinstance(random_state, int | np.integer):
        return np.random.SeedSequence(random_state)
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    rng = np.random.default_rng(random_state)
    return np.random.SeedSequence(rng.integers(0, 2**32, 4).tolist())


# -------------------------------------------------------------------------------------------------
# The negative log posterior for chains: many points at once, or one with its gradient.
#
#     Ψ(θ) = Σ w log(1 + Σₖ e^tₖ) − θ·Σ w y z + ½ Σ λⱼ θⱼ²,        tₖ = sₖ − s₀ = (D V z)ₖ
#
# up to a constant, over rows in memory: scores by products, exponentials in compiled loops. D holds
# the differences of the class basis from its first row, and is 1 for two classes.


@dataclass(frozen=True)
class Potential:
    """Rows z (n x m) with their weights (none if all are 1), the prior, and the approximation.

    ``differences`` is D, ``linear`` is Σ w y z, ``precision`` λ; ``mean`` and ``factor`` are those
    of the Laplace approximation.
    """

    z: Floats
    w: Floats
    differences: Floats
    linear: Floats
    precision: Floats
    mean: Floats
    factor: Floats

    @classmethod
    def of(
        cls, block: Block, targets: Terms, posterior: LaplacePosterior, intercept_scale: float
    ) -> Potential:
        """Of rows of positive weight."""
        coordinates = posterior.coordinates
        z, w = np.ascontiguousarray(coordinates.design(block.dense())), block.weights
        y = block.aligned(block.terms, targets).y[:, 1:]
        differences = (
            coordinates.basis
            if coordinates.n_classes == 2
            else coordinates.basis[1:] - coordinates.basis[0]
        )
        precision = np.full(coordinates.width, posterior.prior_scale**-2)
        if coordinates.intercept:
            precision[-1] = intercept_scale**-2
        return cls(
            z,
            np.empty(0) if (w == 1.0).all() else w,
            differences,
            (differences.T @ ((w[:, None] * y).T @ z)).ravel(),
            np.tile(precision, coordinates.n_scores),
            posterior.mean.ravel(),
            posterior.factor,
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.differences) + 1

    def values(self, thetas: Floats) -> Floats:
        """Ψ of every θ (q x p)."""
        out: Floats = np.sum(thetas * (0.5 * self.precision * thetas - self.linear), axis=1)
        for rows in self._chunks(len(thetas)):
            loops.add_log_sums(self._scores(thetas, rows), self.w[rows], out)
        return out

    def gradient(self, theta: Floats) -> Floats:
        """∇Ψ by u at θ = θ̂ + F u: Fᵀ ∇Ψ(θ)."""
        sums = np.zeros((len(self.differences), self.z.shape[1]))
        for rows in self._chunks(1):
            scores = self._scores(theta[None], rows)
            loops.to_probabilities(scores, self.w[rows])
            sums += scores[0] @ self.z[rows]
        by_theta = (self.differences.T @ sums).ravel() + self.precision * theta - self.linear
        return np.asarray(by_theta @ self.factor)

    def to_theta(self, u: Floats) -> Floats:
        """θ = θ̂ + F u of every u (q x p)."""
        return np.asarray(self.mean + u @ self.factor.T)

    def _chunks(self, points: int) -> list[slice]:
        # Scores computed at a time, which stay in cache.
        size = min(max(65_536 // (points * len(self.differences)), 64), loops.MOST_COLUMNS)
        return [slice(start, start + size) for start in range(0, len(self.z), size)]

    def _scores(self, thetas: Floats, rows: slice) -> Floats:
        """D V z (q x classes x rows)."""
        c, m = len(self.differences), self.z.shape[1]
        coef = self.differences @ thetas.reshape(-1, c, m)
        return (coef.reshape(-1, m) @ self.z[rows].T).reshape(len(thetas), c, -1)


# -------------------------------------------------------------------------------------------------
# Draws from the posterior of a logistic regression, with diagnostics and a certificate.


#: The largest R̂ of chains that count as mixed.
MAX_RHAT = 1.01


@dataclass(frozen=True)
class SamplingCertificate(Certificate):
    """Whether chains have mixed: the largest R̂ and the smallest effective sample sizes.

    It holds where R̂ is at most 1.01 for every coefficient; ``worst`` names the one of largest R̂.
    """

    rhat: float = np.nan
    ess_bulk: float = np.nan
    ess_tail: float = np.nan
    worst: str = ""

    @property
    def holds(self) -> bool:
        """Whether all is finite, and R̂ at most 1.01."""
        sizes = np.isfinite([self.rhat, self.ess_bulk, self.ess_tail]).all()
        return bool(sizes and self.rhat <= MAX_RHAT)

    def _sentences(self) -> list[str]:
        sentences = [f"{self.claim}."]
        if np.isfinite(self.rhat):
            sentences.append(f"R̂ at most {self.rhat:.4f} ({self.worst}).")
        if np.isfinite([self.ess_bulk, self.ess_tail]).all():
            sentences.append(
                f"Effective sample sizes at least {self.ess_bulk:.0f} (bulk) and "
                f"{self.ess_tail:.0f} (tails)."
            )
        if not self.holds:
            sentences.append(
                f"R̂ is not below {MAX_RHAT}: the chains have not mixed, and their means are not to "
                "be used. Draw more samples."
            )
        return sentences + list(self.notes)


@describe_parameters
@dataclass(frozen=True, repr=False)
class LogisticSamples(Shown):
    """Draws from the posterior of a logistic regression, chain by chain.

        p(θ | y) ≈ (1/S) Σ δ(θ − θₛ)

    Parameters
    ----------
    coef : ndarray of shape (n_chains, n_samples, n_scores, n_features)
        Coefficients in the units of the table; one score for two classes, else one for each.
    intercept : ndarray of shape (n_chains, n_samples, n_scores)
        Intercepts.
    names : tuple of str
    classes : ndarray
        Labels in order.
    method : str
        "independence", "hamiltonian" or "polya_gamma".
    acceptance : float
        Proportion of proposals that were accepted.
    model : BayesianLogisticRegression
        The model, which encodes new rows.

    See Also
    --------
    BayesianLogisticRegression : Its ``sample`` returns one, and ``compare`` takes one.

    Examples
    --------
    >>> import separatrix as sx
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]
    >>> model = sx.BayesianLogisticRegression(prior_scale=2.0).fit(X, [0, 0, 1, 0, 1, 1])
    >>> samples = model.sample(1000, random_state=0)
    >>> samples.coef.shape
    (4, 1000, 1, 1)
    >>> samples.certificate_.holds
    True
    """

    coef: Floats
    intercept: Floats
    names: tuple[str, ...]
    classes: NDArray[Any]
    method: str
    acceptance: float
    model: BayesianLogisticRegression = field(repr=False)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of all quantities: the intercept and the columns, for each score."""
        scores = self.classes.tolist() if len(self.classes) > 2 else [None]
        one = ("intercept", *self.names)
        return tuple(
            name if score is None else f"{name} [{score}]" for score in scores for name in one
        )

    @cached_property
    def values(self) -> Floats:
        """All quantities (n_chains x n_samples x quantities) in the order of ``labels``."""
        both = np.concatenate([self.intercept[..., None], self.coef], axis=3)
        return both.reshape(*both.shape[:2], -1)

    @cached_property
    def diagnostics(self) -> ChainDiagnostics:
        """R̂ and effective sample sizes in the order of ``labels``; NaN where nothing varies."""
        return diagnose(self.values)

    @cached_property
    def certificate_(self) -> SamplingCertificate:
        """The largest R̂ and the smallest effective sample sizes of all coefficients."""
        chains, draws = self.values.shape[:2]
        name = {"polya_gamma": "Pólya–Gamma"}.get(self.method, self.method)
        claim = f"Posterior draws ({name}): {chains} chains of {draws} draws each"
        varies = np.ptp(self.values, axis=(0, 1)) > 0.0
        diagnostics = self.diagnostics
        rhat, bulk, tail = (
            diagnostics.rhat[varies],
            diagnostics.ess_bulk[varies],
            diagnostics.ess_tail[varies],
        )
        if not len(rhat):
            return SamplingCertificate(claim, promised=())
        index = int(np.argmax(np.where(np.isnan(rhat), np.inf, rhat)))
        return SamplingCertificate(
            claim,
            promised=(),
            notes=(f"{self.acceptance:.0%} of the proposals were accepted.",)
            if self.method != "polya_gamma"
            else (),
            rhat=float(rhat[index]),
            ess_bulk=float(bulk.min()),
            ess_tail=float(tail.min()),
            worst=np.array(self.labels)[varies][index],
        )

    @property
    def mean(self) -> Floats:
        """Means of all quantities, in the order of ``labels``."""
        return np.asarray(self.values.mean(axis=(0, 1)))

    @property
    def std(self) -> Floats:
        """Standard deviations of all quantities, in the order of ``labels``."""
        return np.asarray(self.values.std(axis=(0, 1), ddof=1))

    def interval(self, level: float = 0.95) -> Floats:
        """Central intervals (quantities x 2) that hold the probability ``level``."""
        if not 0.0 < level < 1.0:
            raise InputError(f"level={level!r} must be between 0 and 1.")
        ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        return np.asarray(np.quantile(self.values, ends, axis=(0, 1)).T)

    def predict_proba(self, X: Any) -> Floats:
        """Means of the class probabilities of every row over all draws."""
        return self.probabilities(self.model._design(X))

    def probabilities(self, x: Matrix) -> Floats:
        """The same of encoded rows."""
        scores, d = self.coef.shape[2:]
        coef, intercept = self.coef.reshape(-1, d), self.intercept.reshape(-1)
        draws = len(coef) // scores
        out = np.empty((x.shape[0], len(self.classes)))

        def part(rows: slice) -> None:
            values = np.asarray(multiply(x[rows], coef.T) + intercept)
            if scores == 1:
                out[rows, 1] = expit(values).mean(axis=1)
                out[rows, 0] = expit(-values).mean(axis=1)
            else:
                flat = softmax(values.reshape(-1, scores)).reshape(-1, draws, scores)
                out[rows] = flat.mean(axis=1)

        with one_blas_thread():
            # Scores computed at a time.
            parallel_map(part, pieces(len(out), 1, max(64, len(out) * len(coef) // 2_000_000)))
        return out

    def to_arviz(self) -> Any:
        """The draws as ArviZ's inference data, with variables ``coef`` and ``intercept``."""
        try:
            import arviz
        except ImportError as missing:
            raise ImportError(
                "to_arviz needs ArviZ, which is not installed: pip install arviz."
            ) from missing
        groups = self.to_dict()
        posterior, labeled = groups["posterior"], {k: groups[k] for k in ("coords", "dims")}
        if hasattr(arviz, "InferenceData"):
            return arviz.from_dict(posterior=posterior, **labeled)
        return arviz.from_dict({"posterior": posterior}, **labeled)

    def to_dict(self) -> dict[str, Any]:
        """The draws in the form of ArviZ's inference data, as plain arrays.

        ``posterior`` holds ``coef`` and ``intercept`` (chain x draw x …), ``dims`` and ``coords``
        name their axes, and ``summary`` has ``r_hat``, ``ess_bulk`` and ``ess_tail`` of both.
        """
        shape = (-1, self.coef.shape[-1] + 1)
        found = self.diagnostics
        named = {"r_hat": found.rhat, "ess_bulk": found.ess_bulk, "ess_tail": found.ess_tail}
        by_name = {name: values.reshape(shape) for name, values in named.items()}
        return {
            "posterior": {"coef": self.coef, "intercept": self.intercept},
            "summary": {
                name: {"coef": values[:, 1:], "intercept": values[:, 0]}
                for name, values in by_name.items()
            },
            "dims": {"coef": ["score", "column"], "intercept": ["score"]},
            "coords": self._coords(),
        }

    def _coords(self) -> dict[str, list[str]]:
        shown = self.classes[1:] if len(self.classes) == 2 else self.classes
        return {"score": [str(label) for label in shown], "column": list(self.names)}

    def __str__(self) -> str:
        return str(self.certificate_)


# -------------------------------------------------------------------------------------------------
# Whether chains have mixed: rank-normalized split R̂ and effective sample sizes.
#
#     R̂² = (N − 1)/N + B/W,       S_eff = S / τ,    τ = −1 + 2 Σ (ρ₂ₜ + ρ₂ₜ₊₁)
#
# over chains cut in halves, whose draws are replaced by normal scores of their ranks: heavy tails
# then do no harm. R̂ is the larger of that of the draws and that of their distances from the
# median, so that chains of different spread are found too. The autocorrelations ρ are added up
# while their pairs are positive, and made to decrease (Geyer). The sample size of the bulk is that
# of the normal scores; that of the tails is the smaller of those of the indicators of the 5% and
# 95% quantiles.
#
# A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, "Rank-normalization, folding,
# and localization: an improved R̂ for assessing convergence of MCMC", Bayesian Analysis, 2021.


@dataclass(frozen=True)
class ChainDiagnostics:
    """R̂ and effective sample sizes of the bulk and the tails, one number for each quantity.

    They are NaN for a quantity that is the same in all draws.
    """

    rhat: Floats
    ess_bulk: Floats
    ess_tail: Floats


def diagnose(draws: Floats) -> ChainDiagnostics:
    """Diagnostics of draws (chains x draws x quantities)."""
    shape = draws.shape[2]
    if draws.shape[1] < 4:  # draws of a chain below which nothing can be said
        none = np.full(shape, np.nan)
        return ChainDiagnostics(none, none.copy(), none.copy())
    value = np.array([_of_one(draws[:, :, j]) for j in range(shape)]).reshape(shape, 3)
    return ChainDiagnostics(value[:, 0], value[:, 1], value[:, 2])


def _of_one(draws: Floats) -> tuple[float, float, float]:
    if not np.isfinite(draws).all() or np.ptp(draws) == 0.0:
        return np.nan, np.nan, np.nan
    x = _split(draws)
    scores = normal_scores(x)
    folded = normal_scores(np.abs(x - np.median(x)))
    low, high = np.quantile(draws, [0.05, 0.95])
    tails = [effective_size(_split((draws <= q).astype(float))) for q in (low, high)]
    rhat = max(scale_reduction(scores), scale_reduction(folded))
    return rhat, effective_size(scores), min(tails)


def _split(draws: Floats) -> Floats:
    """Each chain in two halves; of an odd number of draws the middle one is left out."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def normal_scores(x: Floats) -> Floats:
    """Φ⁻¹((rank − ⅜)/(S + ¼)), ties sharing their mean rank."""
    ranks = rankdata(x).reshape(x.shape)
    return np.asarray(ndtri((ranks - 0.375) / (x.size + 0.25)))


def scale_reduction(x: Floats) -> float:
    """R̂ of chains (chains x draws)."""
    n = x.shape[1]
    within = float(x.var(axis=1, ddof=1).mean())
    between = float(x.mean(axis=1).var(ddof=1))
    return float(np.sqrt((n - 1) / n + between / within)) if within > 0.0 else np.inf


def effective_size(x: Floats) -> float:
    """Effective number of draws of chains (chains x draws) for the mean; NaN for constants."""
    chains, n = x.shape
    covariance = _autocovariance(x).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + (float(x.mean(axis=1).var(ddof=1)) if chains > 1 else 0.0)
    if not total > 0.0:
        return np.nan
    rho = 1.0 - (within - covariance * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0.0)
    stop = negative[0] if len(negative) else len(pairs)
    tau = -1.0 + 2.0 * float(np.minimum.accumulate(pairs[:stop]).sum())
    if stop < len(pairs):  # the pair that ends the sum may begin with a positive correlation
        tau += max(float(rho[2 * stop]), 0.0)
    size = chains * n
    # draws that alternate about the mean would seem worth more than any number of independent ones
    return float(size / max(tau, 1.0 / np.log10(size)))


def _autocovariance(x: Floats) -> Floats:
    """Σₜ (xₜ − x̄)(xₜ₊ₖ − x̄)/n for every lag k, by the fast Fourier transform."""
    n = x.shape[1]
    centered = x - x.mean(axis=1, keepdims=True)
    spectrum = fft.rfft(centered, fft.next_fast_len(2 * n), axis=1)
    return np.asarray(fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :n] / n)
