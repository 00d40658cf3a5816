"""Least squares, ridge, lasso, robust regression and the least-squares classifier."""

from __future__ import annotations

import separatrix as sx
from tests.registry import objectives as of
from tests.registry.row import Row

ROWS: list[Row] = [
    Row("LinearRegression", lambda: sx.LinearRegression(), objective=of.least_squares),
    Row(
        "LinearRegression without intercept",
        lambda: sx.LinearRegression(fit_intercept=False),
        objective=of.least_squares,
    ),
    Row("Ridge", lambda: sx.Ridge(), unit_free=False, objective=of.ridge),
    Row("Ridge, standardized", lambda: sx.Ridge(2.0, standardize=True), objective=of.ridge),
    Row(
        "RidgePath, standardized",
        lambda: sx.RidgePath(20, standardize=True),
        objective=of.ridge,
    ),
    Row("RidgeCV, standardized", lambda: sx.RidgeCV(None, standardize=True), objective=of.ridge),
    Row(
        "RidgeCV by folds",
        lambda: sx.RidgeCV([0.1, 1.0, 10.0], cv=3),
        unit_free=False,
        order_free=False,
        objective=of.ridge,
    ),
    Row("HuberRegressor", lambda: sx.HuberRegressor(), objective=of.huber),
    Row("HuberRegressor without penalty", lambda: sx.HuberRegressor(alpha=0.0), objective=of.huber),
    Row(
        "LeastAbsoluteRegressor",
        lambda: sx.LeastAbsoluteRegressor(),
        additive=False,
        objective=of.epsilon_insensitive,
    ),
    Row(
        "LeastAbsoluteRegressor with epsilon",
        lambda: sx.LeastAbsoluteRegressor(epsilon=0.2),
        for_target_times=lambda f: sx.LeastAbsoluteRegressor(epsilon=0.2 * f),
        additive=False,
        objective=of.epsilon_insensitive,
    ),
    Row(
        "QuantileRegressor",
        lambda: sx.QuantileRegressor(quantile=0.7, alpha=0.05, standardize=True),
        additive=False,
        objective=of.quantile,
    ),
    Row(
        "PoissonRegressor",
        lambda: sx.PoissonRegressor(alpha=0.1),
        for_target_times=lambda f: sx.PoissonRegressor(alpha=0.1 * f),
        counts_events=True,
        unit_free=False,
        objective=of.poisson,
    ),
    Row(
        "PoissonRegressor, standardized",
        lambda: sx.PoissonRegressor(alpha=0.1, standardize=True),
        for_target_times=lambda f: sx.PoissonRegressor(alpha=0.1 * f, standardize=True),
        counts_events=True,
        objective=of.poisson,
    ),
    Row(
        "PoissonRegressor without penalty",
        lambda: sx.PoissonRegressor(alpha=0.0),
        counts_events=True,
        objective=of.poisson,
    ),
    Row(
        "TotalLeastSquares",
        lambda: sx.TotalLeastSquares(),
        unit_free=False,
        target_free=False,
        objective=of.orthogonal,
    ),
    Row(
        "PolynomialRegression",
        lambda: sx.PolynomialRegression(2),
        unit_free=False,  # a power's coefficient changes by the power of the unit: tested by itself
        objective=of.polynomial_least_squares,
    ),
    Row(
        "LeastSquaresClassifier",
        lambda: sx.LeastSquaresClassifier(),
        "classification",
        objective=of.least_squares_classes,
        classes=(2, 3),
    ),
    Row(
        "LeastSquaresClassifier, penalized",
        lambda: sx.LeastSquaresClassifier(alpha=3.0, p=1.4),
        "classification",
        unit_free=False,
        objective=of.least_squares_classes,
        classes=(2, 3),
    ),
    Row(
        "Lasso",
        lambda: sx.Lasso(0.1),
        unit_free=False,
        for_target_times=lambda f: sx.Lasso(0.1 * f),
        objective=of.elastic_net,
    ),
    Row(
        "Lasso, standardized",
        lambda: sx.Lasso(0.1, standardize=True),
        for_target_times=lambda f: sx.Lasso(0.1 * f, standardize=True),
        objective=of.elastic_net,
    ),
    Row(
        "ElasticNet, standardized",
        lambda: sx.ElasticNet(0.1, standardize=True),
        # alpha times l1_ratio has the units of the target, alpha times 1 - l1_ratio has none
        for_target_times=lambda f: sx.ElasticNet(
            0.05 * (f + 1.0), l1_ratio=f / (f + 1.0), standardize=True
        ),
        objective=of.elastic_net,
    ),
    Row(
        "LassoPath, standardized",
        lambda: sx.LassoPath(20, standardize=True, tol=1e-10),
        objective=of.elastic_net,
    ),
    Row(
        "LassoCV, standardized",
        lambda: sx.LassoCV(alphas=20, cv=3, standardize=True, tol=1e-10),
        order_free=False,
        objective=of.elastic_net,
    ),
]

#: Models of one column, through all of its points, with laws of their own.
INTERPOLATIONS: list[Row] = [
    Row("PolynomialInterpolation", lambda: sx.PolynomialInterpolation(), additive=False),
]
