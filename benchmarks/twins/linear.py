"""Linear and logistic models and support vector machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn.linear_model
import sklearn.svm
from scipy.special import xlogy

from twins.entry import DENSE, Entry, Objective


def residuals(model: Any, x: Any, y: np.ndarray) -> np.ndarray:
    return np.asarray(y - x @ np.ravel(model.coef_) - np.ravel(model.intercept_))


def squares(model: Any, x: Any, y: np.ndarray) -> float:
    return 0.5 * float(np.sum(residuals(model, x, y) ** 2))


def ridge(model: Any, x: Any, y: np.ndarray) -> float:
    return squares(model, x, y) + 0.5 * model.alpha * float(np.sum(model.coef_**2))


def elastic_net(model: Any, x: Any, y: np.ndarray) -> float:
    b, rho = np.ravel(model.coef_), getattr(model, "l1_ratio", 1.0)
    penalty = rho * np.abs(b).sum() + 0.5 * (1.0 - rho) * b @ b
    return squares(model, x, y) / len(y) + model.alpha * float(penalty)


def hinge(power: int) -> Objective:
    def objective(model: Any, x: Any, y: np.ndarray) -> float:
        w, b = np.ravel(model.coef_), float(model.intercept_[0])
        slack = np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], 1.0, -1.0) * (x @ w + b))
        return 0.5 * float(w @ w + b * b) + model.C * float(np.sum(slack**power))

    return objective


def tube(model: Any, x: Any, y: np.ndarray) -> float:
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    slack = np.maximum(0.0, np.abs(residuals(model, x, y)) - model.epsilon)
    return 0.5 * float(w @ w + b * b) + model.C * float(slack.sum())


def log_loss(model: Any, x: Any, y: np.ndarray) -> float:
    w = np.ravel(model.coef_)
    z = np.where(y == model.classes_[1], 1.0, -1.0) * (x @ w + model.intercept_[0])
    return 0.5 * float(w @ w) + model.C * float(np.logaddexp(0.0, -z).sum())


def deviance(model: Any, x: Any, y: np.ndarray) -> float:
    f = x @ model.coef_ + model.intercept_
    penalty = 0.5 * model.alpha * float(np.sum(model.coef_**2))
    return float(np.mean(np.exp(f) - y - y * f + xlogy(y, y))) + penalty


def a_tenth(x: Any, y: np.ndarray) -> dict[str, Any]:
    """A tenth of the penalty that sets all coefficients to zero: tens of them are not."""
    return {"alpha": 0.1 * float(np.abs(x.T @ (y - y.mean())).max()) / len(y)}


linear, svm = sklearn.linear_model, sklearn.svm
ENTRIES = (
    Entry("LinearRegression", linear.LinearRegression, {}, squares),
    Entry("Ridge", linear.Ridge, {}, ridge),
    Entry("Lasso", linear.Lasso, a_tenth, elastic_net),
    Entry("ElasticNet", linear.ElasticNet, a_tenth, elastic_net),
    Entry("RidgeCV", linear.RidgeCV, {"cv": 5}),
    Entry("LassoCV", linear.LassoCV, {"alphas": 100}),
    Entry("LassoCV elastic", linear.ElasticNetCV, {"alphas": 100, "l1_ratio": 0.5}),
    Entry("LogisticRegression", linear.LogisticRegression, {}, log_loss, target="classes"),
    Entry("LinearSVC", svm.LinearSVC, {}, hinge(2), target="classes"),
    Entry("LinearSVC hinge", svm.LinearSVC, {"loss": "hinge"}, hinge(1), target="classes"),
    Entry("LinearSVR", svm.LinearSVR, {}, tube),
    Entry("HuberRegressor", linear.HuberRegressor, {}, shapes=DENSE),
    Entry("QuantileRegressor", linear.QuantileRegressor, {"alpha": 0.0}, shapes=("tiny", "middle")),
    Entry("PoissonRegressor", linear.PoissonRegressor, {}, deviance, target="counts"),
    Entry("Perceptron", linear.Perceptron, {}, target="classes"),
)
