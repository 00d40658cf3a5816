"""Every race, one after the other: ``python benchmarks/run.py [--quick] [name …]``."""

from __future__ import annotations

import importlib
import sys

RACES = (
    "first_fit",
    "linear",
    "ridge",
    "lasso",
    "parquet",
    "isotonic",
    "discriminants",
    "naive_bayes",
    "kmeans",
    "medoids",
    "silhouette",
    "linkage",
    "neighbors",
    "conformal",
    "logistic",
    "logistic_stream",
    "kernels",
    "kernel_ridge",
    "additive",
    "metric_learning",
    "perceptron",
    "separability",
    "linear_svm",
    "svm",
    "svm_path",
    "wide",
    "bayes",
    "inducing",
    "sparse",
    "classes",
    "cores",
    "study",
)

if __name__ == "__main__":
    chosen = [name for name in sys.argv[1:] if not name.startswith("-")] or list(RACES)
    for name in chosen:
        importlib.import_module(name).main("--quick" in sys.argv)
