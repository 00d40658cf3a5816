"""Estimates of a mean, a variance and of shares, by maximum likelihood, MAP and Bayes' estimator.

    a mean, σ known     θ = (n/σ² · x̄ + 1/σ₀² · μ₀) / (n/σ² + 1/σ₀²)
    mean and variance   μ = (n x̄ + s μ₀)/(n + s),    Q = S + s σ₀² + (n s/(n + s)) (x̄ − μ₀)²,
                        σ² = Q/(n + s) (MAP) or Q/(n + s − 3) (Bayes)
    shares              (N + a − 1)/(n + L (a − 1)) (MAP) or (N + a)/(n + L a) (Bayes)

A prior counts as so many rows (s) with its own mean and variance, or adds so much to the count of
each of L outcomes (a, a Dirichlet density; L = 2 is the Beta density of a Bernoulli variable).
Maximum likelihood is what is left without a prior. Each estimate lies between the data and the
prior, weighted by how much each knows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.messages import InputError
from separatrix.rows.block import Floats

#: The three ways to estimate.
WAYS = ("ml", "map", "bayes")


class Estimate(NamedTuple):
    """A value, and the variance of what is still not known about it."""

    value: Floats
    variance: Floats


class Normal(NamedTuple):
    """Mean and variance of a normal variable; entry by entry for arrays."""

    mean: Floats
    variance: Floats


def check_method(how: str) -> None:
    """Refuse anything but the three ways."""
    if how not in WAYS:
        raise InputError(f"estimation={how!r} is unknown.", remedy="Choose 'ml', 'map' or 'bayes'.")


def estimate_mean(
    mean: Any,
    variance: Any,
    count: Any,
    *,
    prior_mean: Any = 0.0,
    prior_variance: Any = np.inf,
    how: str = "bayes",
) -> Estimate:
    """The mean of a normal variable of known ``variance``, from the ``mean`` of ``count`` rows.

    Each side counts as much as it is certain: the data with n/σ², the prior with 1/σ₀². The
    posterior is normal, so that its mode (MAP) is its mean (Bayes' estimator). A prior of infinite
    variance says nothing and leaves maximum likelihood; without rows, only the prior speaks.
    """
    check_method(how)
    mean, variance, count, centre, spread = np.broadcast_arrays(
        *(np.asarray(v, dtype=float) for v in (mean, variance, count, prior_mean, prior_variance))
    )
    if (variance < 0).any() or (spread < 0).any() or (count < 0).any():
        raise InputError("Variances and counts must not be negative.")
    if how == "ml":
        spread = np.full_like(spread, np.inf)
    # the share of the data is n σ₀² / (n σ₀² + σ²); infinities by their limits
    pull = count * np.where(np.isinf(spread), 1.0, spread)
    against = np.where(np.isinf(spread), 0.0, variance)
    certain = pull + against
    share = np.where(certain > 0, pull / np.where(certain > 0, certain, 1.0), 0.0)
    share = np.where((certain == 0) & (count > 0), 0.5, share)  # two certainties: halfway
    data, prior = np.where(share > 0, mean, 0.0), np.where(share < 1, centre, 0.0)
    value = share * data + (1.0 - share) * prior
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(count > 0, share * variance / np.where(count > 0, count, 1.0), spread)
    if how == "ml" and (count == 0).any():
        raise InputError("Without rows there is no maximum-likelihood mean.", remedy="Use a prior.")
    return Estimate(value, left)


def estimate_normal(
    weight: Any,
    mean: Any,
    scatter: Any,
    *,
    prior_mean: Any = 0.0,
    prior_variance: Any = 1.0,
    strength: Any = 0.0,
    how: str = "bayes",
) -> Normal:
    """Mean and variance from Σw, the mean and S = Σw(x − x̄)², entry by entry.

    The prior is worth ``strength`` rows of mean ``prior_mean`` and variance ``prior_variance``, on
    top of one that says nothing (flat in μ and log σ). MAP is the mode of the posterior, Bayes'
    estimator its mean, which exists for more than three rows in all: below that the mode is taken.
    """
    check_method(how)
    n, mean, scatter = (np.asarray(v, dtype=float) for v in (weight, mean, scatter))
    s = np.zeros(()) if how == "ml" else np.asarray(strength, dtype=float)
    if (s < 0).any():
        raise InputError("A prior cannot be worth less than no row.", remedy="Use strength ≥ 0.")
    rows = n + s
    safe = np.where(rows > 0, rows, 1.0)
    step = np.where(n > 0, mean - prior_mean, 0.0)
    centre = prior_mean + n / safe * step
    total = scatter + s * prior_variance + n * s / safe * step**2
    free = np.where(rows > 3, rows - 3.0, safe) if how == "bayes" else safe
    return Normal(np.asarray(centre), np.asarray(total / free))


def estimate_proportions(
    counts: Any, *, prior: Any = 1.0, how: str = "bayes", axis: int = -1
) -> Floats:
    """Probabilities of L outcomes from their counts along ``axis``; two are a Bernoulli variable.

    ``prior`` is the parameter a of the Dirichlet (Beta) density, one number or one per outcome;
    a = 1 holds all shares alike, and with it Bayes' estimator is Laplace's (N + 1)/(n + L). Where
    neither rows nor prior say anything, the shares are equal.
    """
    check_method(how)
    n = np.asarray(counts, dtype=float)
    a = np.asarray(prior, dtype=float)
    if (n < 0).any() or (a < 0).any():
        raise InputError("Counts and the parameters of a prior must not be negative.")
    added = {"ml": np.zeros(()), "map": a - 1.0, "bayes": a}[how]
    if (added < 0).any():
        raise InputError(
            "With a parameter below 1 the mode of the shares lies at the edge.",
            remedy="Use a parameter of 1 or more, or how='bayes'.",
        )
    raised = n + added
    total = raised.sum(axis=axis, keepdims=True)
    even = 1.0 / n.shape[axis] if n.size else 0.0
    return np.asarray(np.where(total > 0, raised / np.where(total > 0, total, 1.0), even))
