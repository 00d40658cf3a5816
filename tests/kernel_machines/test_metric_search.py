"""Searches for a metric stay within their work, and read sparse designs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import separatrix as sx
from separatrix.catalogue import DECLARATIONS
from separatrix.kernel_machines.learned_metric import FLOOR, LearnedMetric
from separatrix.kernel_machines.metric_search import FEWEST_QUERIES
from separatrix.selection.folds import Folds
from separatrix.selection.tuning import TuningData
from separatrix.study.candidates import Size, compared_models


def _data(x: object, y: np.ndarray, work: float) -> TuningData:
    n = len(y)
    return TuningData(x, y, np.ones(n), Folds.from_labels(np.arange(n) % 3), 0, "squared", work)


def test_sparse_and_dense_designs_give_the_same_search() -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random((90, 6)) < 0.4, rng.normal(size=(90, 6)), 0.0)
    y = x[:, 0] ** 2 + x[:, 1] + 0.1 * rng.normal(size=90)
    model = sx.RecursiveFeatureMachineRegressor(share=0.5, spread=2.0, rounds=1)
    dense = model.tune(_data(x, y, 1e9))
    stored = model.tune(_data(sparse.csr_array(x), y, 1e9))
    assert dense.parameters == stored.parameters
    np.testing.assert_array_equal(dense.predictions, stored.predictions)


def test_a_search_with_little_work_predicts_some_of_the_rows() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3_000, 3))
    y = np.sin(2.0 * x[:, 0]) + 0.1 * rng.normal(size=3_000)
    model = sx.RecursiveFeatureMachineRegressor(share=0.5, spread=2.0, rounds=0)
    tuning = model.tune(_data(x, y, 1e6))
    assert 0.9 * FEWEST_QUERIES <= len(tuning.rows) <= 1.1 * FEWEST_QUERIES
    assert len(np.unique(tuning.rows)) == len(tuning.rows)
    assert np.mean((y[tuning.rows] - tuning.predictions) ** 2) < 0.5 * y.var()


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_metric_of_many_columns_is_left_out_of_studies(task: str) -> None:
    candidate = compared_models(task)["learned_metric"]
    assert DECLARATIONS[candidate.model].candidates
    few, many = (Size(3_000, d, 1, work=2e10) for d in (100, 500))
    assert not candidate.reason_against(few)
    assert "operations" in candidate.reason_against(many)


def test_a_metric_of_few_gradients_is_that_of_its_definition() -> None:
    gradients = np.random.default_rng(2).normal(size=(5, 40))
    metric = LearnedMetric.of_gradients(gradients)
    outer = gradients.T @ gradients
    dense = (1.0 - FLOOR) * outer / np.trace(outer) + FLOOR * np.eye(40) / 40
    assert metric.v.shape == (40, 5)
    np.testing.assert_allclose(metric.matrix, dense, atol=1e-15)
    np.testing.assert_allclose(metric.root @ metric.root, dense, atol=1e-15)
    np.testing.assert_allclose(metric.diagonal, np.diagonal(dense), atol=1e-15)
    z = np.random.default_rng(3).normal(size=(7, 40))
    np.testing.assert_allclose(metric.turn(z), z @ metric.root, atol=1e-13)


def test_columns_may_outnumber_rows_by_far() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 2_000))
    x[:, 0] *= 3.0
    y = x[:, 0] + 0.1 * rng.normal(size=60)
    model = sx.RecursiveFeatureMachineRegressor().fit(x, y)
    assert model.certificate_.holds
    assert model.metric_.trace() == pytest.approx(1.0)
    [(share, loadings)] = model.directions(1)
    assert share == pytest.approx(float(np.linalg.norm(model.metric_, 2)))
    assert abs(loadings["x0"]) == max(map(abs, loadings.values()))
