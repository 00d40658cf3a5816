"""Bias and variance of polynomials: the noise in closed form, by the hat matrix.

    g = L y,    E[g | x] = L f,    Var[g | x] = σ² diag(L Lᵀ)      L = P(at) P(x)⁺

With fixed inputs that is all, and exact; with inputs drawn anew only they are simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.linalg import solve_triangular

from separatrix.messages import InputError
from separatrix.rows.block import Floats
from separatrix.selection.theory.bias_variance import BiasVariance, decomposed
from separatrix.selection.theory.designs import Design, check_repeats, design_of, values_of


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
        decomposed(mean, spread, f, noise**2, design, level, random_state)
        for mean, spread in zip(means, spreads, strict=True)
    ]


def _order(order: Any) -> int:
    if not hasattr(order, "__index__") or order < 0:
        raise InputError(f"An order is a whole number from 0 on, not {order!r}.")
    return int(order)


def _weights(x: Floats, design: Design, order: int) -> Floats:
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
