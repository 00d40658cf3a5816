"""Pictures in scikit-learn's Display style, each with a description in words.

Nothing of matplotlib is imported before a picture is drawn.
"""

from separatrix.pictures.boundary import ClassBoundaryDisplay
from separatrix.pictures.calibration import CalibrationDisplay
from separatrix.pictures.coefficients import CoefficientDisplay
from separatrix.pictures.concentration import ConcentrationDisplay
from separatrix.pictures.confusion import ConfusionDisplay
from separatrix.pictures.coverage import CoverageRiskDisplay
from separatrix.pictures.dendrogram import DendrogramDisplay
from separatrix.pictures.display import Display
from separatrix.pictures.distances import DistanceDisplay
from separatrix.pictures.elbow import ElbowDisplay
from separatrix.pictures.folds import FoldDisplay
from separatrix.pictures.gap import GapDisplay
from separatrix.pictures.learning_curve import LearningCurveDisplay
from separatrix.pictures.leverage import LeverageDisplay
from separatrix.pictures.log_odds import LogOddsDisplay
from separatrix.pictures.margins import MarginDisplay
from separatrix.pictures.mistakes import MistakeDisplay
from separatrix.pictures.multipliers import MultiplierDisplay
from separatrix.pictures.neighbour_counts import NeighbourCountDisplay
from separatrix.pictures.path import PathDisplay
from separatrix.pictures.precision_recall import PrecisionRecallDisplay
from separatrix.pictures.profiles import ClusterProfileDisplay
from separatrix.pictures.projection import ClusterProjectionDisplay
from separatrix.pictures.quantiles import QuantileDisplay
from separatrix.pictures.residuals import ResidualDisplay
from separatrix.pictures.roc import RocDisplay
from separatrix.pictures.roc_classes import RocClassesDisplay
from separatrix.pictures.scale_location import ScaleLocationDisplay
from separatrix.pictures.silhouette import SilhouetteDisplay
from separatrix.pictures.support import SupportVectorDisplay
from separatrix.pictures.svm_path import SVMPathDisplay
from separatrix.pictures.trace import TraceDisplay
from separatrix.pictures.validation_curve import ValidationCurveDisplay

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
    "GapDisplay",
    "LearningCurveDisplay",
    "LeverageDisplay",
    "LogOddsDisplay",
    "MarginDisplay",
    "MistakeDisplay",
    "MultiplierDisplay",
    "NeighbourCountDisplay",
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
