"""Models of a Spark data frame beside those of pyspark.ml, in one local session.

    python benchmarks/spark.py [--rows 400000] [--columns 20]

Rows are read from Parquet by the same session. Both take turns, ours first; the first fit of each
counts apart, as both start Python workers or load classes of Java then.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TURNS = 3


def write_table(folder: Path, rows: int, columns: int) -> list[str]:
    """A number and a class that depend on normal columns, in four files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    slope = rng.normal(size=columns)
    names = [f"x{j}" for j in range(columns)]
    for i in range(4):
        x = rng.normal(size=(rows // 4, columns))
        y = x @ slope + rng.normal(size=len(x))
        sold = (y + rng.logistic(size=len(x)) > 0).astype(float)
        pq.write_table(
            pa.table([*x.T, y, sold], names=[*names, "y", "sold"]), folder / f"{i}.parquet"
        )
    return names


def runners(frame: Any, names: list[str]) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Pairs of fits that return coefficients or centers: ours, and pyspark.ml's."""
    from pyspark.ml import classification, clustering, feature, regression

    import separatrix as sx

    def assembled(*others: str) -> Any:
        chosen = frame.select(*names, *others)
        return feature.VectorAssembler(inputCols=names, outputCol="x").transform(chosen)

    def ours(model: Any, target: str | None) -> Any:
        given = frame.select(*names, *([target] if target else []))
        kinds = {"sold": "discrete"} if target == "sold" else {}
        return model.fit(sx.scan(given, target=target, kinds=kinds))

    linear = regression.LinearRegression(featuresCol="x", labelCol="y", solver="normal")
    logistic = classification.LogisticRegression(
        featuresCol="x", labelCol="sold", standardization=False, tol=1e-8
    )
    groups = clustering.KMeans(featuresCol="x", k=8, seed=0, maxIter=20)
    return {
        "least squares": (
            lambda: ours(sx.LinearRegression(), "y").coef_,
            lambda: linear.fit(assembled("y")).coefficients.toArray(),
        ),
        "logistic regression": (
            lambda: ours(sx.LogisticRegression(C=np.inf), "sold").coef_[0],
            lambda: logistic.fit(assembled("sold")).coefficients.toArray(),
        ),
        "K-means, 8 clusters": (
            lambda: ours(sx.KMeans(8, random_state=0, max_iter=20), None).cluster_centers_[:, 0],
            lambda: np.array(groups.fit(assembled()).clusterCenters())[:, 0],
        ),
    }


def main() -> None:
    """Write the table, open a session, and let both take turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--columns", type=int, default=20)
    given = parser.parse_args()
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    for name in ("spark.driver.bindAddress", "spark.driver.host"):
        builder = builder.config(name, "127.0.0.1")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    print("| model | first fit, separatrix | pyspark.ml | later fits, separatrix | pyspark.ml |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        names = write_table(Path(folder), given.rows, given.columns)
        frame = session.read.parquet(folder)
        frame.count()
        for model, pair in runners(frame, names).items():
            times: list[list[float]] = [[], []]
            found: list[Any] = [None, None]
            for _ in range(1 + TURNS):
                for i, fit in enumerate(pair):
                    begin = time.perf_counter()
                    found[i] = fit()
                    times[i].append(time.perf_counter() - begin)
            first = " | ".join(f"{t[0]:.2f} s" for t in times)
            later = " | ".join(f"{min(t[1:]):.2f} s" for t in times)
            same = np.abs(np.sort(found[0]) - np.sort(found[1])).max()
            print(f"| {model} (differ by {same:.0e}) | {first} | {later} |", flush=True)
    session.stop()


if __name__ == "__main__":
    main()
