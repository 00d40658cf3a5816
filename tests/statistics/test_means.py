"""Means of a table against moments, and designs of many columns without a matrix of products."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.statistics.moments import MANY_COLUMNS, Means, Moments, prepare


def wide_table(rng, n=40, d=MANY_COLUMNS + 20):
    pandas = pytest.importorskip("pandas")
    x = rng.standard_normal((n, d)) + 5.0
    x[rng.random((n, d)) < 0.05] = np.nan
    frame = pandas.DataFrame(x, columns=[f"g{j}" for j in range(d)])
    frame["color"] = rng.choice(["red", "green", "blue"], n)
    frame["y"] = rng.standard_normal(n)
    frame["w"] = rng.integers(0, 3, n)
    return frame


def test_means_are_those_of_moments():
    rows = sx.scan(wide_table(np.random.default_rng(0)), target="y", weight="w")
    means, moments = rows.reduce(Means()), rows.reduce(Moments())
    assert means.terms == moments.terms
    assert (means.count, means.weight) == (moments.count, moments.weight)
    np.testing.assert_allclose(means.mean, moments.mean, rtol=1e-12, atol=1e-13)
    half = [rows.read().take(part) for part in (slice(0, 11), slice(11, None))]
    merged = half[0].reduce(Means()) + half[1].reduce(Means())
    at = [merged.terms.position[t] for t in means.terms]
    np.testing.assert_allclose(merged.x_mean[at], means.x_mean, rtol=1e-12, atol=1e-13)


def test_the_design_of_many_columns_is_that_of_moments(monkeypatch):
    rows = sx.scan(wide_table(np.random.default_rng(1)), target="y").read()
    prepared = prepare(rows)
    monkeypatch.setattr("separatrix.statistics.moments.MANY_COLUMNS", 10**6)
    from_moments = prepare(rows)
    assert prepared.encoding.names == from_moments.encoding.names
    np.testing.assert_allclose(
        prepared.rows.collect().x, from_moments.rows.collect().x, rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(
        prepared.moments.scatter, from_moments.moments.scatter, rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("name", ["Ridge", "LassoPath", "RidgeCV"])
def test_wide_frames_need_no_products_of_columns(name, monkeypatch):
    frame = wide_table(np.random.default_rng(2), n=30, d=2_100)
    monkeypatch.setattr(Moments, "update", lambda *_: pytest.fail("products of columns"))
    model = getattr(sx, name)().fit(frame.drop(columns=["y", "w"]), frame["y"])
    assert np.isfinite(model.coef_).all()
