"""Pictures in scikit-learn's Display style, each with a description in words.

Nothing of matplotlib is imported before a picture is drawn.
"""

from separatrix.pictures.classes.boundary import DecisionBoundaryDisplay
from separatrix.pictures.classes.calibration import CalibrationDisplay
from separatrix.pictures.classes.confusion import ConfusionMatrixDisplay
from separatrix.pictures.classes.coverage import CoverageRiskDisplay
from separatrix.pictures.classes.distances import SignedDistanceDisplay
from separatrix.pictures.classes.log_odds import LogOddsDisplay
from separatrix.pictures.classes.margins import MarginDisplay
from separatrix.pictures.classes.precision_recall import PrecisionRecallDisplay
from separatrix.pictures.classes.roc import RocDisplay
from separatrix.pictures.classes.roc_classes import OneVsRestRocDisplay
from separatrix.pictures.clusters.concentration import DistanceConcentrationDisplay
from separatrix.pictures.clusters.dendrogram import DendrogramDisplay
from separatrix.pictures.clusters.elbow import ElbowDisplay
from separatrix.pictures.clusters.profiles import ClusterProfileDisplay
from separatrix.pictures.clusters.projection import ClusterProjectionDisplay
from separatrix.pictures.clusters.silhouette import SilhouetteDisplay
from separatrix.pictures.display import Display
from separatrix.pictures.regression.coefficients import CoefficientDisplay
from separatrix.pictures.regression.leverage import LeverageDisplay
from separatrix.pictures.regression.quantiles import QuantileQuantileDisplay
from separatrix.pictures.regression.residuals import ResidualDisplay
from separatrix.pictures.regression.scale_location import ScaleLocationDisplay
from separatrix.pictures.svm.dual_coefficients import DualCoefficientDisplay
from separatrix.pictures.svm.path import SVMPathDisplay
from separatrix.pictures.svm.support_vectors import SupportVectorDisplay
from separatrix.pictures.training.folds import CrossValidationDisplay
from separatrix.pictures.training.generalization import GeneralizationGapDisplay
from separatrix.pictures.training.learning_curve import LearningCurveDisplay
from separatrix.pictures.training.mistakes import PerceptronTraceDisplay
from separatrix.pictures.training.n_neighbors import NeighborCountDisplay
from separatrix.pictures.training.path import RegularizationPathDisplay
from separatrix.pictures.training.trace import TrainingTraceDisplay
from separatrix.pictures.training.validation_curve import ValidationCurveDisplay

__all__ = [
    "CalibrationDisplay",
    "DecisionBoundaryDisplay",
    "ClusterProfileDisplay",
    "ClusterProjectionDisplay",
    "CoefficientDisplay",
    "DistanceConcentrationDisplay",
    "ConfusionMatrixDisplay",
    "CoverageRiskDisplay",
    "DendrogramDisplay",
    "Display",
    "SignedDistanceDisplay",
    "ElbowDisplay",
    "CrossValidationDisplay",
    "GeneralizationGapDisplay",
    "LearningCurveDisplay",
    "LeverageDisplay",
    "LogOddsDisplay",
    "MarginDisplay",
    "PerceptronTraceDisplay",
    "DualCoefficientDisplay",
    "NeighborCountDisplay",
    "RegularizationPathDisplay",
    "PrecisionRecallDisplay",
    "QuantileQuantileDisplay",
    "ResidualDisplay",
    "OneVsRestRocDisplay",
    "RocDisplay",
    "SVMPathDisplay",
    "ScaleLocationDisplay",
    "SilhouetteDisplay",
    "SupportVectorDisplay",
    "TrainingTraceDisplay",
    "ValidationCurveDisplay",
]
