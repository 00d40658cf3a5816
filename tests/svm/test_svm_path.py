"""The regularization path of SVMs: every breakpoint against other solvers, and the choice of C."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
import quadprog
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.svm import SVC

import separatrix as sx
from separatrix.svm.path import gaps_along, trace_svm

POINTS = np.array([[1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0], [3.0, 1.0]])
LABELS = np.array([-1, -1, 1, 1])


def table(n: int = 60, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    y = np.where(x @ np.ones(d) + rng.standard_normal(n) > 0.4, 1.0, -1.0)
    y[:2] = [1.0, -1.0]
    return x, y


def best_value(gram: np.ndarray, y: np.ndarray, w: np.ndarray, C: float) -> float:
    """The dual optimum by a quadratic program of its own."""
    n = len(y)
    signed = C * (y[:, None] * gram * y + 1e-8 * np.trace(gram) / n * np.eye(n))
    bounds = np.column_stack([y, np.eye(n), -np.eye(n)])
    limits = np.concatenate([np.zeros(n + 1), -w])
    return -C * quadprog.solve_qp(signed, np.ones(n), bounds, limits, meq=1)[1]


def gaussian(x: np.ndarray, width: float) -> np.ndarray:
    return np.exp(-((x[:, None] - x) ** 2).sum(axis=2) / (2.0 * width**2))


def test_four_points_with_all_their_numbers() -> None:
    path = sx.SVMPath(C=1.0).fit(POINTS, LABELS)
    assert_allclose(path.breakpoints_, [1 / 10, 3 / 16, 5 / 16, 1 / 2], atol=1e-12)
    assert_allclose(path.alpha_at(1 / 20), 1 / 20, atol=1e-12)
    assert_allclose(path.alpha_at(1 / 10), 1 / 10, atol=1e-12)
    assert_allclose(path.alpha_at(5 / 16), [5 / 16, 0, 1 / 16, 1 / 4], atol=1e-12)
    assert_allclose(path.alpha_at(1.0), [1 / 2, 0, 1 / 10, 2 / 5], atol=1e-12)
    for C, w, t in ((1 / 10, (1 / 5, -1 / 2), -1 / 5), (5 / 16, (3 / 8, -1 / 2), -3 / 8)):
        plane, unit = path.at(C), np.array(w) / np.hypot(*w)
        distance = (np.asarray(POINTS) @ w - t) / np.hypot(*w)
        assert_allclose(plane.signed_distance(POINTS)[:, 0], distance, atol=1e-12)
        assert_allclose(plane.margin(POINTS, np.asarray(LABELS)), distance * LABELS, atol=1e-12)
        foot = np.asarray(POINTS) - distance[:, None] * unit
        assert_allclose(plane.projection(np.asarray(POINTS, float)), foot, atol=1e-12)
        assert_allclose(plane.coef, [w], atol=1e-12)
        assert_allclose(plane.intercept, [-t], atol=1e-12)
    assert_allclose(
        path.coef_path_, [[1 / 5, -1 / 2], [3 / 8, -1 / 2], [3 / 8, -1 / 2], [3 / 5, -4 / 5]]
    )
    assert path.group_at(0.2).tolist() == [1, 0, 0, 0]
    assert path.group_at(2.0).tolist() == [0, -1, 0, 0]
    assert_allclose(path.gaps(), 0.0, atol=1e-12)


def test_alpha_is_a_straight_line_between_breakpoints() -> None:
    x, y = table()
    path = sx.SVMPath(C=1.0).fit(x, y)
    for a, b in zip(path.breakpoints_[:-1:7], path.breakpoints_[1::7], strict=False):
        middle = 0.5 * (path.alpha_at(a) + path.alpha_at(b * (1 - 1e-13)))
        assert_allclose(path.alpha_at(0.5 * (a + b)), middle, atol=1e-7 * b)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["linear", "narrow", "wide", "lattice", "duplicates"]),
    st.sampled_from([1, 3]),
)
def test_every_breakpoint_and_what_lies_between_is_optimal(seed: int, kind: str, most: int) -> None:
    x, y = table(24, 3, seed)
    rng = np.random.default_rng(seed)
    w = rng.integers(1, most + 1, len(y)).astype(float)
    if kind == "lattice":
        x = np.round(x)
    elif kind == "duplicates":
        x = np.repeat(x[:6], 4, axis=0)
    gram = gaussian(x, 0.7 if kind == "narrow" else 3.0) if kind in ("narrow", "wide") else x @ x.T
    found = trace_svm(gram, y, w, C_max=1e3, max_changes=10_000)
    breaks = found.breakpoints
    assert found.end >= 1e3
    Cs = np.concatenate([breaks, np.sqrt(breaks[1:] * breaks[:-1]), [1e-4, 500.0]])
    assert gaps_along(found, gram, Cs).max() < 1e-8
    for C in rng.choice(Cs[Cs > 0.02], 4):
        alpha = found.alpha(C)
        assert abs(alpha @ y) <= 1e-9 * alpha.sum()
        assert (alpha >= 0.0).all()
        assert (alpha <= C * w * (1 + 1e-12)).all()
        dual = alpha.sum() - 0.5 * (y * alpha) @ gram @ (y * alpha)
        assert_allclose(dual, best_value(gram, y, w, C), rtol=1e-4)


@pytest.mark.parametrize("seed", [0, 4, 15])
def test_rows_that_nearly_depend_on_one_another_do_not_end_the_path(seed: int) -> None:
    for gram, y in nearly_dependent(seed):
        path = trace_svm(gram, y, np.ones(len(y)), C_max=1e3, max_changes=10_000)
        assert path.end >= 1e3
        Cs = np.concatenate([path.breakpoints, [1e-3, 0.7, 500.0]])
        assert gaps_along(path, gram, Cs[Cs > 1e-6]).max() < 1e-8
        assert max(abs(path.alpha(C) @ y) / path.alpha(C).sum() for C in Cs[Cs > 1e-6]) < 1e-8


def test_nearly_all_paths_of_nearly_dependent_rows_reach_C_max() -> None:
    """What rounding does differs between machines: of all, a few end, and are right up to there."""
    ended = 0
    for gram, y in itertools.chain.from_iterable(map(nearly_dependent, (11, *range(100, 110)))):
        path = trace_svm(gram, y, np.ones(len(y)), C_max=1e3, max_changes=10_000)
        Cs = np.array([C for C in (1e-3, 0.7, 30.0, 500.0) if path.end >= C])
        assert gaps_along(path, gram, Cs).max(initial=0.0) < 1e-7
        ended += path.end < 1e3
    assert ended <= 2


def nearly_dependent(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Gram matrices of low rank, of many equal rows and a smooth kernel, with labels."""
    rng = np.random.RandomState(seed)
    n = 40 + seed % 3 * 20
    x = rng.uniform(size=(n, 3))
    x[x < 0.6] = 0.0
    labels = (4 * rng.uniform(size=n)).astype(int)
    gram = gaussian(x, np.sqrt(2.5))
    for c in (0, 1):
        yield gram, np.where(labels == c, 1.0, -1.0)


def test_a_path_that_ends_before_C_max_says_where() -> None:
    """Rounding may end a path, as a limit on its changes does; up to there it is proved."""
    x, y = table()
    with pytest.warns(sx.SeparatrixWarning, match="the path ends at C = "):
        short = sx.SVMPath(kernel="rbf", C=1e-3, max_changes=60).fit(x, y)
    reach = short.paths_[0].end
    assert 0.0 < reach == short.C_max_
    assert max(short.gaps()) < 1e-8
    with pytest.raises(sx.InputError, match="is not on the path, which goes from 0 to"):
        short.at(2.0 * reach)
    path = sx.SVMPath(kernel="rbf").fit(x, y)
    path.max_changes = 60
    with pytest.warns(sx.SeparatrixWarning, match="of 5 folds end before C = "):
        path.cross_validate()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_between_breakpoints_it_is_scikit_learns_svm(kernel: str) -> None:
    x, y = table(80)
    path = sx.SVMPath(kernel, gamma=0.5, C=1.0).fit(x, y)
    for C in np.random.default_rng(0).uniform(0.01, 20.0, 6):
        peer = SVC(C=C, kernel=kernel, gamma=0.5, tol=1e-9).fit(x, y)
        found = path.at(C)
        scores = found.score(x)[:, 0] if kernel == "linear" else found.scores(x)[:, 0]
        assert_allclose(scores, peer.decision_function(x), atol=1e-4)


def test_small_C_points_along_the_class_means() -> None:
    x, _ = table(40)
    y = np.repeat([-1.0, 1.0], 20)
    path = sx.SVMPath(C=1.0).fit(x, y)
    C = 0.5 * path.breakpoints_[0]
    assert_allclose(path.alpha_at(C), C)
    assert_allclose(path.at(C).coef[0], C * 20 * (x[20:].mean(axis=0) - x[:20].mean(axis=0)))


def test_separable_classes_end_at_the_hard_margin() -> None:
    x, y = table(50)
    x = x + 3.0 * y[:, None]
    path = sx.SVMPath(C=1.0).fit(x, y)
    assert path.paths_[0].end == np.inf
    hard = sx.LinearSVC(loss="hinge", C=np.inf).fit(x, y)
    assert_allclose(path.at(2.0 * path.breakpoints_[-1]).coef, hard.coef_, rtol=1e-8)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_move_breakpoints_and_nothing_else(factor: float) -> None:
    x, y = table()
    plain, scaled = sx.SVMPath(cv=3).fit(x, y), sx.SVMPath(cv=3).fit(factor * x, y)
    assert_allclose(scaled.breakpoints_ * factor**2, plain.breakpoints_, rtol=1e-6)
    assert_allclose(scaled.C_ * factor**2, plain.C_, rtol=1e-6)


def test_weights_are_repeats() -> None:
    x, y = table()
    w = np.random.default_rng(1).integers(0, 3, len(y))
    w[:2] = 1
    weighted = sx.SVMPath(C=0.3).fit(x, y, sample_weight=w)
    repeated = sx.SVMPath(C=0.3).fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    for C in (0.01, 0.3, 5.0):
        assert_allclose(weighted.at(C).coef, repeated.at(C).coef, rtol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_weights_are_repeats_for_the_kernels_scale_as_well(kernel: str) -> None:
    x, y = table()
    w = np.random.default_rng(1).integers(0, 3, len(y))
    w[:2] = 1
    weighted = sx.SVMPath(kernel, C=0.3, C_max=5.0).fit(x, y, sample_weight=w)
    repeated = sx.SVMPath(kernel, C=0.3, C_max=5.0).fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    assert weighted.kernel_ == repeated.kernel_ or str(weighted.kernel_) == str(repeated.kernel_)
    assert_allclose(weighted.decision_function(x), repeated.decision_function(x), atol=1e-8)
    assert_allclose(weighted.at(4.0).scores(x), repeated.at(4.0).scores(x), atol=1e-7)


def test_an_indefinite_kernel_has_no_lower_bound() -> None:
    x, y = table(40)
    kernel = sx.Sigmoid(1.0, -1.0)
    with pytest.warns(sx.SeparatrixWarning, match="SEP007"):
        path = sx.SVMPath(kernel, C=0.2, C_max=2.0).fit(x, y)
    found = path.certificate_
    assert found.promised == ("kkt",)
    assert "not Mercer" in found.claim
    assert np.isnan(found.gap)
    assert np.isnan(found.dual)
    assert np.isnan(path.gaps([0.1, 0.2])).all()
    # the certificate is the KKT residual of the stated α, by hand
    alpha, gram = path.alpha_at(0.2), kernel.gram(x)
    margin = y * (gram @ (y * alpha) + path.intercept_[0])
    wrong = np.where(margin < 1.0, 1.0 - alpha / 0.2, alpha / 0.2)
    by_hand = np.minimum(np.abs(margin - 1.0), wrong).max()
    assert_allclose(found.kkt, max(by_hand, abs(alpha @ y) / alpha.sum()), atol=1e-9)
    with pytest.warns(sx.SeparatrixWarning, match="SEP007"):
        assert sx.SVMPath(kernel, cv=3).fit(x, y).certificate_.promised == ("kkt",)


def test_cross_validated_errors_are_those_of_refits_for_any_C() -> None:
    x, y = table(90)
    path = sx.SVMPath(cv=3).fit(x, y)
    folds = [(np.setdiff1d(np.arange(90), t), t) for t in np.array_split(np.arange(90), 3)]
    path.cross_validate(folds)
    assert path.errors_.shape == (len(path.Cs_), 3)
    for j in np.random.default_rng(0).choice(len(path.Cs_), 8):
        for k, (train, test) in enumerate(folds):
            refit = sx.SVMPath(C=path.Cs_[j], C_max=path.C_max_).fit(x[train], y[train])
            assert_allclose(path.errors_[j, k], 1.0 - refit.score(x[test], y[test]), atol=1e-12)
    assert path.errors_.mean(axis=1).min() == path.errors_[path.Cs_ == path.C_].mean()
    mean = path.errors_.mean(axis=1)
    simple = sx.SVMPath(cv=folds, rule="one_se").fit(x, y)
    assert path.Cs_[mean <= mean.min()].min() >= simple.C_


def test_several_classes_have_a_path_each() -> None:
    x, _ = table(90)
    y = np.digitize(x[:, 0], [-0.5, 0.5])
    path = sx.SVMPath(cv=3).fit(x, y)
    assert len(path.paths_) == len(path.breakpoints_) == 3
    assert path.coef_.shape == (3, 2)
    assert path.alpha_at(1.0).shape == (90, 3)
    assert path.score(x, y) > 0.6
    alone = sx.SVMPath(C=path.C_, C_max=path.C_max_).fit(x, y == 2)
    assert_allclose(path.coef_[2], alone.coef_[0], rtol=1e-8)


def test_a_precomputed_gram_matrix() -> None:
    x, y = table()
    gram = gaussian(x, 1.0)
    given = sx.SVMPath("precomputed", C=2.0).fit(gram, y)
    kernel = sx.SVMPath(sx.Gaussian(1.0), C=2.0).fit(x, y)
    assert_allclose(given.decision_function(gram), kernel.decision_function(x), atol=1e-9)


def test_what_is_not_on_the_path_is_refused() -> None:
    x, y = table()
    path = sx.SVMPath(C=0.5, C_max=1.0).fit(x, y)
    with pytest.raises(sx.InputError, match="not on the path"):
        path.at(2.0)
    with pytest.raises(sx.InputError, match="rule"):
        sx.SVMPath(rule="best").fit(x, y)
    with pytest.raises(sx.InputError, match="n_samples"):
        sx.SVMPath().fit(x[:3], [0, 0, 1])
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = sx.SVMPath("rbf", C=1.0).fit(x, y).coef_path_


def test_columns_far_from_zero_change_the_intercept_alone() -> None:
    x, y = table()
    plain, moved = sx.SVMPath(cv=3).fit(x, y), sx.SVMPath(cv=3).fit(x + 2.0**20, y)
    assert_allclose(moved.breakpoints_, plain.breakpoints_, rtol=1e-6)
    assert_allclose(moved.coef_, plain.coef_, rtol=1e-6)
    assert_allclose(moved.decision_function(x + 2.0**20), plain.decision_function(x), atol=1e-7)
    assert_allclose(moved.at(moved.C_).intercept, moved.intercept_)
    assert moved.certificate_.holds


def test_tiny_weights_are_weights() -> None:
    x, y = table()
    assert sx.SVMPath(C=1.0).fit(x, y, sample_weight=np.full(len(y), 1e-300)).certificate_.holds


def test_the_path_of_strings_is_that_of_their_gram_matrix() -> None:
    words = ["abab", "abba", "baba", "cdcd", "dccd", "cdcc", "abcd", "aabb"] * 4
    y = np.array([0, 0, 0, 1, 1, 1, 0, 1] * 4)
    kernel = sx.Spectrum(2)
    own = sx.SVMPath(kernel, cv=3).fit(words, y)
    given = sx.SVMPath("precomputed", cv=3).fit(kernel.gram(words), y)
    assert own.C_ == given.C_
    assert_allclose(own.decision_function(words), given.decision_function(kernel.gram(words)))


def test_standardized_columns_do_not_depend_on_units() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((60, 2))
    x[:, 0] += 3.0
    y = x[:, 0] - x[:, 1] + rng.standard_normal(60) > 3.0
    units = np.array([1e6, 1e-3])
    for kernel in ("linear", "rbf"):
        plain = sx.SVMPath(kernel, C=0.5, standardize=True).fit(x, y)
        other = sx.SVMPath(kernel, C=0.5, standardize=True).fit(x * units, y)
        assert_allclose(other.decision_function(x * units), plain.decision_function(x), atol=1e-8)
        if kernel == "rbf":
            assert not hasattr(plain, "coef_path_")
            assert not hasattr(plain, "hyperplane_")
            continue
        assert_allclose(other.coef_ * units, plain.coef_, rtol=1e-8)
        assert_allclose(plain.at(0.5).coef, plain.coef_)
        assert_allclose(plain.hyperplane_.score(x)[:, 0], plain.decision_function(x))
