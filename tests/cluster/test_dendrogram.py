"""Dendrograms against SciPy on the same linkage tables."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

from separatrix.cluster.linkage import Dendrogram
from separatrix.messages import InputError
from tests.laws.data import same_partition

METHODS = ("single", "complete", "average", "centroid", "ward")
#: Two points 1 apart, a third over their middle: their mean is nearer to it than they are.
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])


def tree(method: str, n: int = 90, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).standard_normal((n, 2))
    return hierarchy.linkage(x, method)


@pytest.mark.parametrize("method", METHODS)
def test_leaves_and_cophenetic_distances_equal_scipy(method: str) -> None:
    table = tree(method)
    shape = Dendrogram(table)
    assert_array_equal(shape.leaves, hierarchy.leaves_list(table))
    assert_allclose(shape.cophenetic(), hierarchy.cophenet(table))
    assert_array_equal(shape.heights, table[:, 2])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.0, 0.2, 0.5, 1.0, 3.0, 100.0])
def test_cut_at_a_level_equals_scipy(method: str, level: float) -> None:
    """SciPy, too, keeps a merge apart if one inside it is higher."""
    table = tree(method)
    expected = hierarchy.fcluster(table, level, "distance")
    assert same_partition(Dendrogram(table).cut(level=level), expected)


@pytest.mark.parametrize("method", ["single", "complete", "average", "ward"])
@pytest.mark.parametrize("k", [1, 2, 7, 89, 90])
def test_cut_into_a_number_equals_scipy(method: str, k: int) -> None:
    table = tree(method)
    expected = hierarchy.fcluster(table, k, "maxclust")
    assert same_partition(Dendrogram(table).cut(k), expected)


@given(st.integers(1, 25), st.integers(0, 1000), st.sampled_from(METHODS))
@settings(max_examples=40, deadline=None)
def test_cuts_reach_every_number_of_clusters_and_nest(n: int, seed: int, method: str) -> None:
    """Also with ties, where a level cannot have every number."""
    x = np.random.default_rng(seed).integers(0, 3, (n, 2)).astype(float)
    table = hierarchy.linkage(pdist(x), method) if n > 1 else np.zeros((0, 4))
    shape = Dendrogram(table)
    finer = None
    for k in range(1, n + 1):
        labels = shape.cut(k)
        first = [int(np.flatnonzero(labels == j)[0]) for j in range(k)]
        assert sorted(set(labels)) == list(range(k))
        assert first == sorted(first)
        if finer is not None:
            assert len(set(zip(labels, finer, strict=True))) == k
        finer = labels


def test_an_inversion_is_found() -> None:
    shape = Dendrogram(hierarchy.linkage(TRIANGLE, "centroid"))
    assert_allclose(shape.heights, [1.0, 0.9])
    assert shape.inversions.tolist() == [1]
    assert_allclose(shape.max_heights, [1.0, 1.0])
    assert shape.cut(2).tolist() == [0, 0, 1]
    # At 0.95 the upper merge would be allowed and the one inside it is not: all stay apart.
    assert shape.cut(level=0.95).tolist() == [0, 1, 2]
    assert shape.cut(level=1.0).tolist() == [0, 0, 0]


def test_rounding_is_not_an_inversion() -> None:
    table = np.array([[0, 1, 1.0, 2], [2, 3, 1.0 - 1e-15, 3]])
    assert not len(Dendrogram(table).inversions)
    table[1, 2] = 1.0 - 1e-9
    assert Dendrogram(table).inversions.tolist() == [1]


@pytest.mark.parametrize("method", ["single", "complete", "average", "ward"])
def test_other_linkages_have_no_inversions(method: str) -> None:
    assert not len(Dendrogram(tree(method)).inversions)


def test_one_leaf() -> None:
    shape = Dendrogram(np.zeros((0, 4)))
    assert len(shape) == 1
    assert shape.leaves.tolist() == [0]
    assert shape.cut(1).tolist() == [0]
    assert shape.cut(level=0.0).tolist() == [0]
    assert shape.cophenetic().shape == (0,)


def test_a_tree_of_depth_n() -> None:
    n = 50_000
    table = np.column_stack(
        [
            np.r_[0, n + np.arange(n - 2)],
            np.arange(1, n),
            np.arange(1.0, n),
            np.arange(2, n + 1),
        ]
    )
    shape = Dendrogram(table)
    assert_array_equal(shape.leaves, np.arange(n))
    assert shape.cut(level=10.0).max() + 1 == n - 10
    assert shape.cut(3).tolist()[-3:] == [0, 1, 2]


@pytest.mark.parametrize(
    "table",
    [
        np.zeros((2, 3)),
        np.zeros(4),
        np.array([[0.0, 5.0, 1.0, 2.0]]),
        np.array([[0.0, 0.0, 1.0, 2.0]]),
        np.array([[0.0, 1.0, np.nan, 2.0]]),
        np.array([[0.0, 1.0, 1.0, 3.0]]),
        np.array([[0.0, 1.0, 1.0, 2.0], [0.0, 2.0, 1.0, 2.0]]),
        np.array([[-1.0, 1.0, 1.0, 2.0]]),
    ],
)
def test_invalid_trees(table: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"tree"):
        Dendrogram(table)


def test_invalid_cuts() -> None:
    shape = Dendrogram(tree("average"))
    for cut in ({}, {"n_clusters": 2, "level": 1.0}, {"level": np.nan}):
        with pytest.raises(InputError, match=r"[Cc]ut|NaN"):
            shape.cut(**cut)
    for k in (0, 91, 2.5, -1):
        with pytest.raises(InputError, match="n_clusters"):
            shape.cut(k)


def test_is_immutable() -> None:
    shape = Dendrogram(tree("average"))
    with pytest.raises(dataclasses.FrozenInstanceError):
        shape.linkage = np.zeros((0, 4))  # type: ignore[misc]
