"""Every estimator: the values of its formula are what it predicts."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri

from separatrix.formula.nodes import (
    Evaluation,
    Formula,
    GivenRows,
    NumberFormula,
    formula_of,
)
from separatrix.formula.values import NoFormula
from tests.laws.data import overlapping, points
from tests.registry import CLUSTERERS, HIERARCHIES, REGISTRY, Row

CASES = [
    (row, classes)
    for row in (*REGISTRY, *CLUSTERERS)
    for classes in ({"classification": (2, 3)}.get(row.task, (0,)))
]
LEVEL = 0.8


@cache
def fitted(row: Row, classes: int) -> tuple[Any, Any]:
    """The estimator on a small table, and rows near those it has seen."""
    rng = np.random.default_rng(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows: no convergence, separable classes
        if row.task == "clustering":
            x = points()
            model = row.make().fit(x)
        else:
            x, y = overlapping(row, classes)
            model = row.make().fit(x, y)
    return model, x if row.counts else np.concatenate([x, x + 0.5 * rng.normal(size=x.shape)])


def answers_of(formula: Formula, X: Any) -> dict[str, NDArray[Any]]:
    """What a formula says of rows, by the names of methods of estimators."""
    of = Evaluation(GivenRows(X), LEVEL)

    def columns(node: Any) -> NDArray[Any]:
        return np.asarray(of(node).array)

    if isinstance(formula, NumberFormula):
        mean = columns(formula.mean)
        found = {"predict": mean[:, 0] if formula.flat else mean}
        if formula.deviation is not None:
            found["std"] = columns(formula.deviation)
            found["predictive"] = mean + np.array([-1, 1]) * ndtri(0.5 + LEVEL / 2) * found["std"]
        if formula.interval is not None:
            found["predict_interval"] = columns(formula.interval)
        return found
    found = {"predict": formula.labels[columns(formula.chosen)[:, 0]]}
    for name, node in (
        ("predict_proba", formula.probabilities),
        ("decision_function", formula.scores),
        ("transform", formula.distance),
        ("predict_set", formula.members),
    ):
        if node is not None:
            found[name] = columns(node)
    return found


def answers_of_model(model: Any, X: Any, names: Any) -> dict[str, NDArray[Any]]:
    """The same by the estimator."""
    found = {"predict": model.predict(X)}
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(X)
    if "transform" in names:
        found["transform"] = model.transform(X).min(axis=1)
    for name in ("predict_set", "predict_interval"):
        if name in names:
            found[name] = getattr(model, name)(X, level=LEVEL)
    if "std" in names:
        found["std"] = model.predict(X, return_std=True)[1]
        if found["predict"].ndim == 1:
            found["predictive"] = model.predictive(X).interval(LEVEL)
    return found


@pytest.mark.parametrize(
    ("row", "classes"), CASES, ids=lambda case: str(getattr(case, "name", case))
)
def test_the_formula_gives_what_the_estimator_predicts(row: Row, classes: int) -> None:
    model, x = fitted(row, classes)
    formula = formula_of(model)
    found = answers_of(formula, x)
    expected = answers_of_model(model, x, found)
    assert set(expected) <= set(found)
    for name, wanted in expected.items():
        value = found[name].reshape(wanted.shape)
        if wanted.dtype.kind != "f":
            np.testing.assert_array_equal(value, wanted, err_msg=name)
            continue
        finite = np.isfinite(wanted)
        np.testing.assert_array_equal(np.isfinite(value), finite, err_msg=name)
        unit = float(np.median(np.abs(wanted[finite]))) if finite.any() else 0.0
        np.testing.assert_allclose(
            value[finite], wanted[finite], rtol=1e-9, atol=1e-9 * unit, err_msg=name
        )


@pytest.mark.parametrize("row", HIERARCHIES, ids=lambda row: row.name)
def test_what_predicts_nothing_has_no_formula(row: Row) -> None:
    with pytest.raises(NoFormula, match="predicts nothing for new rows"):
        formula_of(row.make().fit(points()))


def test_every_public_model_has_a_formula() -> None:
    """Classes that predict from rows; calibrations take scores and are part of other formulas."""
    import separatrix as sx

    classes = [each for name in sx.__all__ if isinstance(each := getattr(sx, name), type)]
    predicting = [each for each in classes if hasattr(each, "predict") and hasattr(each, "fit")]
    without = {each.__name__ for each in predicting if not hasattr(each, "formula")}
    assert without == {each for each in without if each.endswith("Calibration")}
