"""Plots in scikit-learn's Display style, each with a description in words.

matplotlib is imported only when a plot is drawn.
"""

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
    GeneralizationGapDisplay,
    LearningCurveDisplay,
    LearningLinesDisplay,
    LearningSurfaceDisplay,
    PerceptronTraceDisplay,
    TrainingTraceDisplay,
    ValidationCurveDisplay,
)
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
]
