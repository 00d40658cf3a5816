"""Support vector classification: known answers and peers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.svm import SVC as Peer

import separatrix as sx
from separatrix.kernels import Custom, Gaussian
from tests.svm.rows import noisy

X = np.array([[1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0], [3.0, 1.0]])
Y = np.array([-1, -1, 1, 1])

# -- known answers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "C", "alpha", "w", "t", "margin", "slack"),
    [
        (3, np.inf, [0, 1 / 8, 1 / 8], [0, -1 / 2], 0, 2, [0, 0, 0]),
        (4, np.inf, [1 / 2, 0, 1 / 10, 2 / 5], [3 / 5, -4 / 5], None, 1, [0, 0, 0, 0]),
        (4, 5 / 16, [5 / 16, 0, 1 / 16, 1 / 4], [3 / 8, -1 / 2], -3 / 8, 1.6, [3 / 4, 0, 0, 0]),
        (4, 1 / 10, [0.1, 0.1, 0.1, 0.1], [1 / 5, -1 / 2], -1 / 5, None, [0.4, 0, 0, 0.7]),
    ],
)
def test_worked_examples(rows, C, alpha, w, t, margin, slack) -> None:
    model = sx.SVC(C=C, kernel="linear").fit(X[:rows], Y[:rows])
    assert_allclose(model.alpha_, alpha, atol=1e-9)
    assert_allclose(model.coef_[0], w, atol=1e-9)
    assert_allclose(model.slack_, slack, atol=1e-9)
    if t is not None:
        assert_allclose(model.t_, t, atol=1e-9)
    if margin is not None:
        assert_allclose(model.margin_, margin, rtol=1e-9)
    assert model.certificate_.gap <= 1e-9
    assert model.certificate_.kkt <= 1e-9


def test_group_of_rows() -> None:
    model = sx.SVC(C=5 / 16, kernel="linear").fit(X, Y)
    assert model.group_.tolist() == ["bound", "non-support", "free", "free"]
    assert_array_equal(model.support_, [0, 2, 3])
    assert_array_equal(model.support_vectors_, X[[0, 2, 3]])
    assert_array_equal(model.n_support_, [1, 2])


def test_a_small_C_gives_the_direction_of_the_class_means() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 30)
    x = rng.standard_normal((60, 3)) + y[:, None]
    C = 1e-4
    model = sx.SVC(C=C, kernel="linear").fit(x, y)
    assert_allclose(model.alpha_, C, rtol=1e-12)
    apart = x[y == 1].mean(axis=0) - x[y == 0].mean(axis=0)
    assert_allclose(model.coef_[0], 30 * C * apart, rtol=1e-9)


# -- against a peer ------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"C": 50.0}, {"kernel": "poly"}, {"kernel": "linear"}])
def test_scores_of_two_classes_agree_with_scikit_learn(settings) -> None:
    x, y = noisy(250)
    own = sx.SVC(**settings).fit(x, y)
    peer = Peer(tol=1e-9, **settings).fit(x, y)
    # the peer keeps similarities in single precision
    assert_allclose(own.decision_function(x), peer.decision_function(x), atol=1e-4)
    assert_array_equal(own.support_, peer.support_)
    assert_array_equal(own.n_support_, peer.n_support_)
    assert_allclose(own.dual_coef_, peer.dual_coef_, rtol=1e-3, atol=1e-2)
    assert own.certificate_.holds


def test_pairs_of_classes_agree_with_scikit_learn() -> None:
    x, y = load_iris(return_X_y=True)
    w = np.random.default_rng(2).uniform(0.2, 3.0, len(y))
    own = sx.SVC(gamma=0.5, decision_function_shape="ovo").fit(x, y, sample_weight=w)
    peer = Peer(gamma=0.5, tol=1e-9, decision_function_shape="ovo").fit(x, y, sample_weight=w)
    assert_allclose(own.decision_function(x), peer.decision_function(x), atol=1e-5)
    assert_allclose(own.intercept_, peer.intercept_, atol=1e-5)
    assert_array_equal(own.predict(x), peer.predict(x))
    assert_array_equal(own.support_, peer.support_)
    assert_allclose(own.dual_coef_, peer.dual_coef_, atol=1e-4)
    assert_array_equal(own.n_support_, peer.n_support_)


def test_one_against_the_rest_is_one_binary_svm_each() -> None:
    x, y = load_iris(return_X_y=True)
    own = sx.SVC(gamma=0.5, decision="ovr").fit(x, y)
    for k in range(3):
        alone = sx.SVC(gamma=0.5).fit(x, y == k)
        assert_allclose(own.decision_function(x)[:, k], alone.decision_function(x), atol=1e-8)
        assert_allclose(own.alpha_[:, k], alone.alpha_, atol=1e-8)
        assert_array_equal(own.group_[:, k], alone.group_)
    assert len(own.svms_) == 3
    assert own.slack_.shape == (150, 3)
    assert own.margin_.shape == (3,)


def test_many_rows_reach_the_tolerance() -> None:
    x, y = noisy(4000, noise=1.0)
    own = sx.SVC().fit(x, y)
    assert own.certificate_.holds
    assert own.certificate_.kkt <= 1e-3
    peer = Peer().fit(x, y)
    assert np.mean(own.predict(x) == peer.predict(x)) > 0.998
    assert abs(len(own.support_) - len(peer.support_)) <= 10


def test_sparse_rows_are_the_same_rows() -> None:
    x, y = noisy(120)
    x[np.abs(x) < 0.5] = 0.0
    a, b = sx.SVC().fit(x, y), sx.SVC().fit(sparse.csr_array(x), y)
    assert_allclose(a.decision_function(x), b.decision_function(sparse.csr_array(x)), atol=1e-7)


def test_a_precomputed_kernel_with_weights() -> None:
    x, y = noisy(150)
    gaussian = Gaussian(1.5)
    w = np.ones(150)
    w[::7] = 0.0
    counted = sx.SVC(kernel=gaussian).fit(x, y, sample_weight=w).decision_function(x)
    model = sx.SVC(kernel="precomputed").fit(gaussian.gram(x), y, sample_weight=w)
    assert_allclose(model.decision_function(gaussian.gram(x)), counted, atol=1e-8)


@pytest.mark.parametrize("kernel", ["function", "kernel"])
def test_a_kernel_in_any_form(kernel) -> None:
    x, y = noisy(150)
    gaussian = Gaussian(1.5)
    plain = sx.SVC(kernel=gaussian).fit(x, y).decision_function(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sx.SeparatrixWarning)
        given = Custom(gaussian.gram) if kernel == "kernel" else gaussian.gram
        assert_allclose(sx.SVC(kernel=given).fit(x, y).decision_function(x), plain, atol=1e-8)


# -- weights and probabilities -------------------------------------------------------------------


def test_class_weights_are_weights_of_rows() -> None:
    x, y = noisy(150)
    share = np.bincount(y) / len(y)
    by_class = sx.SVC(gamma=0.3, class_weight="balanced").fit(x, y)
    by_row = sx.SVC(gamma=0.3).fit(x, y, sample_weight=0.5 / share[y])
    assert_allclose(by_class.decision_function(x), by_row.decision_function(x), atol=1e-8)
    named = sx.SVC(gamma=0.3, class_weight={0: 3.0}).fit(x, y)
    by_row = sx.SVC(gamma=0.3).fit(x, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    assert_allclose(named.decision_function(x), by_row.decision_function(x), atol=1e-8)


def test_probabilities_are_those_of_a_calibrated_classifier() -> None:
    x, y = noisy(200)
    with pytest.warns(FutureWarning, match="probability"):
        model = sx.SVC(probability=True).fit(x, y)
    other = sx.CalibratedClassifier(sx.SVC(), method="platt").fit(x, y)
    assert_allclose(model.predict_proba(x), other.predict_proba(x))
    assert_array_equal(model.predict(x), sx.SVC().fit(x, y).predict(x))
    assert_allclose(model.predict_log_proba(x), np.log(model.predict_proba(x)))
    assert not hasattr(sx.SVC(), "predict_proba")


def test_probabilities_of_pairs_of_classes_and_their_sigmoids() -> None:
    x, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = sx.SVC(probability=True, decision_function_shape="ovo").fit(x, y)
        peer = Peer(probability=True, random_state=0).fit(x, y)
        assert model.probA_.shape == model.probB_.shape == peer.probA_.shape
    assert model.score(x, y) > 0.97
    assert np.mean(model.predict_proba(x).argmax(axis=1) == y) > 0.95
    assert_allclose(model.predict_proba(x), peer.predict_proba(x), atol=0.15)


def test_a_class_of_one_row_has_probabilities() -> None:
    x, y = load_iris(return_X_y=True)
    x, y = x[:101], y[:101]
    with pytest.warns(FutureWarning):
        model = sx.SVC(probability=True).fit(x, y)
    assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)


def test_class_weights_leave_gamma_as_it_is() -> None:
    x, y = noisy(100)
    plain, weighted = sx.SVC().fit(x, y), sx.SVC(class_weight={0: 9.0}).fit(x, y)
    assert weighted.kernel_ == plain.kernel_
    assert_array_equal(weighted.class_weight_, [9.0, 1.0])
    path = sx.SVMPath("rbf", C=1.0, class_weight={0: 9.0}).fit(x, y)
    assert path.kernel_ == plain.kernel_


def test_a_linear_kernel_is_right_whatever_the_units() -> None:
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(1500, 3)), rng.normal(size=1500)
    y = x @ [1.0, 2.0, -1.0] + noise > 0
    # a coefficient of size 10⁻⁶ is a sum of terms of size 10⁶
    plain = sx.SVC(kernel="linear", C=1e12).fit(x, y)
    model = sx.SVC(kernel="linear").fit(1e6 * x, y)
    assert_allclose(1e6 * model.coef_, plain.coef_, rtol=1e-6)
    assert model.certificate_.holds
    number = sx.SVR(kernel="linear").fit(1e6 * x, noise + x[:, 0])
    assert number.certificate_.holds


def test_a_linear_kernel_has_a_hyperplane_and_read_only_coefficients() -> None:
    x, y = noisy(80)
    model = sx.SVC(kernel="linear", standardize=True).fit(x, y)
    plane = model.hyperplane_
    assert_allclose(
        plane.signed_distance(x)[:, 0] * np.linalg.norm(model.coef_), model.decision_function(x)
    )
    assert_allclose(model.decision_function(plane.projection(x)), 0.0, atol=1e-12)
    with pytest.raises(AttributeError):
        model.coef_ = np.zeros((1, 2))
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0
    for name in ("coef_", "hyperplane_"):
        assert not hasattr(sx.SVC().fit(x, y), name)


@pytest.mark.parametrize("model", [sx.SVC(kernel="precomputed"), sx.SVR(kernel="precomputed")])
def test_gram_matrices_of_another_shape_are_refused(model) -> None:
    rows = np.arange(12.0).reshape(4, 3)
    with pytest.raises(sx.InputError, match="4 x 3"):
        model.fit(rows, [0, 0, 1, 1])
    gram = rows @ rows.T
    own = model.fit(gram, [0, 0, 1, 1]).predict(gram)
    with pytest.raises(ValueError, match="3 features"):
        model.predict(gram[:, :3])
    given = model.fit(sparse.csr_array(gram), [0, 0, 1, 1]).predict(sparse.csr_array(gram))
    assert_allclose(given, own, atol=1e-9)


def test_functions_of_strings_and_functions_that_return_sparse_matrices() -> None:
    words, y = ["A A", "A", "B", "B B", "A B"], [1, 1, 2, 2, 1]
    counts = np.array([[word.count("A"), word.count("B")] for word in words], dtype=float)

    def shared(a, b):
        return sparse.csr_array(
            [[u.count("A") * v.count("A") + u.count("B") * v.count("B") for v in b] for u in a]
        )

    given, own = sx.SVC(kernel=shared).fit(words, y), sx.SVC(kernel="linear").fit(counts, y)
    assert_allclose(given.decision_function(words), own.decision_function(counts), atol=1e-8)
    given, own = sx.SVR(kernel=shared).fit(words, y), sx.SVR(kernel="linear").fit(counts, y)
    assert_allclose(given.predict(words), own.predict(counts), atol=1e-8)
