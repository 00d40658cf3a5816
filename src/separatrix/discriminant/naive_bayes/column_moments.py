"""Weight, mean and scatter of every column by class; missing values are left out.

    nₖⱼ = Σ w,    μₖⱼ = Σ w x / nₖⱼ,    Sₖⱼ = Σ w (x − μₖⱼ)²      over the rows of class k with a
                                                                  value in column j

The mean of a level's indicator is its relative frequency, so these are the counts of discrete
columns too. They are sufficient statistics of naive Bayes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from separatrix.rows.block import Block, Floats, Ints, to_array
from separatrix.rows.schema import NO_TERMS, Schema, Term, Terms
from separatrix.statistics.class_counts import class_counts
from separatrix.statistics.moments import Moments, not_finite

#: Numbers in a chunk of rows that stays in cache.
CHUNK = 100_000


class ClassColumnMoments:
    """Mergeable with +. ``weight`` (K) is that of all rows of a class; the others are K x m.

    ``observed`` is the weight of the rows with a value. The class of a row is the indicator among
    its targets; a row without targets has as its part the position of its class in ``targets``.
    """

    def __init__(
        self,
        terms: Terms = NO_TERMS,
        targets: Terms = NO_TERMS,
        weight: Floats | None = None,
        observed: Floats | None = None,
        mean: Floats | None = None,
        scatter: Floats | None = None,
    ) -> None:
        shape = (len(targets), len(terms))
        self.terms, self.targets = terms, targets
        self.weight = np.zeros(shape[0]) if weight is None else weight
        self.observed = np.zeros(shape) if observed is None else observed
        self.mean = np.zeros(shape) if mean is None else mean
        self.scatter = np.zeros(shape) if scatter is None else scatter

    def fresh(self) -> Self:
        """An empty one for the same classes."""
        return type(self)(targets=self.targets)

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        merged = self + self._of(block)
        self.__dict__.update(merged.__dict__)

    def from_class_moments(self, schema: Schema, parts: Mapping[Term, Moments]) -> Self:
        """The same from the moments of the raw terms of every class, without the rows.

        Missing values are at the placeholder o of their column in those: with a = x − o, sums of a
        and a² are those of the rows with a value.
        """
        origins = {column.name: column.placeholder for column in schema.columns}
        total = type(self)()
        for target, moments in parts.items():
            if moments.count:
                total = total + self._of_moments(moments, Terms((target,)), origins)
        return total

    def _of_moments(self, m: Moments, targets: Terms, origins: Mapping[str, float]) -> Self:
        part = type(self)(m.terms, targets, np.array([m.weight]))
        part.set_counts(m.weight * m.x_mean[None], np.zeros((1, m.d)))
        part.set_counts(part.counts, part._missing_by_term(part.counts))
        values = [j for j, t in enumerate(m.terms) if t.level is None and not t.missing]
        origin = np.array([origins[m.terms.items[j].column] for j in values])
        first = m.weight * (m.x_mean[values] - origin)
        second = np.diag(m.xx)[values] + first * (m.x_mean[values] - origin)
        observed = part.observed[0, values]
        step = first / np.where(observed > 0, observed, 1.0)
        part.mean[0, values] = origin + step
        part.scatter[0, values] = np.maximum(second - observed * step**2, 0.0)
        whole = observed >= m.weight  # nothing missing: no digits lost to the origin
        part.mean[0, values] = np.where(whole, m.x_mean[values], part.mean[0, values])
        part.scatter[0, values] = np.where(whole, np.diag(m.xx)[values], part.scatter[0, values])
        return part

    def _of(self, block: Block) -> Self:
        if len(block.targets):
            targets, codes = block.targets, block.y.argmax(axis=1).astype(np.int64)
            labeled = block.y.max(axis=1, initial=0.0) > 0
        else:
            assert block.parts is not None, "the rows carry no classes"
            targets, codes = self.targets, block.parts
            labeled = np.ones(block.n, dtype=bool)
        w = np.where(labeled, 1.0 if block.w is None else block.w, 0.0)
        positive = w > 0
        if not positive.all():
            block, codes, w = block.take(positive), codes[positive], w[positive]
        part = type(self)(block.terms, targets)
        part.weight = np.asarray(np.bincount(codes, w, minlength=len(targets)), dtype=float)
        codes = np.ascontiguousarray(codes)
        if isinstance(block.x, np.ndarray):
            part._add(block, codes, w)
        else:
            part._add_sparse(block, codes, w)
        return part

    def _add_sparse(self, block: Block, codes: Ints, w: Floats) -> None:
        """Indicators are counted, never filled in; columns of values, which are few, are dense."""
        counts = class_counts(block.x, codes, w, len(self.weight)).counts
        self.set_counts(counts, self._missing_by_term(counts))
        at = [j for j, term in enumerate(self.terms) if not (term.level or term.missing)]
        if not at:
            return
        names = {self.terms.items[j].column for j in at}
        at += [j for j, t in enumerate(self.terms) if t.missing and t.column in names]
        terms = Terms(tuple(self.terms.items[j] for j in at))
        values = type(self)(terms, self.targets, self.weight)
        values._add(replace(block, x=to_array(block.x[:, at]), terms=terms), codes, w)
        self.observed[:, at], self.mean[:, at] = values.observed, values.mean
        self.scatter[:, at] = values.scatter

    def _missing_by_term(self, counts: Floats) -> Floats:
        """The weight of the rows in which the column of each term is missing, by class."""
        at = [
            -1 if t.missing else self.terms.position.get(Term(t.column, missing=True), -1)
            for t in self.terms
        ]
        return np.where(np.array(at) >= 0, counts[:, at], 0.0)

    def set_counts(self, counts: Floats, missing: Floats) -> None:
        """The moments of indicators from their counts: of n rows with a value, c have a one."""
        self.observed = self.weight[:, None] - missing
        self.mean = counts / np.where(self.observed > 0, self.observed, 1.0)
        self.scatter = np.maximum(counts * (1.0 - self.mean), 0.0)

    def _add(self, block: Block, codes: Ints, w: Floats) -> None:
        from separatrix.statistics.loops.class_columns import add_by_class

        shift = np.zeros_like(self.mean)
        first, second = np.zeros_like(shift), np.zeros_like(shift)
        shifted = np.zeros(len(shift), dtype=bool)
        step = max(256, CHUNK // max(1, len(block.terms)))
        for start in range(0, block.n, step):
            x, part = with_missing(block, start, start + step), codes[start : start + step]
            if not shifted.all():
                _set_shift(shift, shifted, x, part)
            add_by_class(x, part, w[start : start + step], shift, self.observed, first, second)
        if not np.isfinite(first).all():
            raise not_finite(block, first.sum(axis=0))
        safe = np.where(self.observed > 0, self.observed, 1.0)
        self.mean = shift + first / safe
        self.scatter = np.maximum(second - first**2 / safe, 0.0)

    def __add__(self, other: Self) -> Self:
        terms, targets = self.terms.union(other.terms), self.targets.union(other.targets)
        if not other.weight.any():
            return self.aligned(terms, targets)
        if not self.weight.any():
            return other.aligned(terms, targets)
        a, b = self.aligned(terms, targets), other.aligned(terms, targets)
        observed = a.observed + b.observed
        fraction = b.observed / np.where(observed > 0, observed, 1.0)
        step = b.mean - a.mean
        return type(self)(
            terms,
            targets,
            a.weight + b.weight,
            observed,
            a.mean + fraction * step,
            a.scatter + b.scatter + a.observed * fraction * step**2,
        )

    def beside(self, other: Self) -> Self:
        """Moments of the same rows over the columns of both."""
        terms = Terms((*self.terms, *other.terms))
        other = other.aligned(other.terms, self.targets)
        pairs = ((self.observed, other.observed), (self.mean, other.mean))
        joined = [np.hstack(pair) for pair in (*pairs, (self.scatter, other.scatter))]
        return type(self)(terms, self.targets, self.weight, *joined)

    def aligned(self, terms: Terms, targets: Terms) -> Self:
        """Over the given terms and classes: a new level was absent in every row with a value.

        A class without rows has weight zero.
        """
        if terms.items == self.terms.items and targets.items == self.targets.items:
            return self
        to = np.array([targets.position[t] for t in self.targets], dtype=np.int64)
        out = type(self)(terms, targets)
        out.weight[to] = self.weight
        at = np.array([self.terms.position.get(term, -1) for term in terms], dtype=np.int64)
        known = np.flatnonzero(at >= 0)
        place = np.ix_(to, known)
        out.observed[place] = self.observed[:, at[known]]
        out.mean[place], out.scatter[place] = self.mean[:, at[known]], self.scatter[:, at[known]]
        for j in np.flatnonzero(at < 0):
            out.observed[to, j] = self.weight - self._missing(terms.items[j])
        return out

    def _missing(self, term: Term) -> Floats:
        """The weight of rows with a missing value in the column of a term."""
        at = self.terms.position.get(Term(term.column, missing=True))
        return np.zeros_like(self.weight) if term.missing or at is None else self.counts[:, at]

    @property
    def counts(self) -> Floats:
        """Σ w x: the weighted count of each level."""
        return self.observed * self.mean


def with_missing(block: Block, start: int = 0, stop: int | None = None) -> Floats:
    """Rows of a raw block with NaN where a value is missing, in place of its stand-in."""
    x = np.ascontiguousarray(block.dense(start, stop))
    indicators = [(j, term.column) for j, term in enumerate(block.terms) if term.missing]
    if indicators:
        x = x.copy()
    for j, column in indicators:
        missing = np.flatnonzero(x[:, j] > 0)
        if missing.size:
            own = [i for i, t in enumerate(block.terms) if t.column == column and not t.missing]
            x[missing[:, None], own] = np.nan
    return np.asarray(x, dtype=float)


def _set_shift(shift: Floats, shifted: NDArray[np.bool_], x: Floats, codes: Ints) -> None:
    """A provisional center for classes without one: the mean of their first rows."""
    for k in np.unique(codes[~shifted[codes]]):
        rows = x[np.flatnonzero(codes == k)[:64]]
        present = np.isfinite(rows)
        total = np.where(present, rows, 0.0).sum(axis=0)
        shift[k] = total / np.maximum(present.sum(axis=0), 1)
        shifted[k] = True
