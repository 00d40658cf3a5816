"""Sources of rows: arrays, data frames, files, databases and Dask, as Arrow batches."""
