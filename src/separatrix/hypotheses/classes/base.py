"""What a hypothesis class is: a family of sets, asked for one that agrees with labeled points.

    h ∈ H is consistent with labels y on points x:   x ∈ h  ⇔  y = 1

Points are floats, and every float is a rational number: all decisions are made in integers or
fractions, or in floats where the rounding error cannot change a sign.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from separatrix.messages import InputError
from separatrix.rows.block import Floats

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
    found = np.asarray(score > 0.0)
    for i in np.flatnonzero(~(np.abs(score) > error + 1e-290)):
        x = [Fraction(v) for v in points[i].tolist()]
        if len(coef) > len(x):
            x.append(sum((v * v for v in x), Fraction(0)))
        found[i] = sum((c * v for c, v in zip(coef, x, strict=True)), constant) >= 0
    return found
