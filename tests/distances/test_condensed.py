"""Distances in condensed form, against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

import separatrix as sx
from separatrix.distances.metrics import as_square


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_as_scipy(n: int) -> None:
    v = pdist(np.random.default_rng(n).normal(size=(n, 3)))
    np.testing.assert_array_equal(as_square(v), squareform(v) if n > 1 else [[0.0]])


def test_what_is_not_condensed_stays_and_wrong_lengths_are_refused() -> None:
    square = np.zeros((3, 3))
    assert as_square(square) is square
    assert as_square(["ab", "cd"]) == ["ab", "cd"]
    with pytest.raises(sx.InputError, match=r"4 distances in a vector belong to no number"):
        as_square([1.0, 2.0, 3.0, 4.0])


def test_condensed_distances_are_precomputed_distances() -> None:
    x = np.random.default_rng(0).normal(size=(12, 2))
    v, d = pdist(x), squareform(pdist(x))
    assert sx.medoid(v, "precomputed").index == sx.medoid(x).index
    assert sx.metric_axioms("precomputed", v).is_metric
    concentration = [sx.distance_concentration(given, "precomputed").spread for given in (v, d)]
    assert concentration[0] == concentration[1]
