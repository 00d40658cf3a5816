"""ν-SVMs: facts of ν, scikit-learn as a peer, and the duality gap by its definition."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel

import separatrix as sx

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 3))
Y = (X[:, 0] + RNG.normal(size=160) > 0).astype(int)
T = np.sin(X[:, 0]) + 0.3 * RNG.normal(size=160)
W = RNG.integers(0, 3, 160).astype(float)
W[:2] = 1.0

SETTINGS = [{"nu": 0.5}, {"nu": 0.61, "kernel": "linear"}]


@pytest.mark.parametrize("settings", SETTINGS)
def test_scores_agree_with_scikit_learn(settings) -> None:
    own, peer = sx.NuSVC(**settings).fit(X, Y), svm.NuSVC(tol=1e-8, **settings).fit(X, Y)
    assert_allclose(own.decision_function(X), peer.decision_function(X), atol=1e-5)
    assert_allclose(own.dual_coef_, peer.dual_coef_, atol=1e-4)
    own, peer = sx.NuSVR(**settings).fit(X, T), svm.NuSVR(tol=1e-8, **settings).fit(X, T)
    assert_allclose(own.predict(X), peer.predict(X), atol=1e-5)
    assert_allclose(own.intercept_, peer.intercept_, atol=1e-5)
    Z = X + 3.0
    own, peer = sx.OneClassSVM(**settings).fit(Z), svm.OneClassSVM(tol=1e-8, **settings).fit(Z)
    assert_allclose(own.decision_function(Z), peer.decision_function(Z), rtol=1e-5, atol=1e-4)
    assert_allclose(own.score_samples(Z), peer.score_samples(Z), rtol=1e-5)
    assert_allclose(own.offset_, peer.offset_, rtol=1e-6)
    assert_array_equal(own.support_, peer.support_)


def test_pairs_of_classes_agree_with_scikit_learn() -> None:
    x, y = load_iris(return_X_y=True)
    own = sx.NuSVC(decision_function_shape="ovo").fit(x, y)
    peer = svm.NuSVC(tol=1e-8, decision_function_shape="ovo").fit(x, y)
    assert_allclose(own.decision_function(x), peer.decision_function(x), atol=1e-5)
    assert_array_equal(own.n_support_, peer.n_support_)
    assert_array_equal(own.predict(x), peer.predict(x))


def test_weights_agree_with_scikit_learn() -> None:
    known = {"gamma": 0.3}
    own, peer = (m(**known).fit(X, Y, W) for m in (sx.NuSVC, svm.NuSVC))
    assert_allclose(own.decision_function(X), peer.decision_function(X), atol=2e-2)
    own, peer = (m(**known).fit(X, T, W) for m in (sx.NuSVR, svm.NuSVR))
    assert_allclose(own.predict(X), peer.predict(X), atol=2e-2)
    own, peer = (m(**known).fit(X, sample_weight=W) for m in (sx.OneClassSVM, svm.OneClassSVM))
    assert_allclose(own.decision_function(X), peer.decision_function(X), atol=2e-2)


def test_nu_bounds_errors_from_above_and_support_vectors_from_below() -> None:
    for nu in (0.5, 0.7):
        model = sx.NuSVC(nu=nu).fit(X, Y)
        inside = np.where(Y == 1, 1, -1) * model.decision_function(X) < 1 - 1e-9
        assert inside.mean() <= nu <= len(model.support_) / 160
        number = sx.NuSVR(nu=nu).fit(X, T)
        beyond = np.abs(number.predict(X) - T) > number.epsilon_ + 1e-9
        assert beyond.mean() <= nu <= len(number.support_) / 160
        one = sx.OneClassSVM(nu=nu).fit(X)
        assert (one.decision_function(X) < -1e-9).mean() <= nu <= len(one.support_) / 160


def test_the_svm_of_the_cost_and_of_the_epsilon_that_belong_to_nu() -> None:
    model = sx.NuSVC(nu=0.6).fit(X, Y)
    plain = sx.SVC(C=float(model.svms_[0].C[0])).fit(X, Y)
    assert_allclose(model.decision_function(X), plain.decision_function(X), atol=1e-7)
    number = sx.NuSVR(nu=0.4, C=2.0).fit(X, T)
    other = sx.SVR(C=2.0, epsilon=number.epsilon_).fit(X, T)
    assert_allclose(number.predict(X), other.predict(X), atol=1e-7)
    assert not number.certificate_.gap > 1e-9


def test_the_gap_of_one_class_by_its_definition(rng: np.random.Generator) -> None:
    model = sx.OneClassSVM(nu=0.3, gamma=0.5).fit(X, sample_weight=W)
    k, alpha, rho = rbf_kernel(X, gamma=0.5), model.alpha_, float(model.offset_[0])
    assert_allclose(alpha.sum(), 0.3 * W.sum(), rtol=1e-12)
    square = float(alpha @ k @ alpha)
    slack = np.maximum(rho - k @ alpha, 0.0)
    primal = 0.5 * square - 0.3 * W.sum() * rho + float(W @ slack)
    assert_allclose(model.certificate_.primal, primal, rtol=1e-9)
    assert_allclose(model.certificate_.dual, -0.5 * square, rtol=1e-9)
    assert primal + 0.5 * square <= 1e-9 * abs(primal)
    for _ in range(20):  # no other function and offset is better
        other = alpha + 0.01 * rng.normal(size=160) * (W > 0)
        shift = rho + 0.01 * rng.normal()
        f = k @ other
        value = 0.5 * other @ f - 0.3 * W.sum() * shift + W @ np.maximum(shift - f, 0.0)
        assert value >= model.certificate_.dual - 1e-9


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_do_not_matter(factor) -> None:
    for kernel in ("rbf", "linear"):
        model, scaled = (sx.NuSVC(nu=0.6, kernel=kernel).fit(c * X, Y) for c in (1.0, factor))
        a, b = model.decision_function(X), scaled.decision_function(factor * X)
        assert_allclose(a, b, atol=1e-6)
    one, many = (sx.OneClassSVM(kernel="linear").fit(c * (X + 3.0)) for c in (1.0, factor))
    assert_array_equal(one.predict(X + 3.0), many.predict(factor * (X + 3.0)))
    assert_allclose(sx.NuSVR().fit(factor * X, factor * T).certificate_.kkt, 0.0, atol=1e-6)


def test_any_kernel_and_many_rows() -> None:
    k = rbf_kernel(X, gamma=0.5)
    given = sx.OneClassSVM(kernel="precomputed").fit(k).decision_function(k)
    assert_allclose(given, sx.OneClassSVM(gamma=0.5).fit(X).decision_function(X), atol=1e-7)
    words = ["abab", "abba", "baba", "zzzz"]
    assert sx.OneClassSVM(kernel=sx.Spectrum(2), nu=0.3).fit(words).predict(words).shape == (4,)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1500, 2))
    for model in (
        sx.NuSVC(nu=0.7).fit(x, x[:, 0] + rng.normal(size=1500) > 0),
        sx.NuSVR().fit(x, x[:, 0] + 0.1 * rng.normal(size=1500)),
        sx.OneClassSVM().fit(x),
    ):
        assert model.certificate_.holds, str(model.certificate_)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_without_a_hyperplane_all_rows_are_on_the_boundary(make) -> None:
    x = np.concatenate([X, -X])
    model = sx.OneClassSVM(kernel="linear").fit(make(x))
    assert (model.offset_, np.abs(np.asarray(model.decision_function(x))).max()) == (0.0, 0.0)
    assert (model.predict(make(x)) == 1).all()
    assert "Zero is a mean of rows" in str(model.certificate_)


def test_rows_on_the_boundary_have_the_score_zero() -> None:
    x = np.random.default_rng(2).normal(size=(60, 2))
    for kernel in ("rbf", "linear"):
        model = sx.OneClassSVM(kernel=kernel, nu=0.3).fit(x + 3.0)
        scores = model.decision_function(x + 3.0)
        assert (scores == 0.0).any() == (kernel == "rbf")  # 0.3 of 60 rows are whole rows
        assert_array_equal(model.predict(x + 3.0), np.where(scores >= 0.0, 1, -1))


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(sx.InputError, match="infeasible"):
        sx.NuSVC(nu=0.9).fit(X, X[:, 0] > 1.0)
    with pytest.raises(sx.InputError, match="no margin"):
        sx.NuSVC(nu=0.5, kernel="linear").fit(np.tile(X[:20], (2, 1)), np.repeat([0, 1], 20))
    for nu in (0.0, 1.5, "half"):
        with pytest.raises(sx.InputError, match="nu"):
            sx.OneClassSVM(nu=nu).fit(X)


def test_one_class_is_stored_repeated_and_read_from_tables(tmp_path) -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.where(X[:, 0] > 0, "u", "v"))
    model = sx.OneClassSVM(nu=0.2, standardize=True).fit(frame)
    sx.save(model, tmp_path / "m.sx")
    again = sx.load(tmp_path / "m.sx")
    assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    assert_array_equal(model.fit_predict(frame), model.predict(frame))
    many = np.repeat(X, W.astype(int), axis=0)
    weighted = sx.OneClassSVM().fit(X, sample_weight=W).decision_function(X)
    assert_allclose(sx.OneClassSVM().fit(many).decision_function(X), weighted, atol=1e-8)
