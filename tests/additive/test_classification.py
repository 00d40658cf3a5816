"""Additive classification against SciPy's optimizers, dense algebra and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

import separatrix as sx
from separatrix.additive.base import AdditiveModel
from tests.registry import objectives as of

from .test_regression import dense


def wavy(n: int = 400, d: int = 3, seed: int = 0):
    """Log odds of a sine and a line, and columns of no use."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (n, d))
    p = expit(3.0 * np.sin(2.0 * x[:, 0]) + x[:, 1])
    return x, (rng.uniform(size=n) < p).astype(int)


def three(n: int = 300, seed: int = 1):
    """Three classes along a column, of which a fifth are wrong."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (n, 2))
    code = np.digitize(x[:, 0], [-0.7, 0.9])
    return x, np.where(rng.uniform(size=n) < 0.2, rng.integers(0, 3, n), code)


def terms(model: AdditiveModel, x: np.ndarray):
    """Coordinates of the rows with a penalty, their λ and b, of each output."""
    z, _ = dense(model, x)
    sizes = [size for term in model.terms_ for _, size in term.basis.blocks]
    penalty = np.repeat(np.concatenate([t.penalties for t in model.terms_]), sizes, axis=0)
    return z, penalty, np.concatenate([t.coordinates for t in model.terms_])


@pytest.mark.parametrize("data", [wavy, three])
def test_the_coefficients_minimize_the_penalized_loss(data) -> None:
    x, y = data()
    model = sx.AdditiveClassifier(n_knots=5).fit(x, y)
    z, penalty, b = terms(model, x)
    inside = np.isfinite(penalty)
    k = penalty.shape[1]

    def loss(theta: np.ndarray) -> float:
        coef = np.zeros(penalty.shape)
        coef[inside] = theta[k:]
        f = z @ coef + theta[:k]
        if k == 1:
            rows = np.logaddexp(0.0, np.where(y == 1, -f[:, 0], f[:, 0]))
        else:
            rows = np.logaddexp.reduce(f, axis=1) - f[np.arange(len(y)), y]
        return float(rows.sum() + 0.5 * (penalty[inside] * theta[k:] ** 2).sum())

    best = optimize.minimize(loss, np.zeros(k + int(inside.sum())), method="BFGS")
    here = np.concatenate([np.atleast_1d(model.intercept_), b[inside]])
    assert loss(here) == pytest.approx(model.certificate_.primal, rel=1e-10)
    assert loss(here) <= best.fun + 1e-9
    assert loss(here) == pytest.approx(best.fun, rel=1e-5)
    assert model.certificate_.holds


def test_the_penalties_maximize_the_evidence_of_the_working_response() -> None:
    x, y = wavy()
    model = sx.AdditiveClassifier(n_knots=5).fit(x, y)
    z, _, _ = terms(model, x)
    blocks = np.unique(dense(model, x)[1], return_inverse=True)[1]
    f = model.decision_function(x)
    w = expit(f) * expit(-f)
    response = f + (y - expit(f)) / w

    def criterion(rho: np.ndarray) -> float:
        """−2 log of the restricted likelihood with noise of variance 1/w."""
        v = np.diag(1.0 / w) + (z * np.exp(-rho)[blocks]) @ z.T
        inverse = np.linalg.inv(v)
        ones = np.ones(len(y))
        r = response - ones @ inverse @ response / (ones @ inverse @ ones)
        logs = np.linalg.slogdet(v)[1] + np.log(ones @ inverse @ ones)
        return float(logs + r @ inverse @ r)

    rho = np.log(np.concatenate([t.penalties[:, 0] for t in model.terms_]))
    finite, here = np.isfinite(rho), np.minimum(rho, 25.0)
    at = criterion(here)
    for k in np.flatnonzero(finite):
        for step in (-0.5, 0.5):
            assert criterion(here + step * (np.arange(len(rho)) == k)) >= at - 1e-3


def test_a_monotone_curve_is_the_minimum_under_its_constraints() -> None:
    x, y = wavy(200, 2)
    model = sx.AdditiveClassifier(n_knots=4, monotone={"x0": 1}).fit(x, y)
    assert model.certificate_.holds
    assert (np.diff(model.curve("x0").values) >= -1e-9).all()
    z, penalty, b = terms(model, x)
    inside = np.isfinite(penalty[:, 0])
    z, penalty = z[:, inside], penalty[inside, 0]
    transform = model.terms_[0].basis.transform
    rows = np.zeros((len(transform) - 1, len(inside)))
    rows[:, : transform.shape[1]] = np.diff(transform, axis=0)
    rows = rows[:, inside]
    sign = np.where(y == 1, 1.0, -1.0)

    def loss(theta: np.ndarray) -> float:
        f = z @ theta[1:] + theta[0]
        return float(np.logaddexp(0.0, -sign * f).sum() + 0.5 * penalty @ theta[1:] ** 2)

    best = optimize.minimize(
        loss, np.r_[model.intercept_, 0.9 * b[inside, 0]], method="SLSQP",
        constraints={"type": "ineq", "fun": lambda t: rows @ t[1:]}, options={"maxiter": 500},
    )  # fmt: skip
    assert model.certificate_.primal == pytest.approx(best.fun, rel=1e-6)


def test_curves_bend_where_the_log_odds_do() -> None:
    x, y = wavy(2_000, 4, seed=2)
    model = sx.AdditiveClassifier().fit(x, y)
    wave, line, *noise = (float(term.freedom[0]) for term in model.terms_)
    assert wave > 4.0
    assert line == pytest.approx(1.0, abs=0.6)
    assert sum(noise) < 2.5
    curve = model.curve("x0")
    truth = 3.0 * np.sin(2.0 * curve.x)
    shift = np.mean(3.0 * np.sin(2.0 * x[:, 0]))
    assert np.abs(curve.values - truth + shift).mean() < 0.4
    inside = (curve.band[:, 0] < truth - shift) & (truth - shift < curve.band[:, 1])
    assert inside.mean() > 0.9
    assert model.summary().p_values[0] < 1e-6


def test_each_of_several_classes_has_its_own_curves() -> None:
    x, y = three(600)
    names = np.array(["low", "middle", "high"])[y]
    model = sx.AdditiveClassifier().fit(x, names)
    middle = model.curve("x0", output="middle").values
    assert middle[100] > max(middle[0], middle[-1]) + 1.0
    assert model.summary().names[:3] == ("x0, high", "x0, low", "x0, middle")
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)
    with pytest.raises(sx.InputError, match="not one of the classes"):
        model.curve("x0")
    with pytest.raises(sx.InputError, match="makes others fall"):
        sx.AdditiveClassifier(monotone={"x0": 1}).fit(x, names)


def test_the_pair_that_matters_is_found() -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(-2.0, 2.0, (1_500, 5))
    y = rng.uniform(size=1_500) < expit(2.0 * x[:, 1] * x[:, 3])
    model = sx.AdditiveClassifier(n_knots=8, interactions=1).fit(x, y)
    assert model.terms_[-1].name == "x1 × x3"
    assert model.score(x, y) > sx.AdditiveClassifier(n_knots=8).fit(x, y).score(x, y) + 0.15


@pytest.mark.parametrize("classes", [2, 3])
def test_separable_classes_have_a_finite_certified_fit(classes: int) -> None:
    x = np.random.default_rng(0).standard_normal((90, 3))
    y = np.digitize(x[:, 0], [-0.4, 0.6][: classes - 1])
    model = sx.AdditiveClassifier(n_knots=6).fit(x, y)
    assert model.certificate_.holds
    assert np.abs(model.decision_function(x)).max() < 200.0
    assert model.score(x, y) == 1.0
    assert of.additive_classes(
        model, *of.additive_parameters(model, x, y), x, y
    ) == pytest.approx(model.certificate_.primal)  # fmt: skip


def test_class_weights_multiply_those_of_rows() -> None:
    x, y = wavy(200)
    weighted = sx.AdditiveClassifier(n_knots=5, class_weight={0: 2.0}).fit(x, y)
    repeated = sx.AdditiveClassifier(n_knots=5).fit(
        np.concatenate([x, x[y == 0]]), np.concatenate([y, y[y == 0]])
    )
    np.testing.assert_allclose(
        weighted.decision_function(x), repeated.decision_function(x), rtol=1e-6, atol=1e-6
    )
