"""Scores looked up by level agree with those from indicators."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.discriminant.naive_bayes import level_lookup


def mixed(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x = np.column_stack(
        [
            rng.standard_normal(n) + y,
            rng.integers(0, 4, n),
            rng.random(n) < 0.3 + 0.2 * y,
            rng.choice([-2.5, 0.1, 7.0, 1000.0], n),
        ]
    ).astype(float)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, y


def fit(smoothing=1.0):
    x, y = mixed()
    kinds = ["numeric", "discrete", "boolean", "discrete"]
    return sx.NaiveBayes(smoothing, kinds=kinds).fit(x, y), x


def test_lookup_with_missing_values_and_levels_of_any_value():
    model, x = fit()
    block = model._raw_block(x)
    lookup = level_lookup(model.density_, model.schema_)
    assert lookup is not None
    found = lookup.scores(block)
    assert found is not None
    assert_allclose(found, model._indicator_scores(block), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("odd", [9.0, 2.5, -1.0, 1e300])
def test_unknown_levels_are_left_to_the_indicators(odd):
    model, x = fit()
    x = x[:3].copy()
    x[1, 1] = odd
    lookup = level_lookup(model.density_, model.schema_)
    assert lookup is not None
    assert lookup.scores(model._raw_block(x)) is None


def test_probabilities_of_zero_are_left_to_the_indicators():
    x, y = mixed()
    x[(y == 1) & (x[:, 1] == 3), 1] = 0.0  # class 1 never has level 3
    model = sx.NaiveBayes(0.0, kinds=["numeric", "discrete", "boolean", "discrete"]).fit(x, y)
    assert level_lookup(model.density_, model.schema_) is None
    p = model.predict_proba(x)
    assert (p[x[:, 1] == 3, 1] == 0.0).all()


def test_levels_counted_by_code_are_those_of_the_indicators(monkeypatch):
    """Codes, gaps among them, missing values, weights, and columns of other kinds beside them."""
    from separatrix.discriminant import naive_bayes as level_counts

    rng = np.random.default_rng(3)
    x = rng.integers(0, 6, (300, 4)) * 2.0
    x[:, 3] = rng.standard_normal(300)
    x[rng.random(x.shape) < 0.1] = np.nan
    y, w = rng.integers(0, 3, 300), rng.integers(0, 3, 300).astype(float)
    kinds = ["discrete", "discrete", "discrete", "numeric"]
    counted = sx.NaiveBayes(kinds=kinds).fit(x, y, w)
    monkeypatch.setattr(level_counts, "count_levels", lambda *_: None)
    plain = sx.NaiveBayes(kinds=kinds).fit(x, y, w)
    assert counted.schema_ == plain.schema_
    terms, targets = plain.column_moments_.terms, plain.column_moments_.targets
    a, b = counted.column_moments_.aligned(terms, targets), plain.column_moments_
    for name in ("weight", "observed", "mean", "scatter"):
        assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-12, atol=1e-12)
    assert_allclose(counted.predict_proba(x), plain.predict_proba(x), rtol=1e-12)


def test_sparse_indicators_of_a_table_are_not_filled_in():
    """A frame with many levels agrees with the same levels as codes of a matrix."""
    import pandas as pd

    rng = np.random.default_rng(4)
    codes = rng.integers(0, 60, (400, 3))
    y, w = rng.integers(0, 3, 400), rng.random(400)
    frame = pd.DataFrame({name: codes[:, j].astype(str) for j, name in enumerate("abc")})
    frame.loc[::9, "b"] = None
    x = codes.astype(float)
    x[::9, 1] = np.nan
    table, matrix = sx.NaiveBayes().fit(frame, y, w), sx.NaiveBayes(kinds="discrete").fit(x, y, w)
    assert_allclose(table.predict_proba(frame), matrix.predict_proba(x), rtol=1e-9)
    frame["d"] = x[:, 0] / 7.0  # a column of numbers beside the indicators
    table = sx.NaiveBayes().fit(frame, y, w)
    matrix = sx.NaiveBayes(kinds=["discrete"] * 3 + ["numeric"]).fit(np.c_[x, x[:, 0] / 7.0], y, w)
    assert_allclose(table.theta_, matrix.theta_, rtol=1e-12)
    assert_allclose(table.var_, matrix.var_, rtol=1e-9)
