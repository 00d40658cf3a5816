"""Kernels for processes: digits, units, noise, what is learned, and where learning starts."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy.special import gamma, kv

import separatrix as sx
from separatrix.kernels import natural_scales
from separatrix.kernels.base import gradient_sums
from separatrix.threads import thread_limit

SCALES = (0.7, 2.0, 1.3)


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    found = np.random.default_rng(0).standard_normal((260, 3)) + np.array([1e3, 0.0, -50.0])
    found[:60] = found[60:120]
    found[:60] += 1e-6 * np.random.default_rng(1).standard_normal((60, 3))
    return found


def exact_squares(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    differences = (x[:, None, :] - z[None, :, :]) / np.array(SCALES)
    return (differences.astype(np.longdouble) ** 2).sum(axis=2)


def matern(t: np.ndarray, nu: float) -> np.ndarray:
    safe = np.maximum(np.asarray(t, dtype=float), 1e-300)
    return np.where(t > 0, 2 ** (1 - nu) / gamma(nu) * safe**nu * kv(nu, safe), 1.0)


# -- digits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "value"),
    [
        (sx.Gaussian(SCALES), lambda s: np.exp(-s / 2)),
        (sx.Matern(SCALES, 0.5), lambda s: np.exp(-np.sqrt(s))),
        (sx.Matern(SCALES, 1.5), lambda s: (1 + np.sqrt(3 * s)) * np.exp(-np.sqrt(3 * s))),
        (
            sx.Matern(SCALES, 2.5),
            lambda s: (1 + np.sqrt(5 * s) + 5 * s / 3) * np.exp(-np.sqrt(5 * s)),
        ),
        (sx.Matern(SCALES, 0.9), lambda s: matern(np.sqrt(1.8 * s), 0.9)),
        (sx.RationalQuadratic(SCALES, 0.3), lambda s: (1 + s / 0.6) ** -np.longdouble(0.3)),
        (sx.RationalQuadratic(SCALES, 3e4), lambda s: np.exp(-3e4 * np.log1p(s / 6e4))),
    ],
    ids=["Gaussian", "1/2", "3/2", "5/2", "0.9", "quadratic", "nearly Gaussian"],
)
def test_values_from_differences_have_all_digits(kernel, value, x) -> None:
    exact = np.asarray(value(exact_squares(x, x)), dtype=float)
    np.testing.assert_allclose(kernel.gram(x), exact, rtol=1e-13)
    np.testing.assert_allclose(kernel.gram(x[:7], x), exact[:7], rtol=1e-13)
    np.testing.assert_allclose(kernel.prepare(x).rows(x[:7]), exact[:7], rtol=1e-13)
    weights = np.random.default_rng(2).standard_normal((len(x), 2))
    np.testing.assert_allclose(
        kernel.prepare(x).dot(x[:7], weights), exact[:7] @ weights, rtol=1e-10, atol=1e-11
    )


def test_the_periodic_kernel_over_many_periods() -> None:
    t = np.arange(0.0, 400.0, 0.37)[:, None]
    exact = np.exp(-2 * np.sin(np.pi * t[:, 0].astype(np.longdouble) / 1.7) ** 2 / 0.8**2)
    found = sx.Periodic(0.8, 1.7).gram(t, np.zeros((1, 1)))[:, 0]
    np.testing.assert_allclose(found, exact.astype(float), rtol=2e-12)
    assert sx.Periodic(0.8, 12.0).gram([[0.0]], [[12e6]])[0, 0] == 1.0


def test_wide_rows_have_all_digits_too() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((130, 70)) + 20.0
    x[:40] = x[40:80] + 1e-7 * rng.standard_normal((40, 70))
    squares = ((x[:, None].astype(np.longdouble) - x[None]) ** 2).sum(axis=2) / 81
    exact = np.exp(-squares / 2).astype(float)
    np.testing.assert_allclose(sx.Gaussian(9.0).gram(x), exact, rtol=1e-13)
    by_column = sx.Gaussian((9.0,) * 70)
    np.testing.assert_allclose(by_column.gram(x[:5], x), exact[:5], rtol=1e-13)
    q = rng.standard_normal((130, 130)) + np.eye(130)
    sums = [
        np.vdot(np.tril(q) + np.tril(q, -1).T, exact * d)
        for d in (x.T[:, :, None] - x.T[:, None]) ** 2
    ]
    np.testing.assert_allclose(by_column.gradient_sums(x, q), np.array(sums) / 81, rtol=1e-9)


def test_expressions_are_printed_as_they_are_written() -> None:
    kernel = (sx.Constant(2.0) + sx.Linear()) ** 2 * sx.Gaussian(1.5) + 0.5 * sx.White(0.1)
    assert str(kernel) == (
        "(Constant(constant=2.0) + Linear()) ** 2 * Gaussian(bandwidth=1.5)"
        " + 0.5 * White(variance=0.1)"
    )
    product = (sx.Linear() + sx.Gaussian(1.0)) * sx.Linear().normalized()
    assert (
        str(product.exp()) == "exp((Linear() + Gaussian(bandwidth=1.0)) * (Linear()).normalized())"
    )


@pytest.mark.parametrize("unit", [1e-8, 1e8])
def test_units_of_columns_change_bandwidths_only(unit, x) -> None:
    q = np.random.default_rng(4).standard_normal((len(x), len(x)))
    factors = np.array([unit, 1.0, 1.0 / unit])
    moved = tuple(np.array(SCALES) * factors)
    for make in (sx.Gaussian, sx.Matern, sx.RationalQuadratic):
        given, other = make(SCALES), make(moved)
        np.testing.assert_allclose(other.gram(x * factors), given.gram(x), rtol=1e-9)
        np.testing.assert_allclose(
            other.gradient_sums(x * factors, q), given.gradient_sums(x, q), rtol=1e-9, atol=1e-9
        )


def test_bandwidths_of_columns_are_columns_divided(x) -> None:
    scaled = x / np.array(SCALES)
    for kernel, one in (
        (sx.Gaussian(SCALES), sx.Gaussian(1.0)),
        (sx.Matern(SCALES, 2.5), sx.Matern(1.0, 2.5)),
    ):
        np.testing.assert_allclose(kernel.gram(x), one.gram(scaled), rtol=1e-11)
        single = kernel.gram(x.astype("f4") - x.mean(axis=0, dtype="f4"))
        np.testing.assert_allclose(single, kernel.gram(x), atol=1e-3)
    near = sx.kernel_distance(sx.Gaussian(SCALES), x[:1], x[60:61])
    assert near[0, 0] == pytest.approx(float(np.sqrt(exact_squares(x[:1], x[60:61]))[0, 0]), 1e-6)


def test_numbers_too_far_apart_to_square() -> None:
    x = np.array([[1e200], [-1e200], [0.0]])
    for kernel in (
        sx.Gaussian((1.0,)),
        sx.Matern(1.0, 0.5),
        sx.Matern(1.0, 1.5),
        sx.Matern(1.0, 2.5),
        sx.Matern(1.0, 0.7),
        sx.RationalQuadratic(1.0, 1.0),
    ):
        gram = kernel.gram(x)
        assert (np.abs(gram - np.eye(3)) < 1e-100).all()
        assert np.isfinite(kernel.gradient_sums(x, np.ones((3, 3)))).all()


# -- sums of derivatives ---------------------------------------------------------------------------

EXPRESSION = (
    sx.Constant(2.0) * sx.Gaussian(SCALES) + sx.Matern(SCALES) * sx.Linear() + sx.White(0.1)
)


def test_sums_are_the_same_bits_on_any_number_of_threads(x) -> None:
    q = np.random.default_rng(5).standard_normal((len(x), len(x)))
    found = EXPRESSION.gradient_sums(x, q), EXPRESSION.gram(x)
    with thread_limit(1):
        alone = EXPRESSION.gradient_sums(x, q), EXPRESSION.gram(x)
    assert (found[0] == alone[0]).all()
    assert (found[1] == alone[1]).all()


def test_sums_over_tiles_equal_those_over_whole_derivatives(x) -> None:
    rng, x = np.random.default_rng(6), x - x.mean(axis=0)
    q, r = rng.standard_normal((len(x), len(x))), rng.standard_normal((len(x), 150))
    for kernel in (EXPRESSION, (0.1 * EXPRESSION).exp(), sx.Polynomial(3).normalized() ** 2):
        whole = kernel.gradient(x)
        values = [p.value for p in kernel._continuous()]
        lower = np.tril(q) + np.tril(q, -1).T
        expected = [v * np.vdot(lower, d) for v, d in zip(values, whole.values(), strict=True)]
        np.testing.assert_allclose(kernel.gradient_sums(x, q), expected, rtol=1e-8)
        cross = gradient_sums(kernel.pairs(x, x[:150].copy()), r)
        blocks = [
            kernel.gradient_sums(x[a : a + 90], r[a : a + 90], x[:150].copy())
            for a in range(0, len(x), 90)
        ]
        np.testing.assert_allclose(cross, np.sum(blocks, axis=0), rtol=1e-8)


def test_a_table_given_twice_is_two_sets_of_rows(x) -> None:
    q = np.random.default_rng(9).standard_normal((len(x), len(x)))
    twice = EXPRESSION.gradient_sums(x, q, x)
    np.testing.assert_allclose(twice, EXPRESSION.gradient_sums(x, q, x.copy()), rtol=1e-12)
    assert twice[-1] == 0.0  # noise is not shared


def test_no_matrix_for_each_hyperparameter() -> None:
    rng = np.random.default_rng(7)
    x, q = rng.standard_normal((1500, 3)), rng.standard_normal((1500, 1500))
    EXPRESSION.gradient_sums(x, q)
    tracemalloc.start()
    EXPRESSION.gradient_sums(x, q)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.6 * q.nbytes


def test_empty_tables_have_no_derivatives(x) -> None:
    assert (EXPRESSION.gradient_sums(x[:0], np.empty((0, 0))) == 0.0).all()
    assert EXPRESSION.gradient_sums(x[:0], np.empty((0, 5)), x[:5]).shape == (8,)
    assert sx.Linear().gradient_sums(x, np.ones((len(x), len(x)))).shape == (0,)


# -- noise -----------------------------------------------------------------------------------------


def test_noise_is_on_the_diagonal_of_gram_matrices_only(x) -> None:
    kernel = 2.0 * sx.Gaussian(1.0) + 3.0 * sx.White(0.5) * sx.Constant(2.0)
    smooth = 2.0 * sx.Gaussian(1.0)
    assert kernel.without_noise() == smooth
    gram, prepared = kernel.gram(x), kernel.prepare(x)
    np.testing.assert_allclose(gram - smooth.gram(x), 3.0 * np.eye(len(x)), atol=1e-14)
    assert (kernel.gram(x, x.copy()) == smooth.gram(x, x.copy())).all()
    np.testing.assert_allclose(prepared.rows(x), smooth.gram(x), atol=1e-14)
    np.testing.assert_allclose(prepared.gram(), gram, atol=1e-14)
    np.testing.assert_allclose(prepared.take([4, 4, 0]), gram[[4, 4, 0]], atol=1e-13)
    np.testing.assert_allclose(prepared.subset([7, 3]).gram(), gram[np.ix_([7, 3], [7, 3])])
    assert kernel.diagonal(x) == pytest.approx(np.full(len(x), 5.0))
    assert not sx.White(1.0).without_noise().gram(x).any()
    assert (sx.White(1.0) * sx.Gaussian(1.0)).exp().without_noise() == sx.Constant(1.0)
    with pytest.raises(sx.InputError, match=r"after .normalized"):
        (sx.Gaussian(1.0) + sx.White(1.0)).normalized().without_noise()


def test_constants_and_noise_join_kernels_of_structures() -> None:
    texts = ["abab", "abba", "", "b"]
    kernel = sx.Constant(0.5) * sx.Spectrum(2) + sx.White(0.1) + sx.Constant(2.0)
    assert kernel.of_vectors is False
    expected = 0.5 * sx.Spectrum(2).gram(texts) + 0.1 * np.eye(4) + 2.0
    np.testing.assert_allclose(kernel.gram(texts), expected)
    graphs = [(["C", "O"], [(0, 1)]), (["C"], [])]
    with_graphs = sx.White(1.0) + sx.GraphKernel(1)
    np.testing.assert_allclose(with_graphs.gram(graphs) - np.eye(2), sx.GraphKernel(1).gram(graphs))
    with pytest.raises(sx.InputError, match="same kind"):
        sx.Constant(1.0) + sx.Spectrum(2) + sx.Gaussian(1.0)


# -- what is learned -------------------------------------------------------------------------------


def test_fixed_hyperparameters_stay() -> None:
    kernel = sx.Fixed(2.0 * sx.Gaussian(SCALES), ("bandwidth",)) + sx.Fixed(sx.White(0.1))
    assert kernel.theta_names == ["factor"]
    moved = kernel.with_theta([0.0])
    assert moved == sx.Fixed(1.0 * sx.Gaussian(SCALES), ("bandwidth",)) + sx.Fixed(sx.White(0.1))
    assert sx.Fixed(sx.Gaussian(SCALES), "bandwidth_2").theta_names == [
        "bandwidth_1",
        "bandwidth_2",
    ]
    with pytest.raises(sx.InputError, match="no hyperparameter 'width'"):
        sx.Fixed(sx.Gaussian(1.0), ("width",))


def test_bounds_are_carried_by_the_kernel() -> None:
    kernel = sx.Bounded(sx.Matern(SCALES), {"bandwidth": (0.1, 10.0)}) + sx.White(1.0)
    assert [p.bounded for p in kernel.parameters.values()] == [True, True, True, False]
    assert np.exp(kernel.bounds[0]) == pytest.approx([0.1, 10.0])
    assert kernel.with_theta(kernel.theta).theta == pytest.approx(kernel.theta)
    for low, high in ((2.0, 1.0), (0.0, 1.0)):
        with pytest.raises(sx.InputError, match="bounds of bandwidth"):
            sx.Bounded(sx.Gaussian(1.0), {"bandwidth": (low, high)})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sx.Gaussian((1.0, 0.0)), "bandwidth"),
        (lambda: sx.Gaussian(()), "no bandwidth"),
        (lambda: sx.Gaussian((1.0, 2.0)).gram(np.eye(3)), "2 bandwidths"),
        (lambda: sx.Matern(1.0, -1.0), "nu of"),
        (lambda: sx.RationalQuadratic(1.0, 0.0), "alpha"),
        (lambda: sx.Periodic(1.0, np.inf), "period"),
        (lambda: sx.White(0.0), "variance"),
        (lambda: sx.Constant(-1.0), "constant"),
        (lambda: sx.Linear() ** 0, "exponent"),
    ],
)
def test_invalid_arguments_are_refused(make, message) -> None:
    with pytest.raises(sx.InputError, match=message):
        make()


# -- starts ----------------------------------------------------------------------------------------

STARTED = [
    sx.Constant(1.0) * sx.Gaussian(SCALES) + sx.White(1.0),
    2.0 * sx.Matern(1.0) + 3.0 * sx.RationalQuadratic(SCALES) + sx.Fixed(sx.White(0.1)),
    1.0 * sx.Polynomial(2) + sx.Fixed(sx.Gaussian(1.0)) * sx.Constant(1.0),
]


@pytest.mark.parametrize("kernel", STARTED, ids=str)
def test_starts_follow_units_and_weights(kernel, x) -> None:
    rng = np.random.default_rng(8)
    w = rng.integers(0, 4, len(x)).astype(float)
    start = natural_scales(kernel, x, w, 4.0)
    repeated = natural_scales(kernel, np.repeat(x, w.astype(int), axis=0), None, 4.0)
    np.testing.assert_allclose(start.theta, repeated.theta, rtol=1e-9, atol=1e-9)
    moved = natural_scales(kernel, 1e8 * x, w, 4e-16)
    logs = {"bandwidth": 8.0, "constant": -16.0, "factor": -16.0, "variance": -16.0, "scale": -16.0}
    if "Polynomial" in str(kernel):
        logs["constant"] = 0.0  # of the polynomial, whose products are divided by their size
    for name, before, after in zip(start.theta_names, start.theta, moved.theta, strict=True):
        base = name.split("_")[0]
        if name != "constant_2":
            assert after - before == pytest.approx(np.log(10.0) * logs.get(base, 0.0), abs=1e-6)


def test_starts_have_the_variance_of_the_target(x) -> None:
    texts = ["abab", "abba", "bbb", "ab"]
    for kernel, items in ((STARTED[0].without_noise(), x), (3.0 * sx.Spectrum(1), texts)):
        assert natural_scales(kernel, items, None, 7.0).diagonal(items).mean() == pytest.approx(7.0)
    flat = natural_scales(sx.Constant(1.0) + sx.White(1.0), texts, None, 7.0)
    assert [p.value for p in flat.parameters.values()] == pytest.approx([7.0, 0.7])
    bounded = sx.Bounded(sx.White(0.1), {"variance": (1e-3, 1e-2)})
    assert natural_scales(bounded, x, None, 5.0).parameters["variance"].value == 1e-2


@pytest.mark.parametrize("rows", [np.ones((5, 3)), np.ones((1, 3)), np.full((4, 3), 1e8 + 0.1)])
def test_constant_columns_leave_bandwidths_alone(rows) -> None:
    started = natural_scales(STARTED[0], rows, None, 0.0)
    assert np.isfinite(started.theta).all()
    assert started.operands[0].operands[1] == sx.Gaussian(SCALES)
