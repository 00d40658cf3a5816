"""A Gaussian process fitted to rows: hyperparameters learned, then the covariance factored.

Samples of 256, 1 024, 2 048 … rows are learned from first; the last ascent, on all rows, starts
where they ended and takes few evaluations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from separatrix.bayes.process.evidence import Evidence, Factored, TrainingRows, factorize
from separatrix.bayes.process.learning import Learned, Sample, learn
from separatrix.bayes.process.noise import SplitKernel
from separatrix.bayes.process.starts import (
    box_around,
    data_starts,
    exchanged,
    natural_kernel,
    radial_terms,
)
from separatrix.kernels import Kernel
from separatrix.messages import InputError, warn
from separatrix.optimize.solution import Status
from separatrix.rows.block import Floats

#: Rows of the smallest sample (half as many of a small table), and of the next; from there on they
#: double. Rows up to which a table is small, and up to which no sample is taken.
SMALLEST, NEXT, SMALL, WHOLE = 256, 1024, 600, 256
#: Gain in nats that the last step may leave: of small tables, and of others.
TOLERANCE, LARGE_TOLERANCE = 1e-13, 1e-8
#: Noise of the rows where none is known, over the mean variance: scikit-learn's, of variance 1.
RELATIVE_NOISE = 1e-10
#: Noise added where the covariance is not positive definite, over the mean variance.
JITTERS = (1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


@dataclass(frozen=True)
class Plan:
    """How to learn: from the kernel's own values too, by which optimizer, from how many starts."""

    own_start: bool
    optimizer: str | Callable[..., tuple[Floats, float]] | None
    n_restarts: int
    random_state: Any


@dataclass(frozen=True)
class FittedProcess:
    """The kernel, its factored covariance, how it was learned, and the noise added to factor it."""

    kernel: Kernel
    rows: TrainingRows
    found: Factored
    learned: Learned | None
    jitter: float


def fit_process(kernel: Kernel, rows: TrainingRows, plan: Plan) -> FittedProcess:
    """Learn the hyperparameters of the kernel, unless there is no optimizer, and factor."""
    learned, jitter = None, 0.0
    if plan.optimizer is not None and len(kernel.theta):
        learned = learn_kernel(kernel, rows, plan)
        if not np.isfinite(learned.value):
            jitter = least_jitter(natural_kernel(kernel, rows), rows)
            rows = rows.with_noise(jitter)
            learned = learn_kernel(kernel, rows, plan)
        kernel = kernel.with_theta(learned.theta)
        if learned.status is Status.LIMIT:
            warn("SEP003", "the evidence of the process still rises after 200 evaluations.")
    found = factorize(kernel, rows)
    if found is None:
        added = least_jitter(kernel, rows)
        jitter, rows = jitter + added, rows.with_noise(added)
        found = factorize(kernel, rows)
        assert found is not None
    if jitter:
        warn(
            "SEP017",
            f"the covariance of the training rows is not positive definite in floating-point "
            f"numbers; a noise variance of {jitter:.3g} was added to every row.",
        )
    return FittedProcess(kernel, rows, found, learned, jitter)


def least_noise(kernel: Kernel, rows: TrainingRows, plan: Plan) -> float:
    """Noise that only keeps K positive definite: RELATIVE_NOISE of the variance of f.

    Of kernels that are learned it is the variance that y suggests, else that of the kernel.
    """
    learns = plan.optimizer is not None and len(kernel.theta)
    split = SplitKernel(natural_kernel(kernel, rows) if learns else kernel)
    return RELATIVE_NOISE * float(np.average(split.function_variance(rows.x), weights=rows.w))


def learn_kernel(kernel: Kernel, rows: TrainingRows, plan: Plan) -> Learned:
    """θ of the highest evidence, from the data's scales and the kernel's own values."""
    natural = natural_kernel(kernel, rows)
    first, fast, slow = data_starts(natural)
    own = [kernel.theta] if plan.own_start else []
    box = box_around(natural, first, *own)
    if callable(plan.optimizer):
        return _by_callable(kernel, rows, plan.optimizer, np.stack([box.low, box.high], axis=1))
    rng = check_random_state(plan.random_state)
    spread = [first + rng.uniform(-3.0, 3.0, len(first)) for _ in range(plan.n_restarts)]
    starts = [*own, first, *spread, fast, slow]
    several = len(radial_terms(kernel)) > 1
    sizes = sample_sizes(rows.n, NEXT if several else SMALLEST)
    order = np.random.default_rng(0).permutation(rows.n)
    samples = [
        Sample(Evidence(kernel, rows.take(np.sort(order[:size]))), rows.n / size) for size in sizes
    ]
    return learn(
        Evidence(kernel, rows),
        starts,
        box,
        samples=samples,
        least=2 + plan.n_restarts,
        related=lambda theta: exchanged(kernel, theta),
        tolerance=LARGE_TOLERANCE if sizes else TOLERANCE,
    )


def sample_sizes(n: int, smallest: int = SMALLEST) -> list[int]:
    """Sizes of the samples that are learned from before all n rows.

    Few rows tell little of terms of a sum that vary fast: those take larger samples.
    """
    sizes, size = [], smallest // 2 if n <= SMALL else smallest
    while n > WHOLE and 3 * size < 2 * n:
        sizes.append(size)
        size = max(NEXT, 2 * size)
    return sizes


def _by_callable(
    kernel: Kernel, rows: TrainingRows, optimizer: Callable[..., tuple[Floats, float]], bounds: Any
) -> Learned:
    """The result of an optimizer of the caller, in scikit-learn's form."""
    evidence = Evidence(kernel, rows)

    def minimized(theta: Floats, eval_gradient: bool = True) -> Any:
        if not eval_gradient:
            return -evidence.value(theta)
        value, gradient = evidence(theta)
        return -value, -gradient

    theta = np.asarray(optimizer(minimized, kernel.theta, bounds=bounds)[0], dtype=float)
    value, gradient = evidence(theta)
    p = len(theta)
    return Learned(
        theta,
        value,
        gradient,
        np.full((p, p), np.nan),
        np.zeros(p, dtype=bool),
        (),
        evidence.evaluations,
        Status.STOPPED,
    )


def least_jitter(kernel: Kernel, rows: TrainingRows) -> float:
    """The least of a few noise variances by which the covariance can be factored."""
    variance = float(np.mean(np.asarray(kernel.diagonal(rows.x), dtype=float)))
    for relative in JITTERS:
        if factorize(kernel, rows.with_noise(relative * variance)) is not None:
            return relative * variance
    raise InputError(
        f"The kernel {kernel} has no positive definite covariance on these rows.",
        remedy="Use a kernel that is positive semi-definite, or increase alpha.",
    )
