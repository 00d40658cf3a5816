"""Sigmoid outputs with squared error: the objective, its local minimum, multilabel targets."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from scipy.special import expit

import separatrix as sx
from separatrix.logistic.sigmoid_regression import SigmoidSquares

RNG = np.random.default_rng(0)
X = RNG.standard_normal((150, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
SCORE = (X - [0.0, 5.0, 1.0]) @ [1.0, 0.1, -8.0]
Y = SCORE + RNG.logistic(size=150) > 0
LABELS = np.column_stack([Y, X[:, 1] + 4 * RNG.standard_normal(150) > 5, RNG.random(150) < 0.3])


def objective(b: np.ndarray, r: np.ndarray, alpha: float) -> float:
    s, v = X.std(axis=0), 4 * r.mean() * (1 - r.mean())
    return 0.5 * np.mean((expit(b[0] + X @ b[1:]) - r) ** 2) + 0.5 * alpha * v * np.sum(
        (s * b[1:]) ** 2
    )


def test_derivatives_are_those_of_the_value(rng: np.random.Generator) -> None:
    z = np.column_stack([np.ones(150), (X - X.mean(axis=0)) / X.std(axis=0)])
    problem = SigmoidSquares(z, Y.astype(float), rng.uniform(0, 0.02, 150), 0.01)
    b = rng.standard_normal(4)
    assert_allclose(
        problem.gradient(b), optimize.approx_fprime(b, problem.value, 1e-7), rtol=1e-4, atol=1e-7
    )
    rows = [
        optimize.approx_fprime(b, lambda c, i=i: problem.gradient(c)[i], 1e-7) for i in range(4)
    ]
    assert_allclose(problem.hessian(b), rows, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 0.1])
def test_no_neighbor_and_no_other_solver_is_lower(rng, alpha) -> None:
    model = sx.SigmoidRegressionClassifier(alpha).fit(X, Y)
    b = np.r_[model.intercept_, model.coef_[0]]
    best = objective(b, Y, alpha)
    assert_allclose(model.certificate_.primal, best, rtol=1e-9)
    assert model.certificate_.holds
    peer = optimize.minimize(objective, np.zeros(4), (Y, alpha), method="BFGS", tol=1e-9)
    assert best <= peer.fun + 1e-8
    for size in (1e-4, 1e-2):
        for _ in range(20):
            assert objective(b + size * rng.standard_normal(4) / [1, 1, 10, 0.1], Y, alpha) >= best


def test_multilabel_targets_are_fitted_one_by_one(tmp_path) -> None:
    model = sx.SigmoidRegressionClassifier().fit(X, LABELS.astype(int))
    for j in range(3):
        alone = sx.SigmoidRegressionClassifier().fit(X, LABELS[:, j])
        assert_allclose(model.coef_[j], alone.coef_[0], rtol=1e-8)
    p = model.predict_proba(X)
    assert p.shape == (150, 3)
    assert not np.allclose(p.sum(axis=1), 1)
    assert ((p > 0.5) == model.predict(X)).all()
    assert_allclose(p, model.outputs(X))
    sx.save(model, tmp_path / "m.sx")
    assert (sx.load(tmp_path / "m.sx").predict(X) == model.predict(X)).all()


def test_constant_labels() -> None:
    both = np.column_stack([np.zeros(150), np.ones(150), Y]).astype(int)
    model = sx.SigmoidRegressionClassifier().fit(X, both)
    assert_allclose(model.predict(X)[:, :2], both[:, :2])
    assert np.isfinite(model.coef_).all()


def test_separable_classes_have_finite_coefficients() -> None:
    y = np.where(X[:, 0] > 0, "r", "l")
    model = sx.SigmoidRegressionClassifier().fit(X, y)
    assert model.score(X, y) > 0.97
    p = model.predict_proba(1e4 * X)
    assert np.isfinite(p).all()


def test_distant_wrong_labels_matter_less_than_under_least_squares() -> None:
    x = np.r_[np.linspace(-2, -0.2, 30), np.linspace(0.2, 2, 30), np.full(4, 7.0)][:, None]
    y = np.r_[np.zeros(30), np.ones(30), np.zeros(4)]
    model = sx.SigmoidRegressionClassifier(1e-4).fit(x, y)
    assert (model.predict(x[:60]) == y[:60]).all()
    assert (sx.LeastSquaresClassifier().fit(x, y).predict(x[:60]) != y[:60]).sum() > 2


def test_rare_classes_have_outputs_of_their_own() -> None:
    rng = np.random.default_rng(1)
    y = np.arange(600) % 100
    x = 3.0 * rng.standard_normal((100, 8))[y] + rng.standard_normal((600, 8))
    model = sx.SigmoidRegressionClassifier().fit(x, y)
    assert model.certificate_.holds
    assert model.score(x, y) > 0.9


def test_certificate_and_refusals() -> None:
    assert "not convex" in str(sx.SigmoidRegressionClassifier().fit(X, Y).certificate_)
    with pytest.raises(sx.InputError, match="alpha"):
        sx.SigmoidRegressionClassifier(-1).fit(X, Y)
    with pytest.raises(ValueError, match="0 and 1"):
        sx.SigmoidRegressionClassifier().fit(X, LABELS.astype(int) * [1, 2, 3])
    with pytest.warns(sx.SeparatrixWarning, match="SEP003"):
        sx.SigmoidRegressionClassifier(max_iter=1).fit(X, Y)


def test_a_table_with_names() -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=np.where(Y, "yes", "no"))
    model = sx.SigmoidRegressionClassifier().fit(sx.scan(frame, target="y"))
    plain = sx.SigmoidRegressionClassifier().fit(X, Y)
    assert list(model.classes_) == ["no", "yes"]
    assert_allclose(model.decision_function(frame), plain.decision_function(X), rtol=1e-7)


@pytest.mark.parametrize(("codes", "row"), [((-1, 1), 1), ((1, 2), 3)])
def test_several_labels_of_other_codes_are_refused(codes, row):
    x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    right = np.column_stack([x[:, 0] > 0, x[:, 0] > 1.5])
    with pytest.raises(sx.InputError, match=rf"row {row}: .*neither 0 nor 1"):
        sx.SigmoidRegressionClassifier().fit(x, np.where(right, codes[1], codes[0]))


@pytest.mark.parametrize("codes", [(0, 1), (-1, 1), (1, 2)])
def test_no_other_classifier_takes_several_labels_in_silence(codes):
    x = np.random.default_rng(0).standard_normal((40, 2))
    y = np.where(x > 0, codes[1], codes[0])
    for make in (sx.LeastSquaresClassifier, sx.LogisticRegression, sx.GradientDescent):
        with pytest.raises(ValueError):
            make().fit(x, y)


def two_minima():
    """Zeros on both sides of the ones: the mean is that of a few far away."""
    rng = np.random.default_rng(0)
    groups = (-40 + rng.standard_normal(8), rng.standard_normal(30), 5 + rng.standard_normal(25))
    return np.concatenate(groups)[:, None], np.repeat([0, 1, 0], [8, 30, 25])


@pytest.mark.parametrize("solver", ["annealing", "evolution"])
def test_a_search_finds_the_lower_of_two_minima(solver) -> None:
    x, y = two_minima()
    local = sx.SigmoidRegressionClassifier(alpha=1e-4).fit(x, y)
    model = sx.SigmoidRegressionClassifier(alpha=1e-4, solver=solver, max_evaluations=3000)
    model.fit(x, y)
    z, p = (x[:, 0] - x.mean()) / x.std(), y.mean()
    slopes, shifts = np.meshgrid(np.linspace(-25, 25, 201), np.linspace(-25, 25, 201))
    outputs = 1 / (1 + np.exp(-(slopes[..., None] * z + shifts[..., None])))
    grid = 0.5 * ((outputs - y) ** 2).mean(axis=2) + 0.5e-4 * 4 * p * (1 - p) * slopes**2
    assert model.certificate_.primal <= grid.min() < 0.7 * local.certificate_.primal
    assert model.certificate_.primal == pytest.approx(grid.min(), rel=0.05)
    assert model.certificate_.holds
    assert f"evaluations by {solver}" in str(model.certificate_)
    assert "another local minimum may be lower" in str(model.certificate_)
    again = sx.SigmoidRegressionClassifier(alpha=1e-4, solver=solver, max_evaluations=3000)
    assert np.array_equal(again.fit(x, y).coef_, model.coef_)


def test_searches_that_do_not_exist_are_refused() -> None:
    x, y = two_minima()
    with pytest.raises(sx.InputError, match="Did you mean 'annealing'"):
        sx.SigmoidRegressionClassifier(solver="anealing").fit(x, y)
    with pytest.raises(sx.InputError, match="max_evaluations"):
        sx.SigmoidRegressionClassifier(solver="evolution", max_evaluations=0).fit(x, y)
