"""Basis functions: values, names, pipelines, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix as sx

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (80, 3))


@parametrize_with_checks([sx.BasisExpansion(), sx.BasisExpansion([("polynomial", 3), "cosine"])])
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
    functions = ["linear", ("jump", 0.5), ("polynomial", 2)]
    model = sx.BasisExpansion(functions).fit(X)
    sx.save(model, tmp_path / "m.sx")
    assert (sx.load(tmp_path / "m.sx").transform(X) == model.transform(X)).all()
    with pytest.raises(sx.InputError, match="cannot be stored"):
        sx.save(sx.BasisExpansion([np.exp, lambda v: v]).fit(X), tmp_path / "n.sx")


@pytest.mark.parametrize(
    "functions",
    ["linear", [], ["lineer"], ["jump"], [("jump", np.nan)], [("polynomial", 1.5)], ["polynomial"]],
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
