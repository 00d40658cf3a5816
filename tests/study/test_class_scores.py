"""Scores of classifiers on the test set, over all rows and by class, with their intervals."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn import metrics as reference

from separatrix.study.class_scores import scores_by_class, scores_on_test
from separatrix.study.result import Predictions


def predictions(k: int, n: int = 300, seed: int = 0, weighted: bool = False) -> Predictions:
    rng = np.random.default_rng(seed)
    labels = np.array(list("abcdefgh")[:k], dtype=object)
    truth = rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))
    score = np.round(rng.normal(size=(n, k)) + np.eye(k)[truth], 1)  # ties on purpose
    p = np.exp(score)
    p /= p.sum(axis=1, keepdims=True)
    w = rng.integers(1, 4, n).astype(float) if weighted else None
    margin = score[:, 1] - score[:, 0] if k == 2 else None
    return Predictions(np.arange(n), labels[truth], labels[p.argmax(axis=1)], margin, w, p)


def named(scores) -> dict:
    return {s.metric: s for s in scores}


def labels(k: int):
    return np.array(list("abcdefgh")[:k], dtype=object)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 5])
def test_scores_are_those_of_scikit_learn(k, weighted) -> None:
    test = predictions(k, weighted=weighted)
    found = named(scores_on_test(test, labels(k), None))
    truth, called, w, p = test.truth, test.predicted, test.w, test.probabilities
    expected = {
        "log_loss": reference.log_loss(truth, p, sample_weight=w),
        "accuracy": reference.accuracy_score(truth, called, sample_weight=w),
        "error": 1 - reference.accuracy_score(truth, called, sample_weight=w),
        "balanced_error": 1 - reference.balanced_accuracy_score(truth, called, sample_weight=w),
    }
    if k == 2:
        expected["f1"] = reference.f1_score(truth, called, pos_label="b", sample_weight=w)
        expected["auc"] = reference.roc_auc_score(truth == "b", test.scores, sample_weight=w)
    else:
        expected["f1"] = reference.f1_score(truth, called, average="macro", sample_weight=w)
        areas = [
            reference.roc_auc_score(truth == c, p[:, j], sample_weight=w)
            for j, c in enumerate(labels(k))
        ]
        expected["auc"] = np.mean(areas)
    assert set(found) == set(expected)
    for metric, value in expected.items():
        assert found[metric].value == pytest.approx(value)
        assert found[metric].low < value < found[metric].high


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_by_class(weighted) -> None:
    test = predictions(5, weighted=weighted)
    found = scores_by_class(test, labels(5))
    precision, recall, f1, support = reference.precision_recall_fscore_support(
        test.truth, test.predicted, sample_weight=test.w
    )
    assert [s.label for s in found] == list("abcde")
    assert [s.precision.value for s in found] == pytest.approx(precision)
    assert [s.recall.value for s in found] == pytest.approx(recall)
    assert [s.f1.value for s in found] == pytest.approx(f1)
    assert [s.support for s in found] == pytest.approx(support)
    for j, one in enumerate(found):
        area = reference.roc_auc_score(
            test.truth == one.label, test.probabilities[:, j], sample_weight=test.w
        )
        assert one.auc.value == pytest.approx(area)
        for score in (one.precision, one.recall, one.f1, one.auc):
            assert score.low < score.value < score.high


def test_what_is_not_defined_by_class_is_not_a_number() -> None:
    test = Predictions(np.arange(3), np.array(list("aab")), np.array(list("aaa")))
    first, second, third = scores_by_class(test, labels(3))
    assert (first.precision.value, first.recall.value) == pytest.approx((2 / 3, 1.0))
    assert np.isnan(second.precision.value)
    assert second.recall.value == second.f1.value == 0.0
    assert np.isnan([third.precision.value, third.recall.value, third.auc.value]).all()
    assert (third.support, third.predicted) == (0.0, 0.0)


def test_one_class_in_the_test_set_has_no_area() -> None:
    test = Predictions(
        np.arange(2), np.array(["a", "a"]), np.array(["a", "b"]), np.array([1.0, 2.0])
    )
    assert "auc" not in named(scores_on_test(test, labels(2), None))


def test_a_class_that_the_model_does_not_know_counts_as_wrong() -> None:
    test = predictions(3)
    known = named(scores_on_test(test, labels(3), None))
    truth = test.truth.copy()
    truth[:20] = "z"
    other = Predictions(test.rows, truth, test.predicted, None, None, test.probabilities)
    found = named(scores_on_test(other, labels(3), None))
    assert found["error"].value > known["error"].value
    assert found["balanced_error"].value > known["balanced_error"].value
    assert np.isfinite([s.value for s in found.values()]).all()


@cache
def many_scores(k: int) -> list[dict]:
    """Of many rows, which stand for all there are, and 200 times of 80."""
    some = [predictions(k, 200_000, 99), *(predictions(k, 80, seed) for seed in range(200))]
    return [named(scores_on_test(part, labels(k), None)) for part in some]


@pytest.mark.parametrize("metric", ["balanced_error", "f1"])
@pytest.mark.parametrize("k", [2, 3])
def test_intervals_over_classes_cover_about_95_times_in_100(metric, k) -> None:
    whole, *found = (scores[metric] for scores in many_scores(k))
    assert sum(part.low <= whole.value <= part.high for part in found) >= 183


def test_no_error_on_few_rows_is_no_proof_of_none() -> None:
    truth = np.array(list("aaaabb"))
    found = named(scores_on_test(Predictions(np.arange(6), truth, truth), labels(2), None))
    assert found["balanced_error"].value == 0.0
    assert found["balanced_error"].high > 0.2
    assert found["f1"].low < 0.8


def test_scores_are_those_of_the_answers_not_of_even_odds() -> None:
    """A threshold that suits the metric moves answers away from the most probable class."""
    test = predictions(2)
    called = np.where(test.probabilities[:, 1] > 0.3, "b", "a").astype(object)
    moved = Predictions(test.rows, test.truth, called, test.scores, None, test.probabilities)
    found = named(scores_on_test(moved, labels(2), None))
    assert found["f1"].value == pytest.approx(reference.f1_score(test.truth, called, pos_label="b"))
    assert scores_by_class(moved, labels(2))[1].predicted == np.sum(called == "b")
