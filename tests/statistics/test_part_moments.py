"""Moments by part from the compiled loop, against NumPy's covariance of the rows of each part."""

import numpy as np
import pytest

from separatrix.rows.rows import ArrayRows
from separatrix.statistics.moments import MIN_VALUES, Grouped, Moments, moments_by_part


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_of_every_part(order, weighted):
    rng = np.random.default_rng(0)
    n, d = MIN_VALUES // 5, 6
    x = np.asarray(rng.standard_normal((n, d)) + 1e3, order=order)
    y, labels = rng.standard_normal((n, 1)), rng.integers(-1, 4, n)
    w = rng.integers(0, 3, n).astype(float) if weighted else None
    rows = ArrayRows(x, y, w).with_parts(labels)
    found = rows.reduce(Grouped(Moments())).parts
    assert moments_by_part(rows.block) is not None
    assert sorted(found) == [-1, 0, 1, 2, 3]
    for part, m in found.items():
        here = labels == part
        z, f = np.hstack([x, y])[here], None if w is None else w[here].astype(int)
        total = here.sum() if f is None else f.sum()
        assert m.weight == total
        assert m.count == (here.sum() if f is None else (f > 0).sum())
        np.testing.assert_allclose(m.mean, np.average(z, axis=0, weights=f), rtol=1e-12)
        expected = np.cov(z.T, fweights=f, bias=True)
        np.testing.assert_allclose(m.scatter / total, expected, rtol=1e-9, atol=1e-10)


def test_small_blocks_and_read_only_columns():
    rng = np.random.default_rng(1)
    x, labels = rng.standard_normal((30, 3)), rng.integers(0, 2, 30)
    rows = ArrayRows(x, x[:, :1].copy(), None).with_parts(labels)
    assert moments_by_part(rows.block) is None
    large = rng.standard_normal((MIN_VALUES, 2))[:, ::-1]
    large.flags.writeable = False
    rows = ArrayRows(large, np.zeros((MIN_VALUES, 1)), None)
    parts = rows.with_parts(np.arange(MIN_VALUES) % 2).reduce(Grouped(Moments())).parts
    np.testing.assert_allclose(parts[1].x_mean, large[1::2].mean(axis=0), atol=1e-14)
