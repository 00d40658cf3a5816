"""Local-mode Spark gives the numbers of one process; skipped where Spark or Java is missing."""

from __future__ import annotations

import os
import shutil
import sys

import numpy as np
import pytest

import separatrix as sx
from separatrix import InputError, Moments, scan
from separatrix.rows.parts import Parts
from separatrix.rows.spark import SparkRows
from separatrix.statistics.moments import Grouped

from .tables import mixed

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'separatrix[spark]'")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, and there is none: make spark", allow_module_level=True)


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    paths = [path for path in sys.path if path]
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "512m")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.executorEnv.PYTHONPATH", os.pathsep.join(paths))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def table():
    frame = mixed(600)
    frame["sold"] = np.where(frame["price"].fillna(0) > frame["price"].median(), "yes", "no")
    return frame


@pytest.fixture(scope="module")
def spread(spark, table):
    # None, not NaN: Spark would keep NaN as a number among the texts
    return spark.createDataFrame(table.astype(object).where(table.notna(), None)).repartition(3)


def close(got, expected) -> None:
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_moments_by_fold_are_those_of_memory(spread, table):
    ignore = {"sold": "ignore"}
    there = scan(spread, target="price", kinds=ignore).with_parts(Parts())
    here = scan(table, target="price", kinds=ignore).with_parts(Parts())
    a = there.reduce(Grouped(Moments())).total()
    b = here.read().reduce(Moments()).aligned(a.terms, a.targets)
    assert a.count == b.count
    assert there.dropped == 1
    close(a.mean, b.mean)
    scale = np.sqrt(np.outer(np.diag(b.scatter), np.diag(b.scatter)))
    close(a.scatter / scale, b.scatter / scale)
    assert there.travel.passes == 1
    assert 0 < there.travel.received < 200_000


def test_class_moments_are_those_of_memory(spread, table):
    ignore = {"price": "ignore"}
    a = sx.LinearDiscriminantAnalysis().fit(scan(spread, target="sold", kinds=ignore))
    b = sx.LinearDiscriminantAnalysis().fit(scan(table, target="sold", kinds=ignore))
    close(a.means_, b.means_)
    close(a.coef_, b.coef_)


def test_models_of_many_passes_are_those_of_memory_and_cache_the_table(spread, table):
    ignore = {"price": "ignore"}
    there = scan(spread, target="sold", kinds=ignore)
    a = sx.LogisticRegression().fit(there)
    b = sx.LogisticRegression().fit(scan(table, target="sold", kinds=ignore))
    close(a.coef_, b.coef_)
    assert there.travel.passes > 2
    assert there.travel.cached > 0
    assert "kB of results came back" in there.travel.sentence()
    numbers = {"price": "ignore", "sold": "ignore"}
    start = [[1e6, 2.0, 0.0, 0.0, 0.0], [1e6, 7.0, 0.0, 0.0, 0.0]]
    there = scan(spread, kinds=numbers)
    clusters = sx.KMeans(2, init=start).fit(there)
    close(
        clusters.cluster_centers_,
        sx.KMeans(2, init=start).fit(scan(table, kinds=numbers)).cluster_centers_,
    )


def test_rows_can_be_fetched_and_faults_name_their_partition(spark, spread, table):
    rows = scan(spread, target="price", kinds={"sold": "ignore"})
    assert len(rows.read()) == len(table) - 1
    good = table[["rooms", "price"]].astype(float).fillna(0.0)
    bad = good.copy()
    bad.loc[50, "rooms"] = np.inf
    schema = scan(good, target="price").schema
    with pytest.raises(InputError, match=r"partition \d.*'rooms'"):
        SparkRows(spark.createDataFrame(bad), schema).reduce(Moments())
    with pytest.raises(InputError, match="Did you mean 'price'"):
        scan(spread, target="prize")
    with pytest.raises(InputError, match="must be given by name"):
        scan(spread, target=np.zeros(600))


def test_studies_and_clusters_are_those_of_memory(spark, table):
    numbers = table[["rooms", "height", "price"]].astype(float).dropna()
    spread = spark.createDataFrame(numbers).repartition(3)
    there = sx.run_study(scan(spread, target="price"), models=["linear", "ridge"], verbose=False)
    assert there.winner in ("linear", "ridge", "baseline")
    found = sx.run_clusters(scan(spread.drop("price")), k=2, verbose=False)
    assert sum(cluster.size for cluster in found.clusters) == len(numbers)


def test_predictions_stay_with_spark(spark, spread, table):
    model = sx.LinearDiscriminantAnalysis().fit(
        scan(table, target="sold", kinds={"price": "ignore"})
    )
    answered = sx.predict_frame(model, spread.drop("sold"), probabilities=True)
    assert type(answered).__module__.startswith("pyspark")
    got = answered.toPandas()
    assert list(got)[-3:] == ["predicted", "probability no", "probability yes"]
    expected = model.predict_proba(got[list(table.columns.drop("sold"))])
    np.testing.assert_allclose(got["probability yes"], expected[:, 1], rtol=1e-12)


def test_what_was_read_where_is_one_sentence(spread):
    rows = scan(spread, target="price", kinds={"sold": "ignore"})
    sx.LinearRegression().fit(rows)
    assert "read once by Spark (local[2])" in rows.travel.sentence()
