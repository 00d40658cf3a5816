"""Gaps filled by what the other columns say of them.

With centre μ and precision K = Σ⁻¹ of the completed table, the best linear prediction of the
missing terms M of a row from its observed terms O is

    x_M = μ_M − K_MM⁻¹ K_MO (x_O − μ_O)

For one gap this is the regression of that column on all others; for several it is their joint
regression. A discrete or boolean column takes the level of the largest score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from separatrix.rows.block import Block, Floats
from separatrix.rows.schema import Terms

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Imputation:
    """``terms`` are the values and level indicators of all columns, without gap indicators.

    ``classes`` names the columns that are decided, not averaged (discrete and boolean ones).
    """

    terms: Terms
    centre: Floats
    precision: Floats
    classes: tuple[str, ...] = ()
    rounds: int = 0
    last_change: float = float("inf")

    def complete(self, block: Block) -> Block:
        """The block with every gap filled; gap indicators are gone."""
        at = [block.terms.position.get(term, -1) for term in self.terms]
        raw = block.x.toarray() if sparse.issparse(block.x) else block.x
        x = np.zeros((block.n, len(at)), order="F")
        for j, i in enumerate(at):
            if i >= 0:
                x[:, j] = raw[:, i]
        gaps = {term.column: raw[:, i] != 0 for i, term in enumerate(block.terms) if term.missing}
        if gaps:
            self._fill(x, gaps)
        return replace(block, x=x, terms=self.terms)

    def _fill(self, x: Floats, gaps: dict[str, Mask]) -> None:
        """Fill rows that lack the same columns together: they share one factorisation."""
        names = list(gaps)
        lacking = np.column_stack([gaps[name] for name in names])
        rows = np.flatnonzero(lacking.any(axis=1))
        patterns, which = np.unique(lacking[rows], axis=0, return_inverse=True)
        for k, pattern in enumerate(patterns):
            here = rows[np.ravel(which) == k]
            missing = {name for name, lacks in zip(names, pattern, strict=True) if lacks}
            decided = [name for name in self.classes if name in missing]
            self._predict(x, here, missing)
            for name in decided:
                self._decide(x, here, name)
            if decided and len(decided) < len(missing):
                self._predict(x, here, missing - set(decided))

    def _predict(self, x: Floats, rows: NDArray[np.intp], missing: set[str]) -> None:
        lacks = np.array([term.column in missing for term in self.terms])
        m, o = np.flatnonzero(lacks), np.flatnonzero(~lacks)
        if not len(m):
            return
        k = self.precision
        pull = (x[np.ix_(rows, o)] - self.centre[o]) @ k[np.ix_(o, m)]
        x[np.ix_(rows, m)] = (
            self.centre[m] - linalg.solve(k[np.ix_(m, m)], pull.T, assume_a="pos").T
        )

    def _decide(self, x: Floats, rows: NDArray[np.intp], name: str) -> None:
        at = np.flatnonzero([term.column == name for term in self.terms])
        scores = x[np.ix_(rows, at)]
        if len(at) == 1 and self.terms.items[at[0]].level is None:  # yes or no
            x[np.ix_(rows, at)] = (scores > 0.5).astype(float)
            return
        x[np.ix_(rows, at)] = 0.0
        x[rows, at[scores.argmax(axis=1)]] = 1.0


def without_missing(terms: Terms) -> Terms:
    """Values and level indicators only."""
    return Terms(tuple(term for term in terms if not term.missing))
