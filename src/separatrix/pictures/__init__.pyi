# Types of the public names, for editors and type checkers: one import for every entry of HOMES.

from separatrix.pictures.class_scores import CalibrationDisplay as CalibrationDisplay
from separatrix.pictures.class_scores import LogOddsDisplay as LogOddsDisplay
from separatrix.pictures.class_scores import MarginDisplay as MarginDisplay
from separatrix.pictures.class_scores import OneVsRestRocDisplay as OneVsRestRocDisplay
from separatrix.pictures.class_scores import PrecisionRecallDisplay as PrecisionRecallDisplay
from separatrix.pictures.class_scores import RocDisplay as RocDisplay
from separatrix.pictures.class_scores import SignedDistanceDisplay as SignedDistanceDisplay
from separatrix.pictures.cluster import ClusterProfileDisplay as ClusterProfileDisplay
from separatrix.pictures.cluster import ClusterProjectionDisplay as ClusterProjectionDisplay
from separatrix.pictures.cluster import DendrogramDisplay as DendrogramDisplay
from separatrix.pictures.cluster import DistanceConcentrationDisplay as DistanceConcentrationDisplay
from separatrix.pictures.cluster import ElbowDisplay as ElbowDisplay
from separatrix.pictures.cluster import SilhouetteDisplay as SilhouetteDisplay
from separatrix.pictures.columns import ColumnDistributionDisplay as ColumnDistributionDisplay
from separatrix.pictures.columns import CorrelationDisplay as CorrelationDisplay
from separatrix.pictures.columns import PairwiseDisplay as PairwiseDisplay
from separatrix.pictures.decisions import ConfusionMatrixDisplay as ConfusionMatrixDisplay
from separatrix.pictures.decisions import CoverageRiskDisplay as CoverageRiskDisplay
from separatrix.pictures.decisions import DecisionBoundaryDisplay as DecisionBoundaryDisplay
from separatrix.pictures.decisions import VoronoiDisplay as VoronoiDisplay
from separatrix.pictures.display import Display as Display
from separatrix.pictures.effects import AdditiveCurveDisplay as AdditiveCurveDisplay
from separatrix.pictures.effects import MetricDirectionsDisplay as MetricDirectionsDisplay
from separatrix.pictures.effects import PartialDependenceDisplay as PartialDependenceDisplay
from separatrix.pictures.effects import PermutationImportanceDisplay as PermutationImportanceDisplay
from separatrix.pictures.evidence import EvidenceCurveDisplay as EvidenceCurveDisplay
from separatrix.pictures.evidence import EvidenceWeightDisplay as EvidenceWeightDisplay
from separatrix.pictures.evidence import LaplaceComparisonDisplay as LaplaceComparisonDisplay
from separatrix.pictures.evidence import RelevanceDisplay as RelevanceDisplay
from separatrix.pictures.learning import CrossValidationDisplay as CrossValidationDisplay
from separatrix.pictures.learning import DescentSigmoidDisplay as DescentSigmoidDisplay
from separatrix.pictures.learning import GeneralizationGapDisplay as GeneralizationGapDisplay
from separatrix.pictures.learning import LearningCurveDisplay as LearningCurveDisplay
from separatrix.pictures.learning import LearningLinesDisplay as LearningLinesDisplay
from separatrix.pictures.learning import LearningSurfaceDisplay as LearningSurfaceDisplay
from separatrix.pictures.learning import PerceptronTraceDisplay as PerceptronTraceDisplay
from separatrix.pictures.learning import TrainingTraceDisplay as TrainingTraceDisplay
from separatrix.pictures.learning import ValidationCurveDisplay as ValidationCurveDisplay
from separatrix.pictures.paths import CriteriaDisplay as CriteriaDisplay
from separatrix.pictures.paths import NeighborCountDisplay as NeighborCountDisplay
from separatrix.pictures.paths import RegularizationPathDisplay as RegularizationPathDisplay
from separatrix.pictures.predictive import CategoryCoverageDisplay as CategoryCoverageDisplay
from separatrix.pictures.predictive import CoverageDisplay as CoverageDisplay
from separatrix.pictures.predictive import PITDisplay as PITDisplay
from separatrix.pictures.predictive import PredictiveBandDisplay as PredictiveBandDisplay
from separatrix.pictures.predictive import PredictiveIntervalDisplay as PredictiveIntervalDisplay
from separatrix.pictures.predictive import SetSizeDisplay as SetSizeDisplay
from separatrix.pictures.predictive import (
    StandardizedResidualDisplay as StandardizedResidualDisplay,
)
from separatrix.pictures.regression import CoefficientDisplay as CoefficientDisplay
from separatrix.pictures.regression import LeverageDisplay as LeverageDisplay
from separatrix.pictures.regression import PredictedActualDisplay as PredictedActualDisplay
from separatrix.pictures.regression import QuantileQuantileDisplay as QuantileQuantileDisplay
from separatrix.pictures.regression import ResidualDisplay as ResidualDisplay
from separatrix.pictures.regression import ScaleLocationDisplay as ScaleLocationDisplay
from separatrix.pictures.svm import DualCoefficientDisplay as DualCoefficientDisplay
from separatrix.pictures.svm import SVMPathDisplay as SVMPathDisplay
from separatrix.pictures.svm import SupportVectorDisplay as SupportVectorDisplay
from separatrix.pictures.theory import ActiveCurveDisplay as ActiveCurveDisplay
from separatrix.pictures.theory import BiasVarianceDisplay as BiasVarianceDisplay
from separatrix.pictures.theory import FitsDisplay as FitsDisplay
from separatrix.pictures.theory import PACDisplay as PACDisplay
from separatrix.pictures.theory import ShatteringDisplay as ShatteringDisplay
from separatrix.pictures.theory import VersionSpaceDisplay as VersionSpaceDisplay

HOMES: dict[str, str]
__all__: list[str]
