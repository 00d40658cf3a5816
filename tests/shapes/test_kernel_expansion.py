from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.shapes import kernel_expansion


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((60, 4))


def test_anchors_without_weight_are_dropped(x) -> None:
    weights = np.zeros((60, 2))
    weights[::3] = np.random.default_rng(1).standard_normal((20, 2))
    weights[3, 0] = 0.0  # still needed by the second function
    shape = sx.KernelExpansion(sx.Gaussian(1.5), x, weights, np.array([1.0, -2.0]))
    assert len(shape) == 20
    assert shape.scores(x) == pytest.approx(sx.Gaussian(1.5).gram(x) @ weights + [1.0, -2.0])
    assert "20 of 60" in shape.size
    expected = np.diagonal(weights.T @ sx.Gaussian(1.5).gram(x) @ weights)
    assert shape.squared_norm() == pytest.approx(expected)


def test_scores_come_in_blocks(x, monkeypatch) -> None:
    weights = np.linspace(-1, 1, 60)
    whole = sx.KernelExpansion(sx.Polynomial(2), x, weights, 0.5).scores(x)
    monkeypatch.setattr(kernel_expansion, "_BLOCK", 7 * 60)
    seen: list[int] = []
    rows = type(sx.Polynomial(2).against(x)).rows

    def counted(self, block, out=None):
        seen.append(len(block))
        return rows(self, block, out)

    monkeypatch.setattr(type(sx.Polynomial(2).against(x)), "rows", counted)
    parts = sx.KernelExpansion(sx.Polynomial(2), x, weights, 0.5).scores(x)
    assert parts == pytest.approx(whole)
    assert max(seen) == 7
    assert sum(seen) == 60


def test_a_linear_expansion_is_a_hyperplane(x) -> None:
    weights = np.random.default_rng(2).standard_normal(60)
    shape = sx.KernelExpansion(sx.Linear(), x, weights, 1.0)
    assert shape.scores(x)[:, 0] == pytest.approx(x @ (x.T @ weights) + 1.0)
    assert shape.squared_norm() == pytest.approx([np.sum((x.T @ weights) ** 2)])


def test_no_anchors_leave_the_intercept(x) -> None:
    shape = sx.KernelExpansion(sx.Gaussian(1.0), x, np.zeros(60), 3.0)
    assert len(shape) == 0
    assert (shape.scores(x) == 3.0).all()
    assert shape.squared_norm() == [0.0]


def test_precomputed_similarities_keep_their_columns(x) -> None:
    gram = sx.Gaussian(1.0).gram(x)
    weights = np.where(np.arange(60) % 2, 1.0, 0.0)
    shape = sx.KernelExpansion(sx.Precomputed(), gram, weights, 0.0)
    assert len(shape) == 30
    assert shape.scores(gram[:5])[:, 0] == pytest.approx(gram[:5] @ weights)
    with pytest.raises(sx.InputError, match="60 rows"):
        shape.scores(gram[:5, :30])


def test_weights_and_anchors_must_agree(x) -> None:
    with pytest.raises(sx.InputError, match="3 weights for 60 anchors"):
        sx.KernelExpansion(sx.Linear(), x, np.ones(3), 0.0)
