"""A small fit of every model on every kind of table, so that all its loops are compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import separatrix
from separatrix import catalogue
from separatrix.compilation import watch

#: What is called after ``fit``, where a model has it.
METHODS = (
    "predict", "predict_proba", "decision_function", "transform", "kneighbors", "score_samples",
    "certainty",
)  # fmt: skip


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


#: Folders with most to compile, and so the first to begin.
HEAVY = ("svm", "cluster", "linear", "logistic", "neighbors", "bayes", "study")


def families() -> list[str]:
    """The folders that models live in, those with most to compile first."""
    others = {declared.family for declared in catalogue.DECLARATIONS.values()} | set(FUNCTIONS)
    return [*HEAVY, *sorted(others - {*HEAVY, ""})]


def compile_family(family: str) -> Compiled:
    """Fit every model of a family once to every kind of table."""
    watch.announce = lambda _: None
    loops, seconds = watch.count, watch.seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for declared in catalogue.DECLARATIONS.values():
            if declared.family == family:
                for options, table in cases(declared):
                    fit(declared, options, table)
        for call in FUNCTIONS.get(family, ()):
            call()
    return Compiled(family, watch.count - loops, watch.seconds - seconds, watch.stored)


def cases(declared: catalogue.Declaration) -> Iterator[tuple[Mapping[str, Any], FirstFitTable]]:
    """The fits that lead to all loops of a class: parameters and tables."""
    for options in ({}, *declared.variants):
        for table in tables():
            if table.name != "tall" or (declared.large and not options):
                yield options, table


def fit(declared: catalogue.Declaration, options: Mapping[str, Any], table: FirstFitTable) -> None:
    """Fit a model to a table and predict; it may refuse a kind of table: it has no loops then."""
    with suppress(*(() if table.name == "plain" else (TypeError, ValueError))):
        use(declared.make().set_params(**options), declared.task, table)


def use(estimator: Any, task: str, table: FirstFitTable) -> None:
    """Fit an estimator of a task to a table, and ask it for all that it answers."""
    tags = estimator.__sklearn_tags__()
    if tags.input_tags.positive_only:
        table = table._replace(x=abs(table.x))
    if tags.target_tags.positive_only:
        table = table._replace(y=abs(table.y))
    if tags.input_tags.one_d_array:
        table = table._replace(x=table.x[:, :1])
    if task == catalogue.CALIBRATION:  # from scores of one class, or of each
        each = isinstance(estimator, separatrix.TemperatureCalibration)
        scores = np.column_stack([-table.y, table.y]) if each else table.y
        estimator.fit(scores, table.y > 0).predict(scores)
        return
    if task == catalogue.REGRESSION:
        estimator.fit(table.x, table.y)
    elif task == catalogue.CLASSIFICATION or tags.target_tags.required:
        estimator.fit(table.x, table.labels)
    else:
        estimator.fit(table.x)
    for method in METHODS:
        if hasattr(estimator, method):
            getattr(estimator, method)(table.x)


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
                separatrix.run_study(
                    separatrix.scan(table.x, target=y), models=models, verbose=False
                )
    mixed = {"a": table.x[:90, 0].tolist(), "b": ["u", "v", "w"] * 30}
    separatrix.run_clusters(
        separatrix.scan(mixed), k=2, method="kmedoids", metric="gower", verbose=False
    )


#: What a family does beside fitting models.
FUNCTIONS: dict[str, tuple[Callable[[], None], ...]] = {
    "bayes": (_posterior_draws,),
    "cluster": (_silhouettes,),
    "study": (_studies,),
    "svm": (_strings,),
    "geometry": (_separability,),
}
