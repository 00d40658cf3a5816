"""How many rows are enough: probably approximately correct (PAC) learning.

P(error of h > ε) ≤ δ      for every distribution of the rows, and every truth in the class
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from separatrix.messages import InputError


@dataclass(frozen=True)
class SampleSize:
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

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler and M. K. Warmuth, Learnability and the
    Vapnik–Chervonenkis dimension, Journal of the ACM 36, 1989.

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
    found = []
    strips = getattr(hypotheses, "n_strips", None)
    if strips is not None:
        found.append(_strips(int(strips)))
    count = getattr(hypotheses, "n_hypotheses", hypotheses if _is_count(hypotheses) else None)
    if count is not None:
        if not _is_count(count) or count < 1:
            raise InputError(f"A class has at least one hypothesis, not {count!r}.")
        found.append(_finite(int(count)))
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
        found.append(_vapnik(int(known)))
    if not found:
        raise InputError(
            "Neither the number of hypotheses nor their VC dimension is known.",
            remedy="Give a class that has a bound, a number of hypotheses, or vc_dimension.",
        )
    return found


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
