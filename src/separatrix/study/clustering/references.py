"""Tables without groups that look like a given one: what a search for groups finds in those is
what it finds where there are none.

    smooth   every column has one bump, as near to its own distribution as one bump can be, and
             columns go together as in a normal distribution: u = Φ(z), z ~ N(0, R), x = F⁻¹(u)
    box      uniform over the box that the principal directions span

Discrete columns keep their values and are shuffled: a category by itself is no group.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats
from sklearn.isotonic import isotonic_regression

from separatrix.rows.block import Floats

#: Columns with so few values keep them, if every value is met this often.
FEW_VALUES, ROWS_PER_VALUE = 10, 5
#: Places at which the bump of a column may be.
MODES = 32

Draw = Callable[[np.random.Generator], Floats]


@dataclass(frozen=True)
class Marginal:
    """A distribution function through ``knots``: linear between them, or in steps at ``values``."""

    values: Floats
    heights: Floats
    steps: bool

    def quantile(self, u: Floats) -> Floats:
        """Where the distribution function is u."""
        if self.steps:
            place = np.searchsorted(self.heights, u).clip(0, len(self.values) - 1)
            return np.asarray(self.values[place])
        return np.interp(u, self.heights, self.values)


def marginal(column: Floats) -> Marginal:
    """The distribution with one bump that is nearest to that of a column.

    Up to the bump the distribution function is convex, from there on concave: the density that
    a sample suggests is pooled until it rises, then falls. The bump is where that changes the
    distribution function least.
    """
    values, counts = np.unique(column, return_counts=True)
    n = len(column)
    if len(values) <= min(FEW_VALUES, n // ROWS_PER_VALUE):
        return Marginal(values, np.cumsum(counts) / n, True)
    middle = (np.cumsum(counts) - counts / 2) / n
    seen = (middle - middle[0]) / (middle[-1] - middle[0])
    width, mass = np.diff(values), np.diff(seen)
    slope = mass / width
    places = np.unique(np.linspace(0, len(width), MODES).astype(int))
    fitted = [_one_bump(slope, width, place) for place in places]
    best = min(fitted, key=lambda heights: float(np.abs(heights - seen).max()))
    return Marginal(values, best, False)


def _one_bump(slope: Floats, width: Floats, place: int) -> Floats:
    """The distribution function of a density that rises up to ``place`` and falls from there."""
    density = np.empty_like(slope)
    for part, rising in ((slice(0, place), True), (slice(place, None), False)):
        if len(slope[part]):
            density[part] = isotonic_regression(
                slope[part], sample_weight=width[part], increasing=rising
            )
    heights = np.concatenate([[0.0], np.cumsum(density * width)])
    return np.asarray(heights / heights[-1])


def references(x: Floats, discrete: list[list[int]]) -> dict[str, Draw]:
    """Ways to draw a table like ``x`` without groups; ``discrete`` columns belong together."""
    held = {j for group in discrete for j in group}
    free = [j for j in range(x.shape[1]) if j not in held]

    def with_shuffled(draw: Draw) -> Draw:
        def whole(rng: np.random.Generator) -> Floats:
            table = np.empty_like(x)
            if free:
                table[:, free] = draw(rng)
            for group in discrete:
                table[:, group] = x[rng.permutation(len(x))][:, group]
            return table

        return whole

    return {
        "smooth": with_shuffled(_smooth(x[:, free])),
        "box": with_shuffled(_box(x[:, free])),
    }


def _smooth(x: Floats) -> Draw:
    n, d = x.shape
    marginals = [marginal(x[:, j]) for j in range(d)]
    ranks = np.column_stack([stats.rankdata(x[:, j]) for j in range(d)]) if d else x
    scores = special.ndtri((ranks - 0.5) / n)
    scores -= scores.mean(axis=0)
    length = np.linalg.norm(scores, axis=0)
    scores /= np.where(length > 0, length, 1.0)

    def draw(rng: np.random.Generator) -> Floats:
        u = special.ndtr(rng.standard_normal((n, n)) @ scores)
        return np.column_stack([m.quantile(u[:, j]) for j, m in enumerate(marginals)])

    return draw


def _box(x: Floats) -> Draw:
    mean = x.mean(axis=0)
    _, _, axes = np.linalg.svd(x - mean, full_matrices=False)
    along = (x - mean) @ axes.T
    low, high = along.min(axis=0), along.max(axis=0)

    def draw(rng: np.random.Generator) -> Floats:
        return np.asarray(mean + rng.uniform(low, high, size=along.shape) @ axes)

    return draw
