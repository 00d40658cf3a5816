"""Fitted models of every family that has an export, on small tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import separatrix as sx

N = 120


@cache
def matrix() -> tuple[Any, Any, Any, Any]:
    """Numbers (four columns of different units), a numeric target, two and three classes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 4)) * [1.0, 30.0, 0.01, 1.0] + [0.0, 500.0, 3.0, -1.0]
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    y = z @ [1.0, -2.0, 0.5, 0.0] + 0.3 * rng.normal(size=N)
    two = np.where(y + 0.8 * rng.normal(size=N) > 0, "yes", "no")
    three = np.array(["b", "a b", "c'd"])[np.clip((y // 1.6).astype(int) + 1, 0, 2)]
    return x, y, two, three


@cache
def table() -> pa.Table:
    """Levels, booleans, missing values; a rent and a class."""
    rng = np.random.default_rng(1)
    town = rng.choice(["a", "b", "it's", '"q"', None], size=N, p=[0.4, 0.2, 0.15, 0.15, 0.1])
    area = np.where(rng.random(N) < 0.1, np.nan, rng.normal(90, 20, N))
    garden = rng.choice([True, False, None], size=N, p=[0.5, 0.4, 0.1])
    rent = 2 * np.nan_to_num(area, nan=90) + 30 * (town == "b") + rng.normal(0, 5, N)
    kind = np.where(rent + rng.normal(0, 20, N) > 190, "dear", "cheap")
    return pa.table(
        {"town": town, "area": pa.array(area, from_pandas=True), "garden": garden}
        | {"rent": rent, "kind": kind}
    )


def rows(target: str, **options: Any) -> Any:
    """The table as training rows."""
    other = "kind" if target == "rent" else "rent"
    return sx.scan(table(), target=target, kinds={other: "ignore"}, **options)


def numbers(model: Any) -> Any:
    x, y, _, _ = matrix()
    return model.fit(x, y)


def two(model: Any) -> Any:
    x, _, y, _ = matrix()
    return model.fit(x, y)


def three(model: Any) -> Any:
    x, _, _, y = matrix()
    return model.fit(x, y)


def scaled() -> Any:
    """The matrix in units of its columns."""
    x = matrix()[0]
    return (x - x.mean(axis=0)) / x.std(axis=0)


def few(model: Any, classes: int = 0) -> Any:
    """A model that stores its rows, fitted to few of them."""
    number = {2: 2, 3: 3}.get(classes, 3 if hasattr(model, "predict_proba") else 1)
    return model.fit(scaled()[:30], matrix()[number][:30])


#: The covariance of a process, with noise.
PROCESS = 2.0 * sx.Gaussian(2.0) + sx.White(0.1)


def counts(model: Any, classes: int) -> Any:
    x = np.floor(np.abs(matrix()[0] / [0.5, 200, 1, 0.5]))
    return model.fit(x, matrix()[2 if classes == 2 else 3])


def calibrated(estimator: Any, method: str) -> Any:
    return sx.CalibratedClassifier(estimator, method=method, cv=3)


COSTS = {"no": {"yes": 3.0, "reject": 0.4}, "yes": {"no": 1.0, "reject": 0.3}}

MODELS: dict[str, Callable[[], Any]] = {
    "least squares": lambda: numbers(sx.LinearRegression()),
    "lasso": lambda: numbers(sx.Lasso(alpha=0.3, standardize=True)),
    "two targets": lambda: sx.Ridge().fit(matrix()[0], np.stack([matrix()[1]] * 2, axis=1)),
    "baseline": lambda: numbers(sx.MeanRegressor()),
    "polynomial": lambda: numbers(sx.PolynomialRegression(degree=3, alpha=0.1)),
    "additive": lambda: numbers(sx.AdditiveRegressor(n_knots=4, interactions=[(0, 1)])),
    "table, additive": lambda: sx.AdditiveRegressor(n_knots=4).fit(rows("rent")),
    "additive counts": lambda: sx.AdditivePoissonRegressor(n_knots=4).fit(
        matrix()[0], np.exp(matrix()[1] / np.abs(matrix()[1]).max())
    ),
    "counts": lambda: sx.PoissonRegressor(alpha=0.01).fit(
        matrix()[0], np.exp(matrix()[1] / np.abs(matrix()[1]).max())
    ),
    "additive classes": lambda: two(sx.AdditiveClassifier(n_knots=4)),
    "additive, three classes": lambda: three(sx.AdditiveClassifier(n_knots=4, interactions=1)),
    "bayesian ridge": lambda: numbers(sx.BayesianRidge()),
    "huber": lambda: numbers(sx.HuberRegressor()),
    "logistic": lambda: two(sx.LogisticRegression()),
    "logistic of three": lambda: three(sx.LogisticRegression(standardize=True)),
    "numbered classes": lambda: sx.LogisticRegression().fit(matrix()[0], matrix()[1] > 0),
    "most frequent": lambda: three(sx.MostFrequentClassifier()),
    "linear svm": lambda: three(sx.LinearSVC(standardize=True)),
    "linear svm, platt": lambda: two(sx.LinearSVC(standardize=True, probability=True)),
    "perceptron": lambda: two(sx.Perceptron()),
    "sigmoid regression": lambda: three(sx.SigmoidRegressionClassifier()),
    "least squares classes": lambda: three(sx.LeastSquaresClassifier()),
    "class means": lambda: two(sx.BasicLinearClassifier(scatter="diagonal")),
    "lda": lambda: three(sx.LinearDiscriminantAnalysis()),
    "lda of two": lambda: two(sx.LinearDiscriminantAnalysis()),
    "qda": lambda: three(sx.QuadraticDiscriminantAnalysis()),
    "rda": lambda: three(sx.RegularizedDiscriminantAnalysis()),
    "gaussian nb": lambda: three(sx.GaussianNB()),
    "nearest mean": lambda: three(sx.NearestMean()),
    "multinomial nb": lambda: counts(sx.MultinomialNB(), 3),
    "multinomial nb, not smoothed": lambda: counts(sx.MultinomialNB(alpha=0.0), 3),
    "complement nb": lambda: counts(sx.ComplementNB(), 3),
    "bernoulli nb": lambda: counts(sx.BernoulliNB(binarize=1.0), 2),
    "bernoulli nb, not smoothed": lambda: counts(sx.BernoulliNB(alpha=0.0, binarize=1.0), 3),
    "naive bayes": lambda: sx.NaiveBayes().fit(rows("kind")),
    "naive bayes, not smoothed": lambda: sx.NaiveBayes(smoothing=0.0).fit(rows("kind")),
    "boxes": lambda: three(sx.BoxClassifier()),
    "boxes, rejecting": lambda: two(sx.BoxClassifier(reject=True)),
    "unions of boxes": lambda: two(sx.UnionOfBoxes()),
    "kmeans": lambda: sx.KMeans(3, standardize=True, random_state=0).fit(matrix()[0]),
    "platt": lambda: two(calibrated(sx.LinearSVC(standardize=True), "platt")),
    "isotonic": lambda: three(calibrated(sx.LinearDiscriminantAnalysis(), "isotonic")),
    "logistic calibration": lambda: three(calibrated(sx.GaussianNB(), "logistic")),
    "temperature": lambda: three(calibrated(sx.GaussianNB(), "temperature")),
    "temperature of scores": lambda: two(calibrated(sx.LinearSVC(), "temperature")),
    "costs": lambda: two(sx.RejectOption(sx.LogisticRegression(), costs=COSTS)),
    "bayesian logistic": lambda: two(sx.BayesianLogisticRegression(approximation="probit")),
    "bayesian logistic of three": lambda: three(
        sx.BayesianLogisticRegression(approximation="probit")
    ),
    "conformal": lambda: numbers(sx.ConformalRegressor(sx.Ridge(), method="split")),
    "conformal sets": lambda: three(sx.ConformalClassifier(sx.GaussianNB())),
    "average by evidence": lambda: numbers(
        sx.ModelAverage([sx.LinearRegression(), sx.BayesianRidge()])
    ),
    "average": lambda: three(
        sx.AveragedClassifier([sx.LinearDiscriminantAnalysis(), sx.GaussianNB()], cv=3)
    ),
    "logarithmic pool": lambda: three(
        sx.AveragedClassifier(
            [sx.LinearDiscriminantAnalysis(), sx.GaussianNB()], cv=3, pool="logarithmic"
        )
    ),
    "average of numbers": lambda: numbers(
        sx.AveragedRegressor([sx.LinearRegression(), sx.MeanRegressor()], cv=3)
    ),
    "kernel svm": lambda: two(sx.SVC(standardize=True)),
    "kernel svm of pairs": lambda: few(sx.SVC(standardize=True, probability=True), classes=3),
    "support vector regression": lambda: numbers(sx.SVR(kernel=sx.Matern(2.0, nu=1.5), C=10.0)),
    "one class": lambda: sx.OneClassSVM(nu=0.2, gamma=0.1).fit(scaled()),
    "neighbors": lambda: few(sx.KNeighborsClassifier(3, smoothing=0.5, standardize=True)),
    "weighted neighbors": lambda: few(sx.KNeighborsRegressor(3, weights="distance")),
    "kernel mean": lambda: few(sx.NadarayaWatson(0.7)),
    "nearest exemplar": lambda: three(sx.NearestExemplar(standardize=True)),
    "process": lambda: few(sx.GaussianProcessRegressor(PROCESS, optimizer=None)),
    "process of classes": lambda: few(
        sx.GaussianProcessClassifier(4.0 * sx.Gaussian(2.0), optimizer=None), classes=2
    ),
    "one against one": lambda: three(sx.OneVsOne(sx.LinearDiscriminantAnalysis(), reject=True)),
    "one against the rest": lambda: three(sx.OneVsRest(sx.LogisticRegression())),
    "balls": lambda: three(sx.BallClassifier(reject=True)),
    "ellipsoids": lambda: two(sx.EllipsoidClassifier()),
    "medoids": lambda: sx.KMedoids(3, random_state=0).fit(scaled()),
    "kernel clusters": lambda: sx.KernelKMeans(2, random_state=0).fit(scaled()[:30]),
    "normalized conformal": lambda: numbers(
        sx.ConformalRegressor(sx.BayesianRidge(), conformity="normalized")
    ),
    "table, kernel svm": lambda: sx.SVC(standardize=True).fit(rows("kind")),
    "table": lambda: sx.Ridge().fit(rows("rent")),
    "table, indicators": lambda: sx.LinearRegression().fit(rows("rent", missing="indicator")),
    "table, zeros": lambda: sx.LogisticRegression().fit(rows("kind", unseen="zeros")),
    "table, refusing levels": lambda: sx.LogisticRegression().fit(rows("kind", unseen="error")),
    "table, kmeans": lambda: sx.KMeans(3, standardize=True, random_state=0).fit(
        sx.scan(table(), kinds={"kind": "ignore"})
    ),
}


@cache
def fitted(name: str) -> Any:
    """One of the models, fitted once."""
    return MODELS[name]()
