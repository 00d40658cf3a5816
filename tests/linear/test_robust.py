"""Huber's and absolute error against independent solvers, objective by objective."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.linear_model import HuberRegressor as TheirHuber
from sklearn.linear_model import QuantileRegressor

import separatrix as sx
from separatrix import HuberRegressor, InputError, LeastAbsoluteRegressor, SeparatrixWarning
from separatrix.linear.huber import HuberOptions, solve_huber, solve_huber_by_rows
from separatrix.rows.rows import ArrayRows
from separatrix.statistics.moments import Moments
from separatrix.threads import thread_limit


def table(n=200, d=4, seed=0, wild=0.1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) + np.arange(d)
    y = x @ rng.standard_normal(d) + 3.0 + rng.standard_normal(n)
    y[rng.random(n) < wild] += 30.0
    return x, y


def huber_objective(b, a, sigma, x, y, w, epsilon, alpha):
    z = np.abs(y - x @ b - a) / sigma
    h = np.where(z <= epsilon, z**2, 2 * epsilon * z - epsilon**2)
    return np.sum(w * sigma * (1 + h)) + alpha * b @ b


def absolute_objective(model, x, y, w=1.0, epsilon=0.0):
    return np.sum(w * np.maximum(np.abs(y - model.predict(x)) - epsilon, 0.0))


def absolute_by_highs(x, y, w, epsilon, fit_intercept=True):
    """The same linear program, written out with one slack per row, by an independent solver."""
    n = len(y)
    z = np.column_stack([x, np.ones(n)]) if fit_intercept else x
    p = z.shape[1]
    found = linprog(
        np.concatenate([np.zeros(p), w]),
        np.block([[z, -np.eye(n)], [-z, -np.eye(n)]]),
        np.concatenate([y + epsilon, -y + epsilon]),
        bounds=[(None, None)] * p + [(0, None)] * n,
    )
    return found.fun


class TestHuber:
    @pytest.mark.parametrize("alpha", [1e-4, 5.0, 500.0])
    @pytest.mark.parametrize("intercept", [True, False])
    @pytest.mark.parametrize("copies", [False, True])
    def test_fewer_rows_than_columns(self, alpha, intercept, copies):
        rng = np.random.default_rng(3)
        x = rng.normal(size=(25, 60)) * np.geomspace(1e-6, 1e6, 60)
        y, w = x[:, 30] / x[:, 30].std() + rng.standard_t(2, size=25), rng.integers(0, 3, 25) + 0.0
        if copies:  # no plane passes through all rows
            x[::2] = x[0]
        options = HuberOptions(alpha=alpha, fit_intercept=intercept)
        block = ArrayRows(x, y, w).block
        rows, whole = ArrayRows(x, y, w), solve_huber_by_rows(block, options)
        slow = solve_huber(rows, rows.reduce(Moments()), options)
        assert whole.certificate.holds, str(whole.certificate)
        assert whole.certificate.primal <= slow.certificate.primal * (1.0 + 1e-7)
        if not copies:  # whose medians are an interval
            own, other = (x @ s.coef + s.intercept for s in (whole, slow))
            np.testing.assert_allclose(own[w > 0], other[w > 0], atol=1e-4 * y.std())

    @pytest.mark.parametrize("fit_intercept", [True, False])
    @pytest.mark.parametrize(("epsilon", "alpha"), [(1.35, 1e-4), (1.1, 0.0), (3.0, 20.0)])
    def test_agrees_with_scikit_learn_on_well_scaled_data(self, epsilon, alpha, fit_intercept):
        x, y = table()
        w = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
        settings_ = {"epsilon": epsilon, "alpha": alpha, "fit_intercept": fit_intercept}
        own = HuberRegressor(**settings_, standardize=False).fit(x, y, w)
        peer = TheirHuber(**settings_, tol=1e-9, max_iter=10_000).fit(x, y, w)
        np.testing.assert_allclose(own.coef_, peer.coef_, atol=3e-4)
        assert own.intercept_ == pytest.approx(peer.intercept_, abs=3e-4)
        assert own.scale_ == pytest.approx(peer.scale_, rel=3e-4)
        mine = huber_objective(own.coef_, own.intercept_, own.scale_, x, y, w, epsilon, alpha)
        theirs = huber_objective(peer.coef_, peer.intercept_, peer.scale_, x, y, w, epsilon, alpha)
        assert theirs * (1 - 1e-6) <= mine <= theirs
        assert own.certificate_.primal == pytest.approx(mine, rel=1e-12)

    def test_certificate_from_separate_code(self):
        """Dual variables recomputed here are feasible, and their value meets the objective."""
        x, y = table()
        own = HuberRegressor(alpha=0.5, standardize=False).fit(x, y)
        u = np.clip((y - own.predict(x)) / own.scale_, -own.epsilon, own.epsilon)
        assert abs(u.sum()) < 1e-7
        assert u @ u == pytest.approx(len(y), rel=1e-8)
        np.testing.assert_allclose(x.T @ u, own.alpha * own.coef_, atol=1e-6)
        dual = 2 * u @ y - np.sum((x.T @ u) ** 2) / own.alpha
        assert dual == pytest.approx(own.certificate_.dual, rel=1e-8)
        assert own.certificate_.holds
        assert 0 <= own.certificate_.gap <= 1e-9 * own.certificate_.primal

    def test_early_stop_is_measured_and_warned_of(self):
        x, y = table(wild=0.3)
        best = HuberRegressor().fit(x, y).certificate_.primal
        with pytest.warns(SeparatrixWarning, match="SEP003"):
            rough = HuberRegressor(max_iter=1).fit(x, y)
        assert not rough.certificate_.holds
        assert rough.certificate_.dual <= best <= rough.certificate_.primal

    @pytest.mark.parametrize("power", [-8, 8])
    def test_units_change_nothing_but_the_coefficient(self, power):
        x, y = table()
        plain = HuberRegressor(alpha=1.0).fit(x, y)
        unit = np.array([10.0**power, 1.0, 1.0, 10.0**-power])
        scaled = HuberRegressor(alpha=1.0).fit(x * unit, y)
        np.testing.assert_allclose(scaled.coef_ * unit, plain.coef_, rtol=1e-9)
        stretched = HuberRegressor(alpha=1.0).fit(x, y * 10.0**power)
        np.testing.assert_allclose(stretched.coef_, plain.coef_ * 10.0**power, rtol=1e-9)
        assert stretched.scale_ == pytest.approx(plain.scale_ * 10.0**power, rel=1e-9)

    def test_the_default_penalty_is_hardly_felt(self):
        x, y = table()
        own, peer = HuberRegressor().fit(x, y), TheirHuber(tol=1e-9, max_iter=10_000).fit(x, y)
        np.testing.assert_allclose(own.coef_, peer.coef_, atol=3e-4)

    def test_a_second_fit_starts_at_the_first(self):
        x, y = table()
        own = HuberRegressor(alpha=1.0, warm_start=True).fit(x, y)
        first = own.coef_
        assert own.fit(x, y).n_iter_ == 0
        np.testing.assert_allclose(own.coef_, first, rtol=1e-12)

    def test_columns_far_from_zero(self):
        x, y = table()
        plain, far = HuberRegressor().fit(x, y), HuberRegressor().fit(x + 1e6, y)
        np.testing.assert_allclose(far.coef_, plain.coef_, rtol=1e-8)

    def test_outliers_are_the_rows_that_were_moved(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((300, 2))
        y = x @ [1.0, -2.0] + 0.1 * rng.standard_normal(300)
        y[:20] += 50.0
        own = HuberRegressor(epsilon=3.0).fit(x, y)
        assert own.outliers_[:20].all()
        assert own.outliers_[20:].mean() < 0.1
        np.testing.assert_allclose(own.coef_, [1.0, -2.0], atol=0.05)

    def test_exact_majority_gives_scale_zero_and_the_exact_plane(self):
        rng = np.random.default_rng(0)
        x = rng.standard_normal((80, 3))
        y = x @ [1.0, 2.0, 3.0] + 4.0
        y[:15] += 10 * rng.standard_normal(15)
        own = HuberRegressor(alpha=0.0).fit(x, y)
        np.testing.assert_allclose(own.coef_, [1.0, 2.0, 3.0], atol=1e-7)
        assert own.scale_ < 1e-7
        assert own.certificate_.holds
        assert "exactly" in str(own.certificate_)
        assert own.outliers_.sum() == 15

    @pytest.mark.parametrize("kind", ["constant target", "perfect", "one row", "wide", "repeated"])
    @pytest.mark.parametrize("alpha", [0.0, 1e-4])
    def test_degenerate_tables(self, kind, alpha):
        x, y = table(40, 3)
        if kind == "constant target":
            y = np.full(40, 7.0)
        elif kind == "perfect":
            y = x @ [1.0, 2.0, 3.0]
        elif kind == "one row":
            x, y = x[:1], y[:1]
        elif kind == "wide":
            x, y = table(10, 30)
        elif kind == "repeated":
            x = np.column_stack([x, 1000 * x[:, 0], np.full(40, 0.1)])
        own = HuberRegressor(alpha=alpha).fit(x, y)
        assert own.certificate_.holds, str(own.certificate_)
        if kind in ("constant target", "perfect", "one row"):
            np.testing.assert_allclose(own.predict(x), y, atol=1e-6)
        if kind == "repeated" and alpha:
            # the penalty shares the effect equally between equal standardized columns
            np.testing.assert_allclose(1000 * own.coef_[3], own.coef_[0], rtol=1e-6)
            assert own.coef_[4] == 0.0

    def test_sparse_rows_float32_and_weights_as_repeats(self):
        x, y = table(60, 3)
        x[np.abs(x) < 0.5] = 0.0
        dense = HuberRegressor().fit(x, y)
        np.testing.assert_allclose(
            HuberRegressor().fit(sparse.csr_array(x), y).coef_, dense.coef_, rtol=1e-10
        )
        np.testing.assert_allclose(HuberRegressor().fit(ArrayRows(x, y)).coef_, dense.coef_)
        narrow = HuberRegressor().fit(x.astype(np.float32), y)
        np.testing.assert_allclose(narrow.coef_, dense.coef_, rtol=1e-4)
        w = np.random.default_rng(0).integers(0, 4, 60)
        a = HuberRegressor().fit(x, y, w)
        b = HuberRegressor().fit(np.repeat(x, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-7)

    def test_refusals(self):
        x, y = table(20)
        with pytest.raises(InputError, match="epsilon"):
            HuberRegressor(epsilon=0.5).fit(x, y)
        with pytest.raises(InputError, match="alpha"):
            HuberRegressor(alpha=-1).fit(x, y)
        with pytest.raises(InputError, match="one number per row"):
            HuberRegressor().fit(ArrayRows(x, np.column_stack([y, y])))


class TestLeastAbsolute:
    @pytest.mark.parametrize("epsilon", [0.0, 0.4])
    @pytest.mark.parametrize("fit_intercept", [True, False])
    @pytest.mark.parametrize("rounded", [True, False])
    def test_objective_of_an_independent_linear_program(self, epsilon, fit_intercept, rounded):
        x, y = table(120)
        if rounded:  # ties everywhere
            x, y = np.round(x), np.round(y)
        w = np.random.default_rng(2).integers(0, 4, len(y)).astype(float)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "SEP004")
            own = LeastAbsoluteRegressor(epsilon=epsilon, fit_intercept=fit_intercept).fit(x, y, w)
        best = absolute_by_highs(x, y, w, epsilon, fit_intercept)
        assert absolute_objective(own, x, y, w, epsilon) == pytest.approx(best, rel=1e-10)
        assert own.certificate_.primal == pytest.approx(best, rel=1e-10)
        assert own.certificate_.dual == pytest.approx(best, rel=1e-10)

    @given(
        seed=st.integers(0, 10_000),
        n=st.integers(1, 25),
        d=st.integers(1, 6),
        levels=st.integers(1, 4),
        epsilon=st.sampled_from([0.0, 0.5]),
    )
    @settings(max_examples=40, deadline=None)
    def test_small_tables_full_of_ties(self, seed, n, d, levels, epsilon):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, levels + 1, (n, d)).astype(float)
        y = rng.integers(0, 4, n).astype(float)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = LeastAbsoluteRegressor(epsilon=epsilon).fit(x, y)
        best = absolute_by_highs(x, y, np.ones(n), epsilon)
        assert absolute_objective(own, x, y, 1.0, epsilon) == pytest.approx(
            best, rel=1e-9, abs=1e-9
        )
        assert own.certificate_.holds, str(own.certificate_)

    def test_agrees_with_the_median_regression_of_scikit_learn(self):
        x, y = table(150, 3)
        own = LeastAbsoluteRegressor().fit(x, y)
        peer = QuantileRegressor(quantile=0.5, alpha=0.0, solver="highs").fit(x, y)
        np.testing.assert_allclose(own.coef_, peer.coef_, atol=1e-8)
        assert own.intercept_ == pytest.approx(peer.intercept_, abs=1e-8)

    def test_a_vertex_interpolates_as_many_rows_as_coefficients(self):
        x, y = table(200, 4)
        own = LeastAbsoluteRegressor().fit(x, y)
        assert np.sum(np.abs(y - own.predict(x)) < 1e-12) == 5
        insensitive = LeastAbsoluteRegressor(epsilon=0.7).fit(x, y)
        assert np.sum(np.abs(np.abs(y - insensitive.predict(x)) - 0.7) < 1e-12) == 5

    def test_the_size_of_an_outlier_does_not_matter(self):
        x, y = table(100, 2)
        worst = np.argmax(np.abs(y - LeastAbsoluteRegressor().fit(x, y).predict(x)))
        far = y.copy()
        far[worst] += 1e6 * np.sign(y[worst] - LeastAbsoluteRegressor().fit(x, y).predict(x)[worst])
        np.testing.assert_allclose(
            LeastAbsoluteRegressor().fit(x, far).coef_,
            LeastAbsoluteRegressor().fit(x, y).coef_,
            rtol=1e-9,
        )

    @pytest.mark.parametrize("epsilon", [0.0, 0.5])
    def test_units_change_nothing_but_the_coefficient(self, epsilon):
        x, y = table()
        unit = np.array([1e8, 1.0, 1e-8, 3.0])
        plain = LeastAbsoluteRegressor(epsilon=epsilon).fit(x, y)
        scaled = LeastAbsoluteRegressor(epsilon=epsilon).fit(x * unit, y)
        np.testing.assert_allclose(scaled.coef_ * unit, plain.coef_, rtol=1e-9)
        tall = LeastAbsoluteRegressor(epsilon=epsilon * 1e8).fit(x, y * 1e8)
        np.testing.assert_allclose(tall.coef_, plain.coef_ * 1e8, rtol=1e-9)

    def test_nearly_dependent_columns(self):
        x, y = table(200, 2)
        x = np.column_stack([x, x[:, 0] + 1e-9 * np.random.default_rng(0).standard_normal(200)])
        own = LeastAbsoluteRegressor().fit(x, y)
        assert own.certificate_.holds
        assert own.certificate_.rank == 3
        # scaled by hand, the same problem is easy
        easy = np.column_stack([x[:, :2], (x[:, 2] - x[:, 0]) * 1e9])
        best = LeastAbsoluteRegressor().fit(easy, y).certificate_.primal
        assert own.certificate_.primal == pytest.approx(best, rel=1e-6)

    def test_dependent_columns_are_named_and_the_solution_has_minimum_norm(self):
        x, y = table(100, 2)
        with pytest.warns(SeparatrixWarning, match="SEP001"):
            own = LeastAbsoluteRegressor().fit(np.column_stack([x, 2 * x[:, 0]]), y)
        alone = LeastAbsoluteRegressor().fit(x, y)
        np.testing.assert_allclose(own.coef_[[0, 2]], alone.coef_[0] * np.array([0.2, 0.4]))
        np.testing.assert_allclose(own.coef_[1], alone.coef_[1])

    def test_an_even_number_of_points_has_a_whole_interval_of_medians(self):
        x = np.zeros((4, 0))
        y = np.array([0.0, 1.0, 5.0, 9.0])
        with pytest.warns(SeparatrixWarning, match="SEP004"):
            own = LeastAbsoluteRegressor().fit(ArrayRows(x, y))
        assert 1.0 <= own.intercept_ <= 5.0
        assert own.certificate_.primal == pytest.approx(13.0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            odd = LeastAbsoluteRegressor().fit(ArrayRows(x[:3], y[:3]))
        assert odd.intercept_ == pytest.approx(1.0)

    def test_a_second_solution_next_to_the_first_is_noted_but_not_warned_of(self):
        rng = np.random.default_rng(0)
        group = np.repeat([0.0, 1.0], [1001, 1000])[:, None]  # an even group: its median is a gap
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            own = LeastAbsoluteRegressor().fit(group, rng.standard_normal(2001))
        assert "not unique" in str(own.certificate_)

    def test_residuals_up_to_epsilon_cost_nothing(self):
        x, y = table(50, 2, wild=0.0)
        own = LeastAbsoluteRegressor(epsilon=100.0).fit(x, y)
        assert own.certificate_.primal == own.certificate_.dual == 0.0

    def test_more_columns_than_rows_interpolates(self):
        x, y = table(10, 30)
        with pytest.warns(SeparatrixWarning, match="SEP001"):
            own = LeastAbsoluteRegressor().fit(x, y)
        np.testing.assert_allclose(own.predict(x), y, atol=1e-10)
        assert own.certificate_.holds

    def test_weights_are_repeats_and_rows_may_be_sparse(self):
        x, y = table(61, 3)
        w = np.random.default_rng(0).integers(0, 4, 61)
        a = LeastAbsoluteRegressor().fit(sparse.csr_array(x), y, w)
        b = LeastAbsoluteRegressor().fit(np.repeat(x, w, axis=0), np.repeat(y, w))
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)

    def test_negative_epsilon_is_refused(self):
        x, y = table(20)
        with pytest.raises(InputError, match="epsilon"):
            LeastAbsoluteRegressor(epsilon=-1.0).fit(x, y)


@pytest.mark.parametrize(
    "model", [sx.HuberRegressor(), sx.LeastAbsoluteRegressor(), sx.TotalLeastSquares()]
)
def test_inference_and_bare_moments_are_refused_with_the_reason(model):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    with pytest.raises(sx.InputError, match="No summary: standard errors"):
        model.fit(x, y).summary()
    with pytest.raises(sx.InputError, match="needs rows, and moments were given"):
        model.fit(sx.scan(x, target=y).reduce(sx.Moments()))


def test_absolute_error_takes_few_vectors_beside_the_table() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60_000, 30))
    y = x[:, 0] + rng.standard_t(2, size=len(x))
    with thread_limit(1):
        # what is imported on the way is not counted, nor the buffer of moments that a thread keeps
        LeastAbsoluteRegressor().fit(x[:7_000], y[:7_000])
        tracemalloc.start()
        model = LeastAbsoluteRegressor().fit(x, y)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert model.certificate_.holds
    assert peak < 16 * y.nbytes
