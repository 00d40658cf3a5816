"""Bias, variance and noise of classifiers: of a known truth by simulation, and by the bootstrap.

0/1 loss (Domingos), with the best class y*(x) = argmax P(c | x) and the main prediction m(x), which
most fits make:

    P(g ≠ y) = 1{m ≠ y*} + P(g ≠ y*, m = y*) − P(g = y*, m ≠ y*) + noise
               bias        variance where m is right, and where it is wrong: there it helps

Log loss, with q̄ ∝ exp(E ln q), the geometric mean of the predicted probabilities:

    E[−ln q(y)] = KL(p ‖ q̄) + E KL(q̄ ‖ q) + H(p)
                  bias        variance      noise

All are means over points; expectations are over data sets from which classifiers are fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import entr, logsumexp
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from separatrix.arrays import Floats
from separatrix.estimators.base import codes_of, label_array, with_every_class
from separatrix.messages import InputError, check_option
from separatrix.notebook import Shown
from separatrix.parameters import describe_parameters
from separatrix.theory.bias_variance import (
    Interval,
    check_repeats,
    design_of,
    interval_of_mean,
    resamples,
)

LOSSES = ("zero_one", "log_loss")
#: Probabilities below this count as this, so that one sure mistake is not an infinite loss.
LEAST_PROBABILITY = 1e-15


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

    References
    ----------
    - P. Domingos, A unified bias-variance decomposition, 2000.
    - T. Heskes, Bias/variance decompositions for likelihood-based estimators, 1998.

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
    return np.log(np.maximum(hot, LEAST_PROBABILITY)) if loss == "log_loss" else hot


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
