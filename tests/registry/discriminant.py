"""Gaussian class models, naive Bayes and the basic linear classifier."""

from __future__ import annotations

import separatrix as sx
from tests.registry.row import Row

ROWS: list[Row] = [
    Row(
        "BasicLinearClassifier",
        lambda: sx.BasicLinearClassifier(),
        "classification",
        unit_free=False,
    ),
    Row(
        "BasicLinearClassifier, diagonal",
        lambda: sx.BasicLinearClassifier(scatter="diagonal"),
        "classification",
    ),
    Row(
        "BasicLinearClassifier, pooled",
        lambda: sx.BasicLinearClassifier(scatter="pooled"),
        "classification",
    ),
    Row(
        "BasicLinearClassifier, total with prevalence",
        lambda: sx.BasicLinearClassifier(scatter="total", prevalence=True),
        "classification",
        shift_free=False,
    ),
    Row("GaussianDiscriminant", lambda: sx.GaussianDiscriminant(), "classification"),
    Row(
        "GaussianDiscriminant, structure by folds",
        lambda: sx.GaussianDiscriminant("auto", cv=3),
        "classification",
        unit_free=False,
        additive=False,
        order_free=False,
    ),
    Row(
        "GaussianDiscriminant, of rank one",
        lambda: sx.GaussianDiscriminant(rank=1),
        "classification",
    ),
    Row(
        "GaussianDiscriminant, mixed",
        lambda: sx.GaussianDiscriminant(alpha=0.2, beta=0.3),
        "classification",
    ),
    Row(
        "GaussianDiscriminant, diagonal",
        lambda: sx.GaussianDiscriminant("diagonal"),
        "classification",
    ),
    Row(
        "GaussianDiscriminant, shared diagonal",
        lambda: sx.GaussianDiscriminant("shared_diagonal", alpha=0.1),
        "classification",
    ),
    Row(
        "GaussianDiscriminant, Bayes",
        lambda: sx.GaussianDiscriminant(estimation="bayes", prior_count=3.0),
        "classification",
    ),
    Row(
        "GaussianDiscriminant, spherical",
        lambda: sx.GaussianDiscriminant("spherical"),
        "classification",
        unit_free=False,
    ),
    Row(
        "QuadraticDiscriminantAnalysis",
        lambda: sx.QuadraticDiscriminantAnalysis(),
        "classification",
    ),
    Row("LinearDiscriminantAnalysis", lambda: sx.LinearDiscriminantAnalysis(), "classification"),
    Row(
        "LinearDiscriminantAnalysis, shrinkage chosen",
        lambda: sx.LinearDiscriminantAnalysis("eigen", "auto"),
        "classification",
        shift_free=False,  # its scores are about 0, as in scikit-learn
    ),
    Row("GaussianNB", lambda: sx.GaussianNB(), "classification"),
    Row(
        "RegularizedDiscriminantAnalysis",
        lambda: sx.RegularizedDiscriminantAnalysis(4, 4, cv=3),
        "classification",
        order_free=False,
    ),
    Row("NearestMean", lambda: sx.NearestMean(), "classification", unit_free=False),
    Row("NaiveBayes", lambda: sx.NaiveBayes(), "classification", missing=True),
    Row(
        "NaiveBayes, Bayes",
        lambda: sx.NaiveBayes(estimation="bayes"),
        "classification",
        missing=True,
    ),
    *(
        Row(
            name,
            make,
            "classification",
            unit_free=False,
            shift_free=False,
            counts=True,
        )
        for name, make in (
            ("MultinomialNB", lambda: sx.MultinomialNB()),
            ("ComplementNB", lambda: sx.ComplementNB()),
            ("BernoulliNB", lambda: sx.BernoulliNB(binarize=1.0)),
        )
    ),
]
