"""Intervals of proportions: Wilson's of an observed one, binomial ones of an expected one."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

from separatrix.rows.block import Floats


def wilson(proportion: Any, n: Any, level: float = 0.95) -> Floats:
    """Wilson's score intervals (…, 2) of proportions of ``n``: all p that a test would not reject.

    |p̂ − p| ≤ z √(p (1 − p) / n)
    """
    observed, size = np.asarray(proportion, dtype=float), np.asarray(n, dtype=float)
    z2 = float(stats.norm.isf((1.0 - level) / 2.0)) ** 2
    center = (observed + z2 / (2.0 * size)) / (1.0 + z2 / size)
    half = np.sqrt(z2 * (observed * (1.0 - observed) / size + z2 / (4.0 * size * size)))
    half = half / (1.0 + z2 / size)
    return np.stack([np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)], axis=-1)


def expected_range(probability: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Proportions of ``n`` rows between which an event of this probability stays with ``level``."""
    law, tail = stats.binom(max(1, round(n)), probability), (1.0 - level) / 2.0
    count = max(1, round(n))
    return float(law.ppf(tail)) / count, float(law.isf(tail)) / count


def effective_size(w: Floats) -> float:
    """Effective sample size (Kish): (Σw)²/Σw²."""
    return float(w.sum() ** 2 / (w**2).sum())
