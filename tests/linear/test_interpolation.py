"""The interpolating polynomial against exact fractions, SciPy and known Lebesgue constants."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import BarycentricInterpolator

import separatrix as sx

Interpolation = sx.PolynomialInterpolation


def exact(x, y, at) -> float:
    """Lagrange's formula in fractions."""
    x, at, total = [Fraction(v) for v in x], Fraction(at), Fraction(0)
    for j, value in enumerate(y):
        term = Fraction(value)
        for k in range(len(x)):
            if k != j:
                term *= (at - x[k]) / (x[j] - x[k])
        total += term
    return float(total)


@settings(max_examples=60, deadline=None)
@given(
    x=st.lists(st.integers(-50, 50), min_size=1, max_size=7, unique=True),
    at=st.lists(st.floats(-80, 80), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
@pytest.mark.filterwarnings("ignore:SEP029")
def test_values_are_those_of_exact_arithmetic(x, at, seed) -> None:
    y = np.random.default_rng(seed).integers(-9, 9, len(x)).astype(float)
    model = Interpolation().fit(np.array(x, dtype=float)[:, None], y)
    expected = np.array([exact(x, y.tolist(), v) for v in at])
    size = [sum(abs(exact(x, np.eye(len(x))[j].tolist(), v)) for j in range(len(x))) for v in at]
    # an error of the last digit of each target, times how much it counts there
    error = np.abs(model.predict(np.array(at)[:, None]) - expected)
    assert (error <= 1e-13 * 10 * np.array(size)).all()


def test_scipy_agrees_between_many_points() -> None:
    x = Interpolation.chebyshev_points(400, -3.0, 5.0)
    y, new = np.cos(7 * x), np.random.default_rng(0).uniform(-3, 5, 200)
    model = Interpolation().fit(x, y)
    assert model.predict(new) == pytest.approx(np.cos(7 * new), abs=1e-12)
    nodes = BarycentricInterpolator(x[::8], y[::8], rng=np.random.default_rng(0))
    assert Interpolation().fit(x[::8], y[::8]).predict(new) == pytest.approx(nodes(new), abs=1e-12)
    assert model.derivative(new) == pytest.approx(-7 * np.sin(7 * new), abs=1e-8)
    assert model.derivative(new, 2) == pytest.approx(-49 * np.cos(7 * new), abs=1e-5)
    assert model.derivative(new, 0) == pytest.approx(model.predict(new))


def lebesgue_on_a_grid(x: np.ndarray) -> float:
    grid = np.linspace(x[0], x[-1], 20001)
    total = np.zeros_like(grid)
    for j in range(len(x)):
        others = np.delete(x, j)
        total += np.abs(np.prod((grid[:, None] - others) / (x[j] - others), axis=1))
    return float(total.max())


@pytest.mark.filterwarnings("ignore:SEP029")
@pytest.mark.parametrize(
    "x",
    [
        np.array([0.0, 1.0]),
        np.linspace(-1, 1, 12),
        Interpolation.chebyshev_points(9, 0.0, 1.0),
        np.sort(np.random.default_rng(3).uniform(0, 1, 8)),
    ],
    ids=["two", "spaced", "chebyshev", "random"],
)
def test_the_lebesgue_constant_is_the_largest_on_a_fine_grid(x) -> None:
    model = Interpolation().fit(x, np.arange(len(x)))
    expected = lebesgue_on_a_grid(x)
    assert expected * (1 - 1e-12) <= model.lebesgue_constant_ <= expected * (1 + 1e-5)
    # an error of one in every target, of the worst signs, is multiplied by just as much
    signs = np.sign([np.prod(model.lebesgue_point_ - np.delete(x, j)) for j in range(len(x))])
    weights = np.sign([np.prod(x[j] - np.delete(x, j)) for j in range(len(x))])
    worst = Interpolation().fit(x, signs * weights)
    value = abs(worst.predict([[model.lebesgue_point_]])[0])
    assert value == pytest.approx(model.lebesgue_constant_, rel=1e-6)


def test_equally_spaced_points_are_warned_about() -> None:
    x = np.linspace(0.0, 1.0, 30)
    with pytest.warns(sx.SeparatrixWarning, match="SEP029.*30 points"):
        model = Interpolation().fit(x, np.sin(x))
    assert model.certificate_.holds
    with pytest.warns(sx.SeparatrixWarning, match="is inf"):
        assert np.isinf(Interpolation().fit(np.arange(1100.0), np.ones(1100)).lebesgue_constant_)


def test_weights_that_are_wrong_are_not_certified() -> None:
    from separatrix.linear.interpolation import certificate

    x = Interpolation.chebyshev_points(20, -1.0, 1.0)
    model = Interpolation().fit(x, x)
    assert certificate(x, model.weights_, 1.0).holds
    for j in (0, 7):
        wrong = model.weights_.copy()
        wrong[j] *= 1 + 1e-9
        assert not certificate(x, wrong, 1.0).holds


def test_repeated_points_merge_or_are_refused() -> None:
    model = Interpolation().fit([[0.0], [-0.0], [2.0]], [1.0, 1.0 + 2e-16, 5.0])
    assert model.nodes_.tolist() == [0.0, 2.0]
    with pytest.raises(sx.InputError, match="x = 2 and different targets"):
        Interpolation().fit([[0.0], [2.0], [2.0]], [1.0, 5.0, 5.1])
    # a row of weight zero contradicts none
    weighted = Interpolation().fit([[0.0], [2.0], [2.0]], [1.0, 5.0, 9.0], sample_weight=[1, 2, 0])
    assert weighted.predict([[1.0]]).tolist() == [3.0]


def test_one_point_is_a_constant_and_constants_stay_so() -> None:
    assert Interpolation().fit([[3.0]], [7.0]).predict([[-1e9], [3.0]]).tolist() == [7.0, 7.0]
    x = Interpolation.chebyshev_points(40, 0.0, 1.0)
    model = Interpolation().fit(x, np.full(40, 0.1))
    assert model.predict([[0.5], [1e9], [-1e9]]).tolist() == [0.1] * 3
    assert model.derivative([[0.5]]).tolist() == [0.0]


def test_several_columns_and_too_many_points_are_refused() -> None:
    with pytest.raises(sx.InputError, match="takes one column"):
        Interpolation().fit([[0.0, 1.0], [1.0, 2.0]], [0.0, 1.0])
    with pytest.raises(sx.InputError, match="too many to interpolate"):
        Interpolation().fit(np.arange(3000.0)[:, None], np.zeros(3000))
