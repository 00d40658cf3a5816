"""Classes whose log odds are linear, and the posterior by its definition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def classes(n: int, d: int, k: int, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Rows whose scores are linear with unit coefficients, and a class drawn for each."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) * np.linspace(0.5, 2.0, d) + 1.0
    scores = (x - 1.0) @ rng.standard_normal((d, k)) + rng.gumbel(size=(n, k))
    y = scores.argmax(axis=1)
    y[:k] = np.arange(k)
    return x, y


def log_posterior(
    x: Floats, y: NDArray[np.int64], scale: float, intercept_scale: float
) -> Callable[[float, float], float]:
    """log p(y, b, a) of one standardized column and two classes."""
    z, sign = (x[:, 0] - x.mean()) / x.std(), np.where(y == 1, 1.0, -1.0)

    def log_joint(b: float, a: float) -> float:
        prior = -0.5 * ((b / scale) ** 2 + (a / intercept_scale) ** 2)
        prior -= np.log(2.0 * np.pi * scale * intercept_scale)
        return float(prior - np.logaddexp(0.0, -sign * (b * z + a)).sum())

    return log_joint
