"""The exact interval of a proportion (Clopper and Pearson)."""

from __future__ import annotations

from scipy.stats import beta


def exact_interval(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Proportions that ``successes`` of ``trials`` do not refute at (1 − level)/2 on either side.

    P(X ≥ s | low) = P(X ≤ s | high) = (1 − level)/2 for a binomial X: it covers the true proportion
    with at least the level, whatever it is.
    """
    tail = (1.0 - level) / 2.0
    low = float(beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0
    missed = trials - successes
    high = float(beta.ppf(1.0 - tail, successes + 1, missed)) if missed else 1.0
    return low, high
