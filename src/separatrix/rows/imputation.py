"""Regression imputation: a missing value is its conditional mean given the observed ones.

With mean μ and precision K = Σ⁻¹ of the completed table, the best linear prediction of the
missing terms M of a row from its observed terms O is

    x_M = μ_M − K_MM⁻¹ K_MO (x_O − μ_O)

For one missing value this is the regression of that column on all others; for several it is their
joint regression. A discrete or boolean column takes the level of the largest score. μ and K are
estimated by :mod:`separatrix.statistics.fit_imputation`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from separatrix.rows.block import Block, Floats
from separatrix.rows.schema import Terms

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Imputation:
    """Conditional means of a Gaussian with the given ``mean`` and ``precision`` over ``terms``.

    ``terms`` are values and level indicators, without missing indicators. ``categorical`` lists the
    discrete and boolean columns, which take a level and not a mean.
    """

    terms: Terms
    mean: Floats
    precision: Floats
    categorical: tuple[str, ...] = ()
    n_iter: int = 0
    last_change: float = float("inf")

    def apply(self, block: Block) -> Block:
        """Impute every missing value of a block; its missing indicators are removed."""
        at = [block.terms.position.get(term, -1) for term in self.terms]
        raw = block.dense()
        x = np.zeros((block.n, len(at)), order="F")
        for j, i in enumerate(at):
            if i >= 0:
                x[:, j] = raw[:, i]
        missing = {t.column: raw[:, i] != 0 for i, t in enumerate(block.terms) if t.missing}
        if missing:
            self._impute(x, missing)
        return replace(block, x=x, terms=self.terms)

    def _impute(self, x: Floats, missing: dict[str, Mask]) -> None:
        """Impute the rows that lack the same columns together: they share one factorization."""
        names = list(missing)
        masks = np.column_stack([missing[name] for name in names])
        incomplete = np.flatnonzero(masks.any(axis=1))
        patterns, which = np.unique(masks[incomplete], axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            rows = incomplete[np.ravel(which) == k]
            absent = {name for name, lacks in zip(names, pattern, strict=True) if lacks}
            categorical = [name for name in self.categorical if name in absent]
            self._predict(x, rows, absent)
            for name in categorical:
                self._classify(x, rows, name)
            if categorical and len(categorical) < len(absent):
                self._predict(x, rows, absent - set(categorical))

    def _predict(self, x: Floats, rows: NDArray[np.intp], absent: set[str]) -> None:
        """Conditional means of the absent columns."""
        lacks = np.array([term.column in absent for term in self.terms])
        m, o = np.flatnonzero(lacks), np.flatnonzero(~lacks)
        if not len(m):
            return
        k = self.precision
        rhs = (x[np.ix_(rows, o)] - self.mean[o]) @ k[np.ix_(o, m)]
        inner = k[np.ix_(m, m)]
        unit = np.sqrt(np.diag(inner))  # equilibrated: units of columns differ by any power of ten
        factor = linalg.cho_factor(inner / np.outer(unit, unit))
        x[np.ix_(rows, m)] = self.mean[m] - linalg.cho_solve(factor, rhs.T / unit[:, None]).T / unit

    def _classify(self, x: Floats, rows: NDArray[np.intp], name: str) -> None:
        """The level of the largest conditional mean."""
        at = np.flatnonzero([term.column == name for term in self.terms])
        scores = x[np.ix_(rows, at)]
        if len(at) == 1 and self.terms.items[at[0]].level is None:  # a boolean column
            x[np.ix_(rows, at)] = (scores > 0.5).astype(float)
            return
        x[np.ix_(rows, at)] = 0.0
        x[rows, at[scores.argmax(axis=1)]] = 1.0


def without_missing(terms: Terms) -> Terms:
    """Values and level indicators only."""
    return Terms(tuple(term for term in terms if not term.missing))
