"""Data frames of any columns given to estimators, pipelines and searches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import separatrix as sx
from tests.laws.test_frames import mixed_frame

FRAME = mixed_frame(60)
NOISE = np.random.default_rng(1).standard_normal(60)
NUMBERS = (2.0 * FRAME["height"].fillna(0.0) + (FRAME["town"] == "Rome") + 0.1 * NOISE).to_numpy()
CLASSES = np.where(NUMBERS > 0.3, "high", "low")


def plain(n: int = 40) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(2).normal(size=(n, 3)), columns=list("abc"))


def test_pipelines_folds_and_searches_take_frames() -> None:
    assert cross_val_score(sx.Ridge(), FRAME, NUMBERS).min() > 0.9
    piped = make_pipeline(sx.Standardize(), sx.LinearSVC())
    assert cross_val_score(piped, FRAME, CLASSES, cv=3).mean() > 0.8
    grid = {"ridge__alpha": [0.1, 1.0]}
    found = GridSearchCV(make_pipeline(sx.Standardize(), sx.Ridge()), grid, cv=3)
    assert found.fit(FRAME, NUMBERS).best_score_ > 0.9
    names = sx.Standardize().set_output(transform="pandas").fit_transform(FRAME).columns
    assert list(names) == ["height", "town=Oslo", "town=Rome", "sold", "day", "size=s"]


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_every_kind_of_frame_is_read_alike(convert) -> None:
    model = sx.Ridge().fit(convert(FRAME), NUMBERS)
    expected = sx.Ridge().fit(FRAME, NUMBERS).predict(FRAME)
    assert_allclose(model.predict(convert(FRAME)), expected, rtol=1e-12)
    assert list(model.feature_names_in_) == list(FRAME.columns)


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("model", [sx.Ridge(), sx.KNeighborsRegressor(3), sx.Standardize()])
def test_a_missing_value_that_training_did_not_have_is_the_mean(convert, model) -> None:
    frame, y = plain(), NUMBERS[:40]
    new, filled = frame.copy(), frame.copy()
    new.loc[4, "b"], filled.loc[4, "b"] = np.nan, frame["b"].mean()
    model.fit(convert(frame), y)
    apply = model.predict if hasattr(model, "predict") else model.transform
    assert_allclose(apply(convert(new)), apply(convert(filled)), rtol=1e-12)
    numbered = frame.set_axis(range(3), axis=1)
    model.fit(numbered, y)
    assert_allclose(apply(new.set_axis(range(3), axis=1)), apply(filled.to_numpy()), rtol=1e-12)


@pytest.mark.parametrize("labels", [NUMBERS > 0, np.where(NUMBERS > 0, 10, 9), CLASSES])
@pytest.mark.parametrize(
    "model", [sx.LogisticRegression(), sx.CalibratedClassifier(sx.LinearSVC(), cv=3)]
)
def test_labels_keep_their_type(model, labels) -> None:
    found = model.fit(FRAME, labels)
    assert found.classes_.tolist() == np.unique(labels).tolist()
    assert found.score(FRAME, labels) > 0.8


def test_whole_numbers_of_a_table_are_classes() -> None:
    rows = sx.scan(FRAME, target=np.where(NUMBERS > 0, 10, 9))
    weighted = sx.LogisticRegression(class_weight={9: 2.0, 10: 1.0}).fit(rows)
    assert weighted.classes_.tolist() == sx.MostFrequentClassifier().fit(rows).classes_.tolist()
    assert weighted.classes_.tolist() == [9, 10]
    with pytest.raises(sx.InputError, match="holds numbers"):
        sx.LogisticRegression().fit(sx.scan(FRAME, target=NUMBERS))


def test_a_column_that_is_left_out_is_named() -> None:
    frame = FRAME.assign(name=[f"n{i}" for i in range(60)])
    with pytest.warns(sx.SeparatrixWarning, match=r"SEP013 .*'name' is left out"):
        model = sx.Ridge().fit(frame, NUMBERS)
    assert "name" not in model.feature_names_in_
    assert_allclose(model.predict(frame), model.predict(FRAME))


@pytest.mark.parametrize(
    "fit",
    [
        lambda: sx.SVC(kernel="precomputed").fit(FRAME, CLASSES),
        lambda: sx.KNeighborsClassifier(metric="precomputed").fit(FRAME, CLASSES),
        lambda: sx.GaussianNB().partial_fit(FRAME, CLASSES, classes=["high", "low"]),
        lambda: sx.Ridge().partial_fit(FRAME, NUMBERS),
        lambda: sx.Standardize().partial_fit(FRAME),
        lambda: sx.SVC(kernel=sx.Spectrum(2)).fit(FRAME, CLASSES),
        lambda: sx.Ridge().fit(plain().to_numpy(), NUMBERS[:40]).predict(FRAME[["town"] * 3]),
    ],
)
def test_what_cannot_be_encoded_is_refused_by_the_name_of_a_column(fit) -> None:
    with pytest.raises(sx.InputError, match=r"column '(town|height)'"):
        fit()


def test_texts_in_one_column_are_objects_for_a_kernel_on_strings() -> None:
    texts = pd.DataFrame({"text": ["abab", "abba", "cdcd", "ccdd", "abb", "cdd"]})
    model = sx.SVC(kernel=sx.Spectrum(2)).fit(texts, [0, 0, 1, 1, 0, 1])
    assert model.predict(texts).tolist() == [0, 0, 1, 1, 0, 1]


def test_leverages_of_a_frame_and_of_rows() -> None:
    model = sx.LinearRegression().fit(FRAME, NUMBERS)
    own = model.summary().leverage
    assert_allclose(model.summary(FRAME, NUMBERS).leverage, own)
    assert_allclose(model.summary(sx.scan(FRAME, target=NUMBERS)).leverage, own)
