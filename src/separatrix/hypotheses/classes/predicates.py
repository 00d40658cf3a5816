"""A finite list of predicates on a finite set of points: every question is answered by listing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np

from separatrix.hypotheses.classes.base import Hypothesis, HypothesisClass, Labels
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Subsets of the points that are enumerated at most.
MAX_SUBSETS = 200_000


@dataclass(frozen=True)
class Predicate(Hypothesis):
    """The points for which a function returns True; ``index`` is its place in the list."""

    function: Callable[[Floats], Any]
    index: int

    def contains(self, points: Any) -> Labels:
        """Which of the points the function accepts."""
        x = np.asarray(points, dtype=np.float64)
        values = np.asarray(self.function(x))
        if values.shape != (len(x),):
            raise InputError(
                f"Predicate {self.index + 1} returned shape {values.shape} for {len(x)} points.",
                remedy="It takes an n x d array and returns n values of True and False.",
            )
        return values.astype(bool)


class Predicates(HypothesisClass):
    """Hypotheses of your own: a finite list of predicates on a finite set of points.

        VC dimension ≤ log₂ |H|,    since 2ⁿ labelings need 2ⁿ hypotheses

    Parameters
    ----------
    predicates : sequence of callables
        Each takes an n x d array and returns n values of True and False.
    domain : array-like of shape (m, d)
        The points that there are; subsets of them are searched, all of them where they are few.

    Attributes
    ----------
    n_hypotheses : int
        Number of predicates that differ on the domain.
    bound : int
        log₂ of that number, rounded down.

    See Also
    --------
    HypothesisClass : Infinitely many hypotheses of your own.
    pac_sample_size : Rows enough for a finite class.

    Examples
    --------
    Divisors of the numbers from 1 to 12, x ∈ h ⇔ d divides x:

    >>> import separatrix as sx
    >>> divisors = [lambda x, d=d: x[:, 0] % d == 0 for d in range(1, 13)]
    >>> numbers = sx.Predicates(divisors, [[x] for x in range(1, 13)])
    >>> numbers.n_hypotheses, sx.vc_dimension(numbers).dimension
    (12, 2)
    """

    name: ClassVar[str] = "predicates"

    def __init__(self, predicates: Sequence[Callable[[Floats], Any]], domain: Any) -> None:
        x = np.asarray(domain, dtype=np.float64)
        x = x[:, None] if x.ndim == 1 else x
        if not len(predicates) or x.ndim != 2 or not len(x):
            raise InputError("There must be at least one predicate and one point.")
        self.domain, self.dimension = np.unique(x, axis=0), x.shape[1]
        self.hypotheses = tuple(Predicate(f, i) for i, f in enumerate(predicates))
        self._columns: dict[tuple[float, ...], Labels] = {}
        table = self._table(self.domain)
        self.n_hypotheses = len(np.unique(table, axis=0))
        self.bound = self.n_hypotheses.bit_length() - 1
        self.argument = (
            f"{2 ** (self.bound + 1)} labelings of {self.bound + 1} points need as many "
            f"hypotheses, and there are {self.n_hypotheses}."
        )

    def consistent(self, points: Floats, labels: Labels) -> Predicate | None:
        """The first predicate that agrees with all labels."""
        agree = np.flatnonzero((self._table(points) == labels).all(axis=1))
        return self.hypotheses[agree[0]] if len(agree) else None

    def hard_labels(self, points: Floats) -> Iterator[Labels]:
        """A labeling that no predicate has, if there is one."""
        n = len(points)
        if n < 63:
            codes = np.unique(self._table(points) @ (1 << np.arange(n)))
            if len(codes) < 2**n:
                first = np.flatnonzero(codes != np.arange(len(codes)))
                missing = int(first[0]) if len(first) else len(codes)
                yield (missing >> np.arange(n)) & 1 == 1

    def why_none(self, points: Floats, labels: Labels) -> str:
        """How near the best predicate comes."""
        wrong = int((self._table(points) != labels).sum(axis=1).min())
        return f"Each of the {len(self.hypotheses)} predicates gets {wrong} or more labels wrong."

    def configurations(self, n: int) -> Iterable[Floats] | None:
        """Every subset of n points of the domain, unless there are too many."""
        if comb(len(self.domain), n) > MAX_SUBSETS:
            return None
        return (self.domain[list(rows)] for rows in combinations(range(len(self.domain)), n))

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Points of the domain, all equally likely."""
        return self.domain[rng.integers(0, len(self.domain), n)]

    def truth(self, rng: np.random.Generator) -> Predicate:
        """One of the predicates."""
        return self.hypotheses[int(rng.integers(0, len(self.hypotheses)))]

    def uniform_error(self, truth: Predicate, found: Predicate) -> float:
        """Proportion of the domain on which they differ."""
        return float((truth.contains(self.domain) != found.contains(self.domain)).mean())

    def _table(self, points: Floats) -> Labels:
        """Predicates x points; what a predicate says of a point is asked once."""
        keys = [tuple(row) for row in points.tolist()]
        if new := [k for k in dict.fromkeys(keys) if k not in self._columns]:
            values = np.array([h.contains(np.array(new)) for h in self.hypotheses])
            self._columns.update(zip(new, values.T, strict=True))
        return np.column_stack([self._columns[k] for k in keys])

    def __repr__(self) -> str:
        return f"Predicates({len(self.hypotheses)} functions, {len(self.domain)} points)"
