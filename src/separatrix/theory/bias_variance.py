"""Bias, variance and noise: of a known truth by simulation, and of a table by the bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.linalg import solve_triangular
from scipy.special import entr, logsumexp
from scipy.stats import t as student
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from separatrix.arrays import Floats, Ints
from separatrix.estimators.base import codes_of, label_array, with_every_class
from separatrix.messages import InputError, check_option
from separatrix.notebook import Shown
from separatrix.parameters import describe_parameters
from separatrix.selection.folds import copies_of

# -------------------------------------------------------------------------------------------------
# Bias, variance and noise of an estimator whose truth is known, by simulation.
#
#     E (y − g(x))² = (E g(x) − f(x))² + Var g(x) + σ²
#
# averaged over points x; the expectation is over data sets from which g is fitted.


Interval = tuple[float, float]


@describe_parameters
@dataclass(frozen=True, repr=False)
class BiasVariance(Shown):
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
    return decompose(g, np.zeros((repeats, len(f))), f, known, design, level, random_state)


def decompose(
    g: Floats,
    noise_variance: Floats,
    f: Floats,
    noise: float,
    design: SamplingDesign,
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


# -------------------------------------------------------------------------------------------------
# Bias and variance of polynomials: the noise in closed form, by the hat matrix.
#
#     g = L y,    E[g | x] = L f,    Var[g | x] = σ² diag(L Lᵀ)      L = P(at) P(x)⁺
#
# With fixed inputs that is all, and exact; with inputs drawn anew only they are simulated.


def polynomial_bias_variance(
    orders: Sequence[int],
    truth: Callable[[Floats], Any],
    noise: float,
    n: int = 20,
    repeats: int = 100,
    *,
    x: Any = (0.0, 1.0),
    at: Any = None,
    level: float = 0.95,
    random_state: int = 0,
) -> list[BiasVariance]:
    """Bias, variance and noise of polynomials of one input, the noise in closed form.

        fixed inputs:  bias² = ‖f − Hf‖²/n,   variance = σ² (order + 1)/n,     H the hat matrix

    Parameters
    ----------
    orders : sequence of int
        Orders of the polynomials, fitted by least squares.
    truth : callable
        f: takes an n x 1 array and returns n numbers.
    noise : float
        Standard deviation of the noise.
    n : int, default=20
        Rows of a data set.
    repeats : int, default=100
        Data sets, where inputs are drawn.
    x : tuple of two numbers, array of shape (n,) or callable, default=(0, 1)
        Inputs: (low, high) for uniform draws, for every data set anew; an array for the same
        inputs every time; or ``x(rng, n)``.
    at : array of shape (m,), default=None
        Points of the means; None for 100 even points between low and high, for the inputs
        themselves if they are fixed, or for 1000 draws of a callable.
    level : float, default=0.95
        Level of the intervals.
    random_state : int, default=0
        Seed of the inputs, the same for all orders.

    Returns
    -------
    list of BiasVariance
        One for each order; ``exact`` where the inputs are fixed.

    See Also
    --------
    bias_variance : Any estimator.
    BiasVarianceDisplay : Draws them over the orders.
    PolynomialRegression : The estimator.

    Notes
    -----
    Where fits are compared matters as much as where they are made. At the inputs themselves the
    variance is σ²(order + 1)/n, whatever the inputs; between and beyond inputs that were drawn at
    random that of high orders is many times larger, and the best order lower.

    References
    ----------
    S. Geman, E. Bienenstock and R. Doursat, Neural networks and the bias/variance dilemma,
    Neural Computation 4, 1992.

    Examples
    --------
    Twenty points of 2 sin(1.5 x) between 0 and 5 with noise N(0, 1): order 3 has the least error
    where inputs are drawn, and order 5 where they are even and fits are compared at them.

    >>> import numpy as np
    >>> import separatrix as sx
    >>> sine = lambda x: 2 * np.sin(1.5 * x[:, 0])
    >>> drawn = sx.polynomial_bias_variance(range(1, 6), sine, 1.0, 20, 100, x=(0, 5))
    >>> 1 + int(np.argmin([found.error for found in drawn]))
    3
    >>> even = sx.polynomial_bias_variance(range(1, 6), sine, 1.0, x=np.linspace(0, 5, 20))
    >>> [round(found.error - found.noise, 3) for found in even]
    [1.828, 1.354, 0.436, 0.32, 0.304]
    """
    design = design_of(x, at, n, random_state)
    repeats = check_repeats(repeats, level)
    if design.at.shape[1] != 1:
        raise InputError(f"Polynomials are of one input, and there are {design.at.shape[1]}.")
    if not 0.0 <= noise < np.inf:
        raise InputError(f"The standard deviation of the noise must not be {noise!r}.")
    degrees = [_order(order) for order in orders]
    f, rng = values_of(truth, design.at), np.random.default_rng(random_state)
    count = 1 if design.fixed else repeats
    means = np.empty((len(degrees), count, len(f)))
    spreads = np.empty_like(means)
    for r in range(count):
        inputs = design.draw(rng, n)
        values = values_of(truth, inputs)
        for k, order in enumerate(degrees):
            weights = _weights(inputs[:, 0], design, order)
            means[k, r] = weights @ values
            spreads[k, r] = noise**2 * (weights**2).sum(axis=1)
    return [
        decompose(mean, spread, f, noise**2, design, level, random_state)
        for mean, spread in zip(means, spreads, strict=True)
    ]


def _order(order: Any) -> int:
    if not hasattr(order, "__index__") or order < 0:
        raise InputError(f"An order is a whole number from 0 on, not {order!r}.")
    return int(order)


def _weights(x: Floats, design: SamplingDesign, order: int) -> Floats:
    """L: what each target weighs in the fit at each point, m x n."""
    different = len(np.unique(x))
    if different <= order:
        raise InputError(
            f"A polynomial of order {order} needs {order + 1} different inputs, and there are "
            f"{different}.",
            remedy="Lower the order, or give more rows.",
        )
    low, high = x.min(), x.max()
    middle, half = (low + high) / 2, (high - low) / 2 or 1.0
    q, r = np.linalg.qr(legvander((x - middle) / half, order))
    basis = legvander((design.at[:, 0] - middle) / half, order)
    return np.asarray(solve_triangular(r, basis.T, trans="T", check_finite=False).T @ q.T)


# -------------------------------------------------------------------------------------------------
# Bias and variance on a table, whose truth is not known: an estimate, by the bootstrap.
#
# y − g_b(x) = (y − ḡ(x)) + (ḡ(x) − g_b(x))       over the resamples b without the row


@describe_parameters
@dataclass(frozen=True, repr=False)
class BootstrapBiasVariance(Shown):
    """An estimate of the variance, and of squared bias and noise together, on a table.

    Parameters
    ----------
    variance : float
        Mean over rows of the variance of predictions for it, over resamples without it.
    bias_and_noise : float
        Mean over rows of the squared distance of the target from the mean prediction: squared bias
        and noise, which one target for each row cannot tell apart.
    noise : float
        Variance of the targets of rows with equal inputs; NaN if there are none.
    variance_interval, bias_and_noise_interval, error_interval : tuple of two floats
        Intervals over rows, at ``level``.
    n_rows : int
        Rows that at least two resamples left out.
    repeats : int
        Resamples.
    level : float
    random_state : int
        The seed.

    Attributes
    ----------
    error : float
        Variance, squared bias and noise: the mean squared error out of the resample.

    See Also
    --------
    bootstrap_bias_variance : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 5, (60, 1))
    >>> y = 2 * np.sin(1.5 * X[:, 0]) + rng.normal(size=60)
    >>> found = sx.bootstrap_bias_variance(sx.PolynomialRegression(3), X, y)
    >>> print(found)  # doctest: +ELLIPSIS
    An estimate by 100 resamples of 60 rows: variance ..., squared bias and noise together ...
    """

    variance: float
    bias_and_noise: float
    noise: float
    variance_interval: Interval
    bias_and_noise_interval: Interval
    error_interval: Interval
    n_rows: int
    repeats: int
    level: float
    random_state: int

    @property
    def error(self) -> float:
        """Variance, squared bias and noise together."""
        return self.variance + self.bias_and_noise

    def __str__(self) -> str:
        (a, b), (c, d) = self.variance_interval, self.bias_and_noise_interval
        noise = "" if np.isnan(self.noise) else f"; noise {self.noise:.4g} from equal rows"
        return (
            f"An estimate by {self.repeats} resamples of {self.n_rows} rows: variance "
            f"{self.variance:.4g} ({a:.4g} to {b:.4g}), squared bias and noise together "
            f"{self.bias_and_noise:.4g} ({c:.4g} to {d:.4g}){noise}."
        )


def bootstrap_bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    repeats: int = 100,
    *,
    level: float = 0.95,
    random_state: int = 0,
) -> BootstrapBiasVariance:
    """An estimate of bias and variance on a table, by the bootstrap.

        variance         = mean over rows i of the variance of g_b(xᵢ)
        bias² + noise    = mean over rows i of (yᵢ − ḡ(xᵢ))²           b: resamples without row i

    Parameters
    ----------
    estimator : estimator
        A regressor with ``fit`` and ``predict``; it is cloned for every resample.
    X : array-like or dataframe of shape (n, d)
        The rows.
    y : array-like of shape (n,)
        The targets.
    repeats : int, default=100
        Resamples: n rows drawn with replacement, about 37 % of the rows left out of each.
    level : float, default=0.95
        Level of the intervals.
    random_state : int, default=0
        Seed.

    Returns
    -------
    BootstrapBiasVariance
        ``variance``, ``bias_and_noise``, their sum ``error``; and ``noise`` where rows have equal
        inputs.

    See Also
    --------
    bias_variance : Where the truth is known.

    Notes
    -----
    It is an estimate in three ways. Resamples stand for new data sets, and hold about 63 % of the
    rows, so that the variance is that of fits to fewer rows, somewhat too large. Squared bias and
    noise are told apart only by rows with equal inputs. Intervals are over rows, and do not count
    what all rows share, the table itself. (yᵢ − ḡ(xᵢ))² is corrected for the variance of a mean
    over finitely many resamples.

    References
    ----------
    - B. Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics 7, 1979.
    - S. Geman, E. Bienenstock and R. Doursat, Neural networks and the bias/variance dilemma, Neural
      Computation 4, 1992.

    Examples
    --------
    >>> import pandas as pd
    >>> import separatrix as sx
    >>> from separatrix.samples import sample
    >>> table = pd.read_csv(sample("diabetes").path)
    >>> bmi, y = table[["bmi"]], table["progression"]
    >>> flat = sx.bootstrap_bias_variance(sx.PolynomialRegression(1), bmi, y, 50)
    >>> steep = sx.bootstrap_bias_variance(sx.PolynomialRegression(9), bmi, y, 50)
    >>> flat.variance < steep.variance, flat.error < steep.error
    (True, True)
    """
    repeats = check_repeats(repeats, level)
    if hasattr(estimator, "__sklearn_tags__") and is_classifier(estimator):
        raise InputError(
            "Squared error is for numbers, and this estimator is a classifier.",
            remedy="Use bootstrap_class_bias_variance, or give a regressor.",
        )
    target = np.asarray(y, dtype=np.float64)
    n = len(target)
    if target.ndim != 1 or len(X) != n or n < 3:
        raise InputError(f"X has {len(X)} rows and y shape {target.shape}; three rows are needed.")
    predictions = np.full((repeats, n), np.nan)
    for b, (rows, left_out) in enumerate(resamples(X, target, repeats, random_state)):
        if len(left_out):
            model = clone(estimator).fit(_safe_indexing(X, rows), _safe_indexing(y, rows))
            found = model.predict(_safe_indexing(X, left_out))
            predictions[b, left_out] = np.asarray(found, dtype=np.float64).reshape(len(left_out))
    return _decompose(predictions, target, _equal_rows(X), level, random_state)


def resamples(X: Any, y: Any, repeats: int, seed: int) -> Iterator[tuple[Ints, Ints]]:
    """Rows drawn with replacement, and those left out; a row is drawn with its copies."""
    n, rng = len(y), np.random.default_rng(seed)
    copied = copies_of(X, y)
    units = None if copied is None else np.unique(copied, return_inverse=True)[1]
    for _ in range(repeats):
        if units is None:
            rows = rng.integers(0, n, n)
        else:
            drawn = rng.integers(0, units.max() + 1, units.max() + 1)
            times = np.bincount(drawn, minlength=units.max() + 1)[units]
            rows = np.repeat(np.arange(n), times)
        yield rows, np.setdiff1d(np.arange(n), rows)


def _decompose(
    predictions: Floats, y: Floats, groups: Ints, level: float, seed: int
) -> BootstrapBiasVariance:
    count = np.isfinite(predictions).sum(axis=0)
    used = count > 1
    if not used.any():
        raise InputError(
            "No row was left out of two resamples.", remedy="Raise the number of resamples."
        )
    g, y_used, count = predictions[:, used], y[used], count[used]
    variance = np.nanvar(g, axis=0, ddof=1)
    distance = (y_used - np.nanmean(g, axis=0)) ** 2 - variance / count
    a, b, c = (interval_of_mean(v, level) for v in (variance, distance, variance + distance))
    return BootstrapBiasVariance(
        float(variance.mean()), float(distance.mean()), _pure_noise(y, groups),
        a, b, c, int(used.sum()), len(predictions), level, seed,
    )  # fmt: skip


def interval_of_mean(values: Floats, level: float) -> Interval:
    """Student's interval of the mean over rows."""
    n, mean = len(values), float(values.mean())
    if n < 2:
        return -np.inf, np.inf
    half = float(student.ppf((1 + level) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n))
    return mean - half, mean + half


def _equal_rows(X: Any) -> Ints:
    """The group of each row: rows with equal inputs are of one group."""
    table = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    seen: dict[tuple[Any, ...], int] = {}
    keys = (tuple(np.atleast_1d(row).tolist()) for row in table)
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def _pure_noise(y: Floats, groups: Ints) -> float:
    """Variance within groups of equal inputs, over all their degrees of freedom."""
    sizes = np.bincount(groups)
    freedom = len(y) - len(sizes)
    if not freedom:
        return float("nan")
    means = np.bincount(groups, weights=y) / sizes
    return float(((y - means[groups]) ** 2).sum() / freedom)


# -------------------------------------------------------------------------------------------------
# Inputs of simulated data sets: fixed, or drawn for each anew; and where fits are compared.


@dataclass(frozen=True)
class SamplingDesign:
    """How n inputs are drawn, and the points ``at`` which fits are compared."""

    draw: Callable[[np.random.Generator, int], Floats]
    at: Floats
    n: int
    fixed: bool


def design_of(x: Any, at: Any, n: int, seed: int) -> SamplingDesign:
    """The design that ``x`` describes: two ends, an array, or a callable."""
    points = None if at is None else columns_of(at, "at")
    if callable(x):
        _check_n(n)

        def drawn(rng: np.random.Generator, size: int) -> Floats:
            return columns_of(x(rng, size), "x")

        fresh = np.random.default_rng((seed, 1))  # not the numbers of the data sets
        # Draws of a callable, on which fits are compared.
        return SamplingDesign(drawn, drawn(fresh, 1000) if points is None else points, n, False)
    evenly = 100  # even points between two ends, on which fits are compared
    if isinstance(x, tuple) and len(x) == 2:
        _check_n(n)
        low, high = float(x[0]), float(x[1])
        if not (np.isfinite([low, high]).all() and low < high):
            raise InputError(f"x must be (low, high) with low below high, not {x!r}.")
        even = low + (high - low) * (np.arange(evenly) + 0.5) / evenly
        middle = even[:, None] if points is None else points
        return SamplingDesign(lambda rng, size: rng.uniform(low, high, (size, 1)), middle, n, False)
    inputs = columns_of(x, "x")
    return SamplingDesign(
        lambda *_: inputs, inputs if points is None else points, len(inputs), True
    )


def columns_of(values: Any, name: str) -> Floats:
    """An array of finite numbers with one row for each point."""
    columns = np.asarray(values, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if columns.ndim != 2 or not columns.size or not np.isfinite(columns).all():
        raise InputError(
            f"{name} must be finite numbers, one row for each point; its shape is {columns.shape}."
        )
    return columns


def values_of(function: Callable[[Floats], Any], x: Floats) -> Floats:
    """The function at each point."""
    values = np.asarray(function(x), dtype=np.float64)
    if values.shape != (len(x),) or not np.isfinite(values).all():
        raise InputError(
            f"The truth has shape {values.shape} for {len(x)} points, or is not finite.",
            remedy="It takes an n x d array and returns n numbers, such as lambda x: x[:, 0] ** 2.",
        )
    return values


def check_repeats(repeats: int, level: float) -> int:
    """Two or more repetitions, and a level between 0 and 1."""
    if not hasattr(repeats, "__index__") or repeats < 2:
        raise InputError(f"repeats must be a whole number of at least 2, not {repeats!r}.")
    if not 0.0 < level < 1.0:
        raise InputError(f"level must be between 0 and 1, not {level!r}.")
    return int(repeats)


def _check_n(n: int) -> None:
    if not hasattr(n, "__index__") or n < 1:
        raise InputError(f"n must be a whole number of at least 1, not {n!r}.")


# -------------------------------------------------------------------------------------------------
# Bias, variance and noise of classifiers: of a known truth by simulation, and by the bootstrap.
#
# 0/1 loss (Domingos), with the best class y*(x) = argmax P(c | x) and the main prediction m(x),
# which most fits make:
#
#     P(g ≠ y) = 1{m ≠ y*} + P(g ≠ y*, m = y*) − P(g = y*, m ≠ y*) + noise
#                bias        variance where m is right, and where it is wrong: there it helps
#
# Log loss, with q̄ ∝ exp(E ln q), the geometric mean of the predicted probabilities:
#
#     E[−ln q(y)] = KL(p ‖ q̄) + E KL(q̄ ‖ q) + H(p)
#                   bias        variance      noise
#
# All are means over points; expectations are over data sets from which classifiers are fitted.


LOSSES = ("zero_one", "log_loss")


class LossTerms(NamedTuple):
    """By point: bias, variance and noise, which add up to the error."""

    bias: Floats
    variance: Floats
    noise: Floats

    @property
    def error(self) -> Floats:
        """Their sum."""
        return self.bias + self.variance + self.noise


@describe_parameters
@dataclass(frozen=True, repr=False)
class ClassBiasVariance(Shown):
    """Bias, variance and noise of a classifier, as means over points, with intervals.

    Parameters
    ----------
    loss : {"zero_one", "log_loss"}
        Whose decomposition it is.
    bias : float
        How far the main prediction is from the truth; with 0/1 loss the proportion of points where
        it is not the best class. On a table it holds the noise, too.
    variance : float
        How far predictions are from the main one; with 0/1 loss less where that is wrong, so that
        it can be negative.
    noise : float
        What the best prediction loses, as far as it counts; NaN on a table.
    bias_interval, variance_interval, error_interval : tuple of two floats
        Their intervals, over data sets by the jackknife, or over the rows of a table.
    n_points : int
        The points, or rows, of the means.
    repeats : int
        Data sets, or resamples.
    level : float
    random_state : int
        The seed.

    Attributes
    ----------
    error : float
        The expected loss at a new row.

    See Also
    --------
    class_bias_variance : By simulation from a known truth.
    bootstrap_class_bias_variance : Of a table.
    BiasVariance : The same for numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> def truth(x):
    ...     p = np.where(x[:, 0] > 0.5, 0.9, 0.2)
    ...     return np.column_stack([1 - p, p])
    >>> found = sx.class_bias_variance(sx.KNeighborsClassifier(3), truth, n=40, repeats=50)
    >>> bool(found.variance > found.bias)
    True
    """

    loss: str
    bias: float
    variance: float
    noise: float
    bias_interval: Interval
    variance_interval: Interval
    error_interval: Interval
    n_points: int
    repeats: int
    level: float
    random_state: int

    @property
    def error(self) -> float:
        """The expected loss: bias, variance and noise together."""
        return self.bias + self.variance + (0.0 if np.isnan(self.noise) else self.noise)

    def __str__(self) -> str:
        simulated = not np.isnan(self.noise)
        parts = (
            ("bias" if simulated else "bias and noise together", self.bias, self.bias_interval),
            ("variance", self.variance, self.variance_interval),
            ("error with the noise" if simulated else "error", self.error, self.error_interval),
        )
        texts = [f"{name} {v:.4g} ({low:.4g} to {high:.4g})" for name, v, (low, high) in parts]
        what = "data sets" if simulated else f"resamples of {self.n_points} rows"
        name = "0/1 loss" if self.loss == "zero_one" else "Log loss"
        return f"{name}: {', '.join(texts)}; {self.repeats} {what}."


def class_bias_variance(
    estimator: Any,
    truth: Callable[[Floats], Any],
    n: int = 50,
    repeats: int = 100,
    *,
    loss: str = "zero_one",
    x: Any = (0.0, 1.0),
    at: Any = None,
    level: float = 0.95,
    random_state: int = 0,
) -> ClassBiasVariance:
    """Bias, variance and noise of any classifier, by simulation from known class probabilities.

        0/1:  P(g ≠ y) = 1{m ≠ y*} ± P(g ≠ m) + noise      log:  KL(p ‖ q̄) + E KL(q̄ ‖ q) + H(p)

    Parameters
    ----------
    estimator : estimator
        A classifier with ``fit`` and ``predict``, for log loss also ``predict_proba``.
    truth : callable
        Takes an n x d array and returns the probabilities of K classes, n x K.
    n : int, default=50
        Rows of a data set.
    repeats : int, default=100
        Data sets.
    loss : {"zero_one", "log_loss"}, default="zero_one"
        The loss that is decomposed.
    x : tuple of two numbers, array of shape (n,) or (n, d), or callable, default=(0, 1)
        Inputs: (low, high) for one column drawn uniformly, for every data set anew; an array for
        the same inputs every time; or ``x(rng, n)``.
    at : array of shape (m,) or (m, d), default=None
        Points of the means, as in :func:`bias_variance`.
    level : float, default=0.95
        Level of the intervals.
    random_state : int, default=0
        Seed; estimators compared under one seed see the same data sets.

    Returns
    -------
    ClassBiasVariance
        ``bias``, ``variance``, ``noise`` and ``error``, with intervals over data sets.

    See Also
    --------
    bias_variance : The same for numbers.
    bootstrap_class_bias_variance : A table, whose truth is not known.

    Notes
    -----
    With 0/1 loss variance is harmful only where the main prediction is right; where it is wrong,
    fits that differ from it may be right. Noise costs less where fits miss the best class. A data
    set of one class predicts that class.

    References
    ----------
    - P. Domingos, A unified bias-variance decomposition, 2000.
    - T. Heskes, Bias/variance decompositions for likelihood-based estimators, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> import separatrix as sx
    >>> def truth(x):
    ...     p = 1 / (1 + np.exp(-6 * np.sin(6 * x[:, 0])))
    ...     return np.column_stack([1 - p, p])
    >>> line = sx.class_bias_variance(sx.NearestMean(), truth, 60, 50)
    >>> near = sx.class_bias_variance(sx.KNeighborsClassifier(3), truth, 60, 50)
    >>> bool(line.bias > near.bias), bool(line.variance < near.variance)
    (True, True)
    """
    check_option("loss", loss, LOSSES)
    design, repeats = design_of(x, at, n, random_state), check_repeats(repeats, level)
    p, rng = _probabilities(truth, design.at), np.random.default_rng(random_state)
    classes = np.arange(p.shape[1])
    each = np.empty((repeats, *p.shape))
    for r in range(repeats):
        inputs = design.draw(rng, n)
        known = np.cumsum(_probabilities(truth, inputs), axis=1)
        labels = (rng.random((len(inputs), 1)) > known[:, :-1]).sum(axis=1)
        each[r] = _predict_new(estimator, inputs, labels, design.at, classes, loss)
    total = each.sum(axis=0)
    terms = _terms(total / repeats, p, loss)
    without = [_terms((total - one) / (repeats - 1), p, loss) for one in each]
    quantile = float(student.ppf((1.0 + level) / 2.0, repeats - 1))

    def interval(part: Callable[[LossTerms], Floats]) -> Interval:
        value = float(part(terms).mean())
        spread = np.std([part(one).mean() for one in without])
        half = quantile * float(spread) * np.sqrt(repeats - 1)
        return value - half, value + half

    return ClassBiasVariance(
        loss, float(terms.bias.mean()), float(terms.variance.mean()), float(terms.noise.mean()),
        interval(lambda t: t.bias), interval(lambda t: t.variance), interval(lambda t: t.error),
        len(p), repeats, level, random_state,
    )  # fmt: skip


def bootstrap_class_bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    repeats: int = 100,
    *,
    loss: str = "zero_one",
    level: float = 0.95,
    random_state: int = 0,
) -> ClassBiasVariance:
    """An estimate of bias and variance of a classifier on a table, by the bootstrap.

        0/1:  bias and noise = mean of 1{m(xᵢ) ≠ yᵢ},       variance = error − that
        log:  bias and noise = mean of −ln q̄(yᵢ | xᵢ),      variance = mean of E KL(q̄ ‖ q)

    Parameters
    ----------
    estimator : estimator
        A classifier with ``fit`` and ``predict``, for log loss also ``predict_proba``.
    X : array-like or dataframe of shape (n, d)
        The rows.
    y : array-like of shape (n,)
        The labels.
    repeats : int, default=100
        Resamples: n rows drawn with replacement, about 37 % of the rows left out of each.
    loss : {"zero_one", "log_loss"}, default="zero_one"
        The loss that is decomposed.
    level : float, default=0.95
        Level of the intervals.
    random_state : int, default=0
        Seed.

    Returns
    -------
    ClassBiasVariance
        ``bias`` (with the noise), ``variance``, and their sum ``error``, the mean loss out of the
        resamples; intervals over rows.

    See Also
    --------
    class_bias_variance : Where the truth is known.
    bootstrap_bias_variance : The same for numbers.

    Notes
    -----
    One label for each row cannot tell bias from noise. Resamples hold about 63 % of the rows, so
    that the variance is somewhat too large.

    References
    ----------
    P. Domingos, A unified bias-variance decomposition, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import separatrix as sx
    >>> X, y = load_wine(return_X_y=True)
    >>> one = sx.bootstrap_class_bias_variance(sx.KNeighborsClassifier(1), X, y, 30)
    >>> many = sx.bootstrap_class_bias_variance(sx.KNeighborsClassifier(25), X, y, 30)
    >>> bool(one.variance > many.variance)
    True
    """
    check_option("loss", loss, LOSSES)
    repeats, labels = check_repeats(repeats, level), label_array(y)
    if labels.ndim != 1 or len(X) != len(labels) or len(labels) < 3:
        raise InputError(f"X has {len(X)} rows and y shape {labels.shape}; three rows are needed.")
    classes = np.unique(labels)
    p = np.eye(len(classes))[codes_of(labels, classes)]
    total, count = np.zeros(p.shape), np.zeros(len(p))
    for rows, left_out in resamples(X, labels, repeats, random_state):
        given, new = (_safe_indexing(X, some) for some in (rows, left_out))
        total[left_out] += _predict_new(estimator, given, labels[rows], new, classes, loss)
        count[left_out] += 1
    used = count > 1
    if not used.any():
        raise InputError(
            "No row was left out of two resamples.", remedy="Raise the number of resamples."
        )
    terms = _terms(total[used] / count[used, None], p[used], loss)
    parts = (terms.bias, terms.variance, terms.error)
    a, b, c = (interval_of_mean(values, level) for values in parts)
    return ClassBiasVariance(
        loss, float(terms.bias.mean()), float(terms.variance.mean()), float("nan"), a, b, c,
        int(used.sum()), repeats, level, random_state,
    )  # fmt: skip


def _terms(mean: Floats, p: Floats, loss: str) -> LossTerms:
    """Bias, variance and noise by point, of mean one-hot predictions or of mean ln q."""
    if loss == "log_loss":
        volume = logsumexp(mean, axis=1)
        main = mean - volume[:, None]
        noise = entr(p).sum(axis=1)
        return LossTerms(-(p * main).sum(axis=1) - noise, -volume, noise)
    best, main, rows = p.argmax(axis=1), mean.argmax(axis=1), np.arange(len(p))
    missed, wrong = 1.0 - mean[rows, best], (main != best).astype(float)
    error = (mean * (1.0 - p)).sum(axis=1)
    return LossTerms(wrong, missed - wrong, error - missed)


def _predict_new(estimator: Any, X: Any, labels: Any, new: Any, classes: Any, loss: str) -> Floats:
    """One-hot predictions of new rows, or ln q of every class."""
    present = np.unique(labels)
    if len(present) == 1:
        hot = np.tile((classes == present[0]).astype(float), (len(new), 1))
    else:
        model = clone(estimator).fit(X, labels)
        if loss == "log_loss":
            hot = with_every_class(model.predict_proba(new), model.classes_, classes)
        else:
            hot = (np.asarray(model.predict(new))[:, None] == classes).astype(float)
    # A probability is at least this, so that one sure mistake is not an infinite loss.
    return np.log(np.maximum(hot, 1e-15)) if loss == "log_loss" else hot


def _probabilities(truth: Callable[[Floats], Any], x: Floats) -> Floats:
    p = np.asarray(truth(x), dtype=np.float64)
    proper = p.ndim == 2 and len(p) == len(x) and p.shape[1] > 1 and (p >= 0.0).all()
    if not proper or not np.allclose(p.sum(axis=1), 1.0):
        raise InputError(
            f"The truth must give probabilities that add up to 1, one column for each of at least "
            f"two classes; its shape is {p.shape} for {len(x)} points.",
            remedy="Such as lambda x: np.column_stack([1 - p(x), p(x)]).",
        )
    return p
