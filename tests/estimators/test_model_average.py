"""ModelAverage: weights by their formulas, and equal to the averages that share its parts."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import separatrix as sx

RNG = np.random.default_rng(3)
X = RNG.standard_normal((60, 3))
Y = X[:, 0] + 0.3 * X[:, 1] ** 2 + RNG.standard_normal(60)
LABELS = np.where(Y > 0.3, "a", "b")


def test_akaike_weights_are_those_of_their_formula() -> None:
    degrees = [sx.PolynomialRegression(k) for k in (1, 2, 3)]
    model = sx.ModelAverage(degrees, "akaike", prior_weights=[1, 2, 1]).fit(X, Y)
    scores = []
    for one in model.estimators_:
        terms = np.stack([np.prod(X**e, axis=1) for e in one.exponents_], axis=1)
        own = sm.OLS(Y, sm.add_constant(terms)).fit()
        k = own.df_model + 2
        scores.append(-2 * own.llf + 2 * k + 2 * k * (k + 1) / (60 - k - 1))
    expected = np.array([1, 2, 1]) * np.exp(-0.5 * (np.array(scores) - min(scores)))
    assert_allclose(model.weights_, expected / expected.sum(), rtol=1e-6, atol=1e-12)
    parts = np.stack([one.predict(X) for one in model.estimators_], axis=1)
    assert_allclose(model.predict(X), parts @ model.weights_)
    again = sx.ModelAverage(degrees, "akaike", prior_weights=[1, 2, 1])
    assert_allclose(again.from_fitted(model.estimators_).weights_, model.weights_)


def test_weights_by_evidence_and_stacking_are_those_of_the_special_averages() -> None:
    bayes = [sx.BayesianRidge(), sx.ARDRegression()]
    own = sx.ModelAverage(bayes, "evidence").fit(X, Y)
    other = sx.EvidenceAveraging(bayes).fit(X, Y)
    assert_allclose(own.weights_, other.weights_)
    assert_allclose(own.log_scores_, other.log_evidences_)
    moments = sx.ModelAverage(bayes, "evidence").fit(sx.scan(X, Y).reduce(sx.Moments()))
    assert_allclose(moments.weights_, own.weights_, rtol=1e-9)
    numbers = [sx.LinearRegression(), sx.KNeighborsRegressor(5)]
    stacked = sx.ModelAverage(numbers, cv=3).fit(X, Y)
    reference = sx.AveragedRegressor(numbers, cv=3).fit(X, Y)
    assert_allclose(stacked.weights_, reference.weights_)
    assert_allclose(stacked.predict(X), reference.predict(X))
    classes = [sx.LinearDiscriminantAnalysis(), sx.GaussianNB()]
    mixed = sx.ModelAverage(classes, cv=3).fit(X, LABELS)
    stacked_classes = sx.AveragedClassifier(classes, cv=3).fit(X, LABELS)
    assert_allclose(mixed.predict_proba(X), stacked_classes.predict_proba(X))
    assert mixed.certificate_.holds


def test_paths_enter_at_their_chosen_point() -> None:
    path = sx.LassoPath(20).fit(X, Y)
    model = sx.ModelAverage([sx.LassoPath(20), sx.LinearRegression()], "akaike").fit(X, Y)
    at = int(np.flatnonzero(path.alphas_ == path.alpha_)[0])
    assert -2 * model.log_scores_[0] == pytest.approx(sx.criteria(path)["AICc"].values[at])
    logistic = sx.ModelAverage([sx.LogisticPath(5), sx.LogisticRegression(C=np.inf)], "akaike")
    assert logistic.fit(X, LABELS).predict_proba(X).shape == (60, 2)


def test_a_model_with_too_few_rows_has_no_weight() -> None:
    few = slice(0, 7)
    model = sx.ModelAverage([sx.LinearRegression(), sx.PolynomialRegression(2)], "akaike")
    assert model.fit(X[few, :1], Y[few]).weights_[0] > 0.0
    assert sx.ModelAverage([sx.LinearRegression(), sx.PolynomialRegression(4)], "akaike").fit(
        X[few, :1], Y[few]
    ).weights_.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (sx.ModelAverage([sx.KNeighborsRegressor()], "akaike"), "no AIC"),
        (sx.ModelAverage([sx.LinearRegression()], "evidence"), "no evidence"),
        (sx.ModelAverage([sx.LinearRegression()], "bic"), "weights"),
        (sx.ModelAverage([sx.LinearRegression()], prior_weights=[1.0]), "prior_weights"),
        (sx.ModelAverage([]), "not a list of models"),
        (sx.ModelAverage([sx.LinearRegression(), sx.GaussianNB()]), "not a regression model"),
    ],
)
def test_refusals(model: sx.ModelAverage, words: str) -> None:
    with pytest.raises(sx.InputError, match=words):
        model.fit(X, Y)


def test_stacking_needs_rows() -> None:
    fitted = [sx.LinearRegression().fit(X, Y)]
    with pytest.raises(sx.InputError, match="out of fold"):
        sx.ModelAverage(fitted).from_fitted(fitted)


def test_models_of_other_rows_are_refused() -> None:
    models = [sx.LinearRegression().fit(X, Y), sx.PolynomialRegression(2).fit(X, 2 * Y)]
    with pytest.raises(sx.InputError, match="other rows or another target"):
        sx.ModelAverage(models, "akaike").from_fitted(models)
