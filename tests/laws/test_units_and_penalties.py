"""In any unit and with any penalty, the certificate is that of the public attributes.

For every convex model but support vector machines, which have a law of their own
(``test_units_and_costs``): the objective by its definition, from ``coef_`` and ``intercept_``, is
``certificate_.primal``; the certificate holds; and no descent from there finds less.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import separatrix as sx
from tests.laws.data import overlapping, table
from tests.registry import REGISTRY, Row, svm
from tests.registry.row import linear_parameters

SVM = {row.name for row in svm.ROWS}
#: The registry states the objective of these without their penalty.
FIXED = {"PolynomialRegression"}
UNITS = {"1e-8": 1e-8, "1": 1.0, "1e8": 1e8, "mixed": np.array([1e4, 1e8, 1e-4, 1e-4])}


def _penalty(row: Row) -> str | None:
    """The parameter that weighs the penalty."""
    given = row.make().get_params()
    known = (name for name in ("C", "alpha") if isinstance(given.get(name), float))
    name = next(known, None)
    return None if row.name in FIXED or name is None or np.isinf(given[name]) else name


def _cases() -> list[Any]:
    found = []
    for row in REGISTRY:
        if row.objective is None or row.name in SVM or row.parameters is not linear_parameters:
            continue
        for classes in row.classes if row.task == "classification" else (0,):
            for value in (None,) if _penalty(row) is None else (1e-6, None, 1e6):
                label = f"{row.name}-{classes}-{value or 'default'}"
                found.append(pytest.param(row, classes, value, id=label))
    return found


def _lowest(row: Row, model: Any, x: Any, y: Any) -> float:
    """Powell's descent from the solution, in units of the columns and of the scores."""
    coef, intercept = row.parameters(model, x, y)
    scores = x @ np.transpose(coef) + intercept
    size = np.abs(scores - scores.mean(axis=0)).max() or 1.0
    unit, free = 0.1 * size / x.std(axis=0), model.get_params().get("fit_intercept", True)
    unit = unit * np.isfinite(getattr(model, "lambda_", 1.0))  # columns that were pruned stay out

    def value(step: Any) -> float:
        move = step[: np.size(coef)].reshape(np.shape(coef)) * unit
        shift = 0.1 * size * step[np.size(coef) :].reshape(np.shape(intercept)) * free
        middle = np.sum(move * x.mean(axis=0), axis=-1)  # columns turn about their means
        moved = intercept + shift - middle * free
        return float(row.objective(model, coef + move, moved, x, y))  # type: ignore[misc]

    start = np.zeros(np.size(coef) + np.size(intercept))
    return float(minimize(value, start, method="Powell", options={"maxiter": 2}).fun)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("row", "classes", "penalty"), _cases())
def test_the_returned_parameters_are_the_certified_minimum(
    row: Row, classes: int, penalty: float | None, unit: str
) -> None:
    x, y = overlapping(row, classes)
    x = x * UNITS[unit]
    model = row.make()
    if penalty is not None:
        model.set_params(**{_penalty(row): penalty})
    certificate = model.fit(x, y).certificate_
    value = row.objective(model, *row.parameters(model, x, y), x, y)  # type: ignore[misc]
    allowed = 1e-6 * abs(value) + certificate.rounding
    assert certificate.holds, str(certificate)
    assert abs(certificate.primal - value) <= allowed
    if np.shape(model.coef_)[-1] == x.shape[1]:  # not those of powers
        assert _lowest(row, model, x, y) >= value - allowed


LOGISTIC = [(l1, k, apart) for l1 in (0.0, 0.5, 1.0) for k in (2, 3) for apart in (True, False)]


def _classes(k: int, *, apart: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(24, 3)) + 0.5
    score = x @ [1.0, -2.0, 0.5]
    y = np.digitize(score, np.quantile(score, np.arange(1, k) / k))
    if not apart:
        mixed = rng.permutation(24)[:5]
        y[mixed] = (y[mixed] + 1) % k
    return x, y


@pytest.mark.parametrize(("l1_ratio", "k", "apart"), LOGISTIC)
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e4, 1e8])
def test_logistic_regression_of_any_unit_and_cost(
    l1_ratio: float, k: int, apart: bool, C: float
) -> None:
    """Classes apart or not: what is returned has the objective that is certified."""
    row = next(row for row in REGISTRY if row.name == "LogisticRegression")
    x, y = _classes(k, apart=apart)
    for unit in (1e-8, 1.0, 1e4, 1e8):
        model = sx.LogisticRegression(C=C, l1_ratio=l1_ratio).fit(x * unit, y)
        certificate = model.certificate_
        parameters = row.parameters(model, x, y)
        value = row.objective(model, *parameters, x * unit, y)  # type: ignore[misc]
        assert certificate.holds, str(certificate)
        assert abs(certificate.primal - value) <= 1e-6 * value


@pytest.mark.parametrize(("l1_ratio", "power"), [(0.0, 2), (1.0, 1)])
@pytest.mark.parametrize("apart", [True, False])
def test_a_unit_of_all_columns_is_a_factor_of_the_cost(
    l1_ratio: float, power: int, apart: bool
) -> None:
    """x·s with C is x with C·s², or C·s of a lasso, and the objective in the unit of the norm."""
    x, y = _classes(2, apart=apart)
    for unit in (1e-6, 1e3, 1e6):
        scaled = sx.LogisticRegression(C=2.0, l1_ratio=l1_ratio, tol=1e-10).fit(x * unit, y)
        factor = unit**power
        plain = sx.LogisticRegression(C=2.0 * factor, l1_ratio=l1_ratio, tol=1e-10).fit(x, y)
        expected = plain.certificate_.primal / factor
        assert scaled.certificate_.primal == pytest.approx(expected, rel=1e-8)


def test_known_minima_of_logistic_regression() -> None:
    """By L-BFGS-B on the lasso's split variables, in logarithms of the objective."""
    x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]]) * 1e8
    for labels, least in (([0, 0, 1, 1], 3.946502e-7), ([0, 1, 0, 1], 5.86483e-7)):
        found = sx.LogisticRegression(C=1e4, l1_ratio=1.0).fit(x, labels).certificate_
        assert found.holds
        assert found.primal == pytest.approx(least, rel=1e-4)


def test_perfect_fits_are_zero_up_to_the_rounding_that_is_stated() -> None:
    x, _ = table(REGISTRY[0], n=40)
    for unit in UNITS.values():
        for size in (1e-8, 1.0, 1e8):
            y = size * (x @ [1.5, -2.0, 0.5, 1.0] + 3.0)
            for model in (sx.LinearRegression(), sx.LeastAbsoluteRegressor()):
                certificate = model.fit(x * unit, y).certificate_
                residual = y - model.predict(x * unit)
                value = max(0.5 * float(residual @ residual), float(np.abs(residual).sum()))
                assert certificate.holds
                assert certificate.primal <= certificate.rounding
                assert "The objective is zero up to rounding errors of" in str(certificate)
                if isinstance(model, sx.LeastAbsoluteRegressor):
                    assert value <= 10.0 * certificate.rounding
