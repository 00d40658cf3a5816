"""The closed lists of classes that a file may contain.

A name in a file is looked up here and never imported by itself: nothing else can be written or
read, so that loading a file runs no code but our own.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from separatrix import HOMES

#: Folders whose public classes are estimators.
_ESTIMATORS = {
    *("estimators", "probability", "conformal", "linear", "logistic", "discriminant"),
    *("perceptron", "svm", "neighbors", "cluster", "bayes", "hypotheses"),
}

#: Data classes by module, restored by calling the constructor with the stored fields.
_RECORDS = {
    "rows.schema": "Term Terms Column Schema Notation",
    "rows.encoding": "Encoding",
    "rows.imputation": "Imputation",
    "rows.parts": "Parts",
    "rows.profile": "ColumnProfile",
    "statistics.moments": "Moments",
    "statistics.triangular": "TriangularFactor",
    "statistics.grouped": "Grouped",
    "statistics.class_moments": "ClassMoments",
    "statistics.standardizer": "Standardizer",
    "optimize.solution": "Certificate Solution LeastSquares",
    "distances.names": "PrecomputedDistances",
    "geometry.hyperplane": "Hyperplane",
    "geometry.kernel_expansion": "KernelExpansion",
    "geometry.separability": "Separability HullPoints",
    "geometry.class_scores": "LinearScores DiagonalScores QuadraticScores ProjectedScores",
    "geometry.quadric": "Quadric",
    "geometry.normal": "MultivariateNormal",
    "geometry.discriminant_plane": "DiscriminantPlane",
    "probability.constant_label": "ConstantLabel",
    "probability.sigmoid": "SigmoidMap",
    "probability.isotonic": "IsotonicMap",
    "probability.temperature": "TemperatureMap",
    "probability.costs": "Costs",
    "probability.decision_surface": "DecisionFunctionSurface DecisionSurface",
    "conformal.categories": "Categories",
    "conformal.coverage": "Coverage",
    "selection.leave_one_out": "AffineFits",
    "neighbors.without_each_row": "NeighborFits",
    "discriminant.leave_one_out.shared": "SharedFits",
    "discriminant.leave_one_out.quadratic": "QuadraticFits",
    "discriminant.leave_one_out.diagonal": "DiagonalFits",
    "bayes.process.leave_one_out": "ProcessFits",
    "linear.ridge.spectrum": "Spectrum",
    "linear.influence": "FitStatistics",
    "logistic.summary": "LogisticFitStatistics",
    "logistic.separation": "Separation",
    "logistic.gradient_descent": "TrainingTrace",
    "discriminant.covariance_tests": "MardiaTest BoxTest",
    "discriminant.naive_bayes.column_moments": "ClassColumnMoments",
    "discriminant.naive_bayes.density": "NaiveBayesDensity",
    "bayes.predictive": "PredictiveDistribution",
    "bayes.process.trend": "TrendBasis",
    "bayes.process.inducing.regression": "InducingState",
    "bayes.process.classification.binary": "BinaryProcess",
    "bayes.process.classification.inducing": "InducingBinary",
    "bayes.process.learning": "Learned Optimum",
    "bayes.logistic.coordinates": "Coordinates",
    "bayes.logistic.laplace": "LaplacePosterior",
    "bayes.logistic.samples": "LogisticSamples",
    "bayes.logistic.comparison": "PosteriorComparison",
    "perceptron.training_rows": "PerceptronState",
    "perceptron.training": "MistakeTrace",
    "perceptron.perceptron_regressor": "ResidualTrace",
    "svm.path.trace": "SVMTrace",
    "svm.solver": "BinarySVM",
    "neighbors.leave_one_out": "LeaveOneOutErrors",
    "neighbors.bandwidth": "BandwidthSearch",
    "cluster.dendrogram": "Dendrogram",
    "hypotheses.boxes.box": "Box",
    "hypotheses.boxes.version_space": "VersionSpace",
    "hypotheses.boxes.box_classifier": "Examples",
    "hypotheses.enclosing.spanned": "SpannedEllipsoid",
    "bayes.linear.spectrum": "EvidenceSpectrum",
    "bayes.linear.posterior": "Posterior",
    "bayes.linear.evidence": "EvidenceCurve",
    "cluster.scatter": "ClusterProjection",
    "study.score": "Score",
    "study.stream_record": "StreamRecord",
    "study.result": "ScoresOfClass CrossValidatedScore Entry Choice Difference Predictions "
    "LearningCurve TrainingRows CalibrationCheck Decision CovarianceTests Margins Study",
    "study.description": "ModelDescription ClassCoefficients OddsRatios RegularizationPath "
    "StoredRows SVMSearch BinarySVMFit NeighborSearch Evidence ProcessFit",
    "study.validation.records": "RepeatedScore Repeats OuterFold Nested",
    "study.guaranteed.records": "Calibration CoverageCheck",
    "study.uncertainty": "Uncertainty PredictiveCheck PredictiveBand IntervalScore",
    "study.explanation.records": "ColumnImportance PartialDependence ColumnDistribution "
    "ColumnCorrelations",
    "estimators.coefficient_inference": "Inference",
    "estimators.inference": "ModelQuality",
    "study.clustering.result": "Trial Reference Structure Stability Cluster "
    "PlottedRows ClusterStudy",
}

#: Kernels by module. They have a table of their own: some share a name with other data classes.
_KERNELS = {
    "kernels.algebra": "Sum Product Scaled Power Exponential",
    "kernels.normalized": "Normalized",
    "kernels.gaussian": "Gaussian",
    "kernels.parameters.constraints": "Bounded Fixed",
    "kernels.precomputed": "Precomputed",
    "kernels.stationary.constant": "Constant White",
    "kernels.stationary.matern": "Matern",
    "kernels.stationary.periodic": "Periodic",
    "kernels.stationary.rational_quadratic": "RationalQuadratic",
    "kernels.vectors": "Linear Polynomial Sigmoid",
    "kernels.strings": "Spectrum Subsequence",
    "kernels.sets": "SetKernel Jaccard",
    "kernels.trees": "TreeKernel SubtreeKernel",
    "kernels.graphs": "GraphKernel",
}


def _by_name(modules: Mapping[str, str]) -> dict[str, str]:
    """Class name → module, from module → names."""
    return {
        name: f"separatrix.{module}" for module, names in modules.items() for name in names.split()
    }


def _public(folders: set[str]) -> dict[str, str]:
    """The public classes of some folders."""
    return {
        name: home
        for name, home in HOMES.items()
        if home.split(".")[1] in folders and name[0].isupper()
    }


METRICS = _public({"distances"})
RECORDS = METRICS | _by_name(_RECORDS)
KERNELS = _by_name(_KERNELS)
#: Public classes of a family that are no estimators.
_OTHERS = ("separatrix.hypotheses.classes.", "separatrix.hypotheses.query.")
MODELS = {
    name: home
    for name, home in _public(_ESTIMATORS).items()
    if name not in RECORDS and not home.startswith(_OTHERS)
}
#: Enumerations, stored by value.
ENUMS = {"Kind": "separatrix.rows.schema", "Status": "separatrix.optimize.solution"}


def class_in(table: dict[str, str], name: object) -> type[Any] | None:
    """The class that ``table`` lists under ``name``; None for any other name."""
    home = table.get(name) if isinstance(name, str) else None
    if home is None:
        return None
    found = getattr(importlib.import_module(home), str(name))
    return found if isinstance(found, type) else None


def listed(table: dict[str, str], value: object) -> bool:
    """Whether the class of ``value`` itself (not one of the same name) is in the table."""
    kind = type(value)
    return table.get(kind.__name__) == kind.__module__
