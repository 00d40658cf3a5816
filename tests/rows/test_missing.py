"""What fills a gap, and from which rows it was learned."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import separatrix as sx
from separatrix import InputError, Moments, scan
from separatrix.messages import SeparatrixWarning
from separatrix.rows.parts import Parts
from separatrix.rows.scan import rows_like
from separatrix.statistics.moments import prepare, prepare_parts, with_placeholders

from .tables import mixed


def design_of(ready) -> pd.DataFrame:
    block = ready.rows.collect()
    x = block.x.toarray() if hasattr(block.x, "toarray") else block.x
    return pd.DataFrame(x, columns=list(ready.encoding.names))


def test_drop_leaves_complete_rows():
    frame = mixed()
    rows = scan(frame, target="price", missing="drop")
    ready = prepare(rows)
    assert ready.moments.count == len(frame.dropna())
    assert rows.dropped == len(frame) - len(frame.dropna())


def test_mean_and_most_frequent():
    ready = prepare(scan(mixed(), target="price", missing="mean"))
    frame = mixed().dropna(subset="price").reset_index(drop=True)
    x = design_of(ready)
    missing = frame["height"].isna()
    np.testing.assert_allclose(x.loc[missing, "height"], frame["height"].mean(), rtol=1e-14)
    assert ready.encoding.reference_levels == {"town": "Pisa"}
    no_town = frame["town"].isna()
    assert (x.loc[no_town, ["town=Ghent", "town=Lund"]] == 0).all(axis=None)


def test_a_missing_boolean_takes_the_more_frequent_value():
    frame = pd.DataFrame({"b": [True, True, False, None], "x": range(4), "y": range(4)})
    x = design_of(prepare(scan(frame.astype({"b": "boolean"}), target="y")))
    assert x["b"].tolist() == [1.0, 1.0, 0.0, 1.0]


def test_indicator_marks_the_missing_value():
    ready = prepare(scan(mixed(), target="price", missing="indicator"))
    frame = mixed().dropna(subset="price").reset_index(drop=True)
    x = design_of(ready)
    assert (x["height missing"] == frame["height"].isna()).all()
    assert (x["town missing"] == frame["town"].isna()).all()
    assert "rooms missing" not in x


def regressed(frame: pd.DataFrame, rounds: int = 60) -> pd.DataFrame:
    """Imputation by scikit-learn's regression of each column with missing values on all others."""
    missing = frame.isna()
    full = frame.fillna(frame.mean())
    for _ in range(rounds):
        for name in frame.columns[missing.any()]:
            others = full.drop(columns=name)
            seen = ~missing[name]
            fit = LinearRegression().fit(others[seen], full.loc[seen, name])
            full.loc[missing[name], name] = fit.predict(others[missing[name]])
    return full


@pytest.mark.parametrize("scale", [1.0, 1e8])
def test_regress_is_the_fixed_point_of_regressions(scale):
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal([1, 2, 3], [[2, 1, 0.5], [1, 2, 0.7], [0.5, 0.7, 1]], size=200)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame.loc[::5, "a"] = np.nan
    frame.loc[1::5, "b"] = np.nan  # never two missing values in one row: each is a plain regression
    expected = regressed(frame)
    frame["b"] *= scale
    ready = prepare(scan(frame.assign(y=1.0 * np.arange(200)), target="y", missing="regress"))
    got = design_of(ready)
    np.testing.assert_allclose(got["a"], expected["a"], atol=1e-4)
    np.testing.assert_allclose(got["b"] / scale, expected["b"], atol=1e-4)
    assert 1 < ready.encoding.n_iter < 60
    assert ready.encoding.last_change <= 1e-6


def test_regress_recovers_what_the_other_columns_determine():
    rng = np.random.default_rng(3)
    a = rng.normal(size=300)
    group = np.where(a > 0, "high", "low")
    frame = pd.DataFrame({"a": a, "twice": 2 * a + 1, "g": group, "y": rng.normal(size=300)})
    missing_values = frame.copy()
    missing_values.loc[::9, "twice"] = np.nan
    missing_values.loc[::10, "g"] = None
    x = design_of(prepare(scan(missing_values, target="y", missing="regress")))
    np.testing.assert_allclose(x["twice"], frame["twice"], atol=1e-4)
    filled = np.where(x["g=low"] if "g=low" in x else 1 - x["g=high"], "low", "high")
    far = np.abs(a) > 0.7
    assert (filled[far] == group[far]).all()


def test_regress_applies_to_new_rows_with_new_missing_values():
    rng = np.random.default_rng(4)
    a = rng.normal(size=100)
    frame = pd.DataFrame({"a": a, "b": -a, "y": a})
    encoding = prepare(scan(frame, target="y", missing="regress")).encoding
    assert encoding.n_iter == 0
    new = rows_like(pd.DataFrame({"b": [2.0, None], "a": [None, 0.5]}), encoding.schema)
    np.testing.assert_allclose(
        encoding.apply(new.collect()).x, [[-2.0, 2.0], [0.5, -0.5]], atol=1e-6
    )


def test_regression_imputation_that_has_not_converged_warns(monkeypatch):
    monkeypatch.setattr("separatrix.statistics.moments.MAX_ITER", 1)
    with pytest.warns(SeparatrixWarning, match="SEP003"):
        prepare(scan(mixed(), target="price", missing="regress"))


@pytest.mark.parametrize("missing", ["mean", "indicator", "regress"])
@pytest.mark.parametrize("memory", [False, True])
def test_folds_are_imputed_from_their_training_rows(missing, memory):
    rows = scan(mixed(300), target="price", missing=missing, block_rows=70)
    rows = rows.read() if memory else rows
    labeled = rows.with_parts(Parts(seed=1, folds=3))
    ready = prepare_parts(labeled)
    assert ready.folds == (0, 1, 2)
    table = rows.read()
    parts = labeled.collect().parts
    for fold in (-1, 0, 1, 2):
        got = ready.split(fold)
        train = prepare(table.take((parts != fold) & (parts != -1)))
        assert got.encoding.names == train.encoding.names
        np.testing.assert_allclose(got.train.scatter, train.moments.scatter, rtol=1e-7, atol=1e-5)
        test = Moments()
        test.update(train.encoding.apply(table.take(parts == fold).collect()))
        np.testing.assert_allclose(got.test.mean, test.mean, rtol=1e-7, atol=1e-6)
        np.testing.assert_allclose(got.test.scatter, test.scatter, rtol=1e-7, atol=1e-4)


def test_far_from_zero_no_digit_is_lost():
    rng = np.random.default_rng(5)
    x = 1e12 + rng.normal(size=500)
    frame = pd.DataFrame({"x": np.where(rng.random(500) < 0.3, np.nan, x), "y": x - 1e12})
    seen = frame["x"].dropna()
    m = prepare(scan(frame, target="y")).moments
    spread = ((seen - seen.mean()) ** 2).sum()
    np.testing.assert_allclose(m.xx[0, 0], spread, rtol=1e-4)


def test_columns_without_values_are_left_out_with_a_note():
    frame = pd.DataFrame({"x": [1.0, 2, 3], "void": [np.nan] * 3, "y": [1.0, 2, 4]})
    for missing in ("mean", "regress", "indicator"):
        encoding = prepare(scan(frame, target="y", missing=missing)).encoding
        assert encoding.names == ("x",)
        assert "'void'" in encoding.notes[0]
    with pytest.raises(InputError, match="no row can be used"):
        prepare(scan(frame, target="y", missing="drop"))
    with pytest.raises(InputError, match="no row can be used"):
        prepare(scan(frame, target="void"))


def test_moments_of_two_tables_add_up_after_restating_their_placeholders():
    frame = mixed(200)
    frame.loc[120:, "height"] += 50  # another median
    parts = [scan(frame[:100], target="price"), scan(frame[100:], target="price")]
    raw = [rows.reduce(Moments()) for rows in parts]
    assert parts[0].schema.columns[0].placeholder != parts[1].schema.columns[0].placeholder
    both = raw[0] + with_placeholders(raw[1], parts[1].schema, parts[0].schema)
    from separatrix.statistics.moments import design_moments, learn_encoding

    encoding = learn_encoding(parts[0].schema, both)
    whole = prepare(scan(frame, target="price"))
    got = design_moments(encoding, both)
    assert encoding.names == whole.encoding.names
    np.testing.assert_allclose(got.mean, whole.moments.mean, rtol=1e-12)
    np.testing.assert_allclose(got.scatter, whole.moments.scatter, rtol=1e-8, atol=1e-8)


def test_regression_imputation_in_mixed_units_is_quiet() -> None:
    rng = np.random.default_rng(0)
    unit = np.array([1e8, 1e-8, 1.0])
    x = rng.normal(size=(100, 3)) + rng.normal(size=(100, 1))
    x[rng.uniform(size=x.shape) < 0.1] = np.nan
    y = rng.normal(size=100)
    found = []
    for scale in (np.ones(3), unit):
        columns = {f"c{j}": x[:, j] * scale[j] for j in range(3)}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rows = scan(columns | {"y": y}, target="y", missing="regress")
            found.append(sx.LinearRegression().fit(rows).coef_ * scale)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
