"""Naive Bayes against scikit-learn's, and against products of densities written out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

import separatrix as sx


@pytest.fixture
def numbers():
    rng = np.random.default_rng(0)
    y = rng.choice(["b", "a", "c"], 300, p=[0.5, 0.3, 0.2])
    shift = {"a": 0.0, "b": 1.0, "c": 3.0}
    x = rng.standard_normal((300, 4)) + np.array([shift[v] for v in y])[:, None]
    return x, y, rng.integers(0, 4, 300).astype(float)


def mixed(n=400, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.choice(["no", "yes"], n)
    up = y == "yes"
    frame = pd.DataFrame(
        {
            "age": rng.normal(np.where(up, 50, 40), 8),
            "smokes": rng.random(n) < np.where(up, 0.7, 0.3),
            "town": np.where(up, rng.choice(list("ppqr"), n), rng.choice(list("pqqr"), n)),
        }
    )
    return frame, y


def test_numbers_agree_with_scikit_learn(numbers) -> None:
    x, y, w = numbers
    own, peer = sx.NaiveBayes().fit(x, y, w), GaussianNB(var_smoothing=0).fit(x, y, w)
    assert_allclose(own.theta_, peer.theta_, rtol=1e-12)
    assert_allclose(own.var_, peer.var_, rtol=1e-11)
    assert_allclose(own.predict_log_proba(x), peer.predict_log_proba(x), rtol=1e-9, atol=1e-11)
    given = [0.2, 0.5, 0.3]
    own, peer = sx.NaiveBayes(priors=given), GaussianNB(priors=given, var_smoothing=0)
    assert_allclose(own.fit(x, y).predict_proba(x), peer.fit(x, y).predict_proba(x), atol=1e-11)


@pytest.mark.parametrize("smoothing", [0.3, 1.0])
def test_counts_agree_with_scikit_learn(numbers, smoothing) -> None:
    x, y, w = numbers
    yes = (x > 1).astype(float)
    own = sx.NaiveBayes(smoothing, kinds="boolean").fit(yes, y, w)
    peer = BernoulliNB(alpha=smoothing).fit(yes, y, w)
    assert_allclose(own.predict_log_proba(yes), peer.predict_log_proba(yes), rtol=1e-10)
    levels = np.clip(np.round(x), 0, 3)
    own = sx.NaiveBayes(smoothing, kinds="discrete").fit(levels, y, w)
    peer = CategoricalNB(alpha=smoothing).fit(levels, y, w)
    assert_allclose(own.predict_log_proba(levels), peer.predict_log_proba(levels), rtol=1e-10)


def test_table_with_all_three_kinds() -> None:
    frame, y = mixed()
    model = sx.NaiveBayes().fit(sx.scan(frame.assign(y=y), target="y"))
    up = y == "yes"
    joint = np.zeros((len(y), 2))
    for k, own in enumerate((~up, up)):
        rows = frame[own]
        joint[:, k] = np.log(own.mean())
        joint[:, k] += stats.norm.logpdf(frame.age, rows.age.mean(), rows.age.std(ddof=0))
        p = (rows.smokes.sum() + 1) / (len(rows) + 2)
        joint[:, k] += np.log(np.where(frame.smokes, p, 1 - p))
        frequency = (rows.town.value_counts() + 1) / (len(rows) + frame.town.nunique())
        joint[:, k] += np.log(frame.town.map(frequency))
    expected = joint[:, 1] - joint[:, 0]
    assert_allclose(model.decision_function(frame), expected, rtol=1e-9, atol=1e-10)
    assert_allclose(model.predict_proba(frame)[:, 1], 1 / (1 + np.exp(-expected)), rtol=1e-9)
    small = sx.NaiveBayes().fit(sx.scan(frame.assign(y=y), target="y", block_rows=17))
    assert_allclose(small.decision_function(frame), expected, rtol=1e-9, atol=1e-10)


def test_missing_values_are_left_out() -> None:
    frame, y = mixed()
    rng = np.random.default_rng(5)
    missing = frame.astype(object).where(rng.random(frame.shape) > 0.2)
    missing["age"] = missing["age"].astype(float)
    for block_rows in (1000, 13):
        rows = sx.scan(
            missing.assign(y=y), target="y", kinds={"smokes": "boolean"}, block_rows=block_rows
        )
        model = sx.NaiveBayes().fit(rows)
        for k, own in enumerate((y == "no", y == "yes")):
            assert_allclose(model.theta_[k, 0], missing.age[own].mean(), rtol=1e-12)
            yes = missing.smokes[own].dropna().astype(bool)
            assert_allclose(model.density_.probabilities[k, 0], (yes.sum() + 1) / (len(yes) + 2))
            town = missing.town[own].dropna()
            expected = [((town == level).sum() + 1) / (len(town) + 3) for level in "pqr"]
            assert_allclose(model.density_.probabilities[k, 1:], expected)
    nothing = pd.DataFrame({"age": [np.nan], "smokes": [None], "town": [None]})
    assert_allclose(model.predict_proba(nothing)[0], model.class_prior_)


def test_missing_values_in_a_matrix(numbers) -> None:
    x, y, _ = numbers
    missing = np.where(np.random.default_rng(3).random(x.shape) < 0.3, np.nan, x)
    model = sx.NaiveBayes().fit(missing, y)
    for k, label in enumerate("abc"):
        assert_allclose(model.theta_[k], np.nanmean(missing[y == label], axis=0), rtol=1e-12)
        assert_allclose(model.var_[k], np.nanvar(missing[y == label], axis=0), rtol=1e-11)
    only = np.full((1, 4), np.nan)
    only[0, 2] = 1.0
    alone = sx.NaiveBayes().fit(missing[:, [2]], y)
    assert_allclose(model.predict_proba(only), alone.predict_proba([[1.0]]), rtol=1e-9)


def test_zero_counts_without_smoothing() -> None:
    x = np.array([[0, 0], [0, 1], [1, 1], [1, 1.0]])
    y = np.array([0, 0, 1, 1])
    model = sx.NaiveBayes(0.0, kinds="boolean").fit(x, y)
    p = model.predict_proba(np.array([[0, 0], [1, 1], [1, 0], [0, 1.0]]))
    assert np.isfinite(p).all()
    assert_allclose(p[0], [1, 0])
    assert_allclose(p[1], [0, 1])
    assert_allclose(p.sum(axis=1), 1)
    # one value excludes either class; the other is 1/2 as likely in the first
    assert_allclose(p[2], [1 / 3, 2 / 3])
    assert_allclose(p[3], [1, 0])


def test_partial_fit_agrees_with_fit(numbers) -> None:
    x, y, w = numbers
    kinds = {0: "discrete", 1: "boolean"}
    x = np.column_stack([np.clip(np.round(x[:, 0]), 0, 3), x[:, 1] > 0, x[:, 2:]])
    whole = sx.NaiveBayes(kinds=kinds).fit(x, y, w)
    pieces = sx.NaiveBayes(kinds=kinds)
    order = np.argsort(x[:, 0], kind="stable")  # levels come one after the other
    for part in np.array_split(order, 7):
        pieces.partial_fit(x[part], y[part], classes=["a", "b", "c"], sample_weight=w[part])
    assert_allclose(pieces.predict_log_proba(x), whole.predict_log_proba(x), rtol=1e-9, atol=1e-12)


def test_bayes_and_map_estimates_shrink_means_and_variances() -> None:
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(0, 1, 50), rng.normal(4, 1, 3)])[:, None]
    y = np.repeat([0, 1], [50, 3])
    ml, bayes = (sx.NaiveBayes(2.0, estimation=how).fit(x, y) for how in ("ml", "bayes"))
    center, within = x.mean(), (ml.var_[:, 0] @ [50, 3]) / 53
    assert_allclose(bayes.theta_[1, 0], (3 * ml.theta_[1, 0] + 2 * center) / 5)
    q = 3 * ml.var_[1, 0] + 2 * within + 6 / 5 * (ml.theta_[1, 0] - center) ** 2
    assert_allclose(bayes.var_[1, 0], q / 2)
    mode = sx.NaiveBayes(2.0, estimation="map").fit(x, y)
    assert_allclose(mode.var_[1, 0], q / 5)


def test_probabilities_are_finite_far_from_the_data(numbers) -> None:
    x, y, _ = numbers
    model = sx.NaiveBayes().fit(x, y)
    for size in (1e2, 1e4, 1e8):
        p = model.predict_proba(size * np.vstack([np.eye(4), -np.eye(4)]))
        assert np.isfinite(p).all()
        assert_allclose(p.sum(axis=1), 1)
    assert (model.predict(x) == model.classes_[model.predict_proba(x).argmax(axis=1)]).all()


def test_distant_classes_keep_the_digits_of_their_variance() -> None:
    rng = np.random.default_rng(4)
    noise = rng.standard_normal((200, 1))
    y = np.repeat([0, 1], 100)
    model = sx.NaiveBayes().fit(noise + 1e7 * y[:, None], y)
    assert_allclose(model.var_[:, 0], [noise[:100].var(), noise[100:].var()], rtol=1e-7)


def test_small_tables(numbers) -> None:
    x = numbers[0]
    assert (
        sx.NaiveBayes().fit([[0.0], [1.0]], ["l", "r"]).predict([[0.1], [2.0]]) == ["l", "r"]
    ).all()
    with pytest.raises(sx.InputError, match="only one class"):
        sx.NaiveBayes().fit(x, np.zeros(len(x)))
    flat = sx.NaiveBayes().fit(np.ones((6, 1)), [0, 0, 0, 0, 1, 1])
    assert_allclose(flat.predict_proba([[7.0]]), [[2 / 3, 1 / 3]])
    many = np.arange(3000) % 1000
    model = sx.NaiveBayes().fit(many[:, None] + 0.1 * np.arange(3000)[:, None] % 0.3, many)
    assert (model.predict(np.arange(1000)[:, None] + 0.1) == np.arange(1000)).mean() > 0.9


def test_refusals_and_warnings(numbers) -> None:
    x, y, _ = numbers
    for bad in (
        {"smoothing": -1},
        {"estimation": "guess"},
        {"kinds": "words"},
        {"kinds": ["numeric"]},
        {"kinds": {"z": "numeric"}},
        {"kinds": "boolean"},
        {"priors": [1.0]},
        {"priors": [0.5, 0.6, 0.1]},
    ):
        with pytest.raises(sx.InputError):
            sx.NaiveBayes(**bad).fit(x, y)
    levels = np.repeat([[0.0], [1.0]], 5, axis=0)
    model = sx.NaiveBayes(kinds="discrete").fit(levels, np.arange(10) % 2)
    with pytest.warns(sx.SeparatrixWarning, match="SEP005"):
        p = model.predict_proba([[7.0]])
    assert_allclose(p, [[0.5, 0.5]])


def test_save_and_load(tmp_path) -> None:
    frame, y = mixed()
    model = sx.NaiveBayes().fit(sx.scan(frame.assign(y=y), target="y"))
    sx.save(model, tmp_path / "m.sx")
    assert (sx.load(tmp_path / "m.sx").predict_proba(frame) == model.predict_proba(frame)).all()


def test_files_and_dask_agree_with_memory(tmp_path) -> None:
    import dask.dataframe as dd

    frame, y = mixed()
    frame = frame.assign(y=y)
    frame.loc[::5, "age"] = np.nan
    frame.to_parquet(tmp_path / "t.parquet")
    whole = sx.NaiveBayes().fit(sx.scan(frame, target="y"))
    for source in (tmp_path / "t.parquet", dd.from_pandas(frame, npartitions=3)):
        model = sx.NaiveBayes().fit(sx.scan(source, target="y"))
        assert_allclose(model.predict_proba(frame), whole.predict_proba(frame), rtol=1e-10)
