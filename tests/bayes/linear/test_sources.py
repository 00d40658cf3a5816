"""Parquet files, Dask, files of moments and portions of rows give the fit of one table."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.rows.parts import Parts
from separatrix.statistics.moments import Grouped
from separatrix.storage import StoredMoments, load_moments, save_moments

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4)) * [1.0, 2.0, 0.5, 1.0] + 3.0
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(
    y=X @ [1.0, -1.0, 0.0, 0.3] + 0.5 * RNG.standard_normal(60)
)
MODELS = {
    "BayesianRidge": sx.BayesianRidge,
    "ARDRegression": sx.ARDRegression,
    "BayesianLinearRegression": lambda: sx.BayesianLinearRegression(2.0, 0.25),
}


def parquet(make: Callable[[], Any], folder: Path) -> Any:
    FRAME.to_parquet(folder / "table.parquet", row_group_size=25)
    return make().fit(sx.scan(str(folder / "table.parquet"), target="y", block_rows=17))


def dask(make: Callable[[], Any], _: Path) -> Any:
    dd = pytest.importorskip("dask.dataframe")
    return make().fit(sx.scan(dd.from_pandas(FRAME, npartitions=3), target="y"))


def moments(make: Callable[[], Any], folder: Path) -> Any:
    parts = Parts(1, 0.2, 3)
    for i, part in enumerate((FRAME[:20], FRAME[20:])):
        rows = sx.scan(part, target="y").with_parts(parts)
        stored = StoredMoments(rows.schema, parts, rows.reduce(Grouped(sx.Moments())))
        save_moments(stored, folder / f"{i}.moments")
    both = load_moments(folder / "0.moments") + load_moments(folder / "1.moments")
    return make().fit(reduce(add, both.groups.parts.values()))


def portions(make: Callable[[], Any], _: Path) -> Any:
    y = FRAME["y"].to_numpy()
    return make().partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])


@pytest.mark.parametrize("source", [parquet, dask, moments, portions], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_every_source_gives_the_fit_of_the_table(name: str, source: Any, tmp_path: Path) -> None:
    whole = MODELS[name]().fit(sx.scan(FRAME, target="y"))
    other = source(MODELS[name], tmp_path)
    assert_allclose(other.coef_, whole.coef_, rtol=1e-7, atol=1e-9)
    assert_allclose(other.intercept_, whole.intercept_, rtol=1e-7)
    assert_allclose(other.alpha_, whole.alpha_, rtol=1e-7)
    assert_allclose(other.log_evidence_, whole.log_evidence_, rtol=1e-9)
    assert_allclose(other.sigma_, whole.sigma_, rtol=1e-6, atol=1e-12)
    assert other.certificate_.holds, str(other.certificate_)
