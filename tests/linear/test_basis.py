"""Basis functions: values, names, pipelines, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix as sx
from separatrix.rows.rows import ArrayRows

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (80, 3))


@parametrize_with_checks(
    [
        sx.BasisExpansion(),
        sx.BasisExpansion([("polynomial", 3), "cosine"]),
        sx.BasisExpansion(["sigmoid", ("gaussian", 3)]),
    ]
)
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_polynomials_are_those_of_scikit_learn(degree) -> None:
    own = sx.BasisExpansion([("polynomial", degree)]).fit(X)
    peer = PolynomialFeatures(degree, include_bias=False).fit(X)
    assert list(own.get_feature_names_out()) == list(peer.get_feature_names_out())
    assert_allclose(own.transform(X), peer.transform(X), rtol=1e-12)


def test_every_word_and_its_name() -> None:
    functions = ["linear", "squares", "products", ("cosine", 1, 2), ("jump", 0.5), np.exp]
    found = sx.BasisExpansion([*functions, ("cube", lambda v: v**3)]).fit(X[:, :2])
    a, b = X[:, 0], X[:, 1]
    expected = {
        "x0": a,
        "x1": b,
        "x0^2": a**2,
        "x1^2": b**2,
        "x0 x1": a * b,
        "cos(x0)": np.cos(a),
        "cos(x1)": np.cos(b),
        "cos(2 x0)": np.cos(2 * a),
        "cos(2 x1)": np.cos(2 * b),
        "1{x0<0.5}": a < 0.5,
        "1{x1<0.5}": b < 0.5,
        "exp(x0)": np.exp(a),
        "exp(x1)": np.exp(b),
        "cube(x0)": a**3,
        "cube(x1)": b**3,
    }
    assert found.term_names_ == tuple(expected)
    assert_allclose(found.transform(X[:, :2]), np.column_stack(list(expected.values())))


def test_a_term_that_occurs_twice_is_used_once() -> None:
    both = sx.BasisExpansion(["linear", "quadratic", "squares"]).fit(X)
    assert both.term_names_ == sx.BasisExpansion(["quadratic"]).fit(X).term_names_


def test_names_of_a_table_with_levels(rng: np.random.Generator) -> None:
    frame = pd.DataFrame(
        {"size": X[:, 0], "town": rng.choice(["a", "b", "c"], 80), "new": X[:, 2] > 0}
    )
    rows = sx.scan(frame.assign(y=X[:, 1]), target="y")
    found = sx.BasisExpansion(["quadratic"]).fit(rows)
    dummies = [n for n in found.term_names_ if n.startswith("town=") and " " not in n]
    assert len(dummies) == 2
    assert not any("^2" in name and name.startswith("town") for name in found.term_names_)
    assert "new" in found.term_names_
    assert "new^2" not in found.term_names_
    assert "size^2" in found.get_feature_names_out()
    assert found.transform(frame).shape == (80, len(found.term_names_))


def test_a_circle_is_a_straight_line_in_squares() -> None:
    y = np.where((X[:, :2] ** 2).sum(axis=1) < 2, "inside", "outside")
    pipe = make_pipeline(sx.BasisExpansion(["squares"]), sx.LeastSquaresClassifier())
    straight = sx.LeastSquaresClassifier().fit(X, y)
    assert pipe.fit(X, y).score(X, y) > 0.9 > 0.75 > straight.score(X, y)


def test_the_log_ratio_of_two_normals_is_quadratic() -> None:
    """Between classes of unequal covariance ln p/q = xᵀWx + w·x + w₀: exact in these terms."""
    y = np.repeat([0, 1], 40)
    x = X[:, :2] * np.where(y, 2.0, 1.0)[:, None] + y[:, None]
    ratio = sx.QuadraticDiscriminantAnalysis().fit(x, y).decision_function(x)
    pipe = make_pipeline(sx.BasisExpansion(["quadratic"]), sx.LinearRegression()).fit(x, ratio)
    assert_allclose(pipe.predict(x), ratio, atol=1e-8)


def test_saving(tmp_path) -> None:
    functions = ["linear", ("jump", 0.5), ("polynomial", 2), ("sigmoid", [0.0, 1.0]), "gaussian"]
    model = sx.BasisExpansion(functions).fit(X)
    sx.save(model, tmp_path / "m.sx")
    assert (sx.load(tmp_path / "m.sx").transform(X) == model.transform(X)).all()
    with pytest.raises(sx.InputError, match="cannot be stored"):
        sx.save(sx.BasisExpansion([np.exp, lambda v: v]).fit(X), tmp_path / "n.sx")


@pytest.mark.parametrize(
    "functions",
    [
        "linear",
        [],
        ["lineer"],
        ["jump"],
        [("jump", np.nan)],
        [("polynomial", 1.5)],
        ["polynomial"],
        [("sigmoid", 0)],
        [("sigmoid", [])],
        [("sigmoid", [[1.0]])],
        [("sigmoid", 1, 2)],
        [("gaussian", 2.5)],
        [("gaussian", [[1.0, 2.0]])],
        [("gaussian", "many")],
        [("gaussian", [[np.nan, 1.0, 1.0]])],
    ],
)
def test_functions_that_are_none(functions) -> None:
    with pytest.raises(sx.InputError):
        sx.BasisExpansion(functions).fit(X)


def test_own_functions_must_be_finite_and_long_enough() -> None:
    with (
        np.errstate(all="ignore"),
        pytest.raises(sx.InputError, match=r"row \d+: log\(x0\) is nan"),
    ):
        sx.BasisExpansion([np.log]).fit(X).transform(X)
    with pytest.raises(sx.InputError, match="80 rows"):
        sx.BasisExpansion([("sum", np.sum)]).fit(X).transform(X)


# -- functions with centers ------------------------------------------------------------------------


def test_gaussian_functions_at_centers_of_k_means() -> None:
    found = sx.BasisExpansion([("gaussian", 6)], random_state=3).fit(X)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    centers = sx.KMeans(6, random_state=3).fit(z).cluster_centers_
    apart = cdist(centers, centers)
    width = np.median(np.sort(apart, axis=1)[:, 1])
    expected = np.exp(-cdist(z, centers, "sqeuclidean") / (2 * width**2))
    assert_allclose(found.transform(X), expected, rtol=1e-10)
    assert found.term_names_ == tuple(f"gaussian {k}" for k in range(1, 7))


def test_sigmoids_at_quantiles_and_at_given_centers() -> None:
    found = sx.BasisExpansion([("sigmoid", 4), ("sigmoid", [-1.0, 2.0])]).fit(X)
    columns = []
    for x in X.T:
        c = np.quantile(x, [0.125, 0.375, 0.625, 0.875], method="inverted_cdf")
        columns += [1 / (1 + np.exp(-(x - a) / np.diff(c).mean())) for a in c]
    columns += [1 / (1 + np.exp(-(x - a) / 3.0)) for x in X.T for a in (-1.0, 2.0)]
    assert_allclose(found.transform(X), np.column_stack(columns), rtol=1e-12)
    assert found.term_names_[:2] == ("sigmoid 1 of x0", "sigmoid 2 of x0")
    assert found.term_names_[-1] == "sigmoid 6 of x2"


def test_units_change_nothing_where_functions_have_centers() -> None:
    functions = ["sigmoid", ("gaussian", 5)]
    unit, shift = np.array([1e8, 1e-8, 3.0]), np.array([2e7, 0.0, -7.0])
    scaled = X * unit + shift
    found = sx.BasisExpansion(functions).fit(scaled).transform(scaled)
    assert_allclose(found, sx.BasisExpansion(functions).fit(X).transform(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("x", [np.zeros((5, 2)), [[0.0, 1.0]] * 3 + [[1.0, 1.0]], np.ones((1, 3))])
def test_constant_columns_and_few_distinct_rows(x) -> None:
    x = np.asarray(x)
    found = sx.BasisExpansion(["sigmoid", "gaussian"]).fit(x)
    values = found.transform(x)
    assert np.isfinite(values).all()
    assert (values[:, -1] > 0).all()
    assert sum(name.startswith("gaussian") for name in found.term_names_) == len(
        np.unique(x, axis=0)
    )
    # a column that was constant says nothing of new rows
    moved = np.column_stack([x[:, :1], x[:, 1:] + 100.0])
    assert (found.transform(moved) == values).all()


def test_weights_of_rows_count_as_repeated_rows(rng: np.random.Generator) -> None:
    counts = rng.integers(0, 3, len(X))
    weighted = ArrayRows(X, w=counts.astype(float))
    repeated = ArrayRows(np.repeat(X, counts, axis=0))
    functions = [("sigmoid", 4), ("gaussian", [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])]
    one, other = (sx.BasisExpansion(functions).fit(rows) for rows in (weighted, repeated))
    assert_allclose(one.transform(X), other.transform(X), rtol=1e-10)


def test_a_radial_basis_network_as_a_pipeline() -> None:
    y = np.where((X[:, :2] ** 2).sum(axis=1) < 2, "inside", "outside")
    pipe = make_pipeline(sx.BasisExpansion([("gaussian", 15)]), sx.LogisticRegression())
    assert pipe.fit(X[:, :2], y).score(X[:, :2], y) > 0.9
