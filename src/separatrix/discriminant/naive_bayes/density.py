"""Class densities of naive Bayes: a product over columns, independent within each class.

    log p(x | k) = Σ numeric   −½ (xⱼ − μₖⱼ)²/σₖⱼ² − ½ log 2πσₖⱼ²
                 + Σ boolean   xⱼ log pₖⱼ + (1 − xⱼ) log(1 − pₖⱼ)
                 + Σ levels    xₗ log pₖₗ

A missing value has no factor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats
from separatrix.rows.schema import Terms


@dataclass(frozen=True)
class NaiveBayesDensity:
    """Parameters of the class densities; arrays are K x number of terms.

    ``terms`` are numeric columns, then boolean columns, then levels. ``mean`` and ``variance``
    describe the numeric ones; a variance of infinity marks a constant column. ``probabilities`` are
    those of true, and of the levels.
    """

    terms: Terms
    n_boolean: int
    mean: Floats
    variance: Floats
    probabilities: Floats

    def scores(self, x: Floats) -> Floats:
        """log p(x | k) for rows over ``terms`` (n x K), NaN where a value is missing.

        A probability of zero excludes a class: its score is −∞. If every class is excluded, those
        with the fewest such values stay, as in the limit of vanishing probabilities.
        """
        d = self.mean.shape[1]
        out = self.normal_scores(x[:, :d])
        if d < len(self.terms):
            self._add_levels(x[:, d:], out)
        return out

    def normal_scores(self, x: Floats) -> Floats:
        """The part of the numeric columns, which alone are given."""
        from separatrix.statistics.loops.class_columns import add_gaussian_scores

        out = np.zeros((len(x), len(self.mean)))
        if x.shape[1]:
            constant = np.isinf(self.variance)
            with np.errstate(divide="ignore"):
                precision = 1.0 / self.variance
            log_norm = np.where(
                constant, 0.0, -0.5 * np.log(2 * np.pi * np.where(constant, 1.0, self.variance))
            )
            add_gaussian_scores(np.ascontiguousarray(x), self.mean, precision, log_norm, out)
        return out

    def _add_levels(self, x: Floats, out: Floats) -> None:
        p, n = self.probabilities, self.n_boolean
        present = ~np.isnan(x)
        x = x if present.all() else np.where(present, x, 0.0)
        never, always = p <= 0.0, p[:, :n] >= 1.0
        false = present[:, :n] - x[:, :n]
        out += x @ np.log(np.where(never, 1.0, p)).T
        out += false @ np.log(np.where(always, 1.0, 1.0 - p[:, :n])).T
        if never.any() or always.any():
            excluding = x @ never.T.astype(float) + false @ always.T.astype(float)
            out[excluding > excluding.min(axis=1, keepdims=True)] = -np.inf
