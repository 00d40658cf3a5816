"""Plots in scikit-learn's Display style, each with a description in words.

Names are imported on first use, and matplotlib only when a plot is drawn.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from separatrix.pictures.additive import AdditiveCurveDisplay, MetricDirectionsDisplay
    from separatrix.pictures.class_scores import (
        CalibrationDisplay,
        LogOddsDisplay,
        MarginDisplay,
        OneVsRestRocDisplay,
        PrecisionRecallDisplay,
        RocDisplay,
        SignedDistanceDisplay,
    )
    from separatrix.pictures.cluster import (
        ClusterProfileDisplay,
        ClusterProjectionDisplay,
        DendrogramDisplay,
        DistanceConcentrationDisplay,
        ElbowDisplay,
        SilhouetteDisplay,
    )
    from separatrix.pictures.columns import (
        ColumnDistributionDisplay,
        CorrelationDisplay,
        PartialDependenceDisplay,
        PermutationImportanceDisplay,
    )
    from separatrix.pictures.conformal import CategoryCoverageDisplay, SetSizeDisplay
    from separatrix.pictures.decisions import (
        ConfusionMatrixDisplay,
        CoverageRiskDisplay,
        DecisionBoundaryDisplay,
        VoronoiDisplay,
    )
    from separatrix.pictures.display import Display
    from separatrix.pictures.evidence import (
        EvidenceCurveDisplay,
        EvidenceWeightDisplay,
        LaplaceComparisonDisplay,
        RelevanceDisplay,
    )
    from separatrix.pictures.learning import (
        CrossValidationDisplay,
        DescentSigmoidDisplay,
        GeneralizationGapDisplay,
        LearningCurveDisplay,
        LearningLinesDisplay,
        LearningSurfaceDisplay,
        PerceptronTraceDisplay,
        TrainingTraceDisplay,
        ValidationCurveDisplay,
    )
    from separatrix.pictures.pairs import PairwiseDisplay
    from separatrix.pictures.paths import (
        CriteriaDisplay,
        NeighborCountDisplay,
        RegularizationPathDisplay,
    )
    from separatrix.pictures.predictive import (
        CoverageDisplay,
        PITDisplay,
        PredictiveBandDisplay,
        PredictiveIntervalDisplay,
        StandardizedResidualDisplay,
    )
    from separatrix.pictures.regression import (
        CoefficientDisplay,
        LeverageDisplay,
        PredictedActualDisplay,
        QuantileQuantileDisplay,
        ResidualDisplay,
        ScaleLocationDisplay,
    )
    from separatrix.pictures.svm import DualCoefficientDisplay, SupportVectorDisplay, SVMPathDisplay
    from separatrix.pictures.theory import (
        ActiveCurveDisplay,
        BiasVarianceDisplay,
        FitsDisplay,
        PACDisplay,
        ShatteringDisplay,
        VersionSpaceDisplay,
    )

__all__ = [
    "AdditiveCurveDisplay",
    "MetricDirectionsDisplay",
    "ActiveCurveDisplay",
    "VersionSpaceDisplay",
    "PredictedActualDisplay",
    "CategoryCoverageDisplay",
    "SetSizeDisplay",
    "CoverageDisplay",
    "PITDisplay",
    "PredictiveBandDisplay",
    "PredictiveIntervalDisplay",
    "RelevanceDisplay",
    "StandardizedResidualDisplay",
    "PartialDependenceDisplay",
    "PermutationImportanceDisplay",
    "ColumnDistributionDisplay",
    "CorrelationDisplay",
    "BiasVarianceDisplay",
    "CalibrationDisplay",
    "ClusterProfileDisplay",
    "ClusterProjectionDisplay",
    "CoefficientDisplay",
    "ConfusionMatrixDisplay",
    "CoverageRiskDisplay",
    "CriteriaDisplay",
    "CrossValidationDisplay",
    "DecisionBoundaryDisplay",
    "DendrogramDisplay",
    "DescentSigmoidDisplay",
    "Display",
    "DistanceConcentrationDisplay",
    "DualCoefficientDisplay",
    "ElbowDisplay",
    "EvidenceCurveDisplay",
    "EvidenceWeightDisplay",
    "FitsDisplay",
    "GeneralizationGapDisplay",
    "LaplaceComparisonDisplay",
    "LearningCurveDisplay",
    "LearningLinesDisplay",
    "LearningSurfaceDisplay",
    "LeverageDisplay",
    "LogOddsDisplay",
    "MarginDisplay",
    "NeighborCountDisplay",
    "OneVsRestRocDisplay",
    "PACDisplay",
    "PairwiseDisplay",
    "PerceptronTraceDisplay",
    "PrecisionRecallDisplay",
    "QuantileQuantileDisplay",
    "RegularizationPathDisplay",
    "ResidualDisplay",
    "RocDisplay",
    "SVMPathDisplay",
    "ScaleLocationDisplay",
    "ShatteringDisplay",
    "SignedDistanceDisplay",
    "SilhouetteDisplay",
    "SupportVectorDisplay",
    "TrainingTraceDisplay",
    "ValidationCurveDisplay",
    "VoronoiDisplay",
]

#: Displays by the module that defines them.
_DISPLAYS = {
    "additive": "AdditiveCurveDisplay MetricDirectionsDisplay",
    "class_scores": (
        "CalibrationDisplay LogOddsDisplay MarginDisplay OneVsRestRocDisplay "
        "PrecisionRecallDisplay RocDisplay SignedDistanceDisplay"
    ),
    "cluster": (
        "ClusterProfileDisplay ClusterProjectionDisplay DendrogramDisplay "
        "DistanceConcentrationDisplay ElbowDisplay SilhouetteDisplay"
    ),
    "columns": (
        "ColumnDistributionDisplay CorrelationDisplay PartialDependenceDisplay "
        "PermutationImportanceDisplay"
    ),
    "conformal": "CategoryCoverageDisplay SetSizeDisplay",
    "decisions": (
        "ConfusionMatrixDisplay CoverageRiskDisplay DecisionBoundaryDisplay VoronoiDisplay"
    ),
    "display": "Display",
    "evidence": (
        "EvidenceCurveDisplay EvidenceWeightDisplay LaplaceComparisonDisplay RelevanceDisplay"
    ),
    "learning": (
        "CrossValidationDisplay DescentSigmoidDisplay GeneralizationGapDisplay "
        "LearningCurveDisplay "
        "LearningLinesDisplay LearningSurfaceDisplay PerceptronTraceDisplay "
        "TrainingTraceDisplay ValidationCurveDisplay"
    ),
    "pairs": "PairwiseDisplay",
    "paths": "CriteriaDisplay NeighborCountDisplay RegularizationPathDisplay",
    "predictive": (
        "CoverageDisplay PITDisplay PredictiveBandDisplay PredictiveIntervalDisplay "
        "StandardizedResidualDisplay"
    ),
    "regression": (
        "CoefficientDisplay LeverageDisplay PredictedActualDisplay "
        "QuantileQuantileDisplay ResidualDisplay ScaleLocationDisplay"
    ),
    "svm": "DualCoefficientDisplay SupportVectorDisplay SVMPathDisplay",
    "theory": (
        "ActiveCurveDisplay BiasVarianceDisplay FitsDisplay PACDisplay ShatteringDisplay "
        "VersionSpaceDisplay"
    ),
}
_HOMES = {name: home for home, names in _DISPLAYS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"separatrix.pictures.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
