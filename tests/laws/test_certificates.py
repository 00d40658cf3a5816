"""Certificates recomputed by separate code: the objective by its definition, from the rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.optimize.convex import Certificate
from tests.laws.data import overlapping, table
from tests.registry import REGISTRY, Row

CONVEX = [
    pytest.param(row, classes, id=f"{row.name}-{classes}")
    for row in REGISTRY
    if row.objective is not None
    for classes in (row.classes if row.task == "classification" else (0,))
]
certified = pytest.mark.parametrize(("row", "classes"), CONVEX)


@certified
def test_the_primal_value_is_the_objective(row: Row, classes: int) -> None:
    x, y = overlapping(row, classes)
    model = row.make().fit(x, y)
    value = row.objective(model, *row.parameters(model, x, y), x, y)
    assert_allclose(model.certificate_.primal, value, rtol=1e-6)
    assert model.certificate_.holds, str(model.certificate_)


@certified
def test_no_other_parameters_fall_below_the_dual_value(row: Row, classes: int) -> None:
    x, y = overlapping(row, classes)
    model = row.make().fit(x, y)
    coef, intercept = row.parameters(model, x, y)
    dual = model.certificate_.dual
    if np.isnan(dual):
        dual = model.certificate_.primal
    bound = dual - 1e-9 * abs(model.certificate_.primal)
    rng = np.random.default_rng(5)
    fixed = not model.get_params().get("fit_intercept", True)
    for size in (1e-6, 1e-4, 1e-2, 1.0):
        for _ in range(25):
            shift = 0.0 if fixed else size * rng.standard_normal(np.shape(intercept))
            other = coef + size * rng.standard_normal(np.shape(coef))
            assert row.objective(model, other, intercept + shift, x, y) >= bound


@pytest.mark.parametrize("row", REGISTRY, ids=lambda row: row.name)
def test_every_fit_has_a_certificate_in_words(row: Row) -> None:
    x, y = table(row)
    certificate = row.make().fit(x, y).certificate_
    words = str(certificate)
    assert len(words.split()) > 4
    assert "nan" not in words.lower().split()


def test_convex_models_are_all_enrolled() -> None:
    """A model whose certificate states a duality gap has its objective in the registry."""
    for row in REGISTRY:
        if row.objective is None and row.learns:
            x, y = overlapping(row, 2)
            assert np.isnan(row.make().fit(x, y).certificate_.dual), row.name


SHOWN = Certificate("Solved", primal=2.0, dual=2.0 - 1e-9, gap=1e-9, kkt=1e-9, tolerance=1e-6)


#: Every quantity that is not finite, but for a tolerance that anything meets.
NOT_FINITE = [*product(("gap", "kkt"), (np.nan, np.inf)), ("tolerance", np.nan)]


@pytest.mark.parametrize(("name", "bad"), NOT_FINITE)
def test_what_was_promised_and_is_not_finite_does_not_hold(name: str, bad: float) -> None:
    assert SHOWN.holds
    assert not replace(SHOWN, **{name: bad}).holds


def test_a_quantity_that_was_not_promised_may_be_absent_but_not_too_large() -> None:
    only_kkt = replace(SHOWN, gap=np.nan, dual=np.nan, promised=("kkt",))
    assert only_kkt.holds
    assert not replace(only_kkt, gap=1.0).holds
    assert Certificate("By construction", promised=()).holds
    assert not Certificate("Says nothing of itself").holds


def test_a_gap_counts_relative_to_the_objective() -> None:
    """Whatever the unit, a gap of the size of the objective does not hold."""
    for unit in (1e-300, 1e-13, 1.0, 1e13):
        large = replace(SHOWN, primal=2.0 * unit, dual=unit, gap=unit)
        assert not large.holds
        assert large.relative_gap == 0.5
        assert replace(large, dual=2.0 * unit, gap=1e-9 * unit).holds


def test_the_words_name_what_rounding_or_the_size_of_the_data_excuses() -> None:
    tiny = replace(SHOWN, primal=1e-20, dual=0.0, gap=1e-20)
    assert not tiny.holds
    rounded = replace(tiny, rounding=1e-19)
    assert rounded.holds
    assert "The objective is zero up to rounding errors of 1.0e-19." in str(rounded)
    within = replace(rounded, primal=1e-18, dual=1e-18 - 1e-20)
    assert within.holds
    assert "The gap is within the rounding errors of the objective, 1.0e-19." in str(within)
    scaled = replace(tiny, scale=3.0, scale_of="half the variance of the target")
    assert scaled.holds
    assert "The gap is 3.3e-21 of half the variance of the target, 3." in str(scaled)
    assert not replace(rounded, rounding=np.nan).holds
    assert not replace(rounded, rounding=np.inf).holds
    for plain in (SHOWN, tiny):
        assert "rounding" not in str(plain)
