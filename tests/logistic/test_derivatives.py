"""Compiled sweeps over two classes give the sums that products of matrices give."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.logistic.derivatives import LogisticCurvature, LogisticDual, View
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.schema import Term, Terms
from separatrix.statistics import class_sums as class_panels


def posed(weighted, constant, n=700, d=6):
    rng = np.random.default_rng(n)
    x = 100.0 + rng.standard_normal((n, d))
    hot = np.zeros((n, 2))
    hot[np.arange(n), rng.integers(0, 2, n)] = 1.0
    w = rng.uniform(0.0, 2.0, n) if weighted else None
    if w is not None:
        w[::9] = 0.0
    terms = [Term("y", "a"), Term("y", "b")]
    rows = ArrayRows(x, hot, w, targets=terms)
    view = View(Terms(tuple(terms)), x.mean(axis=0), None, constant)
    return rows, view, rng.standard_normal((d + constant, 1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e4], ids=["usual", "far"])
def test_value_slope_and_curvature(weighted, constant, size, monkeypatch):
    rows, view, point = posed(weighted, constant)
    found = []
    for fewest in (1, 10**9):
        monkeypatch.setattr(class_panels, "MIN_VALUES", fewest)
        found.append(rows.reduce(LogisticCurvature(view, size * point)))
    swept, taken = found
    assert_allclose(swept.value, taken.value, rtol=1e-12)
    assert_allclose(swept.margin, taken.margin, rtol=1e-9)
    assert_allclose(swept.gradient, taken.gradient, rtol=1e-10, atol=1e-9)
    assert_allclose(swept.hessian, taken.hessian, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("length", [1e-3, 10.0], ids=["near", "far"])
def test_sums_of_a_certificate(weighted, constant, length, monkeypatch):
    rows, view, point = posed(weighted, constant)
    step = length * np.cos(np.arange(point.size))[:, None]
    found = []
    for fewest in (1, 10**9):
        monkeypatch.setattr(class_panels, "MIN_VALUES", fewest)
        found.append(rows.reduce(LogisticDual(view, point, step)))
    swept, taken = found
    assert_allclose(swept.value, taken.value, rtol=1e-12)
    assert_allclose(swept.margin, taken.margin, rtol=1e-9)
    assert_allclose(swept.gradient, taken.gradient, rtol=1e-10, atol=1e-9)
    assert_allclose(swept.entropy, taken.entropy, rtol=1e-10)
    if np.isfinite(taken.entropy):
        assert_allclose(swept.balance, taken.balance, rtol=1e-10, atol=1e-9)
    else:
        assert length > 1.0
