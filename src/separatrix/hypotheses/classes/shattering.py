"""Whether a hypothesis class shatters points: a hypothesis for each labeling, or one that fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.hypotheses.classes.base import (
    Hypothesis,
    HypothesisClass,
    Labels,
    check_labels,
    check_points,
)
from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: Points whose labelings are all decided at most: there are 2ⁿ.
MAX_POINTS = 16


@dataclass(frozen=True)
class Shattering:
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

    References
    ----------
    V. N. Vapnik and A. Ya. Chervonenkis, On the uniform convergence of relative frequencies of
    events to their probabilities, Theory of Probability and its Applications 16, 1971.

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
    hypotheses: tuple[Hypothesis, ...] = ()
    failing: Labels | None = None
    reason: str = ""
    n_decided: int = 0

    @property
    def labelings(self) -> Labels:
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


def shatters(hypotheses: HypothesisClass, points: Any) -> Shattering:
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
    return decide(hypotheses, check_points(hypotheses, points))


def decide(hypotheses: HypothesisClass, points: Floats, max_work: float = np.inf) -> Shattering:
    """As :func:`shatters`; more than ``max_work`` labelings raise :class:`OutOfWork`."""
    n, decided = len(points), 0
    for hard in hypotheses.hard_labels(points):
        labels = check_labels(hard, n)
        decided += 1
        if _consistent(hypotheses, points, labels) is None:
            return _not_shattered(hypotheses, points, labels, decided)
    if n > MAX_POINTS:
        raise InputError(
            f"{n} points have 2^{n} labelings, too many to decide one by one.",
            remedy=f"Give {MAX_POINTS} points at most.",
        )
    if decided + 2**n > max_work:
        raise OutOfWork
    found: list[Hypothesis | None] = [None] * 2**n
    every = labelings(n)
    # singletons and their complements fail first where points are inside others
    few = np.minimum(every.sum(axis=1), n - every.sum(axis=1))
    for i in np.argsort(few, kind="stable").tolist():
        decided += 1
        found[i] = _consistent(hypotheses, points, every[i])
        if found[i] is None:
            return _not_shattered(hypotheses, points, every[i], decided)
    return Shattering(points, True, tuple(h for h in found if h is not None), n_decided=decided)


class OutOfWork(Exception):
    """More labelings than were allowed."""


def labelings(n: int) -> Labels:
    """All labelings of n points, 2ⁿ x n; bit i of the row number is the label of point i."""
    return np.asarray((np.arange(2**n)[:, None] >> np.arange(n)) & 1 == 1)


def _consistent(hypotheses: HypothesisClass, points: Floats, labels: Labels) -> Hypothesis | None:
    found = hypotheses.consistent(points, labels)
    if found is not None and not np.array_equal(np.asarray(found.contains(points)), labels):
        raise InputError(
            f"{hypotheses!r} returned {found!r} for labels that it does not have.",
            remedy="consistent must return None where no hypothesis has the labels.",
        )
    return found


def _not_shattered(
    hypotheses: HypothesisClass, points: Floats, labels: Labels, decided: int
) -> Shattering:
    reason = hypotheses.why_none(points, labels)
    return Shattering(points, False, failing=labels, reason=reason, n_decided=decided)
