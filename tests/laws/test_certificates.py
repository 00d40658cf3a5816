"""Certificates recomputed by separate code: the objective by its definition, from the rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.laws.data import table
from tests.registry import REGISTRY, Row

certified = pytest.mark.parametrize(
    "row", [row for row in REGISTRY if row.objective is not None], ids=lambda row: row.name
)


@certified
def test_the_primal_value_is_the_objective(row: Row) -> None:
    x, y = table(row)
    model = row.make().fit(x, y)
    value = row.objective(model, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), x, y)
    assert_allclose(model.certificate_.primal, value, rtol=1e-7)
    assert model.certificate_.holds, str(model.certificate_)


@certified
def test_no_other_coefficients_fall_below_the_dual_value(row: Row) -> None:
    x, y = table(row)
    model = row.make().fit(x, y)
    coef, intercept = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    dual = model.certificate_.dual
    if np.isnan(dual):
        dual = model.certificate_.primal
    floor = dual - 1e-9 * abs(model.certificate_.primal)
    rng = np.random.default_rng(5)
    tied = not model.get_params().get("fit_intercept", True)
    for size in (1e-6, 1e-4, 1e-2, 1.0):
        for _ in range(25):
            shift = 0.0 if tied else size * rng.standard_normal()
            other = coef + size * rng.standard_normal(len(coef))
            assert row.objective(model, other, intercept + shift, x, y) >= floor


@pytest.mark.parametrize("row", REGISTRY, ids=lambda row: row.name)
def test_every_fit_has_a_certificate_in_words(row: Row) -> None:
    x, y = table(row)
    words = str(row.make().fit(x, y).certificate_)
    assert len(words.split()) > 4
    assert "nan" not in words.lower().split()
