"""The closed lists of data classes that a file may contain, beside declared estimators.

A name in a file is looked up here, or among the classes of ``separatrix.catalogue``, and never
imported by itself: nothing else can be written or read, so that loading a file runs no code but our
own and that of classes which the program itself has registered.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from separatrix import HOMES

#: Data classes by module, restored by calling the constructor with the stored fields.
_RECORDS = {
    "rows.schema": "Term Terms Column Schema Notation Encoding Imputation",
    "rows.parts": "Parts",
    "rows.profile": "ColumnProfile",
    "statistics.moments": "Moments Grouped Standardizer",
    "statistics.triangular": "TriangularFactor",
    "statistics.class_moments": "ClassMoments",
    "optimize.convex": "Certificate Solution LeastSquares",
    "distances.names": "PrecomputedDistances",
    "geometry.hyperplane": "Hyperplane Quadric",
    "kernels.base": "KernelExpansion",
    "geometry.separability": "Separability HullPoints",
    "geometry.class_scores": "LinearScores DiagonalScores QuadraticScores ProjectedScores",
    "geometry.normal": "MultivariateNormal",
    "geometry.discriminant_plane": "DiscriminantPlane",
    "probability.multiclass": "ConstantLabel",
    "probability.calibrations": "SigmoidMap IsotonicMap TemperatureMap",
    "probability.costs": "Costs",
    "probability.decision_surface": "DecisionFunctionSurface DecisionSurface",
    "conformal.base": "Categories Coverage",
    "selection.leave_one_out": "AffineFits",
    "neighbors.k_neighbors": "NeighborFits",
    "discriminant.leave_one_out": "SharedFits QuadraticFits DiagonalFits",
    "bayes.gaussian_process.evidence": "ProcessFits",
    "linear.spectrum": "DesignSpectrum",
    "linear.inference": "FitStatistics",
    "logistic.logistic_regression": "LogisticFitStatistics",
    "additive.basis": "ColumnBasis PairBasis",
    "additive.base": "AdditiveTerm",
    "logistic.problem": "Separation",
    "logistic.gradient_descent": "TrainingTrace",
    "discriminant.covariance_tests": "MardiaTest BoxTest",
    "discriminant.naive_bayes": "ClassColumnMoments NaiveBayesDensity",
    "bayes.predictive": "PredictiveDistribution",
    "bayes.gaussian_process.model": "TrendBasis",
    "bayes.gaussian_process.regressor": "InducingState",
    "bayes.gaussian_process.laplace": "BinaryProcess",
    "bayes.gaussian_process.variational": "InducingBinary",
    "bayes.gaussian_process.learning": "Learned Optimum",
    "bayes.laplace": "Coordinates LaplacePosterior",
    "bayes.sampling": "LogisticSamples",
    "bayes.bayesian_logistic_regression": "PosteriorComparison",
    "perceptron.perceptron": "PerceptronState MistakeTrace",
    "perceptron.perceptron_regressor": "ResidualTrace",
    "kernel_machines.learned_metric": "ColumnMaps",
    "kernel_machines.kernel_ridge": "KernelRidgeFits",
    "svm.path": "SVMTrace",
    "svm.solver": "BinarySVM",
    "neighbors.tuning": "LeaveOneOutErrors",
    "neighbors.kernel_smoothers": "BandwidthSearch",
    "cluster.linkage": "Dendrogram",
    "hypotheses.version_space": "Box VersionSpace PerturbedSpace",
    "hypotheses.box_classifier": "Examples",
    "hypotheses.enclosing": "SpannedEllipsoid",
    "bayes.evidence": "EvidenceSpectrum Posterior EvidenceCurve",
    "cluster.scatter": "ClusterProjection",
    "study.result": (
        "Score StreamRecord ScoresOfClass CrossValidatedScore Entry Choice Difference "
        "Predictions LearningCurve TrainingRows CalibrationCheck Decision CovarianceTests "
        "Margins Study RepeatedScore Repeats OuterFold Nested Calibration CoverageCheck "
        "Uncertainty PredictiveCheck PredictiveBand IntervalScore ColumnImportance "
        "PartialDependence ColumnDistribution ColumnReference "
        "ColumnCorrelations ColumnPairs"
    ),
    "study.description": (
        "ModelDescription ClassCoefficients OddsRatios RegularizationPath StoredRows SVMSearch "
        "BinarySVMFit NeighborSearch Evidence ProcessFit"
    ),
    "estimators.inference": "Inference ModelQuality",
    "study.cluster.result": (
        "Trial Reference Structure Stability Cluster PlottedRows ClusterStudy"
    ),
}

#: Kernels by module. They have a table of their own: some share a name with other data classes.
_KERNELS = {
    "kernels.algebra": "Sum Product Scaled Power Exponential Normalized",
    "kernels.stationary": "Gaussian Constant White Laplace Matern Periodic RationalQuadratic",
    "kernels.learning": "Bounded Fixed",
    "kernels.base": "Precomputed",
    "kernels.vectors": "Linear Polynomial Sigmoid",
    "kernels.structures": (
        "Spectrum Subsequence SetKernel Jaccard TreeKernel SubtreeKernel GraphKernel TermKernel"
    ),
}


def _by_name(modules: Mapping[str, str]) -> dict[str, str]:
    """Class name → module, from module → names."""
    return {
        name: f"separatrix.{module}" for module, names in modules.items() for name in names.split()
    }


RECORDS = _by_name(_RECORDS) | {
    name: home
    for name, home in HOMES.items()
    if home.startswith("separatrix.distances.") and name[0].isupper()
}
KERNELS = _by_name(_KERNELS)
#: Enumerations, stored by value.
ENUMS = {"Kind": "separatrix.rows.schema", "Status": "separatrix.optimize.convex"}


def class_in(table: Mapping[str, str], name: object) -> type[Any] | None:
    """The class that ``table`` lists under ``name``; None for any other name."""
    home = table.get(name) if isinstance(name, str) else None
    if home is None:
        return None
    named_class = getattr(importlib.import_module(home), str(name))
    return named_class if isinstance(named_class, type) else None


def is_listed(table: Mapping[str, str], value: object) -> bool:
    """Whether the class of ``value`` itself (not one of the same name) is in the table."""
    kind = type(value)
    return table.get(kind.__name__) == kind.__module__
