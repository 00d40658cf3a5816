"""Means of the logistic likelihood over normal distributions, row by row."""

from __future__ import annotations

import numpy as np

from separatrix.compilation import compiled

#: Longest step of the trapezoidal rule in standard deviations; its step in units of f where that is
#: shorter; how far it reaches. σ has its nearest pole at iπ: what the rule leaves is below 1e-9.
LONGEST, WIDTH, REACH = 0.7, 0.9, 7.5
#: The shortest step: standard deviations of f beyond 128 have fewer digits.
SHORTEST = 0.007


@compiled
def expected_likelihood(mean, variance, softplus, probability, curvature):
    """E log(1 + eᶠ), E σ(f) and E σ(f)(1 − σ(f)) of f ~ N(mean, variance), for every row."""
    for i in range(len(mean)):
        spread = np.sqrt(variance[i])
        step = LONGEST
        if spread * LONGEST > WIDTH:
            step = max(WIDTH / spread, SHORTEST)
        count = int(REACH / step)
        total, first, second, third = 0.0, 0.0, 0.0, 0.0
        for k in range(-count, count + 1):
            t = k * step
            weight = np.exp(-0.5 * t * t)
            f = mean[i] + spread * t
            small = np.exp(-abs(f))
            larger = 1.0 / (1.0 + small)
            total += weight
            first += weight * (max(f, 0.0) + np.log1p(small))
            second += weight * (larger if f > 0.0 else small * larger)
            third += weight * small * larger * larger
        softplus[i] = first / total
        probability[i] = second / total
        curvature[i] = third / total
