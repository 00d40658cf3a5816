"""Squared hinge and squared ε-insensitive loss, ℓ₁ penalty, and all classes at once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn.svm as peer
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.svm import crammer_singer
from separatrix.svm import squared as newton


def overlapping(n: int = 150, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) + 0.3
    score = x @ np.arange(1, d + 1) + rng.standard_normal(n)
    return x, score > np.median(score)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"C": 5.0, "class_weight": "balanced"},
        {"penalty": "l1", "dual": False, "C": 0.1},
        {"fit_intercept": False},
        {"intercept_scaling": 5.0, "C": 1e-3},
        {"multi_class": "crammer_singer"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["dense", "sparse", "three classes"])
def test_the_hyperplane_is_that_of_scikit_learn(kind: str, options: dict) -> None:
    x, y = overlapping()
    if kind == "three classes":
        y = np.digitize(x[:, 0] + x[:, 1], [0.0, 1.0])
    given = sparse.csr_array(x) if kind == "sparse" else x
    w = np.random.default_rng(1).integers(1, 4, len(x)).astype(float)
    own = sx.LinearSVC(**options).fit(given, y, w)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = peer.LinearSVC(**options, tol=1e-9, max_iter=100_000).fit(x, y, w)
    assert own.certificate_.holds
    assert own.coef_.shape == theirs.coef_.shape
    assert_allclose(own.coef_, theirs.coef_, atol=2e-4)
    assert_allclose(own.intercept_, theirs.intercept_, atol=2e-4)
    assert (own.predict(x) == theirs.predict(x)).all()


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_regression_penalizes_the_intercept_as_scikit_learn(loss: str, epsilon: float) -> None:
    x, _ = overlapping()
    y = x @ [1.0, 2.0, 0.0, -1.0] + 3.0 + np.random.default_rng(1).standard_normal(len(x))
    for scaling in (1.0, 10.0):
        options = {"loss": loss, "epsilon": epsilon, "C": 0.1, "intercept_scaling": scaling}
        own = sx.LinearSVR(**options).fit(x, y)
        theirs = peer.LinearSVR(**options, tol=1e-9, max_iter=200_000).fit(x, y)
        assert own.certificate_.holds
        assert own.intercept_.shape == (1,)
        assert_allclose(own.coef_, theirs.coef_, atol=1e-3)
        assert_allclose(own.intercept_, theirs.intercept_, atol=1e-3)


def test_columns_span_and_conjugate_gradients_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = overlapping(60, 90)
    in_span = sx.LinearSVC().fit(x, y)
    monkeypatch.setattr(newton, "DIRECT", 0)
    dense = sx.LinearSVC().fit(x, y)
    monkeypatch.setattr(newton, "DENSE", 1)
    by_products = sx.LinearSVC().fit(sparse.csr_array(x), y)
    for model in (in_span, dense, by_products):
        assert model.certificate_.relative_gap < 1e-9
        assert_allclose(model.coef_, dense.coef_, atol=1e-6)


def test_rows_one_at_a_time_agree_with_interior_points(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = load_iris(return_X_y=True)
    x, y = (x - x.mean(axis=0))[::2], y[::2]
    whole = sx.LinearSVC(multi_class="crammer_singer", C=0.1).fit(x, y)
    monkeypatch.setattr(crammer_singer, "COEFFICIENTS", 0)
    by_rows = sx.LinearSVC(multi_class="crammer_singer", C=0.1).fit(x, y)
    assert whole.certificate_.holds
    assert by_rows.certificate_.holds
    assert_allclose(by_rows.certificate_.primal, whole.certificate_.primal, rtol=2e-6)


@pytest.mark.parametrize(
    ("penalty", "C"), [("l2", 1e-12), ("l2", 1.0), ("l2", 1e3), ("l1", 1e-12), ("l1", 1.0)]
)
@pytest.mark.parametrize("kind", ["units", "copies", "far", "more columns"])
def test_awkward_tables_are_solved_to_a_certificate(kind: str, C: float, penalty: str) -> None:
    x, y = overlapping(80)
    if kind == "units":
        x = x * [1e-8, 1e8, 1.0, 1e4]
    elif kind == "copies":
        x = np.column_stack([x, x[:, 0], np.full(80, 7.0), np.zeros(80)])
    elif kind == "far":
        x = x + (1e4 if penalty == "l2" else 10.0)
    else:
        x, y = overlapping(30, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = sx.LinearSVC(penalty, C=C).fit(x, y)
    assert model.certificate_.holds


def test_tiny_C_of_the_hinge() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 4))
    y = x @ [-1.0, 2.0, -3.0, 4.0] + 1.5 * rng.standard_normal(200) > 0.5
    model = sx.LinearSVC(loss="hinge", C=1e-12).fit(x, y)
    assert model.certificate_.holds
    assert model.certificate_.gap <= 1e-6 * model.certificate_.primal


def test_standardized_columns_leave_the_intercept_free() -> None:
    x, y = overlapping()
    plain = sx.LinearSVC(standardize=True).fit(x, y)
    moved = sx.LinearSVC(standardize=True).fit(x * [1.0, 1e6, 1e-6, 3.0] + 5.0, y)
    assert_allclose(moved.coef_ * [1.0, 1e6, 1e-6, 3.0], plain.coef_, rtol=1e-8)
    free = sx.LinearSVC(intercept_scaling=np.inf).fit(x / x.std(axis=0), y)
    assert_allclose(free.coef_ / x.std(axis=0), plain.coef_, rtol=1e-8)
    near = sx.LinearSVC(intercept_scaling=1e6).fit(x / x.std(axis=0), y)
    assert_allclose(near.intercept_, free.intercept_, rtol=1e-6)


def test_sparse_coefficients() -> None:
    x, y = overlapping(100, 10)
    model = sx.LinearSVC("l1", C=0.02).fit(x, y)
    expected = model.decision_function(x)
    assert (model.coef_ == 0.0).any()
    assert sparse.issparse(model.sparsify().coef_)
    assert_allclose(model.decision_function(x), expected)
    assert (model.predict(sparse.csr_array(x)) == model.densify().predict(x)).all()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"penalty": "l1", "dual": True}, "dual"),
        ({"loss": "hinge", "dual": False}, "dual"),
        ({"dual": "no"}, "dual"),
        ({"intercept_scaling": 0}, "intercept_scaling"),
        ({"multi_class": "all"}, "multi_class"),
        ({"multi_class": "crammer_singer", "standardize": True}, "standardize"),
        ({"multi_class": "crammer_singer", "C": np.inf}, "hard margin"),
    ],
)
def test_invalid_parameters_are_refused(options: dict, match: str) -> None:
    with pytest.raises(sx.InputError, match=match):
        sx.LinearSVC(**options).fit(*overlapping(20))
