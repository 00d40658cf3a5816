"""Pictures in scikit-learn's Display style, each with a description in words.

Nothing of matplotlib is imported before a picture is drawn.
"""

from separatrix.pictures.classes.boundary import ClassBoundaryDisplay
from separatrix.pictures.classes.calibration import CalibrationDisplay
from separatrix.pictures.classes.confusion import ConfusionDisplay
from separatrix.pictures.classes.coverage import CoverageRiskDisplay
from separatrix.pictures.classes.distances import DistanceDisplay
from separatrix.pictures.classes.log_odds import LogOddsDisplay
from separatrix.pictures.classes.margins import MarginDisplay
from separatrix.pictures.classes.precision_recall import PrecisionRecallDisplay
from separatrix.pictures.classes.roc import RocDisplay
from separatrix.pictures.classes.roc_classes import RocClassesDisplay
from separatrix.pictures.clusters.concentration import ConcentrationDisplay
from separatrix.pictures.clusters.dendrogram import DendrogramDisplay
from separatrix.pictures.clusters.elbow import ElbowDisplay
from separatrix.pictures.clusters.profiles import ClusterProfileDisplay
from separatrix.pictures.clusters.projection import ClusterProjectionDisplay
from separatrix.pictures.clusters.silhouette import SilhouetteDisplay
from separatrix.pictures.display import Display
from separatrix.pictures.regression.coefficients import CoefficientDisplay
from separatrix.pictures.regression.leverage import LeverageDisplay
from separatrix.pictures.regression.quantiles import QuantileDisplay
from separatrix.pictures.regression.residuals import ResidualDisplay
from separatrix.pictures.regression.scale_location import ScaleLocationDisplay
from separatrix.pictures.svm.dual_coefficients import MultiplierDisplay
from separatrix.pictures.svm.path import SVMPathDisplay
from separatrix.pictures.svm.support_vectors import SupportVectorDisplay
from separatrix.pictures.training.folds import FoldDisplay
from separatrix.pictures.training.generalization import GeneralizationGapDisplay
from separatrix.pictures.training.learning_curve import LearningCurveDisplay
from separatrix.pictures.training.mistakes import MistakeDisplay
from separatrix.pictures.training.n_neighbors import NeighborCountDisplay
from separatrix.pictures.training.path import PathDisplay
from separatrix.pictures.training.trace import TraceDisplay
from separatrix.pictures.training.validation_curve import ValidationCurveDisplay

__all__ = [
    "CalibrationDisplay",
    "ClassBoundaryDisplay",
    "ClusterProfileDisplay",
    "ClusterProjectionDisplay",
    "CoefficientDisplay",
    "ConcentrationDisplay",
    "ConfusionDisplay",
    "CoverageRiskDisplay",
    "DendrogramDisplay",
    "Display",
    "DistanceDisplay",
    "ElbowDisplay",
    "FoldDisplay",
    "GeneralizationGapDisplay",
    "LearningCurveDisplay",
    "LeverageDisplay",
    "LogOddsDisplay",
    "MarginDisplay",
    "MistakeDisplay",
    "MultiplierDisplay",
    "NeighborCountDisplay",
    "PathDisplay",
    "PrecisionRecallDisplay",
    "QuantileDisplay",
    "ResidualDisplay",
    "RocClassesDisplay",
    "RocDisplay",
    "SVMPathDisplay",
    "ScaleLocationDisplay",
    "SilhouetteDisplay",
    "SupportVectorDisplay",
    "TraceDisplay",
    "ValidationCurveDisplay",
]
