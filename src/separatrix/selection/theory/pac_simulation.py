"""How often learning fails: draw rows, fit the tightest hypothesis, count its errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.selection.theory.binomial import exact_interval
from separatrix.selection.theory.pac import failure_bound, pac_sample_size

#: Points on which an error is estimated where it is not known in closed form.
N_TEST = 10_000


@dataclass(frozen=True)
class PACSimulation:
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

    References
    ----------
    A. Blumer, A. Ehrenfeucht, D. Haussler and M. K. Warmuth, Learnability and the
    Vapnik–Chervonenkis dimension, Journal of the ACM 36, 1989.

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
        found = fit(x, labels)
        if found is None or (found.contains(x) != labels).any():
            raise InputError(
                f"No hypothesis of {hypotheses!r} is consistent with the truth on {size} rows.",
                remedy="Give a truth that is in the class.",
            )
        if known is not None:
            errors[r] = known(target, found)
        else:
            fresh = np.asarray(points(rng, N_TEST), dtype=np.float64)
            errors[r] = float((target.contains(fresh) != found.contains(fresh)).mean())
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
