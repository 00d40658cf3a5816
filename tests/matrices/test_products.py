"""Products of dense and sparse matrices against NumPy; their bits on any number of threads."""

import numpy as np
import pytest
from scipy import sparse

from separatrix import threads
from separatrix.matrices.products import Standardized, products


@pytest.fixture(params=["C", "F", "sparse"])
def case(request):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((900, 700)) * (rng.random((900, 700)) < 0.2)
    x = (
        sparse.csr_array(dense)
        if request.param == "sparse"
        else np.asarray(dense, order=request.param)
    )
    return rng, dense, products(x)


@pytest.mark.parametrize("k", [None, 3])
def test_products_are_those_of_the_dense_matrix(case, k):
    rng, dense, x = case
    center, scale = rng.standard_normal(700), 1.0 + rng.random(700)
    v, r = (rng.standard_normal((m,) if k is None else (m, k)) for m in (700, 900))
    w = rng.random(900)
    for made, z in ((x, dense), (Standardized(x, center, scale), (dense - center) / scale)):
        assert made.shape == (900, 700)
        np.testing.assert_allclose(made.times(v), z @ v, atol=1e-11)
        np.testing.assert_allclose(made.transposed_times(r), z.T @ r, atol=1e-11)
        np.testing.assert_allclose(made.weighted_squares(w), w @ z**2, rtol=1e-10)
        np.testing.assert_allclose(made.columns(np.array([5, 2])), z[:, [5, 2]], atol=1e-13)


def test_bits_do_not_depend_on_threads(case, monkeypatch):
    rng, _, x = case
    v, r = rng.standard_normal(700), rng.standard_normal((900, 2))
    found = []
    for count in (1, 4):
        monkeypatch.setattr(threads, "available_threads", lambda count=count: count)
        found.append((x.times(v), x.transposed_times(r)))
    for one, four in zip(*found, strict=True):
        assert one.tobytes() == four.tobytes()
