"""Sources of rows: arrays, data frames, CSV, Parquet and Dask, as Arrow batches."""
