"""What every kernel and every expression of kernels must keep to."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import separatrix as sx
from separatrix.kernels import Kernel
from separatrix.kernels.base import derivative_products
from separatrix.kernels.mercer import lowest_eigenvalue
from separatrix.rows.schema import take_items
from separatrix.storage.container import decode, encode
from tests.registry.kernels import KERNELS, KernelRow


def each(rows: list[KernelRow]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=lambda row: str(row.kernel))


ALL = each(KERNELS)
MERCER = each([row for row in KERNELS if row.mercer])
#: Without kernels of negative hyperparameters, which have no logarithm and are never learned.
LEARNED = each([row for row in KERNELS if not np.isnan(row.kernel.theta).any()])
VECTORS = pytest.mark.parametrize(
    "row", [row for row in KERNELS if row.kernel.of_vectors], ids=lambda row: str(row.kernel)
)


def draw(row: KernelRow, n: int = 24, seed: int = 0):
    return row.items(np.random.default_rng(seed), n)


def close(a, b, tolerance: float = 1e-12) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    assert np.abs(a - b).max(initial=0.0) <= tolerance * (1.0 + np.abs(b).max(initial=0.0))


@VECTORS
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(row: KernelRow, bad: float) -> None:
    """On the diagonal as beside it: a Gram matrix never mixes a value with none."""
    x, kernel = draw(row, 5), row.kernel
    odd = x.copy()
    odd[2, 1] = bad
    for compute in (kernel.gram, kernel.diagonal, kernel.squared_distance, kernel.gradient):
        with pytest.raises(sx.InputError, match="row 3, column 'x1'"):
            compute(odd)
    for pair in ((x, odd), (odd, x)):
        with pytest.raises(sx.InputError, match="row 3, column 'x1'"):
            kernel.gram(*pair)


@ALL
def test_the_gram_matrix_is_exactly_symmetric(row: KernelRow) -> None:
    gram = row.kernel.gram(draw(row))
    assert (gram == gram.T).all()


@ALL
def test_the_gram_matrix_equals_the_block_of_all_with_all(row: KernelRow) -> None:
    x = draw(row)
    kernel = row.kernel.without_noise()
    assert row.noise == (kernel is not row.kernel)
    close(kernel.gram(x), row.kernel.gram(x, take_items(x, np.arange(len(x)))))
    close(row.kernel(x), row.kernel.gram(x))


@ALL
def test_arguments_may_be_exchanged(row: KernelRow) -> None:
    x, z = draw(row, 9, 1), draw(row, 7, 2)
    close(row.kernel.gram(x, z), row.kernel.gram(z, x).T)


@ALL
def test_the_diagonal_is_the_gram_matrix_diagonal(row: KernelRow) -> None:
    x = draw(row)
    close(row.kernel.diagonal(x), np.diagonal(row.kernel.gram(x)))


@ALL
def test_kernels_know_whether_they_are_mercer(row: KernelRow) -> None:
    assert row.kernel.mercer == row.mercer


@MERCER
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 30))
def test_mercer_kernels_have_no_negative_eigenvalue(row: KernelRow, seed: int, n: int) -> None:
    gram = row.kernel.gram(draw(row, n, seed))
    assert lowest_eigenvalue(gram) >= -1e-12 * n * max(1.0, np.abs(gram).max())


@pytest.mark.parametrize(
    "row", [row for row in KERNELS if not row.mercer], ids=lambda row: str(row.kernel)
)
def test_indefinite_kernels_show_it_on_some_data(row: KernelRow) -> None:
    lowest = min(lowest_eigenvalue(row.kernel.gram(draw(row, 20, seed))) for seed in range(5))
    assert lowest < -1e-3


@ALL
def test_prepared_rows_equal_the_matrix(row: KernelRow) -> None:
    x, z = draw(row, 11, 3), draw(row, 13, 4)
    prepared = row.kernel.prepare(z)
    whole = row.kernel.gram(x, z)
    assert len(prepared) == 13
    blocks = [prepared.rows(take_items(x, np.arange(a, min(a + 4, 11)))) for a in range(0, 11, 4)]
    close(np.vstack(blocks), whole)
    chosen = np.array([5, 0, 12, 5])
    close(prepared.take(chosen), row.kernel.gram(z)[chosen])
    close(prepared.diagonal, row.kernel.diagonal(z))
    close(prepared.subset(chosen).rows(x), whole[:, chosen])


@ALL
def test_rows_are_written_into_the_given_buffer(row: KernelRow) -> None:
    x, z = draw(row, 5, 5), draw(row, 6, 6)
    prepared = row.kernel.prepare(z)
    for out in (np.full((5, 6), np.nan), np.full((6, 5), np.nan).T, np.full((5, 6), np.nan, "f4")):
        assert prepared.rows(x, out) is out
        close(out, row.kernel.gram(x, z), 1e-12 if out.dtype == float else 1e-6)
        out[:] = np.nan
        assert prepared.take(np.arange(5), out) is out
        close(out, row.kernel.gram(z)[:5], 1e-12 if out.dtype == float else 1e-6)


@VECTORS
def test_single_precision_stays_single_and_close(row: KernelRow) -> None:
    x, z = draw(row, 30, 7), draw(row, 20, 8)
    single = row.kernel.gram(x.astype("f4"), z.astype("f4"))
    assert single.dtype == np.float32
    assert row.kernel.gram(x.astype("f4")).dtype == np.float32
    assert row.kernel.gram(x.astype("f4"), z).dtype == np.float64
    close(single, row.kernel.gram(x, z), 2e-5)


@VECTORS
def test_sparse_rows_give_the_same(row: KernelRow) -> None:
    from scipy import sparse

    x, z = draw(row, 30, 7), draw(row, 20, 8)
    x[np.abs(x) < 0.7] = 0.0
    for a in (sparse.csr_array(x), sparse.csc_matrix(x)):
        close(row.kernel.gram(a, sparse.csr_array(z)), row.kernel.gram(x, z))
        close(row.kernel.gram(a, z), row.kernel.gram(x, z))
        close(row.kernel.gram(a), row.kernel.gram(x))
        close(row.kernel.diagonal(a), row.kernel.diagonal(x))


@ALL
def test_gradients_are_derivatives_of_the_entries(row: KernelRow) -> None:
    x = draw(row, 12, 9)
    kernel, found = row.kernel, row.kernel.gradient(draw(row, 12, 9))
    continuous = {name: p for name, p in kernel.parameters.items() if p.continuous}
    assert list(found) == list(continuous)
    for name, parameter in continuous.items():
        h = 1e-5 * max(0.1, abs(parameter.value))
        up = kernel.replace(**{name: parameter.value + h}).gram(x)
        down = kernel.replace(**{name: parameter.value - h}).gram(x)
        close(found[name], (up - down) / (2 * h), 1e-7)


@LEARNED
def test_sums_of_derivatives_are_derivatives_of_sums(row: KernelRow) -> None:
    x, z, kernel = draw(row, 11, 9), draw(row, 7, 10), row.kernel
    rng = np.random.default_rng(18)
    q, r, s = rng.standard_normal((11, 11)), rng.standard_normal((11, 7)), rng.standard_normal(11)
    theta, finite = kernel.theta, np.isfinite(kernel.theta)
    # of a Gram matrix only the lower triangle of q is read
    symmetric = np.tril(q) + np.tril(q, -1).T

    def sums(values: np.ndarray) -> np.ndarray:
        k = kernel.with_theta(values)
        return np.array(
            [
                np.vdot(symmetric, k.gram(x)),
                np.vdot(r, k.gram(x, z)),
                s @ k.diagonal(x),
                s @ k.gram(x) @ s,
            ]
        )

    found = np.array(
        [
            kernel.gradient_sums(x, q),
            kernel.gradient_sums(x, r, z),
            kernel.diagonal_gradient_sums(x, s),
            s @ derivative_products(kernel.pairs(x), s[:, None])[:, :, 0],
        ]
    )
    assert found.shape == (4, len(theta)) == (4, len(kernel.theta_names))
    assert kernel.bounds.shape == (len(theta), 2)
    for k in np.flatnonzero(finite):
        step = 1e-5 * np.eye(len(theta))[k]
        close(found[:, k], (sums(theta + step) - sums(theta - step)) / 2e-5, 2e-7)


@ALL
def test_parameters_are_within_bounds_and_can_be_replaced(row: KernelRow) -> None:
    for name, parameter in row.kernel.parameters.items():
        assert parameter.low < parameter.high
        if row.mercer:
            assert parameter.low <= parameter.value <= parameter.high or parameter.value == 0.0
        other = row.kernel.replace(**{name: parameter.high})
        assert other.parameters[name].value == parameter.high
        assert {**other.parameters, name: parameter} == row.kernel.parameters
    assert row.kernel.replace() == row.kernel
    with pytest.raises(sx.InputError, match="no hyperparameter 'nonsense'"):
        row.kernel.replace(nonsense=1.0)


@ALL
def test_algebra_follows_the_entries(row: KernelRow) -> None:
    x, z = draw(row, 8, 10), draw(row, 6, 11)
    k: Kernel = row.kernel
    block = k.gram(x, z)
    close((k + k).gram(x, z), 2 * block)
    close((k * k).gram(x, z), block**2)
    close((3.0 * k).gram(x, z), 3 * block)
    close((k * 3).gram(x, z), 3 * block)
    small = 0.01 * k
    close(small.exp().gram(x, z), np.exp(0.01 * block))
    assert (k + k).of_vectors == k.of_vectors
    assert ((-1.0) * k).mercer is False


@MERCER
def test_normalized_entries_are_cosines(row: KernelRow) -> None:
    x, z = draw(row, 8, 12), draw(row, 6, 13)
    lengths = np.sqrt(np.outer(row.kernel.diagonal(x), row.kernel.diagonal(z)))
    expected = np.divide(
        row.kernel.gram(x, z), lengths, out=np.zeros_like(lengths), where=lengths > 0
    )
    close(sx.kernel_cosine(row.kernel, x, z), expected)
    assert np.abs(expected).max() <= 1.0 + 1e-9


@MERCER
def test_distances_in_feature_space(row: KernelRow) -> None:
    x, z = draw(row, 8, 14), draw(row, 6, 15)
    k = row.kernel
    square = k.diagonal(x)[:, None] - 2 * k.gram(x, z) + k.diagonal(z)[None, :]
    close(sx.kernel_distance(k, x, z) ** 2, np.maximum(square, 0.0), 1e-10)
    own = sx.kernel_distance(k, x)
    assert (np.diagonal(own) == 0.0).all()
    assert (own >= 0.0).all()
    # the straight way is the shortest
    assert (own[:, None, :] <= own[:, :, None] + own[None, :, :] + 1e-6).all()


@ALL
def test_expansions_survive_storage_without_pickle(row: KernelRow) -> None:
    x, z = draw(row, 5, 16), draw(row, 7, 17)
    weights = np.array([1.0, 0.0, -2.0, 0.5, 0.0, 3.0, 1.0])
    expansion = sx.KernelExpansion(row.kernel, z, weights, np.array([0.25]))
    tensors: dict = {}
    text = json.dumps(encode(expansion, tensors, "shape"))
    back = decode(json.loads(text), tensors)
    assert back.kernel == row.kernel
    assert len(back) == 5
    close(back.scores(x), expansion.scores(x), 0.0)
    close(expansion.scores(x)[:, 0], row.kernel.gram(x, z) @ weights + 0.25)


@ALL
def test_kernels_are_values(row: KernelRow) -> None:
    assert pickle.loads(pickle.dumps(row.kernel)) == row.kernel
    assert hash(row.kernel) == hash(row.kernel.replace())
