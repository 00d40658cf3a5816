"""Least squares: facts, degenerate tables, updates, inference."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LinearRegression as Reference
from sklearn.linear_model import RANSACRegressor

import separatrix as sx
from separatrix.linear import least_squares
from separatrix.linear.least_squares import solve_moments
from separatrix.messages import SeparatrixWarning
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.moments import Moments

rng = np.random.default_rng(7)


def sample(n: int = 80, d: int = 5, k: int = 0) -> tuple[np.ndarray, np.ndarray]:
    local = np.random.default_rng(n + 10 * d + k)
    x = local.standard_normal((n, d)) + local.uniform(-3, 3, d)
    y = x @ local.standard_normal((d, max(k, 1))) + local.standard_normal((n, max(k, 1)))
    return x, y if k else y[:, 0]


def test_one_column_slope_is_covariance_over_variance() -> None:
    height = np.array([175.0, 182, 168, 190, 177, 185, 172, 180])
    weight = np.array([70.0, 78, 61, 88, 74, 80, 65, 77])
    model = sx.LinearRegression().fit(height[:, None], weight)
    slope = np.cov(height, weight, bias=True)[0, 1] / height.var()
    assert_allclose(model.coef_, [slope], rtol=1e-13)
    assert_allclose(model.predict([[height.mean()]]), [weight.mean()], rtol=1e-13)
    assert abs((weight - model.predict(height[:, None])).sum()) < 1e-11


def test_marginal_coefficients_ignore_correlation(rng: np.random.Generator) -> None:
    first = rng.standard_normal(500)
    second = -first + 0.05 * rng.standard_normal(500)
    x = np.stack([first, second], axis=1)
    y = x.sum(axis=1) + 0.01 * rng.standard_normal(500)
    model = sx.LinearRegression().fit(x, y)
    assert_allclose(model.coef_, [1, 1], atol=0.05)
    assert np.abs(model.marginal_coef_).max() < 0.05
    each = [np.polyfit(x[:, j], y, 1)[0] for j in range(2)]
    assert_allclose(model.marginal_coef_, each, atol=1e-12)


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_agrees_with_scikit_learn(rng: np.random.Generator, k: int, fit_intercept: bool) -> None:
    x, y = sample(k=k)
    w = rng.uniform(0, 3, len(x))
    ours = sx.LinearRegression(fit_intercept=fit_intercept).fit(x, y, sample_weight=w)
    theirs = Reference(fit_intercept=fit_intercept).fit(x, y, sample_weight=w)
    assert ours.coef_.shape == theirs.coef_.shape
    assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9)
    assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-12)
    assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-9)


def test_sparse_rows(rng: np.random.Generator) -> None:
    x = sparse.random_array((300, 20), density=0.1, rng=3, format="csr")
    y = rng.standard_normal(300)
    a, b = sx.LinearRegression().fit(x, y), sx.LinearRegression().fit(x.toarray(), y)
    assert_allclose(a.coef_, b.coef_, rtol=1e-10)
    assert_allclose(a.predict(x), b.predict(x.toarray()), rtol=1e-10)


def test_dependent_columns_are_named_and_the_solution_has_minimum_norm() -> None:
    import pandas as pd

    x, y = sample(d=3)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["sum"] = frame["a"] + frame["b"]
    frame["five"] = 5.0
    with pytest.warns(SeparatrixWarning, match="SEP001 .*sum, five"):
        model = sx.LinearRegression().fit(frame, y)
    assert model.certificate_.dependent == ("sum", "five")
    assert model.certificate_.rank == 3
    centered = frame.to_numpy() - frame.to_numpy().mean(axis=0)
    assert_allclose(model.coef_, np.linalg.pinv(centered) @ (y - y.mean()), atol=1e-12)
    assert_allclose(model.predict(frame), sx.LinearRegression().fit(x, y).predict(x), rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_dependence_does_not_depend_on_units(scale: float) -> None:
    x, y = sample(d=3)
    wide = np.column_stack([x, (x[:, 0] - 2 * x[:, 2]) * scale])
    with pytest.warns(SeparatrixWarning, match="x3"):
        model = sx.LinearRegression().fit(wide, y)
    assert model.certificate_.dependent == ("x3",)
    assert_allclose(model.predict(wide), sx.LinearRegression().fit(x, y).predict(x), rtol=1e-7)


def test_more_columns_than_rows_gives_the_minimum_norm_interpolation(
    rng: np.random.Generator,
) -> None:
    x, y = rng.standard_normal((15, 40)), rng.standard_normal(15)
    with pytest.warns(SeparatrixWarning, match="SEP001"):
        model = sx.LinearRegression().fit(x, y)
    assert_allclose(model.predict(x), y, atol=1e-10)
    assert_allclose(model.coef_, Reference().fit(x, y).coef_, atol=1e-10)
    assert model.certificate_.rank == 14
    with pytest.raises(sx.InputError, match="fewer rows than columns"):
        model.summary()


def test_more_columns_than_rows_in_extreme_units_still_interpolates(
    rng: np.random.Generator,
) -> None:
    x, y = rng.standard_normal((15, 40)), rng.standard_normal(15)
    x[:, ::2] *= 1e8
    x[:, 1::4] *= 1e-8
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparatrixWarning)
        assert_allclose(sx.LinearRegression().fit(x, y).predict(x), y, atol=1e-7)


def test_one_row_and_constant_target() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparatrixWarning)
        assert sx.LinearRegression().fit([[1.0, 2.0]], [3.0]).predict([[5.0, 6.0]])[0] == 3.0
        x, _ = sample()
        model = sx.LinearRegression().fit(x, np.full(len(x), 4.0))
    assert_allclose(model.coef_, 0, atol=1e-15)
    assert_allclose(model.intercept_, 4.0, rtol=1e-15)


def test_updates_add_up_to_one_fit() -> None:
    x, y = sample(n=200)
    model = sx.LinearRegression()
    for start in range(0, 200, 30):
        model.partial_fit(x[start : start + 30], y[start : start + 30])
    whole = sx.LinearRegression().fit(x, y)
    assert_allclose(model.coef_, whole.coef_, rtol=1e-10)
    assert_allclose(model.summary().standard_errors, whole.summary().standard_errors, rtol=1e-10)


def test_moments_of_two_sites_fit_as_all_rows() -> None:
    x, y = sample(n=120)
    a = ArrayRows(x[:50], y[:50]).reduce(Moments())
    b = ArrayRows(x[50:], y[50:]).reduce(Moments())
    model = sx.LinearRegression().fit(a + b)
    assert_allclose(model.coef_, sx.LinearRegression().fit(x, y).coef_, rtol=1e-11)
    assert_allclose(model.predict(x), sx.LinearRegression().fit(x, y).predict(x), rtol=1e-10)


def test_large_hard_tables_use_the_triangular_factor(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.vander(np.linspace(1, 2, 60), 7, increasing=True)[:, 1:]
    y = x @ np.ones(6) + 1e-3 * rng.standard_normal(60)
    exact = sx.LinearRegression().fit(x, y)
    monkeypatch.setattr(least_squares, "AFFORDABLE", 0)
    model = sx.LinearRegression().fit(x, y)
    assert model.certificate_.statistic == "the triangular factor"
    assert_allclose(model.coef_, exact.coef_, rtol=1e-4)
    assert model.certificate_.digits < exact.certificate_.digits
    error = np.max(np.abs(model.coef_ - exact.coef_) / np.abs(exact.coef_))
    assert -np.log10(error) >= model.certificate_.digits - 1


def test_the_factor_names_dependent_columns_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least_squares, "AFFORDABLE", 0)
    x, y = sample(d=3)
    wide = np.column_stack([x[:, :2], x[:, 0] + x[:, 1], x[:, 2]])
    with pytest.warns(SeparatrixWarning, match="x2"):
        model = sx.LinearRegression().fit(wide, y)
    assert_allclose(model.coef_, Reference().fit(wide, y).coef_, atol=1e-10)


def test_moments_alone_report_the_digits_that_are_left() -> None:
    x = np.vander(np.linspace(1, 2, 60), 6, increasing=True)[:, 1:]
    m = ArrayRows(x, x @ np.ones(5)).reduce(Moments())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparatrixWarning)
        solution = solve_moments(None, m, fit_intercept=True)
    assert solution.certificate.digits < 10
    assert solution.certificate.statistic == "moments"


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 12),
    d=st.integers(1, 6),
    seed=st.integers(0, 10_000),
    copies=st.booleans(),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
)
def test_fitted_values_are_the_projection(
    n: int, d: int, seed: int, copies: bool, scale: float
) -> None:
    local = np.random.default_rng(seed)
    x = np.round(3 * local.standard_normal((n, d)))
    if copies and d > 1:
        x[:, -1] = x[:, 0]
    y = local.standard_normal(n)
    scaled = x * np.where(np.arange(d) % 2, scale, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparatrixWarning)
        fitted = sx.LinearRegression().fit(scaled, y).predict(scaled)
    design = np.column_stack([np.ones(n), x])
    assert_allclose(fitted, design @ (np.linalg.pinv(design) @ y), atol=1e-6)


# -- inference ---------------------------------------------------------------------------------


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_summary_agrees_with_statsmodels(fit_intercept: bool) -> None:
    x, y = sample()
    s = sx.LinearRegression(fit_intercept=fit_intercept).fit(x, y).summary()
    theirs = sm.OLS(y, sm.add_constant(x) if fit_intercept else x).fit()
    influence = theirs.get_influence()
    for ours, expected in [
        (s.estimates, theirs.params),
        (s.standard_errors, theirs.bse),
        (s.t_values, theirs.tvalues),
        (s.p_values, theirs.pvalues),
        (s.intervals, theirs.conf_int()),
        (s.leverage, influence.hat_matrix_diag),
        (s.cooks_distance, influence.cooks_distance[0]),
        (s.residuals, theirs.resid),
    ]:
        assert_allclose(ours, expected, rtol=1e-8, atol=1e-12)
    numbers = [s.r_squared, s.adjusted_r_squared, s.aic, s.bic, s.f_statistic, s.sigma**2]
    expected = [theirs.rsquared, theirs.rsquared_adj, theirs.aic, theirs.bic, theirs.fvalue]
    assert_allclose(numbers, [*expected, theirs.scale], rtol=1e-9)


def test_summary_counts_weights_as_rows(rng: np.random.Generator) -> None:
    x, y = sample()
    w = rng.integers(0, 4, len(x))
    weighted = sx.LinearRegression().fit(x, y, sample_weight=w.astype(float)).summary()
    repeated = sx.LinearRegression().fit(np.repeat(x, w, axis=0), np.repeat(y, w)).summary()
    assert_allclose(weighted.standard_errors, repeated.standard_errors, rtol=1e-10)
    assert_allclose(weighted.p_values, repeated.p_values, rtol=1e-7)
    assert_allclose(weighted.aic, repeated.aic, rtol=1e-10)
    with pytest.raises(sx.InputError, match="degrees of freedom"):
        sx.LinearRegression().fit(x, y, sample_weight=w / w.sum()).summary()


def test_summary_names_prints_and_converts() -> None:
    import pandas as pd

    x, y = sample(d=2)
    s = sx.LinearRegression().fit(pd.DataFrame(x, columns=["dose", "age"]), y).summary()
    assert s.names == ("intercept", "dose", "age")
    text = str(s)
    assert "dose" in text
    assert "95 % interval" in text
    assert "R²" in text
    frame = s.to_frame()
    assert list(frame["term"]) == ["intercept", "dose", "age"]
    assert_allclose(frame["estimate"], s.estimates)
    assert s.to_frame(backend="polars").shape == (3, 8)
    assert "VIF" in text


def test_an_open_coefficient_has_no_standard_error() -> None:
    x, y = sample(d=3)
    wide = np.column_stack([x, x[:, 0] + x[:, 1]])
    with pytest.warns(SeparatrixWarning, match="SEP001"):
        s = sx.LinearRegression().fit(wide, y).summary()
    assert np.isnan(s.standard_errors[[1, 2, 4]]).all()
    alone = sx.LinearRegression().fit(x, y).summary()
    assert_allclose(s.standard_errors[3], alone.standard_errors[3], rtol=1e-9)
    assert_allclose(s.leverage, alone.leverage, rtol=1e-8)
    assert_allclose(s.sigma, alone.sigma, rtol=1e-9)


def test_a_loaded_model_needs_its_rows(tmp_path) -> None:
    x, y = sample()
    model = sx.LinearRegression().fit(x, y)
    sx.save(model, tmp_path / "m.sx")
    loaded = sx.load(tmp_path / "m.sx")
    assert_allclose(loaded.summary().p_values, model.summary().p_values)
    with pytest.raises(sx.InputError, match=r"summary\(X, y\)"):
        _ = loaded.summary().leverage
    assert_allclose(loaded.summary(x, y).leverage, model.summary().leverage)


def test_an_outlier_is_detected(rng: np.random.Generator) -> None:
    x = np.linspace(0, 10, 20)[:, None]
    y = 2 * x[:, 0] + 0.1 * rng.standard_normal(20)
    y[-1] += 10
    s = sx.LinearRegression().fit(x, y).summary()
    assert s.cooks_distance.argmax() == 19
    assert s.cooks_distance[19] > 1


@pytest.mark.parametrize("closeness", [1e-5, 1e-8, 1e-10])
def test_the_intercept_keeps_the_digits_of_its_standard_error(closeness: float) -> None:
    """Against rational arithmetic, with two columns that all but coincide."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 3))
    x[:, 2] = x[:, 0] + closeness * rng.normal(size=40)
    y = rng.normal(size=40)
    found = sx.LinearRegression().fit(x, y).summary()
    want = _exact_standard_errors(np.column_stack([np.ones(40), x]), y)
    assert_allclose(found.standard_errors, want, rtol=1e-9)


def _exact_standard_errors(design: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Gauss–Jordan on XᵀX, with the identity and Xᵀy beside it, in fractions."""
    z = [[Fraction(float(v)) for v in row] for row in np.column_stack([design, y])]
    n, p = design.shape
    gram = [[sum(row[i] * row[j] for row in z) for j in range(p + 1)] for i in range(p + 1)]
    a = [gram[i] + [Fraction(int(i == j)) for j in range(p)] for i in range(p)]
    for i in range(p):
        a[i] = [v / a[i][i] for v in a[i]]
        for j in set(range(p)) - {i}:
            a[j] = [v - a[j][i] * u for v, u in zip(a[j], a[i], strict=True)]
    rss = gram[p][p] - sum(a[i][p] * gram[i][p] for i in range(p))
    return np.array([float(a[i][p + 1 + i] * rss / (n - p)) ** 0.5 for i in range(p)])


def test_classes_are_no_numbers() -> None:
    table = {"x": [1.0, 2.0, 3.0, 4.0] * 5, "y": ["low", "low", "high", "high"] * 5}
    for model in (sx.LinearRegression(), sx.Ridge(), sx.RidgeCV(cv=2), sx.LassoCV(cv=2)):
        with pytest.raises(sx.InputError, match="column 'y': the target holds classes"):
            model.fit(sx.scan(table, target="y"))


def test_interpolation_has_a_duality_gap_too() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 30)), rng.normal(size=12)
    x[5] = x[6]  # the same row twice with different targets: no perfect fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparatrixWarning)
        proof = sx.LinearRegression().fit(x, y).certificate_
    assert proof.primal == pytest.approx((y[5] - y[6]) ** 2 / 4)
    assert 0.0 <= proof.gap <= 1e-20
    assert proof.holds


@pytest.mark.parametrize("seed", range(5))
def test_few_distinct_rows_leave_as_many_columns_undecided(seed: int) -> None:
    local = np.random.default_rng(seed)
    x = np.repeat(local.standard_normal((6, 12)), 20, axis=0)
    y = local.standard_normal(120)
    with pytest.warns(SeparatrixWarning, match="SEP001"):
        model = sx.LinearRegression().fit(x, y)
    assert model.certificate_.rank == 5
    means = np.repeat(y.reshape(6, 20).mean(axis=1), 20)
    assert_allclose(model.predict(x), means, atol=1e-9)
    assert_allclose(model.coef_, Reference().fit(x, y).coef_, atol=1e-9)


def test_a_wide_table_with_names_is_solved_as_a_matrix() -> None:
    import pandas as pd

    local = np.random.default_rng(2)
    frame = pd.DataFrame(local.standard_normal((20, 40))).rename(columns=lambda j: f"c{j}")
    frame["kind"] = local.choice(["a", "b"], 20)
    frame["y"] = local.standard_normal(20)
    with pytest.warns(SeparatrixWarning, match="SEP001"):
        model = sx.LinearRegression().fit(sx.scan(frame, target="y"))
    assert model.certificate_.statistic == "the rows"
    assert_allclose(model.predict(frame), frame["y"], atol=1e-9)


def test_ransac_draws_as_many_rows_as_a_line_needs() -> None:
    """scikit-learn's RANSACRegressor knows the model as a LinearRegression."""
    x, y = sample()
    y[:20] += 50.0  # outliers
    ours = RANSACRegressor(sx.LinearRegression(), random_state=0).fit(x, y)
    theirs = RANSACRegressor(Reference(), random_state=0).fit(x, y)
    assert type(ours.estimator_) is sx.LinearRegression
    np.testing.assert_array_equal(ours.inlier_mask_, theirs.inlier_mask_)
    assert_allclose(ours.estimator_.coef_, theirs.estimator_.coef_)
