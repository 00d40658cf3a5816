"""Posterior sampling: which method, the chains on threads, and their draws in the table's units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from separatrix.bayes.logistic.chains import (
    BATCH,
    HamiltonianChain,
    IndependenceChain,
    PolyaGammaChain,
    Target,
    efficiency,
)
from separatrix.bayes.logistic.laplace import LaplacePosterior
from separatrix.bayes.logistic.loops.potential import BLOCK
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Block, Floats, concatenate
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Terms
from separatrix.threads import parallel_map

METHODS = ("auto", "independence", "hamiltonian", "polya_gamma")
#: Numbers of the design of the rows, and of all draws, that are held in memory.
MAX_DESIGN, MAX_DRAWS = 250_000_000, 250_000_000
#: Effective proportion of proposals from which they take less work than trajectories, tails too.
MIN_EFFICIENCY = 0.88
#: The largest weight of a row that Gibbs steps take.
MAX_COUNT = 1000
#: Steps that are not used, while a chain forgets its start and steps are tuned.
WARMUP = {"independence": 20, "hamiltonian": 200, "polya_gamma": 100}
#: Reports of progress at most.
PORTIONS = 20
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
) -> Target:
    """The rows of positive weight in blocks, and the sums that the chains need."""
    at = posterior.coordinates
    block = rows.collect() if isinstance(rows, InMemory) else _collected(rows, at.width)
    present = block.weights > 0.0
    block = block if present.all() else block.take(np.flatnonzero(present))
    block = block.aligned(block.terms, targets)
    _check_design(block.n, at.width)
    z, w = at.design(block.dense()), block.weights
    basis, n_blocks = at.basis, -(-block.n // BLOCK)
    y = block.y[:, 1:] if at.n_classes == 2 else block.y
    weighted = w[:, None] * y
    linear = (basis.T @ (weighted.T @ z)).ravel()
    half = ((weighted[:, 0] - 0.5 * w) @ z) if at.n_classes == 2 else np.zeros(0)
    tiled = np.zeros((n_blocks * BLOCK, at.width))
    tiled[: block.n] = z
    padded = np.append(w, np.zeros(n_blocks * BLOCK - block.n)).reshape(n_blocks, BLOCK)
    precision = np.full(at.width, posterior.prior_scale**-2)
    if at.intercept:
        precision[-1] = intercept_scale**-2
    return Target(
        np.ascontiguousarray(tiled.reshape(n_blocks, BLOCK, at.width).transpose(0, 2, 1)),
        np.empty((0, BLOCK)) if (w == 1.0).all() else padded,
        np.rint(padded).astype(np.int64),
        basis,
        linear,
        half,
        np.tile(precision, at.n_scores),
        posterior.mean.ravel(),
        np.ascontiguousarray(posterior.factor),
    )


def _check_design(n: int, width: int) -> None:
    if n * width > MAX_DESIGN:
        raise InputError(
            f"Sampling holds the design of all rows in memory: at least {n} x {width} numbers "
            f"({8e-9 * n * width:.1f} GB), and the limit is {8e-9 * MAX_DESIGN:.0f} GB.",
            remedy="Use the Laplace approximation, which so many rows determine well.",
        )


def _collected(rows: Rows, width: int) -> Block:
    """The blocks of a stream in memory, as long as they fit."""
    blocks: list[Block] = []
    for block in rows.blocks():
        blocks.append(block)
        _check_design(sum(known.n for known in blocks), width)
    return concatenate(blocks)


def check_draws(draws: int, quantities: int) -> None:
    """Refuse more draws than memory holds."""
    if draws * quantities > MAX_DRAWS:
        raise InputError(
            f"{draws} draws of {quantities} coefficients take {8e-9 * draws * quantities:.1f} GB; "
            f"the limit is {8e-9 * MAX_DRAWS:.0f} GB.",
            remedy="Draw fewer samples.",
        )


def choose_method(method: str, target: Target, seed: np.random.SeedSequence) -> str:
    """The method that takes the least work for an effective draw, or the one that was given."""
    check_option("method", method, METHODS)
    if method == "polya_gamma":
        if len(target.basis) > 1:
            raise InputError(
                f"Pólya–Gamma sampling is for two classes, and there are {len(target.basis)}.",
                remedy='Use method="hamiltonian", or "auto".',
            )
        if len(target.w) and not np.array_equal(target.w, target.counts):
            raise InputError(
                "Pólya–Gamma sampling takes whole weights (numbers of repeats).",
                remedy='Use method="hamiltonian", or "auto".',
            )
        if target.counts.max() > MAX_COUNT:
            raise InputError(
                f"A weight of {target.counts.max()} takes a sum of as many Pólya–Gamma variables "
                f"in every step; the limit is {MAX_COUNT}.",
                remedy='Use method="hamiltonian", or "auto".',
            )
    if method != "auto":
        return method
    return "independence" if efficiency(target, seed) >= MIN_EFFICIENCY else "hamiltonian"


def run_chains(
    chains: list[Any], n_samples: int, n_warmup: int, progress: Progress | None
) -> Floats:
    """θ (chains x draws x p); chains run on threads, portion by portion."""
    parallel_map(lambda chain: chain.warm_up(n_warmup), chains)
    # whole batches, and the same ones whether or not anyone looks: draws are the same bits
    size = (BATCH + 1) * -(-n_samples // ((BATCH + 1) * PORTIONS))
    found = []
    for start, stop in pairwise([*range(0, n_samples, size), n_samples]):
        if progress is not None:
            progress("sampling", start, n_samples)
        part = partial(_draws, count=stop - start)
        found.append(np.stack(parallel_map(part, chains)))
    if progress is not None:
        progress("done", n_samples, n_samples)
    return np.concatenate(found, axis=1)


def _draws(chain: Any, count: int) -> Floats:
    return np.asarray(chain.to_theta(chain.draw(count)))


def make_chains(method: str, target: Target, seeds: list[np.random.SeedSequence]) -> list[Any]:
    """One chain for each seed."""
    kinds = {
        "independence": IndependenceChain,
        "hamiltonian": HamiltonianChain,
        "polya_gamma": PolyaGammaChain,
    }
    return [kinds[method](target, seed) for seed in seeds]


def sample_posterior(
    target: Target, options: SamplingOptions, progress: Progress | None
) -> tuple[Floats, str, float]:
    """θ (chains x draws x p), the method, and the proportion of proposals accepted."""
    *seeds, pilot = seed_sequence(options.random_state).spawn(options.n_chains + 1)
    method = choose_method(options.method, target, pilot)
    chains = make_chains(method, target, seeds)
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
