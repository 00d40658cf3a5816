"""Reference tables without clusters that resemble a given table.

    unimodal   every column has the nearest unimodal distribution F to its own, joined by a
               Gaussian copula: u = Φ(z), z ~ N(0, R), x = F⁻¹(u)
    uniform    uniform over the box that the principal components span

Discrete columns keep their values and are permuted: a category by itself is no cluster. Values
that are missing (NaN) are missing there, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats
from scipy.optimize import isotonic_regression

from separatrix.rows.block import Floats

#: Columns with so few values keep them, if every value is met this often.
FEW_VALUES, ROWS_PER_VALUE = 10, 5
#: Candidate positions of the mode of a column.
MODES = 32

Draw = Callable[[np.random.Generator], Floats]


@dataclass(frozen=True)
class Marginal:
    """A distribution function: linear between ``values``, or a step at each of them."""

    values: Floats
    probabilities: Floats
    steps: bool

    def quantile(self, u: Floats) -> Floats:
        """The quantiles of probabilities u."""
        if self.steps:
            position = np.searchsorted(self.probabilities, u).clip(0, len(self.values) - 1)
            return np.asarray(self.values[position])
        return np.interp(u, self.probabilities, self.values)


def marginal(column: Floats) -> Marginal:
    """The unimodal distribution that is nearest to that of a column.

    Its density increases up to the mode and decreases from there: isotonic regression of the
    empirical density on both sides. The mode is the one that changes the distribution function
    least (Kolmogorov distance).
    """
    values, counts = np.unique(column, return_counts=True)
    n = len(column)
    if len(values) <= max(1, min(FEW_VALUES, n // ROWS_PER_VALUE)):
        return Marginal(values, np.cumsum(counts) / n, True)
    middle = (np.cumsum(counts) - counts / 2) / n
    empirical = (middle - middle[0]) / (middle[-1] - middle[0])
    width = np.diff(values)
    density = np.diff(empirical) / width
    modes = np.unique(np.linspace(0, len(width), MODES).astype(int))
    fitted = [_unimodal_distribution(density, width, mode) for mode in modes]
    best = min(fitted, key=lambda probabilities: float(np.abs(probabilities - empirical).max()))
    return Marginal(values, best, False)


def _unimodal_distribution(density: Floats, width: Floats, mode: int) -> Floats:
    """The distribution function of a density made to increase up to ``mode``, then to decrease."""
    fitted = np.empty_like(density)
    for part, increasing in ((slice(0, mode), True), (slice(mode, None), False)):
        if len(density[part]):
            fitted[part] = isotonic_regression(
                density[part], weights=width[part], increasing=increasing
            ).x
    probabilities = np.concatenate([[0.0], np.cumsum(fitted * width)])
    return np.asarray(probabilities / probabilities[-1])


def references(x: Floats, discrete: list[list[int]]) -> dict[str, Draw]:
    """Samplers of tables like ``x`` without clusters; ``discrete`` columns belong together."""
    permuted = {j for group in discrete for j in group}
    free = [j for j in range(x.shape[1]) if j not in permuted]
    missing = np.isnan(x[:, free])
    known = x[:, free]
    if missing.any():
        known = np.where(missing, np.nanmedian(known, axis=0), known)

    def with_permuted(draw: Draw) -> Draw:
        def table_of(rng: np.random.Generator) -> Floats:
            table = np.empty_like(x)
            if free:
                table[:, free] = np.where(missing, np.nan, draw(rng))
            for group in discrete:
                table[:, group] = x[rng.permutation(len(x))][:, group]
            return table

        return table_of

    return {
        "unimodal": with_permuted(_unimodal(known)),
        "uniform": with_permuted(_uniform(known)),
    }


def _unimodal(x: Floats) -> Draw:
    n, d = x.shape
    marginals = [marginal(x[:, j]) for j in range(d)]
    ranks = np.column_stack([stats.rankdata(x[:, j]) for j in range(d)]) if d else x
    scores = special.ndtri((ranks - 0.5) / n)
    scores -= scores.mean(axis=0)
    length = np.linalg.norm(scores, axis=0)
    scores /= np.where(length > 0, length, 1.0)
    root = np.linalg.qr(scores, mode="r")  # RᵀR is the correlation of the scores

    def draw(rng: np.random.Generator) -> Floats:
        u = special.ndtr(rng.standard_normal((n, len(root))) @ root)
        return np.column_stack([m.quantile(u[:, j]) for j, m in enumerate(marginals)])

    return draw


def _uniform(x: Floats) -> Draw:
    mean = x.mean(axis=0)
    _, _, axes = np.linalg.svd(x - mean, full_matrices=False)
    scores = (x - mean) @ axes.T
    low, high = scores.min(axis=0), scores.max(axis=0)

    def draw(rng: np.random.Generator) -> Floats:
        return np.asarray(mean + rng.uniform(low, high, size=scores.shape) @ axes)

    return draw
