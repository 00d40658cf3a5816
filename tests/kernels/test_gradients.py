"""Gradients of kernel expansions against finite differences, and what their outer product shows."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.kernels.gradients import expansion_gradients

KERNELS = [
    sx.Gaussian(1.2),
    sx.Gaussian((1.0, 2.0, 0.5)),
    sx.Laplace((1.0, 2.0, 3.0), 1.4),
    2.0 * sx.Matern(1.5, 1.5) + sx.Linear() + sx.Constant(3.0),
    sx.Fixed(sx.RationalQuadratic(1.0, 0.7)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradients_are_those_of_finite_differences(kernel) -> None:
    rng = np.random.default_rng(0)
    x, z, a = (rng.standard_normal(shape) for shape in ((30, 3), (17, 3), (17, 2)))
    h = 1e-6
    steps = [
        (kernel.gram(x + h * e, z) @ a - kernel.gram(x - h * e, z) @ a) / (2 * h) for e in np.eye(3)
    ]
    assert np.allclose(expansion_gradients(kernel, z, a, x), np.stack(steps, 1), atol=1e-7)


def test_far_from_the_origin_no_digits_are_lost_and_weights_are_repeats() -> None:
    rng = np.random.default_rng(1)
    x, a = rng.standard_normal((40, 3)), rng.standard_normal(40)
    w = rng.integers(1, 4, 40)
    near = sx.average_gradient_outer_product(sx.Laplace(2.0), x, a, x, w)
    far = sx.average_gradient_outer_product(sx.Laplace(2.0), x + 1e6, a, x + 1e6, w)
    assert np.allclose(near, far, rtol=1e-7)
    repeated = sx.average_gradient_outer_product(sx.Laplace(2.0), x, a, np.repeat(x, w, axis=0))
    assert np.allclose(near, repeated, rtol=1e-12)


def test_kernels_without_known_gradients_are_refused() -> None:
    x = np.zeros((2, 2))
    for kernel in (sx.Laplace(1.0, norm=1), sx.Polynomial(2), sx.Gaussian(1.0) * sx.Linear()):
        with pytest.raises(sx.InputError, match="Gradients of"):
            sx.average_gradient_outer_product(kernel, x, np.ones(2), x)


def test_exponents_that_are_not_mercer_are_refused() -> None:
    for exponent, norm in ((2.1, 2), (1.1, 1), (0.0, 2)):
        with pytest.raises(sx.InputError, match="exponent of a Laplace kernel"):
            sx.Laplace(1.0, exponent, norm)
    with pytest.raises(sx.InputError, match="norm"):
        sx.Laplace(1.0, norm=3)
