"""Estimates of means, variances and proportions: maximum likelihood, MAP and posterior mean.

    mean, σ known       θ = (n/σ² · x̄ + 1/σ₀² · μ₀) / (n/σ² + 1/σ₀²)
    mean and variance   μ = (n x̄ + s μ₀)/(n + s),    Q = S + s σ₀² + (n s/(n + s)) (x̄ − μ₀)²,
                        σ² = Q/(n + s) (MAP) or Q/(n + s − 3) (posterior mean)
    proportions         (N + a − 1)/(n + L (a − 1)) (MAP) or (N + a)/(n + L a) (posterior mean)

A conjugate prior counts as s rows with its own mean and variance, or adds a to the count of each
of L outcomes (a Dirichlet density; L = 2 is the Beta density of a Bernoulli variable). Maximum
likelihood uses no prior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.arrays import Floats
from separatrix.messages import InputError

#: Maximum likelihood, the mode of the posterior, its mean.
METHODS = ("ml", "map", "bayes")


class Estimate(NamedTuple):
    """An estimate and its posterior variance."""

    value: Floats
    variance: Floats


class NormalEstimate(NamedTuple):
    """Estimated mean and variance of a normal variable; elementwise for arrays."""

    mean: Floats
    variance: Floats


def check_method(method: str) -> None:
    """Refuse anything but "ml", "map" and "bayes"."""
    if method not in METHODS:
        raise InputError(
            f"the estimation method {method!r} is unknown.",
            remedy="Choose 'ml', 'map' or 'bayes'.",
        )


def estimate_mean(
    mean: Any,
    variance: Any,
    count: Any,
    *,
    prior_mean: Any = 0.0,
    prior_variance: Any = np.inf,
    method: str = "bayes",
) -> Estimate:
    """Estimate the mean of a normal variable of known variance under a normal prior.

        θ = (n/σ² · x̄ + 1/σ₀² · μ₀) / (n/σ² + 1/σ₀²)

    Sample and prior are weighted by their precisions. The posterior is normal, so that its mode
    (MAP) equals its mean. A prior of infinite variance leaves maximum likelihood; without rows,
    the estimate is the prior mean.

    Parameters
    ----------
    mean : float or array-like
        Sample mean x̄.
    variance : float or array-like
        Known variance σ² of the variable.
    count : float or array-like
        Number of rows n.
    prior_mean : float or array-like, default=0.0
        Mean μ₀ of the prior.
    prior_variance : float or array-like, default=inf
        Variance σ₀² of the prior.
    method : {"ml", "map", "bayes"}, default="bayes"
        Maximum likelihood (without the prior), mode or mean of the posterior.

    Returns
    -------
    Estimate
        Named tuple of ``value`` and posterior ``variance``, elementwise.

    See Also
    --------
    estimate_normal : Mean and variance, both unknown.
    estimate_proportions : Probabilities of outcomes from their counts.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.estimate_mean(10.0, 4.0, 4, prior_mean=0.0, prior_variance=1.0)
    >>> float(found.value), float(found.variance)
    (5.0, 0.5)
    """
    check_method(method)
    mean, variance, count, center, spread = np.broadcast_arrays(
        *(np.asarray(v, dtype=float) for v in (mean, variance, count, prior_mean, prior_variance))
    )
    if (variance < 0).any() or (spread < 0).any() or (count < 0).any():
        raise InputError("Variances and counts must not be negative.")
    if method == "ml":
        spread = np.full_like(spread, np.inf)
    # the weight of the sample is n σ₀² / (n σ₀² + σ²); infinities by their limits
    sample = count * np.where(np.isinf(spread), 1.0, spread)
    prior = np.where(np.isinf(spread), 0.0, variance)
    total = sample + prior
    weight = np.where(total > 0, sample / np.where(total > 0, total, 1.0), 0.0)
    weight = np.where((total == 0) & (count > 0), 0.5, weight)  # both variances 0: halfway
    value = weight * np.where(weight > 0, mean, 0.0)
    value += (1.0 - weight) * np.where(weight < 1, center, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(count > 0, weight * variance / np.where(count > 0, count, 1.0), spread)
    if method == "ml" and (count == 0).any():
        raise InputError("Without rows there is no maximum-likelihood mean.", remedy="Use a prior.")
    return Estimate(value, left)


def estimate_normal(
    weight: Any,
    mean: Any,
    scatter: Any,
    *,
    prior_mean: Any = 0.0,
    prior_variance: Any = 1.0,
    prior_count: Any = 0.0,
    method: str = "bayes",
) -> NormalEstimate:
    """Estimate mean and variance of a normal variable under a normal-inverse-gamma prior.

        μ = (n x̄ + s μ₀)/(n + s),    σ² = Q/(n + s) (MAP) or Q/(n + s − 3) (posterior mean),
        Q = S + s σ₀² + (n s/(n + s)) (x̄ − μ₀)²

    The prior counts as s rows of mean μ₀ and variance σ₀², in addition to the improper prior that
    is flat in μ and log σ. The posterior mean of σ² exists for more than three rows in all; below
    that the mode is returned.

    Parameters
    ----------
    weight : float or array-like
        Number of rows, or sum of their weights, n.
    mean : float or array-like
        Sample mean x̄.
    scatter : float or array-like
        Sum of squares about the mean, S = Σ w (x − x̄)².
    prior_mean : float or array-like, default=0.0
        Mean μ₀ of the prior.
    prior_variance : float or array-like, default=1.0
        Variance σ₀² of the prior.
    prior_count : float or array-like, default=0.0
        Number of rows s that the prior counts as.
    method : {"ml", "map", "bayes"}, default="bayes"
        Maximum likelihood (without the prior), mode or mean of the posterior.

    Returns
    -------
    NormalEstimate
        Named tuple of ``mean`` and ``variance``, elementwise.

    See Also
    --------
    estimate_mean : The mean alone, with a known variance.
    MultivariateNormal : A normal distribution of several columns.

    Examples
    --------
    >>> import separatrix as sx
    >>> found = sx.estimate_normal(3, 4.0, 0.5, prior_mean=0.0, prior_variance=1.0, prior_count=2.0)
    >>> float(found.mean), float(found.variance)
    (2.4, 10.85)
    """
    check_method(method)
    n, mean, scatter = (np.asarray(v, dtype=float) for v in (weight, mean, scatter))
    s = np.zeros(()) if method == "ml" else np.asarray(prior_count, dtype=float)
    if (s < 0).any():
        raise InputError("The prior count is negative.", remedy="Use prior_count ≥ 0.")
    rows = n + s
    safe = np.where(rows > 0, rows, 1.0)
    step = np.where(n > 0, mean - prior_mean, 0.0)
    center = prior_mean + n / safe * step
    total = scatter + s * prior_variance + n * s / safe * step**2
    divisor = np.where(rows > 3, rows - 3.0, safe) if method == "bayes" else safe
    return NormalEstimate(np.asarray(center), np.asarray(total / divisor))


def estimate_proportions(
    counts: Any, *, prior: Any = 1.0, method: str = "bayes", axis: int = -1
) -> Floats:
    """Estimate the probabilities of L outcomes from their counts under a Dirichlet prior.

        (N + a)/(n + L a) (posterior mean),    (N + a − 1)/(n + L (a − 1)) (MAP),    N/n (ML)

    With a = 1, a uniform prior, the posterior mean is Laplace's estimate (N + 1)/(n + L). Without
    rows and without a prior, the proportions are equal.

    Parameters
    ----------
    counts : array-like
        Counts N of the outcomes along ``axis``; they may be sums of weights.
    prior : float or array-like, default=1.0
        Parameter a of the Dirichlet density, one number or one per outcome.
    method : {"ml", "map", "bayes"}, default="bayes"
        Maximum likelihood (without the prior), mode or mean of the posterior.
    axis : int, default=-1
        Axis of the outcomes.

    Returns
    -------
    ndarray
        The proportions, of the shape of ``counts``; they sum to 1 along ``axis``.

    See Also
    --------
    estimate_mean : The mean of a normal variable.
    NaiveBayes : Classifier that estimates the proportions of the levels of discrete columns.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.estimate_proportions([3, 0, 1]).round(3).tolist()
    [0.571, 0.143, 0.286]
    >>> sx.estimate_proportions([3, 0, 1], method="ml").tolist()
    [0.75, 0.0, 0.25]
    """
    check_method(method)
    n = np.asarray(counts, dtype=float)
    a = np.asarray(prior, dtype=float)
    if (n < 0).any() or (a < 0).any():
        raise InputError("Counts and the parameters of a prior must not be negative.")
    added = {"ml": np.zeros(()), "map": a - 1.0, "bayes": a}[method]
    if (added < 0).any():
        raise InputError(
            "With a parameter below 1 the mode of the proportions lies on the boundary.",
            remedy="Use a parameter of 1 or more, or method='bayes'.",
        )
    raised = n + added
    total = raised.sum(axis=axis, keepdims=True)
    even = 1.0 / n.shape[axis] if n.size else 0.0
    return np.asarray(np.where(total > 0, raised / np.where(total > 0, total, 1.0), even))
