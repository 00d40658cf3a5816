"""Losses against their definitions: finite differences, and Fenchel–Young by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from separatrix.messages import InputError
from separatrix.optimize.convex import EpsilonInsensitive, Hinge, Huber, Squared, SquaredHinge
from tests.registry import LOSSES

NUMBERS = st.floats(-50, 50, allow_nan=False)
each_loss = pytest.mark.parametrize("loss", [*LOSSES, Hinge(), SquaredHinge()], ids=repr)
each_even_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def kinks(loss) -> list[float]:
    if isinstance(loss, Squared):
        return []
    return [1.0] if isinstance(loss, Hinge | SquaredHinge) else [-loss.epsilon, loss.epsilon]


@each_loss
def test_gradient_is_the_finite_difference(loss):
    z, h = np.linspace(-4.0, 4.0, 333), 1e-5
    for kink in kinks(loss):
        z = z[np.abs(z - kink) > 1e-3]
    value = (loss.value(z + h) - loss.value(z - h)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(z), value, atol=1e-8)
    if hasattr(loss, "second_derivative"):
        gradient = (loss.gradient(z + h) - loss.gradient(z - h)) / (2 * h)
        np.testing.assert_allclose(loss.second_derivative(z), gradient, atol=1e-8)


@each_loss
@given(z=NUMBERS, u=st.floats(-2, 2))
def test_excess_is_the_fenchel_young_difference(loss, z, u):
    z, u = np.array([z]), np.array([u])
    excess = loss.excess(z, u)
    assert (excess >= 0.0).all()
    np.testing.assert_allclose(excess, loss.value(z) + loss.conjugate(u) - u * z, atol=1e-9)


@each_loss
@given(z=NUMBERS)
def test_excess_and_violation_vanish_at_the_gradient(loss, z):
    z = np.array([z])
    u = loss.gradient(z)
    np.testing.assert_allclose(loss.excess(z, u), 0.0, atol=1e-14)
    np.testing.assert_allclose(loss.violation(z, u, 1.0), 0.0, atol=1e-14)


@each_loss
@given(z=st.floats(-3, 3), u=st.floats(-2, 2), unit=st.sampled_from([0.1, 1.0, 10.0]))
def test_violation_is_the_distance_to_the_graph_of_the_subdifferential(loss, z, u, unit):
    grid = np.linspace(-8.0, 8.0, 4001)
    for kink in kinks(loss):
        grid = np.append(grid, kink)
    grid = np.sort(grid)
    if hasattr(loss, "second_derivative") or isinstance(loss, Squared):  # measured along u
        brute = abs(float(loss.gradient(np.array([z]))[0]) - u) / unit
    else:
        gradient = loss.gradient(grid)
        steps = [
            np.maximum(np.abs(grid - z) / unit, np.maximum(np.maximum(low - u, u - high), 0.0))
            for low, high in (
                (gradient, gradient),
                (gradient, np.append(gradient[1:], gradient[-1])),
            )
        ]
        brute = float(np.min(steps))
    found = loss.violation(np.array([z]), np.array([u]), unit)[0]
    assert found == pytest.approx(brute, abs=0.005 / unit)


@each_loss
def test_conjugate_is_the_largest_difference(loss):
    """ℓ* by brute force on a grid, inside its domain."""
    grid = np.linspace(-30, 30, 200_001)
    for u in (-0.15, 0.0, 0.1, 0.19):
        if isinstance(loss, Hinge | SquaredHinge) and u > 0:
            assert loss.conjugate(np.array([u]))[0] == np.inf
            continue
        brute = np.max(u * grid - loss.value(grid))
        assert loss.conjugate(np.array([u]))[0] == pytest.approx(brute, abs=1e-4)


@each_even_loss
def test_even_convex_and_zero_at_zero(loss):
    z = np.linspace(0, 5, 101)
    np.testing.assert_array_equal(loss.value(z), loss.value(-z))
    assert loss.value(np.zeros(1))[0] == 0.0
    assert (np.diff(loss.gradient(np.concatenate([-z[::-1], z]))) >= 0).all()


def test_huber_lies_between_parabola_and_cone():
    z = np.linspace(-5, 5, 101)
    huber = Huber(1.0)
    assert (huber.value(z) <= Squared().value(z) + 1e-15).all()
    np.testing.assert_allclose(huber.value(z)[np.abs(z) > 1], np.abs(z)[np.abs(z) > 1] - 0.5)


def test_widths_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="epsilon"):
        Huber(0.0)
    with pytest.raises(InputError, match="epsilon"):
        EpsilonInsensitive(-1.0)
