"""Small tables that the tests of this folder share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def mixed(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Floats, integers, booleans and text, some missing; the price depends on all."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "height": 1e6 + rng.normal(size=n),
            "rooms": rng.integers(1, 9, n),
            "town": rng.choice(["Pisa", "Lund", "Ghent"], n, p=[0.5, 0.3, 0.2]),
            "garden": rng.random(n) < 0.4,
        }
    )
    bump = frame["town"].map({"Pisa": 0.0, "Lund": 2.0, "Ghent": -1.0})
    frame["price"] = frame["height"] - 1e6 + 0.5 * frame["rooms"] + bump + frame["garden"]
    frame["price"] += 0.1 * rng.normal(size=n)
    frame.loc[::7, "height"] = np.nan
    frame.loc[::11, "town"] = None
    frame.loc[3, "price"] = np.nan
    return frame


def every_form(frame: pd.DataFrame, folder: Path) -> dict[str, object]:
    """The same table as everything that can be scanned."""
    import dask.dataframe as dd
    import polars as pl
    import pyarrow as pa

    half = len(frame) // 2
    frame.to_csv(folder / "all.csv", index=False)
    frame.to_csv(folder / "all.csv.gz", index=False)
    frame.to_csv(folder / "semicolon.csv", index=False, sep=";")
    frame.to_parquet(folder / "all.parquet", row_group_size=97)
    for name, part in (("part-1", frame[:half]), ("part-2", frame[half:])):
        part[sorted(part.columns)].to_csv(folder / f"{name}.csv", index=False)
        part.to_parquet(folder / f"{name}.parquet")
    return {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "lazy": pl.from_pandas(frame).lazy(),
        "arrow": pa.Table.from_pandas(frame),
        "dict": frame.to_dict("list"),
        "csv": folder / "all.csv",
        "gzip": str(folder / "all.csv.gz"),
        "semicolon": folder / "semicolon.csv",
        "parquet": folder / "all.parquet",
        "csv glob": str(folder / "part-*.csv"),
        "parquet list": [folder / "part-1.parquet", folder / "part-2.parquet"],
        "dask": dd.from_pandas(frame, npartitions=3),
    }
