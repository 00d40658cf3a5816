"""A fitted Gaussian process of two classes: latent values and probabilities.

f(x) | y ≈ N(m(x), s²(x)),   m = κ(x, X) g,   s² = κ(x, x) − ‖L⁻¹ W^½ κ(X, x)‖²,   B = L Lᵀ
P(class 1 | x) = ∫ σ(f) N(f; m, s²) df
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.special import erf

from separatrix.bayes.process.classification.laplace import Mode, find_mode, mode_at
from separatrix.bayes.process.learning import Learned
from separatrix.kernels import Kernel
from separatrix.kernels.base import Items, n_items, take_items
from separatrix.rows.block import Floats
from separatrix.threads import parallel_map

#: σ(f) ≈ Σ c Φ-like steps (1 + erf λf)/2 through its values at 0, 0.6, 2, 3.5, 4.5 and infinity:
#: then the integral over a normal f is in closed form, to about 1e-4. The λ and c of Williams and
#: Barber, "Bayesian classification with Gaussian processes", 1998, as other implementations round.
SLOPES = np.array([0.41, 0.4, 0.37, 0.44, 0.39])
COEFFICIENTS = np.array([-1854.8214151, 3516.89893646, 221.29346712, 128.12323805, -2010.49422654])
#: Kernel values between new rows and training rows that are in memory at a time.
ENTRIES = 1 << 20


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
    learned: Learned | None = None
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
        learned: Learned | None = None,
        directions: Floats | None = None,
    ) -> BinaryProcess:
        """The process at these hyperparameters."""
        mode = find_mode(np.asarray(kernel.gram(x), dtype=float), y, w, start, max_steps)
        found = cls(kernel, x, y, w, mode.slope, mode.evidence, mode.steps, learned, directions)
        found.__dict__["mode"] = mode
        return found

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
        step = max(16, ENTRIES // max(1, len(root)))

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
