"""A Gaussian process fitted to rows: hyperparameters learned, then the covariance factored.

Samples of 256, 1 024, 2 048 … rows are learned from first; the last ascent, on all rows, starts
where they ended and takes few evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, stats
from sklearn.utils import check_random_state

from separatrix.arrays import Floats
from separatrix.bayes.gaussian_process import learning
from separatrix.bayes.gaussian_process.evidence import (
    LOG_2PI,
    Factored,
    LogEvidence,
    ProcessRows,
    copies_term,
    factorize,
)
from separatrix.bayes.gaussian_process.model import SplitKernel
from separatrix.kernels import Constant, Kernel, Scaled, White
from separatrix.kernels.learning import Constrained
from separatrix.messages import InputError, warn
from separatrix.optimize.convex import Certificate, Status

#: Rows of the smallest sample (half as many of a small table), and of the next; from there on they
#: double. Rows up to which a table is small, and up to which no sample is taken.
SMALLEST, NEXT, SMALL, WHOLE = 256, 1024, 600, 256


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
    rows: ProcessRows
    found: Factored
    learned: learning.Learned | None
    jitter: float


def fit_process(kernel: Kernel, rows: ProcessRows, plan: Plan) -> FittedProcess:
    """Learn the hyperparameters of the kernel, unless there is no optimizer, and factor."""
    learned, jitter = None, 0.0
    if plan.optimizer is not None and len(kernel.theta):
        learned = learn_kernel(kernel, rows, plan)
        if not np.isfinite(learned.value):
            jitter = least_jitter(learning.natural_kernel(kernel, rows), rows)
            rows = rows.with_noise(jitter)
            learned = learn_kernel(kernel, rows, plan)
        kernel = kernel.with_theta(learned.theta)
        if learned.status is Status.LIMIT:
            warn("SEP003", "the evidence of the process still rises after 200 evaluations.")
    factored = factorize(kernel, rows)
    if factored is None:
        added = least_jitter(kernel, rows)
        jitter, rows = jitter + added, rows.with_noise(added)
        factored = factorize(kernel, rows)
        assert factored is not None
    if jitter:
        warn(
            "SEP017",
            f"the covariance of the training rows is not positive definite in floating-point "
            f"numbers; a noise variance of {jitter:.3g} was added to every row.",
        )
    return FittedProcess(kernel, rows, factored, learned, jitter)


def least_noise(kernel: Kernel, rows: ProcessRows, plan: Plan) -> float:
    """Noise that only keeps K positive definite: 1e-10 of the variance of f.

    Of kernels that are learned it is the variance that y suggests, else that of the kernel.
    """
    learns = plan.optimizer is not None and len(kernel.theta)
    split = SplitKernel(learning.natural_kernel(kernel, rows) if learns else kernel)
    return 1e-10 * float(np.average(split.function_variance(rows.x), weights=rows.w))


def learn_kernel(kernel: Kernel, rows: ProcessRows, plan: Plan) -> learning.Learned:
    """θ of the highest evidence, from the data's scales and the kernel's own values."""
    natural = learning.natural_kernel(kernel, rows)
    first, fast, slow = learning.data_starts(natural)
    own = [kernel.theta] if plan.own_start else []
    box = learning.box_around(natural, first, *own)
    if callable(plan.optimizer):
        return _by_callable(kernel, rows, plan.optimizer, np.stack([box.low, box.high], axis=1))
    rng = check_random_state(plan.random_state)
    spread = [first + rng.uniform(-3.0, 3.0, len(first)) for _ in range(plan.n_restarts)]
    starts = [*own, first, *spread, fast, slow]
    several = len(learning.radial_terms(kernel)) > 1
    sizes = sample_sizes(rows.n, NEXT if several else SMALLEST)
    order = np.random.default_rng(0).permutation(rows.n)
    samples = [
        learning.EvidenceSample(
            LogEvidence(kernel, rows.take(np.sort(order[:size]))), rows.n / size
        )
        for size in sizes
    ]
    # Gain in nats that the last step may leave: of small tables, and of others.
    return learning.learn(
        LogEvidence(kernel, rows),
        starts,
        box,
        samples=samples,
        least=2 + plan.n_restarts,
        related=lambda theta: learning.swap_scales(kernel, theta),
        tolerance=1e-8 if sizes else 1e-13,
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
    kernel: Kernel, rows: ProcessRows, optimizer: Callable[..., tuple[Floats, float]], bounds: Any
) -> learning.Learned:
    """The result of an optimizer of the caller, in scikit-learn's form."""
    evidence = LogEvidence(kernel, rows)

    def minimize(theta: Floats, eval_gradient: bool = True) -> Any:
        if not eval_gradient:
            return -evidence.value(theta)
        value, gradient = evidence(theta)
        return -value, -gradient

    theta = np.asarray(optimizer(minimize, kernel.theta, bounds=bounds)[0], dtype=float)
    value, gradient = evidence(theta)
    p = len(theta)
    return learning.Learned(
        theta,
        value,
        gradient,
        np.full((p, p), np.nan),
        np.zeros(p, dtype=bool),
        (),
        evidence.evaluations,
        Status.STOPPED,
    )


def least_jitter(kernel: Kernel, rows: ProcessRows) -> float:
    """The least of a few noise variances by which the covariance can be factored."""
    variance = float(np.mean(np.asarray(kernel.diagonal(rows.x), dtype=float)))
    # Noise added where the covariance is not positive definite, over the mean variance.
    for relative in (1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6):
        if factorize(kernel, rows.with_noise(relative * variance)) is not None:
            return relative * variance
    raise InputError(
        f"The kernel {kernel} has no positive definite covariance on these rows.",
        remedy="Use a kernel that is positive semi-definite, or increase alpha.",
    )


# -------------------------------------------------------------------------------------------------
# Certificate of a fitted Gaussian process, by separate code.
#
# The evidence is computed again from the Gram matrix of the whole kernel and LAPACK's factor, at
# points on both sides of the hyperparameters. Central differences of it are the derivative in nats
# per standard error: by every hyperparameter where rows are few, else along one direction through
# all of them, and then the gradient of the ascent counts too.


def certify(fitted: FittedProcess, columns: Sequence[str]) -> Certificate:
    """Evidence, derivative, curvature, condition, and the other maxima."""
    fitting, learned = fitted.found, fitted.learned
    condition = condition_number(fitting.factor)
    shown = {
        "primal": -fitting.log_evidence,
        "condition": condition,
        "digits": max(0.0, -np.log10(np.finfo(float).eps * condition)),
        "statistic": "the Cholesky factor",
    }
    notes = _jitter_notes(fitted.jitter)
    if learned is None:
        return Certificate(
            claim="The exact posterior of a Gaussian process at the given hyperparameters",
            notes=tuple(notes),
            promised=(),
            **shown,  # type: ignore[arg-type]
        )
    slope = largest_slope(fitted.kernel, fitted.rows, learned)
    labels = [str(label) for label in theta_labels(fitted.kernel, columns)]
    # Derivative that is allowed, in nats per standard error.
    return Certificate(
        claim="The exact posterior of a Gaussian process, at a local maximum of its evidence",
        kkt=slope,
        tolerance=1e-3,
        notes=(*notes, *_curvature_notes(learned, labels), *_optima_notes(learned)),
        promised=("kkt",),
        **shown,  # type: ignore[arg-type]
    )


def plain_evidence(kernel: Kernel, rows: ProcessRows) -> float:
    """The log evidence from the Gram matrix of the whole kernel, without the parts of the fit."""
    n, k, m = rows.n, rows.y.shape[1], rows.basis.shape[1]
    c = np.asarray(kernel.gram(rows.x), dtype=float)
    function = kernel.without_noise()
    noise = np.asarray(kernel.diagonal(rows.x) - function.diagonal(rows.x)) + rows.noise
    at = np.diag_indices(n)
    c[at] = function.diagonal(rows.x) + noise / rows.w
    factor, failed = linalg.lapack.dpotrf(c.T, lower=0, overwrite_a=1)
    if failed:
        return -np.inf
    whitened = linalg.solve_triangular(
        factor, np.column_stack([rows.y, rows.basis]), trans=1, check_finite=False
    )
    y, h = whitened[:, :k], whitened[:, k:]
    value = -k * float(np.log(np.diagonal(factor)).sum()) - 0.5 * (n - m) * k * LOG_2PI
    if m:
        q, r = np.linalg.qr(h)
        y = y - q @ (q.T @ y)
        own = np.linalg.qr(np.sqrt(rows.w)[:, None] * rows.basis, mode="r")
        value -= k * float(np.log(np.abs(np.diagonal(r) / np.diagonal(own))).sum())
    return float(value - 0.5 * float(np.vdot(y, y)) + k * copies_term(rows.w, noise))


def largest_slope(kernel: Kernel, rows: ProcessRows, learned: learning.Learned) -> float:
    """The largest derivative of the evidence, in nats per standard error."""
    free = ~learned.at_limit
    if not free.any():
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        scales = 1.0 / np.sqrt(np.maximum(np.diagonal(learned.curvature), 0.0))
    scales = np.where(np.isfinite(scales), np.minimum(scales, 1.0), 1.0) * free
    known = 0.0
    # Rows up to which every hyperparameter is checked by itself, else one direction through all.
    if rows.n <= 300:
        directions = [scales * (np.arange(len(scales)) == j) for j in np.flatnonzero(free)]
    else:
        signs = np.where(np.arange(len(scales)) % 2, 1.0, -1.0)
        directions = [signs * scales / np.sqrt(free.sum())]
        known = float(np.abs(learned.gradient * scales).max())
    return max(
        known, *(abs(_slope(kernel, rows, learned.theta, direction)) for direction in directions)
    )


def _slope(kernel: Kernel, rows: ProcessRows, theta: Floats, direction: Floats) -> float:
    step = 1e-2  # step of the differences in standard errors
    ahead, behind = (
        plain_evidence(kernel.with_theta(theta + sign * step * direction), rows)
        for sign in (1.0, -1.0)
    )
    return (ahead - behind) / (2.0 * step)


def condition_number(factor: Floats) -> float:
    """λ_max/λ_min of L Lᵀ by power iteration with L and its inverse, from a fixed start."""
    n = len(factor)
    start = np.cos(np.arange(n) * 1.7 + 0.3)
    transposed = factor.T  # in Fortran order, as BLAS wants it
    largest = inverse = 1.0
    v = start / np.linalg.norm(start)
    iterations = 12  # steps of the iterations for the largest and the least eigenvalue
    for _ in range(iterations):
        v = linalg.blas.dtrmv(transposed, linalg.blas.dtrmv(transposed, v), trans=1)
        largest = float(np.linalg.norm(v))
        v /= largest
    v = start / np.linalg.norm(start)
    for _ in range(iterations):
        v = linalg.blas.dtrsv(transposed, linalg.blas.dtrsv(transposed, v, trans=1))
        inverse = float(np.linalg.norm(v))
        v /= inverse
    return max(1.0, largest * inverse)


def _jitter_notes(jitter: float) -> list[str]:
    if not jitter:
        return []
    return [f"A noise variance of {jitter:.3g} was added to every row to factor the covariance."]


def _curvature_notes(learned: learning.Learned, labels: Sequence[str]) -> list[str]:
    """Hyperparameters that the data do not determine."""
    notes = []
    ends = list(zip(labels, learned.at_limit, np.abs(learned.gradient), strict=True))
    # A gradient of a hundredth at an end of the range counts as rising.
    rising = [label for label, end, slope in ends if end and slope > 1e-2]
    flat = [label for label, end, slope in ends if end and slope <= 1e-2]
    if flat:
        notes.append(f"So far out that it has no effect: {', '.join(flat)}.")
    if rising:
        notes.append(
            "At an end of its range, beyond which the evidence would still rise: "
            f"{', '.join(rising)}."
        )
    errors = learned.standard_errors
    vague = [
        label
        for label, error, limited in zip(labels, errors, learned.at_limit, strict=True)
        if not limited and not error <= learning.UNDETERMINED
    ]
    if vague:
        notes.append(f"Not determined by the data within a factor of e: {', '.join(vague)}.")
    return notes


def _optima_notes(learned: learning.Learned) -> list[str]:
    if not learned.others:
        return []
    values = ", ".join(f"{other.value:.6g}" for other in learned.others[:3])
    return [f"Other maxima found have log evidence {values}."]


# -------------------------------------------------------------------------------------------------
# Hyperparameters with intervals from the curvature of the evidence, named by column.
#
# log ℓ ± z s,   s² = [(−∇² log p(y | θ))⁻¹]ᵢᵢ    (Laplace's approximation under a flat prior on θ)
#
# Of a length scale that is so long that its column does not matter, the lower end is about
# where the evidence has fallen by z²/2.


@dataclass(frozen=True)
class HyperparameterInterval:
    """One hyperparameter: its value, an interval, and whether the data determine it.

    ``column`` is that of a length scale of one column, else None. An upper end of infinity for a
    length scale says that the column may not matter at all.
    """

    name: str
    column: str | None
    value: float
    lower: float
    upper: float
    determined: bool


@dataclass(frozen=True)
class Label:
    """What an entry of θ is: its name, and the column it belongs to."""

    name: str
    column: str | None = None

    def __str__(self) -> str:
        return self.name if self.column is None else f"{self.name} of {self.column!r}"


def theta_labels(kernel: Kernel, columns: Sequence[str]) -> list[Label]:
    """A label for every entry of θ, from left to right; repeated ones are numbered."""
    labels = _labels(kernel, columns)
    texts = [str(label) for label in labels]
    seen: dict[str, int] = {}
    numbered = []
    for label, text in zip(labels, texts, strict=True):
        seen[text] = seen.get(text, 0) + 1
        more = f" {seen[text]}" if texts.count(text) > 1 else ""
        numbered.append(Label(label.name + more, label.column))
    return numbered


def _labels(kernel: Kernel, columns: Sequence[str]) -> list[Label]:
    if kernel._children() and not isinstance(kernel, Constrained):
        own = [_word(kernel, n) for n, p in kernel._own_hyperparameters() if p.continuous]
        parts = (_labels(child, columns) for child in kernel._children())
        return [*(Label(word) for word in own), *(label for part in parts for label in part)]
    inner = kernel
    while isinstance(inner, Constrained):
        inner = inner.kernel
    names = [name for name, p in kernel._hyperparameters() if p.continuous]
    by_column = getattr(inner, "by_column", False) and names.count("bandwidth") == len(columns)
    left = iter(columns)
    return [
        Label(_word(inner, name), next(left) if by_column and name == "bandwidth" else None)
        for name in names
    ]


def _word(kernel: Kernel, name: str) -> str:
    if isinstance(kernel, White):
        return "noise variance"
    if isinstance(kernel, Constant | Scaled):
        return "variance"
    return {"bandwidth": "length scale"}.get(name, name)


def hyperparameter_intervals(
    kernel: Kernel, learned: learning.Learned, columns: Sequence[str], level: float
) -> tuple[HyperparameterInterval, ...]:
    """Intervals of all hyperparameters that were learned."""
    if not 0.0 < level < 1.0:
        raise InputError(f"level={level!r} must be between 0 and 1.")
    z = float(stats.norm.isf((1.0 - level) / 2.0))
    errors, labels = learned.standard_errors, theta_labels(kernel, columns)
    low, high = learned.theta - z * errors, learned.theta + z * errors
    for j in np.flatnonzero(learned.at_limit & (learned.gradient >= 0.0)):
        if labels[j].name.startswith("length scale"):
            low[j] = learned.theta[j] - _drop(float(learned.gradient[j]), z)
    positive = [p.positive for p in kernel._continuous()]
    with np.errstate(over="ignore"):
        ends: Floats = np.array([learned.theta, low, high])
        values = np.where(positive, np.exp(ends), ends).T.tolist()
    return tuple(
        HyperparameterInterval(
            label.name, label.column, value, lower, upper, bool(error <= learning.UNDETERMINED)
        )
        for label, (value, lower, upper), error in zip(labels, values, errors, strict=True)
    )


def _drop(slope: float, z: float) -> float:
    """How much shorter (in logarithms) a length scale at its end may be: until z²/2 is lost.

    The evidence falls short of its plateau by c exp(−2θ), so that its slope gives c.
    """
    return max(0.0, 0.5 * float(np.log(z * z / max(slope, np.finfo(float).tiny))))
