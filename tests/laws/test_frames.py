"""Data frames with text, levels, dates and missing values: fitted as ``scan`` reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from tests.laws.data import outcome
from tests.registry import CLUSTERERS, HIERARCHIES, REGISTRY, Row

every = pytest.mark.parametrize(
    "row", [*REGISTRY, *CLUSTERERS, *HIERARCHIES], ids=lambda row: row.name
)


def mixed_frame(n: int = 36) -> pd.DataFrame:
    """Numbers, texts, levels, truth values and dates, some of them missing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "height": rng.standard_normal(n),
            "town": rng.choice(["Oslo", "Rome", "Lima"], n),
            "sold": rng.random(n) < 0.5,
            "day": pd.Timestamp("2024-03-01") + pd.to_timedelta(rng.integers(0, 90, n), "D"),
            "size": pd.Categorical(rng.choice(["s", "m"], n)),
        }
    )
    frame.loc[[3, 20], "height"] = np.nan
    frame.loc[5, "town"] = None
    return frame


def target(row: Row, frame: pd.DataFrame) -> Any:
    """A number or a class 0 or 1 that depends on the columns."""
    noise = np.random.default_rng(1).standard_normal(len(frame))
    y = 2.0 * frame["height"].fillna(0.0) + (frame["town"] == "Rome") + 0.3 * noise
    if row.task == "clustering":
        return None
    if row.counts_events:
        return np.floor(np.exp(y.to_numpy()))
    return y.to_numpy() if row.task == "regression" else (y > 0.3).to_numpy().astype(int)


@every
def test_a_frame_is_fitted_as_scan_reads_it(row: Row) -> None:
    frame = mixed_frame()
    y = target(row, frame)
    if row.counts:
        frame["height"] = frame["height"].abs()
    model, scanned = row.make().fit(frame, y), row.make().fit(sx.scan(frame, target=y).read())
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.n_features_in_ == frame.shape[1]
    if row.task == "clustering":
        assert np.array_equal(model.labels_, scanned.labels_)
        if hasattr(model, "predict"):
            assert np.array_equal(model.predict(frame), scanned.predict(frame))
        return
    if row.task == "classification":
        assert model.classes_.tolist() == scanned.classes_.tolist() == [0, 1]
        assert np.isin(model.predict(frame[::-1]), [0, 1, 99]).all()
    expected = outcome(row, scanned, frame)
    assert_allclose(outcome(row, model, frame[frame.columns[::-1]]), expected, atol=1e-9)


def test_what_no_encoding_can_mend_is_refused_by_its_place() -> None:
    frame = mixed_frame()
    plain = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, np.inf, 6.0]})
    with pytest.raises(sx.InputError, match="row 2, column 'b': Input X contains infinity"):
        sx.Ridge().fit(plain, [1.0, 2.0, 3.0])
    model = sx.Ridge().fit(plain[["a"]], [1.0, 2.0, 3.0])
    with pytest.raises(sx.InputError, match="column 'a'"):
        model.predict(plain[["b"]].rename(columns={"b": "a"}))
    texts = pd.Series(["u", "v"] * (len(frame) // 2) + ["u"] * (len(frame) % 2), name="kind")
    for x in (frame, np.arange(len(frame), dtype=float)[:, None]):
        with pytest.raises(sx.InputError, match="row 1, column 'kind': The target is 'u'"):
            sx.Ridge().fit(x, texts)
