"""Where rows come from: arrays, data frames, CSV, Parquet and Dask, as Arrow batches."""
