"""Rows beyond the ranges or the hull of training rows, against linear programs of SciPy."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

import separatrix as sx
from separatrix.rows.schema import column_ranges
from tests.registry import REGISTRY

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1.0, 1e6, 1e-6] + [0.0, 1e8, 0.0]
Y = X @ [1.0, 1e-6, 1e6]
NEW = X.mean(axis=0) + 1.8 * (X - X.mean(axis=0))


def in_hull(rows: np.ndarray, point: np.ndarray) -> bool:
    """Whether weights of the rows, a convex combination, give the point."""
    scale = np.where(np.ptp(rows, axis=0) > 0, np.ptp(rows, axis=0), 1.0)
    equations = np.vstack([((rows - rows[0]) / scale).T, np.ones(len(rows))])
    right = np.append((point - rows[0]) / scale, 1.0)
    return linprog(np.zeros(len(rows)), A_eq=equations, b_eq=right).status == 0


def test_the_hull_is_that_of_a_linear_program_and_directions_prove_it() -> None:
    model = sx.LinearRegression().fit(X, Y)
    found = sx.check_extrapolation(model, NEW, training=X)
    assert found.outside.tolist() == [not in_hull(X, x) for x in NEW]
    assert 0 < found.outside.sum() < len(NEW)
    g, c = found.directions[found.outside], found.thresholds[found.outside]
    assert (g @ X.T < c[:, None]).all()
    assert (np.sum(g * NEW[found.outside], axis=1) > c).all()
    assert np.isnan(found.directions[~found.outside]).all()
    within = found.outside & ~model.extrapolates(NEW)
    assert within.any()
    assert f"{within.sum()} within all ranges" in str(found)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 8))
def test_on_grids_with_copies_and_flat_columns(seed: int, d: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows, new = (rng.integers(0, 4, size=(k, d)).astype(float) for k in (n, 6))
    model = sx.MeanRegressor().fit(rows, np.arange(float(n)))
    found = sx.check_extrapolation(model, new, training=rows)
    assert found.outside.tolist() == [not in_hull(rows, x) for x in new]
    by_range = ((new < rows.min(axis=0)) | (new > rows.max(axis=0))).any(axis=1)
    assert model.extrapolates(new).tolist() == by_range.tolist()


@pytest.mark.parametrize("row", REGISTRY, ids=[row.name for row in REGISTRY])
def test_every_predictor_knows_its_ranges_and_keeps_them(row, rng) -> None:
    x = rng.integers(0, 5, size=(60, 3)).astype(float)
    y = x[:, 0] if row.task == "regression" else (x[:, 0] > 2).astype(int)
    model = row.make().fit(x, y)
    assert not model.extrapolates(x).any()
    far = x.copy()
    far[0, 1] = 9.0
    for fitted in (model, pickle.loads(pickle.dumps(model))):
        assert fitted.extrapolates(far).tolist() == [True] + [False] * 59


def test_tables_flag_new_levels_and_new_gaps_but_not_missing_numbers(tmp_path) -> None:
    table = pd.DataFrame(
        {
            "size": [1.0, 2.0, 3.0, np.nan],
            "town": ["a", "b", "a", "b"],
            "heat": ["x", None, "y", "x"],
        }
    )
    model = sx.LinearRegression().fit(table, [1.0, 2.0, 3.0, 4.0])
    sx.save(model, tmp_path / "m.sx")
    new = pd.DataFrame(
        {
            "size": [2.0, np.nan, 4.0, 2.0, 2.0],
            "town": ["a", "b", "a", "c", None],
            "heat": [None, "x", "y", "x", "x"],
        }
    )
    for fitted in (model, sx.load(tmp_path / "m.sx")):
        with pytest.warns(sx.SeparatrixWarning, match="not seen"):
            found = sx.check_extrapolation(fitted, new)
        assert found.outside.tolist() == [False, False, True, True, True]
        assert found.counts == {"town": 2, "size": 1}


def test_rows_of_weight_zero_are_not_training_rows() -> None:
    model = sx.Ridge().fit([[0.0], [1.0], [9.0]], [0.0, 1.0, 2.0], sample_weight=[1, 1, 0])
    assert model.extrapolates([[0.5], [5.0]]).tolist() == [False, True]


def test_updates_widen_the_ranges() -> None:
    for model in (sx.LinearRegression(), sx.GaussianNB(), sx.Perceptron()):
        y = [0, 1, 0]
        model.partial_fit(
            [[0.0], [1.0], [2.0]], y, **({} if model._learns == "numbers" else {"classes": [0, 1]})
        )
        model.partial_fit([[3.0], [4.0], [5.0]], y)
        assert model.extrapolates([[-1.0], [2.5], [5.0], [6.0]]).tolist() == [
            True,
            False,
            False,
            True,
        ]


def test_sparse_rows_and_ranges_of_any_layout(rng) -> None:
    dense = np.where(rng.random((400, 7)) < 0.5, 0.0, rng.normal(size=(400, 7)))
    model = sx.Ridge().fit(sparse.csr_array(dense), dense[:, 0])
    assert not model.extrapolates(sparse.csr_array(dense)).any()
    assert (
        model.extrapolates(10 * dense).all()
        == (np.abs(10 * dense) > np.abs(dense).max(0)).any(1).all()
    )
    holes = np.where(rng.random((3000, 7)) < 0.1, np.nan, rng.normal(size=(3000, 7)))
    for x in (holes, np.asfortranarray(holes), holes[::2], holes[:, ::2], holes[:3]):
        ranges = [np.nanmin(x, axis=0), np.nanmax(x, axis=0)]
        assert np.array_equal(column_ranges(x), ranges, equal_nan=True)


def test_models_without_ranges_refuse() -> None:
    rows = sx.scan(pd.DataFrame({"a": X[:, 0], "y": Y}), target="y")
    model = sx.LinearRegression().fit(rows.reduce(sx.Moments()))
    with pytest.raises(sx.InputError, match="keeps no ranges of its training rows"):
        model.extrapolates([[0.0]])
    assert sx.check_extrapolation(model, [[99.0]], training=X[:, :1]).outside.all()
    pairwise = sx.SVC(kernel="precomputed").fit(X @ X.T, Y.mean() < Y)
    with pytest.raises(sx.InputError, match="no ranges"):
        pairwise.extrapolates(X @ X.T)
