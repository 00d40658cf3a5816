"""Nearest neighbors and kernel smoothers."""

from __future__ import annotations

import separatrix as sx
from tests.registry.row import Row

ROWS: list[Row] = [
    Row(
        "KNeighborsClassifier",
        lambda: sx.KNeighborsClassifier(),
        "classification",
        unit_free=False,
        additive=False,
    ),
    Row(
        "KNeighborsClassifier, standardized, by distance",
        lambda: sx.KNeighborsClassifier(4, weights="distance", standardize=True, smoothing=0.5),
        "classification",
        additive=False,
    ),
    Row(
        "KNeighborsClassifier, standardized, k by leave-one-out",
        lambda: sx.KNeighborsClassifier("auto", standardize=True),
        "classification",
        additive=False,
    ),
    Row(
        "KNeighborsRegressor, standardized",
        lambda: sx.KNeighborsRegressor(weights="gaussian", standardize=True),
        additive=False,
    ),
    Row(
        "RadiusNeighborsClassifier, standardized",
        lambda: sx.RadiusNeighborsClassifier(1.5, outlier_label="most_frequent", standardize=True),
        "classification",
        additive=False,
    ),
    Row(
        "RadiusNeighborsRegressor, standardized",
        lambda: sx.RadiusNeighborsRegressor(50.0, weights="distance", standardize=True),
        additive=False,
    ),
    Row(
        "KernelVoteClassifier, standardized",
        lambda: sx.KernelVoteClassifier(standardize=True),
        "classification",
        additive=False,
        precision=1e-6,
    ),
    Row(
        "KernelVoteClassifier of a kernel, standardized",
        lambda: sx.KernelVoteClassifier(kernel=sx.Matern(0.7), standardize=True),
        "classification",
        additive=False,
    ),
    Row(
        "NadarayaWatson of a kernel, standardized",
        lambda: sx.NadarayaWatson(kernel=sx.Laplace(0.3), standardize=True),
        additive=False,
    ),
    Row("NadarayaWatson", lambda: sx.NadarayaWatson(), unit_free=False, additive=False),
    Row(
        "NadarayaWatson, standardized",
        lambda: sx.NadarayaWatson(0.4, standardize=True),
        additive=False,
    ),
    Row(
        "ParzenClassifier, standardized",
        lambda: sx.ParzenClassifier(standardize=True),
        "classification",
        additive=False,
        precision=1e-6,
    ),
    Row(
        "ParzenClassifier, one bandwidth",
        lambda: sx.ParzenClassifier("shared", kernel="exponential"),
        "classification",
        unit_free=False,
        additive=False,
        precision=1e-6,
    ),
    Row(
        "NearestExemplar, standardized",
        lambda: sx.NearestExemplar(standardize=True),
        "classification",
        additive=False,
    ),
    Row(
        "NearestExemplar, medians",
        lambda: sx.NearestExemplar("manhattan", "median"),
        "classification",
        unit_free=False,
        additive=False,
        precision=1e-6,
    ),
    Row(
        "NearestExemplar, medoids, standardized",
        lambda: sx.NearestExemplar("manhattan", "medoid", standardize=True),
        "classification",
        additive=False,
    ),
    Row(
        "NearestExemplar, three means, two votes, standardized",
        lambda: sx.NearestExemplar(n_exemplars=3, n_neighbors=2, standardize=True),
        "classification",
        additive=False,
    ),
]
