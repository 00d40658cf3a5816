"""Several exemplars of a class, their votes and their cells, by their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.neighbors import NearestCentroid

import separatrix as sx
from separatrix.pictures import VoronoiDisplay

RNG = np.random.default_rng(0)
X, Y = make_moons(200, noise=0.15, random_state=0)
NEW = RNG.uniform(-1.5, 2.5, size=(300, 2))


def test_one_of_each_class_is_the_nearest_centroid() -> None:
    model = sx.NearestExemplar().fit(X, Y)
    assert (model.predict(NEW) == NearestCentroid().fit(X, Y).predict(NEW)).all()


@pytest.mark.parametrize("k", [1, 3])
def test_predictions_follow_the_definition(k: int) -> None:
    model = sx.NearestExemplar(n_exemplars=4, n_neighbors=k).fit(X, Y)
    d = cdist(NEW, model.exemplars_)
    expected = []
    for row in d:
        near = np.argsort(row)[:k]
        votes = [sum(1 / row[j] for j in near if model.exemplar_codes_[j] == c) for c in (0, 1)]
        expected.append(int(votes[1] > votes[0]))
    assert model.predict(NEW).tolist() == expected
    assert ((model.decision_function(NEW) > 0) == expected).all()
    assert model.exemplar_codes_.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert model.score(X, Y) > sx.NearestExemplar().fit(X, Y).score(X, Y)


def test_means_are_a_fixed_point_close_to_the_best_of_many_starts() -> None:
    model = sx.NearestExemplar(n_exemplars=4).fit(X, Y)
    for c in (0, 1):
        rows, centers = X[c == Y], model.exemplars_[model.exemplar_codes_ == c]
        part = cdist(rows, centers).argmin(axis=1)
        means = np.array([rows[part == j].mean(axis=0) for j in range(4)])
        np.testing.assert_allclose(centers, means, atol=1e-12)
        scatter = (cdist(rows, centers).min(axis=1) ** 2).sum()
        assert scatter <= 1.2 * KMeans(4, n_init=20, random_state=0).fit(rows).inertia_
    assert model.certificate_.holds


def test_medoids_of_strings_and_weights_as_repeated_rows(rng: np.random.Generator) -> None:
    words = ["cat", "cart", "carts", "mouse", "house", "dog", "dig", "dug", "table", "cable"]
    kinds = list("cccccddddd")
    model = sx.NearestExemplar("edit", "medoid", n_exemplars=2).fit(words, kinds)
    assert sorted(model.exemplars_[:2])[0] in ("cart", "cat")
    assert model.predict(["mouses", "cars", "sable", "dag"]).tolist() == list("ccdd")
    w = rng.integers(0, 3, len(X))
    for kind in ("mean", "median", "medoid"):
        settings = sx.NearestExemplar("manhattan", kind, n_exemplars=3)
        weighted = settings.fit(X, Y, sample_weight=w).exemplars_
        repeated = settings.fit(np.repeat(X, w, axis=0), np.repeat(Y, w)).exemplars_
        np.testing.assert_allclose(weighted, repeated, atol=1e-6)


def test_few_distinct_rows_have_as_many_exemplars() -> None:
    model = sx.NearestExemplar(n_exemplars=9, n_neighbors=20)
    model.fit([[0.0], [0.0], [1.0], [5.0]], [0, 0, 0, 1])
    assert model.exemplar_codes_.tolist() == [0, 0, 1]
    assert model.predict([[0.0], [0.6], [5.0]]).tolist() == [0, 0, 1]
    for wrong in ({"n_exemplars": 0}, {"n_exemplars": 1.5}, {"n_neighbors": 0}):
        with pytest.raises(ValueError, match=r"n_exemplars|n_neighbors"):
            sx.NearestExemplar(**wrong).fit(X, Y)


@pytest.mark.parametrize("order", [1, 2])
def test_cells_are_the_sets_of_nearest_points(order: int) -> None:
    model = sx.NearestExemplar("manhattan", n_exemplars=3, standardize=True).fit(X * [1, 50], Y)
    display = VoronoiDisplay.from_estimator(model, order=order, resolution=40)
    scale = np.std(X * [1, 50], axis=0)
    grid = np.stack(np.meshgrid(display.x, display.y), axis=2).reshape(-1, 2)
    d = cdist(grid / scale, display.points / scale, "cityblock")
    nearest = {tuple(sorted(np.argsort(row)[:order].tolist())) for row in d}
    assert set(display.cells) == nearest
    display.plot()
    with pytest.raises(sx.InputError, match="two columns"):
        VoronoiDisplay.from_estimator(sx.NearestExemplar().fit(np.eye(3), [0, 1, 1]))
