"""Kernels, metrics, ties, weights, wide rows and many rows: graphs give the answers of models."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import separatrix as sx
from separatrix.export.check import answers_of
from separatrix.export.onnx.document import build_graph
from separatrix.export.onnx.export import agreement, onnx_file, roundings, run
from separatrix.formula.values import NoFormula

ort = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(1)
N = 60
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.2 * RNG.normal(size=N)
TWO = np.where(np.median(Y) < Y, "b", "a")
THREE = np.digitize(Y, np.quantile(Y, [0.33, 0.66]))
X_BOX = np.where((np.abs(X) < 1.2).all(axis=1), "a", "b")
LATTICE = RNG.integers(0, 4, size=(N, 3)).astype(float)
WEIGHTS = RNG.integers(1, 4, N) * 0.5
WIDE = RNG.normal(size=(N, 40)) * 3.0 + 50.0


def fitted(model: Any, *data: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **options)


def assert_agrees(model: Any, x: Any, level: float = 0.8) -> None:
    found = agreement(build_graph(model, level=level), {"X": x}, answers_of(model, x, level))
    assert found.holds, str(found)
    assert not found.ties


KERNELS: list[Any] = [
    "linear",
    "poly",
    "sigmoid",
    sx.Matern(1.5, nu=0.5),
    sx.Matern((1.0, 2.0, 3.0), nu=2.5),
    sx.Laplace((1.0, 2.0, 3.0), 1.3),
    sx.Laplace(1.5, norm=1),
    sx.RationalQuadratic(1.0, alpha=0.3),
    sx.Periodic(1.0, period=2.0),
    2.1 * sx.Gaussian(1.0) + sx.Constant(0.3) * sx.Linear(),
    sx.Gaussian(1.0) * sx.Polynomial(2),
    sx.Polynomial(3).normalized(),
    (0.1 * sx.Linear()).exp(),
    sx.Gaussian(1.0) ** 1.5,
    sx.Fixed(sx.Gaussian(2.0)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernels(kernel: Any) -> None:
    assert_agrees(fitted(sx.SVR(kernel=kernel), X, Y), X + 0.1)


METRICS: list[tuple[Any, Any]] = [
    ("manhattan", LATTICE),
    ("chebyshev", LATTICE),
    (sx.Minkowski(1.5, (1.0, 2.0, 0.0)), X),
    ("cosine", X),
    ("correlation", X),
    ("mahalanobis", X),
    ("seuclidean", X),
    ("canberra", X),
    ("braycurtis", np.abs(X)),
    ("hamming", LATTICE),
    ("jaccard", (X > 0).astype(float)),
    ("yule", (X > 0).astype(float)),
    ("nan_euclidean", np.where(RNG.random(X.shape) < 0.1, np.nan, X)),
]


@pytest.mark.parametrize(("metric", "x"), METRICS, ids=lambda one: str(one)[:20])
def test_metrics(metric: Any, x: Any) -> None:
    model = sx.KNeighborsClassifier(4, metric=metric, weights="distance", smoothing=0.3)
    assert_agrees(fitted(model, x, THREE), x)


@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian", sx.Gaussian(1.0)])
def test_ties_in_distance_go_to_the_first_row(weights: Any) -> None:
    model = sx.KNeighborsClassifier(5, weights=weights)
    assert_agrees(fitted(model, LATTICE, THREE), LATTICE)
    assert_agrees(fitted(model, LATTICE, THREE, sample_weight=WEIGHTS), LATTICE)
    pair = np.stack([Y, Y**2], axis=1)
    assert_agrees(fitted(sx.KNeighborsRegressor(5, weights=weights), LATTICE, pair), LATTICE)
    radius = sx.RadiusNeighborsClassifier(1.0, weights=weights, outlier_label=9)
    assert_agrees(fitted(radius, LATTICE, THREE), X)


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "wide neighbors": lambda: (
        fitted(sx.KNeighborsClassifier(7, weights="distance"), WIDE, TWO),
        WIDE,
    ),
    "wide lattice": lambda: (fitted(sx.KNeighborsClassifier(7), WIDE.round(-1), TWO), WIDE),
    "wide process": lambda: (
        fitted(
            sx.GaussianProcessRegressor(sx.Gaussian(10.0) + sx.White(0.1), optimizer=None), WIDE, Y
        ),
        WIDE,
    ),
    "wide clusters": lambda: (fitted(sx.KMeans(3, random_state=0), WIDE), WIDE),
    "far from zero": lambda: (fitted(sx.SVC(gamma=0.5), X + 1e6, THREE), X + 1e6),
    "one column": lambda: (fitted(sx.SVC(standardize=True), X[:, :1] / 3, TWO), X[:, :1]),
    "pairs": lambda: (fitted(sx.SVC(decision_function_shape="ovo"), LATTICE, THREE), LATTICE),
    "coupled": lambda: (fitted(sx.SVC(probability=True), X, THREE), X),
    "one class": lambda: (fitted(sx.OneClassSVM(), X), X),
    "gram matrix": lambda: (fitted(sx.SVC(kernel="precomputed"), X @ X.T, THREE), X @ X.T),
    "processes of pairs": lambda: (
        fitted(
            sx.GaussianProcessClassifier(
                4.0 * sx.Gaussian(2.0), optimizer=None, multi_class="one_vs_one"
            ),
            X,
            THREE,
        ),
        X,
    ),
    "probit": lambda: (
        fitted(sx.BayesianLogisticRegression(approximation="probit"), X, TWO),
        5.0 * X,
    ),
    "probit of three": lambda: (
        fitted(sx.BayesianLogisticRegression(approximation="probit"), X, THREE),
        5.0 * X,
    ),
    "wide posterior": lambda: (
        fitted(sx.BayesianLogisticRegression(prior_scale=9.0), 5 * X, TWO),
        50.0 * X,
    ),
    "rejecting": lambda: (
        fitted(sx.OneVsRest(sx.LogisticRegression(), reject=True, reject_label=-5), X, THREE),
        X,
    ),
    "rejecting pairs": lambda: (
        fitted(sx.OneVsOne(sx.LeastSquaresClassifier(), reject=True), X, THREE),
        X,
    ),
    "costs": lambda: (
        fitted(
            sx.RejectOption(sx.CalibratedClassifier(sx.SVC(), method="isotonic", cv=3), costs=0.2),
            X,
            THREE,
        ),
        X,
    ),
    "a concept": lambda: (fitted(sx.BoxClassifier(concept="a", reject=True), X, X_BOX), 1.5 * X),
    "ellipsoids": lambda: (fitted(sx.EllipsoidClassifier(reject=True), X, THREE), 1.5 * X),
    "flat ellipsoids": lambda: (
        fitted(sx.EllipsoidClassifier(), X[:, [0, 1, 2, 0]], TWO),
        X[:, [0, 1, 2, 0]],
    ),
    "truth values": lambda: (fitted(sx.LogisticRegression(), X, TWO == "b"), X),
    "conformal": lambda: (fitted(sx.ConformalRegressor(sx.Ridge()), X, Y), X),
    "conformal, normalized": lambda: (
        fitted(sx.ConformalRegressor(sx.BayesianRidge(), conformity="normalized"), X, Y),
        X,
    ),
    "conformal, quantiles": lambda: (
        fitted(sx.ConformalRegressor(sx.QuantileRegressor(), conformity="quantile"), X, Y),
        X,
    ),
    **{
        f"conformal, {name}": lambda name=name: (
            fitted(sx.ConformalClassifier(sx.LogisticRegression(), conformity=name), X, THREE),
            X + 1e-3,  # the threshold is the score of a row of X, of which rounding would decide
        )
        for name in ("lac", "margin", "aps", "raps")
    },
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    assert_agrees(*MODELS[name]())


def test_pipelines() -> None:
    from sklearn.pipeline import make_pipeline

    terms = sx.BasisExpansion(["quadratic", "cosine", ("jump", 0.5), "sigmoid", ("gaussian", 4)])
    assert_agrees(fitted(make_pipeline(terms, sx.LogisticRegression()), X, THREE), X)
    assert_agrees(fitted(make_pipeline(sx.Standardize(), sx.Whiten(), sx.SVC()), X, THREE), X)


def test_another_runtime_gives_the_same() -> None:
    """The reference implementation of ONNX itself, in NumPy."""
    from onnx.reference import ReferenceEvaluator

    kernel = sx.Gaussian(1.0) + sx.White(0.1)
    for model in (
        fitted(sx.SVC(probability=True), X, THREE),
        fitted(sx.KNeighborsClassifier(3), X, TWO),
        fitted(sx.GaussianProcessRegressor(kernel, optimizer=None), X, Y),
    ):
        document, answers = build_graph(model).document, answers_of(model, X, 0.95)
        outputs = [each.name for each in document.graph.output]
        for name, value in zip(
            outputs, ReferenceEvaluator(document).run(None, {"X": X}), strict=True
        ):
            if value.dtype.kind == "f":
                np.testing.assert_allclose(value, answers[name], rtol=1e-10, atol=1e-12)
            else:
                assert (value == answers[name]).all()


def test_sums_that_cancel_are_as_right_as_the_model_itself() -> None:
    line = X @ [1.0, -2.0, 0.5]
    kernel = 1e8 * sx.Gaussian(1e3) + sx.White(0.01)
    model = fitted(sx.GaussianProcessRegressor(kernel, optimizer=None), X, line + 0.1 * Y)
    answers = answers_of(model, X, 0.8)
    found = agreement(build_graph(model, level=0.8), {"X": X}, answers, roundings(model, X))
    assert found.holds, str(found)
    assert found.rounding > 1e-9


@pytest.mark.parametrize("n", [1, 2, 33, 5000])
def test_rows_in_tiles(n: int) -> None:
    """Tiles of 33 000 distances have 33 rows of 1 000 points, or fewer."""
    points = np.random.default_rng(0).normal(size=(1000, 2))
    model = fitted(sx.KNeighborsRegressor(3), points, points[:, 0])
    x = np.random.default_rng(2).normal(size=(n, 2))
    found = run(build_graph(model), {"X": x})["prediction"]
    np.testing.assert_allclose(found, model.predict(x), rtol=1e-12)


def test_no_rows() -> None:
    for model in (fitted(sx.SVC(), X, THREE), fitted(sx.LinearRegression(), X, Y)):
        found = run(build_graph(model), {"X": np.empty((0, 3))})
        assert found["prediction"].shape == (0,)


def test_rows_that_the_model_refuses() -> None:
    """A number is NaN; a label that nobody may believe is an error of the runtime."""
    x = X.copy()
    x[3, 1] = np.nan
    line = run(build_graph(fitted(sx.LinearRegression(), X, Y)), {"X": x})["prediction"]
    assert np.isnan(line).tolist() == [i == 3 for i in range(N)]
    with pytest.raises(Exception, match="out of data bounds"):
        run(build_graph(fitted(sx.LogisticRegression(), X, TWO)), {"X": x})


#: How a model is made, words of its refusal, and of the reason in the guide.
REFUSALS: dict[str, tuple[Callable[[], Any], str, str]] = {
    "hierarchy": (
        lambda: fitted(sx.AgglomerativeClustering(3), X),
        "predicts nothing for new rows",
        "predicts nothing for new rows",
    ),
    "posterior": (
        lambda: fitted(sx.BayesianLogisticRegression(), X, THREE),
        "eigenvectors of a matrix for every row",
        "eigenvectors of a matrix for every row",
    ),
    "bessel": (
        lambda: fitted(sx.SVR(kernel=sx.Matern(1.0, nu=0.7)), X, Y),
        "needs Bessel functions",
        "need Bessel functions",
    ),
    "objects": (
        lambda: fitted(sx.SVC(kernel=sx.Spectrum(2)), ["abc", "bcd", "xyz", "xyy"], [0, 0, 1, 1]),
        "compares objects",
        "ONNX has tensors only",
    ),
    "function": (
        lambda: fitted(sx.SVR(kernel=lambda a, b: a @ b.T), X, Y),
        "no formula in ONNX operators",
        "no formula in ONNX operators",
    ),
    "metric": (
        lambda: fitted(sx.KNeighborsClassifier(metric="haversine"), X[:, :2], TWO),
        "no formula in ONNX operators",
        "Haversine, Gower and kernel distances",
    ),
    "weights": (
        lambda: fitted(sx.KNeighborsClassifier(weights=lambda d: d + 1.0), X, TWO),
        "a function of one's own",
        "of one's own",
    ),
    "distances": (
        lambda: fitted(sx.KNeighborsClassifier(metric="precomputed"), np.abs(X @ X.T), TWO),
        "no rows to compare with",
        "no rows to compare with",
    ),
    "labels": (
        lambda: fitted(sx.OneVsRest(sx.LogisticRegression()), X, np.eye(3)[THREE].astype(int)),
        "Several labels",
        "several labels",
    ),
    "outliers": (
        lambda: fitted(sx.RadiusNeighborsClassifier(5.0), X, TWO),
        "give an outlier_label",
        "without `outlier_label`",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    make, words, reason = REFUSALS[name]
    with pytest.raises(NoFormula, match=words):
        onnx_file(make())
    guide = Path(__file__).parents[3] / "docs" / "guide" / "export.md"
    assert reason in guide.read_text(encoding="utf-8")  # the list that is reviewed


def test_a_file_says_what_it_is() -> None:
    import json

    import onnx

    model = fitted(sx.LogisticRegression(), X, TWO)
    found = onnx_file(model)
    assert found.agreement.holds
    assert found.inputs == ("X",)
    assert found.outputs == ("prediction", "probabilities", "scores")
    document = onnx.load_from_string(found.content)
    about = {one.key: one.value for one in document.metadata_props}
    assert document.producer_name == "separatrix"
    assert about["model"] == "LogisticRegression"
    assert json.loads(about["classes"]) == ["a", "b"]
    assert onnx_file(model).content == found.content
