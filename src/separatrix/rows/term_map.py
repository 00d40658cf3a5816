"""Linear maps between sets of terms: new term = Σ weight · old term, for blocks and moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from separatrix.rows.block import Floats, Matrix
from separatrix.rows.schema import Terms


@dataclass(frozen=True)
class TermMap:
    """``entries`` (i, j, weight): old term i counts ``weight`` times in new term j."""

    old: Terms
    new: Terms
    entries: tuple[tuple[int, int, float], ...]

    @property
    def trivial(self) -> bool:
        """Whether the terms are the same, in the same order."""
        return self.old.items == self.new.items and all(
            i == j and weight == 1.0 for i, j, weight in self.entries
        )

    @property
    def matrix(self) -> Floats:
        """The map as a dense matrix (old terms x new terms)."""
        return np.asarray(self.sparse.toarray())

    def rows(self, x: Matrix) -> Matrix:
        """The new terms of rows given by the old ones; sparse rows stay sparse."""
        if self.trivial:
            return x
        if sparse.issparse(x):
            return sparse.csr_array(x @ self.sparse)
        out = np.zeros((x.shape[0], len(self.new)), order="F")
        for i, j, weight in self.entries:
            out[:, j] += x[:, i] if weight == 1.0 else weight * x[:, i]
        return out

    @property
    def sparse(self) -> Matrix:
        """The map as a sparse matrix."""
        i, j, weight = zip(*self.entries, strict=True) if self.entries else ((), (), ())
        return sparse.csr_array(
            (np.array(weight, dtype=float), (np.array(i, dtype=int), np.array(j, dtype=int))),
            shape=(len(self.old), len(self.new)),
        )
