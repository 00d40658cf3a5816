"""Rows of the tests of support vector classification."""

from __future__ import annotations

import numpy as np


def noisy(n: int, d: int = 4, seed: int = 0, noise: float = 0.5):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    return x, (x[:, 0] * x[:, 1] + x[:, 2] + noise * rng.standard_normal(n) > 0).astype(int)
