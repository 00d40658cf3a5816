"""The VC dimension by search: a shattered set as proof below, what was searched above."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

import numpy as np

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
