"""Sweeps end where the estimators end, and never raise the loss."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.cluster.sweeps import (
    kernel_sweeps,
    kmeans_sweeps,
    kmedoids_sweeps,
    medoid_distances,
)


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(3)
    return rng.normal(size=(240, 3)) + 4.0 * rng.integers(0, 3, size=(240, 1))


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_kmeans(x, init):
    found = kmeans_sweeps(x, 5, init, seed=4)
    model = sx.KMeans(5, init=init, n_init=1, random_state=4).fit(x)
    np.testing.assert_array_equal(found[-1].labels, model.labels_)
    np.testing.assert_array_equal(found[-1].centers, model.cluster_centers_)
    assert found[-1].loss == pytest.approx(model.inertia_, rel=1e-12)
    assert (np.diff([sweep.loss for sweep in found]) <= 0).all()


def test_an_emptied_cluster_is_filled_as_the_estimator_fills_it(x):
    start = np.vstack([x[:2], [[90.0, 90.0, 90.0]]])
    found = kmeans_sweeps(x, 3, start)
    model = sx.KMeans(3, init=start).fit(x)
    np.testing.assert_array_equal(found[-1].labels, model.labels_)
    assert found[0].labels.max() == 1


@pytest.mark.parametrize("init", ["k-medoids++", "random", [0, 1, 2, 3]])
def test_kmedoids(x, init):
    found = kmedoids_sweeps(x, medoid_distances(x), 4, init, seed=4)
    model = sx.KMedoids(4, init=init, n_init=1, random_state=4).fit(x)
    np.testing.assert_array_equal(found[-1].rows, model.medoid_indices_)
    np.testing.assert_array_equal(found[-1].labels, model.labels_)
    assert found[-1].loss == pytest.approx(model.inertia_, rel=1e-6)
    assert (np.diff([sweep.loss for sweep in found]) < 0).all()


def test_kernel_kmeans(x):
    found = kernel_sweeps(x, 3, 0.05, seed=4)
    model = sx.KernelKMeans(3, gamma=0.05, n_init=1, random_state=4).fit(x)
    np.testing.assert_array_equal(found[-1].labels, model.labels_)
    assert found[-1].loss == pytest.approx(model.inertia_, rel=1e-9)
    assert (np.diff([sweep.loss for sweep in found]) <= 1e-9).all()
