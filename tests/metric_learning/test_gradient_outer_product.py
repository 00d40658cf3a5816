"""The average gradient outer product of a smooth fit as a metric."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import separatrix as sx


def friedman(n: int, d: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(seed).uniform(size=(n, d))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
    return x, y


def solve(gram: np.ndarray, y: np.ndarray, alpha: float, w: np.ndarray) -> np.ndarray:
    """a, then b, of (K + λ W⁻¹) a = y − b and Σ a = 0."""
    n = len(y)
    system = np.block([[gram + alpha * np.diag(1 / w), np.ones((n, 1))], [np.ones((1, n)), 0.0]])
    return np.linalg.solve(system, np.append(y, 0.0))


def gaussian(x: np.ndarray, z: np.ndarray, h: float) -> np.ndarray:
    return np.exp(-0.5 * ((x[:, None] - z[None]) ** 2).sum(axis=2) / h**2)


def test_the_metric_is_the_mean_product_of_differences_of_the_fit() -> None:
    x, y = friedman(60, 5)
    y = (y - y.mean()) / y.std()
    model = sx.GradientOuterProductMetric().fit(x, y)
    solved = solve(gaussian(x, x, model.bandwidth_), y, model.alpha_, np.ones(60))
    step, gradients = 1e-5, np.empty_like(x)
    for j in range(x.shape[1]):
        sides = [gaussian(x + s * np.eye(5)[j], x, model.bandwidth_) @ solved[:-1]
                 for s in (step, -step)]  # fmt: skip
        gradients[:, j] = (sides[0] - sides[1]) / (2 * step)
    expected = gradients.T @ gradients / 60
    assert_allclose(model.components_.T @ model.components_, expected, rtol=1e-6, atol=1e-8)
    assert_allclose(model.metric_.M, expected, rtol=1e-6, atol=1e-8)


def test_the_penalty_has_the_least_error_of_rows_left_out() -> None:
    x, y = friedman(40, 4)
    y = y + np.random.default_rng(1).standard_normal(40)
    w = np.random.default_rng(2).integers(1, 4, 40).astype(float)
    mean = w @ y / w.sum()
    y = (y - mean) / np.sqrt(w @ (y - mean) ** 2 / w.sum())
    model = sx.GradientOuterProductMetric().fit(x, y, w)

    def error(alpha: float) -> float:
        total = 0.0
        for i in range(40):
            rest = np.arange(40) != i
            gram = gaussian(x[rest], x[rest], model.bandwidth_)
            solved = solve(gram, y[rest], alpha, w[rest])
            fitted = gaussian(x[[i]], x[rest], model.bandwidth_) @ solved[:-1] + solved[-1]
            total += w[i] * (y[i] - fitted[0]) ** 2
        return total

    best = error(model.alpha_)
    assert all(error(model.alpha_ * factor) > best for factor in (10**-0.5, 10**0.5))


def test_the_fit_is_the_mean_of_a_process_without_offset() -> None:
    """Far more noise than signal aside, gradients agree with those of scikit-learn's process."""
    x = np.random.default_rng(0).uniform(-1, 1, (80, 3))
    y = np.sin(3 * x[:, 0])
    y = np.concatenate([y, -y])
    x = np.concatenate([x, -x])  # odd: the offset is zero
    model = sx.GradientOuterProductMetric(diagonal=True).fit(x, y / y.std())
    process = GaussianProcessRegressor(
        RBF(model.bandwidth_), alpha=model.alpha_, optimizer=None
    ).fit(x, y / y.std())
    step = 1e-5
    slopes = [(process.predict(x + step * e) - process.predict(x - step * e)) / (2 * step)
              for e in np.eye(3)]  # fmt: skip
    assert_allclose(
        np.abs(np.diagonal(model.components_)), np.sqrt(np.mean(np.square(slopes), axis=1)),
        rtol=1e-4, atol=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_neighbors_in_the_metric_predict_better(rounds: int) -> None:
    x, y = friedman(400)
    train, test = slice(0, 300), slice(300, 400)
    learned = sx.GradientOuterProductMetric(rounds=rounds).fit(x[train], y[train])
    plain = sx.KNeighborsRegressor(5).fit(x[train], y[train]).score(x[test], y[test])
    near = sx.KNeighborsRegressor(5, metric=learned.metric_).fit(x[train], y[train])
    assert near.score(x[test], y[test]) > plain + 0.1
    share, loadings = learned.directions(1)[0]
    assert share > 0.2
    assert all(abs(loadings[f"x{j}"]) < 0.2 for j in range(4, 8))


def test_text_is_classes_and_so_are_numbers_that_are_declared() -> None:
    x, kind = load_iris(return_X_y=True)
    named = sx.GradientOuterProductMetric().fit(x, np.array(["a", "b", "c"])[kind])
    declared = sx.GradientOuterProductMetric(target="classes").fit(x, kind)
    numbers = sx.GradientOuterProductMetric().fit(x, kind)
    assert named.target_ == declared.target_ == "classes"
    assert numbers.target_ == "numbers"
    assert not hasattr(numbers, "classes_")
    assert_allclose(named.components_, declared.components_)
    assert not np.allclose(numbers.metric_.M, declared.metric_.M)


def test_several_targets_add_up_in_their_standard_deviations() -> None:
    x, y = friedman(80, 4)
    both = np.column_stack([y, 1e9 * np.sin(5 * x[:, 1])])
    together = sx.GradientOuterProductMetric().fit(x, both)
    again = sx.GradientOuterProductMetric().fit(x, both * [1e3, 1e-9] + [1.0, 2.0])
    assert_allclose(together.metric_.M, again.metric_.M, rtol=1e-6)


def test_diagonal_and_low_rank_are_parts_of_the_full_metric() -> None:
    x, y = friedman(100, 6)
    full = sx.GradientOuterProductMetric().fit(x, y).metric_.M
    diagonal = sx.GradientOuterProductMetric(diagonal=True).fit(x, y)
    assert_allclose(diagonal.metric_.M, np.diag(np.diagonal(full)), rtol=1e-9, atol=1e-12)
    few = sx.GradientOuterProductMetric(2, diagonal=True).fit(x, y)
    largest = np.sort(np.argsort(np.diagonal(full))[-2:])
    assert np.flatnonzero(few.components_.any(axis=0)).tolist() == largest.tolist()
    values, vectors = np.linalg.eigh(full)
    low = sx.GradientOuterProductMetric(2).fit(x, y)
    best = (vectors[:, -2:] * values[-2:]) @ vectors[:, -2:].T
    assert_allclose(low.metric_.M, best, rtol=1e-8, atol=1e-10)


def test_a_sample_of_many_rows_finds_the_same_columns() -> None:
    x, y = friedman(3000)
    model = sx.GradientOuterProductMetric(max_samples=300).fit(x, y)
    influence = np.diagonal(model.metric_.M)
    assert influence[:4].min() > 5 * influence[4:].max()


def test_targets_without_differences_are_refused() -> None:
    x, _ = friedman(20)
    with pytest.raises(sx.InputError, match="does not vary"):
        sx.GradientOuterProductMetric().fit(x, np.ones(20))
    with pytest.raises(sx.InputError, match="class"):
        sx.GradientOuterProductMetric(target="classes").fit(x, np.ones(20))
    with pytest.raises(sx.InputError, match="All rows are equal"):
        sx.GradientOuterProductMetric().fit(np.ones((20, 2)), np.arange(20.0))
    with pytest.raises(sx.InputError, match="rounds=0"):
        sx.GradientOuterProductMetric(rounds=0).fit(x, np.arange(20.0))
    with pytest.raises(sx.InputError, match="mean target of rows that differ"):
        sx.GradientOuterProductMetric().fit(np.repeat(x[:2], 2, axis=0), [0.0, 1.0, 0.0, 1.0])


def test_degenerate_tables_have_a_certified_fit() -> None:
    x, y = friedman(60, 3 + 1)
    far = np.concatenate([x, [[1e9, 0.0, 0.0, 0.0]]])
    for points, target in ((x[:2], y[:2]), (far, np.append(y, 1.0)), (x[:5].repeat(9, 1), y[:5])):
        model = sx.GradientOuterProductMetric().fit(points, target)
        assert np.isfinite(model.components_).all()
        assert model.certificate_.holds, str(model.certificate_)
