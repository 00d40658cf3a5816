"""Models of classes and support vector regression: proved where honest, refuted where not."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import separatrix as sx
from separatrix.catalogue import of_task
from tests.verification.test_linear import refuted

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 3)) * [1.0, 10.0, 0.1] + [3.0, 50.0, 0.0]
SCORE = X @ [1.0, 0.2, -10.0] - 13.0 + 2.0 * rng.normal(size=70)
TWO, THREE = np.where(SCORE > 0, "a", "b"), np.digitize(SCORE, [-1.0, 1.0])
MODEST = rng.normal(size=(60, 2))
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
    "logistic path": (sx.LogisticPath(), TWO),
    "logistic search": (sx.LogisticRegressionCV(cv=3), THREE),
    "lda": (sx.LinearDiscriminantAnalysis(), THREE),
    "qda": (sx.QuadraticDiscriminantAnalysis(), TWO),
    "gaussian naive bayes": (sx.GaussianNB(), THREE),
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


def _numbers(model: Any) -> Any:
    """An array that predictions use."""
    if hasattr(model, "expansions_"):
        return model.expansions_[0].weights
    if hasattr(model, "coef_"):
        return model.coef_
    return model.scores_.maps if hasattr(model.scores_, "maps") else model.scores_.scale


def test_tampered_coefficients_are_refuted(case: tuple[Any, Any]) -> None:
    model, y = case
    flat = _numbers(model).reshape(-1)
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


def test_coefficients_averaged_over_folds_claim_nothing() -> None:
    model = sx.LogisticRegressionCV(cv=3, refit=False).fit(X, TWO)
    found = sx.verify(model, X, TWO)
    assert found.verdict == "consistent"
    assert "averages over folds" in str(found)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_a_fraction_in_place_of_costs(y: Any) -> None:
    """ν-SVMs are SVMs of cost 1/ρ, or of the ε found, with coefficients that are ν of all costs."""
    w = 1.0 + np.arange(len(X)) % 3
    model = sx.NuSVC(nu=0.3, standardize=True).fit(X, y, sample_weight=w)
    assert sx.verify(model, X, y, weight=w).verdict == "proved"
    assert not sx.verify(model, X, y).holds
    model.nu = 0.35
    assert "ν" in refuted(sx.verify(model, X, y, weight=w))
    numbers = sx.NuSVR(C=3.0, nu=0.4).fit(X, SCORE)
    assert sx.verify(numbers, X, SCORE).verdict == "proved"
    numbers.epsilon_ *= 1.01
    assert not sx.verify(numbers, X, SCORE).holds


@pytest.mark.parametrize("options", [{}, {"nu": 0.1, "standardize": True}, {"kernel": "linear"}])
def test_one_class(options: dict[str, Any]) -> None:
    w = 1.0 + np.arange(len(X)) % 3
    model = sx.OneClassSVM(**options).fit(X, sample_weight=w)
    assert sx.verify(model, X, weight=w).verdict == "proved"
    assert not sx.verify(model, X).holds
    binary = model.svms_[0]
    model.svms_[0] = replace(binary, intercept=binary.intercept * (1.0 + 1e-3))
    assert {"objective", "duality gap"} <= set(refuted(sx.verify(model, X, weight=w)))
    model.svms_[0] = replace(binary, beta=binary.beta[::-1])
    assert not sx.verify(model, X, weight=w).holds
    model.nu *= 1.01
    assert "dual coefficients" in refuted(sx.verify(model, X, weight=w))


def test_one_class_around_zero_claims_no_margin() -> None:
    model = sx.OneClassSVM(kernel="linear").fit(X - X.mean(axis=0))
    found = sx.verify(model, X - X.mean(axis=0))
    assert found.holds
    assert "Zero is among the rows" in str(found)


@pytest.mark.parametrize("standardize", [False, True])
def test_clusters(standardize: bool) -> None:
    model = sx.KMeans(3, standardize=standardize, random_state=0).fit(X)
    assert sx.verify(model, X).verdict == "proved"
    assert refuted(sx.verify(model, X[1:]))
    model.cluster_centers_[0, 1] *= 1.0 + 1e-6
    assert "KKT conditions" in refuted(sx.verify(model, X))
    model.labels_[:] = (model.labels_ + 1) % 3
    assert "assignment" in refuted(sx.verify(model, X))


def test_boxes() -> None:
    model = sx.BoxClassifier().fit(X, APART)
    assert sx.verify(model, X, APART).verdict == "proved"
    assert "boxes" in refuted(sx.verify(model, X, 1 - APART))
    searched = sx.verify(sx.BoxClassifier().fit(X, TWO), X, TWO)
    assert searched.verdict == "consistent"
    assert "in the part that was checked" in searched.headline


@pytest.mark.filterwarnings("ignore")
def test_degenerate_tables_are_not_refuted(rng: np.random.Generator) -> None:
    constant, far = np.column_stack([X, np.full(70, 0.1)]), X + 1e6
    w = rng.integers(0, 3, size=70).astype(float)
    for model in (sx.LinearDiscriminantAnalysis(), sx.GaussianNB(), sx.SVC(standardize=True)):
        assert sx.verify(model.fit(constant, TWO), constant, TWO).holds
        assert sx.verify(model.fit(X, TWO, sample_weight=w), X, TWO, weight=w).holds
    assert sx.verify(sx.SVC(kernel="linear", C=0.1).fit(far, TWO), far, TWO).holds
    powers = np.vander(X[:, 0], 9)[:, :-1]
    assert sx.verify(sx.LinearDiscriminantAnalysis().fit(powers, TWO), powers, TWO).holds


def test_unknown_classes_and_models_are_refused() -> None:
    model = sx.SVC().fit(X, TWO)
    with pytest.raises(sx.InputError, match="class 'z'"):
        sx.verify(model, X, np.append(TWO[1:], "z"))
    process = sx.KNeighborsRegressor().fit(X, SCORE)
    with pytest.raises(sx.InputError, match="no claim"):
        sx.verify(process, X, SCORE)
    with pytest.raises(sx.InputError, match="columns"):
        sx.verify(model, X[:, :2], TWO)


TRUE = {
    "booleans": lambda y: y,
    "numbers": lambda y: y.astype(int),
    "words": lambda y: np.where(y, "true", "false"),
    "names": lambda y: y.astype(str),
}


@pytest.mark.parametrize("name", [d.name for d in of_task("classification") if d.verifier])
def test_truth_values_are_labels_however_a_table_writes_them(name: str, tmp_path: Path) -> None:
    """A model fitted to booleans is verified with every spelling of them, and refuted by others."""
    model = getattr(sx, name)()
    y = (MODEST[:, 0] > 0.0) ^ (MODEST[:, 1] > 1.0)
    frame = pd.DataFrame(MODEST, columns=["a", "b"])
    model.fit(frame, y)
    for spelling in TRUE.values():
        table = frame.assign(t=spelling(y))
        table.to_csv(tmp_path / "t.csv", index=False)
        for given in (table, tmp_path / "t.csv"):
            assert sx.verify(model, given, "t").holds
        assert sx.verify(model, MODEST, spelling(y)).holds
    table = frame.assign(t=y)
    table.to_parquet(tmp_path / "t.parquet")
    assert sx.verify(model, tmp_path / "t.parquet", "t").holds
    with pytest.raises(sx.InputError, match="does not know"):
        sx.verify(model, MODEST, np.where(y, "yes", "no"))
    other = y.copy()
    other[:9] = ~other[:9]
    assert not sx.verify(model, MODEST, other).holds


def test_weights_of_classes_that_are_truth_values() -> None:
    y = (MODEST[:, 0] > 0.0) ^ (MODEST[:, 1] > 1.0)
    model = sx.LogisticRegression(class_weight={False: 1.0, True: 3.0}).fit(MODEST, y)
    assert sx.verify(model, MODEST, y).verdict == "proved"


@pytest.mark.parametrize("labels", [[0, 0, 1, 1], [0, 1, 0, 1]])
def test_a_fit_far_from_its_minimum_is_not_proved_in_units_that_make_it_small(labels: Any) -> None:
    """An objective of 1e-6 that is twice its minimum: refuted, whatever the null model's loss."""
    x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]]) * 1e8
    model = sx.LogisticRegression(C=1e4, l1_ratio=1.0).fit(x, labels)
    assert sx.verify(model, x, labels).verdict == "proved"
    gap = next(c for c in sx.verify(model, x, labels).claims if c.name == "duality gap")
    assert "of it; the tolerance is 1e-08" in gap.sentence
    model.coef_ *= 2.0
    model.intercept_ *= 2.0
    objective = float(np.abs(model.coef_).sum())
    model.certificate_ = replace(model.certificate_, primal=objective, dual=objective, gap=0.0)
    assert "duality gap" in refuted(sx.verify(model, x, labels))


@pytest.mark.parametrize(("unit", "cost"), [(1e6, 1.0), (1.0, 1e12), (1e8, 1.0), (1e6, 1e9)])
def test_gaps_of_support_vectors_are_compared_with_the_objective(unit: float, cost: float) -> None:
    """Costs far above what a separable table needs: the objective is that of the hard margin."""
    x, y = unit * np.array([[1.0, 2.0], [-1.0, 2.0], [-1.0, -2.0], [3.0, 1.0]]), [-1, -1, 1, 1]
    for model in (
        sx.SVC(kernel="linear", C=cost),
        sx.LinearSVC(loss="hinge", C=cost),
        sx.LinearSVC(C=cost),
    ):
        assert sx.verify(model.fit(x, y), x, y).holds, model
        worse = copy.deepcopy(model)
        if hasattr(model, "svms_") and model.__class__ is sx.SVC:
            worse.svms_[0].beta[:] *= 0.5
            worse.dual_coef_ = 0.5 * model.dual_coef_
            worse.expansions_[0].weights[:] *= 0.5
        else:
            worse.coef_ = 0.5 * model.coef_
        assert sx.verify(worse, x, y).verdict == "refuted", worse
