"""Laplace's approximation of a Gaussian process with a logistic likelihood.

    Ψ(f) = Σ w [y f − log(1 + eᶠ)] − ½ fᵀK⁻¹f,     y = 0 or 1

    mode:      f̂ = K g,   g = w (y − π),   π = 1/(1 + e⁻ᶠ)
    evidence:  log q = Ψ(f̂) − ½ log|B|,   B = I + W^½ K W^½,   W = w π (1 − π)

K is never inverted: every matrix that is factored has eigenvalues of at least one. A weight of w is
the same as w equal rows, whose values of f are one.

C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning, 2006, chapters 3.4 and 5.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from separatrix.kernels import Kernel
from separatrix.kernels.base import Items
from separatrix.matrices.cholesky import cholesky_factor, cholesky_solve
from separatrix.matrices.inverse import cholesky_inverse, mirrored
from separatrix.matrices.products import multiply
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map, pieces

#: The gain that a step promises, in nats, after which none follows; halvings of a step.
DECREMENT, MAX_HALVINGS = 1e-12, 40


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
        inverse = mirrored(cholesky_inverse(self.factor.copy()))
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
        for _ in range(MAX_HALVINGS):
            new_f, new_slope = f + length * change, slope + length * direction
            new_value = log_posterior(new_f, new_slope, y, w)
            if new_value >= value - 1e-14 * (1.0 + abs(value)):
                gained = True
                break
            length *= 0.5
        if not gained:
            break
        f, slope, value = new_f, new_slope, new_value
        if decrement <= DECREMENT:  # this step was taken: what it leaves is of fourth order
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
