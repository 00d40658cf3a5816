"""Studies made by hand from scikit-learn's bundled tables, so that the page is tested by itself."""

import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Lasso, RidgeClassifier, lasso_path
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import cross_val_score, learning_curve

from separatrix import LinearRegression, LogisticRegression, RejectOption
from separatrix.discriminant.covariance_tests import box_m, mardia
from separatrix.estimators.inference import Inference
from separatrix.optimize.convex import Certificate
from separatrix.probability.costs import costs_of
from separatrix.probability.decision_surface import decision_surface, utilities
from separatrix.report import render
from separatrix.rows.profile import ColumnProfile
from separatrix.rows.schema import Kind
from separatrix.study.describe import core_of, describe
from separatrix.study.description import (
    ClassCoefficients,
    ModelDescription,
    RegularizationPath,
)
from separatrix.study.result import (
    CalibrationCheck,
    CovarianceTests,
    CrossValidatedScore,
    Decision,
    Entry,
    LearningCurve,
    Predictions,
    Score,
    Study,
    TrainingRows,
)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def profiles(x, y, names, target):
    numeric = [
        ColumnProfile(n, Kind.NUMERIC, len(c), 0, c.min(), c.max(), c.mean(), c.std())
        for n, c in zip(names, x.T, strict=True)
    ]
    if np.asarray(y).dtype.kind == "f":
        own = ColumnProfile(target, Kind.NUMERIC, len(y), 0, y.min(), y.max(), y.mean(), y.std())
    else:
        levels = {str(k): int(n) for k, n in zip(*np.unique(y, return_counts=True), strict=True)}
        own = ColumnProfile(target, Kind.DISCRETE, len(y), 0, levels=levels)
    return (*numeric, own)


def entry(name, label, model, x, y, scoring, metric, **more):
    folds = -cross_val_score(model, x, y, scoring=scoring, cv=5)
    if metric == "error":
        folds = 1 + folds
    return Entry(
        name, label, metric, tuple(folds), folds.mean(), folds.std(ddof=1) / np.sqrt(5), **more
    )


def interval(metric, value, spread):
    low, high = value - spread, value + spread
    return Score(metric, value, max(0.0, low) if metric == "error" else low, high)


def regression_study(model, name, described=None):
    data = load_diabetes(scaled=False)
    names = ["age", "sex", "bmi", "pressure", "s1", "s2", "s3", "s4", "s5", "glucose"]
    x, y = pd.DataFrame(data.data, columns=names), data.target
    test = np.arange(0, 442, 5)
    train = np.setdiff1d(np.arange(442), test)
    inside = x.iloc[train]
    model.fit(inside, y[train])
    fitted, predicted = model.predict(inside), model.predict(x.iloc[test])
    how = (inside, y[train], "neg_root_mean_squared_error", "rmse")
    sizes, inner, outer = learning_curve(
        model, inside, y[train], scoring=how[2], train_sizes=np.linspace(0.15, 1, 6)
    )[:3]
    rmse = mean_squared_error(y[test], predicted) ** 0.5
    described = described(model, tuple(names)) if described else describe(model)
    return Study(
        source="data/diabetes.csv",
        target="progression",
        task="regression",
        seed=0,
        test_fraction=0.2,
        n_train=train.size,
        n_test=test.size,
        columns=profiles(data.data, y, names, "progression"),
        leaderboard=(
            entry("linear", "least squares", LinearRegression(), *how),
            entry(
                "lasso",
                "ℓ₁-penalized least squares, α tuned",
                Lasso(),
                *how,
                hyperparameters={"alpha": (0.0321, 0.0321)},
            ),
            entry("baseline", "the mean", DummyRegressor(), *how),
        ),
        winner=name,
        reason="It is the simplest model within one standard error of the best.",
        test=(interval("rmse", rmse, 4.9), interval("r2", 1 - rmse**2 / y[test].var(), 0.12)),
        baseline_test=(interval("rmse", y[test].std(), 6.1), interval("r2", -0.002, 0.01)),
        model=model,
        description=described,
        messages=(
            "Regression, because target 'progression' has more than 10 distinct values (override: "
            "--task classification).",
            "No value is missing, so --missing mean had nothing to do.",
        ),
        test_predictions=Predictions(test, y[test], predicted),
        learning_curve=LearningCurve(tuple(int(s) for s in sizes), -inner, -outer, "rmse"),
        training=TrainingRows(
            y[train],
            names=tuple(names),
            predicted=fitted,
            rows=train,
            scale=inside.to_numpy().std(axis=0),
            leverage=leverage_of(inside.to_numpy()),
        ),
        command="separatrix fit data/diabetes.csv --target progression --seed 0",
    )


CERTIFICATE = Certificate(
    "Penalized least squares, solved", 1503.2, 1503.19, 0.01, 1e-9, 1e-4, condition=227.0
)


def leverage_of(x):
    """Diagonal of the hat matrix of least squares with an intercept."""
    q = np.linalg.qr(np.column_stack([np.ones(len(x)), x]))[0]
    return np.sum(q**2, axis=1)


def described_lasso(model, names):
    """A linear model with its path, and the reason for having no intervals."""
    data = load_diabetes(scaled=False)
    x, y = data.data, data.target
    alphas, coefs, _ = lasso_path(x - x.mean(0), y - y.mean(), alphas=40)
    bare = Inference(
        names=names,
        estimates=model.coef_,
        intercept=model.intercept_,
        reason="The penalty shrinks them.",
    )
    path = RegularizationPath(alphas, coefs.T, model.alpha)
    return ModelDescription("Lasso", model.get_params(), CERTIFICATE, inference=bare, path=path)


def described_classifier(model, names):
    """One vector of coefficients for two classes, one for each of several."""
    certificate = Certificate("Closed form", promised=())
    coef, intercept = np.atleast_2d(model.coef_), np.ravel(model.intercept_)
    if len(coef) == 1:
        found = Inference(
            names=names,
            estimates=coef[0],
            intercept=float(intercept[0]),
            reason="No standard errors.",
        )
        return ModelDescription("RidgeClassifier", {}, certificate, inference=found)
    several = ClassCoefficients(names, coef, intercept)
    return ModelDescription("RidgeClassifier", {}, certificate, class_coefficients=several)


def classification_study(loader, target):
    data = loader()
    x = (data.data - data.data.mean(0)) / data.data.std(0)
    y = data.target_names[data.target]
    test = np.arange(0, y.size, 4)
    train = np.setdiff1d(np.arange(y.size), test)
    model = RidgeClassifier(alpha=200.0).fit(x[train], y[train])
    described = described_classifier(model, tuple(str(n) for n in data.feature_names))
    called = model.predict(x[test])
    how = (x[train], y[train], "accuracy", "error")
    wrong = float(np.mean(called != y[test]))
    most = float(np.mean(y[test] != DummyClassifier().fit(x, y).predict(x)[0]))
    scores = model.decision_function(x[test])
    return Study(
        source=f"{target}.csv",
        target=target,
        task="classification",
        seed=1,
        test_fraction=0.25,
        n_train=train.size,
        n_test=test.size,
        columns=profiles(data.data, y, [str(n) for n in data.feature_names], target),
        leaderboard=(
            entry("least_squares", "least squares", RidgeClassifier(alpha=200.0), *how),
            entry("baseline", "most frequent class", DummyClassifier(), *how),
        ),
        winner="least_squares",
        reason="It has the least error.",
        test=(interval("error", wrong, 0.03), interval("accuracy", 1 - wrong, min(0.03, wrong))),
        baseline_test=(interval("error", most, 0.08), interval("accuracy", 1 - most, 0.08)),
        model=model,
        description=described,
        messages=("The positive class is the last in order; --positive LABEL sets another.",),
        warnings=("SEP001 proline is a combination of other columns.",),
        classes=tuple(str(c) for c in model.classes_),
        test_predictions=Predictions(test, y[test], called, scores),
        training=TrainingRows(
            y[train], predicted=model.predict(x[train]), scale=x[train].std(axis=0)
        ),
        command=f"separatrix fit {target}.csv --target {target}",
    )


def probable_study(reject):
    """A logistic winner on a few columns of the breast cancer table, with all that classes have."""
    data = load_breast_cancer()
    names = [str(n) for n in data.feature_names[:4]]
    x, y = data.data[:, :4], data.target_names[data.target]
    test = np.arange(0, y.size, 3)
    train = np.setdiff1d(np.arange(y.size), test)
    inside, outside = (pd.DataFrame(x[part], columns=names) for part in (train, test))
    model = (
        RejectOption(LogisticRegression(C=np.inf), costs=0.2)
        if reject
        else LogisticRegression(C=np.inf)
    )
    model.fit(inside, y[train])
    described = describe(model)
    scores = core_of(model).decision_function(outside)
    classes = tuple(str(c) for c in model.classes_)
    costs = costs_of(0.2, model.classes_)
    p = model.predict_proba(outside)
    called = model.predict(outside)
    codes = np.searchsorted(model.classes_, y)
    answers = np.array([classes.index(c) if c in classes else 2 for c in called])
    cost = interval("cost", 0.07, 0.02)
    loss = CrossValidatedScore("log_loss", (0.2, 0.24, 0.22), 0.22, 0.012)
    wrong = float(np.mean(model.predict(outside) != y[test]))
    return Study(
        source="cells.csv",
        target="diagnosis",
        task="classification",
        seed=1,
        test_fraction=0.33,
        n_train=train.size,
        n_test=test.size,
        columns=profiles(x, y, names, "diagnosis"),
        leaderboard=(
            Entry(
                "logistic",
                "maximum likelihood",
                "log_loss",
                loss.folds,
                0.22,
                0.012,
                secondary=CrossValidatedScore("error", (0.1, 0.12, 0.11), 0.11, 0.006),
            ),
            Entry(
                "baseline",
                "most frequent class",
                "log_loss",
                (0.66, 0.66, 0.67),
                0.66,
                0.003,
                secondary=CrossValidatedScore("error", (0.37, 0.38, 0.36), 0.37, 0.006),
            ),
        ),
        winner="logistic",
        reason="logistic is the only model compared, and beats the baseline.",
        test=(interval("error", wrong, 0.03), interval("log_loss", 0.21, 0.05)),
        baseline_test=(interval("error", 0.37, 0.06), interval("log_loss", 0.66, 0.03)),
        model=model,
        description=described,
        classes=classes,
        test_predictions=Predictions(test, y[test], called, scores, None, p),
        training=TrainingRows(
            y[train],
            names=tuple(names),
            predicted=model.predict(inside),
            scale=x[train].std(axis=0),
            probabilities=model.predict_proba(inside),
        ),
        calibration=CalibrationCheck(
            None, loss, loss, 0.031, 0.031, 0.004, 0.01, {"platt": loss}, "Not calibrated."
        ),
        decision=Decision(costs, "reject", cost, interval("coverage", 0.8, 0.05), cost, cost)
        if reject
        else None,
        covariance_tests=CovarianceTests(
            {c: mardia(x[train][codes[train] == k]) for k, c in enumerate(classes)},
            {"third": "Class third has 2 rows."},
            box_m([x[train][codes[train] == k] for k in range(2)]),
            "none",
            "Neither class is normal.",
            tuple(names),
        ),
        decision_surface=decision_surface(
            (x[train], codes[train], None),
            (x[test], codes[test]),
            lambda v: utilities(model, pd.DataFrame(v, columns=names)),
            answers,
            classes,
            names=tuple(names),
        ),
    )


@pytest.fixture(scope="session")
def probable():
    return probable_study(False)


@pytest.fixture(scope="session")
def rejecting():
    return probable_study(True)


@pytest.fixture(scope="session")
def linear():
    return regression_study(LinearRegression(), "linear")


@pytest.fixture(scope="session")
def lasso():
    return regression_study(Lasso(), "lasso", described_lasso)


@pytest.fixture(scope="session")
def wine():
    return classification_study(load_wine, "cultivar")


@pytest.fixture(scope="session")
def cancer():
    return classification_study(load_breast_cancer, "diagnosis")


@pytest.fixture(scope="session")
def bare(linear):
    """What is left without stored rows, learning curve and test set."""
    return replace(
        linear,
        test_predictions=None,
        learning_curve=None,
        training=None,
        test=(),
        baseline_test=(),
        n_test=0,
        messages=(),
    )


@pytest.fixture(scope="session")
def pages(studies):
    return {name: render(study) for name, study in studies.items()}


@pytest.fixture(scope="session")
def studies(linear, lasso, wine, cancer, bare, probable, rejecting):
    return {
        "linear": linear,
        "lasso": lasso,
        "wine": wine,
        "cancer": cancer,
        "bare": bare,
        "probable": probable,
        "rejecting": rejecting,
    }
