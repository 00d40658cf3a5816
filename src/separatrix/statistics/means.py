"""Means of a table: what an encoding is learned from, where moments would be a large matrix."""

from __future__ import annotations

from typing import Self

import numpy as np

from separatrix.rows.block import Block, Floats, unit_weights
from separatrix.rows.schema import NO_TERMS, Terms


class Means:
    """Number and weight of the rows, and the means of features and targets; merges with ``+``."""

    def __init__(
        self,
        terms: Terms = NO_TERMS,
        targets: Terms = NO_TERMS,
        count: int = 0,
        weight: float = 0.0,
        mean: Floats | None = None,
    ) -> None:
        self.terms, self.targets = terms, targets
        self.count, self.weight = count, weight
        self.mean = np.zeros(len(terms) + len(targets)) if mean is None else mean

    def fresh(self) -> Self:
        """Return an empty statistic of the same kind."""
        return type(self)()

    def update(self, block: Block) -> None:
        """Add the rows of a block."""
        w = unit_weights(block.w, block.n)
        count, weight = int(np.count_nonzero(w)), float(w.sum())
        if not count:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            sums = np.concatenate([np.ravel(block.x.T @ w), block.y.T @ w])
        added = type(self)(block.terms, block.targets, count, weight, sums / weight)
        self.__dict__.update((self + added).__dict__)

    def __add__(self, other: Self) -> Self:
        if not other.count or not self.count:
            return self if self.count else other
        terms, targets = self.terms.union(other.terms), self.targets.union(other.targets)
        weight = self.weight + other.weight
        a, b = self._over(terms, targets), other._over(terms, targets)
        mean = a + (b - a) * (other.weight / weight)
        return type(self)(terms, targets, self.count + other.count, weight, mean)

    def _over(self, terms: Terms, targets: Terms) -> Floats:
        """The means over other terms; one absent here (a level) was always zero."""
        mean = np.zeros(len(terms) + len(targets))
        mean[self._positions(terms, targets)] = self.mean
        return mean

    def _positions(self, terms: Terms, targets: Terms) -> list[int]:
        """Where the features and targets are among others."""
        at = [terms.position[t] for t in self.terms]
        return at + [len(terms) + targets.position[t] for t in self.targets]

    @property
    def x_mean(self) -> Floats:
        """Means of the features."""
        return self.mean[: len(self.terms)]

    @property
    def y_mean(self) -> Floats:
        """Means of the targets."""
        return self.mean[len(self.terms) :]
