"""Ridge: one penalty, all of them, the best one; each against independent references."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import config_context
from sklearn import linear_model as reference
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit

import separatrix as sx

rng = np.random.default_rng(11)
ALPHAS = np.logspace(-3, 3, 13)


def sample(n: int = 60, d: int = 6, k: int = 0) -> tuple[np.ndarray, np.ndarray]:
    local = np.random.default_rng(n + 10 * d + k)
    x = local.standard_normal((n, d)) * np.logspace(-1, 1, d) + 2
    y = x @ local.standard_normal((d, max(k, 1))) + local.standard_normal((n, max(k, 1)))
    return x, y if k else y[:, 0]


@pytest.mark.parametrize("shape", [(60, 6), (20, 50), (10, 10)])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("k", [0, 2])
def test_agrees_with_scikit_learn(
    rng: np.random.Generator, shape: tuple[int, int], fit_intercept: bool, k: int
) -> None:
    x, y = sample(*shape, k)
    w = rng.uniform(0.1, 3, len(x))
    ours = sx.Ridge(0.7, fit_intercept=fit_intercept).fit(x, y, sample_weight=w)
    theirs = reference.Ridge(0.7, fit_intercept=fit_intercept, solver="svd")
    theirs.fit(x, y, sample_weight=w)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-11)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-10)
    assert ours.certificate_.holds


def test_one_penalty_per_target() -> None:
    x, y = sample(k=2)
    model = sx.Ridge([0.1, 10.0]).fit(x, y)
    for j, alpha in enumerate([0.1, 10.0]):
        assert_allclose(model.coef_[j], sx.Ridge(alpha).fit(x, y[:, j]).coef_, rtol=1e-10)
    with pytest.raises(sx.InputError, match="alpha"):
        sx.Ridge([1.0, 2.0, 3.0]).fit(x, y)
    with pytest.raises(sx.InputError, match="alpha"):
        sx.Ridge(-1.0).fit(x, y)


def test_no_penalty_is_least_squares() -> None:
    x, y = sample()
    assert_allclose(
        sx.Ridge(0.0).fit(x, y).coef_, sx.LinearRegression().fit(x, y).coef_, rtol=1e-10
    )
    few, target = sample(5, 9)
    expected = reference.LinearRegression().fit(few, target).coef_
    assert_allclose(sx.Ridge(0.0).fit(few, target).coef_, expected, atol=1e-10)


def test_the_intercept_is_not_penalized() -> None:
    x, y = sample()
    model = sx.Ridge(1e12).fit(x, y + 1000.0)
    assert_allclose(model.intercept_, (y + 1000.0).mean(), rtol=1e-6)


def test_badly_mixed_units_lose_no_digits() -> None:
    x, y = sample(d=3)
    units = np.array([1e8, 1.0, 1e-6])
    mixed = x * units
    alpha = 1e-9
    for model in (sx.Ridge(alpha), sx.RidgePath([alpha])):
        model.fit(mixed, y)
        centered = (mixed - mixed.mean(axis=0)).astype(np.longdouble)
        gram = centered.T @ centered + np.longdouble(alpha) * np.eye(3)
        scale = np.sqrt(np.diag(gram))
        right = centered.T @ (y - y.mean())
        even = np.linalg.solve(
            (gram / np.outer(scale, scale)).astype(float), (right / scale).astype(float)
        )
        assert_allclose(model.coef_, even / scale.astype(float), rtol=1e-7)


@pytest.mark.parametrize("shape", [(60, 6), (15, 40)])
def test_the_path_is_right_everywhere(shape: tuple[int, int]) -> None:
    x, y = sample(*shape)
    path = sx.RidgePath(ALPHAS).fit(x, y)
    assert path.coefs_.shape == (len(ALPHAS), shape[1])
    for i, alpha in enumerate(ALPHAS):
        theirs = reference.Ridge(alpha, solver="svd").fit(x, y)
        assert_allclose(path.coefs_[i], theirs.coef_, rtol=1e-7, atol=1e-10)
        assert_allclose(path.intercepts_[i], theirs.intercept_, rtol=1e-7)
    assert path.gaps_.max() < 1e-10 * (y**2).sum()
    coef, intercept = path.coef_at(0.123)
    theirs = reference.Ridge(0.123, solver="svd").fit(x, y)
    assert_allclose(coef, theirs.coef_, rtol=1e-7, atol=1e-10)
    assert_allclose(intercept, theirs.intercept_, rtol=1e-7)


def test_information_criteria_and_degrees_of_freedom() -> None:
    x, y = sample()
    path = sx.RidgePath(ALPHAS, criterion="aic").fit(x, y)
    centered = x - x.mean(axis=0)
    for i, alpha in enumerate(ALPHAS):
        hat = centered @ np.linalg.solve(centered.T @ centered + alpha * np.eye(6), centered.T)
        freedom = np.trace(hat) + 1
        rss = ((y - x @ path.coefs_[i] - path.intercepts_[i]) ** 2).sum()
        assert_allclose(path.degrees_of_freedom_[i], freedom, rtol=1e-9)
        likelihood = -0.5 * 60 * (np.log(2 * np.pi * rss / 60) + 1)
        assert_allclose(path.aic_[i], -2 * likelihood + 2 * freedom, rtol=1e-8)
        assert_allclose(path.gcv_[i], 60 * rss / (60 - freedom) ** 2, rtol=1e-8)
    assert path.alpha_ == ALPHAS[path.aic_.argmin()]


def test_the_automatic_grid_spans_the_path() -> None:
    x, y = sample()
    for factor in (1e-6, 1.0, 1e6):
        path = sx.RidgePath().fit(x * factor, y)
        assert len(path.alphas_) == 100
        assert path.degrees_of_freedom_.min() < 1.5
        assert path.degrees_of_freedom_.max() > 6.9


@pytest.mark.parametrize("shape", [(20, 6), (15, 40)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out_is_what_leaving_out_gives(
    shape: tuple[int, int], fit_intercept: bool
) -> None:
    x, y = sample(*shape)
    model = sx.RidgeCV(ALPHAS, fit_intercept=fit_intercept).fit(x, y)
    for i, alpha in enumerate(ALPHAS):
        errors = []
        for train, test in LeaveOneOut().split(x):
            one = reference.Ridge(alpha, fit_intercept=fit_intercept, solver="svd")
            errors.append((y[test] - one.fit(x[train], y[train]).predict(x[test])) ** 2)
        assert_allclose(model.mse_path_[i, 0], np.mean(errors), rtol=1e-6)
    assert model.alpha_ == ALPHAS[model.mse_path_.mean(axis=1).argmin()]


@pytest.mark.parametrize(
    "cv", [5, KFold(4, shuffle=True, random_state=1), ShuffleSplit(3, random_state=2)]
)
@pytest.mark.parametrize("shape", [(60, 6), (20, 40)])
def test_folds_agree_with_scikit_learn(cv, shape: tuple[int, int]) -> None:
    x, y = sample(*shape)
    ours = sx.RidgeCV(ALPHAS, cv=cv, scoring="neg_mean_squared_error").fit(x, y)
    theirs = reference.RidgeCV(ALPHAS, cv=cv, scoring="neg_mean_squared_error").fit(x, y)
    assert ours.alpha_ == theirs.alpha_
    assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-7)
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)


def test_several_targets_have_one_penalty() -> None:
    x, y = sample(k=3)
    ours = sx.RidgeCV(ALPHAS).fit(x, y)
    theirs = reference.RidgeCV(ALPHAS).fit(x, y)
    assert ours.alpha_ == theirs.alpha_
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    assert ours.coefs_.shape == (len(ALPHAS), 3, 6)


def test_one_standard_error_takes_the_larger_penalty() -> None:
    x, y = sample(40, 6)
    least = sx.RidgeCV(ALPHAS, cv=5, scoring="neg_mean_squared_error").fit(x, y)
    rule = clone(least).set_params(rule="one_se").fit(x, y)
    errors = least.mse_path_.mean(axis=1)
    best = errors.argmin()
    limit = errors[best] + least.mse_path_[best].std(ddof=1) / np.sqrt(5)
    assert rule.alpha_ == ALPHAS[errors <= limit].max()
    assert rule.alpha_ >= least.alpha_
    with pytest.raises(sx.InputError, match="rule"):
        sx.RidgeCV(ALPHAS, rule="best").fit(x, y)


def test_sparse_rows_and_updates(rng: np.random.Generator) -> None:
    x = sparse.random_array((200, 15), density=0.2, rng=1, format="csr")
    y = rng.standard_normal(200)
    whole = sx.Ridge(0.5).fit(x.toarray(), y)
    assert_allclose(sx.Ridge(0.5).fit(x, y).coef_, whole.coef_, rtol=1e-10)
    model = sx.Ridge(0.5)
    for start in range(0, 200, 50):
        model.partial_fit(x[start : start + 50], y[start : start + 50])
    assert_allclose(model.coef_, whole.coef_, rtol=1e-10)
    assert not hasattr(sx.RidgeCV(), "partial_fit")


@pytest.mark.parametrize("model", [sx.Ridge(), sx.RidgePath(), sx.RidgeCV()])
def test_inference_is_refused_with_a_reason(model) -> None:
    x, y = sample()
    with pytest.raises(sx.InputError, match="biased by the penalty"):
        model.fit(x, y).summary()


def test_moments_alone_cannot_leave_rows_out() -> None:
    from separatrix.rows.rows import ArrayRows

    x, y = sample()
    m = ArrayRows(x, y).reduce(sx.Moments())
    assert_allclose(
        sx.RidgePath(ALPHAS).fit(m).coef_, sx.RidgePath(ALPHAS).fit(x, y).coef_, rtol=1e-9
    )
    with pytest.raises(sx.InputError, match="only their moments"):
        sx.RidgeCV(ALPHAS).fit(m)


@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_rows_with_very_many_columns_never_form_their_products(standardize: bool) -> None:
    local = np.random.default_rng(11)
    x = sparse.random_array((300, 6000), density=0.01, rng=4, format="csr")
    y = local.standard_normal((300, 2))
    w = local.uniform(0, 2, 300)
    model = sx.Ridge([0.5, 2.0], standardize=standardize).fit(x, y, sample_weight=w)
    dense = sx.Ridge([0.5, 2.0], standardize=standardize).fit(x.toarray(), y, sample_weight=w)
    assert_allclose(model.coef_, dense.coef_, atol=1e-7)
    assert_allclose(model.predict(x), dense.predict(x.toarray()), atol=1e-6)
    assert model.certificate_.holds
    plain = sx.LinearRegression().fit(x, y[:, 0])
    assert_allclose(plain.predict(x), y[:, 0], atol=1e-6)


@pytest.mark.parametrize("n", [60, 3])
def test_a_target_without_penalty_leaves_the_other_its_own(n):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n, 4)), rng.normal(size=(n, 2))
    both = sx.Ridge([0.0, 50.0]).fit(x, y)
    assert_allclose(both.coef_[1], sx.Ridge(50.0).fit(x, y[:, 1]).coef_, atol=1e-12)
    assert_allclose(both.coef_[0], sx.Ridge(0.0).fit(x, y[:, 0]).coef_, atol=1e-12)
    assert both.certificate_.holds


def test_no_penalty_at_the_end_of_a_wide_path():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(10, 25)), rng.normal(size=10)
    path = sx.RidgePath([1.0, 0.0]).fit(x, y)
    assert path.gaps_.max() < 1e-12
    assert_allclose(path.coefs_[1], np.linalg.pinv(x - x.mean(axis=0)) @ (y - y.mean()), atol=1e-12)


@pytest.mark.parametrize("alpha", [1e-30, 1e-17, 1e-13])
def test_a_penalty_below_rounding_is_that_of_minimum_norm(alpha):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2))
    columns, y = np.column_stack([x, x[:, 0], x.sum(axis=1)]), rng.normal(size=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ridge = sx.Ridge(alpha=alpha).fit(columns, y)
        warnings.simplefilter("ignore")
        plain = sx.LinearRegression().fit(columns, y)
    assert_allclose(ridge.coef_, plain.coef_, atol=1e-10)


def test_scoring_targets_and_stored_results_as_in_scikit_learn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 4))
    y = x @ rng.normal(size=(4, 2)) + rng.normal(size=(30, 2)) * [0.1, 3.0]
    for options in (
        {"store_cv_results": True},
        {"alpha_per_target": True},
        {"scoring": "neg_mean_absolute_error", "store_cv_results": True},
        {"scoring": "r2", "cv": 4},
        {"scoring": "neg_mean_absolute_error", "cv": 4},
        {"cv": 3},
    ):
        ours = sx.RidgeCV(ALPHAS, **options).fit(x, y)
        theirs = reference.RidgeCV(ALPHAS, **options).fit(x, y)
        assert_allclose(ours.alpha_, theirs.alpha_)
        assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-7)
        assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
        if "store_cv_results" in options:
            assert_allclose(ours.cv_results_, theirs.cv_results_, rtol=1e-6)
    assert sx.RidgeCV().fit(x, y).alphas_.tolist() == [0.1, 1.0, 10.0]
    with pytest.raises(sx.InputError, match="incompatible"):
        sx.RidgeCV(cv=3, alpha_per_target=True).fit(x, y)


def test_groups_are_routed_to_the_splitter():
    rng = np.random.default_rng(0)
    x, groups = rng.normal(size=(30, 3)), np.repeat(np.arange(6), 5)
    y = x @ [1.0, 2.0, 0.0] + rng.normal(size=30)
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        sx.RidgeCV(cv=GroupKFold(3)).fit(x, y, groups=groups)
    with config_context(enable_metadata_routing=True):
        for ours, theirs in ((sx.RidgeCV, reference.RidgeCV), (sx.LassoCV, reference.LassoCV)):
            cv = GroupKFold(3).set_split_request(groups=True)
            a, b = (m(cv=cv).fit(x, y, groups=groups) for m in (ours, theirs))
            assert_allclose(a.alpha_, b.alpha_)
            assert_allclose(a.coef_, b.coef_, atol=1e-3)


@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_copies_are_left_out_together(d: int, container) -> None:
    """A row of weight w, w equal rows, and folds that keep copies together are the same."""
    local = np.random.default_rng(d)
    x, y = local.normal(size=(12, d)), local.normal(size=12)  # pure noise
    counts = local.integers(1, 4, 12)
    which = np.repeat(np.arange(12), counts)
    theirs = reference.RidgeCV(ALPHAS, store_cv_results=True).fit(x, y, sample_weight=counts)
    weighted = sx.RidgeCV(ALPHAS, store_cv_results=True)
    weighted.fit(container(x), y, sample_weight=counts.astype(float))
    repeated = sx.RidgeCV(ALPHAS, store_cv_results=True).fit(container(x[which]), y[which])
    assert_allclose(weighted.cv_results_, theirs.cv_results_, rtol=1e-6)
    assert_allclose(repeated.cv_results_ * counts[which, None], weighted.cv_results_[which])
    left_out = []
    for train, test in GroupKFold(12).split(x[which], y[which], which):
        ridge = reference.Ridge(ALPHAS[6], solver="svd").fit(x[which][train], y[which][train])
        left_out.append((y[which][test] - ridge.predict(x[which][test])) ** 2)
    error = np.concatenate(left_out).mean()
    for model in (weighted, repeated, sx.RidgeCV(ALPHAS).fit(container(x[which]), y[which])):
        assert_allclose(model.mse_path_[6, 0], error, rtol=1e-6)
        assert model.alpha_ == theirs.alpha_ > ALPHAS[0]


def test_refusals_warnings_and_types_as_in_scikit_learn() -> None:
    x, y = sample()
    for given, error, text in (
        ((1, -1), ValueError, r"alphas\[1\] == -1, must be > 0"),
        ((0.1, "1"), TypeError, r"alphas\[1\] must be an instance of float, not str"),
    ):
        with pytest.raises(error, match=text):
            sx.RidgeCV(given).fit(x, y)
    with pytest.warns(FutureWarning, match="'svd' mode is not supported for sparse X"):
        sx.RidgeCV(gcv_mode="svd").fit(sparse.csr_array(x), y)
    with pytest.raises(ValueError, match="penalties do not correspond: 2 != 1"):
        sx.Ridge([1.0, 2.0]).fit(x, y)
    model = sx.Ridge().fit(x, y)
    assert type(model.intercept_) is np.float64
    assert model.n_iter_.tolist() == [1]


@pytest.mark.parametrize(("n", "d"), [(10, 100), (12, 11)])
def test_rows_left_out_at_a_small_penalty(n: int, d: int) -> None:
    """Independent rows: residual and 1 − leverage are multiples of α, and both nearly zero."""
    local = np.random.default_rng(n)
    x, y = local.normal(size=(n, d)), 100.0 * local.normal(size=n)
    w = np.where(np.arange(n) % 2, 1.0, 0.5)
    model = sx.RidgeCV([1e-9, 1e-5], scoring="neg_mean_squared_error", store_cv_results=True)
    model.fit(x, y, sample_weight=w)
    for i, alpha in enumerate(model.alphas_):
        for train, test in LeaveOneOut().split(x):
            ridge = reference.Ridge(alpha, solver="svd").fit(x[train], y[train], w[train])
            assert_allclose(model.cv_results_[test, i], ridge.predict(x[test]), rtol=1e-6)
