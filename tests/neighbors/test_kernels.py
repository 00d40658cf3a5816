"""Kernel smoothers whose weights are the values of a kernel, against sums written out."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from tests.registry.kernels import conjunctions, graphs, sets, texts, trees

KERNELS = [
    (sx.Spectrum(1), texts),
    (sx.Subsequence(2, 0.5).normalized(), texts),
    (sx.Jaccard(), sets),
    (sx.TreeKernel(0.5), trees),
    (sx.GraphKernel(1), graphs),
    (sx.TermKernel(2), conjunctions),
]


@pytest.mark.parametrize(("kernel", "items"), KERNELS, ids=lambda v: getattr(v, "__name__", str(v)))
def test_weights_are_kernel_values(kernel, items, tmp_path) -> None:
    rng = np.random.default_rng(0)
    x, y = items(rng, 30), rng.standard_normal(30)
    w = rng.integers(0, 4, 30).astype(float)
    values = kernel.gram(x) * w
    values[values.max(axis=1) == 0.0] = w
    expected = values @ y / values.sum(axis=1)
    model = sx.NadarayaWatson(kernel=kernel).fit(x, y, w)
    assert model.predict(x) == pytest.approx(expected, rel=1e-12)
    labels = np.where(y > 0.0, "up", "down")
    votes = sx.KernelVoteClassifier(kernel=kernel).fit(x, labels, w)
    share = values @ (y > 0.0) / values.sum(axis=1)
    assert votes.predict_proba(x)[:, 1] == pytest.approx(share, rel=1e-12, abs=1e-15)
    sx.save(votes, tmp_path / "model.sx")
    assert (sx.load(tmp_path / "model.sx").predict(x) == votes.predict(x)).all()


def test_a_gaussian_kernel_gives_gaussian_weights() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((40, 2)), rng.standard_normal((40, 2))
    given = sx.NadarayaWatson(kernel=sx.Gaussian(0.8)).fit(x, y)
    assert given.predict(x) == pytest.approx(sx.NadarayaWatson(0.8).fit(x, y).predict(x), rel=1e-12)
    far = np.full((1, 2), 1e6)  # all weights vanish: the mean of all rows
    assert given.predict(far)[0] == pytest.approx(y.mean(axis=0))


def test_what_gives_no_weights_is_refused() -> None:
    x, y = [[-1.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    with pytest.raises(sx.InputError, match="below zero"):
        sx.NadarayaWatson(kernel=sx.Linear()).fit(x, y).predict(x)
    for parameters in ({"bandwidth": 1.0}, {"metric": "manhattan"}):
        with pytest.raises(sx.InputError, match="would not be used"):
            sx.NadarayaWatson(kernel=sx.Gaussian(1.0), **parameters).fit(x, y)
    with pytest.raises(sx.InputError, match="not a kernel object"):
        sx.KernelVoteClassifier(kernel="rbf").fit(x, list("aab"))
