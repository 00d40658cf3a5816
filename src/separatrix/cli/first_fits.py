"""A small fit of every model on every kind of table, so that all its loops are compiled."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OutlierMixin, TransformerMixin, is_classifier, is_regressor

import separatrix
from separatrix.compilation import watch

#: Options that lead to other loops than the defaults do.
OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "AgglomerativeClustering": tuple(
        {"linkage": linkage} for linkage in ("single", "complete", "average", "centroid", "ward")
    ),
    "Lasso": ({}, {"positive": True}),
    "LinearSVC": (
        {"loss": "hinge"},
        {},
        {"penalty": "l1", "dual": False},
        {"multi_class": "crammer_singer"},
    ),
    "LinearSVR": ({}, {"loss": "squared_epsilon_insensitive"}),
    "LogisticRegression": ({}, {"C": np.inf}, {"l1_ratio": 1.0, "solver": "saga"}),
    "LogisticPath": ({}, {"l1_ratio": 1.0}),
    "Perceptron": ({}, {"average": True}),
    "SVC": ({}, {"kernel": "linear"}, {"kernel": "poly"}),
}
#: What is called after ``fit``, where a model has it.
METHODS = (
    "predict", "predict_proba", "decision_function", "transform", "kneighbors", "score_samples",
    "certainty",
)  # fmt: skip
#: Models with other loops for many rows.
LARGE = {
    "KMeans", "KNeighborsClassifier", "LinearDiscriminantAnalysis", "LinearRegression", "LinearSVC",
    "LinearSVR", "LogisticRegression", "NearestNeighbors", "QuadraticDiscriminantAnalysis", "SVC",
    "SVR",
}  # fmt: skip


class FirstFitTable(NamedTuple):
    """Rows with a number and a label each."""

    name: str
    x: Any
    y: Any
    labels: Any


class Compiled(NamedTuple):
    """What the models of a family needed: loops, and seconds."""

    family: str
    loops: int
    seconds: float
    stored: bool


def families() -> list[str]:
    """The folders that models live in, those with most to compile first."""
    heavy = ("svm", "cluster", "linear", "logistic", "neighbors")
    light = ("discriminant", "hypotheses", "perceptron", "probability", "estimators", "geometry")
    return [*heavy, "bayes", "study", *light]


def compile_family(family: str) -> Compiled:
    """Fit every model of a family once to every kind of table."""
    watch.announce = lambda _: None
    loops, seconds = watch.count, watch.seconds
    names = [name for name, home in separatrix.HOMES.items() if home.split(".")[1] == family]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            model = getattr(separatrix, name)
            if inspect.isclass(model) and issubclass(model, BaseEstimator):
                _fit_all(name, model)
        for call in FUNCTIONS.get(family, ()):
            call()
    return Compiled(family, watch.count - loops, watch.seconds - seconds, watch.stored)


def _fit_all(name: str, model: type[Any]) -> None:
    for options in OPTIONS.get(name, ({},)):
        for table in tables():
            if table.name != "tall" or (name in LARGE and not options):
                fit(name, model, options, table)


def fit(name: str, model: type[Any], options: dict[str, Any], table: FirstFitTable) -> None:
    """Fit a model to a table and predict; it may refuse a kind of table: it has no loops then."""
    arguments = (*_fill_required(name, model), *((3,) if "KMe" in name else ()))
    with suppress(*(() if table.name == "plain" else (TypeError, ValueError))):
        _use(model(*arguments, **options), table)


def _use(estimator: Any, table: FirstFitTable) -> None:
    if estimator.__sklearn_tags__().input_tags.positive_only:
        table = table._replace(x=abs(table.x))
    if is_classifier(estimator):
        estimator.fit(table.x, table.labels)
    elif is_regressor(estimator):
        estimator.fit(table.x, table.y)
    elif isinstance(estimator, OutlierMixin | TransformerMixin) or "X" in _parameters(estimator):
        estimator.fit(table.x)
    else:  # a calibration: from scores of one class, or of each
        each = isinstance(estimator, separatrix.TemperatureCalibration)
        scores = np.column_stack([-table.y, table.y]) if each else table.y
        estimator.fit(scores, table.y > 0).predict(scores)
        return
    for method in METHODS:
        if hasattr(estimator, method):
            getattr(estimator, method)(table.x)


def _parameters(estimator: Any) -> Any:
    return inspect.signature(estimator.fit).parameters


def _fill_required(name: str, model: type[Any]) -> Iterator[Any]:
    """Arguments without a default: the models that another is made of."""
    for parameter in list(inspect.signature(model).parameters.values()):
        if parameter.name == "estimator":
            yield separatrix.GaussianNB()
        elif parameter.name == "estimators" and name.endswith("Classifier"):
            yield [separatrix.GaussianNB(), separatrix.NearestMean()]
        elif parameter.name == "estimators" and name == "EvidenceAveraging":
            yield [separatrix.BayesianRidge(), separatrix.ARDRegression()]
        elif parameter.name == "estimators":
            yield [separatrix.LinearRegression(), separatrix.MeanRegressor()]


def tables() -> Iterator[FirstFitTable]:
    """Every kind of table: plain, two classes, single precision, wide, sparse, many rows."""
    rng = np.random.default_rng(0)
    for name, n, d in (
        ("plain", 90, 3), ("two", 90, 3), ("single", 90, 3), ("wide", 16, 24), ("sparse", 90, 30),
        ("tall", 2600, 12),
    ):  # fmt: skip
        x = rng.standard_normal((n, d))
        y = x[:, 0] + 0.5 * rng.standard_normal(n)
        cuts = [0.0] if name in ("two", "tall") else [-0.5, 0.5]
        labels = np.array(["a", "b", "c"])[np.digitize(y, cuts)]
        if name == "single":
            x = x.astype(np.float32)
        if name == "sparse":
            x = sparse.csr_matrix(np.where(rng.random((n, d)) < 0.2, np.abs(x), 0.0))
        yield FirstFitTable(name, x, y, labels)


def _silhouettes() -> None:
    table = next(tables())
    separatrix.silhouette(table.x, table.labels)


def _separability() -> None:
    for table in tables():
        if table.name in ("two", "sparse"):
            separatrix.linear_separability(table.x, np.where(table.y > 0, "a", "b"))


def _strings() -> None:
    words = ["word", "world", "wide", "side"] * 5
    labels = ["a", "b"] * 10
    separatrix.SVC(kernel=separatrix.kernels.Spectrum(2)).fit(words, labels).predict(words)
    separatrix.KNeighborsClassifier(1, metric="edit").fit(words, labels).predict(words)


def _posterior_draws() -> None:
    for table in tables():
        if table.name in ("plain", "two"):
            model = separatrix.BayesianLogisticRegression().fit(table.x, table.labels)
            methods = ("hamiltonian", "polya_gamma") if table.name == "two" else ("hamiltonian",)
            for method in methods:
                model.sample(2, n_warmup=1, method=method, random_state=0)


def _studies() -> None:
    """The split of rows, and searches on its folds."""
    for table in tables():
        if table.name in ("plain", "two"):
            for y, models in ((table.y, ["neighbors"]), (table.labels, ["neighbors", "bayes"])):
                separatrix.run_study(separatrix.scan(table.x, target=y), models=models)
    mixed = {"a": table.x[:90, 0].tolist(), "b": ["u", "v", "w"] * 30}
    separatrix.run_clusters(separatrix.scan(mixed), k=2, method="kmedoids", metric="gower")


#: What a family does beside fitting models.
FUNCTIONS: dict[str, tuple[Callable[[], None], ...]] = {
    "bayes": (_posterior_draws,),
    "cluster": (_silhouettes,),
    "study": (_studies,),
    "svm": (_strings,),
    "geometry": (_separability,),
}
