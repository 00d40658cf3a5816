"""The triangular factor R of [1 X Y]: least squares at the accuracy of the rows themselves.

    [1 X Y] = Q R,     RᵀR = [1 X Y]ᵀ[1 X Y]

Forming XᵀX squares the condition number; R keeps it. Two factors merge by the QR of one on top of
the other (TSQR), so the rows are read once, in blocks, and may live on several machines.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy import linalg

from separatrix.rows.block import Block, Floats
from separatrix.rows.schema import Terms

_NO_TERMS = Terms(())


class TriangularFactor:
    """R of [√w, √w·X, √w·Y], mergeable with ``+``.

    ``shift`` (over X, then Y) is subtracted from rows: columns far from zero keep their digits.
    """

    def __init__(
        self,
        terms: Terms = _NO_TERMS,
        targets: Terms = _NO_TERMS,
        count: int = 0,
        r: Floats | None = None,
        shift: Floats | None = None,
    ) -> None:
        self.terms, self.targets, self.count, self.shift = terms, targets, count, shift
        self.r = np.zeros((0, 1 + len(terms) + len(targets))) if r is None else r

    def fresh(self) -> Self:
        """An empty one."""
        return type(self)(shift=self.shift)

    def update(self, block: Block) -> None:
        """Take in the rows of a block, in pieces small enough to stay in cache."""
        keep = slice(None) if block.w is None else np.flatnonzero(block.w > 0)
        kept = block.take(keep)
        step = max(1024, 4 * (1 + len(block.terms) + len(block.targets)))
        for start in range(0, kept.n, step):
            stop = min(start + step, kept.n)
            rows = np.concatenate(
                [np.ones((stop - start, 1)), kept.dense(start, stop), kept.y[start:stop]], axis=1
            )
            if self.shift is not None:
                rows[:, 1:] -= self.shift
            if kept.w is not None:
                rows *= np.sqrt(kept.w[start:stop])[:, None]
            r = _r_of(rows)
            piece = TriangularFactor(block.terms, block.targets, stop - start, r, self.shift)
            self.__dict__.update((self + piece).__dict__)

    def __add__(self, other: TriangularFactor) -> Self:
        if not other.count:
            return self
        if not self.count:
            return type(self)(other.terms, other.targets, other.count, other.r, other.shift)
        terms, targets = self.terms.union(other.terms), self.targets.union(other.targets)
        stacked = np.vstack([_aligned(part, terms, targets) for part in (self, other)])
        return type(self)(terms, targets, self.count + other.count, _r_of(stacked), self.shift)


def _aligned(factor: TriangularFactor, terms: Terms, targets: Terms) -> Floats:
    at = [0]
    at += [1 + terms.position[t] for t in factor.terms]
    at += [1 + len(terms) + targets.position[t] for t in factor.targets]
    wide = np.zeros((len(factor.r), 1 + len(terms) + len(targets)))
    wide[:, at] = factor.r
    return wide


def _r_of(rows: Floats) -> Floats:
    """R with a non-negative diagonal, so that it is unique whatever the order of merging."""
    r = linalg.qr(rows, mode="r", check_finite=False)[0][: min(rows.shape)]
    sign = np.where(np.diag(r) < 0, -1.0, 1.0)
    return np.asarray(r * sign[:, None])
