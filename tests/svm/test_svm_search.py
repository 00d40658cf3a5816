"""SVMs that choose their parameters: against grid searches, and their attributes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import svm
from sklearn.datasets import load_diabetes, load_iris, make_circles, make_classification
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from separatrix.messages import InputError
from separatrix.svm.tuning import ClassLoss, search_folds, subsample


@pytest.fixture(scope="module")
def rings() -> tuple[np.ndarray, np.ndarray]:
    return make_circles(200, noise=0.1, factor=0.5, random_state=0)


def test_as_good_as_a_grid_on_test_rows() -> None:
    x, y = make_classification(400, 6, n_informative=4, flip_y=0.05, random_state=3)
    model = sx.SVCSearch().fit(x[:200], y[:200])
    grid = {"svc__C": 10.0 ** np.arange(-1, 3), "svc__gamma": 10.0 ** np.arange(-2, 1)}
    peer = GridSearchCV(make_pipeline(StandardScaler(), svm.SVC()), grid, cv=3)
    theirs = peer.fit(x[:200], y[:200]).score(x[200:], y[200:])
    assert model.score(x[200:], y[200:]) >= theirs - 0.03
    assert model.score(x[200:], y[200:]) > 0.8


def test_regression_as_good_as_a_grid() -> None:
    x, y = load_diabetes(return_X_y=True)
    ours = cross_val_score(sx.SVRSearch(), x, y, cv=3).mean()
    grid = {"svr__C": [1.0, 10.0, 100.0], "svr__gamma": [0.01, 0.1]}
    peer = GridSearchCV(make_pipeline(StandardScaler(), svm.SVR(epsilon=8.0)), grid, cv=3)
    assert ours >= cross_val_score(peer, x, y, cv=3).mean() - 0.02


def test_rings_need_a_kernel(rings: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = rings
    assert sx.SVCSearch().fit(x, y).score(x, y) > 0.97
    assert sx.LinearSVCSearch().fit(x, y).score(x, y) < 0.75


def test_the_fit_is_that_of_the_chosen_pair(rings: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = rings
    model = sx.SVCSearch().fit(x, y)
    plain = sx.SVC(C=model.C_, kernel=sx.Gaussian(model.bandwidth_), standardize=True).fit(x, y)
    assert model.decision_function(x) == pytest.approx(plain.decision_function(x))
    assert model.alpha_ == pytest.approx(plain.alpha_)
    assert model.certificate_.holds
    assert model.certificate_.gap == pytest.approx(plain.certificate_.gap)
    assert "cross-validation on 200 rows" in str(model.certificate_)
    line = sx.LinearSVCSearch().fit(x, y)
    same = sx.LinearSVC(loss="hinge", C=line.C_, standardize=True).fit(x, y)
    assert line.coef_ == pytest.approx(same.coef_)
    assert line.alpha_ == pytest.approx(same.alpha_)


def test_the_candidates_are_attributes(rings: tuple[np.ndarray, np.ndarray]) -> None:
    model = sx.SVCSearch(cv=4).fit(*rings)
    means = model.score_path_.mean(axis=1)
    assert model.score_path_.shape == (len(model.Cs_), 4)
    assert model.Cs_[means.argmin()] == model.C_
    assert model.bandwidth_ == model.bandwidths_[model.bandwidth_scores_.argmin()]
    assert means.min() == pytest.approx(model.bandwidth_scores_.min())
    assert (np.diff(model.bandwidths_) > 0).all()
    at = model.n_support_path_[means.argmin()]
    assert at == pytest.approx(len(model.support_), rel=0.15)


def test_bandwidths_go_downhill_to_where_both_sides_are_worse() -> None:
    rng = np.random.default_rng(1)
    x = rng.uniform(-3, 3, (300, 1))
    y = np.sin(3 * x[:, 0]) + 0.3 * rng.standard_normal(300) > 0
    model = sx.SVCSearch().fit(x, y)
    at = int(model.bandwidth_scores_.argmin())
    assert at > 0
    assert model.bandwidth_ < 0.5  # waves are much narrower than the range
    assert model.score(x, y) > 0.85


@pytest.mark.parametrize("make", [sx.SVCSearch, sx.LinearSVCSearch])
def test_several_classes_and_units(make) -> None:
    x, y = load_iris(return_X_y=True)
    model = make().fit(x, y)
    assert model.score(x, y) > 0.93
    other = make().fit(x * np.array([1e-8, 1e8, 1.0, 3.0]), y)
    assert pytest.approx(model.C_) == other.C_
    assert (other.predict(x * np.array([1e-8, 1e8, 1.0, 3.0])) == model.predict(x)).all()


def test_units_of_the_target() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((80, 2))
    y = x[:, 0] ** 2 + 0.1 * rng.standard_normal(80)
    one, other = sx.SVRSearch().fit(x, y), sx.SVRSearch().fit(x, 1e6 * y)
    assert pytest.approx(1e6 * one.C_) == other.C_
    assert other.epsilon_ == pytest.approx(1e6 * one.epsilon_)
    assert other.predict(x) == pytest.approx(1e6 * one.predict(x), rel=1e-5)


def test_large_tables_are_searched_in_part(rings: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = rings
    model = sx.SVCSearch(search_rows=60).fit(x, y)
    assert model.n_search_rows_ == 60
    assert model.n_samples_fit_ == 200
    assert model.score(x, y) > 0.95


def test_folds_of_every_kind(rings: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = rings
    fold = np.arange(200) % 3
    split = sx.SVCSearch(cv=PredefinedSplit(fold)).fit(x, y)
    pairs = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    listed = sx.SVCSearch(cv=pairs).fit(x, y)
    assert split.score_path_ == pytest.approx(listed.score_path_)
    contiguous = sx.SVRSearch(cv=KFold(4)).fit(x, x[:, 0])
    assert contiguous.score_path_.shape[1] == 4
    with pytest.raises(InputError, match="two test folds"):
        sx.SVCSearch(cv=[*pairs, pairs[0]]).fit(x, y)
    with pytest.raises(InputError, match="no test fold"):
        sx.SVCSearch(cv=pairs[:2]).fit(x, y)
    with pytest.raises(InputError, match="cv=1"):
        sx.SVCSearch(cv=1).fit(x, y)


def test_a_budget_of_time_ends_the_search_early(rings: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = rings
    model = sx.SVCSearch(time_budget=1e-9).fit(x, y)
    assert len(model.bandwidths_) == 1
    assert model.bandwidth_ == pytest.approx(np.sqrt(2))
    with pytest.raises(InputError, match="time_budget"):
        sx.SVCSearch(time_budget=0).fit(x, y)
    with pytest.raises(InputError, match="search_rows"):
        sx.LinearSVCSearch(search_rows=2).fit(x, y)


def test_degenerate_tables() -> None:
    x = np.array([[0.0], [0.0], [1.0], [1.0], [2.0]])
    y = np.array(["a", "a", "b", "b", "c"])
    assert set(sx.SVCSearch().fit(x, y).predict(x)) <= {"a", "b", "c"}
    constant = np.ones((6, 2))
    assert len(sx.SVCSearch().fit(constant, [0, 1, 0, 1, 0, 0]).predict(constant)) == 6
    flat = sx.SVRSearch().fit(np.arange(6.0)[:, None], np.full(6, 3.0))
    assert flat.predict([[2.5]]) == pytest.approx([3.0])


def test_stored_and_read_again(tmp_path, rings: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = rings
    for model in (sx.SVCSearch().fit(x, y), sx.LinearSVCSearch().fit(x, y)):
        sx.save(model, tmp_path / "m.sx")
        again = sx.load(tmp_path / "m.sx")
        assert again.decision_function(x) == pytest.approx(model.decision_function(x))
        assert again.score_path_ == pytest.approx(model.score_path_)


def test_subsamples_and_folds_are_stratified() -> None:
    codes = np.r_[np.zeros(900, int), np.ones(95, int), np.full(5, 2)]
    some = subsample(1000, 100, codes)
    assert np.bincount(codes[some]).tolist() == [90, 10, 4]
    assert (np.diff(some) > 0).all()
    assert subsample(50, 100, codes[:50]).tolist() == list(range(50))
    fold = search_folds(3, codes, np.arange(1000), 1000).labels
    for c in range(3):
        sizes = np.bincount(fold[codes == c], minlength=3)
        assert np.ptp(sizes) <= 1
    assert search_folds(5, None, np.arange(2), 2).labels.tolist() == [0, 1]
    assert search_folds(2, None, np.arange(5), 5).labels.tolist() == [0, 1, 0, 1, 0]


def test_losses_are_those_of_a_fitted_sigmoid() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 300)
    scores = (codes - 0.5) * 2 + rng.standard_normal(300)
    fold = np.arange(300) % 3
    losses = ClassLoss(codes, np.ones(300), fold).by_fold(scores)
    platt = sx.PlattCalibration().fit(scores, codes == 1)
    p = np.where(codes == 1, platt.predict(scores), 1 - platt.predict(scores))
    assert losses == pytest.approx([-np.log(p[fold == f]).mean() for f in range(3)])
