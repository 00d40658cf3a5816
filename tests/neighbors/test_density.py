"""Kernel densities against scikit-learn and definitions; bandwidths against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate
from sklearn.neighbors import KernelDensity as TheirDensity

import separatrix as sx
from separatrix.neighbors.density import KERNELS, draw_steps, log_normalization

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(40, 3)), 1.5 * RNG.normal(size=(15, 3))
W = RNG.integers(1, 4, 40).astype(float)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("h", [0.7, 2.0])
def test_densities_are_those_of_scikit_learn(kernel: str, h: float) -> None:
    options = {"bandwidth": h, "kernel": kernel, "metric": "manhattan"}
    for weights in (None, W):
        own = sx.KernelDensity(**options).fit(X, sample_weight=weights).score_samples(NEW)
        theirs = TheirDensity(**options).fit(X, sample_weight=weights).score_samples(NEW)
        assert_allclose(own, theirs, rtol=1e-10)


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_bandwidths_by_rule_are_those_of_scikit_learn(rule: str) -> None:
    theirs = TheirDensity(bandwidth=rule).fit(X).bandwidth_
    assert_allclose(sx.KernelDensity(bandwidth=rule).fit(X).bandwidth_, theirs)


@pytest.mark.parametrize("kernel", ["gaussian", "tophat"])
def test_draws_are_those_of_scikit_learn(kernel: str) -> None:
    own = sx.KernelDensity(kernel=kernel).fit(X, sample_weight=W).sample(6, random_state=3)
    theirs = TheirDensity(kernel=kernel).fit(X, sample_weight=W).sample(6, random_state=3)
    assert_allclose(own, theirs)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [1, 2, 7])
def test_steps_have_the_lengths_of_their_kernel(kernel: str, d: int) -> None:
    """The mean length is ∫ r K(r) rᵈ⁻¹ dr / ∫ K(r) rᵈ⁻¹ dr, and K has the integral c."""
    values = {
        "gaussian": lambda r: np.exp(-r * r / 2),
        "exponential": lambda r: np.exp(-r),
        "tophat": lambda r: 1.0,
        "epanechnikov": lambda r: 1 - r * r,
        "linear": lambda r: 1 - r,
        "cosine": lambda r: np.cos(np.pi * r / 2),
    }
    end = 60.0 if kernel in ("gaussian", "exponential") else 1.0

    def moment(power: int) -> float:
        return integrate.quad(lambda r: values[kernel](r) * r ** (d - 1 + power), 0, end)[0]

    steps = draw_steps(kernel, (20_000, d), np.random.RandomState(0))
    lengths = np.linalg.norm(steps, axis=1)
    mean = moment(1) / moment(0)
    assert abs(lengths.mean() - mean) < 5 * lengths.std() / np.sqrt(20_000)
    surface = {1: 2.0, 2: 2 * np.pi, 7: 16 * np.pi**3 / 15}[d]
    assert_allclose(log_normalization(kernel, d), np.log(surface * moment(0)), atol=1e-8)


def left_out(x: np.ndarray, w: np.ndarray, h: float) -> float:
    """The log likelihood of rows left out, by its definition; rows differ."""
    total = 0.0
    for i in range(len(x)):
        others = np.arange(len(x)) != i
        values = np.exp(-((x[others] - x[i]) ** 2).sum(axis=1) / (2 * h * h))
        density = w[others] @ values / (2 * np.pi * h * h) ** (x.shape[1] / 2) / w[others].sum()
        total += w[i] * np.log(density)
    return total


def test_the_bandwidth_maximizes_the_likelihood_of_rows_left_out() -> None:
    model = sx.KernelDensity(bandwidth="likelihood").fit(X, sample_weight=W)
    grid = model.bandwidth_ * np.exp(np.linspace(-1.5, 1.5, 301))
    values = [left_out(X, W, h) for h in grid]
    assert int(np.argmax(values)) == 150
    assert_allclose(model.bandwidth_search_.loss, -values[150] / W.sum(), rtol=1e-9)
    assert model.certificate_.holds


def test_three_points_have_the_bandwidth_of_their_equation() -> None:
    """Of 0, 1 and 2: d/dh of 2 ln(e^(−1/2h²) + e^(−2/h²)) + ln 2e^(−1/2h²) − 3 ln h is zero."""
    h = sx.KernelDensity(bandwidth="likelihood").fit([[0.0], [1.0], [2.0]]).bandwidth_
    one, two = np.exp(-0.5 / h**2), np.exp(-2.0 / h**2)
    assert_allclose(2 * (one + 4 * two) / (one + two) + 1, 3 * h**2, rtol=1e-8)


def test_copies_are_left_out_with_a_row_and_count_as_its_weight() -> None:
    copies = sx.KernelDensity(bandwidth="likelihood").fit(np.repeat(X, W.astype(int), axis=0))
    weighted = sx.KernelDensity(bandwidth="likelihood").fit(X, sample_weight=W)
    assert_allclose(copies.bandwidth_, weighted.bandwidth_, rtol=1e-9)
    assert_allclose(copies.score_samples(NEW), weighted.score_samples(NEW), rtol=1e-9)


def test_many_rows_find_the_bandwidth_that_all_pairs_would(monkeypatch) -> None:
    x = np.random.default_rng(1).normal(size=(300, 2))
    whole = sx.KernelDensity(bandwidth="likelihood").fit(x)
    monkeypatch.setattr("separatrix.neighbors.density.STORED_DISTANCES", 300 * 100)
    some = sx.KernelDensity(bandwidth="likelihood").fit(x)
    assert_allclose(some.bandwidth_, whole.bandwidth_, rtol=1e-5)
    assert some.certificate_.holds


@pytest.mark.parametrize("kernel", KERNELS[2:])
def test_kernels_that_end_reach_every_row(kernel: str) -> None:
    model = sx.KernelDensity(bandwidth="likelihood", kernel=kernel).fit(X)
    assert np.isfinite(model.bandwidth_search_.loss)
    assert model.bandwidth_search_.loss <= np.nanmin(model.bandwidth_search_.losses) + 1e-9


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_units_move_densities_by_their_volume(scale: float) -> None:
    options = {"bandwidth": "likelihood", "standardize": True}
    units = np.array([scale, 1.0, 1.0])
    plain = sx.KernelDensity(**options).fit(X).score_samples(NEW)
    scaled = sx.KernelDensity(**options).fit(X * units).score_samples(NEW * units)
    assert_allclose(scaled + np.log(scale), plain, atol=1e-7)


def test_far_away_densities_have_their_logarithm() -> None:
    model = sx.KernelDensity(bandwidth=0.5).fit([[0.0], [1.0]])
    expected = -0.5 * (99.0 / 0.5) ** 2 - np.log(2 * 0.5 * np.sqrt(2 * np.pi))
    assert_allclose(model.score_samples([[100.0]]), expected)


def test_what_has_no_density_is_refused() -> None:
    with pytest.raises(sx.InputError, match="1 distinct row"):
        sx.KernelDensity(bandwidth="likelihood").fit([[1.0], [1.0]])
    with pytest.raises(sx.InputError, match="No column varies"):
        sx.KernelDensity(standardize=True).fit([[1.0], [1.0]])
    with pytest.raises(sx.InputError, match="compares objects"):
        sx.KernelDensity(metric="edit").fit([[1.0], [2.0]])
    with pytest.raises(sx.InputError, match="not a positive number"):
        sx.KernelDensity(bandwidth=0.0).fit([[1.0], [2.0]])


# -- classes ---------------------------------------------------------------------------------------


def classes() -> tuple[np.ndarray, np.ndarray]:
    y = np.repeat([0, 1, 2], 30)
    x = np.random.default_rng(2).normal(size=(90, 2)) * np.array([0.4, 1.0, 2.0])[y][:, None]
    return x + y[:, None], y


def test_classes_are_those_of_their_densities() -> None:
    x, y = classes()
    model = sx.ParzenClassifier(priors=[0.2, 0.3, 0.5]).fit(x, y)
    new, joint = x + 0.3, []
    for k in range(3):
        density = sx.KernelDensity(bandwidth="likelihood").fit(x[y == k])
        assert_allclose(density.bandwidth_, model.bandwidths_[k])
        joint.append(np.log([0.2, 0.3, 0.5][k]) + density.score_samples(new))
    p = np.exp(np.array(joint).T)
    assert_allclose(model.predict_proba(new), p / p.sum(axis=1, keepdims=True), rtol=1e-9)
    assert (np.diff(model.bandwidths_) > 0).all()


def test_one_bandwidth_for_all_maximizes_the_sum_of_likelihoods() -> None:
    x, y = classes()
    model = sx.ParzenClassifier("shared").fit(x, y)
    h = model.bandwidths_[0]
    values = [
        sum(left_out(x[y == k], np.ones(30), v) for k in range(3)) for v in (h, 0.99 * h, 1.01 * h)
    ]
    assert int(np.argmax(values)) == 0


def test_a_class_of_one_row_takes_the_bandwidth_of_the_others() -> None:
    x, y = classes()
    keep = np.concatenate([np.arange(60), [70]])
    model = sx.ParzenClassifier().fit(x[keep], y[keep])
    assert min(model.bandwidths_[:2]) <= model.bandwidths_[2] <= max(model.bandwidths_[:2])
    with pytest.raises(sx.InputError, match="one distinct row"):
        sx.ParzenClassifier().fit(x[[0, 40]], y[[0, 40]])


def test_rows_between_classes_are_rejected() -> None:
    x, y = classes()
    model = sx.RejectOption(sx.ParzenClassifier(), costs=0.2, reject_label=-1).fit(x, y)
    assert 0 < (model.predict(x) == -1).mean() < 0.6
