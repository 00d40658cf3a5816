"""How many rows are enough: probably approximately correct (PAC) learning.

P(error of h > ε) ≤ δ      for every distribution of the rows, and every truth in the class
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import beta

from separatrix.arrays import Floats
from separatrix.messages import InputError
from separatrix.notebook import Shown


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
