"""The VC dimension by search, and what it promises: samples from which concepts are learned (PAC).

A shattered set is the proof below, what was searched that above.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Any

import numpy as np
from scipy.stats import beta

from separatrix.arrays import Floats
from separatrix.messages import InputError
from separatrix.notebook import Shown
from separatrix.theory import hypothesis_class


@dataclass(frozen=True, repr=False)
class VCDimension(Shown):
    """What a search for the VC dimension found.

    Parameters
    ----------
    dimension : int
        The largest number of points that were found shattered: a proved lower bound.
    hypotheses : HypothesisClass
        The class.
    shattered : Shattering or None
        The proof below: points with a hypothesis for each labeling; None for dimension 0.
    refuted : int
        Arrangements of ``dimension + 1`` points that were searched, each with a labeling that has
        no consistent hypothesis.
    exhaustive : bool
        Whether those were all that there are, up to what does not matter to the class.
    last_refuted : Shattering or None
        The last of them.
    status : str
        "complete", or why the search ended early: "limit of points", "limit of work" or
        "interrupted".

    Attributes
    ----------
    proved : bool
        Whether no set of more points is shattered, by ``exhaustive`` or by ``argument``.
    argument : str
        The proof above, as a sentence; empty if nothing but a search speaks for it.

    See Also
    --------
    vc_dimension : Makes one.
    ShatteringDisplay : Draws the shattered set.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.vc_dimension(sx.Boxes(2))
    >>> found.dimension, found.proved, found.exhaustive, found.refuted
    (4, True, True, 120)
    >>> print(found)
    The VC dimension of boxes is 4. 4 points are shattered: each of 16 labelings has a consistent
    hypothesis. None of 120 arrangements of 5 points is, which are all that matter. Of 5 points,
    one that is lowest and one that is highest in each column are 4 at most; every box that contains
    those contains the others.
    """

    dimension: int
    hypotheses: hypothesis_class.HypothesisClass
    shattered: Shattering | None
    refuted: int
    exhaustive: bool
    last_refuted: Shattering | None
    status: str = "complete"

    @property
    def argument(self) -> str:
        """The proof above, as a sentence."""
        known = self.hypotheses.bound == self.dimension
        return self.hypotheses.argument if known else ""

    @property
    def proved(self) -> bool:
        """Whether it is certain that no more points are shattered."""
        return self.exhaustive or self.hypotheses.bound == self.dimension

    @property
    def vc_dimension(self) -> int:
        """The dimension, for what takes a class or its VC dimension."""
        return self.dimension

    def __str__(self) -> str:
        n, name = self.dimension + 1, self.hypotheses.name
        is_or_more = "is" if self.proved else "is at least"
        lines = [f"The VC dimension of {name} {is_or_more} {self.dimension}."]
        if self.shattered is not None:
            lines.append(str(self.shattered))
        if self.refuted:
            every = ", which are all that matter" if self.exhaustive else ""
            lines.append(f"None of {self.refuted} arrangements of {n} points is{every}.")
        if self.argument:
            lines.append(self.argument)
        elif self.exhaustive and not self.refuted:
            lines.append("There are no more points.")
        elif not self.proved:
            lines.append("That no larger set is shattered was searched, not proved.")
        if self.status != "complete":
            lines.append(f"The search ended early: {self.status}.")
        return " ".join(lines)


def vc_dimension(
    hypotheses: hypothesis_class.HypothesisClass,
    *,
    n_arrangements: int = 100,
    max_points: int = 12,
    max_work: float = 200_000,
    random_state: int = 0,
) -> VCDimension:
    """The VC dimension of a hypothesis class: the largest number of points that it shatters.

        VC(H) = max { n : some n points have a consistent h ∈ H for each of their 2ⁿ labelings }

    It is searched, not looked up: for n = 1, 2, … arrangements of n points are tried until one is
    shattered. The search ends with the first n for which none is.

    Parameters
    ----------
    hypotheses : HypothesisClass
        The class, such as ``Boxes(2)``, ``Hyperplanes(3)`` or ``Triangles()``.
    n_arrangements : int, default=100
        Arrangements tried for each n; all there are where a class can list them.
    max_points : int, default=12
        The largest n; a class may have no finite VC dimension.
    max_work : float, default=200000
        Labelings decided at most. Work is counted and not timed, so that answers repeat.
    random_state : int, default=0
        Seed of the random arrangements.

    Returns
    -------
    VCDimension
        ``dimension``, with ``shattered`` as proof below; ``refuted`` arrangements, ``exhaustive``
        and ``argument`` above; ``status`` if the search ended early.

    See Also
    --------
    shatters : Whether given points are shattered.
    pac_sample_size : What follows for the number of rows.

    Notes
    -----
    A shattered set proves the lower bound. A search proves the upper one only if it is exhaustive
    (where only the order of the points along the axes matters, or the points are finitely many);
    otherwise ``argument`` holds the proof of the class, or nothing. An interruption of the search
    (Ctrl-C) returns what is found so far.

    References
    ----------
    V. N. Vapnik and A. Ya. Chervonenkis, On the uniform convergence of relative frequencies of
    events to their probabilities, Theory of Probability and its Applications 16, 1971.

    Examples
    --------
    >>> import separatrix as sx
    >>> [sx.vc_dimension(h).dimension for h in (sx.Boxes(2), sx.Hyperplanes(2), sx.Triangles())]
    [4, 3, 7]
    """
    if hypotheses.dimension is None:
        raise InputError(
            f"{hypotheses!r} does not say how many columns its points have.",
            remedy="Set dimension in the class, as in: dimension = 2.",
        )
    tries, most = (
        hypothesis_class.check_count(n_arrangements, "n_arrangements"),
        hypothesis_class.check_count(max_points, "max_points"),
    )
    search = _ShatteringSearch(hypotheses, tries, max_work, np.random.default_rng(random_state))
    best: Shattering | None = None
    most = min(most, MAX_POINTS)
    most += hypotheses.bound == most  # the sets that the class refutes are seen to fail, too
    for n in range(1, most + 1):
        shattering = search.arrangement_of(n)
        if shattering is None:
            break
        best = shattering
    else:
        search.status, search.refuted = "limit of points", []
    dimension = 0 if best is None else len(best.points)
    refuted, complete = search.refuted, search.status == "complete"
    last = refuted[-1] if refuted else None
    return VCDimension(
        dimension,
        hypotheses,
        best,
        len(refuted),
        complete and search.exhaustive,
        last,
        search.status,
    )


class _ShatteringSearch:
    """Arrangements of n points, one after another, within the work allowed."""

    def __init__(
        self,
        hypotheses: hypothesis_class.HypothesisClass,
        tries: int,
        max_work: float,
        rng: np.random.Generator,
    ) -> None:
        self.hypotheses, self.tries, self.rng = hypotheses, tries, rng
        self.left = max_work
        self.status, self.exhaustive = "complete", False
        self.refuted: list[Shattering] = []

    def arrangement_of(self, n: int) -> Shattering | None:
        """A shattered set of n points; None if there is none among those tried."""
        self.refuted = []
        d, every = self.hypotheses.dimension, self.hypotheses.configurations(n)
        assert d is not None
        self.exhaustive = every is not None
        try:
            if every is None:
                return self._find_shattered(islice(self._endless(n, d), self.tries))
            if not self.own_points:  # the regular ones read best, and are among all others
                shattering = self._find_shattered(regular_arrangements(n, d))
                if shattering is not None:
                    return shattering
                self.refuted = []
            return self._find_shattered(every)
        except OutOfWork:
            self.status = "limit of work"
        except KeyboardInterrupt:
            self.status = "interrupted"
        return None

    def _find_shattered(self, candidates: Iterable[Floats]) -> Shattering | None:
        for points in candidates:
            shattering = decide(self.hypotheses, points, self.left)
            self.left -= shattering.n_decided
            if shattering.shattered:
                return shattering
            self.refuted.append(shattering)
            if self.left <= 0:
                raise OutOfWork
        return None

    @property
    def own_points(self) -> bool:
        """Whether the class has points of its own, rather than all of space."""
        return hasattr(self.hypotheses, "draw")

    def _endless(self, n: int, d: int) -> Iterator[Floats]:
        """Arrangements without end; of the class's own points, if it has such."""
        if not self.own_points:
            return arrangements(n, d, self.rng)
        return (self.hypotheses.draw(self.rng, n) for _ in count())  # type: ignore[attr-defined]


# -------------------------------------------------------------------------------------------------
# Whether a hypothesis class shatters points: a hypothesis for each labeling, or one that fails.


#: Points whose labelings are all decided at most: there are 2ⁿ.
MAX_POINTS = 16


@dataclass(frozen=True, repr=False)
class Shattering(Shown):
    """Whether points are shattered, with the proof either way.

    Parameters
    ----------
    points : array of shape (n, d)
        The points.
    shattered : bool
        Whether every labeling has a consistent hypothesis.
    hypotheses : tuple
        The consistent hypotheses in the order of ``labelings``; empty if not shattered.
    failing : array of shape (n,) or None
        A labeling without a consistent hypothesis.
    reason : str
        Why it has none, as a sentence; empty if the class gives no reason.
    n_decided : int
        Number of labelings that were decided.

    Attributes
    ----------
    labelings : array of shape (2ⁿ, n)
        All labelings, in the order of ``hypotheses``.

    See Also
    --------
    shatters : Makes one.
    ShatteringDisplay : Draws it.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.shatters(sx.Intervals(), [1.0, 2.0])
    >>> found.labelings.astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    >>> print(found)
    2 points are shattered: each of 4 labelings has a consistent hypothesis.
    """

    points: Floats
    shattered: bool
    hypotheses: tuple[hypothesis_class.Hypothesis, ...] = ()
    failing: hypothesis_class.Labels | None = None
    reason: str = ""
    n_decided: int = 0

    @property
    def labelings(self) -> hypothesis_class.Labels:
        """All labelings; bit i of the number of a labeling is the label of point i."""
        return labelings(len(self.points))

    def __str__(self) -> str:
        n = len(self.points)
        points = "1 point is" if n == 1 else f"{n} points are"
        if self.failing is None:
            each = f"each of {2**n} labelings has a consistent hypothesis"
            return f"{points} shattered: {each}."
        signs = " ".join("+" if y else "−" for y in self.failing)
        text = f"{points} not shattered: no hypothesis is consistent with {signs}."
        return f"{text} {self.reason}".rstrip()


def shatters(hypotheses: hypothesis_class.HypothesisClass, points: Any) -> Shattering:
    """Whether a hypothesis class shatters points, with the proof either way.

        shattered ⇔ each of the 2ⁿ labelings of the n points has a consistent hypothesis

    Decisions are exact: the coordinates are taken as the rational numbers that they are.

    Parameters
    ----------
    hypotheses : HypothesisClass
        The class, such as ``Boxes(2)``.
    points : array-like of shape (n, d)
        The points; for a class of numbers a list of numbers will do.

    Returns
    -------
    Shattering
        ``shattered``, and ``hypotheses``, one for each of the ``labelings``, or else ``failing``,
        a labeling without any, and the ``reason``.

    See Also
    --------
    vc_dimension : The largest number of points that are shattered anywhere.
    Hyperplanes : One of the classes.

    Notes
    -----
    Every hypothesis is checked against the labels before it is accepted, one of a class of your
    own too.

    References
    ----------
    V. N. Vapnik and A. Ya. Chervonenkis, On the uniform convergence of relative frequencies of
    events to their probabilities, Theory of Probability and its Applications 16, 1971.

    Examples
    --------
    >>> import separatrix as sx
    >>> four = [[0, 1], [1, 0], [0, -1], [-1, 0]]
    >>> sx.shatters(sx.Boxes(2), four).shattered
    True
    >>> print(sx.shatters(sx.Boxes(2), [[0, 0], [1, 1], [2, 2], [3, 3]]))
    4 points are not shattered: no hypothesis is consistent with + − − +. Every box that contains
    the positive points contains point 2 too.
    """
    return decide(hypotheses, hypothesis_class.check_points(hypotheses, points))


def decide(
    hypotheses: hypothesis_class.HypothesisClass, points: Floats, max_work: float = np.inf
) -> Shattering:
    """As :func:`shatters`; more than ``max_work`` labelings raise :class:`OutOfWork`."""
    n, decided = len(points), 0
    for hard in hypotheses.hard_labels(points):
        labels = hypothesis_class.check_labels(hard, n)
        decided += 1
        if _consistent(hypotheses, points, labels) is None:
            return _refuse_shattering(hypotheses, points, labels, decided)
    if n > MAX_POINTS:
        raise InputError(
            f"{n} points have 2^{n} labelings, too many to decide one by one.",
            remedy=f"Give {MAX_POINTS} points at most.",
        )
    if decided + 2**n > max_work:
        raise OutOfWork
    hypothesis: list[hypothesis_class.Hypothesis | None] = [None] * 2**n
    every = labelings(n)
    # singletons and their complements fail first where points are inside others
    few = np.minimum(every.sum(axis=1), n - every.sum(axis=1))
    for i in np.argsort(few, kind="stable").tolist():
        decided += 1
        hypothesis[i] = _consistent(hypotheses, points, every[i])
        if hypothesis[i] is None:
            return _refuse_shattering(hypotheses, points, every[i], decided)
    return Shattering(
        points, True, tuple(h for h in hypothesis if h is not None), n_decided=decided
    )


class OutOfWork(Exception):
    """More labelings than were allowed."""


def labelings(n: int) -> hypothesis_class.Labels:
    """All labelings of n points, 2ⁿ x n; bit i of the row number is the label of point i."""
    return np.asarray((np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1)


def _consistent(
    hypotheses: hypothesis_class.HypothesisClass, points: Floats, labels: hypothesis_class.Labels
) -> hypothesis_class.Hypothesis | None:
    hypothesis = hypotheses.consistent(points, labels)
    if hypothesis is not None and not np.array_equal(
        np.asarray(hypothesis.contains(points)), labels
    ):
        raise InputError(
            f"{hypotheses!r} returned {hypothesis!r} for labels that it does not have.",
            remedy="consistent must return None where no hypothesis has the labels.",
        )
    return hypothesis


def _refuse_shattering(
    hypotheses: hypothesis_class.HypothesisClass,
    points: Floats,
    labels: hypothesis_class.Labels,
    decided: int,
) -> Shattering:
    reason = hypotheses.why_none(points, labels)
    return Shattering(points, False, failing=labels, reason=reason, n_decided=decided)


# -------------------------------------------------------------------------------------------------
# Arrangements of points among which shattered ones are sought: regular ones first, then random.


def arrangements(n: int, d: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Arrangements of n points in d dimensions, without end.

    On the axes, a simplex, a regular polygon; then normal, on a sphere, uniform in a cube and on
    the moment curve (t, t², …), in turn.
    """
    yield from regular_arrangements(n, d)
    while True:
        normal = rng.standard_normal((n, d))
        yield normal
        yield normal / np.linalg.norm(normal, axis=1, keepdims=True)
        yield rng.random((n, d))
        yield rng.uniform(-1.0, 1.0, (n, 1)) ** np.arange(1, d + 1)


def regular_arrangements(n: int, d: int) -> Iterator[Floats]:
    """On the axes on both sides of zero, a simplex, a regular polygon: those that have n points."""
    if d == 1:
        yield np.arange(float(n))[:, None]
        return
    if n <= 2 * d:
        axes = np.repeat(np.eye(d), 2, axis=0)
        axes[1::2] *= -1.0
        yield axes[:n] + 0.0
    if n <= d + 1:
        yield np.vstack([np.zeros(d), np.eye(d)])[:n]
    angles = 2.0 * np.pi * np.arange(n) / n
    polygon = np.zeros((n, d))
    polygon[:, 0], polygon[:, 1] = np.cos(angles), np.sin(angles)
    yield polygon


# -------------------------------------------------------------------------------------------------
# How many rows are enough: probably approximately correct (PAC) learning.
#
# P(error of h > ε) ≤ δ      for every distribution of the rows, and every truth in the class


@dataclass(frozen=True, repr=False)
class SampleSize(Shown):
    """A number of rows that is enough, and the bound that says so.

    Parameters
    ----------
    n : int
        Rows that are enough by the closed form of the bound.
    least : int
        The fewest rows that its inequality allows before it is simplified.
    epsilon, delta : float
        As given.
    bound : str
        Which bound: "tightest box", "finite class" or "VC dimension".
    formula : str
        The closed form with its numbers.
    bounds : dict
        ``n`` of every bound that applies, by name.

    See Also
    --------
    pac_sample_size : Makes one.

    Examples
    --------
    >>> import separatrix as sx
    >>> enough = sx.pac_sample_size(0.1, 0.05, sx.Boxes(2))
    >>> enough.n, enough.least
    (176, 174)
    >>> print(enough)
    176 rows are enough by the bound for the tightest box, (4/ε) ln(4/δ): with probability 0.95 or
    more the error is at most 0.1, whatever the distribution of the rows.
    """

    n: int
    least: int
    epsilon: float
    delta: float
    bound: str
    formula: str
    bounds: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{self.n:,} rows are enough by the bound for the {self.bound}, {self.formula}: with "
            f"probability {1.0 - self.delta:.10g} or more the error is at most {self.epsilon:g}, "
            "whatever the distribution of the rows."
        )


def pac_sample_size(
    epsilon: float, delta: float, hypotheses: Any = None, *, vc_dimension: int | None = None
) -> SampleSize:
    """Rows enough to learn a class: P(error > ε) ≤ δ, whatever the distribution of the rows.

        tightest box in d columns    n ≥ (2d/ε) ln(2d/δ)              in the plane (4/ε) ln(4/δ)
        |H| hypotheses               n ≥ (1/ε) ln(|H|/δ)
        VC dimension v               n ≥ max((4/ε) log₂(2/δ), (8v/ε) log₂(13/ε))

    They hold for a hypothesis that is consistent with all rows, if the truth is in the class: rows
    are drawn independently, positive and negative ones as they come, and labels have no noise.

    Parameters
    ----------
    epsilon : float
        The error ε allowed, between 0 and 1.
    delta : float
        The probability δ of a larger error, between 0 and 1.
    hypotheses : HypothesisClass, VCDimension or int, default=None
        The class, what :func:`vc_dimension` found, or the number of hypotheses.
    vc_dimension : int, default=None
        The VC dimension, in place of a class.

    Returns
    -------
    SampleSize
        ``n`` by the closed form of the best bound that applies, ``least`` by its inequality,
        ``bound`` and ``formula``; ``bounds`` has them all.

    See Also
    --------
    pac_simulation : How often learning really fails.
    vc_dimension : The VC dimension of a class.

    Notes
    -----
    The tightest box errs in the 2d strips between it and the true one, which share the error:
    2d(1 − ε/2d)ⁿ ≤ δ. Of finitely many hypotheses, each bad one survives n rows with probability
    (1 − ε)ⁿ at most: |H|(1 − ε)ⁿ ≤ δ. For a VC dimension v the inequality is that of Blumer and
    others, 2 Σᵢ₌₀ᵛ C(2n, i) 2^(−εn/2) ≤ δ with n ≥ 8/ε. All are worst cases over distributions
    and truths; what happens in one case is often far better.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler, M. Warmuth, Learnability and the Vapnik–Chervonenkis
    dimension, 1989.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.pac_sample_size(0.1, 0.05, sx.Boxes(2)).n
    176
    >>> sx.pac_sample_size(0.1, 0.05, 1000).n
    100
    >>> half_planes = sx.pac_sample_size(0.1, 0.05, sx.Hyperplanes(2))
    >>> half_planes.n, half_planes.least, half_planes.bound
    (1686, 680, 'VC dimension')
    """
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0.0 < value < 1.0:
            raise InputError(f"{name} must be between 0 and 1, not {value!r}.")
    bounds = {bound.name: bound for bound in _bounds(hypotheses, vc_dimension)}
    enough = {name: math.ceil(bound.closed(epsilon, delta)) for name, bound in bounds.items()}
    best = min(enough, key=lambda name: enough[name])
    n, bound = enough[best], bounds[best]
    least = _fewest_rows(bound, n, epsilon, delta)
    return SampleSize(n, least, epsilon, delta, best, bound.formula, enough)


def failure_bound(n: int, epsilon: float, hypotheses: Any) -> float:
    """The least of the bounds on P(error > ε) after n rows that apply to a class; at most 1."""
    logs = [
        bound.log_failure(n, epsilon) if n >= bound.fewest(epsilon) else 0.0
        for bound in _bounds(hypotheses, None)
    ]
    return math.exp(min(*logs, 0.0))


@dataclass(frozen=True)
class _Bound:
    """A bound: its closed form, and the logarithm of the probability that it bounds by n rows."""

    name: str
    formula: str
    closed: Callable[[float, float], float]
    log_failure: Callable[[int, float], float]
    fewest: Callable[[float], float] = lambda _: 0.0


def _bounds(hypotheses: Any, vc_dimension: int | None) -> list[_Bound]:
    """The bounds that apply to a class, a number of hypotheses or a VC dimension."""
    bounds = []
    strips = getattr(hypotheses, "n_strips", None)
    if strips is not None:
        bounds.append(_strips(int(strips)))
    count = getattr(hypotheses, "n_hypotheses", hypotheses if _is_count(hypotheses) else None)
    if count is not None:
        if not _is_count(count) or count < 1:
            raise InputError(f"A class has at least one hypothesis, not {count!r}.")
        bounds.append(_finite(int(count)))
    known = getattr(hypotheses, "vc_dimension", getattr(hypotheses, "bound", None))
    if vc_dimension is None and not getattr(hypotheses, "proved", True):
        raise InputError(
            f"The VC dimension was found to be at least {known} by a search that proves no more, "
            "and the bound needs one that it does not exceed.",
            remedy="Give vc_dimension, if you know it.",
        )
    known = known if vc_dimension is None else vc_dimension
    if known is not None:
        if not _is_count(known) or known < 0:
            raise InputError(f"A VC dimension is a whole number, not {known!r}.")
        bounds.append(_vapnik(int(known)))
    if not bounds:
        raise InputError(
            "Neither the number of hypotheses nor their VC dimension is known.",
            remedy="Give a class that has a bound, a number of hypotheses, or vc_dimension.",
        )
    return bounds


def _is_count(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _strips(k: int) -> _Bound:
    return _Bound(
        "tightest box",
        f"({k}/ε) ln({k}/δ)",
        lambda e, d: k / e * math.log(k / d),
        lambda n, e: math.log(k) + n * math.log1p(-e / k),
    )


def _finite(count: int) -> _Bound:
    text = f"{count:,}" if count < 10**9 else f"e^{math.log(count):.4g}"
    return _Bound(
        "finite class",
        f"(1/ε) ln({text}/δ)",
        lambda e, d: (math.log(count) - math.log(d)) / e,
        lambda n, e: math.log(count) + n * math.log1p(-e),
    )


def _vapnik(v: int) -> _Bound:
    return _Bound(
        "VC dimension",
        f"max((4/ε) log₂(2/δ), (8·{v}/ε) log₂(13/ε))",
        lambda e, d: max(4 / e * math.log2(2 / d), 8 * v / e * math.log2(13 / e)),
        lambda n, e: math.log(2 * labelings_at_most(2 * n, v)) - e * n / 2 * math.log(2.0),
        lambda e: 8.0 / e,
    )


def labelings_at_most(n: int, vc_dimension: int) -> int:
    """Labelings of n points by a class of this VC dimension: Σᵢ₌₀ᵛ C(n, i) (Sauer, Shelah)."""
    term = total = 1
    for i in range(min(vc_dimension, n)):
        term = term * (n - i) // (i + 1)
        total += term
    return total


def _fewest_rows(bound: _Bound, n: int, epsilon: float, delta: float) -> int:
    """The fewest rows that the inequality allows, by bisection from the closed form ``n``.

    Its logarithm is concave in n and above ln δ at first, so that it crosses it once.
    """
    floor = math.ceil(bound.fewest(epsilon))
    low, high = floor - 1, max(n, floor)
    while bound.log_failure(high, epsilon) > math.log(delta):
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        enough = bound.log_failure(middle, epsilon) <= math.log(delta)
        low, high = (low, middle) if enough else (middle, high)
    return high


# -------------------------------------------------------------------------------------------------
# How often learning fails: draw rows, fit the tightest hypothesis, count its errors.


@dataclass(frozen=True, repr=False)
class PACSimulation(Shown):
    """The observed proportion of failures beside the δ that bounds it.

    Parameters
    ----------
    errors : array of shape (repeats,)
        The error of the hypothesis learned each time.
    n : int
        Rows drawn each time.
    epsilon, delta : float
        As given.
    bound : float
        What theory allows after n rows, at most 1; NaN for a class without a bound.
    interval : tuple of two floats
        Exact interval (Clopper and Pearson) of the probability of failure.
    level : float
        Its level.
    exact_errors : bool
        Whether errors are exact probabilities, or estimated on fresh points.
    random_state : int
        The seed.

    Attributes
    ----------
    n_failures : int
        How often the error exceeded ε.
    failure_rate : float
        Their proportion.
    agrees : bool
        Whether the interval has probabilities of at most δ.

    See Also
    --------
    pac_simulation : Makes one.
    PACDisplay : Draws it.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.pac_simulation(sx.Intervals(), 0.1, 0.05, repeats=200)
    >>> found.n, found.n_failures, found.agrees
    (74, 1, True)
    """

    errors: Floats
    n: int
    epsilon: float
    delta: float
    bound: float
    interval: tuple[float, float]
    level: float
    exact_errors: bool
    random_state: int

    @property
    def n_failures(self) -> int:
        """How often the error exceeded ε."""
        return int((self.errors > self.epsilon).sum())

    @property
    def failure_rate(self) -> float:
        """The proportion of failures."""
        return self.n_failures / len(self.errors)

    @property
    def agrees(self) -> bool:
        """Whether the interval has probabilities of at most δ."""
        return self.interval[0] <= self.delta

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"With {self.n:,} rows the error exceeded {self.epsilon:g} in {self.n_failures} of "
            f"{len(self.errors):,} repetitions: {self.failure_rate:.4g} "
            f"({100 * self.level:g} % interval {low:.4g} to {high:.4g}), δ = {self.delta:g}."
        )


def pac_simulation(
    hypotheses: Any,
    epsilon: float,
    delta: float,
    *,
    n: int | None = None,
    repeats: int = 1000,
    truth: Any = None,
    draw: Callable[[np.random.Generator, int], Any] | None = None,
    level: float = 0.95,
    random_state: int = 0,
) -> PACSimulation:
    """How often learning fails: draw rows, fit the tightest hypothesis, count errors above ε.

        failure:  P(x in one of truth and hypothesis alone) > ε

    Parameters
    ----------
    hypotheses : HypothesisClass
        The class; its ``tightest`` hypothesis is fitted, or else any consistent one.
    epsilon : float
        The error ε allowed.
    delta : float
        The probability δ of failure allowed.
    n : int, default=None
        Rows drawn each time; None for ``pac_sample_size(epsilon, delta, hypotheses).n``.
    repeats : int, default=1000
        Repetitions.
    truth : Hypothesis, default=None
        What is to be learned; None for one of the class (of boxes, the one in the middle of the
        unit cube with half its volume).
    draw : callable, default=None
        ``draw(rng, n)`` returns n x d points; None for points uniform in the unit cube, or on the
        points of the class where it has its own. Boxes see the order of values alone: uniform
        columns stand for all columns that are continuous and independent.
    level : float, default=0.95
        Level of the interval.
    random_state : int, default=0
        Seed.

    Returns
    -------
    PACSimulation
        ``failure_rate`` with its exact ``interval``, beside ``delta``.

    See Also
    --------
    pac_sample_size : Rows enough by theory.
    PACDisplay : Draws the errors.

    Notes
    -----
    An interval that lies below δ shows how much the bound has to spare in this case; one that lies
    above refutes that rows, truth and hypothesis are as the theory assumes.

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler and M. K. Warmuth, Learnability and the
    Vapnik–Chervonenkis dimension, Journal of the ACM 36, 1989.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.pac_simulation(sx.Boxes(2), 0.1, 0.05, repeats=500)
    >>> found.n, found.failure_rate, found.agrees
    (176, 0.0, True)
    >>> few = sx.pac_simulation(sx.Boxes(2), 0.1, 0.05, n=30, repeats=500)
    >>> few.failure_rate > 0.5, few.agrees
    (True, False)
    """
    size = pac_sample_size(epsilon, delta, hypotheses).n if n is None else n
    for name, value in (("n", size), ("repeats", repeats)):
        if not hasattr(value, "__index__") or value < 1:
            raise InputError(f"{name} must be a whole number of at least 1, not {value!r}.")
    if not 0.0 < level < 1.0 or not 0.0 < epsilon < 1.0 or not 0.0 < delta < 1.0:
        raise InputError("epsilon, delta and level must be between 0 and 1.")
    rng = np.random.default_rng(random_state)
    target = hypotheses.truth(rng) if truth is None else truth
    points = draw or getattr(hypotheses, "draw", None) or _uniform(hypotheses.dimension)
    known = getattr(hypotheses, "uniform_error", None) if draw is None else None
    fit = getattr(hypotheses, "tightest", hypotheses.consistent)
    errors = np.empty(repeats)
    for r in range(repeats):
        x = np.asarray(points(rng, size), dtype=np.float64)
        labels = target.contains(x)
        hypothesis = fit(x, labels)
        if hypothesis is None or (hypothesis.contains(x) != labels).any():
            raise InputError(
                f"No hypothesis of {hypotheses!r} is consistent with the truth on {size} rows.",
                remedy="Give a truth that is in the class.",
            )
        if known is not None:
            errors[r] = known(target, hypothesis)
        else:
            # Points on which an error is estimated where it is not known in closed form.
            fresh = np.asarray(points(rng, 10_000), dtype=np.float64)
            errors[r] = float((target.contains(fresh) != hypothesis.contains(fresh)).mean())
    failures = int((errors > epsilon).sum())
    interval = exact_interval(failures, repeats, level)
    return PACSimulation(
        errors, size, epsilon, delta, _bound(size, epsilon, hypotheses), interval, level,
        known is not None, random_state,
    )  # fmt: skip


def _bound(n: int, epsilon: float, hypotheses: Any) -> float:
    try:
        return failure_bound(n, epsilon, hypotheses)
    except InputError:  # nothing is known of a class of one's own
        return float("nan")


def _uniform(d: int) -> Callable[[np.random.Generator, int], Floats]:
    return lambda rng, n: rng.random((n, d))


# -------------------------------------------------------------------------------------------------
# The exact interval of a proportion (Clopper and Pearson).


def exact_interval(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Proportions that ``successes`` of ``trials`` do not refute at (1 − level)/2 on either side.

    P(X ≥ s | low) = P(X ≤ s | high) = (1 − level)/2 for a binomial X: it covers the true proportion
    with at least the level, whatever it is.
    """
    tail = (1.0 - level) / 2.0
    low = float(beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0
    missed = trials - successes
    high = float(beta.ppf(1.0 - tail, successes + 1, missed)) if missed else 1.0
    return low, high
