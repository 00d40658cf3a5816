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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import linalg
from scipy.special import expit

from separatrix.arrays import Floats
from separatrix.bayes.gaussian_process import inducing_search, laplace
from separatrix.bayes.gaussian_process.inducing import (
    CollapsedBound,
    GradientSums,
    HashedSample,
    InducingPoints,
    InducingSums,
    Targets,
    cross_values,
    groups,
    reduce_rows,
    sample_rows,
)
from separatrix.bayes.gaussian_process.inducing_search import SAMPLE_ROWS
from separatrix.bayes.gaussian_process.learning import Learned
from separatrix.bayes.gaussian_process.model import SplitKernel
from separatrix.bayes.loops import expected_likelihood
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items
from separatrix.matrices.cholesky import cholesky_factor
from separatrix.messages import InputError
from separatrix.optimize.convex import Certificate
from separatrix.rows.rows import Rows
from separatrix.rows.schema import Block, n_items, take_items, unit_weights
from separatrix.threads import parallel_map


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
        # Precisions of rows below this are raised to it: they count for nothing.
        return cls(softplus, mean, y - probability, np.maximum(precision, 1e-100))


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
        a, w = self.inducing.whiten(x, single=self.single), unit_weights(w, len(y))
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
    def of(cls, observation_sums: ObservationSums) -> Self:
        """The bound with the sums of all rows at the best q."""
        sums = InducingSums(observation_sums.inducing, single=observation_sums.single)
        sums.weight, sums.gram, sums.inner = (
            observation_sums.weight,
            observation_sums.gram,
            observation_sums.inner[:, None],
        )
        bound = cls(sums, 1.0)
        bound.__dict__.update(found=observation_sums, lower=observation_sums.value)
        return bound


def best_bound(
    inducing: InducingPoints,
    rows: inducing_search.ReducibleRows,
    start: Variational,
    *,
    single: bool,
) -> ClassBound:
    """The best q by passes over the rows, each toward the q that the last one saw.

    Steps are shortened where the last one was seen to go too far, or did not gain.
    """
    here = rows.reduce(ObservationSums(inducing, start, single))
    part, passes, near = 1.0, 1, False
    # Passes at most, and the least part of a step.
    while passes < 100 and part > 0.004 and not near:
        target = here.next
        # Difference in nats of q and the next after which only that follows: in single precision,
        # else.
        near = here.q.distance(target) <= (1e-5 if single else 1e-14)
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
        posterior = self.bound.found
        a = posterior.inducing.whiten(x, single=posterior.single)
        seen = Observations.of(posterior.q, a, posterior.inducing.diagonal(x), y[:, 0])
        targets = seen.mean + seen.slope / seen.precision
        weight = unit_weights(w, len(y)) * seen.precision
        return super()._part(x, targets[:, None], weight)


@dataclass
class LastQ:
    """The q of the last fixed point, from which the next one starts."""

    q: Variational | None = None


@dataclass(frozen=True)
class ClassModel(inducing_search.InducingModel):
    """What is fitted: a kernel of f, without noise, and two classes."""

    last: LastQ = field(default_factory=LastQ)

    def noise_at(self, theta: Floats, x: Items) -> float:
        """Observations have precisions of their own."""
        del theta, x
        return 1.0

    def bound(
        self, theta: Floats, points: Items, rows: inducing_search.ReducibleRows, *, single: bool
    ) -> ClassBound:
        """F of some rows at the best q."""
        inducing, start = InducingPoints.of(self.function(theta), points), self.last.q
        if start is None or len(start.inner) != len(inducing):
            start = Variational.prior(len(inducing))
        class_bound = best_bound(inducing, rows, start, single=single)
        self.last.q = class_bound.found.q
        return class_bound

    def gradient_sums(self, bound: CollapsedBound) -> ObservationGradient:
        """The derivatives of a bound through rows that are yet to be added."""
        return ObservationGradient.of(bound)


# -------------------------------------------------------------------------------------------------
# A process of two classes through inducing points: how it is found, and what it predicts.
#
# As for numbers (:mod:`separatrix.bayes.gaussian_process.inducing_search`): hyperparameters by the
# evidence of some rows (Laplace's), then by the variational bound of a sample together with the
# points, then by that of all rows. With ``n_inducing="auto"`` the points are doubled until that
# gains at most GAIN nats a row, or MOST_POINTS are used.


#: Gain of twice as many points, in nats a row, at which no more are added; points first, at most.
GAIN, FIRST_POINTS, MOST_POINTS = 1e-3, 32, 256


@dataclass(frozen=True)
class InducingBinary:
    """q(v) of a process of two classes by its sums Φ and b; ``evidence`` is the bound F.

    ``gain`` is what twice as many points gained last, in nats a row; NaN where none were tried.
    What was ``learned`` is by the bound, or ``by_laplace`` of few rows by Laplace's evidence.
    """

    kernel: Kernel
    points: Items
    gram: Floats
    inner: Floats
    evidence: float
    gain: float = np.nan
    sample_rows: int = 0
    all_rows: bool = False
    learned: Learned | None = None
    by_laplace: bool = False

    @classmethod
    def of(
        cls, fit: inducing_search.InducingFit, gain: float, *, by_laplace: bool
    ) -> InducingBinary:
        """What predictions need of a fit."""
        assert isinstance(fit.bound, ClassBound)
        q = fit.bound.found.q
        return cls(
            fit.kernel, fit.points, q.gram, q.inner, fit.bound.lower, gain, fit.sample_rows,
            fit.all_rows, fit.learned, by_laplace,
        )  # fmt: skip

    @cached_property
    def inducing(self) -> InducingPoints:
        """The points with their factor."""
        return InducingPoints.of(self.kernel, self.points)

    @cached_property
    def q(self) -> Variational:
        """The distribution of the whitened values at the points."""
        return Variational(self.gram, self.inner)

    def __getstate__(self) -> dict[str, object]:
        """Without what is computed on demand."""
        return {name: value for name, value in vars(self).items() if name not in ("inducing", "q")}

    @property
    def stored_rows(self) -> int:
        """How many points predictions are computed from."""
        return len(self.inner)

    def latent_mean(self, x: Items) -> Floats:
        """m(x) of new rows."""
        return self.latent(x)[0]

    def latent(self, x: Items) -> tuple[Floats, Floats]:
        """m(x) and s²(x) of new rows, some at a time on threads."""
        inducing, q = self.inducing, self.q
        mean, variance = np.empty(n_items(x)), np.empty(n_items(x))

        def part(rows: slice) -> None:
            some = take_items(x, rows)
            moments = q.moments(inducing.whiten(some), inducing.diagonal(some))
            mean[rows], variance[rows] = moments

        for group in groups(n_items(x), len(inducing)):
            parallel_map(part, group)
        return mean, variance

    def probabilities(self, x: Items) -> Floats:
        """P(class 1) of new rows."""
        return laplace.averaged_sigmoid(*self.latent(x))


#: Where to look for hyperparameters, from rows and their weights; None to leave them as they are.
Searching = Callable[[Items, Floats], laplace.SearchSpace | None]


def fit_inducing_binary(
    rows: Rows, kernel: Kernel, searching: Searching, n_inducing: int | None
) -> InducingBinary:
    """Fit to rows with one target, 0 or 1; ``n_inducing`` is None for "auto"."""
    if SplitKernel(kernel).has_noise:
        raise InputError(
            "White() in the kernel and inducing points do not go together in a classifier.",
            remedy="Leave White() out: a classifier needs no noise.",
        )
    sample = sample_rows(rows, SAMPLE_ROWS)
    search = ClassSearch(rows, sample, ClassModel(kernel, Targets()), searching)
    most, gain = min(n_inducing or MOST_POINTS, len(sample.w)), np.nan
    count = most if n_inducing is not None else min(FIRST_POINTS, most)
    fitted_model = search.with_points(count, automatic=n_inducing is None)
    # fewer points than asked for span the rows: more would be of no use
    while n_items(fitted_model.points) == count < most and not gain <= GAIN:
        before, count = fitted_model.bound.lower, min(2 * count, most)
        fitted_model = search.with_points(count, automatic=True)
        gain = (fitted_model.bound.lower - before) / sample.weight
    return InducingBinary.of(fitted_model, gain, by_laplace=search.box is None)


class ClassSearch(inducing_search.InducingSearch):
    """Hyperparameters by Laplace's evidence of some rows first."""

    model: ClassModel

    def __init__(
        self, rows: Rows, sample: HashedSample, model: ClassModel, searching: Searching
    ) -> None:
        super().__init__(rows, sample, model)
        assert sample.x is not None
        search = searching(sample.x, sample.w)
        if search is None or not len(self.theta):
            return
        # Rows whose evidence by Laplace's approximation learning starts from.
        few = laplace.spread_rows(sample.y[:, 0], 400, np.arange(len(sample.w)))
        x, y, w = take_items(sample.x, few), sample.y[few, 0], sample.w[few]
        first = laplace.fit_binary(model.kernel, x, y, w, search)
        self.first, self.first_rows, self.theta = first.learned, len(few), first.kernel.theta
        if search.directions is None:  # of tied length scales there are too few rows to learn more
            self.box = search.box
            if self.first is not None:
                self.curvature = self.first.curvature / float(w.sum())

    def is_exact(self, count: int) -> bool:
        """Never: Laplace's evidence is not the bound."""
        del count
        return False


# -------------------------------------------------------------------------------------------------
# Certificate of processes of classes through inducing points: a bound, attained by the best q.
#
# Of the best q the mean is m = Σ w (y − E σ(f)) a. Both sides, and the bound, are computed in one
# more pass over the rows, with kernel values, factors and integrals of its own.


class MeanEquation:
    """Σ w (y − E σ(f)) a, the size of its terms, and Σ w E[y f − log(1 + eᶠ)], of some rows."""

    def __init__(self, one: InducingBinary) -> None:
        self.one = one
        m = one.stored_rows
        gram = cross_values(one.kernel, one.points, one.points)
        raised = gram + one.inducing.jitter * np.diagonal(gram).mean() * np.eye(m)
        self.factor = np.linalg.cholesky(0.5 * (raised + raised.T))
        self.covariance = np.linalg.inv(np.eye(m) + one.gram)
        self.mean = self.covariance @ one.inner
        self.total, self.size, self.likelihood = np.zeros(m), np.zeros(m), 0.0

    def fresh(self) -> Self:
        """The sums of no rows."""
        return type(self)(self.one)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        strip = 2048  # rows at a time
        for start in range(0, block.n, strip):
            self._add(block.take(slice(start, start + strip)))

    def _add(self, block: Block) -> None:
        x, y, w = block.dense(), block.y[:, 0], block.weights
        kernel = self.one.kernel
        a = np.linalg.solve(self.factor, cross_values(kernel, x, self.one.points).T).T
        left = np.asarray(kernel.diagonal(x), dtype=float) - (a**2).sum(axis=1)
        center = a @ self.mean
        spread = np.sqrt(np.maximum(left, 0.0) + ((a @ self.covariance) * a).sum(axis=1))
        # Nodes are this far apart in units of f.
        step = min(0.25, 0.4 / max(float(spread.max(initial=0.0)), 1e-300))
        reach = 8.0  # nodes of an integral reach this far
        t = np.linspace(-reach, reach, 2 * int(np.ceil(reach / step)) + 1)
        weights = np.exp(-0.5 * t**2) / np.exp(-0.5 * t**2).sum()
        slope, softplus = y.copy(), np.zeros(len(y))
        for node, weight in zip(t, weights, strict=True):
            f = center + spread * node
            slope -= weight * expit(f)
            softplus += weight * np.logaddexp(0.0, f)
        self.total += a.T @ (w * slope)
        self.size += np.abs(a).T @ (w * np.abs(slope))
        self.likelihood += float(w @ (y * center - softplus))

    def __add__(self, other: Self) -> Self:
        total = self.fresh()
        for name in ("total", "size", "likelihood"):
            setattr(total, name, getattr(self, name) + getattr(other, name))
        return total

    @property
    def residual(self) -> float:
        """The largest violation of the equation, relative to the size of its terms."""
        worst = np.abs(self.total - self.mean) / np.maximum(self.size, 1.0)
        return float(worst.max(initial=0.0))

    @property
    def bound(self) -> float:
        """F."""
        sign, log_determinant = np.linalg.slogdet(self.covariance)
        trace = float(np.trace(self.covariance)) - len(self.mean)
        divergence = 0.5 * (trace + float(self.mean @ self.mean) - float(log_determinant))
        return self.likelihood - divergence if sign > 0 else -np.inf


def certify_inducing(processes: Sequence[InducingBinary], tables: Sequence[Rows]) -> Certificate:
    """The worst of several processes, each with its rows; the mean of their bounds."""
    residuals = [
        reduce_rows(t, MeanEquation(process)) for process, t in zip(processes, tables, strict=True)
    ]
    bound = float(np.mean([process.bound for process in residuals]))
    several = len(processes) > 1
    points = max(process.stored_rows for process in processes)
    of = f"{len(processes)} processes" if several else "a process"
    learned = [process.learned for process in processes if process.learned is not None]
    by_laplace = any(process.by_laplace for process in processes)
    where = "hyperparameters that maximize Laplace's evidence of some rows"
    if not (learned and by_laplace):
        where = (
            inducing_search.learned_where(learned, "bound")
            if learned
            else "the given hyperparameters"
        )
    notes = [
        f"The {'mean ' if several else ''}log evidence is at least {bound:.8g}; "
        "no upper bound is known.",
        *_points_notes(processes, points),
    ]
    if learned and not by_laplace:
        notes.append(
            _learning_note(
                processes, max(inducing_search.largest_slope(process) for process in learned)
            )
        )
    # Residual of the mean's equation, relative to the size of its terms.
    return Certificate(
        claim=f"The best normal approximation of {of} of two classes through {points} inducing "
        f"points, at {where}",
        kkt=max(process.residual for process in residuals),
        tolerance=1e-6,
        primal=-bound,
        statistic="sums of all rows in double precision",
        notes=tuple(notes),
        promised=("kkt",),
    )


def _points_notes(processes: Sequence[InducingBinary], points: int) -> list[str]:
    notes = []
    gains = [process.gain for process in processes if np.isfinite(process.gain)]
    if gains:
        notes.append(f"Half as many points give {max(gains):.2g} nats a row less.")
        if max(gains) > GAIN and points >= MOST_POINTS:
            notes.append(f"The budget of {MOST_POINTS} points is spent; n_inducing=… allows more.")
    jitter = max(process.inducing.jitter for process in processes)
    if jitter:
        notes.append(
            f"To factor the kernel matrix of the points, {jitter:.0e} of its mean diagonal was "
            "added to it; the bound holds with it."
        )
    return notes


def _learning_note(processes: Sequence[InducingBinary], slope: float) -> str:
    rows = max(process.sample_rows for process in processes)
    end = ", then of all rows" if all(process.all_rows for process in processes) else ""
    return (
        f"They were learned on the bound of {rows:,} rows{end}; its derivative there is at most "
        f"{slope:.1g} nats per standard error."
    )
