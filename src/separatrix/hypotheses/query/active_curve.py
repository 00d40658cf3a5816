"""Simulated labeling: how many labels are saved by asking where a model is uncertain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from separatrix.hypotheses.query.query import query
from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints

#: Draws of repeats with replacement, for the interval of the labels saved.
RESAMPLES = 1000


@dataclass(frozen=True)
class ActiveCurve:
    """Errors on test rows against the number of labels, queried and drawn at random.

    Parameters
    ----------
    labels : ndarray of shape (m,)
        Numbers of labels.
    queried, random : ndarray of shape (repeats, m)
        Test errors of the models fitted to labels queried, and to as many drawn at random.
    level : float
        Probability of the intervals.
    seed : int
        What the simulation was drawn from.

    Attributes
    ----------
    difference : tuple of ndarray
        Mean of queried − random over the repeats at each number of labels, and its interval.
    saved : tuple of float
        Labels saved at the error that random labels reach at the end, and its interval.

    See Also
    --------
    active_curve : Run the simulation.

    References
    ----------
    B. Settles, Active learning literature survey, University of Wisconsin–Madison, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> errors = np.array([[0.4, 0.1, 0.1], [0.4, 0.2, 0.1]])
    >>> curve = sx.ActiveCurve(np.array([5, 10, 15]), errors, np.array([[0.4, 0.3, 0.15]] * 2))
    >>> round(curve.saved[0], 1)
    5.0
    """

    labels: Ints
    queried: Floats
    random: Floats
    level: float = 0.95
    seed: int = 0

    def interval(self, errors: Floats) -> tuple[Floats, Floats, Floats]:
        """Mean over the repeats at each number of labels, with Student's interval."""
        n = len(errors)
        mean = errors.mean(axis=0)
        half = student.ppf(0.5 + self.level / 2, n - 1) * errors.std(axis=0, ddof=1) / np.sqrt(n)
        return mean, mean - half, mean + half

    @property
    def difference(self) -> tuple[Floats, Floats, Floats]:
        """Mean of queried − random over the repeats, and its interval: pairs share their split."""
        return self.interval(self.queried - self.random)

    @property
    def saved(self) -> tuple[float, float, float]:
        """Labels saved at the error that random labels reach at the end, and its interval.

        The number of labels at which the mean error falls to that of the last random one, between
        two numbers by interpolation; the interval is that of repeats drawn with replacement.
        """
        rng = np.random.default_rng(self.seed)
        n = len(self.queried)
        draws = [_saved(self.labels, self.queried, self.random)]
        for _ in range(RESAMPLES):
            rows = rng.integers(0, n, n)
            draws.append(_saved(self.labels, self.queried[rows], self.random[rows]))
        tail = (1.0 - self.level) / 2
        low, high = np.quantile(draws[1:], [tail, 1.0 - tail])
        return draws[0], float(low), float(high)

    def __str__(self) -> str:
        mean, low, high = self.saved
        gap, below, above = (float(part[-1]) for part in self.difference)
        return (
            f"With {int(self.labels[-1])} labels the error is {self.queried[:, -1].mean():.3f} "
            f"where they were queried and {self.random[:, -1].mean():.3f} at random (difference "
            f"{gap:.3f}, {100 * self.level:g} % interval {below:.3f} to {above:.3f}). Asking saved "
            f"{mean:.0f} of {int(self.labels[-1])} labels ({low:.0f} to {high:.0f})."
        )


def _saved(labels: Ints, queried: Floats, random: Floats) -> float:
    """Labels from the first at which the mean error is that of the last random labels."""
    goal, errors = float(random.mean(axis=0)[-1]), queried.mean(axis=0)
    reached = np.flatnonzero(errors <= goal)
    if not len(reached):
        return 0.0
    at = int(reached[0])
    if at == 0:
        return float(labels[-1] - labels[0])
    fall = (errors[at - 1] - goal) / (errors[at - 1] - errors[at])
    return float(labels[-1] - (labels[at - 1] + fall * (labels[at] - labels[at - 1])))


def active_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    start: int = 10,
    k: int = 5,
    labels: int = 60,
    strategy: str = "auto",
    repeats: int = 10,
    test_size: float = 0.3,
    level: float = 0.95,
    seed: int = 0,
) -> ActiveCurve:
    """Simulate labeling a table whose labels are known: queried, and at random.

    In every repeat the rows are split into a pool and test rows. Both ways start with the same few
    labels, at least one of each class, and add ``k`` at a time: those :func:`query` chooses, or as
    many at random. The intervals are over repeats, which differ in split, start and random rows;
    they are of this table, whose rows the splits share.

    Parameters
    ----------
    estimator : classifier
        Is cloned and fitted; needs what the strategy needs.
    X, y : array-like or data frame, labels
        The table.
    start : int, default=10
        Labels at the start.
    k : int, default=5
        Labels added at a time.
    labels : int, default=60
        Labels at the end.
    strategy : str, default="auto"
        That of :func:`query`.
    repeats : int, default=10
        How often all is drawn anew.
    test_size : float, default=0.3
        Fraction of the rows that errors are measured on.
    level : float, default=0.95
        Probability of the intervals.
    seed : int, default=0
        The same seed gives the same curve.

    Returns
    -------
    ActiveCurve
        Errors, their intervals, and the labels saved.

    See Also
    --------
    query : Choose rows to label.

    References
    ----------
    B. Settles, Active learning literature survey, University of Wisconsin–Madison, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> X = np.linspace(0, 1, 200)[:, None]
    >>> y = (X[:, 0] > 0.618).astype(int)
    >>> model = sx.BoxClassifier(concept=1)
    >>> curve = sx.active_curve(model, X, y, start=4, k=1, labels=12, repeats=5)
    >>> bool(curve.queried[:, -1].mean() < curve.random[:, -1].mean())
    True
    """
    y = np.asarray(y)
    _check(y, start, k, labels, repeats, test_size, level)
    numbers = np.array([*range(start, labels, k), labels])
    queried, random = np.empty((2, repeats, len(numbers)))
    for r in range(repeats):
        rng = np.random.default_rng([seed, r])
        order = rng.permutation(len(y))
        test, pool = np.split(order, [round(test_size * len(y))])
        if len(pool) < labels:
            raise InputError(
                f"labels={labels}, and the pool has {len(pool)} rows.", remedy="Ask for fewer."
            )
        first = _first(y, pool, start)
        rest = np.setdiff1d(pool, first)
        drawn = np.concatenate([first, rng.permutation(rest)])
        random[r] = [_error(estimator, X, y, drawn[:n], test) for n in numbers]
        queried[r] = _queried(estimator, X, y, first, rest, test, numbers, strategy, r)
    return ActiveCurve(numbers, queried, random, level, seed)


def _check(
    y: Any, start: int, k: int, labels: int, repeats: int, test_size: float, level: float
) -> None:
    classes = len(np.unique(y))
    if start < classes:
        raise InputError(f"start={start} labels cannot hold one of each of {classes} classes.")
    if k < 1 or labels <= start:
        raise InputError(f"k={k} must be above 0, and labels={labels} above start={start}.")
    if repeats < 2:
        raise InputError(f"repeats={repeats} give no interval.", remedy="Use 2 or more.")
    if not 0.0 < test_size < 1.0 or not 0.0 < level < 1.0:
        raise InputError(f"test_size={test_size} and level={level} must be between 0 and 1.")


def _first(y: Any, pool: Ints, start: int) -> Ints:
    """The first rows of a pool, one of each class among them."""
    labels, at = np.unique(y[pool], return_index=True)
    if len(labels) < len(np.unique(y)):
        raise InputError(
            "A class has no row outside the test rows of a repeat.",
            remedy="Leave rare classes out, or lower test_size.",
        )
    others = np.setdiff1d(np.arange(len(pool)), at)[: start - len(at)]
    return np.asarray(pool[np.concatenate([at, others])])


def _error(estimator: Any, X: Any, y: Any, rows: Ints, test: Ints) -> float:
    model = clone(estimator).fit(_safe_indexing(X, rows), y[rows])
    return float(np.mean(np.asarray(model.predict(_safe_indexing(X, test))) != y[test]))


def _queried(
    estimator: Any,
    X: Any,
    y: Any,
    first: Ints,
    rest: Ints,
    test: Ints,
    numbers: Sequence[int] | Ints,
    strategy: str,
    seed: int,
) -> Floats:
    """Test errors with labels queried; where none would tell anything, the next rows are."""
    rows, left = first, rest
    errors = np.empty(len(numbers))
    model: Any = None
    for i, n in enumerate(numbers):
        if n > len(rows):
            training = (_safe_indexing(X, rows), y[rows])
            found = query(
                model,
                _safe_indexing(X, left),
                n - len(rows),
                strategy=strategy,
                training=training,
                seed=seed,
            )
            others = np.setdiff1d(np.arange(len(left)), found.rows)
            chosen = np.concatenate([found.rows, others])[: n - len(rows)]
            rows, left = np.concatenate([rows, left[chosen]]), np.delete(left, chosen)
        model = clone(estimator).fit(_safe_indexing(X, rows), y[rows])
        errors[i] = float(np.mean(np.asarray(model.predict(_safe_indexing(X, test))) != y[test]))
    return errors
