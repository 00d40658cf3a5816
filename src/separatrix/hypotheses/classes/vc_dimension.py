"""The VC dimension by search: a shattered set as proof below, what was searched above."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count, islice

import numpy as np

from separatrix.hypotheses.classes.base import HypothesisClass, check_count
from separatrix.hypotheses.classes.configurations import arrangements, regular_arrangements
from separatrix.hypotheses.classes.shattering import MAX_POINTS, OutOfWork, Shattering, decide
from separatrix.messages import InputError
from separatrix.rows.block import Floats


@dataclass(frozen=True)
class VCDimension:
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

    References
    ----------
    V. N. Vapnik and A. Ya. Chervonenkis, On the uniform convergence of relative frequencies of
    events to their probabilities, Theory of Probability and its Applications 16, 1971.

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
    hypotheses: HypothesisClass
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
    hypotheses: HypothesisClass,
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
        check_count(n_arrangements, "n_arrangements"),
        check_count(max_points, "max_points"),
    )
    search = _Search(hypotheses, tries, max_work, np.random.default_rng(random_state))
    best: Shattering | None = None
    most = min(most, MAX_POINTS)
    most += hypotheses.bound == most  # the sets that the class refutes are seen to fail, too
    for n in range(1, most + 1):
        found = search.arrangement_of(n)
        if found is None:
            break
        best = found
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


class _Search:
    """Arrangements of n points, one after another, within the work allowed."""

    def __init__(
        self, hypotheses: HypothesisClass, tries: int, max_work: float, rng: np.random.Generator
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
                return self._first_shattered(islice(self._endless(n, d), self.tries))
            if not self.own_points:  # the regular ones read best, and are among all others
                found = self._first_shattered(regular_arrangements(n, d))
                if found is not None:
                    return found
                self.refuted = []
            return self._first_shattered(every)
        except OutOfWork:
            self.status = "limit of work"
        except KeyboardInterrupt:
            self.status = "interrupted"
        return None

    def _first_shattered(self, candidates: Iterable[Floats]) -> Shattering | None:
        for points in candidates:
            found = decide(self.hypotheses, points, self.left)
            self.left -= found.n_decided
            if found.shattered:
                return found
            self.refuted.append(found)
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
