"""Scores of numbers: how far a target is from what a model expected, in units that it may choose.

R = max(a(x) − y, y − b(x)) / s(x),     so that  R ≤ q  is  y ∈ [a(x) − q s(x), b(x) + q s(x)]

absolute     a = b = ŷ(x),  s = 1
normalized   a = b = ŷ(x),  s = the model's own standard deviation, or a model of |y − ŷ|
quantile     a, b = two conditional quantiles,  s = 1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from separatrix.estimators.wrapped import LabeledRows, fitted_to_numbers
from separatrix.messages import InputError, check_option
from separatrix.rows.block import Floats

SCORES = ("absolute", "normalized", "quantile")
#: The least scale, relative to the mean absolute residual: a model of it may say zero or less.
LEAST_SCALE = 1e-3


@dataclass(frozen=True)
class Anchors:
    """a(x), b(x) and s(x) of some rows."""

    lower: Floats
    upper: Floats
    scale: Floats

    def scores(self, y: Floats) -> Floats:
        """R of targets of the same rows."""
        return np.asarray(np.maximum(self.lower - y, y - self.upper) / self.scale)


class NumberScore(Protocol):
    """A score: the models that it needs, fitted to rows, and what they say about others."""

    def fit(self, estimator: Any, rows: LabeledRows) -> list[Any]:
        """The models, fitted to the rows."""

    def anchors(self, models: list[Any], X: Any) -> Anchors:
        """a, b and s of new rows."""


def around(mean: Any) -> Anchors:
    """Anchors at a prediction, with a scale of one."""
    center = np.asarray(mean, dtype=float)
    return Anchors(center, center, np.ones(len(center)))


class AbsoluteScore:
    """|y − ŷ(x)|."""

    def fit(self, estimator: Any, rows: LabeledRows) -> list[Any]:
        """The model itself."""
        return [fitted_to_numbers(estimator, rows)]

    def anchors(self, models: list[Any], X: Any) -> Anchors:
        """The prediction."""
        return around(np.ravel(models[0].predict(X)))


@dataclass(frozen=True)
class NormalizedScore:
    """|y − ŷ(x)| / s(x), with the model's own s, or with a second model of |y − ŷ|."""

    scale_estimator: Any = None

    def fit(self, estimator: Any, rows: LabeledRows) -> list[Any]:
        """The model, and that of the size of its residuals on the same rows."""
        model = fitted_to_numbers(estimator, rows)
        if self.scale_estimator is None:
            return [model]
        size = np.abs(rows.y - np.ravel(model.predict(rows.x)))
        least = LEAST_SCALE * float(np.average(size, weights=rows.w))
        if not isinstance(rows.x, np.ndarray) and hasattr(rows.x, "schema"):
            raise InputError(
                "A scale_estimator is fitted to X and |y − ŷ|, and a table was given.",
                remedy="Give X and y, or a model with a standard deviation of its own.",
            )
        scale = fitted_to_numbers(self.scale_estimator, LabeledRows(rows.x, size, rows.w))
        return [model, scale, least if least > 0.0 else 1.0]

    def anchors(self, models: list[Any], X: Any) -> Anchors:
        """The prediction, and the size of residuals that is expected there."""
        if len(models) == 1:
            return Anchors(*_with_deviation(models[0], X))
        center = np.ravel(np.asarray(models[0].predict(X), dtype=float))
        scale = np.ravel(np.asarray(models[1].predict(X), dtype=float))
        return Anchors(center, center, np.maximum(scale, models[2]))


def _with_deviation(model: Any, X: Any) -> tuple[Floats, Floats, Floats]:
    """ŷ twice, and the model's own standard deviation."""
    if hasattr(model, "predictive"):
        found = model.predictive(X)
        mean, deviation = found.mean, found.scale
    else:
        try:
            mean, deviation = model.predict(X, return_std=True)
        except TypeError as problem:
            raise InputError(
                f"{type(model).__name__} has no standard deviation of its own.",
                remedy="Give scale_estimator, a regression model of |y − ŷ|.",
            ) from problem
    mean = np.ravel(np.asarray(mean, dtype=float))
    deviation = np.ravel(np.asarray(deviation, dtype=float))
    return mean, mean, np.maximum(deviation, np.finfo(float).tiny)


@dataclass(frozen=True)
class QuantileScore:
    """Max(a(x) − y, y − b(x)) with a and b models of two conditional quantiles."""

    quantiles: tuple[float, float]

    def fit(self, estimator: Any, rows: LabeledRows) -> list[Any]:
        """The estimator at the two quantiles."""
        name = quantile_parameter(estimator)
        return [
            fitted_to_numbers(clone(estimator).set_params(**{name: q}), rows)
            for q in self.quantiles
        ]

    def anchors(self, models: list[Any], X: Any) -> Anchors:
        """The two quantiles, in order where they cross."""
        low, high = (np.ravel(np.asarray(model.predict(X), dtype=float)) for model in models)
        return Anchors(np.minimum(low, high), np.maximum(low, high), np.ones(len(low)))


def quantile_parameter(estimator: Any) -> str:
    """The parameter of an estimator that names its quantile: ``quantile``, else ``alpha``."""
    parameters = estimator.get_params(deep=False)
    if "quantile" in parameters:
        return "quantile"
    if parameters.get("loss") == "quantile" and "alpha" in parameters:
        return "alpha"
    raise InputError(
        f"{type(estimator).__name__} has no parameter for a quantile.",
        remedy="Give a model of conditional quantiles, as QuantileRegressor.",
    )


def number_score(score: str, scale_estimator: Any, quantiles: Any) -> NumberScore:
    """The score by its name."""
    check_option("conformity", score, SCORES)
    if score == "absolute":
        return AbsoluteScore()
    if score == "normalized":
        return NormalizedScore(scale_estimator)
    low, high = (float(q) for q in quantiles)
    if not 0.0 < low < high < 1.0:
        raise InputError(f"quantiles={quantiles!r} must be two numbers, 0 < low < high < 1.")
    return QuantileScore((low, high))
