"""Losses against their definitions: slopes by finite differences, conjugates by Fenchel–Young."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.messages import InputError
from separatrix.optimize.losses import Absolute, EpsilonInsensitive, Huber, Squared
from tests.registry import LOSSES

NUMBERS = st.floats(-50, 50, allow_nan=False)
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def kinks(loss) -> list[float]:
    if isinstance(loss, Squared):
        return []
    width = 0.0 if isinstance(loss, Absolute) else loss.epsilon
    return [-width, width]


@each_loss
def test_slope_and_curvature_are_the_finite_differences(loss):
    r, h = np.linspace(-4.0, 4.0, 333), 1e-5
    for kink in kinks(loss):
        r = r[np.abs(r - kink) > 1e-3]
    value = (loss.value(r + h) - loss.value(r - h)) / (2 * h)
    slope = (loss.slope(r + h) - loss.slope(r - h)) / (2 * h)
    np.testing.assert_allclose(loss.slope(r), value, atol=1e-8)
    np.testing.assert_allclose(loss.curvature(r), slope, atol=1e-8)


@each_loss
@given(r=NUMBERS, u=NUMBERS)
def test_fenchel_young_inequality(loss, r, u):
    r, u = np.array([r]), np.array([u])
    assert (loss.value(r) + loss.conjugate(u) >= u * r - 1e-9).all()


@each_loss
@given(r=NUMBERS)
def test_fenchel_young_equality_at_the_slope(loss, r):
    r = np.array([r])
    u = loss.slope(r)
    np.testing.assert_allclose(loss.value(r) + loss.conjugate(u), u * r, atol=1e-9)


@each_loss
def test_conjugate_is_the_largest_difference(loss):
    """ℓ* by brute force on a grid, inside its domain."""
    grid = np.linspace(-30, 30, 200_001)
    for u in (-0.15, 0.0, 0.1, 0.19):
        brute = np.max(u * grid - loss.value(grid))
        assert loss.conjugate(np.array([u]))[0] == pytest.approx(brute, abs=1e-4)


@each_loss
def test_even_convex_and_zero_at_zero(loss):
    r = np.linspace(0, 5, 101)
    np.testing.assert_array_equal(loss.value(r), loss.value(-r))
    assert loss.value(np.zeros(1))[0] == 0.0
    assert (np.diff(loss.slope(np.concatenate([-r[::-1], r]))) >= 0).all()


def test_huber_lies_between_parabola_and_cone():
    r = np.linspace(-5, 5, 101)
    huber = Huber(1.0)
    assert (huber.value(r) <= Squared().value(r) + 1e-15).all()
    np.testing.assert_allclose(huber.value(r)[np.abs(r) > 1], np.abs(r)[np.abs(r) > 1] - 0.5)


def test_widths_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="epsilon"):
        Huber(0.0)
    with pytest.raises(InputError, match="epsilon"):
        EpsilonInsensitive(-1.0)
