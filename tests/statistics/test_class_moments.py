"""Moments by class: any blocks, any order, any weights give the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import separatrix as sx
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.moments import Moments


def table(n=500, d=3, k=4, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, k, n)
    return 1e5 + 1e3 * codes[:, None] + rng.standard_normal((n, d)), codes, rng.uniform(0, 2, n)


def by_definition(x, codes, w, k):
    parts = [ArrayRows(x[codes == c], None, w[codes == c]).reduce(Moments()) for c in range(k)]
    return np.array([p.x_mean for p in parts]), np.array([p.xx for p in parts])


@pytest.mark.parametrize("structure", ["full", "pooled", "diagonal"])
@pytest.mark.parametrize("size", [1, 37, 500])
def test_blocks_add_up(structure, size):
    x, codes, w = table()
    w[::5] = 0.0
    mean, scatter = by_definition(x, codes, w, 4)
    expected = {
        "full": scatter,
        "pooled": scatter.sum(axis=0),
        "diagonal": np.diagonal(scatter, axis1=1, axis2=2),
    }[structure]
    m = ClassMoments.empty(structure, 4, 3)
    for start in range(0, len(x), size):
        here = slice(start, start + size)
        m = m + ArrayRows(x[here], None, w[here], parts=codes[here]).reduce(m)
    assert_allclose(m.mean, mean, rtol=1e-12)
    assert_allclose(m.scatter, expected, rtol=1e-7, atol=1e-5)
    assert m.count.sum() == (w > 0).sum()
    assert_allclose(m.weight.sum(), w.sum())


def test_many_rows_on_threads_and_columns_first():
    x, codes, _ = table(n=60_000)
    one = ArrayRows(x, parts=codes).reduce(ClassMoments.empty("full", 4, 3))
    two = ArrayRows(np.asfortranarray(x), parts=codes).reduce(ClassMoments.empty("full", 4, 3))
    three = ArrayRows(sparse.csr_array(x), parts=codes).reduce(ClassMoments.empty("full", 4, 3))
    mean, scatter = by_definition(x, codes, np.ones(len(x)), 4)
    for m in (one, two, three):
        assert_allclose(m.mean, mean, rtol=1e-13)
        assert_allclose(m.scatter, scatter, rtol=1e-8, atol=1e-4)


def test_more_classes_than_fit_in_a_byte():
    x, codes, _ = table(n=2000, k=700)
    m = ArrayRows(x, parts=codes).reduce(ClassMoments.empty("diagonal", 700, 3))
    assert np.array_equal(m.count, np.bincount(codes, minlength=700))
    present = m.count > 0
    assert_allclose(m.mean[present, 0], [x[codes == c, 0].mean() for c in np.flatnonzero(present)])


def test_all_rows_together():
    x, codes, _ = table()
    m = ArrayRows(x, parts=codes).reduce(ClassMoments.empty("full", 4, 3))
    assert_allclose(m.grand_mean, x.mean(axis=0))
    assert_allclose(m.within + m.between, np.cov(x.T, bias=True), rtol=1e-9)


def test_a_column_with_nan_is_named():
    x, codes, _ = table()
    x[7, 2] = np.nan
    with pytest.raises(sx.InputError, match="column 'x2'"):
        ArrayRows(x, parts=codes).reduce(ClassMoments.empty("pooled", 4, 3))
