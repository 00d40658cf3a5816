"""Silhouettes against scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances, silhouette_samples

import separatrix as sx
from separatrix.distances.names import metric_from


def table(n: int = 400, d: int = 3, k: int = 5, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.integers(0, k, n)


#: No cosine of one column: all angles are 0 or 180 degrees, ties of rounding.
METRICS = ["euclidean", "sqeuclidean", "manhattan", "chebyshev", "cosine"]
CASES = [(metric, d) for d in (1, 4, 7) for metric in METRICS[: 4 if d == 1 else 5]]


@pytest.mark.parametrize(("metric", "d"), CASES)
def test_equals_scikit_learn(metric: str, d: int) -> None:
    x, labels = table(d=d)
    tolerance = 3e-6 if metric == "euclidean" else 1e-9
    reference = silhouette_samples(x, labels, metric=metric)
    found = sx.silhouette(x, labels, metric=metric)
    assert_allclose(found.samples, reference, atol=tolerance)
    assert_allclose(found.score, reference.mean(), atol=tolerance)
    means = [reference[labels == j].mean() for j in found.clusters]
    assert_allclose(found.by_cluster, means, atol=tolerance)


def test_precomputed_distances_functions_and_strings() -> None:
    x, labels = table(60)
    given = sx.silhouette(pairwise_distances(x), labels, metric="precomputed")
    assert_allclose(given.samples, silhouette_samples(x, labels), atol=1e-12)
    own = sx.silhouette(x, labels, metric=lambda a, b: np.abs(a - b).sum())
    assert_allclose(own.samples, silhouette_samples(x, labels, metric="manhattan"), atol=1e-12)
    words = ["kitten", "mitten", "bitten", "flower", "glower"]
    distance = metric_from("edit").distances(words)
    reference = silhouette_samples(distance, [0, 0, 0, 1, 1], metric="precomputed")
    assert_allclose(sx.silhouette(words, list("aaabb"), metric="edit").samples, reference)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
@pytest.mark.parametrize(("factor", "shift"), [(1e8, 0), (1e-8, 0), (1, 1e6), (1e-3, 1e3)])
def test_units_and_origin_do_not_matter(metric: str, factor: float, shift: float) -> None:
    x, labels = table(150)
    a, b = sx.silhouette(x, labels, metric), sx.silhouette(factor * x + shift, labels, metric)
    assert_allclose(a.samples, b.samples, atol=2e-6)


def test_precision_of_tight_clusters_far_apart() -> None:
    rng = np.random.default_rng(1)
    labels = np.repeat([0, 1, 2], 40)
    x = 1e3 * labels[:, None] + rng.standard_normal((120, 2))
    assert_allclose(sx.silhouette(x, labels).samples, silhouette_samples(x, labels), atol=1e-6)


def test_a_point_alone_and_equal_points() -> None:
    x = np.array([[0.0], [0.0], [5.0]])
    found = sx.silhouette(x, ["a", "a", "b"])
    assert_allclose(found.samples, [1, 1, 0])
    assert found.neighbor.tolist() == ["b", "b", "a"]
    assert sx.silhouette(np.ones((4, 2)), [0, 0, 1, 1]).score == 0.0


def test_text_and_invalid_input() -> None:
    x, labels = table(30, k=2)
    assert "nearer to another cluster" in str(sx.silhouette(x, labels))
    with pytest.raises(sx.InputError, match="only one"):
        sx.silhouette(x, np.zeros(30))
    with pytest.raises(sx.InputError, match="cluster of its own"):
        sx.silhouette(x, np.arange(30))
    with pytest.raises(sx.InputError, match="need 30 labels"):
        sx.silhouette(x, labels[:-1])
    x[3, 1] = np.nan
    with pytest.raises(sx.InputError, match="Row 3, column 1 is nan"):
        sx.silhouette(x, labels)
    with pytest.raises(sx.InputError, match="not symmetric"):
        sx.silhouette([[0, 1, 2], [1, 0, 3], [5, 3, 0.0]], [0, 0, 1], metric="precomputed")


@pytest.mark.parametrize("far", [1e6, 1e8, 1e10])
def test_outliers_do_not_affect_the_precision_of_others(far: float) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2, 3], 30)
    x = 0.1 * rng.standard_normal((120, 2)) + np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[labels]
    expected = silhouette_samples(x, labels)
    one = np.vstack([x, [far, far]])
    assert_allclose(sx.silhouette(one, [*labels, 9]).samples[:-1], expected, atol=1e-5)
    both = np.vstack([x, x + far])
    every = np.concatenate([labels, labels + 4])
    reference = silhouette_samples(cdist(both, both), every, metric="precomputed")
    assert_allclose(sx.silhouette(both, every).samples, reference, atol=1e-5)


def test_rows_equal_arrays() -> None:
    x, labels = table()
    rows = sx.scan(pd.DataFrame(x, columns=["a", "b", "c"]))
    assert sx.silhouette(rows, labels).score == sx.silhouette(x, labels).score
