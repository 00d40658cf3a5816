"""The rows that a search uses, with their folds: all of them, or an evenly spaced subsample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from separatrix.kernels.base import take_items
from separatrix.kernels.tiles import squared_norms
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.rows.parts import Hashes
from separatrix.selection.folds import Folds, folds_of
from separatrix.selection.tuning import TuningData

#: Rows of a class in a fold that a subsample keeps, if there are so many.
LEAST_OF_CLASS = 4


@dataclass(frozen=True)
class Sample:
    """Some ``rows`` (positions) of the data, in their order."""

    data: TuningData
    rows: Ints

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def complete(self) -> bool:
        """Whether these are all rows."""
        return self.n == self.data.n

    @cached_property
    def w(self) -> Floats:
        """Their weights."""
        return np.asarray(self.data.w, dtype=float)[self.rows]

    @cached_property
    def z(self) -> Any:
        """Their columns, standardized as those of all rows are."""
        return self.data.z if self.complete else take_items(self.data.z, self.rows)

    @cached_property
    def pairs(self) -> tuple[tuple[Ints, Ints], ...]:
        """Training and test positions among the rows, by fold."""
        place = np.full(self.data.n, -1, dtype=np.int64)
        place[self.rows] = np.arange(self.n)
        return tuple(
            (place[a][place[a] >= 0], place[b][place[b] >= 0]) for a, b in self.data.folds.pairs
        )

    @cached_property
    def fold(self) -> Ints:
        """The fold in which each row is tested, −1 for none."""
        return folds_of_tests(self.data.folds, self.data.n)[self.rows]

    @cached_property
    def tested(self) -> Ints:
        """The rows, as positions among these, that are in a test fold."""
        return np.flatnonzero(self.fold >= 0)

    @cached_property
    def squared_distances(self) -> Floats:
        """‖zᵢ − zⱼ‖² of all pairs of rows; of all rows those that searches share."""
        shared = self.data.squared_distances if self.complete else None
        return squared_distances(self.z) if shared is None else shared


def squared_distances(z: Any) -> Floats:
    """‖zᵢ − zⱼ‖² of all pairs of rows, dense or CSR."""
    squares = squared_norms(z)
    d = dense(z @ z.T)
    d *= -2.0
    d += squares[:, None]
    d += squares
    np.maximum(d, 0.0, out=d)
    np.fill_diagonal(d, 0.0)
    return d


def dense(matrix: Any) -> Floats:
    """A matrix without zeros left out."""
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=float)


def folds_of_tests(folds: Folds, n: int) -> Ints:
    """The fold in which each of n rows is tested, −1 for none; two are refused."""
    fold = np.full(n, -1, dtype=np.int64)
    for f, (_, test) in enumerate(folds.pairs):
        if (fold[test] >= 0).any() or len(np.unique(test)) < len(test):
            raise InputError(
                "A row is in two test folds.", remedy="Use folds whose test rows do not overlap."
            )
        fold[test] = f
    return fold


def sample(data: TuningData, most: int) -> Sample:
    """At most about ``most`` rows, by class and fold."""
    fold = folds_of_tests(data.folds, data.n)
    codes = np.asarray(data.y, dtype=np.int64) if data.n_classes else np.zeros(data.n, np.int64)
    return Sample(data, subsample(data.n, most, codes * (len(data.folds) + 1) + fold))


def subsample(n: int, most: int, codes: Ints) -> Ints:
    """At most about ``most`` of n rows, evenly spaced; of each code a few if it has them.

    The order of rows is preserved, so that the same table always gives the same subsample.
    """
    if n <= most:
        return np.arange(n)
    found = []
    for own in (np.flatnonzero(codes == c) for c in np.unique(codes)):
        count = min(len(own), max(LEAST_OF_CLASS, round(most * len(own) / n)))
        found.append(own[np.linspace(0, len(own) - 1, count).astype(np.int64)])
    return np.sort(np.concatenate(found))


def search_folds(
    cv: Any,
    codes: Ints | None,
    rows: Ints,
    n: int,
    copied: Callable[[], Hashes | None] = lambda: None,
) -> Folds:
    """Folds of some ``rows`` among ``n``; an integer assigns rows to folds in turn, by class.

    ``copied`` gives :func:`copies_of` those rows, which such folds keep together.
    """
    keys = None
    if isinstance(cv, int | np.integer):
        keys = copied()
        distinct = len(rows) if keys is None else len(np.unique(keys))
        cv = min(int(cv), max(distinct, 2))
        codes = np.zeros(len(rows), dtype=np.int64) if codes is None else codes
    folds = folds_of(cv, n, rows=rows, codes=codes, copied=lambda: keys)
    folds.out_of_fold([test for _, test in folds.pairs])  # refuses rows tested twice or never
    return folds
