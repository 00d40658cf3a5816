"""Folds: one pass, merged training sides, scikit-learn's meaning of cv."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

from separatrix.messages import InputError
from separatrix.rows.rows import ArrayRows
from separatrix.selection.folds import fold_rows, folds_of, stratified_labels


def table(n: int = 37, d: int = 3, seed: int = 0) -> ArrayRows:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * [1.0, 1e4, 1e-3][:d] + 50.0
    return ArrayRows(x, rng.normal(size=n), rng.uniform(0.5, 2.0, size=n))


def expected(rows: ArrayRows, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    z = np.column_stack([rows.block.x, rows.block.y])[index]
    w = rows.block.w[index]
    mean = np.average(z, axis=0, weights=w)
    return mean, (z - mean).T @ ((z - mean) * w[:, None])


@pytest.mark.parametrize(
    "cv",
    [None, 3, KFold(4), KFold(4, shuffle=True, random_state=1), LeaveOneOut()],
    ids=["default", "three", "kfold", "shuffled", "leave-one-out"],
)
def test_a_tiling_gives_the_moments_of_both_sides(cv: object) -> None:
    rows = table()
    folds = folds_of(cv, rows.block.n)
    assert folds.labels is not None
    halves = fold_rows(rows, cv).halves
    assert len(halves) == len(folds)
    for (train, test), (a, b) in zip(halves, folds.pairs, strict=True):
        for moments, index in ((train, a), (test, b)):
            mean, scatter = expected(rows, index)
            np.testing.assert_allclose(moments.mean, mean, rtol=1e-12, atol=1e-13)
            assert moments.count == len(index)
            size = np.sqrt(np.outer(np.diag(scatter), np.diag(scatter))) + 1e-12
            assert np.max(np.abs(moments.scatter - scatter) / size) < 1e-9


@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(3, random_state=0),
        TimeSeriesSplit(3),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    ],
    ids=["shuffle", "time", "repeated"],
)
def test_overlapping_folds_keep_their_own_rows(cv: object) -> None:
    rows = table()
    folds = folds_of(cv, rows.block.n)
    assert folds.labels is None
    for (train, test), (a, b) in zip(fold_rows(rows, cv).halves, folds.pairs, strict=True):
        np.testing.assert_allclose(train.mean, expected(rows, a)[0], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(test.mean, expected(rows, b)[0], rtol=1e-12, atol=1e-13)


def test_pairs_may_be_a_generator_and_masks() -> None:
    rows = table(12)
    label = np.arange(12) % 3
    pairs = ((label != f, label == f) for f in range(3))
    assert np.array_equal(folds_of(pairs, 12).labels, label)
    assert len(fold_rows(rows, ((label != f, label == f) for f in range(3))).halves) == 3


def test_complement_with_a_row_trained_twice_is_not_a_tiling() -> None:
    first = np.arange(4)
    pairs = [(np.array([4, 4, 5, 6]), first), (first, np.arange(4, 8))]
    assert folds_of(pairs, 8).labels is None


def test_groups_reach_the_splitter() -> None:
    groups = np.repeat([0, 1, 2, 3], 3)
    labels = folds_of(GroupKFold(2), 12, groups=groups).labels
    assert labels is not None
    assert all(len(set(labels[groups == g])) == 1 for g in range(4))


def test_stratified_folds_spread_every_class() -> None:
    codes = np.r_[np.zeros(900, int), np.ones(95, int), np.full(5, 2)]
    labels = folds_of(3, 1000, codes=codes).labels
    assert labels is not None
    for c in range(3):
        assert np.ptp(np.bincount(labels[codes == c], minlength=3)) <= 1
    assert np.array_equal(stratified_labels(np.zeros(5, int), 2), [0, 1, 0, 1, 0])


def test_folds_among_some_rows_are_positions_among_them() -> None:
    rows = np.array([1, 3, 4, 6, 8, 9])
    folds = folds_of(KFold(5), 10, rows=rows)
    for (train, test), (a, b) in zip(folds.pairs, KFold(5).split(np.empty((10, 1))), strict=True):
        assert np.array_equal(rows[train], np.intersect1d(a, rows))
        assert np.array_equal(rows[test], np.intersect1d(b, rows))
    assert len(folds_of(3, 10, rows=rows).labels) == 6
    seen = []

    class Spy(KFold):
        def split(self, X, y=None, groups=None):
            seen.append(y)
            return super().split(X, y, groups)

    folds_of(Spy(2), 10, rows=rows, codes=np.arange(6))
    assert np.array_equal(seen[0], [0, 0, 0, 1, 2, 0, 3, 0, 4, 5])
    with pytest.raises(InputError, match="no weight"):
        folds_of([(np.arange(5), np.arange(5, 10))], 10, rows=np.array([7, 8]))


def test_predictions_are_assembled_in_the_order_of_the_rows() -> None:
    folds = folds_of(3, 12, codes=np.arange(12) % 2)
    parts = folds.map(lambda train, test: 10.0 * test)
    assert np.array_equal(folds.out_of_fold(parts), 10.0 * np.arange(12))
    twice = folds_of(RepeatedKFold(n_splits=3, n_repeats=2), 12)
    with pytest.raises(InputError, match="two test folds"):
        twice.out_of_fold(twice.map(lambda train, test: test))
    later = folds_of(TimeSeriesSplit(3), 12)
    with pytest.raises(InputError, match="no test fold"):
        later.out_of_fold(later.map(lambda train, test: test))


def test_the_rows_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, passes = table(), []
    reduce = ArrayRows.reduce

    def counted(self: ArrayRows, statistic: object) -> object:
        passes.append(1)
        return reduce(self, statistic)

    monkeypatch.setattr(ArrayRows, "reduce", counted)
    fold_rows(rows, 5)
    assert len(passes) == 1


@pytest.mark.parametrize("cv", [1, 0, 38])
def test_impossible_numbers_of_folds_are_refused(cv: int) -> None:
    with pytest.raises(InputError, match="n_samples=37"):
        fold_rows(table(), cv)


def test_a_fold_without_weight_is_refused() -> None:
    rows = ArrayRows(np.arange(6.0)[:, None], np.arange(6.0), np.array([0, 0, 0, 1, 1, 1.0]))
    with pytest.raises(InputError, match="fold 0 have no weight"):
        fold_rows(rows, KFold(2))
    assert [test.weight for _, test in fold_rows(rows, 2).halves] == [2.0, 1.0]


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.integers(6, 30), st.integers(0, 1000))
def test_folds_add_up_to_the_table(k: int, n: int, seed: int) -> None:
    rows = table(n, seed=seed)
    whole = rows.collect()
    for train, test in fold_rows(rows, k).halves:
        both = train + test
        assert both.count == n
        np.testing.assert_allclose(both.x_mean, np.average(whole.x, axis=0, weights=whole.w))
