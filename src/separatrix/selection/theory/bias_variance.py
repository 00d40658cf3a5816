"""Bias, variance and noise of an estimator whose truth is known, by simulation.

    E (y − g(x))² = (E g(x) − f(x))² + Var g(x) + σ²

averaged over points x; the expectation is over data sets from which g is fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.selection.theory.designs import Design, check_repeats, design_of, values_of

Interval = tuple[float, float]


@dataclass(frozen=True)
class BiasVariance:
    """Squared bias, variance and noise, as means over points x, with intervals.

    Parameters
    ----------
    squared_bias : float
        Mean of (E g(x) − f(x))².
    variance : float
        Mean of Var g(x).
    noise : float
        Variance of the noise, which no estimator removes.
    squared_bias_interval, variance_interval, error_interval : tuple of two floats
        Their intervals over data sets, at ``level``; of no width where nothing is simulated.
    x : array of shape (m, d)
        The points of the means.
    truth, mean_prediction, prediction_variance : array of shape (m,)
        f(x), E g(x) and Var g(x).
    predictions : array of shape (repeats, m)
        The fits g(x) of the simulated data sets, or their means over the noise where those are
        known.
    n : int
        Rows of a data set.
    level : float
        Level of the intervals.
    exact : bool
        Whether all numbers are exact expectations.
    random_state : int
        The seed.

    Attributes
    ----------
    error : float
        Their sum, the expected squared error at a new row.

    See Also
    --------
    bias_variance : Any estimator, by simulation.
    polynomial_bias_variance : Polynomials, the noise in closed form.
    BiasVarianceDisplay : Draws several.

    References
    ----------
    S. Geman, E. Bienenstock and R. Doursat, Neural networks and the bias/variance dilemma,
    Neural Computation 4, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> line, cubic = sx.polynomial_bias_variance(
    ...     [1, 3], lambda x: x[:, 0] ** 2, 0.5, x=np.linspace(-1, 1, 20)
    ... )
    >>> round(line.squared_bias, 4), round(cubic.squared_bias, 4), round(cubic.variance, 4)
    (0.1078, 0.0, 0.05)
    >>> line.error == line.squared_bias + line.variance + 0.25
    True
    """

    squared_bias: float
    variance: float
    noise: float
    squared_bias_interval: Interval
    variance_interval: Interval
    error_interval: Interval
    x: Floats
    truth: Floats
    mean_prediction: Floats
    prediction_variance: Floats
    predictions: Floats
    n: int
    level: float
    exact: bool
    random_state: int

    @property
    def error(self) -> float:
        """Squared bias, variance and noise together."""
        return self.squared_bias + self.variance + self.noise

    def __str__(self) -> str:
        parts = (
            ("squared bias", self.squared_bias, self.squared_bias_interval),
            ("variance", self.variance, self.variance_interval),
            ("error with the noise", self.error, self.error_interval),
        )
        texts = [
            f"{name} {value:.4g}" + ("" if self.exact else f" ({low:.4g} to {high:.4g})")
            for name, value, (low, high) in parts
        ]
        how = (
            "exact"
            if self.exact
            else f"{len(self.predictions)} data sets, {100 * self.level:g} % intervals"
        )
        return f"{', '.join(texts)}; {self.n} rows, {how}."


def bias_variance(
    estimator: Any,
    truth: Callable[[Floats], Any],
    noise: float | Callable[[np.random.Generator, Floats], Any],
    n: int = 20,
    repeats: int = 100,
    *,
    x: Any = (0.0, 1.0),
    at: Any = None,
    level: float = 0.95,
    random_state: int = 0,
) -> BiasVariance:
    """Bias, variance and noise of any estimator, by simulation from a known truth.

        E (y − g(x))² = (E g(x) − f(x))² + Var g(x) + σ²

    Parameters
    ----------
    estimator : estimator
        A regressor with ``fit`` and ``predict``; it is cloned for every data set.
    truth : callable
        f: takes an n x d array and returns n numbers.
    noise : float or callable
        Standard deviation of normal noise, or ``noise(rng, X)``, which returns n numbers.
    n : int, default=20
        Rows of a data set.
    repeats : int, default=100
        Data sets.
    x : tuple of two numbers, array of shape (n,) or (n, d), or callable, default=(0, 1)
        Inputs: (low, high) for one column drawn uniformly, for every data set anew; an array for
        the same inputs every time; or ``x(rng, n)``.
    at : array of shape (m,) or (m, d), default=None
        Points of the means; None for 100 even points between low and high, for the inputs
        themselves if they are fixed, or for 1000 draws of a callable.
    level : float, default=0.95
        Level of the intervals.
    random_state : int, default=0
        Seed; estimators compared under one seed see the same data sets.

    Returns
    -------
    BiasVariance
        ``squared_bias``, ``variance``, ``noise`` and ``error``, with intervals over data sets.

    See Also
    --------
    polynomial_bias_variance : Polynomials, the noise in closed form.
    bootstrap_bias_variance : A table, whose truth is not known.

    Notes
    -----
    Estimates are without bias: the variance divides by repeats − 1, and the squared distance of
    the mean fit from the truth, which holds variance/repeats, is corrected for it (so that it can
    turn out below zero where there is no bias). Intervals are by the jackknife over data sets;
    fits with rare large errors, as of high orders with few rows, make them too short.

    References
    ----------
    S. Geman, E. Bienenstock and R. Doursat, Neural networks and the bias/variance dilemma,
    Neural Computation 4, 1992.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> sine = lambda x: 2 * np.sin(1.5 * x[:, 0])
    >>> model = sx.KNeighborsRegressor(3)
    >>> found = sx.bias_variance(model, sine, 1.0, n=20, repeats=100, x=(0, 5))
    >>> round(found.squared_bias, 2), round(found.variance, 2), found.noise
    (0.09, 0.5, 1.0)
    """
    design = design_of(x, at, n, random_state)
    repeats = check_repeats(repeats, level)
    f, rng = values_of(truth, design.at), np.random.default_rng(random_state)
    g, spread = np.empty((repeats, len(design.at))), []
    for r in range(repeats):
        inputs = design.draw(rng, n)
        errors = _noise(noise, rng, inputs)
        spread.append(float(np.mean(errors**2)))
        model = clone(estimator).fit(inputs, values_of(truth, inputs) + errors)
        g[r] = np.asarray(model.predict(design.at), dtype=np.float64).reshape(len(f))
    known = float(noise) ** 2 if not callable(noise) else float(np.mean(spread))
    return decomposed(g, np.zeros((repeats, len(f))), f, known, design, level, random_state)


def decomposed(
    g: Floats,
    noise_variance: Floats,
    f: Floats,
    noise: float,
    design: Design,
    level: float,
    seed: int,
) -> BiasVariance:
    """Bias and variance of fits ``g`` (data sets x points), which vary by ``noise_variance`` too.

    One data set alone is a fixed design, whose numbers are exact.
    """
    count, m = g.shape
    mean = g.mean(axis=0)
    between = g.var(axis=0, ddof=1) if count > 1 else np.zeros(m)
    variance_at = between + noise_variance.mean(axis=0)
    squared_bias = float(np.mean((mean - f) ** 2 - between / count))
    variance = float(variance_at.mean())
    intervals = [(v, v) for v in (squared_bias, variance, squared_bias + variance + noise)]
    if count > 1:
        half = _half_widths(g, noise_variance, f, level)
        intervals = [(v - h, v + h) for (v, _), h in zip(intervals, half, strict=True)]
    return BiasVariance(
        squared_bias, variance, noise, intervals[0], intervals[1], intervals[2],
        design.at, f, mean, variance_at, g,
        design.n, level, count == 1, seed,
    )  # fmt: skip


def _half_widths(g: Floats, noise_variance: Floats, f: Floats, level: float) -> list[float]:
    """Half widths of the intervals of squared bias, variance and error, by the jackknife.

    Where the bias is orthogonal to all that fits can do, as in least squares at its own inputs,
    the squared bias does not change to first order: the variance of the second order is added.
    """
    count = len(g)
    mean, square = g.mean(axis=0), ((g - g.mean(axis=0)) ** 2).sum(axis=0)
    without = mean + (mean - g) / (count - 1)
    fewer = max(count - 2, 1)
    between = (square - (g - mean) ** 2 * count / (count - 1)) / fewer
    bias = ((without - f) ** 2 - between / (count - 1)).mean(axis=1)
    within = noise_variance.mean(axis=1)
    variance = between.mean(axis=1) + (within.sum() - within) / (count - 1)
    quantile = float(student.ppf((1.0 + level) / 2.0, count - 1))
    gram = (g - mean) @ (g - mean).T / (g.shape[1] * (count - 1))
    second_order = 2.0 * float((gram**2).sum()) / count**2
    return [
        quantile * float(np.sqrt((count - 1) * np.var(values) + more))
        for values, more in ((bias, second_order), (variance, 0.0), (bias + variance, 0.0))
    ]


def _noise(noise: Any, rng: np.random.Generator, inputs: Floats) -> Floats:
    if callable(noise):
        errors = np.asarray(noise(rng, inputs), dtype=np.float64)
        if errors.shape != (len(inputs),):
            raise InputError(f"The noise has shape {errors.shape} for {len(inputs)} rows.")
        return errors
    if not 0.0 <= float(noise) < np.inf:
        raise InputError(f"The standard deviation of the noise must not be {noise!r}.")
    return float(noise) * rng.standard_normal(len(inputs))
