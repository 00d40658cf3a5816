"""Predictions as columns: the same in every library, lazily where the library is lazy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.messages import InputError

N = 200
RNG = np.random.default_rng(2)
FRAME = pd.DataFrame({"a": RNG.normal(size=N), "town": RNG.choice(["u", "v"], N)})
FRAME["y"] = 2.0 * FRAME["a"] + (FRAME["town"] == "v")
FRAME["sold"] = np.where(FRAME["y"] > 0.5, "yes", "no")
NEW = FRAME.drop(columns=["y", "sold"]).assign(id=[f"n{i}" for i in range(N)])

NUMBER = sx.Ridge().fit(sx.scan(FRAME.drop(columns="sold"), target="y"))
LABEL = sx.LogisticRegression().fit(sx.scan(FRAME.drop(columns="y"), target="sold"))


def _polars(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("polars").from_pandas(frame)


def _arrow(frame: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)


def _dask(frame: pd.DataFrame) -> Any:
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


@pytest.mark.parametrize("made", [lambda f: f, _polars, _arrow, _dask])
def test_the_same_columns_in_every_library(made: Any) -> None:
    given = made(NEW)
    found = sx.predict_frame(LABEL, given, probabilities=True)
    assert type(found) is type(given)
    if hasattr(found, "compute"):
        assert found.dtypes.equals(found.compute().dtypes)
        found = found.compute()
    table = found if isinstance(found, pd.DataFrame) else found.to_pandas()
    assert list(table) == [*NEW, "predicted", "probability no", "probability yes"]
    assert table["predicted"].tolist() == LABEL.predict(NEW).tolist()
    np.testing.assert_allclose(table["probability yes"], LABEL.predict_proba(NEW)[:, 1], rtol=1e-14)
    numbers = sx.predict_frame(NUMBER, given)
    numbers = numbers.compute() if hasattr(numbers, "compute") else numbers
    np.testing.assert_allclose(np.asarray(numbers["predicted"]), NUMBER.predict(NEW), rtol=1e-14)


def test_clusters_models_of_frames_and_an_index_of_their_own() -> None:
    numbers = NEW[["a"]].set_index(np.arange(N)[::-1])
    clusters = sx.KMeans(2, random_state=0).fit(numbers)
    found = sx.predict_frame(clusters, numbers.assign(more="x"))
    assert found.index.equals(numbers.index)
    assert found["predicted"].dtype == np.int64
    np.testing.assert_array_equal(found["predicted"], clusters.predict(numbers))


def test_empty_partitions_and_refusals() -> None:
    assert len(sx.predict_frame(LABEL, NEW[:0])) == 0
    lazy = _dask(NEW)
    some = lazy[lazy["a"] > 100.0]
    assert len(sx.predict_frame(LABEL, some).compute()) == 0
    with pytest.raises(InputError, match="this name already"):
        sx.predict_frame(NUMBER, NEW.assign(predicted=1.0))
    with pytest.raises(InputError, match="no probabilities"):
        sx.predict_frame(NUMBER, NEW, probabilities=True)
    with pytest.raises(InputError, match="no column 'town'"):
        sx.predict_frame(NUMBER, NEW.drop(columns="town"))
