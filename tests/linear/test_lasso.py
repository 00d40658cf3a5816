"""Lasso and ElasticNet at one penalty: against other solvers, and by proof."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn import linear_model as sk
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix as sx
from separatrix.messages import InputError, SeparatrixWarning
from tests.linear.lasso_reference import objective, table, violation


@parametrize_with_checks(
    [
        sx.Lasso(alpha=0.1),
        sx.ElasticNet(alpha=0.1),
        sx.ElasticNet(alpha=0.1, positive=True, standardize=True, fit_intercept=False),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("shape", [(80, 6), (40, 90), (30, 2300)])
@pytest.mark.parametrize("fraction", [0.5, 0.05, 0.002])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.6])
@pytest.mark.parametrize("positive", [False, True])
def test_optimality(shape, fraction, l1_ratio, positive):
    x, y = table(*shape)
    w = np.random.default_rng(1).uniform(0.2, 3.0, size=len(y))
    centered = (x - np.average(x, axis=0, weights=w)).T @ (w * (y - np.average(y, weights=w)))
    alpha = fraction * np.abs(centered).max() / w.sum() / l1_ratio
    model = sx.ElasticNet(alpha, l1_ratio=l1_ratio, positive=positive).fit(x, y, w)
    off = violation(x, y, model.coef_, model.intercept_, alpha, l1_ratio, w, positive)
    assert off < 1e-8
    assert model.certificate_.holds
    assert model.certificate_.gap >= 0.0
    assert not positive or (model.coef_ >= 0).all()


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("positive", [True, False])
def test_agrees_with_scikit_learn(l1_ratio, fit_intercept, positive):
    x, y = table(60, 8)
    w = np.random.default_rng(2).uniform(0.0, 2.0, size=60).round(1)
    options = {"l1_ratio": l1_ratio, "fit_intercept": fit_intercept, "positive": positive}
    ours = sx.ElasticNet(0.05, **options).fit(x, y, w)
    theirs = sk.ElasticNet(0.05, tol=1e-14, max_iter=100_000, **options).fit(x, y, w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6, atol=1e-8)


def test_agrees_with_quadratic_programming():
    x, y = table(25, 6, seed=4)
    alpha, rho = 0.2, 0.7

    def split(z):
        plus, minus, a = z[:6], z[6:12], z[12]
        smooth = objective(x, y, plus - minus, a, alpha, 0.0) - 0.5 * alpha * np.sum(
            (plus - minus) ** 2
        )
        l2 = 0.5 * alpha * (1 - rho) * np.sum((plus - minus) ** 2)
        return smooth + l2 + alpha * rho * (plus + minus).sum()

    bounds = [(0, None)] * 12 + [(None, None)]
    best = optimize.minimize(
        split, np.zeros(13), bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000}
    )
    model = sx.ElasticNet(alpha, l1_ratio=rho).fit(x, y)
    value = objective(x, y, model.coef_, model.intercept_, alpha, rho)
    assert value <= best.fun + 1e-9
    assert model.certificate_.primal == pytest.approx(value, rel=1e-10)
    assert model.certificate_.dual <= best.fun + 1e-12


@pytest.mark.parametrize("shape", [(50, 5), (20, 2100)])
def test_certificate_detects_a_wrong_model(shape):
    from separatrix.linear.elastic_net import ElasticNetOptions, certify_elastic_net
    from separatrix.rows.rows import ArrayRows
    from separatrix.statistics.moments import Moments

    x, y = table(*shape)
    model = sx.Lasso(0.1).fit(x, y)
    rows = ArrayRows(x, y)
    source = rows.reduce(Moments()) if shape[1] < 100 else rows.block
    good = certify_elastic_net(source, model.coef_[:, None], 0.1, ElasticNetOptions())
    bad = certify_elastic_net(source, 1.01 * model.coef_[:, None], 0.1, ElasticNetOptions())
    assert good.holds
    assert not bad.holds
    truth = objective(x, y, model.coef_, model.intercept_, 0.1, 1.0)
    worse = 1.01 * model.coef_
    excess = objective(x, y, worse, np.mean(y - x @ worse), 0.1, 1.0) - truth
    assert 0 < excess <= bad.gap  # the gap bounds what a better model can gain


@pytest.mark.parametrize("shape", [(40, 5), (20, 30), (12, 2050)])
def test_units_do_not_matter_when_standardized(shape):
    x, y = table(*shape)
    scale = 10.0 ** np.random.default_rng(0).choice([-8, 0, 8], size=shape[1])
    plain = sx.Lasso(0.1, standardize=True).fit(x, y)
    scaled = sx.Lasso(0.1, standardize=True).fit(x * scale, y)
    np.testing.assert_allclose(scaled.predict(x * scale), plain.predict(x), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-6, atol=1e-9)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    reference = sk.Lasso(0.1, tol=1e-12, max_iter=100_000).fit(z, y)
    np.testing.assert_allclose(plain.predict(x), reference.predict(z), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_extreme_units_agree_with_scikit_learn(unit):
    x, y = table(50, 4, seed=3)
    ours = sx.Lasso(0.01 * unit).fit(x * unit, y)
    theirs = sk.Lasso(0.01 * unit, tol=1e-14, max_iter=200_000).fit(x * unit, y)
    np.testing.assert_allclose(ours.predict(x * unit), theirs.predict(x * unit), rtol=1e-6)
    target = sx.Lasso(0.01 * unit).fit(x, y * unit)
    np.testing.assert_allclose(target.coef_, sx.Lasso(0.01).fit(x, y).coef_ * unit, rtol=1e-6)


@pytest.mark.parametrize("shape", [(60, 4), (20, 2100)])
@pytest.mark.parametrize("standardize", [True, False])
def test_far_from_the_origin(shape, standardize):
    x, y = table(*shape, seed=6)
    near = sx.Lasso(0.05, standardize=standardize).fit(x, y)
    far = sx.Lasso(0.05, standardize=standardize).fit(x + 2.0**24, y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-5, atol=1e-7)
    assert far.certificate_.holds


@pytest.mark.parametrize("shape", [(30, 4), (5, 12), (10, 2200)])
def test_zero_penalty_is_least_squares(shape):
    x, y = table(*shape)
    model = sx.Lasso(0.0).fit(x, y)
    reference = np.linalg.lstsq(np.column_stack([np.ones(len(y)), x]), y, rcond=None)[0]
    np.testing.assert_allclose(
        model.predict(x), np.column_stack([np.ones(len(y)), x]) @ reference, rtol=1e-6
    )


@pytest.mark.filterwarnings("ignore::separatrix.messages.SeparatrixWarning")
@pytest.mark.parametrize("shape", [(30, 4), (10, 2200)])
def test_zero_penalty_without_negative_coefficients(shape):
    x, y = table(*shape)
    model = sx.Lasso(0.0, positive=True).fit(x, y)
    z, t = x - x.mean(axis=0), y - y.mean()
    scale = np.linalg.norm(z, axis=0)
    _, misfit = optimize.nnls(z / scale, t)
    assert (model.coef_ >= 0).all()
    assert np.linalg.norm(y - model.predict(x)) == pytest.approx(misfit, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("shape", [(30, 4), (12, 2200)])
@pytest.mark.parametrize("standardize", [True, False])
def test_without_l1_part_it_is_ridge(shape, standardize):
    x, y = table(*shape)
    model = sx.ElasticNet(0.3, l1_ratio=0.0, standardize=standardize).fit(x, y)
    scale = x.std(axis=0) if standardize else np.ones(shape[1])
    ridge = sk.Ridge(0.3 * len(y), solver="svd").fit(x / scale, y)
    np.testing.assert_allclose(model.coef_, ridge.coef_ / scale, rtol=1e-6, atol=1e-10)
    assert model.certificate_.holds


@pytest.mark.parametrize("shape", [(30, 4), (12, 2200)])
def test_large_penalties_give_exact_zeros(shape):
    x, y = table(*shape)
    top = np.abs((x - x.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
    for alpha in (top, 1.5 * top, 1e12):
        model = sx.Lasso(alpha).fit(x, y)
        assert not model.coef_.any()
        assert model.intercept_ == pytest.approx(y.mean())
    assert sx.Lasso(0.999 * top).fit(x, y).coef_.any()


def test_constant_target_and_constant_columns():
    x, y = table(20, 3)
    model = sx.Lasso(0.1).fit(x, np.full(20, 0.1))
    assert not model.coef_.any()
    assert model.intercept_ == pytest.approx(0.1)
    x[:, 1] = 0.1
    model = sx.Lasso(1e-3).fit(x, y)
    assert model.coef_[1] == 0.0
    reference = sx.Lasso(1e-3).fit(x[:, [0, 2]], y)
    np.testing.assert_allclose(model.coef_[[0, 2]], reference.coef_, rtol=1e-8)


@pytest.mark.parametrize("d", [3, 2100])
def test_one_row(d):
    model = sx.Lasso(0.1).fit(np.arange(1.0, d + 1)[None, :], [7.0])
    assert not model.coef_.any()
    assert model.intercept_ == 7.0


def test_repeated_columns_have_the_fit_of_one():
    x, y = table(40, 3)
    alone = sx.Lasso(0.05).fit(x, y)
    twice = sx.Lasso(0.05).fit(np.column_stack([x, x]), y)
    np.testing.assert_allclose(twice.coef_[:3] + twice.coef_[3:], alone.coef_, rtol=1e-6, atol=1e-9)
    assert twice.certificate_.holds


@pytest.mark.parametrize("shape", [(40, 5), (20, 2100)])
def test_sparse_rows_and_weights_as_repeats(shape):
    x, y = table(*shape)
    x[np.random.default_rng(0).uniform(size=shape) < 0.7] = 0.0
    w = np.random.default_rng(1).integers(0, 3, size=shape[0])
    dense = sx.Lasso(0.05).fit(x, y, w)
    csr = sx.Lasso(0.05).fit(sparse.csr_array(x), y, w)
    repeated = sx.Lasso(0.05).fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    for other in (csr, repeated):
        np.testing.assert_allclose(other.predict(x), dense.predict(x), rtol=1e-6, atol=1e-7)


def test_columns_that_stay_sparse():
    rng = np.random.default_rng(0)
    x = sparse.random(40, 2100, density=0.1, random_state=rng, format="csr")
    y = x[:, :5].sum(axis=1).A1 + 0.1 * rng.normal(size=40)
    w = rng.uniform(0.5, 2.0, size=40)
    for options in ({}, {"fit_intercept": False}, {"standardize": True, "positive": True}):
        dense = sx.Lasso(1e-3, **options).fit(x.toarray(), y, w)
        sparse_fit = sx.Lasso(1e-3, **options).fit(x, y, w)
        np.testing.assert_allclose(sparse_fit.predict(x), dense.predict(x), rtol=1e-6, atol=1e-8)
        assert sparse_fit.certificate_.holds


def test_several_targets_are_separate_problems():
    x, y = table(30, 4)
    both = np.column_stack([y, y[::-1]])
    model = sx.ElasticNet(0.1).fit(x, both)
    assert model.coef_.shape == (2, 4)
    for k in range(2):
        single = sx.ElasticNet(0.1).fit(x, both[:, k])
        np.testing.assert_allclose(model.coef_[k], single.coef_, rtol=1e-9)


def test_partial_fit_equals_one_fit():
    x, y = table(50, 4)
    whole = sx.Lasso(0.05).fit(x, y)
    parts = sx.Lasso(0.05)
    for piece in (slice(0, 7), slice(7, 20), slice(20, 50)):
        parts.partial_fit(x[piece], y[piece])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-9)
    np.testing.assert_allclose(parts.intercept_, whole.intercept_, rtol=1e-9)


def test_summary_is_refused_with_the_reason():
    x, y = table(30, 3)
    with pytest.raises(InputError, match="standard errors and p values are not valid"):
        sx.Lasso(0.1).fit(x, y).summary()


def test_stopping_early_is_warned_of():
    x, y = table(40, 30, seed=2)
    with pytest.warns(SeparatrixWarning, match="SEP003"):
        model = sx.Lasso(1e-4, max_iter=1).fit(x, y)
    assert not model.certificate_.holds
    assert "was not reached" in str(model.certificate_)


@pytest.mark.parametrize(
    "options", [{"alpha": -1.0}, {"alpha": np.nan}, {"tol": -1.0}, {"max_iter": 0}]
)
def test_impossible_settings_are_refused(options):
    x, y = table(10, 2)
    with pytest.raises(InputError, match=next(iter(options))):
        sx.Lasso(**{"alpha": 1.0, **options}).fit(x, y)
    with pytest.raises(InputError, match="l1_ratio"):
        sx.ElasticNet(l1_ratio=1.5).fit(x, y)


def test_pickle_round_trip():
    x, y = table(20, 3)
    model = sx.Lasso(0.1).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(x), model.predict(x))
    assert model.sparse_coef_.toarray().ravel().tolist() == model.coef_.tolist()


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(1, 8),
    st.integers(0, 10_000),
    st.floats(1e-4, 2.0),
    st.sampled_from([1.0, 0.5]),
    st.booleans(),
)
def test_awkward_tables_are_certified(n, d, seed, alpha, l1_ratio, positive):
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, size=(n, d)).astype(float)  # ties, repeats, constants, rank loss
    y = rng.integers(-3, 4, size=n).astype(float)
    model = sx.ElasticNet(alpha, l1_ratio=l1_ratio, positive=positive).fit(x, y)
    assert model.certificate_.holds
    if y.std() > 0:
        off = violation(x, y, model.coef_, model.intercept_, alpha, l1_ratio, positive=positive)
        assert off < 1e-7


def test_nearly_equal_columns_are_warned_of():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 1)) + 1e-6 * rng.normal(size=(30, 12))
    y = rng.normal(size=30)
    with pytest.warns(SeparatrixWarning, match="nearly equal"):
        model = sx.Lasso(1e-9).fit(x, y)
    assert not model.certificate_.holds
    excess = model.certificate_.primal - model.certificate_.dual
    assert excess == pytest.approx(model.certificate_.gap)
    assert sx.Lasso(1e-3).fit(x, y).certificate_.holds  # no false alarm


def test_blas_threads_are_given_back():
    from threadpoolctl import threadpool_info

    from separatrix.threads import one_blas_thread

    def threads():
        return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]

    before = threads()
    with one_blas_thread(), one_blas_thread():
        assert set(threads()) == {1}
    assert threads() == before


@pytest.mark.parametrize("constant", [3.3, 1e15 / 3])
@pytest.mark.parametrize("shape", [(80, 4), (30, 2_100)])
def test_a_column_that_varies_by_rounding_alone_does_not_spoil_the_certificate(shape, constant):
    x, y = table(*shape)
    x[:, 1] = constant
    model = sx.Lasso(0.05, standardize=True).fit(x, y)
    assert model.coef_[1] == 0.0
    assert model.certificate_.holds


def test_paths_take_the_older_name_of_a_number_of_penalties() -> None:
    x, y = table(40, 3)
    assert len(sx.Lasso.path(x, y, n_alphas=7)[0]) == 7
    assert len(sx.ElasticNet.path(x, y, alphas=[0.1, 0.01], n_alphas=7)[0]) == 2
    ours, theirs = (of.Lasso.path(x, y, l1_ratio=0.5, alphas=5) for of in (sx, sk))
    assert np.allclose(ours[0], theirs[0])
    assert np.allclose(ours[1], theirs[1], atol=1e-3)


def test_refusals_and_warnings_as_in_scikit_learn():
    x, y = table(20, 4)
    with pytest.warns(UserWarning, match="recomputing Gram matrix"):
        sx.ElasticNet(precompute=x.T @ x).fit(x, y)
    with pytest.raises(ValueError, match=r"Gram matrix.*did not pass validation"):
        sx.ElasticNet(precompute=np.eye(4)).fit(x, y)
    with pytest.warns(SeparatrixWarning, match="Objective did not converge"):
        sx.Lasso(1e-8, max_iter=1).fit(*table(40, 90))
    with pytest.raises(ValueError, match=r"alphas\[1\] == -1, must be >= 0.0"):
        sx.LassoCV(alphas=[1, -1]).fit(x, y)
    with pytest.raises(TypeError, match=r"alphas\[1\] must be an instance of float, not str"):
        sx.LassoCV(alphas=[1, "2"]).fit(x, y)
