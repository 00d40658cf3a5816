"""A process of two classes through inducing points: a variational bound on its evidence.

With log σ(z) ≥ log σ(ξ) + (z − ξ)/2 − λ(ξ)(z² − ξ²), λ(ξ) = tanh(ξ/2)/4ξ (Jaakkola, Jordan), rows
have normal likelihoods of precision 2λ w, and all is in sums over the whitened rows a = L⁻¹κ(Z, x):

    Φ = Σ 2λ w a aᵀ,   b = Σ w (y − ½) a,   B = I + Φ,   q(u) = N(B⁻¹b, B⁻¹)
    F = ½ bᵀB⁻¹b − ½ log|B| − ½ Σ 2λ w (κ(x, x) − ‖a‖²) + Σ w (log σ(ξ) − ξ/2 + λξ²) ≤ log p(y)

ξ² = E f² of every row is the best ξ; passes with it never lower F.

M. Gibbs and D. MacKay, "Variational Gaussian process classifiers", 2000.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import log_expit

from separatrix.bayes.process.classification.binary import averaged_sigmoid
from separatrix.bayes.process.classification.search import Search, fit_binary, spread_rows
from separatrix.bayes.process.inducing.fit import MOST_POINTS
from separatrix.bayes.process.inducing.points import InducingPoints
from separatrix.bayes.process.inducing.selection import choose_points, middle_first
from separatrix.bayes.process.inducing.sums import groups
from separatrix.bayes.process.learning import Learned
from separatrix.bayes.process.noise import SplitKernel
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.matrices.cholesky import cholesky_factor
from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map

#: Rows whose exact evidence the hyperparameters maximize, and among which points are chosen.
LEARNING_ROWS, CANDIDATES = 800, 8_000
#: Mean variance of f that points may leave with "auto", relative to that of f.
LEFT = 1e-3
#: Passes at most, and the gain in nats a row after which there is none.
PASSES, GAIN = 100, 1e-8


@dataclass(frozen=True)
class InducingBinary:
    """q(u) of a process of two classes, by the whitened mean and the Cholesky factor of B."""

    kernel: Kernel
    points: Items
    mean: Floats
    factor: Floats
    evidence: float
    gain: float
    learned: Learned | None = None

    @cached_property
    def inducing(self) -> InducingPoints:
        """The points with their factor."""
        return InducingPoints.of(self.kernel, self.points)

    def __getstate__(self) -> dict[str, object]:
        """Without what is computed on demand."""
        return {name: value for name, value in vars(self).items() if name != "inducing"}

    @property
    def stored_rows(self) -> int:
        """How many points predictions are computed from."""
        return len(self.mean)

    def latent_mean(self, x: Items) -> Floats:
        """m(x) of new rows."""
        return self.latent(x)[0]

    def latent(self, x: Items) -> tuple[Floats, Floats]:
        """m(x) and s²(x) of new rows, some at a time on threads."""
        inducing = self.inducing

        def part(rows: slice) -> tuple[Floats, Floats]:
            some = take_items(x, rows)
            return _moments(
                inducing.whitened(some), inducing.diagonal(some), self.mean, self.factor
            )

        found = [
            one for group in groups(n_items(x), len(self.mean)) for one in parallel_map(part, group)
        ]
        return np.concatenate([m for m, _ in found]), np.concatenate([v for _, v in found])

    def probabilities(self, x: Items) -> Floats:
        """P(class 1) of new rows."""
        return averaged_sigmoid(*self.latent(x))

    def mode_residual(self) -> float:
        """The gain of the last pass in nats a row: none where ξ and q(u) agree."""
        return self.gain


def _moments(a: Floats, diagonal: Floats, mean: Floats, factor: Floats) -> tuple[Floats, Floats]:
    shrunk = linalg.solve_triangular(factor, a.T, lower=True, check_finite=False)
    left = np.maximum(diagonal - np.einsum("ij,ij->i", a, a), 0.0)
    return a @ mean, left + np.einsum("ij,ij->j", shrunk, shrunk)


def fit_inducing_binary(
    kernel: Kernel, x: Items, y: Floats, w: Floats, search: Search | None, n_inducing: int | None
) -> InducingBinary:
    """Hyperparameters by Laplace's evidence of some rows, then q(u) by passes over all of them."""
    if SplitKernel(kernel).has_noise:
        raise InputError(
            "White() in the kernel and inducing points do not go together in a classifier.",
            remedy="Leave White() out: a classifier needs no noise.",
        )
    learned = None
    if search is not None:
        few = spread_rows(y, LEARNING_ROWS)
        first = fit_binary(kernel, take_items(x, few), y[few], w[few], search)
        kernel, learned = first.kernel, first.learned
    inducing = InducingPoints.of(kernel, _chosen(kernel, x, y, n_inducing))
    m, n = len(inducing), float(w.sum())
    mean, factor, value, gain = np.zeros(m), np.eye(m), -np.inf, np.inf
    for _ in range(PASSES):
        gram, inner, rest = _sums(inducing, x, y, w, mean, factor)
        found = cholesky_factor(np.eye(m) + gram)
        if found is None:
            raise FloatingPointError("the sums of the inducing points are not finite")
        factor = np.tril(found)
        half = linalg.solve_triangular(factor, inner, lower=True)
        mean = linalg.solve_triangular(factor, half, lower=True, trans=1)
        bound = 0.5 * float(half @ half) - float(np.log(np.diagonal(factor)).sum()) + rest
        gain, value = (bound - value) / n, bound
        if gain <= GAIN:
            break
    return InducingBinary(kernel, inducing.points, mean, factor, value, max(gain, 0.0), learned)


def _chosen(kernel: Kernel, x: Items, y: Floats, n_inducing: int | None) -> Items:
    some = take_items(x, spread_rows(y, CANDIDATES))
    if isinstance(some, np.ndarray):  # copies of a row do not matter
        some = np.unique(some, axis=0)
    chosen = choose_points(kernel, some, n_inducing or MOST_POINTS, middle_first(some))
    rows = chosen.rows
    if n_inducing is None:
        whole = float(np.asarray(kernel.diagonal(some), dtype=float).sum())
        enough = np.flatnonzero(chosen.left <= LEFT * whole)
        rows = rows[: int(enough[0]) + 1] if len(enough) else rows
    return take_items(some, rows if len(rows) else np.array([0]))


def _sums(
    inducing: InducingPoints, x: Items, y: Floats, w: Floats, mean: Floats, factor: Floats
) -> tuple[Floats, Floats, float]:
    """Φ, b, and what else F has, with the best ξ for q(u)."""

    def part(rows: slice) -> tuple[Any, ...]:
        some, weight = take_items(x, rows), w[rows]
        a, diagonal = inducing.whitened(some), inducing.diagonal(some)
        center, variance = _moments(a, diagonal, mean, factor)
        xi = np.sqrt(center**2 + variance)
        bend = np.where(xi > 1e-6, np.tanh(0.5 * xi) / np.maximum(4.0 * xi, 1e-300), 0.125)
        scaled = a * np.sqrt(2.0 * bend * weight)[:, None]
        constant = weight @ (log_expit(xi) - 0.5 * xi + bend * xi**2)
        left = np.maximum(diagonal - np.einsum("ij,ij->i", a, a), 0.0)
        rest = float(constant - (bend * weight) @ left)
        return scaled.T @ scaled, a.T @ (weight * (y[rows] - 0.5)), rest

    m = len(inducing)
    gram, inner, rest = np.zeros((m, m)), np.zeros(m), 0.0
    for group in groups(n_items(x), m):
        for one in parallel_map(part, group):
            gram += one[0]
            inner += one[1]
            rest += one[2]
    return gram, inner, rest
