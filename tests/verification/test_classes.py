"""Models of classes and support vector regression: proved where honest, refuted where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import separatrix as sx
from tests.verification.test_linear import refuted

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 3)) * [1.0, 10.0, 0.1] + [3.0, 50.0, 0.0]
SCORE = X @ [1.0, 0.2, -10.0] - 13.0 + 2.0 * rng.normal(size=70)
TWO, THREE = np.where(SCORE > 0, "a", "b"), np.digitize(SCORE, [-1.0, 1.0])
APART = (X[:, 0] > 3.0).astype(int)

MODELS: dict[str, tuple[Any, Any]] = {
    "svc": (sx.SVC(), TWO),
    "svc standardized": (sx.SVC(standardize=True, C=10.0, class_weight="balanced"), TWO),
    "svc pairs": (sx.SVC(standardize=True), THREE),
    "svc polynomial": (sx.SVC(kernel="poly", degree=2, standardize=True), TWO),
    "svc hard margin": (sx.SVC(kernel="linear", C=np.inf), APART),
    "svr": (sx.SVR(standardize=True, epsilon=0.3), SCORE),
    "linear svc": (sx.LinearSVC(standardize=True), TWO),
    "linear svc hinge": (sx.LinearSVC(loss="hinge", standardize=True), TWO),
    "linear svr": (sx.LinearSVR(epsilon=0.2, standardize=True), SCORE),
    "logistic": (sx.LogisticRegression(), TWO),
    "logistic without penalty": (sx.LogisticRegression(C=np.inf), THREE),
    "logistic lasso": (sx.LogisticRegression(C=0.1, l1_ratio=1.0, standardize=True), TWO),
}


@pytest.fixture(params=MODELS, scope="module")
def case(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    model, y = MODELS[request.param]
    return model.fit(X, y), y


def test_fits_are_proved(case: tuple[Any, Any]) -> None:
    model, y = case
    found = sx.verify(model, X, y)
    assert found.verdict == "proved", str(found)


def test_tampered_coefficients_are_refuted(case: tuple[Any, Any]) -> None:
    model, y = case
    kernel = hasattr(model, "expansions_")
    numbers = model.expansions_[0].weights if kernel else model.coef_
    flat = numbers.reshape(-1)
    at = int(np.abs(flat).argmax())
    honest = flat[at]
    flat[at] *= 1.0 + 1e-6
    assert refuted(sx.verify(model, X, y))
    flat[at] = honest


def test_another_table_is_refuted(case: tuple[Any, Any]) -> None:
    model, y = case
    assert refuted(sx.verify(model, X[1:], y[1:]))
    wrong = y.copy()
    other = int(np.flatnonzero(y != y[0])[0])
    wrong[0] = y[other]
    assert refuted(sx.verify(model, X, wrong))


def test_rows_that_a_claim_does_not_depend_on() -> None:
    """The claim is on the objective: a row far from its margin has no part in it."""
    model = sx.SVC().fit(X, TWO)
    other = sorted(set(range(len(X))) - set(model.support_.tolist()))[0]
    changed = X.copy()
    changed[other, 1] *= 1.0 + 1e-9
    assert sx.verify(model, changed, TWO).verdict == "proved"


def test_perceptrons_by_exact_signs() -> None:
    for y in (APART, THREE):
        model = sx.Perceptron().fit(X, y)
        assert sx.verify(model, X, y).verdict == "proved"
    model = sx.Perceptron(order="given", max_epochs=2000, standardize=True).fit(X, APART)
    swapped = APART.copy()
    swapped[0] = 1 - swapped[0]
    assert refuted(sx.verify(model, X, swapped))


def test_unknown_classes_and_models_are_refused() -> None:
    model = sx.SVC().fit(X, TWO)
    with pytest.raises(sx.InputError, match="class 'z'"):
        sx.verify(model, X, np.append(TWO[1:], "z"))
    process = sx.KNeighborsRegressor().fit(X, SCORE)
    with pytest.raises(sx.InputError, match="no claim"):
        sx.verify(process, X, SCORE)
    with pytest.raises(sx.InputError, match="columns"):
        sx.verify(model, X[:, :2], TWO)
