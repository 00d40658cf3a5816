"""Plots in scikit-learn's Display style, each with a description in words.

matplotlib is imported only when a plot is drawn.
"""

from separatrix.pictures.bayes.coverage import CoverageDisplay
from separatrix.pictures.bayes.evidence import EvidenceCurveDisplay, EvidenceWeightDisplay
from separatrix.pictures.bayes.intervals import PredictiveIntervalDisplay
from separatrix.pictures.bayes.laplace_comparison import LaplaceComparisonDisplay
from separatrix.pictures.bayes.pit import PITDisplay
from separatrix.pictures.bayes.predictive_band import PredictiveBandDisplay
from separatrix.pictures.bayes.relevance import RelevanceDisplay
from separatrix.pictures.bayes.standardized_residuals import StandardizedResidualDisplay
from separatrix.pictures.classes.calibration import CalibrationDisplay
from separatrix.pictures.classes.class_histograms import LogOddsDisplay, SignedDistanceDisplay
from separatrix.pictures.classes.confusion import ConfusionMatrixDisplay
from separatrix.pictures.classes.coverage import CoverageRiskDisplay
from separatrix.pictures.classes.decision_boundary import DecisionBoundaryDisplay
from separatrix.pictures.classes.margins import MarginDisplay
from separatrix.pictures.classes.roc import (
    OneVsRestRocDisplay,
    PrecisionRecallDisplay,
    RocDisplay,
)
from separatrix.pictures.clusters.concentration import DistanceConcentrationDisplay
from separatrix.pictures.clusters.dendrogram import DendrogramDisplay
from separatrix.pictures.clusters.elbow import ElbowDisplay
from separatrix.pictures.clusters.profiles import ClusterProfileDisplay
from separatrix.pictures.clusters.projection import ClusterProjectionDisplay
from separatrix.pictures.clusters.silhouette import SilhouetteDisplay
from separatrix.pictures.columns.correlation import CorrelationDisplay
from separatrix.pictures.columns.distribution import ColumnDistributionDisplay
from separatrix.pictures.columns.importance import PermutationImportanceDisplay
from separatrix.pictures.columns.partial_dependence import PartialDependenceDisplay
from separatrix.pictures.conformal.category_coverage import CategoryCoverageDisplay
from separatrix.pictures.conformal.set_sizes import SetSizeDisplay
from separatrix.pictures.display import Display
from separatrix.pictures.hypotheses.active_curve import ActiveCurveDisplay
from separatrix.pictures.hypotheses.version_space import VersionSpaceDisplay
from separatrix.pictures.regression.coefficients import CoefficientDisplay
from separatrix.pictures.regression.leverage import LeverageDisplay
from separatrix.pictures.regression.predicted_actual import PredictedActualDisplay
from separatrix.pictures.regression.residuals import (
    QuantileQuantileDisplay,
    ResidualDisplay,
    ScaleLocationDisplay,
)
from separatrix.pictures.svm.dual_coefficients import DualCoefficientDisplay
from separatrix.pictures.svm.path import SVMPathDisplay
from separatrix.pictures.svm.support_vectors import SupportVectorDisplay
from separatrix.pictures.theory.bias_variance import BiasVarianceDisplay, FitsDisplay
from separatrix.pictures.theory.pac import PACDisplay
from separatrix.pictures.theory.shattering import ShatteringDisplay
from separatrix.pictures.training.criteria import CriteriaDisplay
from separatrix.pictures.training.curves import LearningCurveDisplay, ValidationCurveDisplay
from separatrix.pictures.training.learning_surface import (
    LearningLinesDisplay,
    LearningSurfaceDisplay,
)
from separatrix.pictures.training.n_neighbors import NeighborCountDisplay
from separatrix.pictures.training.regularization_path import RegularizationPathDisplay
from separatrix.pictures.training.scores import CrossValidationDisplay, GeneralizationGapDisplay
from separatrix.pictures.training.trace import PerceptronTraceDisplay, TrainingTraceDisplay

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
