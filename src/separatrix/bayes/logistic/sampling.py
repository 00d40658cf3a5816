"""Posterior sampling: which method, the chains on threads, and their draws in the table's units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from operator import methodcaller
from typing import Any

import numpy as np

from separatrix.bayes.logistic.chains import (
    BATCH,
    Chain,
    HamiltonianChain,
    IndependenceChain,
    PolyaGammaChain,
    efficiency,
)
from separatrix.bayes.logistic.laplace import LaplacePosterior
from separatrix.bayes.logistic.potential import Potential
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Block, Floats, concatenate
from separatrix.rows.rows import InMemory, Rows
from separatrix.rows.schema import Terms
from separatrix.threads import parallel_map

CHAINS: dict[str, type[HamiltonianChain] | type[PolyaGammaChain]] = {
    "independence": IndependenceChain,
    "hamiltonian": HamiltonianChain,
    "polya_gamma": PolyaGammaChain,
}
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
) -> Potential:
    """The posterior over the rows of positive weight."""
    width = posterior.coordinates.width
    block = rows.collect() if isinstance(rows, InMemory) else _collected(rows, width)
    present = block.weights > 0.0
    block = block if present.all() else block.take(np.flatnonzero(present))
    _check_design(block.n, width)
    return Potential.of(block, targets, posterior, intercept_scale)


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


def choose_method(method: str, target: Potential, seed: np.random.SeedSequence) -> str:
    """The method that takes the least work for an effective draw, or the one that was given."""
    check_option("method", method, ("auto", *CHAINS))
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
        if target.w.max(initial=1.0) > MAX_COUNT:
            raise InputError(
                f"A weight of {target.w.max():g} takes a sum of as many Pólya–Gamma variables "
                f"in every step; the limit is {MAX_COUNT}.",
                remedy='Use method="hamiltonian", or "auto".',
            )
    if method != "auto":
        return method
    return "independence" if efficiency(target, seed) >= MIN_EFFICIENCY else "hamiltonian"


def run_chains(
    chains: list[Chain], n_samples: int, n_warmup: int, progress: Progress | None
) -> Floats:
    """θ (chains x draws x p); chains run on threads, portion by portion."""
    parallel_map(methodcaller("warm_up", n_warmup), chains)
    # whole batches, and the same ones whether or not anyone looks: draws are the same bits
    size = (BATCH + 1) * -(-n_samples // ((BATCH + 1) * PORTIONS))
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
