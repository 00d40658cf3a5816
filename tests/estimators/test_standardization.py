"""Clusterers that measure columns in deviations: the same as standardising them beforehand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.messages import InputError


@pytest.fixture
def x():
    rng = np.random.default_rng(3)
    centres = np.array([[0, 0, 0], [4, 0, 1], [0, 5, 2.0]])
    return (centres[rng.integers(0, 3, 150)] + rng.normal(size=(150, 3))) * [1.0, 1e6, 1e-6]


EACH = pytest.mark.parametrize(
    "make",
    [
        lambda **more: sx.KMedoids(3, random_state=0, **more),
        lambda **more: sx.KMedoids(3, metric="manhattan", init="build", **more),
        lambda **more: sx.KernelKMeans(3, random_state=0, **more),
    ],
)


@EACH
def test_equals_standardising_first(make, x) -> None:
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    own, first = make(standardize=True).fit(x), make().fit(z)
    assert (own.labels_ == first.labels_).all()
    assert own.inertia_ == pytest.approx(first.inertia_, rel=1e-9)
    new = x[::7] + 0.01 * x.std(axis=0)
    assert (own.predict(new) == first.predict((new - x.mean(axis=0)) / x.std(axis=0))).all()


@EACH
def test_survives_a_file_and_reads_tables(make, x, tmp_path) -> None:
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["flat"] = 7.0
    frame["kind"] = np.where(np.arange(len(x)) % 3 == 0, "s", "t")
    model = make(standardize=True).fit(sx.scan(frame))
    sx.save(model, tmp_path / "m.sx")
    back = sx.load(tmp_path / "m.sx")
    assert (back.predict(frame) == model.labels_).all()


def test_refused_without_columns() -> None:
    square = np.array([[0.0, 1.0], [1.0, 0.0]])
    for model in (
        sx.KMedoids(1, metric="precomputed", standardize=True),
        sx.KernelKMeans(1, kernel="precomputed", standardize=True),
    ):
        with pytest.raises(InputError, match="numeric columns"):
            model.fit(square)
    with pytest.raises(InputError, match="numeric columns"):
        sx.KMedoids(1, metric="edit", standardize=True).fit(["a", "b"])


def test_a_second_fit_without_it_discards_the_first(x) -> None:
    model = sx.KMedoids(3, standardize=True, random_state=0).fit(x)
    model.set_params(standardize=False).fit(x)
    assert not hasattr(model, "scale_")
    assert (model.predict(x) == model.labels_).all()


def test_k_means_of_a_table_in_memory_has_labels(x) -> None:
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame["kind"] = np.where(np.arange(len(x)) % 3 == 0, "s", "t")
    rows = sx.scan(frame).read()
    model = sx.KMeans(3, standardize=True, random_state=0).fit(rows)
    streamed = sx.KMeans(3, standardize=True, random_state=0).fit(sx.scan(frame))
    assert (model.labels_ == model.predict(frame)).all()
    assert model.inertia_ == pytest.approx(streamed.inertia_, rel=0.2)
    assert len(model.encoding_.names) == 4
