"""Laplace's approximation of a Gaussian process with a logistic likelihood.

    Ψ(f) = Σ w [y f − log(1 + eᶠ)] − ½ fᵀK⁻¹f,     y = 0 or 1

    mode:      f̂ = K g,   g = w (y − π),   π = 1/(1 + e⁻ᶠ)
    evidence:  log q = Ψ(f̂) − ½ log|B|,   B = I + W^½ K W^½,   W = w π (1 − π)

K is never inverted: every matrix that is factored has eigenvalues of at least one. A weight of w is
the same as w equal rows, whose values of f are one.

C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006, chapters 3.4 and 5.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import erf, expit

from separatrix.arrays import Floats, Ints
from separatrix.bayes.gaussian_process import learning
from separatrix.bayes.gaussian_process.inducing_search import largest_slope
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, mirror_lower
from separatrix.matrices.cholesky import cholesky_factor, cholesky_inverse, cholesky_solve
from separatrix.matrices.products import multiply
from separatrix.messages import InputError
from separatrix.optimize.convex import Certificate
from separatrix.rows.schema import n_items, take_items
from separatrix.threads import parallel_map, pieces


@dataclass(frozen=True)
class Mode:
    """The mode of the latent values under a kernel matrix, and what follows from it."""

    gram: Floats
    y: Floats
    w: Floats
    slope: Floats  # g, the gradient of the log likelihood: f = K g
    f: Floats
    steps: int

    @cached_property
    def probability(self) -> Floats:
        """π of the second class, at the mode."""
        return np.asarray(expit(self.f))

    @cached_property
    def root(self) -> Floats:
        """W^½."""
        return np.asarray(np.sqrt(self.w * self.probability * (1.0 - self.probability)))

    @cached_property
    def factor(self) -> Floats:
        """The Cholesky factor of B."""
        return _factor(self.gram, self.root)

    @cached_property
    def evidence(self) -> float:
        """log q, Laplace's approximation of the log evidence."""
        log_determinant = float(np.log(np.diagonal(self.factor)).sum())
        return log_posterior(self.f, self.slope, self.y, self.w) - log_determinant

    def by_gram(self) -> Floats:
        """Q with ∂ log q/∂θ = Σ Qᵢⱼ ∂Kᵢⱼ/∂θ; the mode moves with K, which counts too."""
        n = len(self.y)
        inverse = mirror_lower(cholesky_inverse(self.factor.copy()))
        # ½ (K⁻¹ + W)⁻¹ᵢᵢ times the third derivatives of the likelihood
        moved = -0.5 * (1.0 - np.diagonal(inverse)) * (1.0 - 2.0 * self.probability)
        inverse *= self.root[:, None]
        inverse *= self.root[None, :]  # R = W^½ B⁻¹ W^½
        pulled = moved - inverse @ (self.gram @ moved)
        g = self.slope

        def fill(rows: slice) -> None:
            inverse[rows] *= -0.5
            inverse[rows] += np.outer(0.5 * (g + pulled)[rows], g)
            inverse[rows] += np.outer(0.5 * g[rows], pulled)

        parallel_map(fill, pieces(n, 64))
        return inverse


def find_mode(
    gram: Floats, y: Floats, w: Floats, start: Floats | None = None, max_steps: int = 100
) -> Mode:
    """Newton's method on Ψ with steps halved until they gain; ``start`` is a slope g."""
    slope = np.zeros(len(y)) if start is None else start
    f = _times(gram, slope)
    value = log_posterior(f, slope, y, w)
    steps = 0
    while steps < max_steps:
        steps += 1
        probability = expit(f)
        variance = w * probability * (1.0 - probability)
        root = np.sqrt(variance)
        right = variance * f + w * (y - probability)
        factor = _factor(gram, root)
        solved = cholesky_solve(factor, (root * _times(gram, right))[:, None])[:, 0]
        target = right - root * solved
        direction = target - slope
        change = _times(gram, direction)
        decrement = float(change @ (w * (y - probability) - slope))
        length, gained = 1.0, False
        for _ in range(40):  # halvings of a step
            new_f, new_slope = f + length * change, slope + length * direction
            new_value = log_posterior(new_f, new_slope, y, w)
            if new_value >= value - 1e-14 * (1.0 + abs(value)):
                gained = True
                break
            length *= 0.5
        if not gained:
            break
        f, slope, value = new_f, new_slope, new_value
        # The gain that a step promises, in nats, after which none follows.
        if decrement <= 1e-12:  # this step was taken: what it leaves is of fourth order
            break
    # from the slope alone, so that a model read from a file has the same bits
    return mode_at(gram, y, w, slope, steps)


def mode_at(gram: Floats, y: Floats, w: Floats, slope: Floats, steps: int) -> Mode:
    """The mode with a known slope."""
    return Mode(gram, y, w, slope, _times(gram, slope), steps)


def log_posterior(f: Floats, slope: Floats, y: Floats, w: Floats) -> float:
    """Ψ(f) at f = K g, from g."""
    likelihood = y * f - np.logaddexp(0.0, f)
    return float(w @ likelihood - 0.5 * f @ slope)


def evidence_and_gradient(
    kernel: Kernel,
    x: Items,
    y: Floats,
    w: Floats,
    start: Floats | None = None,
    max_steps: int = 100,
) -> tuple[float, Floats, Mode]:
    """log q, its derivatives by θ of the kernel, and the mode."""
    mode = find_mode(np.asarray(kernel.gram(x), dtype=float), y, w, start, max_steps)
    return mode.evidence, kernel.gradient_sums(x, mode.by_gram()), mode


def _factor(gram: Floats, root: Floats) -> Floats:
    system = gram * root[:, None]
    system *= root[None, :]
    system[np.diag_indices(len(root))] += 1.0
    factor = cholesky_factor(system)
    if factor is None:
        raise FloatingPointError("the kernel matrix is not finite, or not positive")
    return factor


def _times(gram: Floats, vector: Floats) -> Floats:
    return np.asarray(multiply(gram, vector))


# -------------------------------------------------------------------------------------------------
# A fitted Gaussian process of two classes: latent values and probabilities.
#
# f(x) | y ≈ N(m(x), s²(x)),   m = κ(x, X) g,   s² = κ(x, x) − ‖L⁻¹ W^½ κ(X, x)‖²,   B = L Lᵀ
# P(class 1 | x) = ∫ σ(f) N(f; m, s²) df


#: σ(f) ≈ Σ c Φ-like steps (1 + erf λf)/2 through its values at 0, 0.6, 2, 3.5, 4.5 and infinity:
#: then the integral over a normal f is in closed form, to about 1e-4. The λ and c of Williams and
#: Barber, "Bayesian classification with Gaussian processes", 1998, as other implementations round.
SLOPES = np.array([0.41, 0.4, 0.37, 0.44, 0.39])
COEFFICIENTS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])


@dataclass(frozen=True)
class BinaryProcess:
    """Laplace's approximation of a process of two classes, 0 and 1.

    ``slope`` is g = w (y − π) at the mode of the training rows x. What was ``learned`` is θ, or
    steps along ``directions`` (the columns) in it. The factor of B is computed anew after loading.
    """

    kernel: Kernel
    x: Items
    y: Floats
    w: Floats
    slope: Floats
    evidence: float
    steps: int = 0
    learned: learning.Learned | None = None
    directions: Floats | None = None

    @classmethod
    def of(
        cls,
        kernel: Kernel,
        x: Items,
        y: Floats,
        w: Floats,
        start: Floats | None = None,
        max_steps: int = 100,
        learned: learning.Learned | None = None,
        directions: Floats | None = None,
    ) -> BinaryProcess:
        """The process at these hyperparameters."""
        mode = find_mode(np.asarray(kernel.gram(x), dtype=float), y, w, start, max_steps)
        process = cls(kernel, x, y, w, mode.slope, mode.evidence, mode.steps, learned, directions)
        process.__dict__["mode"] = mode
        return process

    @cached_property
    def mode(self) -> Mode:
        """The mode: its kernel matrix and factor are not stored."""
        gram = np.asarray(self.kernel.gram(self.x), dtype=float)
        return mode_at(gram, self.y, self.w, self.slope, self.steps)

    def __getstate__(self) -> dict[str, object]:
        """Without what is computed on demand."""
        return {name: value for name, value in vars(self).items() if name != "mode"}

    @property
    def stored_rows(self) -> int:
        """How many rows predictions are computed from."""
        return len(self.y)

    def latent_mean(self, x: Items) -> Floats:
        """m(x) of new rows."""
        return self.kernel.prepare_exact(self.x).dot(x, self.slope[:, None])[:, 0]

    def latent(self, x: Items) -> tuple[Floats, Floats]:
        """m(x) and s²(x) of new rows, some at a time on threads."""
        mode, n = self.mode, n_items(x)
        mean, variance = np.empty(n), np.asarray(self.kernel.diagonal(x), dtype=float).copy()
        prepared, factor, root = self.kernel.prepare_exact(self.x), mode.factor, mode.root
        # Kernel values between new rows and training rows that are in memory at a time.
        step = max(16, (1 << 20) // max(1, len(root)))

        def part(start: int) -> None:
            rows = slice(start, min(start + step, n))
            values = np.asarray(prepared.rows(take_items(x, rows)), dtype=float)
            mean[rows] = values @ self.slope
            half = linalg.solve_triangular(
                factor, (values * root).T, lower=True, check_finite=False, overwrite_b=True
            )
            variance[rows] -= np.einsum("ij,ij->j", half, half)

        parallel_map(part, range(0, n, step))
        return mean, np.maximum(variance, 0.0)

    def probabilities(self, x: Items) -> Floats:
        """P(class 1) of new rows."""
        return averaged_sigmoid(*self.latent(x))


def averaged_sigmoid(mean: Floats, variance: Floats) -> Floats:
    """∫ σ(f) N(f; m, s²) df by steps whose integrals are error functions.

    ∫ erf(λ f) N(f; m, s²) df = erf(λ m / √(1 + 2 λ² s²))
    """
    steps = np.zeros(len(mean))
    for slope, coefficient in zip(SLOPES, COEFFICIENTS, strict=True):
        spread = np.sqrt(1.0 + 2.0 * slope**2 * variance)
        steps += coefficient * erf(slope * mean / spread)
    return np.asarray(np.clip(0.5 * steps + 0.5 * COEFFICIENTS.sum(), 0.0, 1.0))


# -------------------------------------------------------------------------------------------------
# Hyperparameters of a process of two classes, by the maximum of Laplace's evidence.


@dataclass(frozen=True)
class SearchSpace:
    """Where the search for hyperparameters begins and where it may go.

    ``optimizer`` is scikit-learn's callable, or None for the library's own. Starts and box are
    those of u in θ = θ₀ + D u, or of θ itself where there are no ``directions`` D.
    """

    starts: Sequence[Floats]
    box: learning.Bounds
    optimizer: Callable[..., Any] | None = None
    origin: Floats | None = None
    directions: Floats | None = None

    def theta(self, u: Floats) -> Floats:
        """θ at u."""
        if self.directions is None or self.origin is None:
            return u
        return np.asarray(self.origin + self.directions @ u)

    def along(self, objective: learning.Objective) -> learning.Objective:
        """The objective as a function of u."""
        directions = self.directions
        if directions is None:
            return objective

        def value_and_gradient(u: Floats) -> tuple[float, Floats]:
            value, gradient = objective(self.theta(u))
            return value, np.asarray(directions.T @ gradient)

        return value_and_gradient


class LaplaceEvidence:
    """θ ↦ (log evidence, gradient) of some rows; each mode starts from the one before."""

    def __init__(self, kernel: Kernel, x: Items, y: Floats, w: Floats, max_steps: int) -> None:
        self.kernel, self.x, self.y, self.w, self.max_steps = kernel, x, y, w, max_steps
        self.slope: Floats | None = None

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """Value and gradient; −inf where the kernel has no finite, positive matrix."""
        nothing = -np.inf, np.zeros(len(theta))
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient, mode = evidence_and_gradient(
                    self.kernel.with_theta(theta),
                    self.x,
                    self.y,
                    self.w,
                    self.slope,
                    self.max_steps,
                )
        except (FloatingPointError, ValueError):
            return nothing
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return nothing
        self.slope = mode.slope
        return value, gradient


def fit_binary(
    kernel: Kernel, x: Items, y: Floats, w: Floats, search: SearchSpace | None, max_steps: int = 100
) -> BinaryProcess:
    """The process with the hyperparameters of the highest evidence, or with those given."""
    if search is None or not len(kernel.theta):
        return BinaryProcess.of(kernel, x, y, w, max_steps=max_steps)
    objective = LaplaceEvidence(kernel, x, y, w, max_steps)
    if search.optimizer is not None:
        best = kernel.with_theta(search.theta(_by_callable(search, search.along(objective))))
        return BinaryProcess.of(best, x, y, w, max_steps=max_steps)
    samples = []
    if len(y) > 500:  # rows up to which starts are compared on all of them
        # Rows on which starts are compared.
        some = spread_rows(y, 256, np.random.default_rng(0).permutation(len(y)))
        part = LaplaceEvidence(kernel, take_items(x, some), y[some], w[some], max_steps)
        samples = [learning.EvidenceSample(search.along(part), len(y) / len(some))]
    # Gain in nats that the last step may leave: of small tables, and of others.
    learned = learning.learn(
        search.along(objective),
        search.starts,
        search.box,
        samples=samples,
        tolerance=1e-8 if samples else 1e-13,
    )
    if not np.isfinite(learned.value):
        return BinaryProcess.of(kernel, x, y, w, max_steps=max_steps)
    best = kernel.with_theta(search.theta(learned.theta))
    return BinaryProcess.of(best, x, y, w, objective.slope, max_steps, learned, search.directions)


class Kernels(tuple[Kernel, ...]):
    """The kernel of each process, with the hyperparameters of all in turn as ``theta``."""

    __slots__ = ()

    @property
    def theta(self) -> Floats:
        """Logarithms of the hyperparameters of the first, then of the second, and so on."""
        return np.concatenate([kernel.theta for kernel in self])


def thetas_of(processes: Sequence[BinaryProcess], theta: Floats) -> list[Floats]:
    """θ of each process, from one that all share or from those of all in turn."""
    sizes = [len(process.kernel.theta) for process in processes]
    shared = len(theta) == sizes[0]
    if not shared and len(theta) != sum(sizes):
        raise InputError(
            f"theta has {len(theta)} entries; a process has {sizes[0]} hyperparameters."
        )
    return [theta] * len(sizes) if shared else np.split(theta, np.cumsum(sizes)[:-1])


def spread_rows(y: Floats, count: int, order: Ints) -> Ints:
    """About ``count`` rows, the first in order of each class by its share, at least a quarter."""
    chosen = []
    for label in (0.0, 1.0):
        of_class = order[y[order] == label]
        chosen.append(of_class[: max(count // 4, round(count * len(of_class) / len(y)))])
    return np.sort(np.concatenate(chosen))


def _by_callable(search: SearchSpace, objective: learning.Objective) -> Floats:
    """By scikit-learn's protocol: optimizer(obj_func, initial_theta, bounds=bounds)."""

    def loss(theta: Floats, eval_gradient: bool = True) -> Any:
        value, gradient = objective(np.asarray(theta, dtype=float))
        return (-value, -gradient) if eval_gradient else -value

    assert search.optimizer is not None
    bounds = np.column_stack([search.box.low, search.box.high])
    ends = [search.optimizer(loss, start, bounds=bounds) for start in search.starts]
    return np.asarray(min(ends, key=lambda end: float(end[1]))[0], dtype=float)


# -------------------------------------------------------------------------------------------------
# Certificate of a process of classes: its mode and the slope of its evidence, computed again.
#
# With K₁ = ∂K/∂θ by differences of kernel values, R = (K + W⁻¹)⁻¹ and S = (K⁻¹ + W)⁻¹ = K − K R K,
#
#     d log q/dθ = ½ gᵀK₁g − ½ tr(R K₁) + sᵀ(I − K R) K₁ g,     s = −½ diag(S) w σ(1 − σ)(1 − 2σ)
#
# (Rasmussen and Williams, equations 5.21 to 5.24), where inverses are by elimination.


#: Step of the differences in θ, rows of kernel values at a time, and rows up to which all of this
#: is little work and memory beside the fit.
STEP, STRIP, MOST_ROWS = 1e-5, 256, 4_000


def certify(processes: Sequence[BinaryProcess]) -> Certificate:
    """The worst of several processes; their mean evidence."""
    residual = max(mode_residual(process) for process in processes)
    evidence = float(np.mean([process.evidence for process in processes]))
    learned = [process for process in processes if process.learned is not None]
    where = "at a local maximum of its evidence" if learned else "at the given hyperparameters"
    several = len(processes) > 1
    notes = [f"The {'mean ' if several else ''}log evidence is {evidence:.8g}."]
    if learned:
        slope = max(_slope(process) for process in learned)
        anew = all(len(process.y) <= MOST_ROWS for process in learned)
        by = "" if anew else " by the formula that it was maximized with"
        notes.append(f"Its derivative is at most {slope:.1g} nats per standard error{by}.")
    of = f"{len(processes)} processes" if several else "a process"
    # Residual of the mode equation, relative to the latent values, that rounding may leave.
    return Certificate(
        claim=f"Laplace's approximation of {of} of two classes, {where}",
        kkt=residual,
        tolerance=1e-7,
        primal=-evidence,
        notes=tuple(notes),
        promised=("kkt",),
    )


def mode_residual(binary_process: BinaryProcess) -> float:
    """max |f − K g(f)| relative to max |f|: the mode equation, from kernel values anew."""
    f = binary_process.latent_mean(binary_process.x)
    again = binary_process.w * (binary_process.y - expit(f))
    other = binary_process.kernel.prepare_exact(binary_process.x).dot(
        binary_process.x, again[:, None]
    )[:, 0]
    return float(np.abs(f - other).max(initial=0.0) / max(1.0, np.abs(f).max(initial=0.0)))


def _slope(binary_process: BinaryProcess) -> float:
    """The largest derivative of the evidence in nats per standard error."""
    assert binary_process.learned is not None
    if len(binary_process.y) > MOST_ROWS:
        return largest_slope(binary_process.learned)
    gradient = evidence_slope(
        binary_process.kernel,
        binary_process.x,
        binary_process.y,
        binary_process.w,
        binary_process.slope,
    )
    if binary_process.directions is not None:
        gradient = binary_process.directions.T @ gradient
    return largest_slope(replace(binary_process.learned, gradient=gradient))


def evidence_slope(kernel: Kernel, x: Items, y: Floats, w: Floats, slope: Floats) -> Floats:
    """The derivatives of log q by θ at the mode f = K g, from its definition."""
    n = len(y)
    gram = np.asarray(kernel.gram(x), dtype=float)
    f = gram @ slope
    p = expit(f)
    variance = w * p * (1.0 - p)
    solved = np.linalg.solve(np.eye(n) + variance[:, None] * gram, np.diag(variance))  # R
    pulled = gram @ solved  # K R
    spread = np.diagonal(gram) - np.einsum("ij,ji->i", pulled, gram)
    moved = -0.5 * spread * variance * (1.0 - 2.0 * p)
    moved = moved - pulled.T @ moved
    g = w * (y - p)
    return np.array(
        [
            sum(
                0.5 * g[rows] @ (part @ g) + moved[rows] @ (part @ g)
                - 0.5 * float(np.vdot(solved[rows], part))
                for rows, part in _changes(kernel, x, n, direction)
            )
            for direction in np.eye(len(kernel.theta))
        ]
    )  # fmt: skip


def _changes(kernel: Kernel, x: Items, n: int, direction: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Strips of rows of ∂K/∂θ along a direction, by differences; white noise is on the diagonal."""
    ends = [kernel.with_theta(kernel.theta + sign * STEP * direction) for sign in (1.0, -1.0)]
    diagonal = np.subtract(*(np.asarray(end.diagonal(x), dtype=float) for end in ends))
    prepared = [end.prepare_exact(x) for end in ends]
    for start in range(0, n, STRIP):
        at = np.arange(start, min(start + STRIP, n))
        some = take_items(x, at)
        part = np.subtract(*(np.asarray(binary.rows(some), dtype=float) for binary in prepared))
        part[np.arange(len(at)), at] = diagonal[at]
        yield at, part / (2.0 * STEP)
