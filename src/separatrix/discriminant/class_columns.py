"""Weight, mean and scatter of every column by class, each column by itself; gaps passed over.

    nₖⱼ = Σ w,    μₖⱼ = Σ w x / nₖⱼ,    Sₖⱼ = Σ w (x − μₖⱼ)²      over the rows of class k with a
                                                                  value in column j

The mean of a level's indicator is its share, so these are the counts of discrete columns too. All
that a model needs which takes columns as independent within a class.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Block, Floats
from separatrix.rows.schema import Term, Terms
from separatrix.statistics.moments import not_finite

_NO_TERMS = Terms(())
#: Numbers of a piece that stays in the cache.
PIECE = 100_000


class ClassColumns:
    """Mergeable; ``weight`` counts all rows of a class (K), the others are K x m.

    The class of a row is the indicator among its targets; where it has none, its part is the
    position of its class among the ``targets`` given here.
    """

    def __init__(
        self,
        terms: Terms = _NO_TERMS,
        targets: Terms = _NO_TERMS,
        weight: Floats | None = None,
        seen: Floats | None = None,
        mean: Floats | None = None,
        scatter: Floats | None = None,
    ) -> None:
        shape = (len(targets), len(terms))
        self.terms, self.targets = terms, targets
        self.weight = np.zeros(shape[0]) if weight is None else weight
        self.seen = np.zeros(shape) if seen is None else seen
        self.mean = np.zeros(shape) if mean is None else mean
        self.scatter = np.zeros(shape) if scatter is None else scatter

    def fresh(self) -> Self:
        """An empty one for the same classes."""
        return type(self)(targets=self.targets)

    def update(self, block: Block) -> None:
        """Take in the rows of a block."""
        merged = self + self._of(block)
        self.__dict__.update(merged.__dict__)

    def _of(self, block: Block) -> Self:
        if len(block.targets):
            targets, codes = block.targets, block.y.argmax(axis=1).astype(np.int64)
            known = block.y.max(axis=1, initial=0.0) > 0
        else:
            assert block.parts is not None, "the rows carry no classes"
            targets, codes = self.targets, block.parts
            known = np.ones(block.n, dtype=bool)
        w = np.where(known, 1.0 if block.w is None else block.w, 0.0)
        counting = w > 0
        if not counting.all():
            block, codes, w = block.take(counting), codes[counting], w[counting]
        part = type(self)(block.terms, targets)
        part.weight = np.asarray(np.bincount(codes, w, minlength=len(targets)), dtype=float)
        part._add(block, np.ascontiguousarray(codes), w)
        return part

    def _add(self, block: Block, codes: NDArray[np.int64], w: Floats) -> None:
        from separatrix.statistics.loops.class_columns import add_by_class

        shift = np.zeros_like(self.mean)
        first, second = np.zeros_like(shift), np.zeros_like(shift)
        begun = np.zeros(len(shift), dtype=bool)
        step = max(256, PIECE // max(1, len(block.terms)))
        for start in range(0, block.n, step):
            x, part = with_missing(block, start, start + step), codes[start : start + step]
            if not begun.all():
                _begin(shift, begun, x, part)
            add_by_class(x, part, w[start : start + step], shift, self.seen, first, second)
        if not np.isfinite(first).all():
            raise not_finite(block, first.sum(axis=0))
        safe = np.where(self.seen > 0, self.seen, 1.0)
        self.mean = shift + first / safe
        self.scatter = np.maximum(second - first**2 / safe, 0.0)

    def __add__(self, other: Self) -> Self:
        terms, targets = self.terms.union(other.terms), self.targets.union(other.targets)
        if not other.weight.any():
            return self.aligned(terms, targets)
        a, b = self.aligned(terms, targets), other.aligned(terms, targets)
        seen = a.seen + b.seen
        share = b.seen / np.where(seen > 0, seen, 1.0)
        step = b.mean - a.mean
        return type(self)(
            terms,
            targets,
            a.weight + b.weight,
            seen,
            a.mean + share * step,
            a.scatter + b.scatter + a.seen * share * step**2,
        )

    def aligned(self, terms: Terms, targets: Terms) -> Self:
        """Over the given terms and classes: a level not met was absent in every row with a value.

        Of a class that is not met there is nothing.
        """
        if terms.items == self.terms.items and targets.items == self.targets.items:
            return self
        to = np.array([targets.position[t] for t in self.targets], dtype=np.int64)
        out = type(self)(terms, targets)
        out.weight[to] = self.weight
        for j, term in enumerate(terms):
            at = self.terms.position.get(term)
            if at is None:
                out.seen[to, j] = self.weight - self._missing(term)
            else:
                out.seen[to, j], out.mean[to, j] = self.seen[:, at], self.mean[:, at]
                out.scatter[to, j] = self.scatter[:, at]
        return out

    def _missing(self, term: Term) -> Floats:
        """The weight of rows without a value in the column of a term; none has no gap itself."""
        at = self.terms.position.get(Term(term.column, missing=True))
        return np.zeros_like(self.weight) if term.missing or at is None else self.counts[:, at]

    @property
    def counts(self) -> Floats:
        """Σ w x: how often each level occurred."""
        return self.seen * self.mean


def with_missing(block: Block, start: int = 0, stop: int | None = None) -> Floats:
    """Rows of a raw block with NaN where a value is missing, in place of its stand-in."""
    x = np.ascontiguousarray(block.dense(start, stop))
    gaps = [(j, term.column) for j, term in enumerate(block.terms) if term.missing]
    if gaps:
        x = x.copy()
    for j, column in gaps:
        away = np.flatnonzero(x[:, j] > 0)
        if away.size:
            own = [i for i, t in enumerate(block.terms) if t.column == column and not t.missing]
            x[away[:, None], own] = np.nan
    return np.asarray(x, dtype=float)


def _begin(shift: Floats, begun: NDArray[np.bool_], x: Floats, codes: NDArray[np.int64]) -> None:
    """A provisional centre for classes not met before: the mean of their first rows."""
    for k in np.unique(codes[~begun[codes]]):
        rows = x[np.flatnonzero(codes == k)[:64]]
        there = np.isfinite(rows)
        total = np.where(there, rows, 0.0).sum(axis=0)
        shift[k] = total / np.maximum(there.sum(axis=0), 1)
        begun[k] = True
