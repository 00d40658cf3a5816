"""Support vector classification: what cannot be, what is hard, and what is stored."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

import separatrix as sx
from separatrix import threads
from separatrix.kernels import Gaussian, Linear, Sigmoid
from tests.svm.rows import noisy


def test_hard_margins_that_do_not_exist_are_refused_with_the_proof() -> None:
    x, y = noisy(60)
    with pytest.raises(sx.InputError, match=r"a weighted mean of \d+ rows .* are the same point"):
        sx.SVC(C=np.inf, kernel="linear").fit(x, y)
    twice = np.concatenate([x, x]), np.concatenate([y, 1 - y])
    with pytest.raises(sx.InputError, match="feature space of the kernel"):
        sx.SVC(C=np.inf, kernel=Gaussian(1.0)).fit(*twice)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_regression_without_slack_is_within_epsilon_of_all_targets(unit: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = unit * np.sin(x[:, 0])
    model = sx.SVR(C=np.inf, epsilon=0.1 * unit, gamma=0.5).fit(x, y)
    assert model.certificate_.holds
    assert np.abs(model.predict(x) - y).max() <= 0.1 * unit * (1.0 + 1e-6)
    costly = sx.SVR(C=1e6 * unit, epsilon=0.1 * unit, gamma=0.5).fit(x, y)
    np.testing.assert_allclose(model.predict(x), costly.predict(x), rtol=1e-6, atol=1e-9 * unit)
    with pytest.raises(sx.InputError, match="close to all targets"):
        sx.SVR(kernel="linear", C=np.inf, epsilon=0.1 * unit).fit(x, y)


def test_regression_of_one_target_needs_no_slack() -> None:
    model = sx.SVR(C=np.inf).fit([[0.0], [1.0], [2.0]], [5.0, 5.0, 5.0])
    np.testing.assert_allclose(model.predict([[3.0]]), 5.0)


def test_hard_margins_in_the_space_of_a_kernel() -> None:
    x, y = noisy(60)
    model = sx.SVC(C=np.inf, kernel=Gaussian(0.7)).fit(x, y)
    side = np.where(y == 1, 1.0, -1.0)
    assert (side * model.decision_function(x)).min() > 1 - 1e-6
    assert model.certificate_.gap <= 1e-6 * model.certificate_.primal


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_do_not_matter_when_standardized(unit) -> None:
    x, y = noisy(150)
    scale = np.array([unit, 1.0, 1.0 / unit, 1.0])
    for kernel in ("rbf", "linear"):
        a = sx.SVC(kernel=kernel, standardize=True).fit(x, y)
        b = sx.SVC(kernel=kernel, standardize=True).fit(x * scale, y)
        assert_allclose(a.decision_function(x), b.decision_function(x * scale), atol=1e-6)
        assert_allclose(b.support_vectors_, x[b.support_] * scale, rtol=1e-6, atol=1e-9)


def test_columns_of_bad_scale_end_at_the_limit_with_the_cause_named() -> None:
    x, y = noisy(100)
    x = x * np.array([1e6, 1.0, 1e-3, 1.0])
    with pytest.warns(
        sx.SeparatrixWarning, match=r"SEP003.*deviations of the columns.*standardize=True"
    ):
        model = sx.SVC(C=10.0, kernel="linear", max_iter=2000).fit(x, y)
    assert model.certificate_.gap > 0
    assert not model.certificate_.holds


def test_a_budget_of_time_returns_what_there_is() -> None:
    x, y = noisy(3000, noise=3.0)
    sx.SVC(max_iter=5).set_params(tol=10.0).fit(x[:50], y[:50])  # compiled before the clock runs
    start = time.perf_counter()
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        model = sx.SVC(C=1e6, gamma=2.0, time_budget=0.05, tol=1e-6).fit(x, y)
    assert time.perf_counter() - start < 20.0
    assert model.certificate_.gap > 0
    assert len(model.predict(x)) == 3000


def test_a_large_C_and_equal_rows_of_both_classes() -> None:
    x, y = noisy(60)
    x = np.column_stack([np.concatenate([x, x[:20]]), np.full(80, 3.0)])
    y = np.concatenate([y, 1 - y[:20]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sx.SeparatrixWarning)
        model = sx.SVC(C=1e6, gamma=0.5).fit(x, y)
    assert np.isfinite(model.decision_function(x)).all()
    assert model.certificate_.gap <= 1e-3 * model.certificate_.primal


def test_an_indefinite_kernel_ends_with_a_warning() -> None:
    x, y = noisy(150)
    with pytest.warns(sx.SeparatrixWarning, match="SEP007"):
        model = sx.SVC(kernel=Sigmoid(1.0, -1.0)).fit(x, y)
    assert model.score(x, y) > 0.4


@pytest.mark.parametrize(
    "settings",
    [{"C": 0.0}, {"tol": 0.0}, {"cache_size": 0}, {"time_budget": 0}, {"decision": "all"}],
)
def test_invalid_parameters_are_refused(settings) -> None:
    with pytest.raises(sx.InputError):
        sx.SVC(**settings).fit(*noisy(30))


def test_iterations_are_counted() -> None:
    x, y = noisy(200)
    model = sx.SVC().fit(x, y)
    assert model.n_iter_.tolist() == [model.svms_[0].n_iter]
    assert model.n_iter_[0] > 1
    with pytest.warns(sx.SeparatrixWarning, match=r"SEP003.*limit reached"):
        short = sx.SVC(max_iter=7, tol=1e-9).fit(x, y)
    assert 7 <= short.n_iter_[0] <= 8
    assert short.svms_[0].status == "limit reached"


def test_tables_with_text_columns_and_files(tmp_path) -> None:
    import pandas as pd

    rng = np.random.default_rng(3)
    colour = rng.choice(["red", "green", "blue"], 90)
    size = rng.standard_normal(90)
    label = np.where((colour == "red") ^ (size > 0), "yes", "no")
    frame = pd.DataFrame({"colour": colour, "size": size, "label": label})
    model = sx.SVC(C=10.0, standardize=True).fit(sx.scan(frame, target="label"))
    assert np.mean(model.predict(frame) == label) > 0.95
    sx.save(model, tmp_path / "m.sx")
    assert_array_equal(sx.load(tmp_path / "m.sx").predict(frame), model.predict(frame))


def test_the_linear_kernel_predicts_by_its_coefficients() -> None:
    x, y = noisy(100)
    model = sx.SVC(kernel=Linear(), standardize=True).fit(x, y)
    by_hand = x @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(x), by_hand, atol=1e-12)
    assert not hasattr(sx.SVC().fit(x, y), "coef_")


def test_strings_are_classified_by_a_kernel_of_their_own(tmp_path) -> None:
    from separatrix.kernels import Spectrum

    rng = np.random.default_rng(4)
    words = ["".join(rng.choice(list("abc"), 12)) for _ in range(30)]
    words += ["".join(rng.choice(list("cde"), 12)) for _ in range(30)]
    words += ["".join(rng.choice(list("efg"), 12)) for _ in range(30)]
    label = np.repeat(["first", "second", "third"], 30)
    for decision in ("ovo", "ovr"):
        model = sx.SVC(kernel=Spectrum(2), decision=decision).fit(words, label)
        assert model.score(words, label) == 1.0
        assert model.predict(["abab", "efgfe"]).tolist() == ["first", "third"]
        sx.save(model, tmp_path / "m.sx")
        assert sx.load(tmp_path / "m.sx").predict(["abab"]).tolist() == ["first"]


def test_probabilities_of_a_precomputed_kernel_are_those_of_its_rows() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((90, 3))
    y = np.digitize(x[:, 0] + 0.5 * rng.standard_normal(90), [-0.5, 0.5])
    given = sx.SVC(kernel="precomputed", probability=True).fit(x @ x.T, y)
    own = sx.SVC(kernel="linear", probability=True).fit(x, y)
    assert_allclose(given.predict_proba(x @ x.T), own.predict_proba(x), atol=1e-6)


def test_class_weights_are_checked() -> None:
    x, y = np.arange(6.0)[:, None], np.arange(6) // 3
    with pytest.raises(sx.InputError, match="zero for class 0"):
        sx.SVC(class_weight={0: 0.0}).fit(x, y)
    with pytest.raises(sx.InputError, match="names 7"):
        sx.SVC(class_weight={7: 1.0}).fit(x, y)


def test_the_linear_kernel_of_few_columns_is_solved_for_w_and_b() -> None:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, 4000)
    x = rng.standard_normal((2, 8))[y] + 4.0 * rng.standard_normal((4000, 8))
    model = sx.SVC(kernel="linear").fit(x, y)
    peer = sx.LinearSVC(loss="hinge").fit(x, y)
    assert_allclose(model.coef_, peer.coef_, rtol=1e-6, atol=1e-8)
    assert_allclose(model.alpha_, peer.alpha_, atol=1e-6)
    assert (model.group_ == peer.group_).all()
    assert model.certificate_.kkt < 1e-8
    by_pairs = sx.SVC(kernel="linear", tol=1e-6, max_iter=2_000_000).fit(x[:300], y[:300])
    assert_allclose(by_pairs.coef_, sx.SVC(kernel="linear").fit(x[:300], y[:300]).coef_, atol=1e-6)


def test_a_kernel_that_is_not_mercer_has_no_proof_of_the_best() -> None:
    rng = np.random.default_rng(7)
    x = rng.standard_normal((60, 3))
    y = x[:, 0] + 0.5 * rng.standard_normal(60) > 0
    with pytest.warns(UserWarning, match="SEP007"):
        model = sx.SVC(kernel=sx.Sigmoid(2.0, 1.0)).fit(x, y)
    assert "not Mercer" in model.certificate_.claim
    assert model.certificate_.promised == ("kkt",)
    assert np.isnan(model.certificate_.dual)
    assert np.isnan(model.certificate_.gap)
    assert "lower bound" not in str(model.certificate_)
    # a positive-definite matrix from elsewhere keeps its proof
    assert sx.SVC(kernel="precomputed").fit(x @ x.T, y).certificate_.gap < 1e-8


def test_asymmetric_gram_matrices_are_refused() -> None:
    gram = np.eye(4)
    gram[1, 2] = 0.5
    with pytest.raises(sx.InputError, match="row 1, column 2"):
        sx.SVC(kernel="precomputed").fit(gram, [0, 0, 1, 1])


def test_sizes_that_rounding_cannot_resolve_are_named_as_the_cause() -> None:
    rng = np.random.default_rng(8)
    x = 1e8 * rng.standard_normal((60, 3))
    y = x[:, 0] + 5e7 * rng.standard_normal(60) > 0
    with pytest.warns(UserWarning, match="C times the largest kernel value"):
        sx.SVC(kernel="linear", max_iter=5000).fit(x, y)


def test_very_many_pairs_are_refused_in_a_sentence() -> None:
    with pytest.raises(sx.InputError, match="decision='ovr'"):
        sx.SVC().fit(np.arange(640.0)[:, None], np.arange(640) // 2)


def test_pairs_in_threads_are_the_same_to_the_last_bit_however_many_threads_blas_has() -> None:
    rng = np.random.default_rng(9)
    x = rng.standard_normal((1500, 8))
    y = np.digitize(x[:, 0] * x[:, 1] + x[:, 2], [-0.6, 0.0, 0.6])
    found = []
    for count in (1, 2, 2):
        with threadpool_limits(count, user_api="blas"):
            found.append(sx.SVC().fit(x, y).dual_coef_)
    for other in found[1:]:
        assert_array_equal(other, found[0])


def test_many_rows_have_the_same_bits_on_any_number_of_threads(monkeypatch) -> None:
    x, y = noisy(5200)
    found = []
    for count in (1, 2, 16):
        monkeypatch.setattr(threads, "available_threads", lambda count=count: count)
        model = sx.SVC(tol=0.1).fit(x, y)
        found.append((model.dual_coef_, model.intercept_, model.decision_function(x)))
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            assert_array_equal(mine, theirs)


def test_pairs_of_four_classes_and_sparse_coefficients_are_stored(tmp_path) -> None:
    x, y = noisy(80)
    y = y + 2 * (x[:, 1] > 0)
    for rows in (x, sparse.csr_array(x)):
        model = sx.SVC(kernel="linear").fit(rows, y)
        sx.save(model, tmp_path / "m.sx")
        again = sx.load(tmp_path / "m.sx")
        assert_array_equal(again.decision_function(x), model.decision_function(x))
        assert again.coef_.shape == (6, x.shape[1])


@pytest.mark.parametrize("model", [sx.SVC(kernel="poly"), sx.SVR(kernel="poly")])
def test_kernels_too_large_for_a_number_are_refused(model) -> None:
    x, y = noisy(40)
    with pytest.raises(sx.InputError, match="row 2"):
        model.fit(x, y).predict(np.stack([x[0], 1e200 * x[1]]))
    for kernel in ("linear", "rbf", "poly"):
        with pytest.raises(sx.InputError, match="too large"):
            model.set_params(kernel=kernel).fit(1e200 * x, y)
        with pytest.raises(sx.InputError, match="too large"):
            sx.SVMPath(kernel, C=1.0).fit(1e200 * x, y)


def test_feature_maps_that_do_not_fit_into_memory_are_refused() -> None:
    with pytest.raises(sx.InputError, match="75,394,027,566 columns"):
        sx.Polynomial(10).feature_map(np.ones((1, 50)))


def test_distances_and_margins_to_linear_boundaries() -> None:
    x, y = load_iris(return_X_y=True)
    two, three = sx.SVC(kernel="linear").fit(x[:100], y[:100]), sx.SVC(kernel="linear").fit(x, y)
    scores = two.decision_function(x) / np.linalg.norm(two.coef_)
    assert_allclose(two.signed_distance(x), scores)
    assert_allclose(two.margin(x[:100], y[:100]), scores[:100] * np.repeat([-1.0, 1.0], 50))
    assert three.signed_distance(x).shape == (150, 3)
    margin = three.margin(x, y)
    assert_allclose(margin[:50], three.signed_distance(x)[:50, :2].min(axis=1))
    assert ((margin > 0) == (three.predict(x) == y)).all()
    assert not hasattr(sx.SVC().fit(x, y), "margin")
