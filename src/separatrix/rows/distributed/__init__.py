"""Tables on other machines: Dask collections, files read by Dask workers, Spark data frames."""
