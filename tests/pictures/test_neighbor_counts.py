"""The number of neighbours in a picture: what was chosen, and how flat the valley is."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.messages import InputError
from separatrix.pictures import NeighborCountDisplay


def test_of_a_classifier() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 2))
    model = sx.KNeighborsClassifier("auto").fit(x, x[:, 0] > 0)
    picture = NeighborCountDisplay.from_estimator(model)
    assert picture.chosen == model.n_neighbors_ == picture.n_neighbors[picture.best]
    assert picture.errors == pytest.approx(model.leave_one_out_.error)
    assert f"Chosen: {model.n_neighbors_}." in picture.description
    assert "Error rate" in picture.description


def test_of_numbers_as_the_root_of_squares() -> None:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((50, 1))
    model = sx.KNeighborsRegressor("auto").fit(x, 3 * x[:, 0])
    picture = NeighborCountDisplay.from_estimator(model)
    assert picture.errors**2 == pytest.approx(model.leave_one_out_.error)
    assert picture.metric == "rmse"


def test_the_valley() -> None:
    picture = NeighborCountDisplay([1, 2, 3, 4], [0.4, 0.2, 0.2, 0.3], [0.1] * 4)
    assert picture.n_neighbors[picture.best] == 3
    assert picture.within_one_se == (2, 4)
    assert "Within one standard error: 2 to 4." in picture.description
    assert "40.0 % with 1 neighbor, 30.0 % with 4" in picture.description


def test_refusals() -> None:
    with pytest.raises(InputError, match="2 errors"):
        NeighborCountDisplay([1, 2, 3], [0.1, 0.2], [0.0, 0.0])
    with pytest.raises(InputError, match="'auto'"):
        NeighborCountDisplay.from_estimator(sx.KNeighborsClassifier(1).fit([[0.0], [1.0]], [0, 1]))
