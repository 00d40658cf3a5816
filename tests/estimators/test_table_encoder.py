"""The encoding of tables as a transformer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix as sx
from tests.laws.data import stored_and_loaded
from tests.laws.test_frames import mixed_frame

FRAME = mixed_frame(60)
Y = 2.0 * FRAME["height"].fillna(0.0) + (FRAME["town"] == "Rome")


@parametrize_with_checks([sx.TableEncoder()])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("missing", ["mean", "indicator", "regress", "drop"])
def test_the_encoding_is_that_of_scan(missing, tmp_path) -> None:
    encoder = sx.TableEncoder(missing).fit(FRAME)
    model = sx.LinearRegression().fit(sx.scan(FRAME, target=Y.to_numpy(), missing=missing))
    assert tuple(encoder.get_feature_names_out()) == model.encoding_.names
    assert_allclose(encoder.transform(FRAME), model._design(FRAME))
    assert encoder.n_features_in_ == 5
    loaded = stored_and_loaded(encoder, tmp_path)
    assert np.array_equal(loaded.transform(FRAME), encoder.transform(FRAME))


def test_models_of_other_libraries_take_tables_behind_it() -> None:
    model = make_pipeline(sx.TableEncoder(), Ridge(0.1))
    assert cross_val_score(model, FRAME, Y, cv=3).min() > 0.9
    frame = sx.TableEncoder().set_output(transform="pandas").fit_transform(FRAME)
    assert list(frame.columns) == list(sx.TableEncoder().fit(FRAME).get_feature_names_out())


def test_options_kinds_and_levels_that_training_did_not_have() -> None:
    table = pd.DataFrame({"zip": [1, 2, 2, 1], "remark": list("abab"), "x": [1.0, None, 3.0, 2.0]})
    kinds = {"zip": "discrete", "remark": "ignore"}
    encoder = sx.TableEncoder(kinds=kinds, unseen="error").fit(table)
    assert encoder.get_feature_names_out().tolist() == ["zip=2", "x"]
    with pytest.raises(sx.InputError, match="zip"):
        encoder.transform(table.assign(zip=7))
    with pytest.warns(sx.SeparatrixWarning, match="SEP005"):
        sx.TableEncoder(kinds=kinds).fit(table).transform(table.assign(zip=7))


def test_arrays_of_objects_and_columns_that_are_left_out(tmp_path) -> None:
    names = [f"n{i}" for i in range(12)]
    x = np.array([list("ab") * 6, names, [None, *range(11)]], dtype=object).T
    encoder = sx.TableEncoder().fit(x)
    assert encoder.get_feature_names_out().tolist() == ["x0=b", "x2"]
    assert encoder.get_feature_names_out(["t", "n", "v"]).tolist() == ["t=b", "v"]
    assert any("'x1' is left out" in note for note in encoder.notes_)
    assert stored_and_loaded(encoder, tmp_path).transform(x)[0].tolist() == [0.0, 5.0]


def test_many_levels_stay_sparse_unless_a_frame_is_wanted() -> None:
    levels = np.array([f"l{i % 90}" for i in range(180)], dtype=object)[:, None]
    encoder = sx.TableEncoder(kinds={"x0": "discrete"}).fit(levels)
    assert encoder.transform(levels).shape == (180, 89)
    assert encoder.set_output(transform="pandas").transform(levels).shape == (180, 89)
