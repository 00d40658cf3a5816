"""Plots in scikit-learn's Display style, each with a description in words.

Names are imported on first use, and matplotlib only when a plot is drawn; types of the names are in
``__init__.pyi``.
"""

import importlib
from typing import Any

#: Displays by the module that defines them.
_DISPLAYS = {
    "class_scores": (
        "CalibrationDisplay LogOddsDisplay MarginDisplay OneVsRestRocDisplay "
        "PrecisionRecallDisplay RocDisplay SignedDistanceDisplay"
    ),
    "cluster": (
        "ClusterProfileDisplay ClusterProjectionDisplay DendrogramDisplay "
        "DistanceConcentrationDisplay ElbowDisplay SilhouetteDisplay"
    ),
    "columns": "ColumnDistributionDisplay CorrelationDisplay PairwiseDisplay",
    "decisions": (
        "ConfusionMatrixDisplay CoverageRiskDisplay DecisionBoundaryDisplay VoronoiDisplay"
    ),
    "display": "Display",
    "effects": (
        "AdditiveCurveDisplay MetricDirectionsDisplay PartialDependenceDisplay "
        "PermutationImportanceDisplay"
    ),
    "evidence": (
        "EvidenceCurveDisplay EvidenceWeightDisplay LaplaceComparisonDisplay RelevanceDisplay"
    ),
    "learning": (
        "CrossValidationDisplay DescentSigmoidDisplay GeneralizationGapDisplay "
        "LearningCurveDisplay LearningLinesDisplay LearningSurfaceDisplay "
        "PerceptronTraceDisplay TrainingTraceDisplay ValidationCurveDisplay"
    ),
    "paths": "CriteriaDisplay NeighborCountDisplay RegularizationPathDisplay",
    "predictive": (
        "CategoryCoverageDisplay CoverageDisplay PITDisplay PredictiveBandDisplay "
        "PredictiveIntervalDisplay SetSizeDisplay StandardizedResidualDisplay"
    ),
    "regression": (
        "CoefficientDisplay LeverageDisplay PredictedActualDisplay QuantileQuantileDisplay "
        "ResidualDisplay ScaleLocationDisplay"
    ),
    "svm": "DualCoefficientDisplay SupportVectorDisplay SVMPathDisplay",
    "theory": (
        "ActiveCurveDisplay BiasVarianceDisplay FitsDisplay PACDisplay ShatteringDisplay "
        "VersionSpaceDisplay"
    ),
}
HOMES = {
    name: f"separatrix.pictures.{home}"
    for home, names in _DISPLAYS.items()
    for name in names.split()
}
__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
