"""Bounds on the evidence against their definitions with n x n matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import separatrix as sx
from separatrix.bayes.gaussian_process.inducing import (
    CollapsedBound,
    GradientSums,
    InducingPoints,
    InducingSums,
    Targets,
)
from separatrix.bayes.gaussian_process.model import TrendBasis

NOISE = 0.3


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
    return x, y, rng.integers(1, 4, 50).astype(float)


def sums_of(kernel, z, x, y, w=None, trend="none", single=False):
    targets = Targets(y.shape[1], np.full(2, 0.1), np.full(2, 0.9), TrendBasis.of(trend, x, w))
    sums = InducingSums(InducingPoints.of(kernel, z), targets, single)
    sums.add(x, y * 0.9 + 0.1, w)
    return sums


def log_density(y, covariance):
    normal = multivariate_normal(np.zeros(len(y)), covariance)
    return sum(float(normal.logpdf(column)) for column in y.T)


def test_bounds_are_their_definitions_and_hold(rows):
    x, y, w = rows
    kernel, z = 1.7 * sx.Gaussian(0.9), rows[0][:12]
    bound = CollapsedBound(sums_of(kernel, z, x, y, w), NOISE)
    copies = np.repeat(np.arange(50), w.astype(int))
    x, y, eye = x[copies], y[copies], np.eye(len(copies))
    cross = kernel.gram(z, x)
    q, k = cross.T @ np.linalg.solve(kernel.gram(z), cross), kernel.gram(x)
    left = np.trace(k - q)
    lower = log_density(y, q + NOISE * eye) - y.shape[1] * left / (2.0 * NOISE)
    assert bound.lower == pytest.approx(lower, rel=1e-10)
    quadratic = np.vdot(y, np.linalg.solve(q + (NOISE + left) * eye, y))
    determinant = np.linalg.slogdet(2.0 * np.pi * (q + NOISE * eye))[1]
    assert bound.upper == pytest.approx(-0.5 * (y.shape[1] * determinant + quadratic), rel=1e-10)
    assert bound.lower <= log_density(y, k + NOISE * eye) <= bound.upper


def test_points_that_span_the_rows_leave_no_gap(rows):
    x, y, _ = rows
    kernel = sx.Gaussian(0.5)
    bound = CollapsedBound(sums_of(kernel, x, x, y), NOISE)
    exact = log_density(y, kernel.gram(x) + NOISE * np.eye(len(x)))
    assert bound.lower == pytest.approx(exact, rel=1e-9)
    assert bound.upper == pytest.approx(exact, rel=1e-9)


def test_bounds_hold_with_the_jitter_of_dependent_points(rows):
    x, y, _ = rows
    kernel = sx.Gaussian(50.0)
    bound = CollapsedBound(sums_of(kernel, np.vstack([x[:20], x[:5]]), x, y), NOISE)
    exact = log_density(y, kernel.gram(x) + NOISE * np.eye(len(x)))
    assert bound.inducing.jitter > 0.0
    assert bound.lower <= exact + 1e-8
    assert exact <= bound.upper + 1e-8


def test_a_trend_is_integrated_out(rows):
    x, y, w = rows
    kernel = sx.Gaussian(0.8)
    bound = CollapsedBound(sums_of(kernel, x, x, y, w, "linear"), NOISE)
    copies = np.repeat(np.arange(50), w.astype(int))
    h = TrendBasis.of("linear", x, w).of_rows(x[copies])
    c, y = kernel.gram(x[copies]) + NOISE * np.eye(len(copies)), y[copies]
    # a flat prior is the limit of N(0, v (HᵀH)⁻¹), whose density at 0 it has for any v
    v = 1e7
    wide = log_density(y, c + v * h @ np.linalg.solve(h.T @ h, h.T))
    exact = wide + y.shape[1] * h.shape[1] * 0.5 * np.log(2.0 * np.pi * v)
    assert bound.lower == pytest.approx(exact, abs=1e-4)
    assert bound.upper == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize(("dependent", "trend"), [(0, "none"), (0, "linear"), (1, "constant")])
def test_derivatives_by_differences(rows, dependent, trend):
    x, y, w = rows
    kernel = 1.7 * sx.Gaussian(2.0 if dependent else 0.9)
    z = np.vstack([x[:10], x[:3]]) if dependent else x[:10]

    def bound(v):
        sums = sums_of(kernel.with_theta(v[:-1]), z, x, y, w, trend)
        return CollapsedBound(sums, float(np.exp(v[-1])))

    v, step = np.append(kernel.theta, np.log(NOISE)), 1e-5
    gradient = GradientSums.of(bound(v))
    gradient.add(x, y * 0.9 + 0.1, w)
    differences = [
        (bound(v + step * e).lower - bound(v - step * e).lower) / (2 * step) for e in np.eye(len(v))
    ]
    np.testing.assert_allclose(gradient.total()[0], differences, rtol=1e-4 if dependent else 1e-6)


def test_sums_add_up_and_weights_are_copies(rows):
    x, y, w = rows
    kernel, z = sx.Gaussian(0.9), rows[0][:12]
    whole = sums_of(kernel, z, x, y, w)
    parts = sums_of(kernel, z, x[:20], y[:20], w[:20]) + sums_of(kernel, z, x[20:], y[20:], w[20:])
    copies = np.repeat(np.arange(50), w.astype(int))
    repeated = sums_of(kernel, z, x[copies], y[copies])
    for name in ("weight", "trace", "gram", "inner", "squares"):
        for other in (parts, repeated):
            np.testing.assert_allclose(getattr(other, name), getattr(whole, name), rtol=1e-12)


def test_single_precision_is_close(rows):
    x, y, _ = rows
    kernel = sx.Gaussian(0.7)
    exact, single = (
        CollapsedBound(sums_of(kernel, x[:15], x, y, single=flag), NOISE).lower
        for flag in (False, True)
    )
    assert single == pytest.approx(exact, rel=1e-5)
