"""What holds for every learned metric: units, weights, files, formulas, use by other models."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import separatrix as sx
from separatrix.formula.nodes import Evaluation, GivenRows
from separatrix.threads import thread_limit
from tests.laws.data import Table, overlapping, stored_and_loaded
from tests.registry import METRIC_LEARNERS, Row

every = pytest.mark.parametrize("row", METRIC_LEARNERS, ids=lambda row: row.name)
unit_free = pytest.mark.parametrize(
    "row", [row for row in METRIC_LEARNERS if row.unit_free], ids=lambda row: row.name
)


def table(row: Row) -> Table:
    return overlapping(row, 3)


def distances(model: object, x: np.ndarray) -> np.ndarray:
    """Of all pairs, in the learned metric."""
    z = model.transform(x)  # type: ignore[attr-defined]
    return np.linalg.norm(z[:, None] - z[None], axis=2)


def assert_agree(row: Row, a: np.ndarray, b: np.ndarray) -> None:
    assert_allclose(a, b, rtol=row.precision, atol=row.precision * b.max())


@every
def test_neighbors_exemplars_and_clusters_take_the_metric(row: Row) -> None:
    x, y = table(row)
    model = row.make().fit(x, y)
    new, expected = x + 0.1, distances(model, x)
    assert_allclose(model.metric_.distances(x), expected, rtol=1e-9, atol=1e-9 * expected.max())
    nearest = np.linalg.norm(model.transform(new)[:, None] - model.transform(x), axis=2)
    voters = np.argsort(nearest, axis=1)[:, :3]
    votes = (y[voters][:, :, None] == np.unique(y)).sum(axis=1)
    neighbors = sx.KNeighborsClassifier(3, metric=model.metric_).fit(x, y)
    assert_allclose(neighbors.predict_proba(new), votes / 3)
    medoids = [
        sx.KMedoids(2, metric=metric, init="build").fit(points).medoid_indices_
        for metric, points in ((model.metric_, x), ("precomputed", expected))
    ]
    # near ties are decided by rounding: what the chosen rows reach is determined
    reached = [expected[:, rows].min(axis=1).sum() for rows in medoids]
    assert_allclose(reached[0], reached[1], rtol=1e-9)
    sums = expected.sum(axis=1)
    assert_allclose(sums[sx.medoid(x, model.metric_).index], sums.min(), rtol=1e-9)
    exemplars = sx.NearestExemplar(model.metric_, "medoid").fit(x, y)
    assert exemplars.score(x, y) > 0.4
    gram = sx.Gaussian(1.0).gram(model.transform(x))
    assert_allclose(gram, np.exp(-0.5 * expected**2), atol=1e-12)


@every
def test_the_certificate_states_the_objective(row: Row) -> None:
    x, y = table(row)
    model = row.make().fit(x, y)
    assert_allclose(model.certificate_.primal, row.objective(model, x, y), rtol=1e-8)
    assert model.certificate_.holds, str(model.certificate_)


@unit_free
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_and_origin_do_not_matter(row: Row, factor: float) -> None:
    x, y = table(row)
    other = x * np.array([factor, 1.0, 1.0 / factor, 1.0]) + np.array([0.0, 0.0, 0.0, 100.0])
    a, b = row.make().fit(other, y), row.make().fit(x, y)
    assert_agree(row, distances(a, other), distances(b, x))


@every
def test_the_order_of_rows_does_not_matter(row: Row) -> None:
    x, y = table(row)
    order = np.random.default_rng(1).permutation(len(x))
    a, b = row.make().fit(x[order], y[order]), row.make().fit(x, y)
    assert_agree(row, distances(a, x), distances(b, x))


@every
@pytest.mark.parametrize("least", [0, 1])
def test_weights_are_repeated_rows(row: Row, least: int) -> None:
    x, y = table(row)
    w = np.random.default_rng(2).integers(least, 4, len(x))
    weighted = row.make().fit(x, y, sample_weight=w.astype(float))
    repeated = row.make().fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    assert_agree(row, distances(weighted, x), distances(repeated, x))


@every
def test_copies_pickles_and_files_transform_the_same(row: Row, tmp_path) -> None:
    x, y = table(row)
    model = row.make().fit(x, y)
    with thread_limit(1):
        alone = clone(model).fit(x, y)
    for other in (alone, pickle.loads(pickle.dumps(model)), stored_and_loaded(model, tmp_path)):
        assert_array_equal(other.transform(x), model.transform(x))
        assert str(other.certificate_) == str(model.certificate_)


@every
def test_the_formula_is_the_transform(row: Row) -> None:
    x, y = table(row)
    model = row.make().fit(x, y)
    found = Evaluation(GivenRows(x))(model.transform_formula()).array
    assert_allclose(found, model.transform(x), rtol=1e-12, atol=1e-12)


@every
def test_frames_with_levels_and_gaps_are_read_as_scan_reads_them(row: Row) -> None:
    x, y = table(row)
    frame = pd.DataFrame(x, columns=list("abcd"))
    frame["town"] = np.where(x[:, 0] > 0, "Rome", "Oslo")
    frame.loc[3, "a"] = np.nan
    model, scanned = row.make().fit(frame, y), row.make().fit(sx.scan(frame, target=y).read())
    assert list(model.feature_names_in_) == [*"abcd", "town"]
    assert len(model.get_feature_names_out()) == len(model.components_)
    assert_array_equal(model.transform(frame), scanned.transform(frame))


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(row: Row, bad: float) -> None:
    x, y = table(row)
    x[3, 1] = bad
    with pytest.raises(ValueError, match=r"(?i)nan|infinit"):
        row.make().fit(x, y)


@every
def test_constant_columns_copies_and_huge_numbers_end_in_finite_components(row: Row) -> None:
    x, y = table(row)
    x[:, 1], x[:, 2] = 7.0, 2.0 * x[:, 0]
    x, y = np.concatenate([x, x[:10]]), np.concatenate([y, np.roll(y[:10], 3)])
    for factor in (1.0, 1e8, 1e-8, 1e100):
        model = row.make().fit(x * factor, y)
        assert np.isfinite(model.components_).all()
        assert np.isfinite(model.transform(x * factor)).all()
        assert model.certificate_.holds, (factor, str(model.certificate_))


@parametrize_with_checks([row.make() for row in METRIC_LEARNERS])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)
