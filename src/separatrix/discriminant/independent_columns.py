"""Classes whose columns are independent of each other: a density per class that is a product.

    log p(x | k) = Σ numeric  −½ (xⱼ − μₖⱼ)²/σₖⱼ² − ½ log 2πσₖⱼ²
                 + Σ yes/no   xⱼ log pₖⱼ + (1 − xⱼ) log(1 − pₖⱼ)
                 + Σ levels   xₗ log pₖₗ

A value that is missing has no factor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.rows.block import Floats
from separatrix.rows.schema import Terms


@dataclass(frozen=True)
class IndependentColumns:
    """``terms`` are numeric columns, then yes/no columns, then levels; arrays are K x their number.

    ``mean`` and ``variance`` describe the numeric ones; a variance of infinity marks a column that
    tells nothing. ``shares`` are the probabilities of yes, and of the levels.
    """

    terms: Terms
    yes_no: int
    mean: Floats
    variance: Floats
    shares: Floats

    def scores(self, x: Floats) -> Floats:
        """log p(x | k) for rows over ``terms`` (n x K), NaN where a value is missing.

        A share of zero rules a class out: its score is −∞. Where every class is ruled out, those
        are left that the fewest values rule out, as they would be by vanishing shares.
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
            flat = np.isinf(self.variance)
            with np.errstate(divide="ignore"):
                precision = 1.0 / self.variance
            constant = np.where(
                flat, 0.0, -0.5 * np.log(2 * np.pi * np.where(flat, 1.0, self.variance))
            )
            add_gaussian_scores(np.ascontiguousarray(x), self.mean, precision, constant, out)
        return out

    def _add_levels(self, x: Floats, out: Floats) -> None:
        there = ~np.isnan(x)
        whole = bool(there.all())
        x = x if whole else np.where(there, x, 0.0)
        never, not_never = self.shares <= 0.0, self.shares[:, : self.yes_no] >= 1.0
        no = there[:, : self.yes_no] - x[:, : self.yes_no]
        out += x @ np.log(np.where(never, 1.0, self.shares)).T
        rest = 1.0 - self.shares[:, : self.yes_no]
        out += no @ np.log(np.where(not_never, 1.0, rest)).T
        if never.any() or not_never.any():
            against = x @ never.T.astype(float) + no @ not_never.T.astype(float)
            out[against > against.min(axis=1, keepdims=True)] = -np.inf
