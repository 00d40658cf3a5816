"""Logistic regression, gradient descent and sigmoid regression."""

from __future__ import annotations

import numpy as np

import separatrix as sx
from tests.registry import objectives as of
from tests.registry.row import Row

ROWS: list[Row] = [
    Row(
        "SigmoidRegressionClassifier",
        lambda: sx.SigmoidRegressionClassifier(),
        "classification",
        additive=False,
        precision=1e-6,
    ),
    Row(
        "SigmoidRegressionClassifier by evolution",
        lambda: sx.SigmoidRegressionClassifier(solver="evolution", max_evaluations=300),
        "classification",
        additive=False,
        precision=1e-6,
    ),
    Row(
        "GradientDescent",
        lambda: sx.GradientDescent(),
        "classification",
        additive=False,
        precision=1e-6,
    ),
    Row(
        "LogisticRegression",
        lambda: sx.LogisticRegression(C=np.inf),
        "classification",
        objective=of.logistic,
        classes=(2, 3),
    ),
    Row(
        "LogisticRegression, standardized",
        lambda: sx.LogisticRegression(C=1.0, standardize=True),
        "classification",
        objective=of.logistic,
        classes=(2, 3),
    ),
    Row(
        "LogisticRegression, standardized, elastic net",
        lambda: sx.LogisticRegression(C=0.5, l1_ratio=0.7, standardize=True),
        "classification",
        objective=of.logistic,
        classes=(2, 3),
    ),
    Row(
        "LogisticRegressionCV, standardized",
        lambda: sx.LogisticRegressionCV(
            Cs=[0.1, 1.0],
            l1_ratios=(0.0,),
            cv=2,
            scoring="neg_log_loss",
            use_legacy_attributes=False,
            standardize=True,
        ),
        "classification",
        order_free=False,
        objective=of.logistic,
        classes=(2, 3),
    ),
    Row(
        "LogisticPath, standardized",
        lambda: sx.LogisticPath(6, eps=1e-2, standardize=True),
        "classification",
        objective=of.logistic,
        classes=(2, 3),
    ),
    Row(
        "LogisticCV, standardized, lasso",
        lambda: sx.LogisticCV(4, l1_ratio=1.0, eps=1e-2, cv=2, standardize=True),
        "classification",
        order_free=False,
        objective=of.logistic,
        classes=(2, 3),
    ),
]
