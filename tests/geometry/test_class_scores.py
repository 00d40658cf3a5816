"""Quadratic scores by the compiled loop and by matrix products, against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.special import log_softmax as reference_log
from scipy.special import softmax as reference

from separatrix.geometry import class_scores
from separatrix.geometry.class_scores import QuadraticScores, log_softmax, softmax


@pytest.mark.parametrize(("n", "d", "r", "k"), [(300, 7, 7, 3), (128, 4, 2, 5), (1, 9, 6, 2)])
@pytest.mark.parametrize("triangular", [True, False])
def test_quadratic_scores_equal_their_definition(n, d, r, k, triangular, monkeypatch):
    rng = np.random.default_rng(d)
    maps = rng.standard_normal((k, d, r))
    if triangular:
        maps = np.triu(maps)
    model = QuadraticScores(
        rng.standard_normal(d), maps, rng.standard_normal((k, r)), rng.standard_normal(k)
    )
    x = rng.standard_normal((n, d))
    z = np.einsum("nd,kdr->nkr", x - model.center, maps) - model.means
    expected = model.offset - 0.5 * (z**2).sum(axis=2)
    for many in (1, 10**12):
        monkeypatch.setattr(class_scores, "MIN_PARALLEL_WORK", many)
        for rows in (x, np.asfortranarray(x), sparse.csr_array(x)):
            assert_allclose(model.score(rows), expected, rtol=1e-11, atol=1e-11)
        p = model.score(x, softmax)
        assert_allclose(p, reference(expected, axis=1), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_softmax_of_scores_of_any_size(k):
    rng = np.random.default_rng(k)
    scores = 1e4 * rng.standard_normal((50, k))
    scores[0], scores[1, 1:] = 0.0, -np.inf
    p = softmax(scores.copy())
    assert_allclose(p, reference(scores, axis=1), rtol=1e-12, atol=0.0)
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-13)
    assert_allclose(log_softmax(scores.copy()), reference_log(scores, axis=1), rtol=1e-12)
