"""Neighborhood components: scikit-learn's answers, derivatives, weights, starts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.neighbors import NeighborhoodComponentsAnalysis as Theirs
from sklearn.preprocessing import scale

import separatrix as sx
from separatrix.metric_learning import neighborhood_components
from separatrix.metric_learning.neighborhood_components import Neighborhoods
from tests.registry.metric_learning import random_neighbors


@pytest.mark.parametrize(
    ("load", "p"), [(load_iris, None), (load_iris, 2), (load_wine, 5), (load_breast_cancer, 1)]
)
def test_the_objective_is_that_of_scikit_learn(load, p) -> None:
    """From the start that "auto" means: the identity, discriminants, components."""
    x, y = load(return_X_y=True)
    x, y = scale(x)[::2], y[::2]
    ours, theirs = sx.NeighborhoodComponentsAnalysis(p).fit(x, y), Theirs(p).fit(x, y)
    assert ours.n_iter_ == theirs.n_iter_
    assert_allclose(random_neighbors(ours, x, y), random_neighbors(theirs, x, y), rtol=1e-7)
    for m in (ours, theirs):
        m.gram = m.components_.T @ m.components_
    assert_allclose(ours.gram, theirs.gram, rtol=1e-4, atol=1e-4 * np.abs(theirs.gram).max())


@pytest.mark.parametrize("init", ["pca", "lda", "identity", "random"])
def test_starts_are_those_of_scikit_learn(init: str) -> None:
    x, y = load_wine(return_X_y=True)
    x = scale(x)
    options = {"init": init, "max_iter": 1, "random_state": 3}
    a = sx.NeighborhoodComponentsAnalysis(2, **options).fit(x, y).components_
    b = Theirs(2, **options).fit(x, y).components_
    assert_allclose(np.abs(a), np.abs(b), rtol=1e-6)


@pytest.mark.parametrize("few", [0, 16])
def test_the_gradient_is_that_of_the_objective(few: int, monkeypatch) -> None:
    """By coordinates and by products, with weights of any size and a class of one row."""
    monkeypatch.setattr(neighborhood_components, "FEW", few)
    rng = np.random.default_rng(0)
    x, codes = rng.standard_normal((40, 3)), np.append(rng.integers(0, 2, 39), 2)
    w = rng.choice([0.3, 1.0, 2.5], 40)
    rows = Neighborhoods.of(x, codes, w)
    for size in (0.3, 3.0):
        at = size * rng.standard_normal((2, 3))
        numeric = approx_fprime(at.ravel(), lambda flat: rows.objective(flat.reshape(2, 3))[0])
        assert_allclose(rows.objective(at)[1].ravel(), numeric, rtol=1e-4, atol=1e-5)


def test_a_fit_continues_and_calls_back() -> None:
    x, y = load_iris(return_X_y=True)
    calls: list[int] = []
    model = sx.NeighborhoodComponentsAnalysis(
        init="identity", max_iter=2, callback=lambda _, n: calls.append(n), warm_start=True
    ).fit(x, y)
    first = model.certificate_.primal
    assert calls == [1, 2]
    assert model.n_iter_ == 3
    assert model.fit(x, y).certificate_.primal > first
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(x[:, :2], y)


def test_progress_is_printed_on_request(capsys) -> None:
    x, y = load_iris(return_X_y=True)
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        sx.NeighborhoodComponentsAnalysis(max_iter=2, verbose=1).fit(x, y)
    assert "iteration 2, objective" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 9}, "larger than the number of columns"),
        ({"n_components": 0}, "n_components=0"),
        ({"init": "principal"}, "init='principal' is unknown"),
        ({"init": np.ones((2, 7))}, "7 columns"),
        ({"init": np.ones((5, 4))}, "5 rows"),
        ({"init": np.ones((2, 4)), "n_components": 3}, "n_components=3"),
        ({"init": "lda", "n_components": 3}, "3 linear discriminants of 3 classes"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"callback": 3}, "not a function"),
    ],
)
def test_impossible_parameters_are_refused(options, words) -> None:
    x, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=words):
        sx.NeighborhoodComponentsAnalysis(**options).fit(x, y)


def test_one_class_and_classes_of_one_row_change_nothing_or_little() -> None:
    x, y = load_iris(return_X_y=True)
    one = sx.NeighborhoodComponentsAnalysis(init="identity").fit(x[y == 0], y[y == 0])
    assert_allclose(one.components_, np.eye(4))
    alone = sx.NeighborhoodComponentsAnalysis(init="pca").fit(x[:30], np.arange(30))
    assert alone.certificate_.primal == 0.0
    with pytest.raises(ValueError, match="do not differ"):
        sx.NeighborhoodComponentsAnalysis().fit(x[:30], np.arange(30))


def test_a_diagonal_map_is_a_maximum_of_the_weights_of_columns() -> None:
    x, y = load_iris(return_X_y=True)
    x = np.hstack([x, np.random.default_rng(0).standard_normal((150, 3))])
    model = sx.NeighborhoodComponentsAnalysis(diagonal=True, tol=1e-9, max_iter=500).fit(x, y)
    weights = np.diagonal(model.components_)
    assert_allclose(model.components_, np.diag(weights))

    def expected(weights: np.ndarray) -> float:
        z = x * weights
        d = ((z[:, None] - z[None]) ** 2).sum(axis=2)
        np.fill_diagonal(d, np.inf)
        p = np.exp(-d)
        return float(((p / p.sum(axis=1)[:, None]) * (y[:, None] == y)).sum())

    best = expected(weights)
    assert_allclose(model.certificate_.primal, best, rtol=1e-9)
    for j in range(7):
        step = np.eye(7)[j] * 0.05
        assert best >= max(expected(weights + step), expected(weights - step)) - 1e-3
    few = sx.NeighborhoodComponentsAnalysis(2, diagonal=True).fit(x, y)
    assert few.components_.shape == (2, 7)
    again = sx.NeighborhoodComponentsAnalysis(diagonal=True, warm_start=True).fit(x, y)
    value = again.certificate_.primal
    assert again.fit(x, y).certificate_.primal >= value - 1e-6
