from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.kernels import base
from separatrix.kernels.structures import PreparedFeatures


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((60, 4))


def test_centers_without_weight_are_dropped(x) -> None:
    weights = np.zeros((60, 2))
    weights[::3] = np.random.default_rng(1).standard_normal((20, 2))
    weights[3, 0] = 0.0  # still needed by the second function
    expansion = sx.KernelExpansion(sx.Gaussian(1.5), x, weights, np.array([1.0, -2.0]))
    assert len(expansion) == 20
    assert expansion.scores(x) == pytest.approx(sx.Gaussian(1.5).gram(x) @ weights + [1.0, -2.0])
    assert "20 of 60" in str(expansion)
    expected = np.diagonal(weights.T @ sx.Gaussian(1.5).gram(x) @ weights)
    assert expansion.squared_norm() == pytest.approx(expected)


@pytest.mark.parametrize(
    "kernel",
    [sx.Gaussian(1.0), sx.Polynomial(3), sx.Linear(), sx.Gaussian(1.0) + sx.Linear()],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_over_tiles_equal_the_matrix_product(kernel, dtype) -> None:
    rng = np.random.default_rng(1)
    x, z = rng.standard_normal((333, 4)).astype(dtype), rng.standard_normal((2500, 4)).astype(dtype)
    z[:5] += 1e4  # centers far away
    x[7] = z[0]
    weights = rng.standard_normal((2500, 2)) / 2500
    found = sx.KernelExpansion(kernel, z, weights, np.zeros(2)).scores(x)
    expected = kernel.gram(x.astype(float), z.astype(float)) @ weights
    precision = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(found, expected, precision, precision * np.abs(expected).max())


def test_memory_is_bounded(monkeypatch) -> None:
    words = ["abcab", "bca", "cabca", "aab"] * 5
    expansion = sx.KernelExpansion(sx.Spectrum(2), words, np.linspace(-1, 1, 20), 0.5)
    whole = expansion.scores(words)
    seen: list[int] = []
    rows = PreparedFeatures.rows

    def counted(self, block, out=None):
        seen.append(len(block))
        return rows(self, block, out)

    monkeypatch.setattr(base, "MAX_VALUES", 7 * 20)
    monkeypatch.setattr(PreparedFeatures, "rows", counted)
    assert expansion.scores(words) == pytest.approx(whole)
    assert seen == [7, 7, 6]


def test_a_linear_expansion_is_a_hyperplane(x) -> None:
    weights = np.random.default_rng(2).standard_normal(60)
    expansion = sx.KernelExpansion(sx.Linear(), x, weights, 1.0)
    assert expansion.scores(x)[:, 0] == pytest.approx(x @ (x.T @ weights) + 1.0)
    assert expansion.squared_norm() == pytest.approx([np.sum((x.T @ weights) ** 2)])


def test_no_centers_leave_the_intercept(x) -> None:
    expansion = sx.KernelExpansion(sx.Gaussian(1.0), x, np.zeros(60), 3.0)
    assert len(expansion) == 0
    assert (expansion.scores(x) == 3.0).all()
    assert expansion.squared_norm() == [0.0]


def test_precomputed_kernels_store_column_indices(x) -> None:
    gram = sx.Gaussian(1.0).gram(x)
    weights = np.where(np.arange(60) % 2, 1.0, 0.0)
    expansion = sx.KernelExpansion(sx.Precomputed(), gram, weights, 0.0)
    assert len(expansion) == 30
    assert expansion.scores(gram[:5])[:, 0] == pytest.approx(gram[:5] @ weights)
    with pytest.raises(sx.InputError, match="60 training rows"):
        expansion.scores(gram[:5, :30])


def test_weights_and_centers_must_agree(x) -> None:
    with pytest.raises(sx.InputError, match="3 weights for 60 centers"):
        sx.KernelExpansion(sx.Linear(), x, np.ones(3), 0.0)
