"""What a hypothesis class is: a family of sets, asked for one that agrees with labeled points.

    h ∈ H is consistent with labels y on points x:   x ∈ h  ⇔  y = 1

Points are floats, and every float is a rational number: all decisions are made in integers or
fractions, or in floats where the rounding error cannot change a sign.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np

from separatrix.arrays import Floats, NDArray
from separatrix.messages import InputError

Labels = NDArray[np.bool_]
EPS = float(np.finfo(float).eps)


class Hypothesis(ABC):
    """A hypothesis: a set of points, with the one method ``contains``.

    See Also
    --------
    HypothesisClass : A family of such sets.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.shatters(sx.Boxes(2), [[0, 0], [1, 1]])
    >>> whole = found.hypotheses[-1]
    >>> isinstance(whole, sx.Hypothesis), whole.contains([[0.5, 0.5], [2, 0]]).tolist()
    (True, [True, False])
    """

    @abstractmethod
    def contains(self, points: Any) -> Labels:
        """Which of the points (n x d) belong to the set; exact."""


class HypothesisClass(ABC):
    """Base class of hypothesis classes; a class of your own needs :meth:`consistent` alone.

    A search for points (:func:`vc_dimension`) needs to know how many columns they have as well.

        h is consistent with labels y on points x:   x ∈ h  ⇔  y = 1

    Attributes
    ----------
    dimension : int or None
        Number of columns of the points; None takes those of given points.
    name : str
        What the hypotheses are called, in the plural.
    argument : str
        Why no set of ``bound + 1`` points is shattered, as a sentence; empty if it is not known.
    bound : int or None
        What the argument shows the VC dimension not to exceed.

    See Also
    --------
    shatters : Whether a class realizes every labeling of given points.
    vc_dimension : The largest number of points that it shatters.

    References
    ----------
    V. N. Vapnik and A. Ya. Chervonenkis, On the uniform convergence of relative frequencies of
    events to their probabilities, Theory of Probability and its Applications 16, 1971.

    Examples
    --------
    Sets {x : x ≥ t} of numbers:

    >>> import numpy as np
    >>> import separatrix as sx
    >>> class Ray(sx.Hypothesis):
    ...     def __init__(self, threshold):
    ...         self.threshold = threshold
    ...     def contains(self, points):
    ...         return np.asarray(points)[:, 0] >= self.threshold
    >>> class Rays(sx.HypothesisClass):
    ...     dimension, name = 1, "rays"
    ...     def consistent(self, points, labels):
    ...         positive = points[labels, 0]
    ...         ray = Ray(positive.min() if len(positive) else points.max() + 1)
    ...         return ray if (ray.contains(points) == labels).all() else None
    >>> sx.vc_dimension(Rays()).dimension
    1
    """

    dimension: int | None = None
    name: ClassVar[str] = "hypotheses"
    argument: str = ""
    bound: int | None = None

    @abstractmethod
    def consistent(self, points: Floats, labels: Labels) -> Hypothesis | None:
        """A hypothesis that contains the points labeled True and no other; None if none does."""

    def hard_labels(self, points: Floats) -> Iterable[Labels]:  # noqa: ARG002
        """Labelings that are likely to have no consistent hypothesis; they are tried first."""
        return ()

    def why_none(self, points: Floats, labels: Labels) -> str:  # noqa: ARG002
        """Why no hypothesis is consistent, as a sentence; empty if there is nothing to add."""
        return ""

    def configurations(self, n: int) -> Iterable[Floats] | None:  # noqa: ARG002
        """Every arrangement of n points that matters, up to what does not; None if unknown."""
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def check_points(hypotheses: HypothesisClass, points: Any) -> Floats:
    """Points as an n x d array of finite numbers."""
    x = np.asarray(points, dtype=np.float64)
    d = hypotheses.dimension
    if x.ndim == 1:
        x = x[:, None] if d in (1, None) else x[None, :]
    if x.ndim != 2 or d not in (x.shape[1], None):
        raise InputError(
            f"{hypotheses.name.capitalize()} are sets of points with {hypotheses.dimension} "
            f"coordinates, and the points have shape {np.shape(points)}.",
            remedy="Give one row for each point.",
        )
    if not len(x):
        raise InputError("There are no points.", remedy="Give at least one.")
    if not np.isfinite(x).all():
        row = int(np.flatnonzero(~np.isfinite(x).all(axis=1))[0]) + 1
        raise InputError("A coordinate is missing or infinite.", row=row)
    return x


def check_labels(labels: Any, n: int) -> Labels:
    """One label for each point: True or 1 for positive."""
    y = np.asarray(labels)
    if y.shape != (n,) or not np.isin(y, (0, 1)).all():
        raise InputError(f"The labels must be {n} values of 0 and 1, or False and True.")
    return y.astype(bool)


def check_count(value: Any, name: str, least: int = 1) -> int:
    """A whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")
    return int(value)


def fractions(points: Floats) -> list[list[Fraction]]:
    """The coordinates, exactly."""
    return [[Fraction(v) for v in row] for row in points.tolist()]


def integers(points: Floats) -> tuple[list[tuple[int, ...]], int]:
    """The coordinates times one power of two that makes all of them whole, and that power."""
    exact = fractions(points)
    unit = math.lcm(*(v.denominator for row in exact for v in row))
    return [tuple(int(v * unit) for v in row) for row in exact], unit


def repeated_point(points: Floats, labels: Labels) -> int | None:
    """Number of a positive point that is a negative one as well."""
    negative = {tuple(row) for row in points[~labels].tolist()}
    for i in np.flatnonzero(labels):
        if tuple(points[i].tolist()) in negative:
            return int(i)
    return None


def positive_side(
    points: Floats, features: Sequence[Floats], coef: Sequence[Fraction], constant: Fraction
) -> Labels:
    """Where Σ coefⱼ featureⱼ(x) + constant ≥ 0; near zero in fractions.

    ``features`` are the coordinates, and after them the squared norm if there is a coefficient
    for it. Their float values decide wherever the bound on their rounding error allows.
    """
    size = max(map(abs, [*coef, constant]), default=Fraction(0)) or Fraction(1)
    w = np.array([float(c / size) for c in coef])
    t = float(constant / size)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = w[:, None] * np.array(features)
        score = terms.sum(axis=0) + t
        error = 4.0 * (len(w) + 6) * EPS * (np.abs(terms).sum(axis=0) + abs(t))
    positive = np.asarray(score > 0.0)
    for i in np.flatnonzero(~(np.abs(score) > error + 1e-290)):
        x = [Fraction(v) for v in points[i].tolist()]
        if len(coef) > len(x):
            x.append(sum((v * v for v in x), Fraction(0)))
        positive[i] = sum((c * v for c, v in zip(coef, x, strict=True)), constant) >= 0
    return positive


# -------------------------------------------------------------------------------------------------
# A finite list of predicates on a finite set of points: every question is answered by listing.


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
        if comb(len(self.domain), n) > 200_000:  # subsets of the points that are enumerated at most
            return None
        return (self.domain[list(rows)] for rows in combinations(range(len(self.domain)), n))

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Points of the domain, all equally likely."""
        return self.domain[rng.integers(0, len(self.domain), n)]

    def truth(self, rng: np.random.Generator) -> Predicate:
        """One of the predicates."""
        return self.hypotheses[int(rng.integers(0, len(self.hypotheses)))]

    def uniform_error(self, truth: Predicate, predicate: Predicate) -> float:
        """Proportion of the domain on which they differ."""
        return float((truth.contains(self.domain) != predicate.contains(self.domain)).mean())

    def _table(self, points: Floats) -> Labels:
        """Predicates x points; what a predicate says of a point is asked once."""
        keys = [tuple(row) for row in points.tolist()]
        if new := [k for k in dict.fromkeys(keys) if k not in self._columns]:
            values = np.array([h.contains(np.array(new)) for h in self.hypotheses])
            self._columns.update(zip(new, values.T, strict=True))
        return np.column_stack([self._columns[k] for k in keys])

    def __repr__(self) -> str:
        return f"Predicates({len(self.hypotheses)} functions, {len(self.domain)} points)"


# -------------------------------------------------------------------------------------------------
# Unions of m intervals of numbers.


@dataclass(frozen=True)
class IntervalUnion(Hypothesis):
    """The numbers in one of the intervals; ``ends`` is m x 2."""

    ends: Floats

    def contains(self, points: Any) -> Labels:
        """Which of the points lie in an interval."""
        x = np.asarray(points, dtype=np.float64).reshape(-1, 1)
        return np.asarray(((x >= self.ends[:, 0]) & (x <= self.ends[:, 1])).any(axis=1))


class UnionsOfIntervals(HypothesisClass):
    """Unions of at most m intervals of numbers.

        consistent ⇔ in order, the positive points form at most m runs

    Parameters
    ----------
    m : int, default=2
        Number of intervals.

    Attributes
    ----------
    bound : int
        2m, which the VC dimension does not exceed.

    See Also
    --------
    Intervals : One interval.
    vc_dimension : The largest number of points that a class shatters.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.vc_dimension(sx.UnionsOfIntervals(3)).dimension
    6
    """

    dimension = 1
    name: ClassVar[str] = "unions of intervals"

    def __init__(self, m: int = 2) -> None:
        self.m = check_count(m, "m")
        self.bound = 2 * self.m
        self.argument = (
            f"{self.bound + 1} points with alternating labels, positive first, have {self.m + 1} "
            f"runs of positive points, and a union of {self.m} intervals has {self.m}."
        )

    def consistent(self, points: Floats, labels: Labels) -> IntervalUnion | None:
        """One interval for each run of positive points."""
        if repeated_point(points, labels) is not None:
            return None
        runs = self._runs(points, labels)
        return IntervalUnion(runs) if len(runs) <= self.m else None

    def hard_labels(self, points: Floats) -> Iterator[Labels]:
        """Alternating labels, positive first."""
        labels = np.zeros(len(points), dtype=bool)
        labels[np.argsort(points[:, 0], kind="stable")[::2]] = True
        yield labels

    def why_none(self, points: Floats, labels: Labels) -> str:
        """The number of runs."""
        twice = repeated_point(points, labels)
        if twice is not None:
            return f"Point {twice + 1} is given twice, with both labels."
        n = len(self._runs(points, labels))
        return f"In order, the positive points form {n} runs, which need {n} intervals."

    def configurations(self, n: int) -> Iterable[Floats]:
        """Only the order of the points matters: there is one."""
        return [np.arange(float(n))[:, None]]

    def truth(self, rng: np.random.Generator) -> IntervalUnion:
        """Intervals between random numbers from 0 to 1."""
        return IntervalUnion(np.sort(rng.random(2 * self.m)).reshape(-1, 2))

    def _runs(self, points: Floats, labels: Labels) -> Floats:
        """Least and greatest point of every run of positive points."""
        x, order = points[:, 0], np.argsort(points[:, 0], kind="stable")
        positive = np.concatenate([[False], labels[order], [False]])
        edges = np.flatnonzero(positive[1:] != positive[:-1]).reshape(-1, 2)
        return np.column_stack([x[order][edges[:, 0]], x[order][edges[:, 1] - 1]])

    def __repr__(self) -> str:
        return f"UnionsOfIntervals({self.m})"
