"""Metrics of classes and numbers as means over rows, against scikit-learn and resampling."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as reference

from separatrix.probability.costs import Costs
from separatrix.study import measure
from separatrix.study.class_scores import CLASS_METRICS, row_losses
from separatrix.study.measure import average, standard_error


def table(k: int, n: int = 400, seed: int = 0, weighted: bool = False, quality: float = 1.0):
    """Truth, probabilities of a fair model, its answers and weights."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    score = np.round(rng.normal(size=(n, k)) + quality * np.eye(k)[truth], 1)  # ties on purpose
    p = np.exp(score)
    p /= p.sum(axis=1, keepdims=True)
    w = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    return truth, p, p.argmax(axis=1), w


def by_scikit_learn(metric: str, truth, p, predicted, w) -> float:
    k = p.shape[1]
    if metric == "log_loss":
        return reference.log_loss(truth, p, sample_weight=w)
    if metric == "error":
        return 1 - reference.accuracy_score(truth, predicted, sample_weight=w)
    if metric == "balanced_error":
        return 1 - reference.balanced_accuracy_score(truth, predicted, sample_weight=w)
    if metric == "f1":
        kind = "binary" if k == 2 else "macro"
        return reference.f1_score(truth, predicted, sample_weight=w, average=kind)
    if k == 2:
        return reference.roc_auc_score(truth, p[:, 1], sample_weight=w)
    areas = [reference.roc_auc_score(truth == j, p[:, j], sample_weight=w) for j in range(k)]
    return float(np.mean(areas))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("metric", [m for m in CLASS_METRICS if m != "cost"])
def test_the_mean_over_rows_is_the_metric(metric, k, weighted) -> None:
    truth, p, predicted, w = table(k, weighted=weighted)
    losses = row_losses(metric, truth, p, predicted, w)
    assert losses.shape == truth.shape
    expected = by_scikit_learn(metric, truth, p, predicted, w)
    assert measure.metric_value(metric, losses, w) == pytest.approx(expected, rel=1e-9)
    larger = metric in ("auc", "f1")
    assert average(losses, w) == pytest.approx(1 - expected if larger else expected)


def test_a_cost_is_what_the_answer_cost_rejections_included() -> None:
    costs = Costs(np.array([[0.0, 1.0], [5.0, 0.0]]), np.array([0.5, 0.25]))
    truth, answers = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 2, 1])
    losses = row_losses("cost", truth, None, answers, np.ones(5), costs)
    assert losses.tolist() == [0.0, 1.0, 5.0, 0.25, 0.0]


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("metric", [m for m in CLASS_METRICS if m != "cost"])
def test_the_error_of_a_difference_is_that_of_the_bootstrap(metric, k) -> None:
    truth, p, predicted, w = table(k, n=500, seed=3)
    other = table(k, n=500, seed=4)[1]
    q = np.sqrt(p * other)  # correlated with the first model, as candidates are
    q /= q.sum(axis=1, keepdims=True)
    called = q.argmax(axis=1)
    first = row_losses(metric, truth, p, predicted, w)
    second = row_losses(metric, truth, q, called, w)
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(400):
        at = rng.integers(0, len(truth), len(truth))
        a = row_losses(metric, truth[at], p[at], predicted[at], w)
        b = row_losses(metric, truth[at], q[at], called[at], w)
        drawn.append(average(a, w) - average(b, w))
    assert standard_error(first - second, w) == pytest.approx(np.std(drawn), rel=0.15)
    assert standard_error(first - second, w) < np.hypot(
        standard_error(first, w), standard_error(second, w)
    )


def test_delong() -> None:
    """The variance of the area equals DeLong's, up to n/(n − 1)."""
    truth, p, predicted, w = table(2, n=300)
    up, down = p[truth == 1, 1], p[truth == 0, 1]
    pairs = (up[:, None] > down) + 0.5 * (up[:, None] == down)
    variance = np.var(pairs.mean(axis=1)) / len(up) + np.var(pairs.mean(axis=0)) / len(down)
    losses = row_losses("auc", truth, p, predicted, w)
    assert standard_error(losses, w) ** 2 == pytest.approx(variance * 300 / 299, rel=1e-9)


@pytest.mark.parametrize("metric", ["log_loss", "auc"])
def test_without_probabilities_there_is_no_log_loss_and_no_area(metric) -> None:
    truth, _, predicted, w = table(3)
    assert np.isnan(row_losses(metric, truth, None, predicted, w)).all()


def test_the_area_of_one_class_is_not_a_number() -> None:
    p = np.array([[0.5, 0.5], [0.2, 0.8]])
    assert np.isnan(row_losses("auc", np.zeros(2, int), p, np.array([0, 1]), np.ones(2))).all()


@pytest.mark.parametrize("metric", ["error", "balanced_error", "f1", "log_loss"])
def test_a_class_that_the_model_does_not_know_is_an_error(metric) -> None:
    truth, p, predicted, w = table(3)
    before = average(row_losses(metric, truth, p, predicted, w), w)
    truth = np.where(np.arange(len(truth)) < 5, -1, truth)
    losses = row_losses(metric, truth, p, predicted, w)
    assert np.isfinite(losses).all()
    assert average(losses, w) > before


@pytest.mark.parametrize("weighted", [False, True])
def test_metrics_of_numbers(weighted) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(1e6, 3.0, 200)
    fitted = y + rng.normal(size=200)
    w = rng.integers(1, 4, 200).astype(float) if weighted else np.ones(200)
    expected = {
        "rmse": reference.root_mean_squared_error(y, fitted, sample_weight=w),
        "mae": reference.mean_absolute_error(y, fitted, sample_weight=w),
        "r2": reference.r2_score(y, fitted, sample_weight=w),
    }
    for metric, value in expected.items():
        losses = measure.row_losses(metric, y, fitted, w)
        assert measure.metric_value(metric, losses, w) == pytest.approx(value, rel=1e-9)
    squares = measure.row_losses("rmse", y, fitted, w)
    assert average(squares, w) == pytest.approx(expected["rmse"] ** 2)


def test_the_error_of_a_difference_of_r2_is_that_of_the_bootstrap() -> None:
    rng = np.random.default_rng(1)
    y = rng.standard_t(6, 400)
    a, b, w = y + rng.normal(size=400), 0.8 * y + rng.normal(size=400), np.ones(400)
    found = standard_error(measure.row_losses("r2", y, a, w) - measure.row_losses("r2", y, b, w), w)
    drawn = []
    for _ in range(400):
        at = rng.integers(0, 400, 400)
        drawn.append(reference.r2_score(y[at], a[at]) - reference.r2_score(y[at], b[at]))
    assert found == pytest.approx(np.std(drawn), rel=0.15)


def test_a_constant_target_has_no_r2() -> None:
    assert np.isnan(measure.row_losses("r2", np.ones(3), np.arange(3.0), np.ones(3))).all()
