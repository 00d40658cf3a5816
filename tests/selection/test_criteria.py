"""Criteria of complexity, against closed forms, other libraries, and integrals."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import integrate, stats
from scipy.special import gamma
from sklearn.model_selection import KFold, cross_val_score

import separatrix as sx
from separatrix.selection.criteria import (
    PathFigures,
    Subsets,
    classification_risk,
    corrected_aic,
    description_length,
    squared_risk,
)
from separatrix.selection.rules import elbow, one_standard_error

RNG = np.random.default_rng(5)
X = RNG.standard_normal((50, 4))
Y = X @ [1.0, -0.5, 0.0, 0.0] + 3.0 + RNG.standard_normal(50)
LABELS = np.where(Y > 3.0, "high", "low")


@pytest.fixture(scope="module")
def lasso():
    return sx.LassoPath(12, eps=0.02).fit(X, Y)


def test_information_criteria_of_least_squares_are_those_of_statsmodels() -> None:
    columns = range(1, 5)
    models = [sx.LinearRegression().fit(X[:, :k], Y) for k in columns]
    table = sx.criteria(models)
    reference = [sm.OLS(Y, sm.add_constant(X[:, :k])).fit() for k in columns]
    np.testing.assert_allclose(table["AIC"].values, [r.aic for r in reference], rtol=1e-12)
    np.testing.assert_allclose(table["BIC"].values, [r.bic for r in reference], rtol=1e-12)
    k = np.array([r.df_model + 2 for r in reference])  # intercept and variance count
    expected = np.array([-2 * r.llf for r in reference]) + 2 * k + 2 * k * (k + 1) / (50 - k - 1)
    np.testing.assert_allclose(table["AICc"].values, expected, rtol=1e-12)
    assert table.choices["BIC"] == f"LinearRegression {1 + np.argmin([r.bic for r in reference])}"


def test_logistic_criteria_are_those_of_statsmodels() -> None:
    models = [sx.LogisticRegression(C=np.inf).fit(X[:, :k], LABELS) for k in (1, 2)]
    table = sx.criteria(models)
    high = (LABELS == "low").astype(float)
    for i, k in enumerate((1, 2)):
        own = sm.Logit(high, sm.add_constant(X[:, :k])).fit(disp=False)
        assert table["AIC"].values[i] == pytest.approx(own.aic, rel=1e-9)
        assert table["BIC"].values[i] == pytest.approx(own.bic, rel=1e-9)
    assert np.isinf(corrected_aic(np.zeros(2), np.array([3.0, 4.0]), 4.0)).all()


@pytest.mark.parametrize(("n", "k"), [(3, 1), (5, 2)])
def test_description_length_is_the_normalized_maximum_likelihood(n: int, k: int) -> None:
    """Its normalizer by integration over fitted and residual coordinates, in polar form."""
    squares, explained = 2.3, 4.1
    tau, r = squares / n, explained / n

    def sphere(dimension: int) -> float:
        return 2 * np.pi ** (dimension / 2) / gamma(dimension / 2)

    def density(rho: float) -> float:
        return (2 * np.pi * np.e * rho**2 / n) ** (-n / 2) * sphere(n - k) * rho ** (n - k - 1)

    ball = sphere(k) / k * (n * r) ** (k / 2)
    outside = integrate.quad(density, np.sqrt(n * tau), np.inf, epsabs=0, epsrel=1e-12)[0]
    likelihood = -n / 2 * np.log(2 * np.pi * np.e * tau)
    expected = -likelihood + np.log(ball * outside) + np.log(k**2 / 4)
    subsets = Subsets(np.array([k]), np.array([squares]), np.array([explained]), float(n))
    assert description_length(subsets)[0] == pytest.approx(expected, rel=1e-10)


def test_description_length_needs_coefficients_and_residuals() -> None:
    subsets = Subsets(np.array([0.0, 3.0, 5.0]), np.full(3, 0.5), np.ones(3), 5.0)
    assert np.isnan(description_length(subsets)).tolist() == [True, False, True]
    exact = Subsets(np.array([2.0]), np.zeros(1), np.ones(1), 5.0)
    assert np.isnan(description_length(exact)).all()


def test_units_and_origin_of_the_target_change_no_choice(lasso) -> None:
    scaled = sx.LassoPath(12, eps=0.02).fit(X * 1e8, 1e8 * Y + 5e8)
    one, other = sx.criteria(lasso, X, Y), sx.criteria(scaled, X * 1e8, 1e8 * Y + 5e8)
    assert [c.chosen for c in one.criteria] == [c.chosen for c in other.criteria]


def test_bounds_of_structural_risk() -> None:
    p = 10 / 200
    shrunk = 1 - np.sqrt(p - p * np.log(p) + np.log(200) / 400)
    assert squared_risk(np.array([50.0]), np.array([10.0]), 200.0)[0] == pytest.approx(
        0.25 / shrunk
    )
    assert np.isposinf(squared_risk(np.ones(1), np.array([199.0]), 200.0)).all()
    wide = np.sqrt((3 * (np.log(2 * 100 / 3) + 1) + np.log(4 / 0.05)) / 100)
    assert classification_risk(np.array([0.1]), np.array([3.0]), 100.0)[0] == pytest.approx(
        0.1 + wide
    )


def test_evidence_of_a_ridge_path_is_a_normal_density() -> None:
    path = sx.RidgePath([3.0, 0.2]).fit(X, Y)
    found = sx.criteria(path)["evidence"].values
    centered, y = X - X.mean(axis=0), Y - Y.mean()
    for alpha, value in zip(path.alphas_, found, strict=True):
        shape = np.eye(50) + centered @ centered.T / alpha
        variance = y @ np.linalg.solve(shape, y) / 50
        law = stats.multivariate_normal(np.zeros(50), variance * shape)
        assert value == pytest.approx(law.logpdf(y), rel=1e-10)
    model = sx.BayesianRidge(alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0).fit(X, Y)
    best = sx.RidgePath([model.lambda_ / model.alpha_]).fit(X, Y)
    assert sx.criteria(best)["evidence"].values[0] == pytest.approx(model.log_evidence_, rel=1e-12)


def test_a_lasso_path_has_the_description_length_of_its_selections(lasso) -> None:
    figures = lasso.path_figures()
    assert figures.subsets is not None
    for i, coef in enumerate(lasso.coefs_):
        own = sm.OLS(Y, sm.add_constant(X[:, coef != 0.0])).fit()
        assert figures.subsets.squares[i] == pytest.approx(own.ssr, rel=1e-10)
        assert figures.subsets.coefficients[i] == np.count_nonzero(coef)
    residual = Y[:, None] - X @ lasso.coefs_.T - lasso.intercepts_
    np.testing.assert_allclose(figures.squares, (residual**2).sum(axis=0), rtol=1e-10)


def test_losses_of_folds_are_those_of_refits(lasso) -> None:
    folds = list(KFold(4).split(X))
    own = sx.LassoCV(alphas=lasso.alphas_, cv=folds).fit(X, Y)
    found = sx.criteria(lasso, X, Y, cv=folds)
    np.testing.assert_allclose(found.figures.fold_losses, own.mse_path_, rtol=1e-4)
    models = [sx.LinearRegression(), sx.KNeighborsRegressor(3)]
    table = sx.criteria(models, X, Y, cv=folds)
    scores = [cross_val_score(m, X, Y, cv=folds, scoring="neg_mean_squared_error") for m in models]
    np.testing.assert_allclose(table.figures.fold_losses, -np.array(scores), rtol=1e-12)
    assert table.choices["AIC"] == "LinearRegression"
    assert "–" in str(table)


def test_classification_paths_count_their_errors() -> None:
    path = sx.LogisticPath(4).fit(X, LABELS)
    figures = path.path_figures(X, LABELS)
    for i, C in enumerate(path.Cs_):
        model = sx.LogisticRegression(C=C, tol=1e-10).fit(X, LABELS)
        assert figures.errors[i] == pytest.approx(1 - model.score(X, LABELS))
        likelihood = np.log(model.predict_proba(X)[np.arange(50), (LABELS == "low").astype(int)])
        assert figures.log_likelihood[i] == pytest.approx(likelihood.sum(), rel=1e-5)
    svm = sx.SVMPath(C=0.1, C_max=1.0).fit(X, LABELS)
    found = svm.path_figures(cv=3)
    at = len(found.values) // 2
    reference = sx.SVC(kernel="linear", C=found.values[at]).fit(X, LABELS)
    radius = np.linalg.norm(X - X.mean(axis=0), axis=1).max()
    expected = radius**2 * np.sum(reference.coef_**2) + 1
    assert found.capacity[at] == pytest.approx(min(expected, 50.0), rel=1e-4)
    assert found.errors[at] == pytest.approx(1 - reference.score(X, LABELS), abs=0.021)


def test_elbow_uses_paired_differences() -> None:
    penalties = np.array([4.0, 2.0, 1.0])
    easy_and_hard = np.array([1.0, 9.0, 2.0])
    errors = np.stack([easy_and_hard + 0.2, easy_and_hard + 0.01 * np.arange(3), easy_and_hard])
    assert one_standard_error(penalties, errors) == 0  # folds differ by far more than models
    assert elbow(penalties, errors) == 2
    errors[1] = easy_and_hard + np.array([0.02, -0.03, 0.03])
    assert elbow(penalties, errors) == 1  # the first is worse in every fold alike


def test_what_does_not_apply_says_why(lasso) -> None:
    table = sx.criteria(lasso)
    assert table.choices["cross-validation"] is None
    assert "criteria(path, X, y)" in table.reasons["elbow"]
    frame = table.to_frame()
    assert list(frame.columns)[:2] == ["alpha", "degrees_of_freedom"]
    loo = sx.criteria(sx.RidgeCV([0.1, 1.0]).fit(X, Y))
    assert loo.choices["cross-validation"] is not None
    assert "no spread" in loo.reasons["elbow"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (sx.LinearRegression(), "no path of models"),
        ([], "one model or more"),
        ([sx.LinearRegression()], "not fitted yet"),
        ([sx.LinearRegression(), sx.GaussianNB()], "not all classifiers"),
    ],
)
def test_refusals(path, words: str) -> None:
    with pytest.raises(sx.InputError, match=words):
        sx.criteria(path)
    both = sx.RidgePath([1.0]).fit(X, np.column_stack([Y, Y]))
    with pytest.raises(sx.InputError, match="one target"):
        sx.criteria(both)


def test_no_point_in_range_chooses_nothing() -> None:
    from separatrix.selection.criteria import table_of

    one = PathFigures("k", (1,), np.ones(1), 2.0, np.array([5.0]), np.array([-1.0]))
    table = table_of(one)
    assert table.choices["AICc"] is None
    assert "range" in table.reasons["AICc"]


def test_degenerate_targets_and_tables(rng: np.random.Generator) -> None:
    constant = sx.criteria(sx.RidgePath(4).fit(X, np.ones(50)))
    assert constant.choices["evidence"] is None
    assert "constant" in constant.reasons["evidence"]
    wide = rng.standard_normal((20, 40))
    table = sx.criteria(sx.RidgePath(20).fit(wide, Y[:20]))
    at = table["evidence"].chosen
    assert at is None or table.figures.freedom[at] <= 10.0
    one = sx.criteria(sx.RidgePath(3).fit(X[:1], Y[:1]))
    assert one.choices["AICc"] is None
    assert one.choices["structural risk"] is None


def test_weights_are_repeated_rows(rng: np.random.Generator) -> None:
    w = rng.integers(0, 3, 50)
    often = np.repeat(np.arange(50), w)
    one = sx.criteria(sx.LassoPath([0.5, 0.1]).fit(X, Y, w.astype(float)))
    other = sx.criteria(sx.LassoPath([0.5, 0.1]).fit(X[often], Y[often]))
    for name in ("AIC", "AICc", "BIC", "MDL", "structural risk"):
        np.testing.assert_allclose(one[name].values, other[name].values, rtol=1e-9)
