"""The compiled sweep gives the sums that their definition gives, whatever the layout."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.messages import InputError
from separatrix.rows.arrays import ArrayRows
from separatrix.rows.schema import Term
from separatrix.statistics import class_sums as class_panels
from separatrix.statistics.class_moments import ClassMoments
from separatrix.statistics.class_sums import class_centres, class_sums, column_sums
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
    centres = class_centres(x, codes, 6)
    for c in range(4):
        assert_allclose(centres[c], x[codes == c][:64].mean(axis=0), rtol=1e-12)
    assert not centres[4:].any()


@pytest.mark.parametrize("spread", ["each", "pooled", "columns"])
def test_both_ways_to_the_moments_agree(spread, monkeypatch):
    x, codes, w = table(4000, 6, 5)
    w[::7] = 0.0
    rows = ArrayRows(x, None, w, parts=codes)
    found = []
    for fewest in (1, 10**9):
        monkeypatch.setattr(class_panels, "FEWEST", fewest)
        found.append(rows.reduce(ClassMoments.empty(spread, 5, 6)))
    swept, taken = found
    assert_allclose(swept.mean, taken.mean, rtol=1e-13)
    assert_allclose(swept.scatter, taken.scatter, rtol=1e-9, atol=1e-8)
    assert (swept.count == taken.count).all()
    assert_allclose(swept.weight, taken.weight, rtol=1e-14)


@pytest.mark.parametrize("fewest", [1, 10**9])
@pytest.mark.parametrize("name", ["QuadraticDiscriminantAnalysis", "GaussianNB"])
def test_numbers_that_are_not_finite_are_refused_by_their_sums(name, fewest, monkeypatch):
    monkeypatch.setattr(class_panels, "FEWEST", fewest)
    x, codes, w = table(500, 3, 2)
    for bad, message in ((np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")):
        spoiled = x.copy()
        spoiled[250, 1] = bad
        for weights in (None, w):
            with pytest.raises(ValueError, match=message):
                getattr(sx, name)().fit(spoiled, codes, weights)
    with pytest.raises(InputError, match="overflow"):
        getattr(sx, name)().fit(x * [1.0, 1e180, 1.0], codes)


@pytest.mark.parametrize("spread", ["each", "pooled"])
def test_moments_by_class_make_those_of_all_rows(spread):
    x, codes, w = table(900, 4, 3)
    hot = (codes[:, None] == np.arange(3)).astype(float)
    terms = [Term("y", str(c)) for c in range(3)]
    rows = ArrayRows(x, hot, w, targets=terms)
    whole = rows.reduce(Moments())
    m = rows.with_parts(codes).reduce(ClassMoments.empty(spread, 3, 4))
    joint = m.joint(whole.terms, whole.targets)
    assert_allclose(joint.mean, whole.mean, rtol=1e-12)
    assert_allclose(joint.scatter, whole.scatter, rtol=1e-9, atol=1e-4)
    assert (joint.count, joint.targets) == (whole.count, whole.targets)
