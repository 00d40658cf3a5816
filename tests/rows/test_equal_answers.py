"""Every estimator answers the same in memory, as a stream of files, on Dask and on Spark."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import separatrix as sx
from separatrix.catalogue import DECLARATIONS, REGRESSION, Declaration

N = 180
#: K-means starts at the same centers: where it draws them, the sample is another.
STARTS = {"KMeans": {"n_clusters": 3, "init": np.diag([2.0, 1.0, 1.0, 3.0])[[0, 1, 3]]}}
ONE_COLUMN = {"PolynomialInterpolation"}
#: Folds of a stream are drawn by the hash of each row, those in memory are consecutive: the
#: penalty that is chosen may differ, and streams are compared with one another.
FOLDS_BY_HASH = {"LassoCV"}
#: These take scores, or models, instead of a table.
OTHER_INPUT = {
    "EvidenceAveraging",
    "IsotonicCalibration",
    "LogisticCalibration",
    "PlattCalibration",
    "TemperatureCalibration",
}


def frames() -> dict[str, pd.DataFrame]:
    """Numbers, classes and counts that depend on four columns."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(N, 4))
    x[:, 3] = rng.integers(0, 4, N)
    y = x[:, 0] - 0.7 * x[:, 1] + 0.5 * rng.normal(size=N)
    numbers = pd.DataFrame(x, columns=list("abcd")).assign(y=y)
    label = np.where(y + rng.logistic(size=N) > 0, "yes", "no")
    counts = numbers.assign(**{c: rng.poisson(3, N) * 1.0 for c in "abcd"})
    return {
        "numbers": numbers,
        "classes": numbers.assign(y=label),
        "counts": counts.assign(y=rng.poisson(2, N) * 1.0),
        "classes of counts": counts.assign(y=label),
        "one column": numbers[["a", "y"]].assign(a=np.arange(N) * 1.0).head(12),
    }


def frame_for(declared: Declaration) -> pd.DataFrame:
    """A table that the estimator can be fitted to."""
    numbers = declared.task == REGRESSION
    tags = declared.make().__sklearn_tags__()
    kind = "numbers" if numbers else "classes"
    if tags.target_tags.positive_only or tags.input_tags.positive_only:
        kind = "counts" if numbers else "classes of counts"
    frame = frames()["one column" if declared.name in ONE_COLUMN else kind]
    return frame if tags.target_tags.required else frame.drop(columns="y")


def model_of(declared: Declaration) -> Any:
    """An estimator whose random numbers have a seed."""
    model = declared.make()
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=0)
    return model.set_params(**STARTS.get(declared.name, {}))


def answers(model: Any, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """What a fitted model says of the rows of a frame."""
    rows = sx.scan(frame, target="y" if "y" in frame else None).read()
    found: dict[str, Any] = {}
    for name in ("predict", "predict_proba", "decision_function", "transform", "score_samples"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(rows)
    if hasattr(model, "kneighbors"):
        found["distances"], found["neighbors"] = model.kneighbors(rows)
    names = ("coef_", "cluster_centers_") if "predict" in found else ("labels_",)
    found |= {name: getattr(model, name) for name in names if hasattr(model, name)}
    return {k: v.toarray() if sparse.issparse(v) else np.asarray(v) for k, v in found.items()}


def assert_equal(got: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert got.keys() == expected.keys()
    for name, values in expected.items():
        if values.dtype.kind == "f":
            scale = 1.0 + np.abs(values).max(initial=0.0)
            np.testing.assert_allclose(got[name], values, rtol=0, atol=1e-10 * scale, err_msg=name)
        else:
            np.testing.assert_array_equal(got[name], values, err_msg=name)


TABLES = [d for d in DECLARATIONS.values() if d.name not in OTHER_INPUT]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("declared", TABLES, ids=lambda d: d.name)
def test_rows_are_equal_wherever_they_are(declared: Declaration, tmp_path: Path) -> None:
    frame = frame_for(declared)
    options = {"target": "y"} if "y" in frame else {}
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=60)
    with dask.config.set(scheduler="synchronous"):
        whole = sx.scan(frame, **options).read()
        stream = sx.scan(str(tmp_path / "rows.parquet"), block_rows=64, **options)
        spread = sx.scan(dd.from_pandas(frame, npartitions=3), **options)
        here, there, far = (
            answers(model_of(declared).fit(x), frame) for x in (whole, stream, spread)
        )
    assert here, "the estimator answers nothing"
    assert_equal(far, there)
    if declared.name not in FOLDS_BY_HASH:
        assert_equal(there, here)


@pytest.mark.filterwarnings("ignore")
def test_block_by_block_equals_on_spark(tmp_path: Path) -> None:
    """One session, and every estimator that reads partitions where they are."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: make spark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none: make spark")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    paths = os.pathsep.join(path for path in sys.path if path)
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executorEnv.PYTHONPATH", paths)
        .getOrCreate()
    )
    try:
        for declared in TABLES:
            if declared.stream is None:  # read whole, which the other test does
                continue
            frame = frame_for(declared)
            options = {"target": "y"} if "y" in frame else {}
            frame.to_parquet(tmp_path / "rows.parquet")
            stream = sx.scan(str(tmp_path / "rows.parquet"), block_rows=64, **options)
            spread = session.createDataFrame(frame).repartition(2)
            far = answers(model_of(declared).fit(sx.scan(spread, **options)), frame)
            if "labels_" in far:  # in the order of the partitions
                del far["labels_"]
            expected = answers(model_of(declared).fit(stream), frame)
            assert_equal(far, {name: expected[name] for name in far})
    finally:
        session.stop()
