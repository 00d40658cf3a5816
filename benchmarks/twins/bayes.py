"""Bayesian linear models and Gaussian processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.gaussian_process.kernels
import sklearn.linear_model

from twins.entry import DENSE, Entry

linear, process = sklearn.linear_model, sklearn.gaussian_process


def negative_evidence(model: Any, x: Any, y: np.ndarray) -> float:
    """−log p(y | x, α, λ) of centered rows with precisions α of the noise and λ of coefficients."""
    z, t = x - x.mean(axis=0), y - y.mean()
    n, precisions = len(t), np.broadcast_to(model.lambda_, x.shape[1])
    kept = precisions < 1e8 * model.alpha_  # those beyond are pruned
    z = z[:, kept] / np.sqrt(precisions[kept])
    if z.shape[0] < z.shape[1]:
        covariance = z @ z.T + np.eye(n) / model.alpha_
        return 0.5 * float(np.linalg.slogdet(covariance)[1] + t @ np.linalg.solve(covariance, t))
    gram = np.eye(z.shape[1]) + model.alpha_ * z.T @ z
    right = model.alpha_ * z.T @ t
    squares = model.alpha_ * t @ t - right @ np.linalg.solve(gram, right)
    return 0.5 * float(np.linalg.slogdet(gram)[1] - n * np.log(model.alpha_) + squares)


kernels = sklearn.gaussian_process.kernels
#: What our processes learn by default: a length scale for each of the columns of the tiny table.
learned = kernels.ConstantKernel() * kernels.RBF(np.ones(4))
ENTRIES = (
    Entry("BayesianRidge", linear.BayesianRidge, {}, negative_evidence, shapes=DENSE),
    Entry("ARDRegression", linear.ARDRegression, {}, negative_evidence, shapes=DENSE),
    Entry(
        "GaussianProcessRegressor", process.GaussianProcessRegressor, {}, shapes=("tiny",),
        twin_only=(("kernel", learned + kernels.WhiteKernel()),),
    ),
    Entry(
        "GaussianProcessClassifier", process.GaussianProcessClassifier, {}, shapes=("tiny",),
        target="classes", twin_only=(("kernel", learned),),
    ),
)  # fmt: skip
