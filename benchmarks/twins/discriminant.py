"""Discriminants and naive Bayes."""

from __future__ import annotations

from typing import Any

import sklearn.discriminant_analysis
import sklearn.naive_bayes

from twins.entry import DENSE, Entry

discriminant, naive_bayes = sklearn.discriminant_analysis, sklearn.naive_bayes


def counts(x: Any) -> Any:
    """Counts of the size that texts have."""
    return x.ceil() if hasattr(x, "nnz") else abs(x).round(1) * 10.0


ENTRIES = (
    Entry(
        "LinearDiscriminantAnalysis", discriminant.LinearDiscriminantAnalysis, {},
        shapes=DENSE, target="classes",
    ),
    Entry(
        "QuadraticDiscriminantAnalysis", discriminant.QuadraticDiscriminantAnalysis, {},
        shapes=("tiny", "tall", "middle"), target="classes",
    ),
    Entry("GaussianNB", naive_bayes.GaussianNB, {}, shapes=DENSE, target="classes"),
    Entry("MultinomialNB", naive_bayes.MultinomialNB, {}, target="classes", prepare=counts),
    Entry("ComplementNB", naive_bayes.ComplementNB, {}, target="classes", prepare=counts),
    Entry("BernoulliNB", naive_bayes.BernoulliNB, {}, target="classes"),
)  # fmt: skip
