"""One clear sentence for input that cannot be used."""

from __future__ import annotations

import numpy as np
import pytest

from tests.laws.data import table
from tests.registry import REGISTRY, Row

every = pytest.mark.parametrize("row", REGISTRY, ids=lambda row: row.name)


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers(row: Row, bad: float) -> None:
    if row.gaps and np.isnan(bad):
        pytest.skip("NaN is a gap here, and gaps have tests of their own")
    x, y = table(row)
    x[3, 1] = bad
    with pytest.raises(ValueError, match=r"(?i)nan|infinit"):
        row.make().fit(x, y)


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


@every
def test_constant_and_duplicate_columns_are_normal(row: Row) -> None:
    x, y = table(row)
    wide = np.column_stack([x, np.full(len(x), 5.0), x[:, 0]])
    model = row.make().fit(wide, y)
    prediction = model.predict(wide)
    assert len(prediction) == len(x)
    if row.task == "regression":
        assert np.isfinite(prediction).all()
        assert not row.learns or np.corrcoef(prediction, y)[0, 1] > 0.9


@every
def test_huge_and_tiny_numbers(row: Row) -> None:
    x, y = table(row)
    scaled = x * np.array([1e-8, 1e8, 1.0, 1e-8])
    prediction = row.make().fit(scaled, y).predict(scaled)
    if row.task == "regression":
        assert np.isfinite(prediction).all()
