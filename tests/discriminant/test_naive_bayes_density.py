"""Scores looked up by level agree with those from indicators."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.discriminant.naive_bayes.density import lookup_scores


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
    found = lookup_scores(model.density_, model.schema_, block)
    assert found is not None
    assert_allclose(found, model._indicator_scores(block), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("odd", [9.0, 2.5, -1.0, 1e300])
def test_unknown_levels_are_left_to_the_indicators(odd):
    model, x = fit()
    x = x[:3].copy()
    x[1, 1] = odd
    assert lookup_scores(model.density_, model.schema_, model._raw_block(x)) is None


def test_probabilities_of_zero_are_left_to_the_indicators():
    x, y = mixed()
    x[(y == 1) & (x[:, 1] == 3), 1] = 0.0  # class 1 never has level 3
    model = sx.NaiveBayes(0.0, kinds=["numeric", "discrete", "boolean", "discrete"]).fit(x, y)
    assert lookup_scores(model.density_, model.schema_, model._raw_block(x)) is None
    p = model.predict_proba(x)
    assert (p[x[:, 1] == 3, 1] == 0.0).all()
