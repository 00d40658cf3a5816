"""One clear sentence for input that cannot be used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import separatrix as sx
from tests.laws.data import fitted, outcome, table
from tests.registry import REGISTRY, Row

every = pytest.mark.parametrize("row", REGISTRY, ids=lambda row: row.name)


@pytest.mark.parametrize(
    ("row", "bad"),  # where NaN is a missing value, missing values have tests of their own
    [
        pytest.param(row, bad, id=f"{bad}-{row.name}")
        for bad in (np.nan, np.inf, -np.inf)
        for row in REGISTRY
        if not (row.missing and np.isnan(bad))
    ],
)
def test_values_that_are_no_numbers(row: Row, bad: float) -> None:
    x, y = table(row)
    x[3, 1] = bad
    with pytest.raises(sx.InputError, match=r"(?i)nan|infinit") as refusal:
        row.make().fit(x, y)
    assert "\n" not in str(refusal.value)
    assert "sklearn" not in str(refusal.value)
    model = fitted(row.name)
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            with pytest.raises(sx.InputError, match=r"row 4, column 'x1'.*(NaN|infinity)"):
                getattr(model, method)(x)


@every
def test_weights_that_cannot_be(row: Row) -> None:
    x, y = table(row)
    for weights in (np.zeros(len(x)), -np.ones(len(x)), np.full(len(x), np.nan), np.ones(3)):
        with pytest.raises(ValueError, match=r"(?i)sample_weight|weights|NaN"):
            row.make().fit(x, y, sample_weight=weights)


@every
def test_lengths_that_differ(row: Row) -> None:
    x, y = table(row)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        row.make().fit(x, y[:-1])


def _assert_fits(row: Row, model: Any, x: Any, y: Any, plain: Any) -> None:
    """Predictions are finite and follow the target; classes about as well as ``plain`` ones do."""
    prediction = model.predict(x)
    assert len(prediction) == len(x)
    if row.task == "regression":
        assert np.isfinite(prediction).all()
        assert not row.learns or np.corrcoef(prediction, y)[0, 1] > 0.9
        return
    assert np.isfinite(outcome(row, model, x)).all()
    allowed = {*model.classes_.tolist(), model.get_params().get("reject_label")}
    assert set(np.unique(prediction)) <= allowed
    assert not row.converges or np.mean(prediction == y) >= np.mean(plain == y) - 0.15


@every
def test_constant_and_duplicate_columns_are_normal(row: Row) -> None:
    x, y = table(row)
    wide = np.column_stack([x, np.full(len(x), 5.0), x[:, 0]])
    plain = row.make().fit(x, y).predict(x)
    _assert_fits(row, row.make().fit(wide, y), wide, y, plain)


def _clear(model: Any, x: Any) -> Any:
    """Rows whose class is not a tie but for rounding, as on a margin beside a level plane."""
    scores = np.asarray(model.decision_function(x)) if hasattr(model, "decision_function") else x
    if scores is x or scores.ndim < 2:
        return np.ones(len(x), dtype=bool)
    best = np.sort(scores, axis=1)
    return best[:, -1] - best[:, -2] > 1e-12 * np.abs(scores).max()


@every
def test_huge_and_tiny_numbers(row: Row) -> None:
    x, y = table(row)
    scaled = x * np.array([1e-8, 1e8, 1.0, 1e-8])
    model, plain = row.make().fit(scaled, y), row.make().fit(x, y).predict(x)
    if row.task == "regression":
        assert np.isfinite(model.predict(scaled)).all()
    elif row.unit_free:
        clear = _clear(model, scaled)
        assert np.mean((model.predict(scaled) == plain)[clear]) >= 0.95
    assert np.isfinite(outcome(row, model, scaled)).all()
