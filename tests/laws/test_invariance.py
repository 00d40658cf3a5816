"""What must not matter: units, the order of rows, repeats against weights, blocks, copies."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import separatrix as sx
from separatrix.rows.rows import ArrayRows
from tests.laws.data import outcome, stored_and_loaded, table
from tests.registry import REGISTRY, Row

every = pytest.mark.parametrize("row", REGISTRY, ids=lambda row: row.name)


def those(holds: Callable[[Row], bool]) -> pytest.MarkDecorator:
    """The estimators for which a law holds by definition of the model."""
    rows = [row for row in REGISTRY if holds(row)]
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.name)


unit_free = those(lambda row: row.unit_free)
order_free = those(lambda row: row.order_free)


def _assert_agree(row: Row, a: np.ndarray, b: np.ndarray) -> None:
    assert_allclose(a, b, rtol=row.precision, atol=row.precision * np.abs(b).max())


@unit_free
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_do_not_matter(row: Row, factor: float) -> None:
    x, y = table(row)
    scale = np.array([factor, 1.0, 1.0 / factor, 1.0])
    plain = row.make().fit(x, y)
    scaled = row.make().fit(x * scale, y)
    _assert_agree(row, outcome(row, scaled, x * scale), outcome(row, plain, x))
    if hasattr(plain, "coef_"):
        _assert_agree(row, scaled.coef_ * scale[: plain.coef_.shape[-1]], plain.coef_)


@those(lambda row: row.task == "regression" and row.target_free)
@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_units_of_the_target_do_not_matter(row: Row, factor: float) -> None:
    """Predictions and their intervals are in units of the target, and certificates hold in any."""
    x, y = table(row)
    plain, times = row.make().fit(x, y), row.for_target_times
    scaled = (row.make() if times is None else times(factor)).fit(x, factor * y)
    _assert_agree(row, outcome(row, scaled, x) / factor, outcome(row, plain, x))
    assert scaled.certificate_.holds is plain.certificate_.holds
    if "return_std" in inspect.signature(plain.predict).parameters:
        for noisy, other in zip(
            scaled.predict(x, return_std=True), plain.predict(x, return_std=True), strict=True
        ):
            _assert_agree(row, noisy / factor, other)
    if hasattr(plain, "predict_interval"):
        _assert_agree(row, scaled.predict_interval(x) / factor, plain.predict_interval(x))


@those(lambda r: r.unit_free and r.shift_free and r.make().get_params().get("fit_intercept", True))
def test_a_far_origin_does_not_matter_to_a_model_with_intercept(row: Row) -> None:
    x, y = table(row)
    moved = x + np.array([1e4, 0.0, -1e4, 0.0])
    loose = max(row.precision, 1e-6)
    a, b = row.make().fit(moved, y), row.make().fit(x, y)
    assert_allclose(outcome(row, a, moved), outcome(row, b, x), rtol=loose, atol=1e-5)


@order_free
def test_order_of_rows_does_not_matter(row: Row) -> None:
    x, y = table(row)
    order = np.random.default_rng(1).permutation(len(x))
    _assert_agree(
        row,
        outcome(row, row.make().fit(x[order], y[order]), x),
        outcome(row, row.make().fit(x, y), x),
    )


@order_free
def test_weights_are_repeated_rows(row: Row) -> None:
    x, y = table(row)
    w = np.random.default_rng(2).integers(0, 4, len(x))
    weighted = row.make().fit(x, y, sample_weight=w.astype(float))
    repeated = row.make().fit(np.repeat(x, w, axis=0), np.repeat(y, w))
    _assert_agree(row, outcome(row, weighted, x), outcome(row, repeated, x))


@every
def test_rows_without_weight_are_absent(row: Row) -> None:
    """Folds by number included, which must not be dealt rows that do not count."""
    x, y = table(row)
    present = np.random.default_rng(3).random(len(x)) < 0.7
    model = row.make().fit(x, y, sample_weight=present.astype(float))
    without = row.make().fit(x[present], y[present])
    _assert_agree(row, outcome(row, model, x), outcome(row, without, x))
    for name in ("mse_path_", "log_loss_path_", "cv_log_loss_"):
        if hasattr(without, name):
            assert_allclose(getattr(model, name), getattr(without, name), rtol=1e-6)


@every
def test_copies_and_pickles_predict_the_same(row: Row) -> None:
    x, y = table(row)
    model = row.make().fit(x, y)
    expected = outcome(row, model, x)
    assert np.array_equal(outcome(row, pickle.loads(pickle.dumps(model)), x), expected)
    assert np.array_equal(outcome(row, clone(model).fit(x, y), x), expected)


@every
def test_saved_models_predict_the_same_and_save_the_same(row: Row, tmp_path) -> None:
    x, y = table(row)
    model = row.make().fit(x, y)
    loaded = stored_and_loaded(model, tmp_path)
    assert type(loaded) is type(model)
    assert np.array_equal(outcome(row, loaded, x), outcome(row, model, x))


@every
def test_small_integer_and_float32_input(row: Row) -> None:
    x, y = table(row)
    x32 = np.round(x * 8).astype(np.float32)
    a = outcome(row, row.make().fit(x32, y), x32)
    b = outcome(row, row.make().fit(x32.astype(float), y), x32.astype(float))
    _assert_agree(row, a, b)


@those(lambda row: row.additive and row.task == "regression")
@pytest.mark.parametrize("size", [1, 7, 59, 60])
def test_block_size_does_not_matter(row: Row, size: int) -> None:
    x, y = table(row)
    whole = row.make().fit(ArrayRows(x, y))
    split = row.make().fit(_Pieces(x, y, size))
    _assert_agree(row, outcome(row, split, x), outcome(row, whole, x))


class _Pieces(ArrayRows):
    """The same rows, handed over in blocks of a given size."""

    def __init__(self, x: np.ndarray, y: np.ndarray, size: int) -> None:
        super().__init__(x, y)
        self.size = size

    def blocks(self):
        for start in range(0, self.block.n, self.size):
            yield self.block.take(slice(start, start + self.size))

    def reduce(self, statistic):
        total = statistic.fresh()
        for block in self.blocks():
            total.update(block)
        return total


@every
def test_column_names_are_stored(row: Row) -> None:
    import pandas as pd

    x, y = table(row)
    frame = pd.DataFrame(x, columns=["height", "weight", "age", "dose"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", sx.SeparatrixWarning)
        model = row.make().fit(frame, y)
        model.predict(frame)
    assert list(model.feature_names_in_) == ["height", "weight", "age", "dose"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"dose": "dosage"}))
