"""Bias and variance on a table, whose truth is not known: an estimate, by the bootstrap.

y − g_b(x) = (y − ḡ(x)) + (ḡ(x) − g_b(x))       over the resamples b without the row
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from separatrix.messages import InputError
from separatrix.rows.block import Floats, Ints
from separatrix.selection.folds import copies_of
from separatrix.selection.theory.designs import check_repeats

Interval = tuple[float, float]


@dataclass(frozen=True)
class BootstrapBiasVariance:
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
        Level of the intervals.
    random_state : int
        The seed.

    Attributes
    ----------
    error : float
        Variance, squared bias and noise: the mean squared error out of the resample.

    See Also
    --------
    bootstrap_bias_variance : Makes one.

    References
    ----------
    - B. Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics 7, 1979.
    - S. Geman, E. Bienenstock and R. Doursat, Neural networks and the bias/variance dilemma, Neural
      Computation 4, 1992.

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
            remedy="Give a regressor.",
        )
    target = np.asarray(y, dtype=np.float64)
    n = len(target)
    if target.ndim != 1 or len(X) != n or n < 3:
        raise InputError(f"X has {len(X)} rows and y shape {target.shape}; three rows are needed.")
    predictions = np.full((repeats, n), np.nan)
    rng = np.random.default_rng(random_state)
    copied = copies_of(X, target)
    units = None if copied is None else np.unique(copied, return_inverse=True)[1]
    for b in range(repeats):
        if units is None:
            rows = rng.integers(0, n, n)
        else:  # a row is drawn with its copies
            drawn = rng.integers(0, units.max() + 1, units.max() + 1)
            times = np.bincount(drawn, minlength=units.max() + 1)[units]
            rows = np.repeat(np.arange(n), times)
        left_out = np.setdiff1d(np.arange(n), rows)
        if len(left_out):
            model = clone(estimator).fit(_safe_indexing(X, rows), _safe_indexing(y, rows))
            found = model.predict(_safe_indexing(X, left_out))
            predictions[b, left_out] = np.asarray(found, dtype=np.float64).reshape(len(left_out))
    return _decomposed(predictions, target, _equal_rows(X), level, random_state)


def _decomposed(
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
    a, b, c = (_interval(v, level) for v in (variance, distance, variance + distance))
    return BootstrapBiasVariance(
        float(variance.mean()), float(distance.mean()), _pure_noise(y, groups),
        a, b, c, int(used.sum()), len(predictions), level, seed,
    )  # fmt: skip


def _interval(values: Floats, level: float) -> Interval:
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
