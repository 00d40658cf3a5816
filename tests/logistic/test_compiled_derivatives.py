"""Compiled loops over two classes agree with products of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.probability.likelihood import LogisticDesign, LogisticDual, LogisticHessian
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Term, Terms
from separatrix.statistics import moments as class_sums


def binary_problem(weighted, constant, n=700, d=6):
    rng = np.random.default_rng(n)
    x = 100.0 + rng.standard_normal((n, d))
    hot = np.zeros((n, 2))
    hot[np.arange(n), rng.integers(0, 2, n)] = 1.0
    w = rng.uniform(0.0, 2.0, n) if weighted else None
    if w is not None:
        w[::9] = 0.0
    terms = [Term("y", "a"), Term("y", "b")]
    rows = ArrayRows(x, hot, w, targets=terms)
    design = LogisticDesign(Terms(tuple(terms)), x.mean(axis=0), None, constant)
    return rows, design, rng.standard_normal((d + constant, 1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e4], ids=["usual", "far"])
def test_value_gradient_and_hessian(weighted, constant, size, monkeypatch):
    rows, design, point = binary_problem(weighted, constant)
    found = []
    for smallest in (1, 10**9):
        monkeypatch.setattr(class_sums, "COMPILED_VALUES", smallest)
        found.append(rows.reduce(LogisticHessian(design, size * point)))
    compiled, products = found
    assert_allclose(compiled.value, products.value, rtol=1e-12)
    assert_allclose(compiled.margin, products.margin, rtol=1e-9)
    assert_allclose(compiled.gradient, products.gradient, rtol=1e-10, atol=1e-9)
    assert_allclose(compiled.hessian, products.hessian, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("length", [1e-3, 10.0], ids=["near", "far"])
def test_sums_of_a_certificate(weighted, constant, length, monkeypatch):
    rows, design, point = binary_problem(weighted, constant)
    step = length * np.cos(np.arange(point.size))[:, None]
    found = []
    for smallest in (1, 10**9):
        monkeypatch.setattr(class_sums, "COMPILED_VALUES", smallest)
        found.append(rows.reduce(LogisticDual(design, point, step)))
    compiled, products = found
    assert_allclose(compiled.value, products.value, rtol=1e-12)
    assert_allclose(compiled.margin, products.margin, rtol=1e-9)
    assert_allclose(compiled.gradient, products.gradient, rtol=1e-10, atol=1e-9)
    assert_allclose(compiled.entropy, products.entropy, rtol=1e-10)
    if np.isfinite(products.entropy):
        assert_allclose(compiled.dual_gradient, products.dual_gradient, rtol=1e-10, atol=1e-9)
    else:
        assert length > 1.0
