"""Calibration, rejection, several classes from two, and conformal prediction."""

from __future__ import annotations

import separatrix as sx
from tests.registry.row import Row

ROWS: list[Row] = [
    Row(
        "CalibratedClassifier",
        lambda: sx.CalibratedClassifier(sx.LeastSquaresClassifier(), cv=3),
        "classification",
        order_free=False,
        precision=1e-6,
    ),
    Row(
        "CalibratedClassifier, isotonic",
        lambda: sx.CalibratedClassifier(sx.LeastSquaresClassifier(), method="isotonic", cv=3),
        "classification",
        order_free=False,
        precision=1e-6,
    ),
    Row(
        "CalibratedClassifier, platt",
        lambda: sx.CalibratedClassifier(sx.LeastSquaresClassifier(), method="platt", cv=3),
        "classification",
        order_free=False,
        precision=1e-6,
    ),
    Row(
        "AveragedClassifier",
        lambda: sx.AveragedClassifier([sx.LinearDiscriminantAnalysis(), sx.GaussianNB()], cv=2),
        "classification",
        order_free=False,
        precision=1e-5,
    ),
    Row(
        "AveragedRegressor",
        lambda: sx.AveragedRegressor([sx.LinearRegression(), sx.MeanRegressor()], cv=3),
        "regression",
        order_free=False,
        precision=1e-5,
    ),
    Row(
        "LogTargetRegressor",
        lambda: sx.LogTargetRegressor(sx.LinearRegression(), offset=1000.0),
        target_free=False,
        additive=False,
    ),
    Row(
        "ModelAverage",
        lambda: sx.ModelAverage([sx.LinearRegression(), sx.RidgePath(5)], "akaike"),
        additive=False,
        unit_free=False,
    ),
    Row(
        "ModelAverage of classifiers",
        lambda: sx.ModelAverage([sx.LinearDiscriminantAnalysis(), sx.GaussianNB()], cv=2),
        "classification",
        additive=False,
        order_free=False,
        precision=1e-5,
    ),
    Row(
        "RejectOption",
        lambda: sx.RejectOption(sx.LinearDiscriminantAnalysis(), costs=0.7),
        "classification",
    ),
    Row("OneVsRest", lambda: sx.OneVsRest(sx.LeastSquaresClassifier()), "classification"),
    Row("OneVsOne", lambda: sx.OneVsOne(sx.LeastSquaresClassifier()), "classification"),
    Row(
        "OneVsOne-probabilities",
        lambda: sx.OneVsOne(sx.LogisticRegression(C=1.0, standardize=True)),
        "classification",
    ),
    Row(
        "ConformalRegressor",
        lambda: sx.ConformalRegressor(sx.LinearRegression(), method="jackknife+"),
        additive=False,
    ),
    Row(
        "ConformalClassifier",
        lambda: sx.ConformalClassifier(sx.LinearDiscriminantAnalysis(), method="cv+", cv=3),
        "classification",
        additive=False,
        order_free=False,
    ),
]
