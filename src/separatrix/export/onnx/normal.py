"""The error function and means of sigmoids under normal distributions, as graphs.

Runtimes lack an error function of double precision. It is computed here from

    erfc(x) = e^(−x²) t C(t),     t = 2/(2 + x),  x ≥ 0

with C a Chebyshev polynomial, whose coefficients are computed when it is first used.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from separatrix.bayes.logistic.predictive import _hermite, _logistic_density
from separatrix.export.onnx.graph import Value

#: Degree of C: its error is below rounding.
DEGREE = 28


@cache
def _coefficients() -> tuple[float, ...]:
    from scipy.special import erfcx

    def scaled(s: Any) -> Any:
        t = np.maximum(0.5 * (s + 1.0), 1e-12)
        return erfcx(2.0 / t - 2.0) / t

    found: Any = chebyshev.chebinterpolate(scaled, DEGREE)
    return tuple(found.tolist())


def complementary_error(x: Value) -> Value:
    """erfc(x) to full relative precision."""
    size = x.abs()
    t = 2.0 / (size + 2.0)
    s = t * 2.0 - 1.0
    last, before = s * 0.0, s * 0.0
    for c in _coefficients()[:0:-1]:  # Clenshaw's recurrence
        last, before = s * 2.0 * last - before + c, last
    series = s * last - before + _coefficients()[0]
    tail = (-size.square()).exp() * t * series
    return (x >= 0.0).where(tail, 2.0 - tail)


def error_function(x: Value) -> Value:
    """erf(x), to rounding of one."""
    return 1.0 - complementary_error(x)


def normal_cdf(z: Value) -> Value:
    """Φ(z) to full relative precision."""
    return complementary_error(z * float(-np.sqrt(0.5))) * 0.5


def mean_sigmoid(mean: Value, variance: Value) -> Value:
    """E σ(f), f ~ N(m, s²), by the quadrature of Bayesian logistic regression (n x 1)."""
    sd = variance.sqrt()
    nodes, weights = _hermite(64)
    narrow = (mean + sd * nodes[None, :]).sigmoid() @ weights[:, None]
    u, slope = _logistic_density()
    wide = (sd > 0.0).where(sd, 1.0)
    tail = normal_cdf((-mean.abs() - u[None, :]) / wide) @ slope[:, None]
    wide_mean = (mean <= 0.0).where(tail, 1.0 - tail)
    return (sd <= 1.0).where(narrow, wide_mean)


def probit_mean(mean: Value, variance: Value) -> Value:
    """σ(m / √(1 + πs²/8))."""
    return (mean / (variance * (np.pi / 8.0) + 1.0).sqrt()).sigmoid()
