"""The binary problems that a search solves on the training rows of each fold, at C = 1."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from separatrix.estimators.class_labels import outputs_of
from separatrix.rows.block import Floats, Ints
from separatrix.threads import parallel_map


@dataclass(frozen=True)
class Problems:
    """Problems over two segments of rows each (problems x 4), one after the other.

    ``rows`` are the row numbers of all problems, from ``starts[p]`` to ``starts[p + 1]`` those of
    problem p; ``t`` their targets, ``low`` and ``high`` the bounds of β. With ``pairs`` there is
    one problem for every pair of as many classes.
    """

    segments: Ints
    starts: Ints
    rows: Ints
    t: Floats
    low: Floats
    high: Floats
    epsilon: float = 0.0
    pairs: int = 0

    @property
    def count(self) -> int:
        """Number of problems."""
        return len(self.segments)

    def grams(self, gram: NDArray[np.floating]) -> list[NDArray[np.floating]]:
        """The Gram matrix of the rows of each problem; copies where there are several classes."""

        def of_rows(p: int) -> NDArray[np.floating]:
            a, b, c, d = self.segments[p]
            if b - a + d - c == len(gram):
                return gram
            return np.block([[gram[a:b, a:b], gram[a:b, c:d]], [gram[c:d, a:b], gram[c:d, c:d]]])

        return parallel_map(of_rows, range(self.count))

    def bounds(self, training: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """low and high; zero for rows that are not for training."""
        own = training[self.rows]
        return np.where(own, self.low, 0.0), np.where(own, self.high, 0.0)


def pair_problems(codes: Ints, k: int, w: Floats) -> Problems:
    """Every pair of classes of rows that are sorted by class; of two, the one pair."""
    ends = np.r_[0, np.cumsum(np.bincount(codes, minlength=k))]
    pairs = list(combinations(range(k), 2))
    segments = np.array([[ends[i], ends[i + 1], ends[j], ends[j + 1]] for i, j in pairs])
    labels = [
        np.where(codes[_rows(s)] == j, 1.0, -1.0) for s, (_, j) in zip(segments, pairs, strict=True)
    ]
    return _hinges(segments, np.concatenate(labels), w, k if k > 2 else 0)


def rest_problems(codes: Ints, k: int, w: Floats) -> Problems:
    """The second of two classes, or every class, against the rest."""
    n, own = len(codes), outputs_of(k)
    segments = np.tile(np.array([0, n, n, n]), (len(own), 1))
    return _hinges(segments, np.where(codes == own[:, None], 1.0, -1.0).ravel(), w)


def regression_problems(y: Floats, w: Floats, epsilon: float) -> Problems:
    """One problem, of all rows."""
    n = len(y)
    segments, starts = np.array([[0, n, n, n]]), np.array([0, n])
    return Problems(segments, starts, np.arange(n), y, -w, w.copy(), float(epsilon))


def _rows(segment: Ints) -> Ints:
    a, b, c, d = segment
    return np.concatenate([np.arange(a, b), np.arange(c, d)])


def _hinges(segments: Ints, t: Floats, w: Floats, pairs: int = 0) -> Problems:
    """Problems of the hinge loss of labels ±1."""
    rows = [_rows(segment) for segment in segments]
    starts = np.r_[0, np.cumsum([len(own) for own in rows])]
    every = np.concatenate(rows)
    low, high = np.where(t > 0, 0.0, -w[every]), np.where(t > 0, w[every], 0.0)
    return Problems(segments, starts, every, t, low, high, pairs=pairs)
