"""LassoPath and LassoCV: whole paths, each point with its proof, and the choice among them."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model as sk
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix as sx
from separatrix.messages import InputError, SeparatrixWarning
from separatrix.rows.rows import ArrayRows
from tests.linear.lasso_reference import objective, table, violation


@parametrize_with_checks(
    [sx.LassoPath(alphas=20), sx.LassoCV(alphas=20, cv=3), sx.LassoCV(alphas=10, rule="one_se")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("shape", [(60, 8), (25, 40), (25, 2050)])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("positive", [False, True])
def test_the_path_agrees_with_scikit_learn(shape, l1_ratio, positive):
    x, y = table(*shape, seed=1)
    model = sx.LassoPath(12, eps=0.02, l1_ratio=l1_ratio, positive=positive, tol=1e-13).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        alphas, coefs, _ = sk.enet_path(
            x - x.mean(axis=0), y - y.mean(), l1_ratio=l1_ratio, eps=0.02, alphas=12,
            positive=positive, tol=1e-12, max_iter=100_000,
        )  # fmt: skip
    np.testing.assert_allclose(model.alphas_, alphas, rtol=1e-10)
    for i, alpha in enumerate(alphas):
        value = objective(x, y, model.coefs_[i], model.intercepts_[i], alpha, l1_ratio)
        other = objective(
            x, y, coefs[:, i], y.mean() - x.mean(axis=0) @ coefs[:, i], alpha, l1_ratio
        )
        assert value <= other + 1e-9 * y.var()
        if shape[1] < shape[0]:
            np.testing.assert_allclose(model.coefs_[i], coefs[:, i], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("shape", [(60, 8), (25, 400), (25, 2050)])
@pytest.mark.parametrize("standardize", [False, True])
def test_every_point_is_certified(shape, standardize):
    x, y = table(*shape, seed=2)
    model = sx.LassoPath(30, tol=1e-10, standardize=standardize).fit(x, y)
    scale = x.std(axis=0) if standardize else np.ones(shape[1])
    for i, alpha in enumerate(model.alphas_):
        coef = model.coefs_[i] * scale
        assert violation(x / scale, y, coef, model.intercepts_[i], alpha) < 2e-5
        value = objective(x / scale, y, coef, model.intercepts_[i], alpha, 1.0)
        best = objective(x / scale, y, *_tight(x / scale, y, alpha), alpha, 1.0)
        assert -1e-13 <= value - best <= model.gaps_[i] + 1e-13
        assert model.gaps_[i] <= 0.5e-10 * y.var() + 1e-14
    assert not model.coefs_[0].any()


def _tight(x, y, alpha):
    model = sx.Lasso(alpha, tol=1e-13).fit(x, y)
    return model.coef_, model.intercept_


@pytest.mark.parametrize("shape", [(80, 12), (30, 2060)])
def test_any_penalty_between_two_points(shape):
    x, y = table(*shape)
    model = sx.LassoPath(10).fit(x, y)
    alpha = float(np.sqrt(model.alphas_[3] * model.alphas_[4]))
    coef, intercept = model.coef_at(alpha)
    direct = sx.Lasso(alpha).fit(x, y)
    np.testing.assert_allclose(x @ coef + intercept, direct.predict(x), rtol=1e-4, atol=1e-5)
    assert violation(x, y, coef, intercept, alpha) < 1e-6


def test_degrees_of_freedom():
    x, y = table(50, 6)
    lasso = sx.LassoPath(20).fit(x, y)
    assert np.array_equal(lasso.degrees_of_freedom_, (lasso.coefs_ != 0).sum(axis=1))
    net = sx.LassoPath(20, l1_ratio=0.5).fit(x, y)
    z = x - x.mean(axis=0)
    for i, alpha in enumerate(net.alphas_):
        active = z[:, net.coefs_[i] != 0]
        ridge = active.T @ active + 0.5 * alpha * len(y) * np.eye(active.shape[1])
        trace = np.trace(active @ np.linalg.solve(ridge, active.T)) if active.size else 0.0
        assert net.degrees_of_freedom_[i] == pytest.approx(trace, abs=1e-9)


def test_criteria_select_and_are_as_defined():
    x, y = table(120, 10, seed=5)
    for criterion, penalty in (("aic", 2.0), ("bic", np.log(120))):
        model = sx.LassoPath(criterion=criterion, eps=1e-4).fit(x, y)
        residuals = y[:, None] - x @ model.coefs_.T - model.intercepts_
        squares = (residuals**2).sum(axis=0)
        count = (model.coefs_ != 0).sum(axis=1) + 1
        value = 120 * (np.log(2 * np.pi * squares / 120) + 1) + penalty * count
        np.testing.assert_allclose(getattr(model, f"{criterion}_"), value, rtol=1e-9)
        assert model.alpha_ == model.alphas_[np.argmin(value)]
        np.testing.assert_allclose(
            model.coef_, model.coefs_[np.argmin(value)], rtol=1e-3, atol=1e-5
        )
    with pytest.raises(InputError, match="criterion"):
        sx.LassoPath(criterion="cp").fit(x, y)


def test_noise_alone_has_no_coefficients():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2100)), rng.normal(size=60)
    assert np.count_nonzero(sx.LassoPath(50, eps=0.01).fit(x, y).coef_) <= 3


@pytest.mark.parametrize("cv", [4, KFold(4, shuffle=True, random_state=0), "pairs", "shuffle"])
def test_cross_validation_agrees_with_scikit_learn(cv):
    x, y = table(90, 7)
    w = np.random.default_rng(1).uniform(0.5, 2.0, size=90)
    if cv == "pairs":
        cv = list(KFold(3).split(x))
    elif cv == "shuffle":
        cv = list(ShuffleSplit(3, random_state=0).split(x))
    ours = sx.LassoCV(alphas=30, cv=cv, tol=1e-12).fit(x, y, w)
    theirs = sk.LassoCV(alphas=30, cv=cv, tol=1e-12, max_iter=100_000).fit(x, y, sample_weight=w)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-12)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-7)


def test_cross_validation_on_columns_agrees_with_scikit_learn():
    x, y = table(40, 2050)
    ours = sx.LassoCV(alphas=8, eps=0.1, cv=3, tol=1e-10).fit(x, y)
    theirs = sk.LassoCV(alphas=8, eps=0.1, cv=3, tol=1e-10, max_iter=50_000).fit(x, y)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    assert ours.moments_ is None
    csr = sx.LassoCV(alphas=8, eps=0.1, cv=3, tol=1e-10).fit(sparse.csr_array(x), y)
    np.testing.assert_allclose(csr.mse_path_, ours.mse_path_, rtol=1e-5)


def test_the_rows_are_read_once(monkeypatch):
    passes = []
    reduce = ArrayRows.reduce

    def counted(self, statistic):
        passes.append(1)
        return reduce(self, statistic)

    monkeypatch.setattr(ArrayRows, "reduce", counted)
    sx.LassoCV(alphas=10, cv=4).fit(*table(50, 4))
    assert len(passes) == 1


def test_one_standard_error_is_simpler_and_within_the_band():
    x, y = table(60, 12, seed=9)
    best = sx.LassoCV(cv=6).fit(x, y)
    simple = sx.LassoCV(cv=6, rule="one_se").fit(x, y)
    at = list(best.alphas_).index(best.alpha_)
    chosen = list(best.alphas_).index(simple.alpha_)
    mean = best.mse_path_.mean(axis=1)
    band = mean[at] + best.mse_path_[at].std(ddof=1) / np.sqrt(6)
    assert simple.alpha_ >= best.alpha_
    assert mean[chosen] <= band
    assert chosen == 0 or mean[chosen - 1] > band or (mean[:chosen] > band).all()


def test_threads_do_not_change_the_solution():
    x, y = table(70, 6)
    one, two = (sx.LassoCV(alphas=15, n_jobs=k).fit(x, y) for k in (1, 2))
    assert np.array_equal(one.mse_path_, two.mse_path_)


def test_units_do_not_matter_when_standardized():
    x, y = table(60, 5)
    scale = np.array([1e8, 1e-8, 1.0, 1e4, 1e-4])
    for make in (lambda: sx.LassoCV(standardize=True), lambda: sx.LassoPath(standardize=True)):
        plain, scaled = make().fit(x, y), make().fit(x * scale, y)
        assert scaled.alpha_ == pytest.approx(plain.alpha_, rel=1e-9)
        np.testing.assert_allclose(scaled.predict(x * scale), plain.predict(x), rtol=1e-6)


def test_tables_with_levels_and_missing_values_fit_their_design_in_each_fold():
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame({"a": rng.normal(size=n), "town": rng.choice(["x", "y", "z"], size=n)})
    frame["y"] = 2 * frame["a"] + (frame["town"] == "x") * 3 + 0.1 * rng.normal(size=n)
    frame.loc[::11, "a"] = np.nan
    model = sx.LassoCV(standardize=True, cv=4).fit(sx.scan(frame, target="y"))
    assert model.mse_path_.shape == (100, 4)
    assert model.mse_path_.mean(axis=1).min() < 1.0
    names = [str(term) for term in model.hyperplane_.names]
    assert any(name.startswith("town=") for name in names)
    assert model.predict(frame[["a", "town"]]).shape == (n,)


def test_partial_fit_of_a_path_and_moments_alone():
    x, y = table(60, 4)
    whole = sx.LassoPath(15).fit(x, y)
    parts = sx.LassoPath(15).partial_fit(x[:25], y[:25]).partial_fit(x[25:], y[25:])
    np.testing.assert_allclose(parts.coefs_, whole.coefs_, rtol=1e-5, atol=1e-7)
    alone = sx.LassoPath(15).fit(whole.moments_)
    np.testing.assert_allclose(alone.coefs_, whole.coefs_, rtol=1e-9, atol=1e-12)
    with pytest.raises(InputError, match="needs the rows"):
        sx.LassoCV().fit(whole.moments_)


@pytest.mark.parametrize("make", [sx.LassoPath, sx.LassoCV])
def test_constant_target(make):
    x, _ = table(20, 3)
    model = make(alphas=5).fit(x, np.full(20, 3.0))
    assert not model.coefs_.any()
    assert model.predict(x).tolist() == [3.0] * 20


@pytest.mark.parametrize("alphas", [0, [], [1.0, -1.0], [0.0, 1.0], [np.inf]])
def test_impossible_penalties_are_refused(alphas):
    with pytest.raises(InputError, match="alphas"):
        sx.LassoPath(alphas).fit(*table(20, 3))


def test_other_refusals():
    x, y = table(20, 3)
    with pytest.raises(InputError, match="l1_ratio=0"):
        sx.LassoPath(l1_ratio=0.0).fit(x, y)
    with pytest.raises(InputError, match="rule"):
        sx.LassoCV(rule="max").fit(x, y)
    for model in (sx.LassoPath(5), sx.LassoCV(alphas=5)):
        with pytest.raises(InputError, match="standard errors and p values are not valid"):
            model.fit(x, y).summary()


def test_points_that_stop_early_are_warned_of():
    x, y = table(40, 60, seed=3)
    with pytest.warns(SeparatrixWarning, match="SEP003"):
        model = sx.LassoPath(20, max_iter=2, tol=1e-12).fit(x, y)
    assert (model.gaps_ > 0.5e-12 * y.var()).any()


def test_a_stored_wide_path_refuses_with_the_reason():
    x, y = table(20, 2050)
    model = pickle.loads(pickle.dumps(sx.LassoPath(5).fit(x, y)))
    assert model.predict(x).shape == (20,)
    with pytest.raises(InputError, match="stored without its training rows"):
        model.coef_at(1.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 14), st.integers(1, 10), st.integers(0, 10_000), st.sampled_from([1.0, 0.3]))
def test_awkward_paths(n, d, seed, l1_ratio):
    rng = np.random.default_rng(seed)
    x = rng.integers(-1, 2, size=(n, d)).astype(float)
    y = rng.integers(-2, 3, size=n).astype(float)
    model = sx.LassoPath(8, l1_ratio=l1_ratio, tol=1e-10).fit(x, y)
    assert model.certificate_.holds
    assert (model.gaps_ <= 0.5e-10 * y.var() + 1e-13).all()
    if y.std() > 0:
        for i, alpha in enumerate(model.alphas_):
            off = violation(x, y, model.coefs_[i], model.intercepts_[i], alpha, l1_ratio)
            assert off < 1e-4


@pytest.mark.parametrize(
    "path", [sx.LassoPath(), sx.LassoCV(cv=3), sx.RidgePath(), sx.RidgeCV(alphas=None, cv=3)]
)
def test_the_model_at_the_chosen_penalty_is_that_of_the_path(path) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 4))
    y = x @ [3.0, 0.0, -1.0, 0.0] + rng.normal(size=60)
    path.fit(x, y)
    one = path.at_chosen_penalty().fit(x, y)
    np.testing.assert_allclose(one.coef_, path.coef_, atol=1e-6)
