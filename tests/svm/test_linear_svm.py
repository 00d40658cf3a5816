"""Linear SVMs: examples with known answers, other solvers, difficult tables."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
import quadprog
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.svm import SVC, SVR

import separatrix as sx

POINTS = np.array([[1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0], [3.0, 1.0]])
LABELS = np.array([-1, -1, 1, 1])


def overlapping(n: int = 200, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    slope = np.arange(1, d + 1) * (-1.0) ** np.arange(d)
    return x, np.where(x @ slope + 1.5 * rng.standard_normal(n) > 0.5, "yes", "no")


def hinge_svc(C: float = 1.0, **options) -> sx.LinearSVC:
    return sx.LinearSVC(loss="hinge", C=C, **options)


def hinge_objective(x, sign, w, b, C) -> float:
    return 0.5 * w @ w + np.sum(C * np.maximum(0.0, 1.0 - sign * (x @ w + b)))


def by_quadratic_program(x: np.ndarray, sign: np.ndarray, C: np.ndarray) -> float:
    """The optimal value, from the primal: variables w, b, ξ."""
    n, d = x.shape
    cost = np.diag(np.concatenate([np.ones(d), np.full(1 + n, 1e-9)]))
    linear = -np.concatenate([np.zeros(d + 1), C])
    margins = np.hstack([sign[:, None] * x, sign[:, None], np.eye(n)])
    slacks = np.hstack([np.zeros((n, d + 1)), np.eye(n)])
    bounds = np.concatenate([np.ones(n), np.zeros(n)])
    found = quadprog.solve_qp(cost, linear, np.vstack([margins, slacks]).T, bounds)[0]
    return hinge_objective(x, sign, found[:d], found[d], C)


# -- examples whose numbers are known --------------------------------------------------------------


def test_hard_margin_of_three_points() -> None:
    model = hinge_svc(np.inf).fit(POINTS[:3], LABELS[:3])
    assert_allclose(model.coef_, [[0.0, -0.5]], atol=1e-9)
    assert_allclose(model.alpha_, [0.0, 1 / 8, 1 / 8], atol=1e-9)
    assert_allclose([model.t_, model.margin_], [0.0, 2.0], atol=1e-9)


def test_hard_margin_of_four_points() -> None:
    model = hinge_svc(np.inf).fit(POINTS, LABELS)
    assert_allclose(model.coef_, [[3 / 5, -4 / 5]], atol=1e-9)
    assert_allclose(model.alpha_, [1 / 2, 0.0, 1 / 10, 2 / 5], atol=1e-9)
    assert_allclose(model.margin_, 1.0, atol=1e-9)
    assert_allclose(model.slack_, 0.0, atol=1e-9)
    assert model.certificate_.holds


def test_soft_margin_with_one_point_inside() -> None:
    model = hinge_svc(5 / 16).fit(POINTS, LABELS)
    assert_allclose(model.coef_, [[3 / 8, -1 / 2]], atol=1e-9)
    assert_allclose(model.alpha_, [5 / 16, 0.0, 1 / 16, 1 / 4], atol=1e-9)
    assert_allclose(model.slack_, [3 / 4, 0.0, 0.0, 0.0], atol=1e-9)
    assert_allclose([model.t_, model.margin_], [-3 / 8, 1.6], atol=1e-9)
    assert model.group_.tolist() == ["bound", "non-support", "free", "free"]
    assert model.support_.tolist() == [0, 2, 3]


def test_soft_margin_with_every_point_at_its_bound() -> None:
    model = hinge_svc(1 / 10).fit(POINTS, LABELS)
    assert_allclose(model.coef_, [[1 / 5, -1 / 2]], atol=1e-9)
    assert_allclose(model.alpha_, 1 / 10, atol=1e-9)
    assert_allclose(model.slack_, [0.4, 0.0, 0.0, 0.7], atol=1e-9)
    assert_allclose(model.t_, -1 / 5, atol=1e-9)


def test_small_C_points_along_the_class_means() -> None:
    x, y = overlapping(100)
    order = np.argsort(y, kind="stable")
    x, y = x[order], np.repeat(["no", "yes"], 50)
    model = hinge_svc(1e-5).fit(x, y)
    assert_allclose(model.alpha_, 1e-5)
    assert_allclose(model.coef_[0], 1e-5 * 50 * (x[50:].mean(axis=0) - x[:50].mean(axis=0)))


def test_overlap_has_no_hard_margin_and_the_proof_is_in_the_message() -> None:
    with pytest.raises(sx.InputError, match=r"not separable.*the same point"):
        hinge_svc(np.inf).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"])


# -- against other solvers -------------------------------------------------------------------------


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.sampled_from([0.01, 1.0, 50.0]))
def test_the_value_is_that_of_a_quadratic_program(seed: int, d: int, C: float) -> None:
    x, y = overlapping(30, d, seed)
    assume(len(set(y)) == 2)
    w = np.random.default_rng(seed).integers(1, 4, 30).astype(float)
    model = hinge_svc(C).fit(x, y, sample_weight=w)
    best = by_quadratic_program(x, np.where(y == "yes", 1.0, -1.0), C * w)
    assert_allclose(model.certificate_.primal, best, rtol=1e-6)
    assert model.certificate_.gap <= 1e-9 * model.certificate_.primal


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_hyperplane_is_that_of_scikit_learn(C: float) -> None:
    x, y = overlapping()
    own = hinge_svc(C).fit(x, y)
    peer = SVC(C=C, kernel="linear", tol=1e-9).fit(x, y)
    assert_allclose(own.coef_, peer.coef_, rtol=1e-3)
    assert_allclose(own.intercept_, peer.intercept_, rtol=1e-3)
    sign = np.where(y == "yes", 1.0, -1.0)
    theirs = hinge_objective(x, sign, peer.coef_[0], peer.intercept_[0], C)
    assert own.certificate_.dual <= own.certificate_.primal <= theirs * (1.0 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_regression_is_that_of_scikit_learn(epsilon: float) -> None:
    x, _ = overlapping()
    y = x @ [1.0, 2.0, 0.0, -1.0] + np.random.default_rng(1).standard_normal(len(x))
    own = sx.LinearSVR(C=0.7, epsilon=epsilon, intercept_scaling=np.inf).fit(x, y)
    peer = SVR(C=0.7, epsilon=epsilon, kernel="linear", tol=1e-10).fit(x, y)
    assert_allclose(own.coef_, peer.coef_[0], rtol=1e-4, atol=1e-6)
    dual = np.zeros(len(x))
    dual[peer.support_] = peer.dual_coef_[0]
    assert_allclose(own.coef_, x.T @ own.alpha_, atol=1e-9)
    assert own.certificate_.gap <= 1e-9 * own.certificate_.primal
    if epsilon:
        assert_allclose(own.alpha_, dual, atol=1e-4)


def test_each_class_against_the_rest() -> None:
    x, _ = overlapping(150)
    y = np.digitize(x[:, 0] + x[:, 1], [-0.5, 0.5])
    model = hinge_svc(0.5, class_weight="balanced").fit(x, y)
    assert model.coef_.shape == (3, 4)
    assert model.alpha_.shape == (150, 3)
    weight = len(y) / (3 * np.bincount(y))[y]
    alone = hinge_svc(0.5).fit(x, y == 1, sample_weight=weight)
    assert_allclose(model.coef_[1], alone.coef_[0], atol=1e-8)


def test_without_intercept() -> None:
    x, y = overlapping(120, 3)
    model = hinge_svc(fit_intercept=False).fit(x, y)
    sign = np.where(y == "yes", 1.0, -1.0)
    assert model.intercept_[0] == 0.0
    best = model.certificate_.primal
    assert_allclose(best, hinge_objective(x, sign, model.coef_[0], 0.0, 1.0))
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2):
        other = model.coef_[0] + size * rng.standard_normal(3)
        assert hinge_objective(x, sign, other, 0.0, 1.0) >= best
    assert model.certificate_.gap <= 1e-9 * best


# -- awkward tables --------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    "kind", ["plain", "units", "large", "tiny", "opposite", "constant", "lattice", "far"]
)
def test_awkward_tables_are_solved_to_a_certificate(kind: str, C: float) -> None:
    x, y = overlapping(150)
    rng = np.random.default_rng(2)
    if kind == "units":
        x = x * [1e-8, 1e8, 1.0, 1e4]
    elif kind in ("large", "tiny"):
        x = x * (1e8 if kind == "large" else 1e-8)
    elif kind == "opposite":
        x, y = np.repeat(x[:30], 5, axis=0), np.where(rng.random(150) < 0.5, "yes", "no")
    elif kind == "constant":
        x = np.column_stack([x, np.full(150, 7.0), x[:, 0], np.zeros(150)])
    elif kind == "lattice":
        x = rng.integers(0, 3, (150, 4)).astype(float)
        y = np.where(x.sum(axis=1) + rng.integers(-1, 2, 150) > 4, "yes", "no")
    elif kind == "far":
        x = x + 1e5
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hinge_svc(C).fit(x, y)
    assert time.perf_counter() - start < 5.0
    assert model.certificate_.holds
    assert model.certificate_.gap <= 1e-8 * model.certificate_.primal


def test_equal_points_have_zero_coefficients() -> None:
    model = hinge_svc().fit(np.ones((6, 2)), [0, 0, 0, 1, 1, 1])
    assert_allclose(model.coef_, 0.0, atol=1e-12)
    assert model.margin_ == np.inf


def test_time_and_iterations_run_out_with_a_valid_gap() -> None:
    x, y = overlapping(20_000, 20)
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        hurried = hinge_svc(time_budget=1e-6).fit(x, y)
    assert hurried.certificate_.gap > 0.0
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        short = hinge_svc(max_iter=2).fit(x, y)
    best = hinge_svc().fit(x, y).certificate_.primal
    for model in (hurried, short):
        assert model.certificate_.dual <= best <= model.certificate_.primal


def test_numbers_of_rows_are_not_stored(tmp_path) -> None:
    model = hinge_svc().fit(POINTS, LABELS)
    sx.save(model, tmp_path / "a.sx")
    with pytest.raises(AttributeError, match="not stored"):
        _ = sx.load(tmp_path / "a.sx").alpha_


def test_rows_of_no_weight_have_no_alpha() -> None:
    x, y = overlapping(60)
    w = np.ones(60)
    w[::3] = 0.0
    model = hinge_svc().fit(x, y, sample_weight=w)
    assert model.alpha_.shape == (60,)
    assert not model.alpha_[::3].any()
    assert_allclose(model.coef_, hinge_svc().fit(x[w > 0], y[w > 0]).coef_, rtol=1e-9)


@pytest.mark.parametrize(
    ("settings_", "match"),
    [
        ({"C": 0.0}, "C="),
        ({"loss": "squared"}, "loss"),
        ({"penalty": "l1"}, "not offered"),
        ({"loss": "squared_hinge", "C": np.inf}, "hard margin"),
        ({"max_iter": 0}, "max_iter"),
        ({"time_budget": -1}, "time_budget"),
        ({"class_weight": {"maybe": 2.0}}, "class_weight"),
        ({"C": np.inf, "fit_intercept": False}, "intercept"),
    ],
)
def test_invalid_parameters_are_refused(settings_: dict, match: str) -> None:
    x, y = overlapping(20)
    with pytest.raises(sx.InputError, match=match):
        sx.LinearSVC(**{"loss": "hinge"} | settings_).fit(x, y)


def test_tables_with_text_columns(tmp_path) -> None:
    x, y = overlapping(120, 2)
    lines = ["a,b,colour,y"]
    colours = np.array(["red", "blue", "green"])[np.arange(120) % 3]
    lines += [f"{r[0]},{r[1]},{c},{t}" for r, c, t in zip(x, colours, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    rows = sx.scan(tmp_path / "t.csv", target="y")
    model = hinge_svc().fit(rows)
    assert model.certificate_.holds
    assert model.score(rows, y) > 0.7
    number = sx.LinearSVR(epsilon=0.1).fit(sx.scan(tmp_path / "t.csv", target="a"))
    assert number.certificate_.holds


def test_a_row_of_tiny_alpha_is_found_on_its_margin() -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(100, 20))
    y = rng.integers(0, 100, 2000)
    x = centres[y] + rng.normal(size=(2000, 20))
    model = hinge_svc().fit(x, y == 45)
    assert model.certificate_.gap < 1e-10
    assert model.certificate_.kkt < 1e-10
    on_margin = model.group_ == "free"
    assert model.alpha_[on_margin].min() < 1e-3
    assert_allclose(np.abs(model.decision_function(x[on_margin])), 1.0, atol=1e-9)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_probabilities_from_cross_validated_scores_agree_with_predict(class_weight) -> None:
    x, y = overlapping(300)
    plain = hinge_svc(class_weight=class_weight).fit(x, y)
    model = hinge_svc(probability=True, class_weight=class_weight).fit(x, y)
    p = model.predict_proba(x)
    assert_allclose(model.coef_, plain.coef_)
    assert_allclose(model.alpha_, plain.alpha_)
    assert_allclose(p.sum(axis=1), 1.0)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(x)).all()
    assert model.certificate_.gap < 1e-8
    by_hand = sx.CalibratedClassifier(hinge_svc(), method="platt").fit(
        x, y, None if class_weight is None else weights(y)
    )
    assert_allclose(p, by_hand.predict_proba(x))
    assert not hasattr(plain, "predict_proba")


def weights(y: np.ndarray) -> np.ndarray:
    share = np.mean(y == "yes")
    return 0.5 / np.where(y == "yes", share, 1.0 - share)


def test_probabilities_of_tables_count_classes_as_the_model_does(tmp_path) -> None:
    rng = np.random.default_rng(2)
    lines = [
        f"{rng.normal() + i % 4 // 3:.4f},{'uv'[i % 2]},{'no' if i % 4 else 'yes'}"
        for i in range(160)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *lines]))
    rows = sx.scan(tmp_path / "t.csv", target="y")
    even = hinge_svc(probability=True, class_weight="balanced").fit(rows)
    assert_allclose(even.coef_, hinge_svc(class_weight="balanced").fit(rows).coef_)
    y = np.where(np.arange(160) % 4, "no", "yes")
    mean = np.average(even.predict_proba(rows)[:, 1], weights=weights(y))
    assert_allclose(mean, 0.5, atol=0.05)  # calibrated for rows that are counted alike
    as_is = hinge_svc(probability=True).fit(rows)
    assert as_is.predict_proba(rows)[:, 1].mean() < 0.35


def test_a_fit_without_time_has_a_useful_bound() -> None:
    x, y = overlapping(400)
    with pytest.warns(UserWarning, match="time budget used up"):
        early = hinge_svc(time_budget=1e-9).fit(x, y)
    best = hinge_svc().fit(x, y).certificate_.primal
    assert 0.0 <= early.certificate_.dual <= best <= early.certificate_.primal
