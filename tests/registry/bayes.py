"""Bayesian models."""

from __future__ import annotations

import separatrix as sx
from tests.registry import objectives as of
from tests.registry.row import Row

ROWS: list[Row] = [
    Row(
        "BayesianRidge",
        lambda: sx.BayesianRidge(),
        unit_free=False,
        for_target_times=lambda f: sx.BayesianRidge(alpha_2=1e-6 * f**2, lambda_2=1e-6 * f**2),
        objective=of.posterior,
    ),
    Row(
        "BayesianRidge, standardized",
        lambda: sx.BayesianRidge(standardize=True),
        objective=of.posterior,
    ),
    Row(
        "ARDRegression",
        lambda: sx.ARDRegression(),
        unit_free=False,
        for_target_times=lambda f: sx.ARDRegression(
            alpha_2=1e-6 * f**2, lambda_2=1e-6 * f**2, threshold_lambda=1e4 / f**2
        ),
        objective=of.relevance,
    ),
    Row(
        "ARDRegression, standardized",
        lambda: sx.ARDRegression(standardize=True),
        objective=of.relevance,
    ),
    Row(
        "EvidenceAveraging",
        lambda: sx.EvidenceAveraging(
            [sx.BayesianRidge(standardize=True), sx.ARDRegression(standardize=True)]
        ),
        additive=False,
    ),
    Row(
        "EvidenceAveraging of classifiers",
        lambda: sx.EvidenceAveraging(
            [sx.BayesianLogisticRegression(), sx.BayesianLogisticRegression(prior_scale=1.0)],
            [1, 2],
        ),
        "classification",
        additive=False,
    ),
    Row(
        "BayesianLinearRegression",
        lambda: sx.BayesianLinearRegression(2.0, 0.1),
        for_target_times=lambda f: sx.BayesianLinearRegression(2.0 / f**2, 0.1 * f**2),
        unit_free=False,
        objective=of.posterior,
    ),
    Row(
        "GaussianProcessRegressor",
        lambda: sx.GaussianProcessRegressor(),
        additive=False,
        objective=of.gaussian_process,
        parameters=of.hyperparameters,
    ),
    Row(
        "BayesianLogisticRegression",
        lambda: sx.BayesianLogisticRegression(),
        "classification",
        objective=of.bayesian_logistic,
        classes=(2, 3),
    ),
    Row(
        "GaussianProcessClassifier",
        lambda: sx.GaussianProcessClassifier(4.0 * sx.Gaussian(2.0), optimizer=None),
        "classification",
        unit_free=False,
        additive=False,
    ),
    Row(
        "GaussianProcessClassifier with inducing points",
        lambda: sx.GaussianProcessClassifier(4.0 * sx.Gaussian(4.0), optimizer=None, n_inducing=20),
        "classification",
        unit_free=False,
        objective=of.class_bound,
        parameters=of.whitened_mean,
    ),
    Row(
        "GaussianProcessRegressor with inducing points",
        lambda: sx.GaussianProcessRegressor(
            4.0 * sx.Gaussian(4.0) + sx.White(0.1), optimizer=None, n_inducing=40
        ),
        for_target_times=lambda f: sx.GaussianProcessRegressor(
            4.0 * f**2 * sx.Gaussian(4.0) + sx.White(0.1 * f**2), optimizer=None, n_inducing=40
        ),
        unit_free=False,
    ),
]
