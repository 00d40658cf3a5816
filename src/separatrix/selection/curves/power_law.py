"""A power law through a learning curve, and what it says beyond the last row.

    e(n) ≈ a + b n⁻ᶜ,    a, b ≥ 0,   0.1 ≤ c ≤ 2

by least squares of relative errors, weighted by n, since the end of a curve says more on what
follows than its beginning: for each c on a grid, a and b are linear. The folds are drawn
anew many times (bootstrap), which gives intervals of everything that follows. Where the error of
least squares peaks near as many rows as coefficients, only what comes after the peak counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats

EXPONENTS = np.geomspace(0.1, 2.0, 40)
DRAWS = 400
#: Points that are needed, and the largest error that counts, in errors of the last point.
FEWEST_POINTS, HIGHEST = 4, 3.0
#: What is left to fall of a curve that counts as flat, as a fraction of its limit.
FLAT = 1e-3
#: Probability that intervals cover.
LEVEL = 0.9


@dataclass(frozen=True)
class PowerLaw:
    """``draws`` of (a, b, c), of which the first is that of all folds, and the ``last`` size.

    Folds share their training rows and are few, so that intervals are rather too short.
    """

    draws: Floats
    last: float

    def at(self, n: float) -> Floats:
        """The error at n rows, by every draw; n may be infinite."""
        a, b, c = self.draws.T
        return np.asarray(a if np.isinf(n) else a + b * n**-c)

    def interval(self, values: Floats) -> tuple[float, float, float]:
        """The value of all folds, and the ends of the interval of the draws, which contains it."""
        ends = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        value = float(values[0])
        return value, min(float(ends[0]), value), max(float(ends[1]), value)

    @property
    def determined(self) -> bool:
        """Whether the limit is known to half of what is above it at the last of the rows."""
        _, low, high = self.interval(self.draws[:, 0])
        a, b, c = self.draws.T
        falling = b * self.last**-c > FLAT * a
        bounded = (c <= EXPONENTS[0]) | (c >= EXPONENTS[-1])
        return bool(high - low <= 0.5 * high and np.mean(falling & bounded) < 0.5)


def fit_power_law(sizes: Floats, errors: Floats, seed: int = 0) -> PowerLaw | None:
    """Through errors (sizes x folds); None where too few points follow the last peak."""
    known = np.isfinite(errors).all(axis=1)
    sizes, errors = sizes[known], errors[known]
    if len(sizes) < FEWEST_POINTS:
        return None
    mean = errors.mean(axis=1)
    peak = int(mean.argmax())
    start = 0 if peak == 0 else peak + 1
    after = np.arange(len(sizes)) >= start
    after &= mean <= HIGHEST * max(float(mean[-1]), np.finfo(float).tiny)
    if np.count_nonzero(after) < FEWEST_POINTS or not (mean[after] > 0.0).all():
        return None
    sizes, errors = sizes[after], errors[after]
    folds = errors.shape[1]
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, folds, (DRAWS, folds))
    drawn = errors[:, picks].mean(axis=2).T  # draws x sizes
    center = errors.mean(axis=1)
    # means of few folds drawn anew vary by √((k − 1)/k) too little
    drawn = center + (drawn - center) * np.sqrt(folds / max(folds - 1, 1))
    drawn = np.maximum(drawn, 1e-3 * center)
    return PowerLaw(_fitted(sizes, np.vstack([center, drawn])), float(sizes[-1]))


def _fitted(sizes: Floats, errors: Floats) -> Floats:
    """(a, b, c) for every row of errors (draws x sizes)."""
    best = np.full(len(errors), np.inf)
    found = np.zeros((len(errors), 3))
    scale = float(sizes[-1])
    u, w = 1.0 / errors, sizes / scale
    for c in EXPONENTS:
        v = (sizes / scale) ** -c * u
        uu, uv, vv = (u * u) @ w, (u * v) @ w, (v * v) @ w
        us, vs = u @ w, v @ w
        determinant = np.maximum(uu * vv - uv**2, 1e-12 * uu * vv)
        a, b = (vv * us - uv * vs) / determinant, (uu * vs - uv * us) / determinant
        flat, steep = b < 0.0, a < 0.0
        a = np.where(steep, 0.0, np.where(flat, us / uu, a))
        b = np.where(steep, vs / vv, np.where(flat, 0.0, b))
        misfit = (a[:, None] * u + b[:, None] * v - 1.0) ** 2 @ w
        better = misfit < best
        best = np.where(better, misfit, best)
        found[better] = np.column_stack([a, b * scale**c, np.full(len(a), c)])[better]
    return found
