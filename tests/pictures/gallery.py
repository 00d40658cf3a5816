"""One of every picture, from small seeded data: each law below holds for all of them."""

import numpy as np

from separatrix.decision.roc import roc_curve
from separatrix.pictures import (
    CoefficientDisplay,
    ConfusionDisplay,
    DistanceDisplay,
    FoldDisplay,
    GapDisplay,
    LearningCurveDisplay,
    LeverageDisplay,
    PathDisplay,
    PrecisionRecallDisplay,
    QuantileDisplay,
    ResidualDisplay,
    RocDisplay,
    ScaleLocationDisplay,
    TraceDisplay,
    ValidationCurveDisplay,
)

NASTY = ("plain", "$a$ & <b>", 'quote"s', "x" * 60, "naïve 東京", "")


def every_picture(n=120):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 5))
    fitted = x @ np.arange(5.0)
    residuals = rng.normal(size=n)
    label = np.where(fitted + residuals > 0, "yes", "no")
    estimates = rng.normal(size=6)
    intervals = estimates[:, None] + np.array([-0.5, 0.5])
    alphas = np.geomspace(1e-3, 10, 30)
    three = np.array(["a", "b", "c"])[rng.integers(0, 3, n)]
    return {
        "coefficients": CoefficientDisplay(NASTY, estimates, intervals, np.ones(6)),
        "raw coefficients": CoefficientDisplay(NASTY, estimates),
        "path": PathDisplay(alphas, np.exp(-alphas)[:, None] * estimates, NASTY, alphas[9]),
        "path beside": PathDisplay(
            alphas, np.exp(-alphas)[:, None] * estimates, NASTY, beside=estimates
        ),
        "residuals": ResidualDisplay(fitted, residuals),
        "quantiles": QuantileDisplay(residuals),
        "scale": ScaleLocationDisplay(fitted, residuals),
        "leverage": LeverageDisplay.from_design(x, residuals),
        "learning": LearningCurveDisplay(
            [10, 20, 40], rng.uniform(1, 2, (3, 5)), rng.uniform(2, 3, (3, 5)), "rmse"
        ),
        "validation": ValidationCurveDisplay(
            alphas, rng.uniform(1, 2, (30, 5)) + np.log(alphas)[:, None] ** 2, alphas[12]
        ),
        "left out one by one": ValidationCurveDisplay(alphas, 1 + alphas, alphas[0]),
        "folds": FoldDisplay(NASTY[:2], rng.uniform(size=(2, 5)), "error", NASTY[0]),
        "gap": GapDisplay(
            ["training", "test"], [1.0, 1.2], [np.nan, 1.1], [np.nan, 1.3], "rmse", ["test"]
        ),
        "confusion": ConfusionDisplay.from_predictions(label, np.roll(label, 1)),
        "roc": RocDisplay.from_predictions(label, fitted),
        "roc with folds": RocDisplay.from_predictions(
            label, fitted, folds=[roc_curve(label[i::3], fitted[i::3]) for i in range(3)]
        ),
        "trace": TraceDisplay(np.exp(-np.arange(900) / 99), 0.5 / np.arange(1, 901), "settled"),
        "precision": PrecisionRecallDisplay.from_predictions(label, fitted),
        "distances": DistanceDisplay.from_scores(label, fitted, np.arange(5.0), ["no", "yes"]),
        "three distances": DistanceDisplay.from_scores(
            three, rng.normal(size=(n, 3)), rng.normal(size=(3, 5)), ["a", "b", "c"]
        ),
    }
