"""Inference where some rows separate from others: what the others determine stays finite."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import separatrix as sx
from separatrix.logistic.logistic_regression import LogisticRegression

pytestmark = pytest.mark.filterwarnings("ignore::separatrix.SeparatrixWarning")


def rare_levels(n: int = 400, classes: int = 2, seed: int = 0):
    """Two numeric columns and two rare indicators; the first two levels occur in one class each."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=(n, 2)), np.zeros((n, 3))])
    score = x[:, :2] @ [1.0, -0.5]
    y = np.digitize(score + rng.logistic(size=n), np.linspace(-1, 1, classes + 1)[1:-1])
    x[np.flatnonzero(y == 0)[:6], 2] = 1.0
    x[np.flatnonzero(y == classes - 1)[-3:], 3] = 1.0
    x[100:140, 4] = 1.0
    return x, y


def test_a_level_of_one_class_leaves_the_other_standard_errors() -> None:
    x, y = rare_levels()
    model = LogisticRegression(C=np.inf).fit(x, y)
    assert model.separation_ is not None
    assert not model.separation_.complete
    found = model.summary()
    assert found.no_finite_estimate == ("x2", "x3")
    rest = (x[:, 2] == 0) & (x[:, 3] == 0)
    expected = LogisticRegression(C=np.inf).fit(x[rest][:, [0, 1, 4]], y[rest]).summary()
    finite = [0, 1, 2, 5]
    assert_allclose(found.estimates[finite], expected.estimates, rtol=1e-6)
    assert_allclose(found.standard_errors[finite], expected.standard_errors, rtol=1e-5)
    assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-9)
    assert np.isnan(found.standard_errors[[3, 4]]).all()
    assert_allclose(found.estimates[[3, 4]], model.coef_[0, [2, 3]])
    text = str(found)
    assert "No finite estimate (separable classes): x2, x3" in text
    assert "nan" not in text.split("\n\n")[0]


def test_weights_count_as_rows() -> None:
    x, y = rare_levels()
    w = np.random.default_rng(1).integers(1, 4, len(y))
    a = LogisticRegression(C=np.inf).fit(x, y, w).summary()
    b = LogisticRegression(C=np.inf).fit(np.repeat(x, w, axis=0), np.repeat(y, w)).summary()
    assert_allclose(a.standard_errors, b.standard_errors, rtol=1e-5)


def test_several_classes() -> None:
    """A level without rows of one class: its contrasts alone are infinite."""
    rng = np.random.default_rng(3)
    x, y = rare_levels(600, 3)
    x = x[:, [0, 1, 4]]
    x[:, 2] = (rng.random(600) < 0.15) & (y != 2)
    model = LogisticRegression(C=np.inf).fit(x, y)
    assert model.separation_ is not None
    found = model.summary()
    assert found.no_finite_estimate == ("2: x2",)
    # the same by a penalty so small that it moves nothing but that coefficient
    import statsmodels.api as sm

    theirs = sm.MNLogit(y, sm.add_constant(x)).fit(method="newton", maxiter=25, disp=0)
    ours = found.standard_errors.reshape(2, 4)
    assert_allclose(ours[0], theirs.bse[:, 0], rtol=1e-3)
    assert_allclose(ours[1, :3], theirs.bse[:3, 1], rtol=1e-3)


def test_completely_separable_classes_have_no_summary() -> None:
    model = LogisticRegression(C=np.inf).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with pytest.raises(sx.InputError, match="maximum likelihood estimate does not exist"):
        model.summary()


def test_no_coefficient_may_stay_finite() -> None:
    x, y = [[1.0], [2.0], [3.0], [3.0], [4.0]], [0, 0, 0, 1, 1]
    found = LogisticRegression(C=np.inf).fit(x, y).summary()
    assert found.no_finite_estimate == ("intercept", "x0")
    assert np.isnan(found.standard_errors).all()


def test_stored_models_keep_their_summary(tmp_path) -> None:
    x, y = rare_levels()
    model = LogisticRegression(C=np.inf).fit(x, y)
    sx.save(model, tmp_path / "model.sx")
    assert str(sx.load(tmp_path / "model.sx").summary()) == str(model.summary())


@pytest.mark.filterwarnings("ignore:SEP006")
@pytest.mark.parametrize("gap", [1e-6, 1e-9, 1e-12])
def test_close_calls_are_judged_as_by_linear_separability(gap):
    for x, separable in (([0.0, 1.0, 1.0 + gap, 2.0], True), ([0.0, 1.0 + gap, 1.0, 2.0], False)):
        table, y = np.array(x)[:, None], [0, 0, 1, 1]
        model = LogisticRegression(C=np.inf).fit(table, y)
        assert sx.linear_separability(table, y).separable is separable
        assert (model.separation_ is not None) is separable
        if separable:
            assert model.separation_.complete
        else:
            assert model.certificate_.holds
