"""One of every display, from small seeded data."""

import numpy as np
from scipy.cluster import hierarchy

import separatrix as sx
from separatrix.additive.base import Curve
from separatrix.bayes.bayesian_logistic_regression import PosteriorComparison
from separatrix.bayes.evidence import EvidenceCurve
from separatrix.bayes.predictive import PredictiveDistribution
from separatrix.hypotheses.box_classifier import BoxClassifier
from separatrix.hypotheses.query import ActiveCurve
from separatrix.pictures import (
    ActiveCurveDisplay,
    AdditiveCurveDisplay,
    BiasVarianceDisplay,
    CalibrationDisplay,
    CategoryCoverageDisplay,
    ClusterProfileDisplay,
    ClusterProjectionDisplay,
    CoefficientDisplay,
    ColumnDistributionDisplay,
    ConfusionMatrixDisplay,
    CorrelationDisplay,
    CoverageDisplay,
    CoverageRiskDisplay,
    CriteriaDisplay,
    CrossValidationDisplay,
    DecisionBoundaryDisplay,
    DendrogramDisplay,
    DescentSigmoidDisplay,
    DistanceConcentrationDisplay,
    DualCoefficientDisplay,
    ElbowDisplay,
    EvidenceCurveDisplay,
    EvidenceWeightDisplay,
    FitsDisplay,
    GeneralizationGapDisplay,
    LaplaceComparisonDisplay,
    LearningCurveDisplay,
    LearningLinesDisplay,
    LearningSurfaceDisplay,
    LeverageDisplay,
    LogOddsDisplay,
    MarginDisplay,
    MetricDirectionsDisplay,
    NeighborCountDisplay,
    OneVsRestRocDisplay,
    PACDisplay,
    PairwiseDisplay,
    PartialDependenceDisplay,
    PerceptronTraceDisplay,
    PermutationImportanceDisplay,
    PITDisplay,
    PrecisionRecallDisplay,
    PredictedActualDisplay,
    PredictiveBandDisplay,
    PredictiveIntervalDisplay,
    QuantileQuantileDisplay,
    RegularizationPathDisplay,
    RelevanceDisplay,
    ResidualDisplay,
    RocDisplay,
    ScaleLocationDisplay,
    SetSizeDisplay,
    ShatteringDisplay,
    SignedDistanceDisplay,
    SilhouetteDisplay,
    StandardizedResidualDisplay,
    SupportVectorDisplay,
    SVMPathDisplay,
    TrainingTraceDisplay,
    ValidationCurveDisplay,
    VersionSpaceDisplay,
    VoronoiDisplay,
)
from separatrix.probability.decision_surface import DecisionFunctionSurface, decision_surface
from separatrix.probability.roc import roc_curve
from separatrix.selection.criteria import PathFigures, table_of
from separatrix.selection.curves import LearningCurves
from separatrix.theory.bias_variance import polynomial_bias_variance
from separatrix.theory.half_spaces import Balls, Hyperplanes
from separatrix.theory.hypothesis_class import UnionsOfIntervals
from separatrix.theory.polygons import Boxes, Intervals, Triangles

NASTY = ("plain", "$a$ & <b>", 'quote"s', "x" * 60, "naïve 東京", "")


def _comparison(estimates):
    one, none = np.ones(6), np.zeros((3, 2))
    ends = estimates[:, None] + np.array([-1.8, 2.2])
    shifted = estimates + np.linspace(0.0, 0.4, 6)
    return PosteriorComparison(
        NASTY, estimates, one, shifted, 1.1 * one, ends, 0.01 * one, none, none, True
    )


def few_models():
    """Models with names, a likelihood, and nothing else."""
    likelihoods = np.array([-90.0, -70.0, -69.5])
    return PathFigures(
        "model", NASTY[:3], np.array([2.0, 1.0, 0.0]), 40.0, np.array([1.0, 2.0, 9.0]), likelihoods
    )


def many_penalties():
    """A ridge path with figures for most criteria, some of them infinite."""
    alphas = np.geomspace(1e3, 1e-3, 30)
    df, squares = 30 / (1 + alphas), 40 + 60 * alphas / (1 + alphas)
    folds = (squares * (1 + df / 40))[:, None] * [0.9, 1.0, 1.2] / 40
    return PathFigures(
        "alpha",
        tuple(alphas.tolist()),
        alphas,
        40.0,
        df,
        -20 * np.log(squares),
        squares=squares,
        log_evidence=-(np.log(alphas) ** 2),
        fold_losses=folds,
    )


def learning():
    """Curves of models with names, a peak, and a size without a fit."""
    sizes = np.geomspace(20, 900, 6)
    curves = np.array([5 + 0 * sizes, 1 + 30 / sizes, 0.9 + 90 / sizes, 0.8 + 400 / sizes])
    curves[3, 1], curves[2, 0] = 60.0, np.nan
    folds = np.array([0.9, 1.0, 1.05, 1.1])
    errors = curves.T[:, :, None] * folds
    return LearningCurves(sizes, NASTY[:4], errors, 0.5 * errors)


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
        "version space": VersionSpaceDisplay.from_estimator(
            BoxClassifier(max_nodes=50).fit(x[:, :3], three), x[:, :3], three
        ),
        "labels saved": ActiveCurveDisplay(
            ActiveCurve(np.array([5, 10, 20]), 0.1 + 0.01 * x[:6, :3], 0.2 + 0.01 * x[6:12, :3])
        ),
        "coefficients": CoefficientDisplay(NASTY, estimates, intervals, np.ones(6)),
        "raw coefficients": CoefficientDisplay(NASTY, estimates),
        "path": RegularizationPathDisplay(
            alphas, np.exp(-alphas)[:, None] * estimates, NASTY, alphas[9]
        ),
        "path beside": RegularizationPathDisplay(
            alphas, np.exp(-alphas)[:, None] * estimates, NASTY, reference=estimates
        ),
        "residuals": ResidualDisplay(fitted, residuals),
        "quantiles": QuantileQuantileDisplay(residuals),
        "scale": ScaleLocationDisplay(fitted, residuals),
        "leverage": LeverageDisplay.from_design(x, residuals),
        "learning": LearningCurveDisplay(
            [10, 20, 40], rng.uniform(1, 2, (3, 5)), rng.uniform(2, 3, (3, 5)), "rmse"
        ),
        "validation": ValidationCurveDisplay(
            alphas, rng.uniform(1, 2, (30, 5)) + np.log(alphas)[:, None] ** 2, alphas[12]
        ),
        "one fold": ValidationCurveDisplay(alphas, 1 + alphas, alphas[0]),
        "folds": CrossValidationDisplay(NASTY[:2], rng.uniform(size=(2, 5)), "error", NASTY[0]),
        "generalization gap": GeneralizationGapDisplay(
            ["training", "test"], [1.0, 1.2], [np.nan, 1.1], [np.nan, 1.3], "rmse", ["test"]
        ),
        "cells": VoronoiDisplay.from_estimator(
            sx.NearestExemplar("manhattan", "median", n_exemplars=2).fit(
                rng.normal(size=(60, 2)), np.array(NASTY)[np.arange(60) % len(NASTY)]
            )
        ),
        "cells of order two": VoronoiDisplay.from_estimator(
            sx.KNeighborsClassifier(1).fit(rng.normal(size=(9, 2)), np.arange(9) % 2), order=2
        ),
        "confusion": ConfusionMatrixDisplay.from_predictions(label, np.roll(label, 1)),
        "roc": RocDisplay.from_predictions(label, fitted),
        "roc with folds": RocDisplay.from_predictions(
            label, fitted, folds=[roc_curve(label[i::3], fitted[i::3]) for i in range(3)]
        ),
        "mistakes": PerceptronTraceDisplay(300 // np.arange(1, 500), 1000, "converged"),
        "mistakes in one epoch": PerceptronTraceDisplay(np.array([7]), 9, "limit reached"),
        "trace": TrainingTraceDisplay(
            np.exp(-np.arange(900) / 99), 0.5 / np.arange(1, 901), "stopped early"
        ),
        "precision": PrecisionRecallDisplay.from_predictions(label, fitted),
        "distances": SignedDistanceDisplay.from_scores(
            label, fitted, np.arange(5.0), ["no", "yes"]
        ),
        "three distances": SignedDistanceDisplay.from_scores(
            three, rng.normal(size=(n, 3)), rng.normal(size=(3, 5)), ["a", "b", "c"]
        ),
        **column_pictures(rng, x, fitted, label, three),
        **class_pictures(rng, x, fitted, label, three),
        **svm_pictures(rng, x, fitted, label),
        **cluster_pictures(x),
        **predictive_pictures(fitted, residuals),
        **theory_pictures(),
    }


def column_pictures(rng, x, fitted, label, three):
    """Importance, partial dependence, histograms, correlations; predicted against actual."""
    noise = rng.normal(size=len(x))
    days = 16_000 + 40 * x[:, 0]
    rise = np.linspace(2, -0.1, 6)
    intervals = rise[:, None] + np.array([-0.3, 0.3])
    grid = np.linspace(0, 1, 20)
    curves = np.outer(rng.normal(size=30), grid) + grid
    many = np.column_stack([np.cos(k * grid) / 9 + 0.1 for k in range(9)])
    histogram = ColumnDistributionDisplay.from_values
    return {
        "predicted": PredictedActualDisplay.from_predictions(fitted + noise, fitted),
        "predicted, one row": PredictedActualDisplay.from_predictions([2.0], [3.0]),
        "importance": PermutationImportanceDisplay(NASTY, rise, intervals, "rmse", 3.0),
        "importance of a rate": PermutationImportanceDisplay(
            [f"c{i}" for i in range(40)], np.linspace(0.2, 0, 40), np.zeros((40, 2)), "error",
            n_columns=400,
        ),
        "dependence": PartialDependenceDisplay(
            NASTY[1], grid, curves.mean(axis=0), ["y"], curves, np.linspace(0.1, 0.9, 9)
        ),
        "dependence of nine classes": PartialDependenceDisplay(
            "c", grid, many, list("abcdefghi"), scale="probability"
        ),
        "dependence by level": PartialDependenceDisplay(
            NASTY[3], NASTY, rise, ["y"], np.outer(np.ones(20), rise) + rng.normal(size=(20, 6))
        ),
        "dependence by level of three classes": PartialDependenceDisplay(
            "c", ("u", "v"), [[0.2, 0.3, 0.5], [0.3, 0.3, 0.4]], list("abc"), scale="proportion"
        ),
        "dependence on a date": PartialDependenceDisplay(
            "day", 16_000 + 400 * grid, grid, ["y"], display="date"
        ),
        "histograms by class": histogram(NASTY[1], x[:, 0], three),
        "histogram and target": histogram(NASTY[3], x[:, 0], fitted),
        "histogram": histogram("fitted", fitted),
        "histogram of dates": histogram("day", days, label, display="date"),
        "histogram of years": histogram("year", np.round(2000 + 9 * x[:, 1]), display="year"),
        "levels by class": histogram(NASTY[1], three, label),
        "levels and target": histogram("c", three, fitted),
        "levels": histogram("c", three),
        "sigmoid by steps": DescentSigmoidDisplay(
            [10, 100, 1000], [0.1, 0.8, 2.0], [0.0, -0.2, -0.5], x[:, 0], label == label[0],
            (NASTY[1], NASTY[0], NASTY[3]),
        ),
        "pairs by class": PairwiseDisplay.from_rows(x[:, :4], three, names=NASTY[:4]),
        "pairs of many rows": PairwiseDisplay.from_rows(np.tile(x[:, :3], (30, 1))),
        "correlations": CorrelationDisplay.from_rows(x, names=NASTY[:5]),
        "correlations of many": CorrelationDisplay.from_rows(
            np.hstack([x, x + rng.normal(size=x.shape), x[:, ::-1] ** 2, x**3])
        ),
    }  # fmt: skip


def class_pictures(rng, x, fitted, label, three):
    """Probabilities, rejection, decision boundary."""
    odds = 1 / (1 + np.exp(-fitted))
    p = rng.dirichlet(np.ones(3), len(three))
    rejected = np.where(rng.random(len(label)) < 0.1, "reject", np.roll(label, 1))
    return {
        "confusion with rejection": ConfusionMatrixDisplay.from_predictions(
            label, rejected, reject_label="reject"
        ),
        "calibration": CalibrationDisplay.from_predictions(label, odds),
        "calibrations": CalibrationDisplay.from_predictions(
            label, {NASTY[1]: odds, NASTY[3]: odds**2}
        ),
        "calibration of three": CalibrationDisplay.from_probabilities(three, p, ["a", "b", "c"]),
        "coverage": CoverageRiskDisplay.from_predictions(three, p, ["a", "b", "c"]),
        "coverage with rejection": CoverageRiskDisplay.from_predictions(
            three, p, ["a", "b", "c"], costs=0.4
        ),
        "coverage at a cost": CoverageRiskDisplay.from_predictions(
            label, np.column_stack([1 - odds, odds]), ["no", "yes"], costs=[[0, 5, 1], [1, 0, 0.5]]
        ),
        "roc of three": OneVsRestRocDisplay.from_predictions(three, p, ["a", "b", "c"]),
        "log odds": LogOddsDisplay.from_probabilities(
            label, np.column_stack([1 - odds, odds]), ["no", "yes"]
        ),
        "three log odds": LogOddsDisplay.from_probabilities(three, p, ["a", "b", "c"]),
        "boundary": boundary(x, (fitted > 0).astype(int), NASTY[1:3]),
        "boundary with rejection": boundary(x, (fitted > 0).astype(int), NASTY[1:3], reject=True),
        "boundary of three": boundary(x, np.digitize(fitted, [-4, 4]), NASTY[:3]),
    }


def boundary(x, codes, labels, *, reject=False):
    """Nearest class mean, with rejection near the middle on request."""
    means = np.array([x[codes == k].mean(axis=0) for k in range(len(labels))])

    def utility(rows):
        near = -((rows[:, None] - means) ** 2).sum(axis=2)
        return np.column_stack([near, np.full(len(rows), -4.0)]) if reject else near

    called = utility(x).argmax(axis=1)
    fixed = ("region at <north>",) if reject else ()
    return DecisionBoundaryDisplay(
        decision_surface((x, codes, None), (x, codes), utility, called, tuple(labels), fixed=fixed)
    )


def svm_pictures(rng, x, fitted, label):
    """Margins, support vectors, dual coefficients."""
    margin = np.where(label == "yes", 1, -1) * fitted / 4
    alpha = np.clip(1 - margin, 0, 1)
    across, up = np.linspace(-3, 3, 30), np.linspace(-3, 3, 20)
    surface = DecisionFunctionSurface(
        x[:, :2], across, up, across[None, :] + up[:, None] ** 2 - 2, NASTY[1:3], projected=False
    )
    Cs = np.geomspace(0.01, 100, 9)
    return {
        "margins": MarginDisplay(margin),
        "support vectors": SupportVectorDisplay(
            surface, (label == "yes").astype(int), ["no", "yes"], margin < 1
        ),
        "dual coefficients": DualCoefficientDisplay(alpha, 1.0, label, ["no", "yes"]),
        "hard margin": DualCoefficientDisplay(alpha * 3, np.inf, label, ["no", "yes"]),
        "path over C": SVMPathDisplay(Cs, 100 / (1 + Cs), rng.uniform(size=(9, 5)), Cs[4]),
        "path without scores": SVMPathDisplay(Cs, 100 / (1 + Cs)),
    }


def cluster_pictures(x):
    """Silhouettes, dendrograms, profiles, distances."""
    three = np.array(NASTY[:3])[np.digitize(x[:, 0], [-0.5, 0.5])]
    many = np.vstack([x, x + 0.01, x - 3])
    counts = np.arange(1, 8)
    return {
        "silhouettes": SilhouetteDisplay.from_rows(x, three),
        "silhouettes of many clusters": SilhouetteDisplay.from_rows(x, np.arange(len(x)) % 30),
        "tree": DendrogramDisplay.from_linkage(hierarchy.linkage(x, "average"), n_clusters=4),
        "small tree with names": DendrogramDisplay.from_linkage(
            hierarchy.linkage(x[:6], "complete"), distance_threshold=2.0, leaf_labels=NASTY
        ),
        "tree with inversions": DendrogramDisplay.from_linkage(
            hierarchy.linkage(x, "centroid"), n_clusters=7
        ),
        "large tree": DendrogramDisplay.from_linkage(hierarchy.linkage(many, "ward")),
        "criteria of few models": CriteriaDisplay(table_of(few_models())),
        "criteria of a path": CriteriaDisplay(table_of(many_penalties())),
        "learning surface": LearningSurfaceDisplay(learning()),
        "learning lines": LearningLinesDisplay(learning()),
        "elbow": ElbowDisplay(counts, 1 / counts, np.append(np.nan, 0.5 - counts[1:] / 20)),
        "elbow, chosen": ElbowDisplay(counts, 1 / counts, np.full(7, 0.1), 5),
        "profiles": ClusterProfileDisplay.from_rows(x, three, names=NASTY[:5]),
        "profiles of many columns": ClusterProfileDisplay.from_rows(
            np.hstack([many] * 6), np.arange(len(many)) % 9
        ),
        "projection": ClusterProjectionDisplay.from_rows(x, three, names=NASTY[:5]),
        "projection of one column": ClusterProjectionDisplay.from_rows(x[:, :1], three),
        "numbers of neighbors": NeighborCountDisplay(
            counts, 0.2 + (counts - 4) ** 2 / 100, np.full(7, 0.02), 4
        ),
        "many neighbors, regression": NeighborCountDisplay(
            np.arange(1, 90), np.linspace(2, 1, 89), np.zeros(89), metric="rmse"
        ),
        "concentration": DistanceConcentrationDisplay.from_rows(x),
        "evidence weights": EvidenceWeightDisplay(NASTY, np.eye(6)[1], -np.arange(6.0)),
        "evidence curve": EvidenceCurveDisplay(
            EvidenceCurve(counts, counts, -((counts - 4.0) ** 2), 4.2, 1.0, 0.1)
        ),
        "Laplace comparison": LaplaceComparisonDisplay(_comparison(np.arange(6.0))),
    }


def theory_pictures():
    """Shattered points, failures of learning, bias and variance."""
    shown, angles = ShatteringDisplay.from_hypotheses, 2 * np.pi * np.arange(7) / 7
    square = [[0, 1], [1, 0.1], [0, -1], [-1, 0]]
    found = polynomial_bias_variance(
        [1, 3, 5], lambda x: 2 * np.sin(1.5 * x[:, 0]), 1.0, 20, 30, x=(0, 5)
    )
    return {
        "boxes": shown(Boxes(2), square),
        "three points and lines": shown(Hyperplanes(2), square[:3]),
        "not shattered": shown(Hyperplanes(2), square),
        "disks": shown(Balls(2), square[:3]),
        "triangles": shown(Triangles(), np.c_[np.cos(angles), np.sin(angles)]),
        "unions of intervals": shown(UnionsOfIntervals(2), [1.0, 2.0, 4.0, 5.0]),
        "failures": PACDisplay.from_hypotheses(Intervals(), 0.2, 0.1, [10, 30], repeats=40),
        "bias and variance": BiasVarianceDisplay([1, 3, NASTY[1]], found),
        "fits": FitsDisplay(found[1]),
    }


def _curve(has_levels):
    """A wave with its intervals, or a number for each of six levels."""
    x = NASTY if has_levels else np.linspace(0.0, 6.0, 50)
    values = np.sin(np.linspace(0.0, 6.0, len(x)))
    ends = np.array([-0.2, 0.2])
    interval, band = values[:, None] + ends, values[:, None] + 1.6 * ends
    marks = np.zeros(0) if has_levels else np.linspace(0.0, 6.0, 20)
    name = "a rather long name of a column"
    return Curve(name, x, values, np.full(len(x), 0.1), 0.95, interval, band, 5.2, marks)


def predictive_pictures(fitted, residuals):
    """Bands, intervals, coverage, standardized residuals; length scales."""
    y, scale = fitted + residuals, 0.7 + 0.1 * np.abs(fitted)
    predictive = PredictiveDistribution(fitted, scale)
    wide = PredictiveDistribution(fitted, 4 * scale, 5.0)
    x = np.linspace(16_000, 18_000, 40)
    mean, half = np.sin(x / 300), 0.2 + np.abs(x - 17_000) / 2_000
    ends = np.stack([mean - half, mean + half], axis=1)
    intervals = np.array([[0.5, 2], [1, 3], [0.1, np.inf], [np.nan, np.nan], [9, 30], [1, 2]])
    return {
        "band": PredictiveBandDisplay(x, mean, ends, display="date", column=NASTY[1]),
        "band with points": PredictiveBandDisplay.from_predictions(y, predictive, fitted),
        "row intervals": PredictiveIntervalDisplay.from_predictions(y, predictive),
        "row intervals, one": PredictiveIntervalDisplay([1.0], [5.0], [[4.0, 6.0]], 0.5),
        "coverage by category": CategoryCoverageDisplay(
            NASTY, np.linspace(0.7, 1, 6), np.stack([np.linspace(0.6, 0.95, 6), np.ones(6)], 1)
        ),
        "coverage of one": CategoryCoverageDisplay(("a",), [0.5], [[0.4, 0.6]], 0.8),
        "set sizes": SetSizeDisplay([3, 80, 10, 0, 0]),
        "set sizes, many": SetSizeDisplay.from_sets(np.tri(30, 20, 3) > 0, level=0.95),
        "coverage": CoverageDisplay.from_predictions(y, predictive),
        "coverage, too wide": CoverageDisplay.from_predictions(y, wide),
        "pit": PITDisplay.from_predictions(y, predictive),
        "pit, too wide": PITDisplay.from_predictions(y, wide, bins=5),
        "standardized residuals": StandardizedResidualDisplay.from_predictions(y, predictive),
        "relevance": RelevanceDisplay(NASTY, np.array([1, 2, 50, np.inf, 20, 1.4]), intervals),
        "additive curve": AdditiveCurveDisplay(_curve(False)),
        "additive curve of levels": AdditiveCurveDisplay(_curve(True), "the log mean"),
        "metric directions": MetricDirectionsDisplay(
            [
                (0.7, dict(zip(NASTY, np.linspace(-0.6, 0.5, 6), strict=True))),
                (0.2, dict.fromkeys(NASTY, 0.4)),
            ]
        ),
        "metric direction, one": MetricDirectionsDisplay([(1.0, {"a": 1.0})]),
        "relevance alone": RelevanceDisplay(("a",), np.array([3.0]), scale=np.array([6.0])),
    }
