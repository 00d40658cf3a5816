"""From a fitted model to a program: which family knows it, and what cannot be written down."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from separatrix.bayes.bayesian_logistic_regression import BayesianLogisticRegression
from separatrix.bayes.bayesian_ridge import BayesianLinearModel
from separatrix.cluster.kmeans import KMeans
from separatrix.conformal.classifier import ConformalClassifier
from separatrix.conformal.regressor import ConformalRegressor
from separatrix.discriminant.count_naive_bayes import BernoulliNB, CountNaiveBayes
from separatrix.discriminant.gaussian_classifier import GaussianClassifier
from separatrix.discriminant.naive_bayes import NaiveBayes
from separatrix.estimators.averages import AveragedClassifier, AveragedRegressor, MixtureOfModels
from separatrix.estimators.base import LinearModel
from separatrix.estimators.baseline import MeanRegressor, MostFrequentClassifier
from separatrix.estimators.linear_classifier import LinearClassifier, ProbabilisticLinearClassifier
from separatrix.export.families import (
    bayes,
    boxes,
    clusters,
    conformal,
    gaussian,
    linear,
    naive_bayes,
    wrappers,
)
from separatrix.export.families.baseline import most_frequent
from separatrix.export.families.bayesian_logistic import bayesian_logistic, is_short
from separatrix.export.program import Answer, Builder, Program, outputs_of
from separatrix.hypotheses.box_classifier import BoxClassifier, UnionOfBoxes
from separatrix.linear.polynomial import PolynomialRegression
from separatrix.logistic.sigmoid_regression import SigmoidRegressionClassifier
from separatrix.messages import InputError
from separatrix.probability.calibrated import CalibratedClassifier, ProbabilityMixin
from separatrix.probability.reject import RejectOption

#: Plain models, the first class that fits.
PLAIN: tuple[tuple[type[Any], Callable[[Any, Builder], Answer]], ...] = (
    (MeanRegressor, linear.mean_regression),
    (MostFrequentClassifier, most_frequent),
    (PolynomialRegression, linear.polynomial_regression),
    (GaussianClassifier, gaussian.gaussian_classifier),
    (NaiveBayes, naive_bayes.naive_bayes),
    (BernoulliNB, naive_bayes.bernoulli_naive_bayes),
    (CountNaiveBayes, naive_bayes.count_naive_bayes),
    (BoxClassifier, boxes.boxes),
    (UnionOfBoxes, boxes.boxes),
    (KMeans, clusters.kmeans),
)
#: Models around others.
WRAPPERS: tuple[tuple[type[Any], Callable[..., Answer]], ...] = (
    (CalibratedClassifier, wrappers.calibrated),
    (RejectOption, wrappers.reject_option),
    (AveragedClassifier, wrappers.averaged_classes),
    (AveragedRegressor, wrappers.averaged_numbers),
    (ConformalClassifier, conformal.conformal_classifier),
)


_AREA = "are integrals, which have no export to SQL, Python or JSON unless approximation='probit'."


class NoFormula(InputError):
    """A model that needs its training rows, or another program than expressions."""


def program_of(model: Any, *, level: float = 0.95) -> Program:
    """A fitted model as a program for one row; ``level`` is that of predictive intervals."""
    b = Builder()
    answer = answer_of(model, b, level)
    return b.program(_title(model), outputs_of(answer, level))


def answer_of(model: Any, b: Builder, level: float = 0.95) -> Answer:
    """What a model answers, as expressions."""
    for cls, translate in WRAPPERS:
        if isinstance(model, cls):
            return translate(model, b, partial(answer_of, level=level))
    if isinstance(model, ConformalRegressor):
        within = partial(answer_of, level=level)
        return conformal.conformal_regressor(model, b, within, level)
    if isinstance(model, MixtureOfModels):
        mixed = hasattr(model, "classes_")
        average = wrappers.averaged_classes if mixed else wrappers.averaged_numbers
        return average(model, b, partial(answer_of, level=level))
    if isinstance(model, BayesianLogisticRegression):
        if not is_short(model):
            raise NoFormula(f"The predictive probabilities of this {type(model).__name__} {_AREA}")
        return bayesian_logistic(model, b)
    if isinstance(model, BayesianLinearModel):
        return bayes.bayesian_regression(model, b, level)
    for cls, plain in PLAIN:
        if isinstance(model, cls):
            return plain(model, b)
    if isinstance(model, ProbabilityMixin) and isinstance(model, LinearClassifier):
        return wrappers.with_probabilities(model, b, linear.linear_classifier(model, b))
    if isinstance(model, LinearModel):
        return _linear(model, b)
    raise NoFormula(
        f"{type(model).__name__} is no short formula of the columns: it has no export to SQL, "
        "Python or JSON."
    )


def _linear(model: Any, b: Builder) -> Answer:
    if isinstance(model, SigmoidRegressionClassifier):
        return linear.sigmoid_regression(model, b)
    if isinstance(model, ProbabilisticLinearClassifier) and hasattr(model, "predict_proba"):
        return linear.logistic_classifier(model, b)
    if isinstance(model, LinearClassifier):
        return linear.linear_classifier(model, b)
    return linear.linear_regression(model, b)


def _title(model: Any) -> str:
    """The model in words: its class, and those within it."""
    names = [type(model).__name__]
    while hasattr(model, "estimator_"):
        model = model.estimator_
        names.append(type(model).__name__)
    return " of ".join(names)
