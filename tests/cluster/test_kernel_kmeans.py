"""Kernel K-means against K-means on explicit features, and by the definition of its distances."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_circles

import separatrix as sx
from separatrix.cluster import kernel_lloyd as solver
from separatrix.cluster.kernel_lloyd import GramBlocks, kernel_lloyd, reassignment_gain
from separatrix.kernels import Gaussian, Linear, Polynomial, Spectrum


def partition(x, seed: int, k: int = 4):
    return np.concatenate([np.arange(k), np.random.default_rng(seed).integers(0, k, len(x) - k)])


@pytest.mark.parametrize("seed", range(4))
def test_the_linear_kernel_is_k_means(seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((120, 3)) + 5.0
    labels = partition(x, seed)
    gram = GramBlocks(Linear().prepare(x))
    found = kernel_lloyd(gram, np.ones(120), labels, 4, assign="centroid", max_iter=200)
    means = np.array([x[labels == j].mean(axis=0) for j in range(4)])
    plain = sx.KMeans(4, init=means).fit(x)
    assert_array_equal(found.labels, plain.labels_)
    assert_allclose(found.inertia, plain.inertia_)


def test_a_polynomial_kernel_is_k_means_on_its_features() -> None:
    x = np.random.default_rng(1).standard_normal((90, 2))
    a, b = x.T
    features = np.stack([a * a, b * b, np.sqrt(2) * a * b, np.sqrt(2) * a, np.sqrt(2) * b], axis=1)
    model = sx.KernelKMeans(3, kernel=Polynomial(2, 1.0), random_state=0).fit(x)
    means = np.array([features[model.labels_ == j].mean(axis=0) for j in range(3)])
    again = sx.KMeans(3, init=means).fit(features)
    assert again.n_iter_ == 1 or np.array_equal(again.labels_, model.labels_)
    assert_allclose(again.inertia_, model.inertia_)
    new = np.array([[0.3, -2.0], [1.5, 0.2]])
    a, b = new.T
    lifted = np.stack([a * a, b * b, np.sqrt(2) * a * b, np.sqrt(2) * a, np.sqrt(2) * b], axis=1)
    assert_array_equal(model.predict(new), again.predict(lifted))


def test_assignment_by_members_equals_its_definition() -> None:
    x = np.random.default_rng(2).standard_normal((60, 2))
    kernel = Gaussian(0.8)
    model = sx.KernelKMeans(3, kernel=kernel, assign="members", random_state=0).fit(x)
    distance = np.sqrt(np.maximum(2 - 2 * kernel.gram(x), 0))
    means = np.stack([distance[:, model.labels_ == j].mean(axis=1) for j in range(3)], axis=1)
    assert_array_equal(means.argmin(axis=1), model.labels_)
    assert_array_equal(model.predict(x), model.labels_)
    assert "least mean distance to its members" in str(model.certificate_)


def test_rings_that_no_hyperplane_separates() -> None:
    x, ring = make_circles(300, factor=0.2, noise=0.04, random_state=0)
    model = sx.KernelKMeans(2, gamma=3.0, random_state=0).fit(x)
    assert len({(a, b) for a, b in zip(ring, model.labels_, strict=True)}) == 2
    plain = sx.KMeans(2, random_state=0).fit(x)
    assert len({(a, b) for a, b in zip(ring, plain.labels_, strict=True)}) > 2


@pytest.mark.parametrize("assign", ["centroid", "members"])
def test_blocks_do_not_change_the_result(assign: str, monkeypatch) -> None:
    x = np.random.default_rng(3).standard_normal((150, 3))
    whole = sx.KernelKMeans(4, assign=assign, random_state=0).fit(x)
    monkeypatch.setattr(solver, "MAX_STORED", 0)
    monkeypatch.setattr(solver, "BLOCK", 8 * 150 * 7)
    parts = sx.KernelKMeans(4, assign=assign, random_state=0).fit(x)
    assert_array_equal(whole.labels_, parts.labels_)
    assert_allclose(whole.inertia_, parts.inertia_)


@pytest.mark.parametrize("seed", range(5))
def test_inertia_never_increases_with_a_mercer_kernel(seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((80, 2))
    gram = GramBlocks(Gaussian(0.5).prepare(x))
    found = kernel_lloyd(gram, np.ones(80), partition(x, seed), 4, assign="centroid", max_iter=100)
    assert found.status == "converged"
    assert (np.diff(found.history) <= 1e-9).all()
    assert len(found.history) > 2


def test_strings_and_precomputed_similarities() -> None:
    words = ["abab", "ababab", "baba", "xyxy", "yxyx", "xyxyxy"]
    kernel = Spectrum(2)
    model = sx.KernelKMeans(2, kernel=kernel, random_state=0).fit(words)
    assert len(set(model.labels_[:3])) == len(set(model.labels_[3:])) == 1
    assert model.predict(["babab"])[0] == model.labels_[0]
    gram = np.asarray(kernel.gram(words), dtype=float)
    matrix = sx.KernelKMeans(2, kernel="precomputed", random_state=0).fit(gram)
    assert_allclose(matrix.inertia_, model.inertia_)
    assert_array_equal(matrix.predict(gram), matrix.labels_)
    by_members = sx.KernelKMeans(2, kernel="precomputed", assign="members", random_state=0).fit(
        gram
    )
    with pytest.raises(sx.InputError, match="κ"):
        by_members.predict(gram)


def test_rows_of_weight_zero_are_labeled_and_do_not_count() -> None:
    x = np.random.default_rng(4).standard_normal((50, 2))
    w = np.ones(50)
    w[:10] = 0
    model = sx.KernelKMeans(3, gamma=0.5, random_state=0).fit(x, sample_weight=w)
    rest = sx.KernelKMeans(3, gamma=0.5, random_state=0).fit(x[10:])
    assert_array_equal(model.labels_, rest.predict(x))


def test_invalid_parameters() -> None:
    with pytest.raises(sx.InputError, match="assign='medoid'"):
        sx.KernelKMeans(2, assign="medoid").fit(np.eye(4))
    with pytest.raises(sx.InputError, match="no kernel 'rfb'"):
        sx.KernelKMeans(2, kernel="rfb").fit(np.eye(4))


def objective_terms(gram, labels):
    """κ(x,x) − 2 mean κ(x,C) + mean κ(C,C) of every row and cluster, pair by pair."""
    clusters = [np.flatnonzero(labels == j) for j in range(labels.max() + 1)]
    return np.array(
        [
            [
                gram[i, i]
                - 2 * np.mean([gram[i, a] for a in members])
                + np.mean([gram[a, b] for a in members for b in members])
                for members in clusters
            ]
            for i in range(len(gram))
        ]
    )


def test_an_indefinite_kernel_claims_only_what_was_checked() -> None:
    x = np.random.default_rng(5).standard_normal((40, 2))
    kernel = sx.Sigmoid(1.0, -1.0)
    with pytest.warns(sx.SeparatrixWarning, match="SEP007"):
        model = sx.KernelKMeans(3, kernel=kernel, random_state=0).fit(x)
    terms = objective_terms(kernel.gram(x), model.labels_)
    own = terms[np.arange(40), model.labels_]
    assert_allclose(model.inertia_, own.sum())
    stationary = bool((own <= terms.min(axis=1) + 1e-9 * np.abs(own).max()).all())
    assert model.certificate_.holds == stationary
    text = str(model.certificate_)
    assert "No reassignment of a row lowers" in text
    assert "indefinite" in text
    assert "centroid" not in text
    assert "local optimum" not in text


@pytest.mark.parametrize("assign", ["centroid", "members"])
def test_a_fit_cut_short_does_not_hold(assign: str) -> None:
    x = np.random.default_rng(6).standard_normal((200, 2))
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        model = sx.KernelKMeans(8, gamma=1.0, assign=assign, max_iter=1, random_state=0).fit(x)
    assert not model.certificate_.holds
    assert model.n_iter_ == 1
    assert sx.KernelKMeans(8, gamma=1.0, assign=assign, random_state=0).fit(x).certificate_.holds


@pytest.mark.parametrize("seed", range(3))
def test_reassignment_gain_equals_its_definition(seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((30, 2))
    labels, kernel = partition(x, seed), Gaussian(0.7)
    found = reassignment_gain(
        GramBlocks(kernel.prepare(x)), np.ones(30), labels, 4, assign="centroid"
    )
    terms = objective_terms(kernel.gram(x), labels)
    own = terms[np.arange(30), labels]
    assert_allclose(found, (own - terms.min(axis=1)).max() / own.max(), rtol=1e-9)


def test_precomputed_similarities_with_rows_of_weight_zero() -> None:
    x = np.random.default_rng(7).standard_normal((40, 2))
    gram, w = Gaussian(1.0).gram(x), np.ones(40)
    w[::4] = 0
    model = sx.KernelKMeans(3, kernel="precomputed", random_state=0).fit(gram, sample_weight=w)
    assert_array_equal(model.predict(gram), model.labels_)
