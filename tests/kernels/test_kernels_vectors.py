"""Kernels of rows of numbers against closed forms, scikit-learn and exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise
from sklearn.svm import SVC

import separatrix as sx
from separatrix.kernels import Custom, Precomputed, kernel_from


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((40, 5))


@pytest.fixture
def z() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((30, 5))


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_names_and_parameters_of_scikit_learn(x, z, gamma) -> None:
    value = {"scale": 1 / (5 * x.var()), "auto": 0.2}.get(gamma, gamma)
    expected = {
        "linear": pairwise.linear_kernel(x, z),
        "poly": pairwise.polynomial_kernel(x, z, degree=3, gamma=value, coef0=0.5),
        "rbf": pairwise.rbf_kernel(x, z, gamma=value),
        "sigmoid": pairwise.sigmoid_kernel(x, z, gamma=value, coef0=0.5),
    }
    for name, block in expected.items():
        kernel = kernel_from(name, gamma=gamma, degree=3, coef0=0.5, x=x)
        assert kernel.gram(x, z) == pytest.approx(block, rel=1e-12, abs=1e-13)


def test_scale_counts_the_zeros_of_sparse_rows(x) -> None:
    x[x < 0.5] = 0.0
    assert kernel_from("rbf", x=sparse.csr_array(x)).bandwidth == pytest.approx(
        kernel_from("rbf", x=x).bandwidth, rel=1e-14
    )
    assert kernel_from("rbf", x=np.ones((3, 2))) == sx.Gaussian(np.sqrt(0.5))


@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("name", ["rbf", "poly", "sigmoid"])
def test_scale_with_weights_equals_repeated_rows(x, name, sparse_rows) -> None:
    rows = np.where(x > 0.3, x + 5.0, 0.0)
    w = np.random.default_rng(2).integers(0, 4, len(rows))
    repeated = np.repeat(rows, w, axis=0)
    gamma = 1.0 / (rows.shape[1] * repeated.var())
    given = sparse.csr_array(rows) if sparse_rows else rows
    weighted = kernel_from(name, x=given, sample_weight=w.astype(float))
    expected = kernel_from(name, x=repeated, gamma=gamma)
    for key, parameter in weighted.parameters.items():
        assert parameter.value == pytest.approx(expected.parameters[key].value, rel=1e-12)
    unweighted = kernel_from(name, x=given)
    assert unweighted != weighted
    ones = kernel_from(name, x=given, sample_weight=np.ones(len(rows)))
    assert ones.parameters.keys() == unweighted.parameters.keys()
    for key, parameter in ones.parameters.items():
        assert parameter.value == pytest.approx(unweighted.parameters[key].value, rel=1e-12)


def test_any_kernel_serves_in_scikit_learn(x) -> None:
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    kernel = sx.Gaussian(1.2) + 0.5 * sx.Polynomial(2)
    ours = SVC(kernel=kernel, C=2.0).fit(x, y)
    theirs = SVC(kernel="precomputed", C=2.0).fit(kernel(x), y)
    assert ours.decision_function(x) == pytest.approx(theirs.decision_function(kernel(x)), abs=1e-6)


def test_functions_and_gram_matrices_as_kernels(x, z) -> None:
    kernel = kernel_from(pairwise.laplacian_kernel)
    assert isinstance(kernel, Custom)
    assert kernel.gram(x, z) == pytest.approx(pairwise.laplacian_kernel(x, z))
    assert kernel.diagonal(x) == pytest.approx(np.ones(40))
    gram = kernel.gram(x)
    given = kernel_from("precomputed")
    assert given == Precomputed()
    prepared = given.prepare(gram)
    assert (given.gram(gram) == gram).all()
    assert (prepared.rows(gram[:3]) == gram[:3]).all()
    assert (prepared.take([4, 2]) == gram[[4, 2]]).all()
    assert (prepared.subset([4, 2]).gram() == gram[np.ix_([4, 2], [4, 2])]).all()


def test_the_gaussian_by_factor_and_width() -> None:
    x = np.array([[0.0], [3.0]])
    assert sx.Gaussian.from_ab(1.0, 2.0) == sx.Gaussian(1.0)
    assert sx.Gaussian.from_ab(4.0, 5.0).gram(x)[0, 1] == pytest.approx(4 * np.exp(-9 / 5))
    near = sx.Gaussian.from_ab(4.0, 5.0).gram(np.array([[0.0], [1e-9]]))
    assert near == pytest.approx(np.full((2, 2), 4.0))


def test_the_quadratic_kernel_is_an_inner_product_of_squares_and_products() -> None:
    x = np.array([[2.0, 3.0], [-1.0, 4.0]])
    root = np.sqrt(2)
    without = sx.Polynomial(2, 0.0).feature_map(x)
    assert without[0] == pytest.approx([4.0, 9.0, root * 6.0])
    full = sx.Polynomial(2, 1.0).feature_map(x)
    assert full[0] == pytest.approx([4.0, 9.0, root * 6.0, root * 2.0, root * 3.0, 1.0])
    # by hand: (2·(−1) + 3·4)² = 100, and with the constant 11² = 121
    assert without[0] @ without[1] == pytest.approx(100.0)
    assert full[0] @ full[1] == pytest.approx(121.0)


@pytest.mark.parametrize(
    "kernel",
    [
        sx.Linear(),
        sx.Polynomial(1, 2.0),
        sx.Polynomial(3, 0.0, 0.5),
        sx.Polynomial(4, 2.0),
        sx.Polynomial(2, 1.0, 3.0),
    ],
    ids=str,
)
def test_explicit_maps_equal_their_kernels(kernel, x, z) -> None:
    x, z = x[:, :3], z[:, :3]
    assert kernel.feature_map(x) @ kernel.feature_map(z).T == pytest.approx(kernel.gram(x, z))


# -- digits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_the_gaussian_is_invariant_to_units_and_origin(x, z, unit) -> None:
    expected = np.exp(-0.5 * cdist(x, z, "sqeuclidean") / 1.3**2)
    for shift in (0.0, 1e3):
        found = sx.Gaussian(1.3 * unit).gram((x + shift) * unit, (z + shift) * unit)
        assert found == pytest.approx(expected, rel=1e-9)


def test_neighbors_far_from_the_mean_do_not_cancel() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((200, 3))
    x[:50] += 1e7
    x[50:60] -= 1e9
    expected = np.exp(-0.5 * cdist(x, x, "sqeuclidean"))
    np.testing.assert_allclose(sx.Gaussian(1.0).gram(x), expected, 1e-9, 1e-300)
    prepared = sx.Gaussian(1.0).prepare(x)
    found = prepared.take(np.arange(45, 65))
    np.testing.assert_allclose(found, expected[45:65], 1e-9, 1e-300)


def test_single_precision_with_one_wide_column() -> None:
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((300, 4)) * [1.0, 1.0, 1.0, 500.0]).astype(np.float32)
    expected = np.exp(-0.5 * cdist(x.astype(float), x.astype(float), "sqeuclidean"))
    assert np.abs(sx.Gaussian(1.0).gram(x) - expected).max() < 1e-4


@pytest.mark.parametrize(("dtype", "rel"), [(np.float64, 4e-15), (np.float32, 2e-6)])
def test_the_exponential_is_accurate_over_its_range(dtype, rel) -> None:
    lowest = 80.0 if dtype == np.float32 else 700.0
    t = np.linspace(0.0, np.sqrt(2 * lowest), 4001).astype(dtype)[:, None]
    found = sx.Gaussian(1.0).gram(t, np.zeros((1, 1), dtype))[:, 0]
    exact = np.exp(-0.5 * t[:, 0].astype(np.longdouble) ** 2)
    exponent = 0.5 * t[:, 0].astype(float) ** 2
    # the exponent itself is rounded once
    assert (np.abs(found - exact) <= rel * (1 + exponent) * exact).all()
    far = np.array([[40.0], [1e3], [1e20]], dtype=dtype)
    assert sx.Gaussian(1.0).gram(far, np.zeros((1, 1), dtype)).ravel() == pytest.approx(
        0, abs=1e-300
    )


def test_numbers_too_large_to_square_are_far_apart() -> None:
    x = np.array([[1e200, 0.0], [-1e200, 0.0], [1e200, 0.5], [0.0, 0.0]])
    gram = sx.Gaussian(1.0).gram(x)
    assert gram[0, 2] == pytest.approx(np.exp(-0.125))
    assert (gram[0, [1, 3]] == 0.0).all()


def test_near_points_have_exact_distances_in_feature_space() -> None:
    x = np.array([[0.0], [1e-9]])
    assert sx.kernel_distance(sx.Gaussian(1.0), x)[0, 1] == pytest.approx(1e-9, rel=1e-9)
    far = np.array([[1e9], [1e9 + 1.0]])
    assert sx.kernel_distance("linear", far)[0, 1] == 1.0
    assert sx.kernel_distance(sx.Gaussian(2.0), [[0.0], [1e6]])[0, 1] == pytest.approx(np.sqrt(2))


def test_distances_between_sparse_rows(x, z) -> None:
    x[x < 0.5] = 0.0
    a, b = sparse.csr_array(x), sparse.csr_array(z)
    for kernel in (sx.Linear(), sx.Gaussian(1.0)):
        own = sx.kernel_distance(kernel, a)
        assert (np.diagonal(own) == 0.0).all()
        np.testing.assert_allclose(own, sx.kernel_distance(kernel, x), atol=1e-6)
        found = sx.kernel_distance(kernel, a, b)
        np.testing.assert_allclose(found, sx.kernel_distance(kernel, x, z), atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 239, 240, 241, 700])
def test_tiles_and_threads_change_nothing(n) -> None:
    rng = np.random.default_rng(4)
    x, z = rng.standard_normal((n, 7)), rng.standard_normal((500, 7))
    for kernel in (sx.Gaussian(2.0), sx.Polynomial(3), sx.Linear()):
        whole = kernel.gram(x, z)
        parts = np.vstack([kernel.prepare(z).rows(x[a : a + 40]) for a in range(0, n, 40)])
        np.testing.assert_allclose(whole, parts, rtol=1e-11, atol=1e-12)
        square = kernel.gram(x)
        assert (square == square.T).all()
        np.testing.assert_allclose(square, kernel.gram(x, x.copy()), 1e-11, 1e-12)
    assert (np.diagonal(sx.Gaussian(2.0).gram(x)) == 1.0).all()


def test_no_rows_give_an_empty_block(x) -> None:
    for kernel in (sx.Linear(), sx.Gaussian(1.0), sx.Sigmoid() + sx.Linear()):
        assert kernel.gram(x[:0], x).shape == (0, 40)
        assert kernel.gram(x, x[:0]).shape == (40, 0)


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sx.Gaussian(0.0), "bandwidth"),
        (lambda: sx.Gaussian(np.nan), "bandwidth"),
        (lambda: sx.Gaussian.from_ab(1.0, -1.0), "Take b > 0"),
        (lambda: sx.Polynomial(2.5), "positive integer"),
        (lambda: sx.Polynomial(0), "positive integer"),
        (lambda: sx.Polynomial(2, -1.0).feature_map([[1.0]]), "no feature map"),
        (lambda: kernel_from("rbg"), "Did you mean 'rbf'"),
        (lambda: kernel_from("rbf", gamma=-1.0), "above zero"),
        (lambda: kernel_from("rbf", gamma="wide"), "scale"),
        (lambda: kernel_from("rbf"), "none are given"),
        (lambda: sx.Linear() + sx.Spectrum(2), "same kind of items"),
        (lambda: sx.Linear().gram([1.0, 2.0]), "matrix"),
        (lambda: sx.Linear().gram(["a", "b"]), "not rows of numbers"),
        (lambda: sx.Linear().gram([[1.0]], [[1.0, 2.0]]), "equal length"),
        (lambda: sx.Linear().prepare(np.eye(2)).rows(np.eye(2), np.empty((3, 2))), "write to"),
        (lambda: sx.Precomputed().gram(np.ones((2, 3))), "square"),
        (lambda: sx.Precomputed().prepare(np.eye(3)).rows(np.ones((2, 2))), "one column"),
        (lambda: Custom(lambda x, z: 1.0).gram(np.eye(2)), "every pair"),
    ],
)
def test_invalid_arguments_are_refused(make, message) -> None:
    with pytest.raises(sx.InputError, match=message):
        make()


def test_names_of_hyperparameters_are_unique() -> None:
    kernel = sx.Gaussian(1.0) + 2.0 * sx.Gaussian(3.0) * sx.Polynomial(2)
    names = ["bandwidth_1", "factor", "bandwidth_2", "degree", "constant", "scale"]
    assert list(kernel.parameters) == names
    moved = kernel.replace(bandwidth_2=9.0)
    assert [p.value for p in moved.parameters.values()] == [1.0, 2.0, 9.0, 2, 1.0, 1.0]
    assert sum([sx.Linear(), sx.Gaussian(1.0)]) == sx.Linear() + sx.Gaussian(1.0)
    assert sx.Gaussian(1.0) + sx.Linear() + sx.Linear() == sx.Gaussian(1.0) + (
        sx.Linear() + sx.Linear()
    )
