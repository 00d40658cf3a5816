"""Compiled class sums agree with their definition, whatever the memory layout."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows.rows import ArrayRows
from separatrix.rows.schema import Term
from separatrix.statistics import moments as module
from separatrix.statistics.class_moments import (
    CENTER_ROWS,
    ClassMoments,
    class_sums,
    column_sums,
    provisional_centers,
)
from separatrix.statistics.moments import Moments


def table(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, k, n)
    x = 1e4 * rng.standard_normal((k, d))[codes] + rng.standard_normal((n, d))
    return x, codes, rng.uniform(0.1, 2.0, n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("n", "d", "k"), [(9000, 7, 3), (700, 4, 300), (3, 5, 2), (1, 1, 1)])
def test_sums_are_those_of_the_definition(n, d, k, order, weighted):
    x, codes, w = table(n, d, k)
    w = w if weighted else np.ones(n)
    x = np.asarray(x, order=order)
    given = w if weighted else None
    each = class_sums(x, codes, given, k, pooled=False)
    one = class_sums(x, codes, given, k, pooled=True)
    columns = column_sums(x, codes, given, k)
    for c in range(k):
        z, u = x[codes == c] - each.shift[c], w[codes == c]
        assert_allclose(each.first[c], u @ z, atol=1e-9)
        assert_allclose(each.gram[c], (z * u[:, None]).T @ z, rtol=1e-11, atol=1e-9)
    assert_allclose(one.gram[0], each.gram.sum(axis=0), rtol=1e-11, atol=1e-8)
    assert_allclose(one.first, each.first, atol=1e-9)
    assert_allclose(columns.gram, np.diagonal(each.gram, axis1=1, axis2=2), rtol=1e-11, atol=1e-9)
    assert_allclose(columns.first, each.first, atol=1e-9)


def test_centres_lie_amid_their_classes_also_where_a_class_comes_late():
    x, codes, _ = table(6000, 3, 4)
    codes = np.sort(codes)
    centers = provisional_centers(x, codes, 6)
    for c in range(4):
        assert_allclose(centers[c], x[codes == c][:CENTER_ROWS].mean(axis=0), rtol=1e-12)
    assert not centers[4:].any()


@pytest.mark.parametrize("structure", ["pooled", "diagonal"])
def test_few_rows_of_many_classes_have_the_moments_of_each_class(structure):
    x, codes, w = table(700, 4, 40)
    w[::7] = 0.0
    x[:, 0] += 1e6
    found = ArrayRows(x, None, w, parts=codes).reduce(ClassMoments.empty(structure, 41, 4))
    scatter = np.zeros((41, 4, 4))
    for c in range(40):
        rows = (codes == c) & (w > 0)
        mean = np.average(x[rows], axis=0, weights=w[rows])
        assert_allclose(found.mean[c], mean, rtol=1e-12)
        scatter[c] = ((x[rows] - mean) * w[rows, None]).T @ (x[rows] - mean)
    each = np.diagonal(scatter, axis1=1, axis2=2)
    expected = scatter.sum(axis=0) if structure == "pooled" else each
    assert_allclose(found.scatter, expected, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("structure", ["full", "pooled", "diagonal"])
def test_both_ways_to_the_moments_agree(structure, monkeypatch):
    x, codes, w = table(4000, 6, 5)
    w[::7] = 0.0
    rows = ArrayRows(x, None, w, parts=codes)
    found = []
    for min_values in (1, 10**9):
        monkeypatch.setattr(module, "COMPILED_VALUES", min_values)
        found.append(rows.reduce(ClassMoments.empty(structure, 5, 6)))
    compiled, by_class = found
    assert_allclose(compiled.mean, by_class.mean, rtol=1e-13)
    assert_allclose(compiled.scatter, by_class.scatter, rtol=1e-9, atol=1e-8)
    assert (compiled.count == by_class.count).all()
    assert_allclose(compiled.weight, by_class.weight, rtol=1e-14)


@pytest.mark.parametrize("min_values", [1, 10**9])
@pytest.mark.parametrize("name", ["QuadraticDiscriminantAnalysis", "GaussianNB"])
def test_numbers_that_are_not_finite_are_refused_by_their_sums(name, min_values, monkeypatch):
    monkeypatch.setattr(module, "COMPILED_VALUES", min_values)
    x, codes, w = table(500, 3, 2)
    for bad, message in ((np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")):
        spoiled = x.copy()
        spoiled[250, 1] = bad
        for weights in (None, w):
            with pytest.raises(ValueError, match=message):
                getattr(sx, name)().fit(spoiled, codes, weights)
    with pytest.raises(InputError, match="overflow"):
        getattr(sx, name)().fit(x * [1.0, 1e180, 1.0], codes)


@pytest.mark.parametrize("structure", ["full", "pooled"])
def test_moments_by_class_make_those_of_all_rows(structure):
    x, codes, w = table(900, 4, 3)
    one_hot = (codes[:, None] == np.arange(3)).astype(float)
    terms = [Term("y", str(c)) for c in range(3)]
    rows = ArrayRows(x, one_hot, w, targets=terms)
    whole = rows.reduce(Moments())
    m = rows.with_parts(codes).reduce(ClassMoments.empty(structure, 3, 4))
    joint = m.joint(whole.terms, whole.targets)
    assert_allclose(joint.mean, whole.mean, rtol=1e-12)
    assert_allclose(joint.scatter, whole.scatter, rtol=1e-9, atol=1e-4)
    assert (joint.count, joint.targets) == (whole.count, whole.targets)
